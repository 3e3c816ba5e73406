"""SARIF 2.1.0 (OASIS, 2020), so that code hosts show a violation at the lines of the trace.

A level that is broken is a result of kind `fail` whose rule is the anomaly; its argument is a code flow through the
operations that the steps rest on, which have the same numbers as in its message. Files are named from the root of the
checkout (`%SRCROOT%`), as code hosts look for them there. A level that holds is a `pass`, one that was not decided is
`open`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

import boomslang
from boomslang.explain.likely_part import shown
from boomslang.explain.outputs.plain import headline, numbered, place, printable, relative, story
from boomslang.storage import is_address

Json = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_KINDS = {"invalid": ("fail", "error"), "valid": ("pass", "none"), "unknown": ("open", "none")}
_OTHER = {"valid": "holds", "unknown": "undecided", "invalid": "violation"}


def sarif(path: str, documents: Sequence[Json]) -> str:
    """One run, with a result for each level."""
    return sarif_of_several([(path, documents, "")])


def sarif_of_several(traces: Sequence[tuple[str, Sequence[Json], str]]) -> str:
    """One run for all of them, as code hosts take no more of one tool. What could not be read is told as they expect a
    tool's own troubles."""
    rules: dict[str, Json] = {}
    results = [_result(path, document, rules) for path, documents, _ in traces for document in documents]
    run: Json = {
        "tool": {
            "driver": {"name": "Boomslang", "version": boomslang.__version__, "rules": list(rules.values())}
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    if unread := [(path, error) for path, _, error in traces if error]:
        notes = [
            {
                "level": "error",
                "message": {"text": printable(error)},
                "locations": [{"physicalLocation": _file(path)}],
            }
            for path, error in unread
        ]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(path: str, document: Json, rules: dict[str, Json]) -> Json:
    kind, level = _KINDS[document["verdict"]]
    rule = _rule(document)
    rules.setdefault(rule["id"], rule)
    text = "\n".join([headline(document), *story(document)])
    made: Json = {
        "ruleId": rule["id"],
        "ruleIndex": list(rules).index(rule["id"]),
        "kind": kind,
        "level": level,
        "message": {"text": "\n".join(printable(line) for line in text.split("\n"))},
        "locations": [_location(where) for where in _first(document)] or [{"physicalLocation": _file(path)}],
        "properties": {"isolationLevel": document["level"]["name"]},
    }
    if document["anomaly"] is not None:
        made["properties"]["rulesOut"] = document["anomaly"]["rules_out"]
    if document["verdict"] == "invalid":
        places = "|".join(relative(read["where"]) for read in document["reads"])
        print_of = f"{rule['id']}|{document['level']['name']}|{places}"
        made["partialFingerprints"] = {"core/v1": hashlib.sha256(print_of.encode()).hexdigest()}
        if flow := _flow(shown(document)):
            made["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    return made


def _rule(document: Json) -> Json:
    anomaly = document["anomaly"]
    if anomaly is None:
        name = _OTHER[document["verdict"]]
        return {"id": name, "shortDescription": {"text": f"the isolation level: {name}"}}
    return {
        "id": anomaly["code"],
        "name": anomaly["name"],
        "shortDescription": {"text": anomaly["meaning"]},
    }


def _first(document: Json) -> list[str]:
    """Where to show the result: at the first read that cannot be left out, else at the first transaction; or at what
    probably happened."""
    document = shown(document)
    places = [read["where"] for read in document["reads"]] + [t["where"] for t in document["transactions"]]
    return [where for where in places if place(where) is not None][:1]


def _flow(document: Json) -> list[Json]:
    """The steps, in order, each at the operations that it rests on."""
    operations = {o["index"]: o for txn in document["transactions"] for o in txn["operations"]}
    flow = []
    numbers = numbered(document)
    for step in sorted(document["steps"], key=lambda step: numbers[step["id"]]):
        text = printable(f"{numbers[step['id']]}. {step['text']}")
        for row in step["operations"]:
            where = operations[row]["where"] if row in operations else ""
            if place(where) is not None:
                flow.append({"location": {**_location(where), "message": {"text": text}}})
    return flow


def _location(where: str) -> Json:
    found = place(where)
    assert found is not None
    file, line = found
    return {"physicalLocation": {**_file(file), "region": {"startLine": line}}}


def _file(path: str) -> Json:
    """A file as a URI: one that is in the checkout, from its root."""
    name = relative(path)
    if is_address(name):
        return {"artifactLocation": {"uri": quote(name, safe="/:")}}
    if PurePath(name).is_absolute():
        return {"artifactLocation": {"uri": Path(name).as_uri()}}
    return {"artifactLocation": {"uri": quote(name), "uriBaseId": "%SRCROOT%"}}

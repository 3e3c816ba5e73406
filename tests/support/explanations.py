"""What must hold of every explanation's document, beside its schema: all that is spoken of is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

from boomslang.explain.document import document
from boomslang.verdict import Verdict

Json = dict[str, Any]

SCHEMA = json.loads((files("boomslang") / "explain" / "explanation.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def arguments(argument: Json | None) -> Iterator[Json]:
    if argument is not None:
        yield argument
        for case in argument["cases"]:
            yield from arguments(case["argument"])


def examine(verdict: Verdict) -> Json:
    """What must hold of every document."""
    data: Json = json.loads(json.dumps(document(verdict), allow_nan=False))
    VALIDATOR.validate(data)
    assert data["verdict"] == verdict.status
    txns = {t["id"]: t for t in data["transactions"]}
    steps = {s["id"]: s for s in data["steps"]}
    edges = {e["id"]: e for e in data["edges"]}
    operations = {o["index"]: o for t in data["transactions"] for o in t["operations"]}
    assert len(txns) == len(data["transactions"]) and len(steps) == len(data["steps"])
    assert len(edges) == len(data["edges"])
    order = list(steps)
    for name, step in steps.items():
        assert all(order.index(other) < order.index(name) for other in step["because"])
        assert step["depth"] == 1 + max((steps[other]["depth"] for other in step["because"]), default=-1)
        assert step["edge"] is None or edges[step["edge"]]["step"] == name
        assert all(operations[row]["matters"] for row in step["operations"])
        closes(step["cycle"], edges)
    for edge in edges.values():
        assert edge["source"] in txns and edge["target"] in txns and edge["source"] != edge["target"]
        assert edge["step"] is None or steps[edge["step"]]["edge"] == edge["id"]
        assert edge["supposed"] or edge["step"] is not None
    told = set()
    likely = data["likely"]
    told_in = [data["argument"], *([] if likely is None else [likely["argument"]])]
    for argument in (inner for outer in told_in for inner in arguments(outer)):
        told |= set(argument["steps"])
        if (end := argument["contradiction"]) is not None:
            closes(end["cycle"], edges)
            told |= set(end["because"])
            assert all(operations[row]["matters"] for row in end["operations"])
    assert told == set(steps), "a step that nobody tells"
    for read in data["reads"]:
        assert operations[read["operation"]]["matters"]
        assert txns[read["transaction"]]["role"] == "core"
    if likely is not None:
        assert set(likely["transactions"]) <= set(txns)
        outside = {name for name, t in txns.items() if t["role"] == "likely"}
        assert outside <= set(likely["transactions"])
    if data["proof"] is not None:
        assert set(data["proof"]["examples"]) <= set(txns)
    return data


def closes(cycle: list[str], edges: dict[str, Json]) -> None:
    for one, two in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert edges[one]["target"] == edges[two]["source"]

"""A document back in words: what the formats that hold text, and no structure, are filled with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from boomslang.explain.likely_part import beside, shown
from boomslang.storage import is_address

Json = dict[str, Any]


def headline(document: Json) -> str:
    """One line: what is wrong, and with which level."""
    title = document["level"]["title"]
    if document["verdict"] != "invalid":
        return f"{document['verdict']} at {title}" + (f": {document['reason']}" if document["reason"] else "")
    anomaly = document["anomaly"]
    if anomaly is None:
        return f"not {title}" + (f" ({document['reason']})" if document["reason"] else "")
    return f"not {title}: {anomaly['code']} ({anomaly['name']}), {anomaly['meaning']}"


MOST_LINES = 100
"""Of a story."""


def story(document: Json) -> list[str]:
    """The transactions with what matters of them, then the argument; the beginning of it, if it is long. Of a core of
    many transactions, the proof in a line and what probably happened."""
    lines = list(_story(document))
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"... and {more} more lines"]


def _story(document: Json) -> Iterator[str]:
    yield from beside(document)
    told_in_a_line = document["proof"] is not None and document["likely"] is None
    document = shown(document)
    for txn in document["transactions"]:
        deeds = "; ".join(o["text"] for o in txn["operations"] if o["matters"])
        outcome = "" if txn["outcome"] == "committed" else f" {txn['outcome']}"
        where = txn["where"] if place(txn["where"]) is None else relative(txn["where"])
        yield f"{txn['id']}{outcome} ({where}): {deeds}"
    if document["argument"] is not None and not told_in_a_line:
        steps = {step["id"]: step for step in document["steps"]}
        yield from _argument(document["argument"], steps, numbered(document), "")


def numbered(document: Json) -> dict[str, int]:
    """The number of each step: as they are told, then those that are only reasons."""

    def told(argument: Json | None) -> Iterator[str]:
        if argument is not None:
            yield from argument["steps"]
            for case in argument["cases"]:
                yield from told(case["argument"])

    every = dict.fromkeys([*told(document["argument"]), *(step["id"] for step in document["steps"])])
    return {name: n for n, name in enumerate(every, 1)}


def _argument(argument: Json, steps: dict[str, Json], numbers: dict[str, int], indent: str) -> Iterator[str]:
    for name in argument["steps"]:
        reasons = [str(numbers[b]) for b in steps[name]["because"]]
        follows = f" [from {', '.join(reasons)}]" if reasons else ""
        yield f"{indent}{numbers[name]}. {steps[name]['text']}{follows}"
    if argument["contradiction"] is not None:
        yield f"{indent}=> {argument['contradiction']['text']}"
    if argument["question"] is not None:
        yield f"{indent}{argument['question']}"
    for case in argument["cases"]:
        yield f"{indent}* {case['title']}; then"
        yield from _argument(case["argument"], steps, numbers, indent + "    ")


def printable(text: str) -> str:
    """The text with everything that is not printable spelled out: XML cannot hold it, and a terminal may obey it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def relative(path: str) -> str:
    """A path (perhaps with a line) as code hosts want it: from the root of the checkout, or else from here, if it is in
    there. They know nothing of this machine."""
    if not path or is_address(path):  # a trace that is in memory only, or in a cloud
        return path
    if not PurePath(path).is_absolute():
        path = os.path.normpath(Path.cwd() / path)
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return PurePath(path).relative_to(root).as_posix() if PurePath(path).is_relative_to(root) else path


def place(where: str) -> tuple[str, int] | None:
    """The file and line of "file:line"; None where there is no file."""
    file, colon, line = where.rpartition(":")
    return (file, int(line)) if colon and file and line.isdigit() and int(line) > 0 else None

"""Lists of a trace that goes by: what windows behind have left in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.streams import goes_by

from boomslang import check, read_trace
from boomslang.levels import find_level

Op = dict[str, Any]


def written(path: Path, *transactions: tuple[str, list[Op]], header: Op | None = None) -> Path:
    lines = [] if header is None else [{"boomslang": 1, **header}]
    for number, (session, ops) in enumerate(transactions):
        for op in ({"op": "begin"}, *ops, {"op": "commit"}):
            lines.append({"session": session, "txn": number, **op})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def append(key: str, value: int) -> Op:
    return {"op": "append", "key": key, "value": value}


def elements(key: str, *found: int) -> Op:
    return {"op": "list", "key": key, "elements": list(found)}


def absent(key: str) -> Op:
    return {"op": "get", "key": key, "absent": True}


def others(first: int, many: int = 30) -> list[tuple[str, list[Op]]]:
    return [("o", [{"op": "put", "key": "z", "value": first + i}]) for i in range(many)]


@pytest.mark.parametrize("scans", [False, True])
@pytest.mark.parametrize("beside", ["nothing", "a list read"])
def test_nothing_is_found_where_a_window_behind_has_appended(
    beside: str, scans: bool, tmp_path: Path
) -> None:
    """One session appends, and long after that a get finds nothing; somebody reads the list in the same window."""
    reader = [("r", [elements("k", 1)])] if beside == "a list read" else []
    look = [("s", [{"op": "scan", "from": "zz", "items": []}])] if scans else []
    path = written(
        tmp_path / "trace.jsonl",
        ("a", [append("k", 1)]),
        *look,
        *others(0),
        *reader,
        ("a", [absent("k")]),
        *reader,
        *others(100),
    )
    level = find_level("strong-session-ser")
    assert check(read_trace(path), level).invalid
    for size in (300, 600, 2000):
        for kept in (2, 10**6):
            found, *_ = goes_by(path, level, size=size, tail=1, kept=kept)
            assert found == "invalid" or (found == "no" and scans) or (found == "stuck" and kept == 2)


def test_scans_say_nothing_of_lists(tmp_path: Path) -> None:
    """Neither of one that is spoken of, nor of one that is not."""
    path = written(
        tmp_path / "trace.jsonl",
        ("a", [append("k", 1), append("l", 1)]),
        *others(0),
        ("b", [{"op": "scan", "items": [["z", 29]]}]),
        ("c", [elements("k", 1), {"op": "scan", "to": "l", "items": []}]),
        *others(100),
        ("c", [append("k", 2), elements("k", 1, 2)]),
        ("b", [{"op": "scan", "items": [["z", 129]]}, elements("l", 1)]),
    )
    for name in ("ser", "strong-session-si"):
        assert check(read_trace(path), name).valid
        found, _, forward, _ = goes_by(path, find_level(name), size=500, tail=1)
        assert found == "valid" and forward is not None and forward.counted.windows > 3


def test_a_key_is_a_list_or_a_register(tmp_path: Path) -> None:
    for first, second in (
        (append("k", 1), {"op": "put", "key": "k", "value": 2}),
        ({"op": "put", "key": "k", "value": 2}, append("k", 1)),
        (append("k", 1), {"op": "scan", "items": [["k", 1], ["z", 29]]}),
    ):
        path = written(tmp_path / "trace.jsonl", ("a", [first]), *others(0), ("a", [second]), *others(100))
        assert goes_by(path, find_level("ser"), size=500, tail=1)[0] == "no"


def test_lists_that_come_late_where_nobody_knows_what_there_was(tmp_path: Path) -> None:
    path = written(
        tmp_path / "trace.jsonl", *others(0), ("a", [append("k", 1)]), header={"initial": "unknown"}
    )
    assert goes_by(path, find_level("ser"), size=500, tail=1)[0] == "no"

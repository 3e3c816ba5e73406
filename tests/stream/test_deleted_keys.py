"""Keys that were deleted long ago are forgotten, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.streams import goes_by, verify_in_lines, verify_refutation

from boomslang import check, read_trace
from boomslang.levels import find_level

Op = dict[str, Any]


def queue(path: Path, messages: int, *last: tuple[str, list[Op]], header: Op | None = None) -> Path:
    """Each message has a key of its own; there are five at a time."""
    lines: list[Op] = [] if header is None else [{"boomslang": 1, **header}]
    work: list[tuple[str, list[Op]]] = []
    for i in range(messages):
        ops: list[Op] = [{"op": "put", "key": f"m{i}", "value": i}]
        if i >= 5:
            ops.append({"op": "delete", "key": f"m{i - 5}", "found": True})
        work.append((f"s{i % 3}", ops))
    for number, (session, done) in enumerate((*work, *last)):
        for op in ({"op": "begin"}, *done, {"op": "commit"}):
            lines.append({"session": session, "txn": number, **op})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("level", ["ser", "si", "strong-session-si"])
def test_memory_is_that_of_the_keys_that_are_there(level: str, tmp_path: Path) -> None:
    path = queue(tmp_path / "trace.jsonl", 600)
    found, _, forward, taken = goes_by(path, find_level(level), size=2000, tail=2, kept=2)
    assert found == "valid" and forward is not None
    assert forward.counted.windows > 20 and forward.counted.keys < 100
    verify_in_lines(path, find_level(level), taken, forward.counted.operations)


def test_where_nobody_knows_what_there_was_all_are_kept(tmp_path: Path) -> None:
    path = queue(tmp_path / "trace.jsonl", 200, header={"initial": "unknown"})
    found, _, forward, _ = goes_by(path, find_level("ser"), size=2000, tail=2, kept=2)
    assert found == "valid" and forward is not None and forward.counted.keys == 200


def test_a_message_that_comes_back_is_still_held_against_who_deleted_it(tmp_path: Path) -> None:
    """Its session has seen that it was deleted; who did it is forgotten, and found again."""
    for op in ({"op": "get", "key": "m3", "value": 3}, {"op": "delete", "key": "m3", "found": True}):
        path = queue(tmp_path / "trace.jsonl", 300, ("s2", [op]))
        for name in ("strong-session-ser", "strong-session-si"):
            assert check(read_trace(path), name).invalid
            found, verdict, forward, _ = goes_by(path, find_level(name), size=2000, tail=2, kept=2)
            assert found == "invalid" and verdict is not None and forward is not None
            assert forward.counted.keys < 100
            verify_refutation(path, verdict)

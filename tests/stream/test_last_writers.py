"""Two last writers of a key change places when a later read says so, but not once somebody has read the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.streams import goes_by, whole_witness

from boomslang import check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import find_level


def written(path: Path, reads: list[int], between: int) -> None:
    """Two who overlap write 1 and 2 into x; then x is read, with so many other transactions before each read."""
    lines: list[str] = []

    def step(session: str, op: str, **more: object) -> None:
        now = 10 * len(lines)
        lines.append(json.dumps({"session": session, "op": op, "invoke": now, "return": now + 5, **more}))

    for op in ("begin", "put", "commit"):
        for session, value in (("a", 1), ("b", 2)):
            step(session, op, **({"key": "x", "value": value} if op == "put" else {}))
    for n, value in enumerate([*reads, 0]):
        for _ in range(between if n else between // 10):
            step("other", "begin")
            step("other", "put", key="y", value=len(lines))
            step("other", "commit")
        if value:
            step("reader", "begin")
            step("reader", "get", key="x", value=value)
            step("reader", "commit")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("level", ["sser", "ser", "strong-si"])
@pytest.mark.parametrize("reads", [[1], [1, 2], [2, 1]], ids=str)
def test_who_was_read_stays_the_last_writer(level: str, reads: list[int], tmp_path: Path) -> None:
    """In real time nobody reads 2 and then 1; otherwise a late writer of 1 may stand between, but then the order must
    say so."""
    path, asked = tmp_path / "trace.jsonl", find_level(level)
    for between in (0, 20):
        written(path, reads, between)
        trace = read_trace(path)
        for size in (300, 1500):
            found, _, _, taken = goes_by(path, asked, size=size, tail=1)
            assert found == check(trace, asked, window=0).status, (between, size)
            if found == "valid":
                replay(trace, whole_witness(trace, asked, taken))

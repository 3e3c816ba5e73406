"""Two last writers of a key change places when a later read says so, but not once somebody has read the key."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.histories import get, history, put, txn
from support.streams import goes_by, whole_witness

from boomslang import check, read_trace
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.levels import find_level
from boomslang.stream.last_writers import swapped


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


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0, 1, 2, 3], [2, 3, 0, 1]),
        ([2, 0, 1, 3], [2, 3, 0, 1]),  # the later one had begun first
        ([0, 4, 5, 1, 2, 3], [2, 3, 0, 4, 5, 1]),  # the earlier one has read y, and stays
        ([2, 0, 4, 5, 1, 3], [2, 3, 0, 4, 5, 1]),
    ],
    ids=str,
)
def test_two_that_change_places_are_there_once(order: list[int], expected: list[int]) -> None:
    """Under prefix consistency writers of a key may overlap: begins are 2 t, commits 2 t + 1."""
    txns = txn("a", get("y", 1), put("x", 1)), txn("b", put("x", 2)), txn("c", put("y", 2))
    trace = history(*txns, initial={"y": 1})
    x = trace.keys.codes().index(b"\x04x")
    found = swapped(build_asg(trace), find_level("prefix"), np.array(order), x, 0, 1)
    assert found is not None and found.tolist() == expected

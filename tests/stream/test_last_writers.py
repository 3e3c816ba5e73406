"""Two last writers of a key change places when a later read says so, but not once somebody has read the key."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.histories import get, history, put, txn
from support.streams import goes_by, whole_witness

from boomslang import Trace, TraceBuilder, check, read_trace
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.levels import find_level
from boomslang.levels.level import Dependency
from boomslang.stream.last_writers import FARTHEST, Open, Whole, with_last


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
    "order",
    [
        [0, 1, 2, 3],
        [2, 0, 1, 3],  # the later one had begun first
        [0, 4, 5, 1, 2, 3],  # the earlier one has read y, and stays
        [2, 0, 4, 5, 1, 3],
    ],
    ids=str,
)
def test_two_that_change_places_are_there_once(order: list[int]) -> None:
    """Under prefix consistency writers of a key may overlap: begins are 2 t, commits 2 t + 1."""
    txns = txn("a", get("y", 1), put("x", 1)), txn("b", put("x", 2)), txn("c", put("y", 2))
    trace = history(*txns, initial={"y": 1})
    found = reordered(trace, "prefix", order, "x", writer=0, late=1)
    assert found is not None
    after = found.tolist()
    assert sorted(after) == sorted(order)
    assert after.index(3) < after.index(1) and after.index(0) < after.index(1)
    assert 5 not in after or after.index(0) < after.index(5)


def reordered(
    trace: Trace,
    level: str,
    order: list[int],
    key: str,
    *,
    writer: int,
    late: int,
    **open_keys: tuple[int, ...],
) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """The order in which `writer` is the last who wrote the key. `open_keys`: others, and who may be the last there."""
    asg, asked = build_asg(trace), find_level(level)
    number = {name: trace.keys.codes().index(b"\x04" + name.encode()) for name in (key, *open_keys)}
    may = {number[name]: txns for name, txns in open_keys.items()}
    wanted = Open(number[key], late, None, ((b"", writer),))
    whole = Whole(
        asg,
        asked.points,
        np.array(order),
        place=np.arange(asg.transactions),
        matters=np.ones(len(asg.write_txn), np.uint8),
        listed=np.zeros(asg.transactions, bool),
    )
    here = whole.around([wanted], FARTHEST)
    found = with_last(here, asked, wanted, writer, lambda k, last: may.get(k, ()))
    if found is None:
        return None
    assert found.last[number[key]] == writer
    whole.reorder(found)
    return whole.order


def test_another_key_may_have_to_change_its_last_writer() -> None:
    """Both write x and y. Who is the last of x is the last of y, too, so somebody who has read y decides both."""
    trace = history(txn("a", put("x", 1), put("y", 1)), txn("b", put("x", 2), put("y", 2)))
    for level, order in (("ser", [0, 1]), ("si", [0, 1, 2, 3])):
        assert reordered(trace, level, order, "x", writer=0, late=1) is None
        found = reordered(trace, level, order, "x", writer=0, late=1, y=(0,))
        assert found is not None and found.tolist() == (
            order[1:] + order[:1] if level == "ser" else [2, 3, 0, 1]
        )


def test_what_somebody_saw_is_seen_again() -> None:
    """c has read what a wrote, and overwritten it; so b, whoever of them is the last of x, is not between."""
    trace = history(
        txn("a", put("x", 1), put("z", 1)),
        txn("c", get("z", 1), put("x", 3)),
        txn("b", put("x", 2), get("z", 1)),
    )
    found = reordered(trace, "ser", [0, 1, 2], "x", writer=1, late=2)
    assert found is not None and found.tolist() == [0, 2, 1]
    assert reordered(trace, "ser", [0, 1, 2], "x", writer=0, late=2) is None


@pytest.mark.parametrize("level", ["strong-session-ser", "sser", "strong-session-si", "strong-si"])
def test_sessions_and_times_stay_as_they_are(level: str) -> None:
    asked = find_level(level)
    builder = TraceBuilder()
    for n, session in enumerate(("a", "a" if asked.has(Dependency.SO) else "b")):
        with builder.transaction(session, begin=20 * n, end=20 * n + 10) as t:
            t.put("x", n)
    order = list(range(2 * asked.points))
    assert reordered(builder.build(), level, order, "x", writer=0, late=1) is None
    plain = level.removeprefix("strong-session-").removeprefix("strong-").replace("sser", "ser")
    assert reordered(builder.build(), plain, order, "x", writer=0, late=1) is not None

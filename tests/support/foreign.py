"""What the tests of others' formats share: histories that fit a format, what a trace says, and damage."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from boomslang.trace import Absent, Trace, TraceBuilder, TraceError, Unbounded, typed
from support.paths import CORPUS

HISTORIES = CORPUS / "histories"


def story(trace: Trace, *, names: bool = True) -> Any:
    """All that a trace says, session by session; `names`: of transactions."""
    sessions: dict[str | None, list[Any]] = {}
    for t in trace.transactions():
        ops = [
            (
                o.kind.name, typed(o.key), typed(o.value), o.found, typed(o.lo), typed(o.hi),
                sorted((typed(k), typed(v)) for k, v in o.items), tuple(map(typed, o.elements)), o.error,
            )
            for o in t.operations
        ]  # fmt: skip
        name = typed(t.name) if names else None
        sessions.setdefault(t.session, []).append((name, t.outcome.name, t.begin, t.end, t.ctx, ops))
    initial = sorted((typed(k), typed(v)) for k, v in trace.initial())
    return trace.initial_mode.name, initial, sessions


def operations(trace: Trace) -> list[list[tuple[Any, ...]]]:
    """(kind, key, value) of each operation, by transaction; scans and deletes with what they returned."""
    told = []
    for t in trace.transactions():
        ops: list[tuple[Any, ...]] = []
        for o in t.operations:
            name = o.kind.name.lower() + (" failed" if o.error is not None else "")
            if name == "scan":
                ops.append((name, o.lo, o.hi, o.items))
            elif name == "delete":
                ops.append((name, o.key, o.found))
            else:
                ops.append((name, o.key, o.value))
        told.append(ops)
    return told


@st.composite
def histories(
    draw: st.DrawFn,
    *,
    keys: st.SearchStrategy[Any],
    values: st.SearchStrategy[Any],
    aborted: bool = True,
    unknown: bool = False,
    failed: bool = False,
    absent: bool = True,
    deletes: bool = False,
    scans: bool = False,
    times: bool = False,
    empty: bool = False,
    given: bool = False,
    global_names: bool = False,
) -> Trace:
    """Histories that a format can say. Transactions are numbered, in their session or all of them."""
    pool = draw(st.lists(keys, min_size=1, max_size=3, unique_by=typed))
    key = st.sampled_from(pool)
    initial = (
        [(k, draw(values)) for k in pool if draw(st.booleans())] if given and draw(st.booleans()) else None
    )
    b = TraceBuilder(initial)
    clock = 100
    timed = times and draw(st.booleans())
    count = {str(n): 0 for n in range(1, draw(st.integers(1, 3)) + 1)}
    order = [*count, *draw(st.lists(st.sampled_from([*count]), max_size=5))]
    for n, session in enumerate(order, 1):
        count[session] += 1
        name = n if global_names else count[session]
        clock += 2
        outcomes = ["committed"] * 3 + ["aborted"] * aborted
        if unknown and n > len(order) - len(count):
            outcomes.append("unknown")
        outcome: Any = draw(st.sampled_from(outcomes))
        if unknown and session in order[n:]:
            outcome = "committed"
        begin, end = (clock, clock + 1) if timed else (None, None)
        with b.transaction(session, name=name, outcome=outcome, begin=begin, end=end) as t:
            for _ in range(draw(st.integers(0 if empty else 1, 4))):
                choice = draw(st.integers(0, 7))
                if choice == 0 and absent:
                    t.get(draw(key), Absent)
                elif choice == 1 and failed and outcome == "aborted":
                    t.failed(draw(st.sampled_from(["put", "get"])), key=draw(key), error="failed")
                elif choice == 2 and deletes:
                    k = draw(key)
                    if draw(st.booleans()):
                        t.delete(k, found=False)
                    else:
                        t.get(k, draw(values))
                        t.delete(k, found=True)
                elif choice == 3 and scans and all(type(k) is int for k in pool):
                    low, high = sorted([draw(st.integers(-9, 9)), draw(st.integers(-9, 9))])
                    inside = [k for k in pool if low <= k < high and draw(st.booleans())]
                    t.scan(low, draw(st.just(high) | st.just(Unbounded)), [(k, draw(values)) for k in inside])
                elif choice < 6:
                    t.put(draw(key), draw(values))
                else:
                    t.get(draw(key), draw(values))
    return b.build()


def damaged(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not out:
            break
        at = rng.randrange(len(out))
        match rng.randrange(5):
            case 0:
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                del out[at : at + rng.randint(1, 20)]
            case 2:
                out[at:at] = out[rng.randrange(len(out)) :][: rng.randint(1, 30)]
            case 3:
                out[at] = rng.choice(b'{}[]",:()=-!?rwWRSC \n\r\x00\x01\xff0123456789')
            case _:
                out[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, bytes(out[at : at + 8])[::-1]])
    return bytes(out)


def damage(data: bytes, seed: int, times: int) -> Iterator[bytes]:
    """Every cut, every bit, and random damage."""
    rng = random.Random(seed)
    yield from (data[:cut] for cut in range(len(data)))
    for at in range(len(data)):
        for bit in range(8):
            yield data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
    yield from (damaged(data, rng) for _ in range(times))


def check(trace: Trace) -> None:
    """Is the trace whole?"""
    n, m = len(trace), len(trace.op_kind)
    assert trace.txn_ops[0] == 0 and trace.txn_ops[n] == m and (np.diff(trace.txn_ops) >= 0).all()
    assert (trace.op_key < len(trace.keys)).all() and (trace.op_value < len(trace.values)).all()
    assert sorted(trace.key_rank.tolist()) == list(range(len(trace.keys)))
    assert len(list(trace.transactions())) == n


def survives(read: Callable[[bytes], Trace], inputs: Iterator[bytes]) -> tuple[int, int]:
    """Each input gives a trace or an error that says what to do. Returns how many of both."""
    good = bad = 0
    for data in inputs:
        try:
            check(read(data))
            good += 1
        except TraceError as error:
            assert "; expected " in str(error) and "; fix: " in str(error), str(error)
            bad += 1
    return good, bad

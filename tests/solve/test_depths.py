"""Ranks that the reads suggest (native/engine/depths.hpp), beside the order in which a serial store really ran."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from support.histories import Absent, Op, Txn, get, history, put, txn

from boomslang import Trace
from boomslang.asg.graph import build_asg
from boomslang.ir import lower
from boomslang.ir.model import IR
from boomslang.levels import find_level
from boomslang.solve.depths import order_by_depth
from boomslang.solve.native import hinted_successors, priorities
from boomslang.solve.solution import Limits

SESSIONS, TRANSACTIONS = 12, 3_000


def drifting_sessions() -> tuple[Trace, NDArray[np.int64]]:
    """Session after session, as if each had a file of its own; and when each transaction really ran. Half of the
    sessions are slow in the first half of the run and fast in the second."""
    rng = random.Random(7)
    store: dict[str, int] = {}
    made: dict[int, list[tuple[int, Txn]]] = {s: [] for s in range(SESSIONS)}
    for at in range(TRANSACTIONS):
        slow = at < TRANSACTIONS // 2
        session = rng.choice([s for s in range(SESSIONS) if s % 2 == slow or rng.random() < 0.4] or [0])
        ops: list[Op] = []
        for key in rng.sample([f"k{n}" for n in range(200)], 4):
            if rng.random() < 0.5:
                ops.append(get(key, store.get(key, Absent)))
            else:
                store[key] = 10 * at + len(ops)
                ops.append(put(key, store[key]))
        made[session].append((at, txn(f"s{session}", *ops)))
    listed = [pair for session in made.values() for pair in session]
    return history(*(t for _, t in listed)), np.array([at for at, _ in listed])


def away(order: NDArray[np.int32], ran: NDArray[np.int64]) -> float:
    """How many places a transaction is away from where it ran, in the mean."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return float(np.abs(place - ran).mean())


def ranks(trace: Trace, level: str) -> tuple[IR, NDArray[np.int32]]:
    ir = lower(build_asg(trace), find_level(level))
    return ir, order_by_depth(ir, hinted_successors(ir, 0), Limits())


def test_reads_tell_when_things_happened_however_sessions_drift() -> None:
    trace, ran = drifting_sessions()
    ir, order = ranks(trace, "ser")
    assert sorted(order.tolist()) == list(range(TRANSACTIONS))
    shares = np.argsort(priorities(ir.asg), kind="stable").astype(np.int32)
    assert away(order, ran) < 2 * SESSIONS
    assert away(shares, ran) > 5 * away(order, ran)


def test_ranks_keep_what_is_known() -> None:
    trace, _ = drifting_sessions()
    for level in ("ser", "si", "strong-session-si"):
        ir, order = ranks(trace, level)
        points, place = ir.graph.points, np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        known = np.flatnonzero(ir.asg.read_writer >= 0)
        writers, readers = ir.asg.read_writer[known], ir.asg.read_txn[known]
        assert (place[writers * points + points - 1] < place[readers * points]).all()
        sources, targets = ir.order_edges()
        assert (place[sources] < place[targets]).all()
        assert points == 1 or (place[0::2] < place[1::2]).all()


def test_sessions_that_went_back_in_time_are_left_aside() -> None:
    """Session order and reads contradict each other: the reads decide. Reads that do so alone have no order."""
    backwards = history(txn("a", get("x", 1)), txn("a", put("x", 1)))
    _, order = ranks(backwards, "ser")
    assert order.tolist() == [1, 0]
    cyclic = history(txn("a", put("x", 1), get("y", 1)), txn("b", put("y", 1), get("x", 1)))
    _, order = ranks(cyclic, "ser")
    assert len(order) == 0

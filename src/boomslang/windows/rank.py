"""Rank: all points in the order that the trace suggests.

By recorded times if one clock has them all, or by the lines of the one log: then a begin has its own place, and a
commit has its own. Where there is neither (a file a session, several clocks), the engine's first guess is the
rank: one pass over the trace with a simulated store (native/engine/guess.cpp).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import OUT
from boomslang.ir.model import IR
from boomslang.solve import _engine
from boomslang.solve.native import begin_priorities, hinted_successors, priorities
from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached
from boomslang.windows.worth import GUESS, ranked_by

Int32 = NDArray[np.int32]


def ranked_points(ir: IR, limits: Limits) -> Int32 | None:
    """The points of all transactions that are not out; None if the known edges contradict each other."""
    asg = ir.asg
    inside = np.flatnonzero(asg.state != OUT)
    if ranked_by(asg) == GUESS:
        return _guessed(ir, limits)
    ends = priorities(asg)[inside]
    if ir.graph.points == 1:
        return inside[np.argsort(ends, kind="stable")].astype(np.int32)
    begins = np.minimum(begin_priorities(asg)[inside], ends)
    rank = np.stack([begins, ends], axis=1).ravel()
    points = np.stack([2 * inside, 2 * inside + 1], axis=1).ravel()
    return points[np.argsort(rank, kind="stable")].astype(np.int32)


def _guessed(ir: IR, limits: Limits) -> Int32 | None:
    asg = ir.asg
    sources, targets = ir.order_edges()
    found = _engine.guess(
        asg.transactions,
        ir.graph.points,
        ir.graph.helpers,
        asg.keys,
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.read_writer,
        np.ones(len(asg.read_key), np.uint8),
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        asg.initial,
        sources.astype(np.int32),
        targets.astype(np.int32),
        hinted_successors(ir, 0),
        priorities(asg),
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    if found["stopped"]:
        raise LimitReached(found["stopped"])
    order: Int32 = found["order"]
    order = order[order < ir.graph.points * asg.transactions]
    order = order[asg.state[order // ir.graph.points] != OUT]
    return order if len(order) else None

"""A sweep along the clock: the order in real time of a trace whose values say little.

native/engine/sweep.hpp tells how. The engine repairs one order of the whole trace, which takes ever more moves the
longer a trace is in which each value has a thousand writers. This takes the same for each transaction, wherever it
stands. It finds an order in real time, or says nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, UNKNOWN_INITIAL
from boomslang.distinct import distinct
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve import _engine
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import NO_TIME, Outcome

MOST_UNDER_WAY = 64
PLACES, PLACES_PER_TRANSACTION = 20_000, 30
"""That may be tried, in all."""


def sweep(ir: IR, limits: Limits) -> Solution | None:
    """An order in real time, with the session order that the level asks for. None says nothing."""
    asg = ir.asg
    used = asg.read_key[asg.state[asg.read_txn] == IN]
    if asg.modules or ir.superpositions or ir.expressions or ir.level.once is not None or len(asg.lists.of):
        return None
    if not asg.trace.has_times or (asg.initial[used] == UNKNOWN_INITIAL).any():
        return None
    events = _events(asg)
    if events is None:
        return None
    before = np.full(asg.transactions, -1, np.int32)
    if ir.level.has(Dependency.SO):
        sources, targets = asg.session_edges()
        before[targets] = sources
    found = _engine.sweep(
        asg.transactions,
        ir.graph.points,
        asg.keys,
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        asg.initial,
        before,
        events,
        PLACES + PLACES_PER_TRANSACTION * asg.transactions,
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    if not found["valid"]:
        return None
    return Solution(
        "valid",
        order=found["order"].astype(np.int64),
        read_writer=found["read_writer"].astype(np.int64),
        initial=asg.initial.astype(np.int64),
        stats={"places": found["places"]},
    )


def _events(asg: ASG) -> NDArray[np.int32] | None:
    """Who was invoked (2 t), and who returned (2 t + 1), as the clock has it; None if there are several clocks, or too
    many under way at a time. A return orders what is invoked after it, and not what is invoked just then."""
    trace, txns = asg.trace, np.flatnonzero(asg.state == IN)
    ids = asg.txn_of[txns]
    begin, end = trace.txn_begin[ids], trace.txn_end[ids]
    loose = ~asg.ordered[txns]
    early, late = loose | (begin == NO_TIME), loose | (end == NO_TIME)
    late |= asg.outcome[txns] != Outcome.COMMITTED
    timed = ~(early & late)
    if len(distinct(trace.txn_clock[ids][timed])) > 1:
        return None
    who = np.concatenate([txns, txns])
    back = np.repeat([0, 1], len(txns))
    when = np.concatenate([begin, end])
    stage = np.where(np.concatenate([early, late]), np.where(back, 2, 0), 1)
    by = np.lexsort((back, when, stage))
    under_way = np.cumsum(1 - 2 * back[by])
    if len(under_way) and under_way.max() > MOST_UNDER_WAY:
        return None
    events: NDArray[np.int32] = (2 * who[by] + back[by]).astype(np.int32)
    return events

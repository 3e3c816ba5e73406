"""Where values repeat: an order found by walking from value to value (native/engine/trails.hpp).

A version is as good as any other of its value. So an order far from real time may explain everything, as when two
clients took the stock from 5 to 4 at the same time, and it was 5 once more at the end of the day: then one of the two
goes last. The search, which starts from times, moves one transaction at a time and hardly ever comes there. A walk that
takes each transaction when its reads match, and then splices in what was left over as detours that end where they
began, gets there at once. It is a guess that the engine replays, so it can only say *valid*; finding nothing says
nothing.

The walk is serial. Snapshots and all weaker levels are content with a serial order, so they are served as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import IN, MAYBE, suppose
from boomslang.ir.model import IR
from boomslang.solve import _engine
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Limits, Solution

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

ENDLESS = 2**31 - 1
REPAIRS = 300
"""Conflicts that the engine may spend on what is wrong with a walk."""
MOST_LEFT = 4
"""A walk that leaves more transactions out is beyond repair: measured, it never came to a good end."""
HOPELESS = 64
"""If two walks leave out more than these and more than one transaction in fifty, others will do no better."""


def solve_trails(ir: IR, limits: Limits) -> Solution | None:
    """A valid answer, if a walk through the values gives one. None says nothing."""
    best: tuple[Int32, Int32] | None = None
    inside = np.count_nonzero(ir.asg.state == IN)
    for tries, (patience, stall) in enumerate(_manners(ir)):
        found = _walk(ir, patience, stall, limits)
        if found is None or (tries and len(found[1]) > max(HOPELESS, inside // 50)):
            return None
        if best is None or len(found[1]) < len(best[1]):
            best = found
        if not len(best[1]):
            break
    return None if best is None or len(best[1]) > MOST_LEFT else replayed(ir, *best, limits)


def _manners(ir: IR) -> list[tuple[int, int]]:
    """How to walk: how long one may wait for its turn, and how many must wait until somebody else is looked for."""
    trace = ir.asg.trace
    nearby = 4 * max(4, len(trace.sessions))
    if not trace.has_times and not trace.is_one_log:  # nothing says where "late" begins
        return [(ENDLESS, 1)]
    return [(nearby, 3), (nearby, 1), (nearby, ENDLESS), (ENDLESS, 1)]


def _walk(ir: IR, patience: int, stall: int, limits: Limits) -> tuple[Int32, Int32] | None:
    """An order of transactions, and those that are missing in it; None if a limit was reached."""
    asg = ir.asg
    sources, targets = ir.order_edges()
    found = _engine.trails(
        asg.transactions,
        ir.graph.points,
        ir.graph.helpers,
        asg.keys,
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        asg.initial,
        sources.astype(np.int32),
        targets.astype(np.int32),
        priorities(asg),
        patience,
        stall,
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    return None if found["stopped"] else (found["order"], found["left"])


def replayed(
    ir: IR, order: Int32, left: Int32, limits: Limits, after: Int64 | None = None
) -> Solution | None:
    """What the engine makes of the order; those that are missing in it stand where the trace suggests, or after so
    many of the order."""
    asg = ir.asg
    helped = order[asg.state[order] == MAYBE]
    if len(helped):
        ir = replace(ir, asg=suppose(asg, helped.tolist(), committed=True))
    rank = np.full(asg.transactions, 2 * len(order) + 1, np.int64)
    rank[order] = 2 * np.arange(len(order)) + 1
    if after is None:
        suggested = priorities(asg)
        after = np.searchsorted(np.maximum.accumulate(suggested[order]), suggested[left], side="right")
    rank[left] = 2 * after
    found = solve_native(ir, replace(limits, conflicts=REPAIRS), hints=False, rank=rank)
    return found if found.status == "valid" else None

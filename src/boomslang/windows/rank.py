"""Rank: all points in the order that the trace suggests.

By recorded times if one clock has them all, or by the lines of the one log: then a begin has its own place, and a
commit has its own. Where there is neither (a file a session, several clocks), the reads say it: a point belongs
where the longest chain of what must come before it ends (native/engine/depths.hpp).
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.ir.model import IR
from boomslang.solve.depths import order_by_depth
from boomslang.solve.native import begin_priorities, hinted_successors, priorities
from boomslang.solve.solution import Limits
from boomslang.windows import _windows
from boomslang.windows.worth import READS, ranked_by

Int32 = NDArray[np.int32]


def threads(limits: Limits) -> int:
    return limits.jobs or os.cpu_count() or 1


class Ranked(NamedTuple):
    points: Int32
    """Of all transactions that are not out."""
    after: Int32
    """Of each transaction the last one that ended before it began, or -1; empty: nobody knows when that was."""


def ranked_points(ir: IR, limits: Limits) -> Ranked | None:
    """None if the known edges contradict each other."""
    asg = ir.asg
    if ranked_by(asg) == READS:
        found = order_by_depth(ir, hinted_successors(ir, 0), limits)
        return Ranked(found, np.zeros(0, np.int32)) if len(found) else None
    trace = asg.trace
    if trace.has_times:
        begins, ends = asg.of_trace(trace.txn_begin), asg.of_trace(trace.txn_end)
    else:
        begins, ends = begin_priorities(asg), priorities(asg)
    return Ranked(*_windows.in_turn(begins, ends, asg.state, ir.graph.points, threads(limits)))

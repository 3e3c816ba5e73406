"""Rank: all points in the order that the trace suggests.

By recorded times if one clock has them all, or by the lines of the one log: then a begin has its own place, and a
commit has its own. Where there is neither (a file a session, several clocks), the reads say it: a point belongs
where the longest chain of what must come before it ends (native/engine/depths.hpp).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import OUT
from boomslang.ir.model import IR
from boomslang.solve.depths import order_by_depth
from boomslang.solve.native import begin_priorities, hinted_successors, priorities
from boomslang.solve.solution import Limits
from boomslang.windows import _windows
from boomslang.windows.worth import READS, ranked_by

Int32 = NDArray[np.int32]


def ranked_points(ir: IR, limits: Limits) -> Int32 | None:
    """The points of all transactions that are not out; None if the known edges contradict each other."""
    asg = ir.asg
    inside = np.flatnonzero(asg.state != OUT)
    if ranked_by(asg) == READS:
        found = order_by_depth(ir, hinted_successors(ir, 0), limits)
        return found if len(found) else None
    ends = priorities(asg)[inside]
    if ir.graph.points == 1:
        return inside[np.argsort(ends, kind="stable")].astype(np.int32)
    begins = np.minimum(begin_priorities(asg)[inside], ends)
    return _windows.in_turn(begins, ends, inside)

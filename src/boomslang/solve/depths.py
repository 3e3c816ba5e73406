"""An order that the reads suggest, where no clock and no log says when things happened (native/engine/depths.hpp)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.ir.model import IR
from boomslang.solve import _engine
from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached


def order_by_depth(ir: IR, hints: NDArray[np.int32], limits: Limits) -> NDArray[np.int32]:
    """The points of all transactions that are not out; none of them if the known edges contradict each other.

    `hints`: of each node the one that its session suggests next, or nothing (`hinted_successors`).
    """
    asg = ir.asg
    sources, targets = ir.order_edges()
    found = _engine.order_by_depth(
        asg.transactions,
        ir.graph.points,
        ir.graph.helpers,
        asg.state,
        asg.read_start,
        asg.read_writer,
        sources.astype(np.int32),
        targets.astype(np.int32),
        hints,
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    if found["stopped"]:
        raise LimitReached(found["stopped"])
    order: NDArray[np.int32] = found["order"]
    return order

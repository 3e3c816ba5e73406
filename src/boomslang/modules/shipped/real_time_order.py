"""Real-time order: who had returned before another was invoked comes first (as in the strong- levels)."""

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.modules.module import Hints, module


@module
def real_time_order(asg: ASG, ir: IR, hints: Hints) -> None:
    """Every transaction comes after those that had returned before it was invoked."""
    if not asg.trace.has_times:
        ir.notes.append("no times in the trace, so nothing was asked for")
    ir.demand(Dependency.RT)

"""Session order: what a client did one after the other happened so (as in the strong-session- levels)."""

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.modules.module import Hints, module


@module
def session_order(asg: ASG, ir: IR, hints: Hints) -> None:
    """Every transaction comes after the committed ones before it in its session."""
    if not asg.trace.has_sessions:
        ir.notes.append("no sessions in the trace, so nothing was asked for")
    ir.demand(Dependency.SO)

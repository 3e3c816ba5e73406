"""Why a trace that goes by has no answer: it cannot go by, or what it takes to decide a window is forgotten."""

from __future__ import annotations

from boomslang.asg.graph import PRESENT
from boomslang.solve.solution import Solution
from boomslang.stream.window import Question
from boomslang.trace.model import ABSENT, Trace


class NotForward(Exception):
    """Why this trace cannot be checked in windows that go forward."""


class Stuck(Exception):
    """A window has no order, and what came before it, as far as it is kept, does not say why."""


def demand(asked: Question, found: Solution) -> str:
    """What the forgotten past cannot decide any more."""
    asg, trace = asked.asg, asked.block.with_places(asked.asg.trace)
    core = found.core_transactions
    where = f" from {trace.where(int(core[0]))} on" if core is not None and len(core) else ""
    if len(asg.orphans):
        r = int(asg.orphans[0])
        where = (
            f": {trace.where(int(asg.read_txn[r]))} found {_saw(trace, int(asg.read_value[r]))} in "
            f"{trace.keys[int(asg.read_key[r])]!r}, which nobody left there as far as is known"
        )
    return (
        f"no order was found{where}, and what came before is forgotten, so nobody can say whether there is one; give "
        "it more --memory"
    )


def _saw(trace: Trace, value: int) -> str:
    if value >= 0:
        return repr(trace.values[value])
    return {ABSENT: "nothing", PRESENT: "something"}.get(value, "a list")

"""The trace is invalid with modules: whose fault is it?

A module is to blame if the trace would be valid without it. Modules that have nothing to do with it are left out of the
explanation, but for those that ask for less than the level does: without them something else might be explained, which
they allow.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.levels.level import Level
from boomslang.modules.module import Module
from boomslang.trace.errors import LimitReached
from boomslang.verdict import INVALID, VALID, Verdict

if TYPE_CHECKING:
    from boomslang.checker import Checker


def blame(checker: Checker, level: Level, stats: dict[str, Any], begin: float) -> Verdict:
    """The verdict `invalid`, with the modules that were broken and those that its counterexample rests on."""
    kept, blamed = checker.modules, []
    weaker = lower(checker.asg, level).weakened_by | {
        m.spelled for m in checker.modules if m.prepare is not None
    }
    for module in checker.modules:
        rest = tuple(m for m in kept if m is not module)
        if _holds(checker, rest, level, begin):
            blamed.append(module.spelled)
        elif module.spelled not in weaker:
            kept = rest
    asg = checker.asg if kept == checker.modules else checker.analysed(kept)
    ir = lower(asg, level)
    parts = first_broken(asg)
    if parts is None:
        parts = Parts.used_by(asg, checker.solve(ir, begin))
    start = time.perf_counter()
    counterexample = checker.explained(asg, level, parts, begin)
    stats["explain"] = time.perf_counter() - start
    reason = f"valid without the module{'s' * (len(blamed) > 1)} {' and '.join(blamed)}" if blamed else ""
    return Verdict(
        checker.trace,
        level,
        INVALID,
        reason,
        counterexample=counterexample,
        stats=stats,
        broken_by=tuple(blamed),
        rests_on=tuple(m.spelled for m in kept),
        notes=(*checker.asg.notes, *ir.notes),
    )


def _holds(checker: Checker, modules: tuple[Module, ...], level: Level, begin: float) -> bool:
    """Is the trace valid with these modules?"""
    asg = checker.analysed(modules)
    if first_broken(asg) is not None:
        return False
    try:
        return checker.solve(lower(asg, level), begin).status == VALID
    except LimitReached:
        return False

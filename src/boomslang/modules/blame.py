"""The trace is invalid with modules: whose fault is it?

A module is to blame if the trace would be valid without it. Modules that have nothing to do with it are left out of the
explanation, but for those that ask for less than the level does: without them something else might be explained, which
they allow.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from boomslang.asg.graph import ASG
from boomslang.deadline import until
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.levels.level import Level
from boomslang.modules.module import Module
from boomslang.trace.errors import LimitReached
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict

if TYPE_CHECKING:
    from boomslang.checker import Checker


def blame(checker: Checker, level: Level, parts: Parts, stats: dict[str, Any], begin: float) -> Verdict:
    """The verdict `invalid` of these parts, with the modules that were broken and those that its counterexample rests
    on. The answer is there: where time runs out, less is said of whose fault it is."""
    asg = checker.asg
    kept, blamed, in_doubt = checker.modules, [], []
    notes = [*asg.notes]
    try:
        ir = lower(asg, level)
        notes += ir.notes
        weaker = ir.weakened_by | {m.spelled for m in checker.modules if m.prepare is not None}
        for module in checker.modules:
            rest = tuple(m for m in kept if m is not module)
            status = _answer(checker, rest, level, begin)[0]
            if status == VALID:
                blamed.append(module.spelled)
            elif status == UNKNOWN:
                in_doubt.append(module.spelled)
            elif module.spelled not in weaker:
                kept = rest
        if kept != checker.modules:
            status, fewer, refuted = _answer(checker, kept, level, begin)
            if status == INVALID:
                asg, parts = fewer, refuted
            else:
                kept = checker.modules
    except LimitReached:
        kept = checker.modules
    start = time.perf_counter()
    counterexample = checker.explained(asg, level, parts, begin)
    stats["explain"] = time.perf_counter() - start
    reasons = []
    if blamed:
        reasons.append(f"valid without the module{'s' * (len(blamed) > 1)} {' and '.join(blamed)}")
    if in_doubt:
        reasons.append(f"no time was left to find out whether it is valid without {' or '.join(in_doubt)}")
    return Verdict(
        checker.trace,
        level,
        INVALID,
        "; ".join(reasons),
        counterexample=counterexample,
        stats=stats,
        broken_by=tuple(blamed),
        perhaps_by=tuple(in_doubt),
        rests_on=tuple(m.spelled for m in kept),
        notes=tuple(notes),
    )


def _answer(
    checker: Checker, modules: tuple[Module, ...], level: Level, begin: float
) -> tuple[str, ASG, Parts]:
    """What the trace is with these modules, and what of it is refuted. Takes no more than half of the time that is
    left: the explanation needs some too."""
    limits = checker.left(begin)
    if limits.seconds is not None:
        limits = replace(limits, seconds=limits.seconds / 2)
    nothing = Parts.of([], [], [])
    try:
        with until(None if limits.seconds is None else time.monotonic() + limits.seconds):
            asg = checker.analysed(modules)
            if (broken := first_broken(asg)) is not None:
                return INVALID, asg, broken
            found = checker.solve(lower(asg, level), limits)
    except LimitReached:
        return UNKNOWN, checker.asg, nothing
    return found.status, asg, Parts.used_by(asg, found) if found.status == INVALID else nothing

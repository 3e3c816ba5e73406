"""The trace is invalid with modules: whose fault is it?

A module is to blame if the trace would be valid without it. Modules that have nothing to do with it are left out of the
explanation, but for those that ask for less than the level does: without them something else might be explained, which
they allow.

To know that, the trace is asked about again without the module. That can be far harder than with it (a database's own
timestamps leave nothing to search for), so on long traces it is asked for a while only. If there is no answer by then,
the explanation rests on the module, and the verdict says that nobody knows about the rest.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from boomslang.asg.entries import everything
from boomslang.asg.graph import ASG
from boomslang.deadline import until
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.modules.module import Module
from boomslang.solve.names import NATIVE
from boomslang.solve.native import solve_native
from boomslang.trace.errors import LimitReached
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict

if TYPE_CHECKING:
    from boomslang.certify.proof import Proof
    from boomslang.checker import Checker


LONG = 20_000
"""Transactions of a trace that is asked about without a module for a while only."""
PATIENCE = 400
"""Conflicts of the engine: a while."""


def blame(
    checker: Checker, level: Level, ir: IR | None, parts: Parts, stats: dict[str, Any], begin: float
) -> Verdict:
    """The verdict `invalid`, with the modules that were broken and those that its counterexample rests on.

    `ir` is what was asked with all modules (None: it did not come to that), and `parts` what the refutation used. The
    answer is there: where time runs out, less is said of whose fault it is.
    """
    asg, notes = checker.asg, [*checker.asg.notes]
    if ir is not None and asg.entries is not None:  # with what selects over several columns said
        asg = ir.asg
    kept, blamed, in_doubt = checker.modules, [], []
    proof: Proof | None = None
    try:
        ir = ir or lower(asg, level)
        notes += ir.notes
        weaker = ir.weakened_by | {m.spelled for m in checker.modules if m.prepare is not None}
        for module in checker.modules:
            rest = tuple(m for m in kept if m is not module)
            status, fewer, refuted, shown = _answer(checker, rest, level, begin)
            if status == VALID:
                blamed.append(module.spelled)
            elif status == UNKNOWN:
                in_doubt.append(module.spelled)
            elif module.spelled not in weaker:
                kept, asg, parts, proof = rest, fewer, refuted, shown
    except LimitReached:
        in_doubt = [m.spelled for m in checker.modules if m.spelled not in blamed]
    start = time.perf_counter()
    if proof is not None:  # it needs no module, and a search might take for ever to find it again
        counterexample = checker.explained_by_proof(asg, level, proof, parts, begin, stats)
    else:
        counterexample = checker.explained(asg, level, parts, begin)
    stats["explain"] = time.perf_counter() - start
    return Verdict(
        checker.trace,
        level,
        INVALID,
        _reason(blamed, in_doubt),
        counterexample=counterexample,
        stats=stats,
        broken_by=tuple(blamed),
        perhaps_by=tuple(in_doubt),
        rests_on=tuple(m.spelled for m in kept),
        notes=tuple(notes),
    )


def _answer(
    checker: Checker, modules: tuple[Module, ...], level: Level, begin: float
) -> tuple[str, ASG, Parts, Proof | None]:
    """What the trace is with these modules, what of it is refuted, and what shows it without a search, if there is such
    a proof. Takes no more than half of the time that is left: the explanation needs some too."""
    limits, seconds = checker.left(begin), checker.left_to_explain(begin)
    if seconds is not None:
        limits = replace(limits, seconds=seconds / 2)
    nothing = Parts.of([], [], [])
    try:
        with until(None if limits.seconds is None else time.monotonic() + limits.seconds):
            asg = everything(checker.analysed(modules))
            if (broken := first_broken(asg)) is not None:
                return INVALID, asg, broken, None
            ir = lower(asg, level)
            if checker.solver == NATIVE and asg.transactions > LONG:
                found = solve_native(ir, replace(limits, conflicts=PATIENCE))
            else:
                found = checker.solve(ir, limits)
    except LimitReached:
        return UNKNOWN, checker.asg, nothing, None
    refuted = Parts.used_by(asg, found) if found.status == INVALID else nothing
    return found.status, asg, refuted, found.proof


def _reason(blamed: list[str], in_doubt: list[str]) -> str:
    reasons = []
    if blamed:
        reasons.append(f"valid without the module{'s' * (len(blamed) > 1)} {' and '.join(blamed)}")
    if in_doubt:
        reasons.append(f"perhaps valid without {' or '.join(in_doubt)}, which takes long to find out")
    return "; ".join(reasons)

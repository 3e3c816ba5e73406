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

from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.names import NATIVE
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Solution
from boomslang.trace.errors import LimitReached
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict

if TYPE_CHECKING:
    from boomslang.checker import Checker


LONG = 20_000
"""Transactions of a trace that is asked about without a module for a while only."""
PATIENCE = 400
"""Conflicts of the engine: a while."""


def blame(
    checker: Checker, level: Level, stats: dict[str, Any], begin: float, first: tuple[IR, Parts]
) -> Verdict:
    """The verdict `invalid`, with the modules that were broken and those that its counterexample rests on.

    `first` is what was asked with all modules, and the parts that the refutation used.
    """
    (ir, parts), asg, notes = first, checker.asg, first[0].notes
    kept, blamed, undecided = checker.modules, [], []
    weaker = ir.weakened_by | {m.spelled for m in checker.modules if m.prepare is not None}
    for module in checker.modules:
        rest = tuple(m for m in kept if m is not module)
        try:
            without = checker.analysed(rest)
            broken, without_ir = first_broken(without), lower(without, level)
            solution = None if broken is not None else _solved(checker, without_ir, begin)
        except LimitReached:
            continue
        if solution is not None and solution.status == VALID:
            blamed.append(module.spelled)
        elif solution is not None and solution.status == UNKNOWN:
            undecided.append(module.spelled)
        elif module.spelled not in weaker:
            kept, asg, notes = rest, without, without_ir.notes
            parts = (
                Parts.used_by(asg, solution) if broken is None and solution is not None else broken or parts
            )
    start = time.perf_counter()
    counterexample = checker.explained(asg, level, parts, begin)
    stats["explain"] = time.perf_counter() - start
    return Verdict(
        checker.trace,
        level,
        INVALID,
        _reason(blamed, undecided),
        counterexample=counterexample,
        stats=stats,
        broken_by=tuple(blamed),
        rests_on=tuple(m.spelled for m in kept),
        notes=(*checker.asg.notes, *notes),
    )


def _solved(checker: Checker, ir: IR, begin: float) -> Solution:
    if checker.solver != NATIVE or ir.asg.transactions <= LONG:
        return checker.solve(ir, begin)
    return solve_native(ir, replace(checker.left(begin), conflicts=PATIENCE))


def _reason(blamed: list[str], undecided: list[str]) -> str:
    names = blamed or undecided
    modules = f"the module{'s' * (len(names) > 1)} {' and '.join(names)}"
    if blamed:
        return f"valid without {modules}"
    return f"perhaps valid without {modules}, which takes long to tell" if undecided else ""

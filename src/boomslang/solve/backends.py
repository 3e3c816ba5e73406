"""The solvers by name, and what each needs.

The native engine takes the IR as it is. All others are *eager*: they take it written out in full (`Problem`), after
the passes of Phase 4. Slow, and independent of the engine and of each other: that is their use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from boomslang.errors import UsageError
from boomslang.extras import how_to_install
from boomslang.passes import Problem, chosen, optimise
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached

Solve = Callable[[Problem, Limits], Solution]


@dataclass(frozen=True)
class BackEnd:
    """An eager back end. Its module is imported when it is used."""

    name: str
    needs: str
    """The Python module without which it cannot work."""
    about: str
    remedy: str
    """What to do if that is missing."""

    def require(self) -> None:
        """Says what to do if it cannot work here."""
        if not self.installed:
            raise UsageError(f"--solver {self.name} needs {self.remedy}")

    @property
    def installed(self) -> bool:
        try:
            import_module(self.needs)
        except ImportError:
            return False
        return True

    def solve(self, problem: Problem, limits: Limits) -> Solution:
        """The answer, or unknown with the limit that was reached."""
        found: Solve = getattr(import_module(f"boomslang.solve.{self.name}_solver"), f"solve_{self.name}")
        try:
            return found(problem, limits)
        except LimitReached as limit:
            return Solution("unknown", reason=limit.reason)


EAGER = {
    back.name: back
    for back in (
        BackEnd(
            "z3",
            "z3",
            "an SMT solver; integers for the order",
            f"Z3: {how_to_install('z3')}",
        ),
        BackEnd(
            "clingo",
            "clingo",
            "an answer set solver with acyclicity edges",
            f"clingo: {how_to_install('clingo')}",
        ),
        BackEnd(
            "monosat",
            "monosat",
            "a SAT solver with graph theories; in no package registry",
            "MonoSAT's Python module, which no package registry has; build it from "
            "https://github.com/sambayless/monosat, or write the problem with `boomslang export --to dimacs-graph`",
        ),
    )
}


def eager(name: str) -> BackEnd:
    """The eager back end of that name."""
    if name not in EAGER:
        raise UsageError(f"{name!r} is no eager back end; known are: {', '.join(EAGER)}")
    return EAGER[name]


def any_eager() -> str:
    """An eager back end that is installed; the first of them, if none is, so that it can say what it needs."""
    return next((name for name in ("clingo", "z3", "monosat") if EAGER[name].installed), "z3")


def solve_eagerly(
    problem: Problem, name: str, limits: Limits | None = None, passes: Sequence[str] | None = None
) -> Solution:
    """Runs the passes (None: all) and the back end. The statistics tell what each did, and how long it took."""
    limits = limits or Limits()
    begin = time.monotonic()
    eager(name).require()
    solve = eager(name).solve
    size = {"edges": len(problem.known), "superpositions": len(problem.superpositions)}
    stats: dict[str, Any] = {**size, "expressions": len(problem.expressions)}
    start = time.perf_counter()
    try:
        smaller, effects = optimise(problem, chosen(passes), solve, limits)
    except LimitReached as limit:
        return Solution("unknown", reason=limit.reason, stats=stats)
    stats["optimise"] = time.perf_counter() - start
    stats |= {f"pass {effect.name}": str(effect) for effect in effects}
    if smaller.refuted:
        stats |= {"encode": 0.0, "solve": 0.0}
        return replace(
            _core(smaller), stats=stats, decided_by=f"the pass {effects[-1].name}" if effects else ""
        )
    left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
    if left is not None and left <= 0:
        return Solution("unknown", reason="time", stats=stats)
    found = solve(smaller, replace(limits, seconds=left))
    return replace(found, stats={**stats, **found.stats})


def _core(problem: Problem) -> Solution:
    """Invalid, with the part that was refuted, if that part stands alone."""
    if problem.core is None:
        return Solution("invalid")
    asg, txns = problem.ir.asg, np.array(problem.core, np.int64)
    reads = [np.arange(asg.read_start[t], asg.read_start[t + 1]) for t in problem.core]
    return Solution(
        "invalid",
        core_transactions=txns,
        core_reads=np.concatenate(reads).astype(np.int64) if reads else txns[:0],
    )

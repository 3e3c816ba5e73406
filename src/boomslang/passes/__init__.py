"""Phase 4: optimisation of the expanded IR, for the eager back ends. One idea a file; each can be switched off.

prune        what would close a cycle with known edges goes (prune.py)
merge        two transactions have one order, however many keys they share (merge.py)
prioritize   which option to try first (prioritize.py)
segments     small parts first, for a refuted part refutes the whole (segments.py)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from boomslang.errors import UsageError, did_you_mean
from boomslang.passes.merge import merge
from boomslang.passes.prioritize import prioritize
from boomslang.passes.problem import Problem, as_problem, expand, print_problem
from boomslang.passes.prune import prune
from boomslang.passes.segments import Decide, segments
from boomslang.solve.solution import Limits

PASSES: dict[str, Callable[[Problem, Decide, Limits], Problem]] = {
    "prune": lambda problem, decide, limits: prune(problem, limits),
    "merge": lambda problem, decide, limits: merge(problem, limits),
    "prioritize": lambda problem, decide, limits: prioritize(problem, limits),
    "segments": segments,
}
"""By name, in the order in which they are run."""


@dataclass(frozen=True)
class Effect:
    """What a pass did."""

    name: str
    seconds: float
    superpositions: int
    """How many it removed."""
    expressions: int
    edges: int
    """How many it made known."""
    advice: int
    refuted: bool

    def __str__(self) -> str:
        if self.refuted:
            return f"refuted ({self.seconds:.3f} s)"
        did = [
            f"-{self.superpositions} superpositions" if self.superpositions else "",
            f"-{self.expressions} expressions" if self.expressions else "",
            f"+{self.edges} edges" if self.edges else "",
            f"{self.advice} hints" if self.advice else "",
        ]
        return f"{', '.join(word for word in did if word) or 'nothing'} ({self.seconds:.3f} s)"


def chosen(passes: Iterable[str] | None = None, without: Iterable[str] = ()) -> tuple[str, ...]:
    """The passes of these names (None: all), less those not wanted, in the order in which they are run."""
    wanted, unwanted = list(PASSES) if passes is None else list(passes), list(without)
    for name in (*wanted, *unwanted):
        if name not in PASSES:
            raise UsageError(
                f"unknown pass {name!r}{did_you_mean(name, PASSES)}; known passes: {', '.join(PASSES)}"
            )
    return tuple(name for name in PASSES if name in wanted and name not in unwanted)


def optimise(
    problem: Problem, passes: Iterable[str], decide: Decide, limits: Limits | None = None
) -> tuple[Problem, list[Effect]]:
    """The problem after these passes, and what each of them did."""
    begin = time.monotonic()
    limits = limits or Limits()
    effects = []
    for name in passes:
        if problem.refuted:
            break
        left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
        if left is not None and left <= 0:
            break
        start = time.perf_counter()
        after = PASSES[name](problem, decide, Limits(left, limits.megabytes))
        effects.append(
            Effect(
                name,
                time.perf_counter() - start,
                len(problem.superpositions) - len(after.superpositions),
                len(problem.expressions) - len(after.expressions),
                len(after.known) - len(problem.known),
                len(after.advice) - len(problem.advice),
                after.refuted,
            )
        )
        problem = after
    return problem, effects


__all__ = [
    "PASSES",
    "Effect",
    "Problem",
    "as_problem",
    "chosen",
    "expand",
    "merge",
    "optimise",
    "print_problem",
    "prioritize",
    "prune",
    "segments",
]

"""An eager back end: the expanded IR, written out for Z3.

Slow and independent; that is its use. Each point is an integer, each edge a boolean that puts its source before its
target, each superposition "exactly one", each expression itself. Nothing here knows what a read is.
"""

from __future__ import annotations

import time
from typing import Any

from boomslang.ir.expression import (
    START,
    And,
    Atom,
    Committed,
    Edge,
    Expression,
    Implies,
    InitialIs,
    Not,
    Path,
)
from boomslang.ir.model import IR
from boomslang.passes.problem import Problem, as_problem, solution
from boomslang.solve.backends import EAGER
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached


def solve_z3(given: IR | Problem, limits: Limits | None = None) -> Solution:
    """Decides an IR, or a problem made of it, with Z3."""
    EAGER["z3"].require()
    import z3

    z3.set_param("ctrl_c", False)  # leave Ctrl-C to Python
    limits = limits or Limits()
    stop = None if limits.seconds is None else time.monotonic() + limits.seconds
    clock = Clock(limits)
    try:
        return _Encoding(as_problem(given, clock), z3, limits, stop, clock).solve()
    except LimitReached as limit:
        return Solution("unknown", reason=limit.reason)


class _Encoding:
    def __init__(self, problem: Problem, z3: Any, limits: Limits, stop: float | None, clock: Clock) -> None:
        self.limits = limits
        self.stop = stop
        self.clock = clock
        self.problem = problem
        self.z3 = z3
        self.solver = z3.SimpleSolver() if problem.advice else z3.Solver()  # only that one takes advice
        self.places: dict[int, Any] = {}
        self.atoms: dict[Atom, Any] = {}

    def place(self, node: int) -> Any:
        if node not in self.places:
            self.places[node] = self.z3.Int(f"n{node}")
        return self.places[node]

    def atom(self, e: Atom) -> Any:
        if e not in self.atoms:
            self.atoms[e] = variable = self.z3.Bool(f"a{len(self.atoms)}")
            if isinstance(e, Edge) and e.source != START:
                self.solver.add(self.z3.Implies(variable, self.place(e.source) < self.place(e.target)))
            if e in self.problem.fixed:
                self.solver.add(variable == self.problem.fixed[e])
            elif e in self.problem.advice and hasattr(self.solver, "set_initial_value"):
                self.solver.set_initial_value(variable, self.z3.BoolVal(self.problem.advice[e]))
        return self.atoms[e]

    def formula(self, e: Expression) -> Any:
        if isinstance(e, (Edge, Committed, InitialIs, Path)):
            return self.atom(e)
        if isinstance(e, Not):
            return self.z3.Not(self.formula(e.inner))
        if isinstance(e, Implies):
            return self.z3.Implies(self.formula(e.premise), self.formula(e.conclusion))
        parts = [self.formula(part) for part in e.parts]
        return self.z3.And(parts) if isinstance(e, And) else self.z3.Or(parts)

    def seconds_left(self) -> float | None:
        if self.stop is None:
            return None
        if (left := self.stop - time.monotonic()) <= 0:
            raise LimitReached("time")
        return left

    def encode(self) -> None:
        z3 = self.z3
        for a, b in self.problem.arcs():
            self.solver.add(self.place(a) < self.place(b))
        for s in self.clock.over(self.problem.superpositions):
            options = [self.formula(option) for option in s.options]
            one = z3.PbEq([(option, 1) for option in options], 1) if options else z3.BoolVal(False)
            self.solver.add(z3.Implies(self.formula(s.when), one))
        for e in self.clock.over(self.problem.expressions):
            self.solver.add(self.formula(e))

    def solve(self) -> Solution:
        z3 = self.z3
        start = time.perf_counter()
        self.encode()
        encoded = time.perf_counter()
        if (left := self.seconds_left()) is not None:
            self.solver.set("timeout", max(1, int(left * 1000)))
        if self.limits.megabytes is not None:
            self.solver.set("max_memory", max(1, int(self.limits.megabytes)))
        answer = self.solver.check()
        stats = {"encode": encoded - start, "solve": time.perf_counter() - encoded}
        if answer == z3.unsat:
            return Solution("invalid", stats=stats)
        if answer == z3.unknown:
            reason = str(self.solver.reason_unknown())
            word = (
                "time"
                if "timeout" in reason or "canceled" in reason
                else "memory"
                if "memory" in reason
                else reason
            )
            return Solution("unknown", reason=word, stats=stats)
        model = self.solver.model()
        found = solution(
            self.problem, lambda e: bool(z3.is_true(model.eval(self.atoms[e], model_completion=True)))
        )
        found.stats.update(stats)
        return found

"""An eager back end: MonoSAT, where its Python module can be imported (it is in no package registry).

MonoSAT is a SAT solver that knows monotonic theories, among them whether a graph is acyclic (Bayless et al., "SAT
modulo monotonic theories", AAAI 2015); Cobra and PolySI were built on it. The adapter uses five things of its
module: `Var`, `Not`, `AssertClause`, `Graph` and `Solve`. MonoSAT has one solver for the whole process, so each
problem begins with a new one.
"""

from __future__ import annotations

import importlib
import math
import time
from typing import Any

from boomslang.ir.model import IR
from boomslang.passes.problem import Problem, as_problem, solution
from boomslang.solve.backends import EAGER
from boomslang.solve.clock import Clock
from boomslang.solve.cnf import to_clauses
from boomslang.solve.solution import Limits, Solution


def solve_monosat(given: IR | Problem, limits: Limits | None = None) -> Solution:
    """Decides an IR, or a problem made of it, with MonoSAT."""
    EAGER["monosat"].require()
    monosat: Any = importlib.import_module("monosat")
    limits = limits or Limits()
    clock = Clock(limits)
    problem = as_problem(given, clock)
    start = time.perf_counter()
    written = to_clauses(problem, clock)
    if [] in written.clauses:
        return Solution("invalid")
    monosat.Monosat().newSolver()
    graph = monosat.Graph()
    nodes = [graph.addNode() for _ in range(problem.nodes)]
    edge_of = {variable: graph.addEdge(nodes[a], nodes[b]) for a, b, variable in written.arcs}
    variables = [None, *(edge_of.get(v) or monosat.Var() for v in range(1, written.variables + 1))]
    for a, b in dict.fromkeys(written.always):
        monosat.AssertClause([graph.addEdge(nodes[a], nodes[b])])
    for clause in clock.over(written.clauses):
        monosat.AssertClause([variables[x] if x > 0 else monosat.Not(variables[-x]) for x in clause])
    monosat.AssertClause([graph.acyclic()])
    encoded = time.perf_counter()
    if limits.seconds is not None:
        left = limits.seconds - (encoded - start)
        if left <= 0:
            return Solution("unknown", reason="time")
        monosat.Monosat().setTimeLimit(max(1, math.ceil(left)))
    try:
        satisfiable = monosat.Solve()
    except RuntimeError:  # what its module raises when a limit is reached
        return Solution("unknown", reason="time")
    stats = {"encode": encoded - start, "solve": time.perf_counter() - encoded}
    if not satisfiable:
        return Solution("invalid", stats=stats)
    found = solution(problem, lambda e: bool(variables[written.of[e]].value()))
    found.stats.update(stats)
    return found

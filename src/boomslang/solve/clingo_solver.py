"""An eager back end: clingo, an answer set solver whose programs may name edges that must not close a cycle.

`#edge (u, v) : a.` is just what an IR asks for (Bomanson et al., "Answer set programming modulo acyclicity", 2015).
Each variable is a choice, each clause a constraint, each edge atom an edge; what the prioritization advises becomes
the sign that the solver tries first (`#heuristic a. [1, true]`). Written through the back end of the API, not as
text.
"""

from __future__ import annotations

import time
from typing import Any

from boomslang.ir.model import IR
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.solved import clauses_of
from boomslang.passes.problem import Problem, as_problem
from boomslang.solve.backends import EAGER
from boomslang.solve.clock import Clock
from boomslang.solve.cnf import read_off, to_clauses
from boomslang.solve.solution import Limits, Solution


def solve_clingo(given: IR | Problem, limits: Limits | None = None) -> Solution:
    """Decides an IR, or a problem made of it, with clingo."""
    EAGER["clingo"].require()
    import clingo

    limits = limits or Limits()
    begin, clock = time.monotonic(), Clock(limits)
    problem = as_problem(given, clock)
    start = time.perf_counter()
    columns = Columns.of(problem)
    written = to_clauses(problem, clock) if columns is None else clauses_of(columns, clock.look)
    clock.look_now()
    control = clingo.Control(["--heuristic=Domain"] if written.advice else [], message_limit=0)
    with control.backend() as backend:
        atoms = [0, *(backend.add_atom() for _ in range(written.variables))]
        if written.variables:
            backend.add_rule(atoms[1:], choice=True)
        for clause in clock.over(written.each_clause()):
            backend.add_rule([], [-atoms[x] if x > 0 else atoms[-x] for x in clause])
        for a, b in written.each_always():
            backend.add_acyc_edge(a, b, [])
        for a, b, variable in clock.over(written.each_arc()):
            backend.add_acyc_edge(a, b, [atoms[variable]])
        for variable, sign in written.advice.items():
            backend.add_heuristic(
                atoms[variable], clingo.backend.HeuristicType.Sign, 1 if sign else -1, 1, []
            )
    encoded = time.perf_counter()
    left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begin)
    true: set[int] | None = None

    def on_model(model: Any) -> bool:
        nonlocal true
        true = {v for v in range(1, written.variables + 1) if model.is_true(atoms[v])}
        return False

    with control.solve(on_model=on_model, async_=True) as handle:
        # Waits in slices, so that Ctrl-C is heard.
        while not handle.wait(0.2 if left is None else max(0.0, min(0.2, left))):
            if limits.seconds is not None and time.monotonic() - begin >= limits.seconds:
                handle.cancel()
                break
        result = handle.get()
    stats = {"encode": encoded - start, "solve": time.perf_counter() - encoded}
    if result.unsatisfiable:
        return Solution("invalid", stats=stats)
    if true is None:
        return Solution("unknown", reason="time", stats=stats)
    found = read_off(problem, columns, written, true)
    found.stats.update(stats)
    return found

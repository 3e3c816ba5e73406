"""Topological prioritization: try first what agrees with an order that the known graph allows.

The known graph is sorted; where it leaves a choice, the times or the log of the trace decide. Of `<Ti -> Tj, Tj ->
Ti>` the solver should first try the one that goes along that order, and of a read's candidates the last one before
the reader. A database runs transactions in some such order, so most first tries are right (section 5 of the paper).

This is advice: nothing is removed, and a back end that takes none gives the same answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.ir.expression import START, Atom, Edge
from boomslang.levels.level import Dependency
from boomslang.passes.columns.of import Columns
from boomslang.passes.problem import Problem, topological
from boomslang.solve.clock import Clock
from boomslang.solve.native import priorities
from boomslang.solve.solution import Limits


def prioritize(problem: Problem, limits: Limits | None = None) -> Problem:
    """The problem, with advice for every edge that is open."""
    clock = Clock(limits)
    graph = problem.ir.graph
    rank = np.full(graph.nodes, np.iinfo(np.int64).min, np.int64)  # helpers: as soon as they can
    first = np.argsort(np.argsort(priorities(problem.ir.asg), kind="stable"), kind="stable")
    rank[: graph.points * graph.transactions] = np.repeat(first, graph.points)
    columns = Columns.of(problem)
    arcs = (
        problem.arcs() if columns is None else zip(*(side.tolist() for side in columns.arcs()), strict=True)
    )
    order = topological(graph.nodes, arcs, rank)
    if order is None:
        return problem
    place = np.empty(graph.nodes + 1, np.int64)
    place[order] = np.arange(graph.nodes)
    place[START] = -1  # the last cell
    if columns is not None:
        from boomslang.passes.columns.advise import advise_columns

        return advise_columns(columns, place)
    advice: dict[Atom, bool] = {
        e: bool(place[e.source] < place[e.target])
        for e in clock.over(problem.atoms())
        if isinstance(e, Edge) and e not in problem.fixed
    }
    for s in clock.over(problem.superpositions):
        edges = [e for e in s.options if isinstance(e, Edge)]  # none: a read that nobody can have written
        if any(e.kind not in (Dependency.WR, Dependency.PWR) for e in edges) or len(edges) < max(
            1, len(s.options)
        ):
            continue
        fitting = [e for e in edges if place[e.source] < place[e.target]] or edges
        best = max(fitting, key=lambda e: int(place[e.source]))
        advice.update({e: e is best for e in edges})
    return replace(problem, advice=advice)

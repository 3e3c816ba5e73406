"""Reachability pruning: what would close a cycle with known edges cannot hold.

If a path leads from Ti to Tj, then `Tj -> Ti` is out, and of `<Ti -> Tj, Tj -> Ti>` only the first is left: it is
known, joins the graph, and may decide more. Likewise for the writer of a read, and backwards: an anti-dependency
that cannot be refutes what implies it. Repeated until nothing changes. (Section 5 of the paper; Tan et al.,
"Cobra", OSDI 2020, section 3.3. Cobra multiplies matrices for the closure; chains of nodes do here, see reach.py.)

Sound whatever the level: an edge that is true puts its source before its target in every back end, known edges are
always true, so an edge against a known path is false in every solution, with or without unknown outcomes and `once`.
An anti-dependency that a path implies, and that nothing asks about, is taken as true: it adds nothing to the order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.ir.expression import (
    FALSE,
    START,
    TRUE,
    And,
    Atom,
    Edge,
    Expression,
    Implies,
    Not,
    Or,
    Superposition,
    atoms,
)
from boomslang.passes.columns.of import Columns
from boomslang.passes.problem import Problem, topological
from boomslang.passes.reach import Reach
from boomslang.passes.simplify import is_literal, reduced, reduced_superposition, units
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits

MOST_ROUNDS = 50


def prune(problem: Problem, limits: Limits | None = None) -> Problem:
    """The problem without what reachability decides."""
    clock = Clock(limits)
    for _ in range(MOST_ROUNDS):
        smaller = _round(problem, clock)
        if smaller is problem:
            break
        problem = smaller
        if problem.refuted:
            break
    return problem


def _round(problem: Problem, clock: Clock) -> Problem:
    if (columns := Columns.of(problem)) is not None:
        from boomslang.passes.columns.propagate import prune_round

        return prune_round(columns, clock)
    arcs = list(clock.over(problem.arcs()))
    order = topological(problem.nodes, arcs)
    if order is None:
        return replace(problem, superpositions=(), expressions=(FALSE,), derived=True)
    found: dict[Atom, bool] = {}
    reach = Reach(order, arcs, clock.look)
    if reach.known:
        edges = [
            a for a in problem.atoms() if isinstance(a, Edge) and a.source != START and a not in problem.fixed
        ]
        sources = np.array([e.source for e in edges], np.int64)
        targets = np.array([e.target for e in edges], np.int64)
        against = reach.reaches(targets, sources).tolist()
        along = reach.reaches(sources, targets).tolist()
        asked = asked_atoms(problem)
        for edge, closes, implied in zip(edges, against, along, strict=True):
            if closes:
                found[edge] = False
            elif implied and edge not in asked:
                found[edge] = True
    return _propagated(problem, found, clock)


def _propagated(problem: Problem, found: dict[Atom, bool], clock: Clock) -> Problem:
    """The problem with these atoms fixed, and those that follow."""
    fixed = {**problem.fixed, **found}
    known = dict.fromkeys(problem.known)
    superpositions, expressions = list(problem.superpositions), list(problem.expressions)
    changed = bool(found)
    while True:
        new: dict[Atom, bool] = {}
        kept: list[Superposition] = []
        left: list[Expression] = []
        waiting = list(expressions)
        for s in clock.over(superpositions):
            smaller, instead = reduced_superposition(s, fixed)
            changed = changed or smaller is not s
            if smaller is not None:
                kept.append(smaller)
            waiting += instead
        for e in clock.over(waiting):
            small = reduced(e, fixed)
            changed = changed or small is not e
            if small == TRUE:
                continue
            for atom, value in units(small):
                if new.setdefault(atom, value) != value:
                    small = FALSE
            if small == FALSE:
                return replace(problem, superpositions=(), expressions=(FALSE,), derived=True)
            if not is_literal(small):
                left.append(small)
        superpositions, expressions = kept, left
        if not new:
            break
        changed = True
        fixed.update(new)
        known.update(
            (a, None) for a, true in new.items() if true and isinstance(a, Edge) and a.source != START
        )
    if not changed:
        return problem
    return replace(
        problem,
        known=tuple(known),
        superpositions=tuple(superpositions),
        expressions=tuple(dict.fromkeys(expressions)),
        fixed=fixed,
        derived=True,
    )


def asked_atoms(problem: Problem) -> set[Atom]:
    """The atoms that anything depends on: all but those that are merely concluded."""
    asked: set[Atom] = set()
    for s in problem.superpositions:
        for option in (*s.options, s.when):
            asked.update(atoms(option))
    for e in problem.expressions:
        _collect(e, True, asked)
    return asked


def _collect(e: Expression, wanted: bool, asked: set[Atom]) -> None:
    if isinstance(e, Not):
        _collect(e.inner, not wanted, asked)
    elif isinstance(e, (And, Or)):
        for part in e.parts:
            _collect(part, wanted, asked)
    elif isinstance(e, Implies):
        _collect(e.premise, not wanted, asked)
        _collect(e.conclusion, wanted, asked)
    elif not wanted:
        asked.add(e)

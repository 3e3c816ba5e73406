"""Merging of equal superpositions: two transactions that write several keys have one order, not one for each key.

`<Ti -ww(x)-> Tj, Tj -ww(x)-> Ti>` and `<Ti -ww(y)-> Tj, Tj -ww(y)-> Ti>` are the same question, for answers that
differ make a cycle. One edge stands for both from then on. The anti-dependencies between two transactions, one for
each key, are likewise one edge. (Cobra coalesces constraints for the same reason: Tan et al., OSDI 2020, section
3.2.)

Only where both transactions are certain to have committed: else the edges need not hold at all, and need not agree.
"""

from __future__ import annotations

from dataclasses import replace

from boomslang.ir.expression import (
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
)
from boomslang.passes.columns.of import Columns
from boomslang.passes.problem import Problem
from boomslang.passes.prune import asked_atoms
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits


def merge(problem: Problem, limits: Limits | None = None) -> Problem:
    """The problem, with one edge for all keys that two transactions share."""
    clock = Clock(limits)
    if (columns := Columns.of(problem)) is not None:
        from boomslang.passes.columns.merge import merge_columns

        return merge_columns(columns, clock)
    instead: dict[Edge, Edge] = {}
    chosen: dict[frozenset[tuple[int, int]], Superposition] = {}
    superpositions = []
    for s in clock.over(problem.superpositions):
        ends = _opposite(problem, s)
        if ends is None:
            superpositions.append(s)
            continue
        same = chosen.setdefault(ends, s)
        if same is s:
            superpositions.append(s)
            continue
        by_ends = {(e.source, e.target): e for e in same.options if isinstance(e, Edge)}
        for e in s.options:
            if isinstance(e, Edge) and e not in problem.fixed:
                instead[e] = by_ends[e.source, e.target]
    asked = asked_atoms(problem)
    concluded: dict[tuple[int, int], Edge] = {}
    for atom in clock.over(problem.atoms()):
        if (
            isinstance(atom, Edge)
            and atom.source != START
            and atom not in asked
            and atom not in problem.fixed
        ):
            first = concluded.setdefault((atom.source, atom.target), atom)
            if first is not atom:
                instead[atom] = first
    if not instead:
        return problem
    changed = (_replaced(e, instead) for e in clock.over(problem.expressions))
    return replace(
        problem,
        superpositions=tuple(
            Superposition(
                tuple(_replaced(option, instead) for option in s.options), s.why, _replaced(s.when, instead)
            )
            for s in clock.over(superpositions)
        ),
        expressions=tuple(dict.fromkeys(changed)),
    )


def _opposite(problem: Problem, s: Superposition) -> frozenset[tuple[int, int]] | None:
    """The ends of a superposition of two opposite edges, if they cannot both be without a cycle."""
    if s.when != TRUE or len(s.options) != 2 or any(option in problem.fixed for option in s.options):
        return None
    one, two = s.options
    if not (isinstance(one, Edge) and isinstance(two, Edge)) or START in (one.source, two.source):
        return None

    def closes(target: int, source: int) -> bool:  # the same point, or its begin and its commit
        begins = problem.ir.graph.points == 2 and target % 2 == 0 and source == target + 1
        return target == source or (begins and problem.ir.graph.transaction(target) is not None)

    if not (closes(one.target, two.source) and closes(two.target, one.source)):
        return None
    return frozenset({(one.source, one.target), (two.source, two.target)})


def _replaced(e: Expression, instead: dict[Edge, Edge]) -> Expression:
    if isinstance(e, Not):
        return Not(_replaced(e.inner, instead))
    if isinstance(e, (And, Or)):
        parts = tuple(dict.fromkeys(_replaced(part, instead) for part in e.parts))
        return parts[0] if len(parts) == 1 else type(e)(parts)
    if isinstance(e, Implies):
        return Implies(_replaced(e.premise, instead), _replaced(e.conclusion, instead))
    atom: Atom = e
    return instead.get(atom, atom) if isinstance(atom, Edge) else atom

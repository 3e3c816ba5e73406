"""A problem as clauses over numbered variables, and a graph whose edges are variables: what SAT solvers take.

Each atom is a variable. A superposition is "at least one" and, pair by pair, "not two", unless its `when` is false;
expressions are flattened, and a conjunction inside a disjunction gets a variable of its own (Tseitin, 1968). An edge
atom also names an arc: the solver must keep the arcs of true variables, and those that are always there, free of
cycles ("SAT modulo acyclicity": Gebser, Janhunen and Rintanen, 2014; Bayless et al., MonoSAT, 2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from boomslang.ir.expression import (
    START,
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
from boomslang.passes.columns.solved import ColumnClauses, solution_of
from boomslang.passes.problem import Problem, solution
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Solution


@dataclass
class Clauses:
    """Variables are 1, 2, ...; a negative number is a negated variable."""

    variables: int = 0
    clauses: list[list[int]] = field(default_factory=list)
    arcs: list[tuple[int, int, int]] = field(default_factory=list)
    """Source, target, and the variable on which it depends."""
    always: list[tuple[int, int]] = field(default_factory=list)
    """Arcs that are there."""
    of: dict[Atom, int] = field(default_factory=dict)
    advice: dict[int, bool] = field(default_factory=dict)
    _parts: dict[And, int] = field(default_factory=dict)

    def each_clause(self) -> Iterator[list[int]]:
        return iter(self.clauses)

    def each_arc(self) -> Iterator[tuple[int, int, int]]:
        return iter(self.arcs)

    def each_always(self) -> Iterator[tuple[int, int]]:
        return iter(dict.fromkeys(self.always))

    def fresh(self) -> int:
        self.variables += 1
        return self.variables

    def variable(self, atom: Atom) -> int:
        if atom not in self.of:
            self.of[atom] = number = self.fresh()
            if isinstance(atom, Edge) and atom.source != START:
                self.arcs.append((atom.source, atom.target, number))
        return self.of[atom]

    def add(self, e: Expression, unless: list[int] | None = None) -> None:
        """The expression holds, unless one of these literals does."""
        if isinstance(e, And):
            for part in e.parts:
                self.add(part, unless)
            return
        clause = self.disjunction(e, True)
        if clause is not None:
            self.clauses.append([*(unless or ()), *clause])

    def disjunction(self, e: Expression, positive: bool) -> list[int] | None:
        """Literals of which one must hold for the expression (or its negation) to hold; None: it always does."""
        if isinstance(e, Not):
            return self.disjunction(e.inner, not positive)
        if isinstance(e, Implies):
            e = Or((Not(e.premise), e.conclusion))
        if not isinstance(e, (And, Or)):
            return [self.variable(e) if positive else -self.variable(e)]
        if isinstance(e, Or) == positive:  # a disjunction of its parts
            clause: list[int] = []
            for part in e.parts:
                more = self.disjunction(part, positive)
                if more is None:
                    return None
                clause += more
            return clause
        if not e.parts:
            return None
        return [self._conjunction(And(tuple(part if positive else Not(part) for part in e.parts)))]

    def _conjunction(self, e: And) -> int:
        """A variable that holds just when all parts do."""
        if e not in self._parts:
            self._parts[e] = number = self.fresh()
            back = [number]
            for part in e.parts:
                self.add(part, [-number])
                literals = self.disjunction(Not(part), True)
                back += literals if literals is not None else [-number]
            self.clauses.append(back)
        return self._parts[e]

    def add_superposition(self, s: Superposition) -> None:
        unless = self.disjunction(s.when, False)
        if unless is None:
            return
        literals = []
        for option in s.options:
            clause = self.disjunction(option, True)
            if clause is None:
                clause = [self._conjunction(And((option,)))]
            literals.append(clause[0] if len(clause) == 1 else self._conjunction(And((option,))))
        self.clauses.append([*unless, *literals])
        if len(literals) <= 6:
            for a, b in combinations(literals, 2):
                self.clauses.append([*unless, -a, -b])
            return
        # Not two, in linear space: a row of "one of the first i" (Sinz, 2005).
        before = literals[0]
        for literal in literals[1:]:
            self.clauses.append([*unless, -before, -literal])
            row = self.fresh()
            self.clauses += [[-before, row], [-literal, row]]
            before = row


def read_off(
    problem: Problem, columns: Columns | None, written: Clauses | ColumnClauses, true: set[int]
) -> Solution:
    """What a model says, given the variables that are true in it."""
    if columns is not None and isinstance(written, ColumnClauses):
        holds = np.zeros(written.variables + 1, np.bool_)
        holds[list(true)] = True
        return solution_of(columns, written, holds)
    assert isinstance(written, Clauses)
    return solution(problem, lambda e: written.of[e] in true)


def to_clauses(problem: Problem, clock: Clock | None = None) -> Clauses:
    """The problem in clauses."""
    clock = clock or Clock()
    made = Clauses()
    made.always = list(problem.arcs())
    for s in clock.over(problem.superpositions):
        made.add_superposition(s)
    for e in clock.over(problem.expressions):
        made.add(e)
    for atom, number in list(made.of.items()):
        if atom in problem.fixed:
            made.clauses.append([number if problem.fixed[atom] else -number])
        elif atom in problem.advice:
            made.advice[number] = problem.advice[atom]
    return made

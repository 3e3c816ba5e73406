"""From superpositions and expressions that modules added to clauses for the native engine (native/engine/given.cpp).

The engine knows three kinds of literals: one node before another, a read takes a writer, a transaction committed.
An edge of a read is the second; every other edge is the first, and that both its transactions committed. That an edge
is *not* there says something of the order only for two writers of a key, one of whom overwrote the other: then it is
the reversed edge, or one of them did not commit. Any other absent edge says nothing that an order could show, and is
refused.

Formulas become clauses by distribution. Where that would explode a formula gets a name: a variable that the engine
does not have, so the order of two fresh helper nodes, which nothing else speaks of, stands for it.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import IN
from boomslang.deadline import look
from boomslang.errors import UsageError
from boomslang.ir.expression import (
    START,
    And,
    Committed,
    Edge,
    Expression,
    Implies,
    Not,
    Or,
    Superposition,
    all_of,
)
from boomslang.ir.model import IR
from boomslang.ir.printer import format_expression
from boomslang.levels.level import Dependency

BEFORE, TAKES, COMMITTED = 0, 1, 2
"""Given::Kind in native/engine/problem.hpp."""
MANY = 32
"""Clauses of one formula by distribution; beyond, parts get names."""
OFTEN = 256
"""Formulas between two looks at the clock: a module may have said a million things."""

Literal = tuple[int, int, int, bool]
"""kind, a, b, negated."""
Clause = tuple[Literal, ...]


def clauses(ir: IR) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
    """Where each clause starts, the literals (four numbers each), and how many helper nodes they need."""
    made = _Clauses(ir)
    for n, item in enumerate((*ir.superpositions, *ir.expressions)):
        if n % OFTEN == 0:
            look()
        made.add(item)
    made.one_writer_a_read()
    start = np.concatenate(([0], np.cumsum([len(c) for c in made.clauses]))).astype(np.int64)
    return start, np.array([n for c in made.clauses for lit in c for n in lit], np.int32), made.helpers


class _Clauses:
    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.clauses: list[Clause] = []
        self.helpers = 0
        self.taken: dict[int, dict[int, int]] = {}
        """Of each read, the writers that some clause would have it take, and the reader."""
        self.writers: dict[int, set[int]] = {}

    def add(self, item: Superposition | Expression) -> None:
        if isinstance(item, Superposition):
            self.add(Implies(item.when, Or(item.options)))
            for a, b in combinations(item.options, 2):
                self.add(Not(all_of(item.when, a, b)))
            return
        for clause in self._cnf(item, True):
            distinct = tuple(dict.fromkeys(clause))
            if not any(_opposite(lit) in distinct for lit in distinct):
                self.clauses.append(distinct)

    def one_writer_a_read(self) -> None:
        """A read takes one writer, and counts only if its transaction committed."""
        for read, writers in self.taken.items():
            family = self.ir.read_from(read, next(iter(writers.values())))
            others = [w for w in family.candidates if w not in writers]
            for a, b in (*combinations(sorted(writers), 2), *product(writers, others)):
                self.clauses.append(((TAKES, read, a, True), (TAKES, read, b, True)))
            for w, reader in writers.items():
                if self.ir.asg.state[reader] != IN:
                    self.clauses.append(((TAKES, read, w, True), (COMMITTED, reader, 0, False)))

    def _cnf(self, e: Expression, positive: bool) -> list[Clause]:
        """Clauses that together say `e` (or that it does not hold)."""
        if isinstance(e, Not):
            return self._cnf(e.inner, not positive)
        if isinstance(e, Implies):
            return self._cnf(Or((Not(e.premise), e.conclusion)), positive)
        if isinstance(e, And | Or):
            parts = [self._cnf(part, positive) for part in e.parts]
            if isinstance(e, And) == positive:
                return [clause for part in parts for clause in part]
            return self._any(parts)
        return self._atom(e, positive)

    def _any(self, parts: list[list[Clause]]) -> list[Clause]:
        if np.prod([float(len(part)) for part in parts]) > MANY:
            parts = [part if len(part) < 2 else [(self._named(part),)] for part in parts]
        return [tuple(lit for clause in choice for lit in clause) for choice in product(*parts)]

    def _named(self, part: list[Clause]) -> Literal:
        """A literal that implies all of these."""
        first = self.ir.graph.nodes + self.helpers
        self.helpers += 2
        name: Literal = (BEFORE, first, first + 1, False)
        self.clauses.extend((_opposite(name), *clause) for clause in part)
        return name

    def _atom(self, atom: Expression, positive: bool) -> list[Clause]:
        ir = self.ir
        self._there(atom)
        if isinstance(atom, Committed):
            return [((COMMITTED, atom.txn, 0, not positive),)]
        if isinstance(atom, Edge):
            if atom.kind in (Dependency.WR, Dependency.PWR) and atom.read >= 0:
                writer = -1 if atom.source == START else atom.source // ir.graph.points
                if positive:
                    self.taken.setdefault(atom.read, {})[writer] = atom.target // ir.graph.points
                return [((TAKES, atom.read, writer, not positive),)]
            ends = {ir.graph.transaction(node) for node in (atom.source, atom.target)}
            doubts = [t for t in ends if t is not None and ir.asg.state[t] != IN]
            if positive:
                there = ((BEFORE, atom.source, atom.target, False),)
                return [there, *(((COMMITTED, t, 0, False),) for t in doubts)]
            if atom.kind == Dependency.WW and (pair := self._writers(atom)) is not None:
                reverse = ir.ww(pair[1], pair[0], atom.key)
                missing = [(COMMITTED, t, 0, True) for t in doubts]
                return [((BEFORE, reverse.source, reverse.target, False), *missing)]
        word = format_expression(ir, atom)
        raise UsageError(
            f"the native engine has no word for {word if positive else f'not ({word})'}; use solver='z3'"
        )

    def _there(self, atom: Expression) -> None:
        """The engine trusts what it is given; a module may err."""
        asg, nodes = self.ir.asg, self.ir.graph.nodes
        fine = not isinstance(atom, Committed) or 0 <= atom.txn < asg.transactions
        if isinstance(atom, Edge):
            source = atom.source == START if atom.read >= 0 else False
            fine = (
                (source or 0 <= atom.source < nodes)
                and 0 <= atom.target < nodes
                and atom.read < len(asg.read_key)
            )
        if not fine:
            raise UsageError(f"a module speaks of something that is not there: {atom}")

    def _writers(self, edge: Edge) -> tuple[int, int] | None:
        """The two transactions of an edge, if both write its key."""
        if edge.key < 0 or edge.source == START:
            return None
        pair = (edge.source // self.ir.graph.points, edge.target // self.ir.graph.points)
        if edge.key not in self.writers:
            low, high = self.ir.asg.key_start[edge.key : edge.key + 2]
            self.writers[edge.key] = set(self.ir.asg.write_txn[low:high].tolist())
        return pair if self.writers[edge.key] >= set(pair) else None


def _opposite(lit: Literal) -> Literal:
    kind, a, b, negated = lit
    return (BEFORE, b, a, negated) if kind == BEFORE else (kind, a, b, not negated)

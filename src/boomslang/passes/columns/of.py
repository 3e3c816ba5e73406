"""The columns of a problem, if it has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from boomslang.distinct import distinct
from boomslang.ir.expression import FALSE, START
from boomslang.passes.columns.table import (
    Atoms,
    Expressions,
    Int8,
    Int32,
    Int64,
    KnownEdges,
    Marks,
    Superpositions,
)

if TYPE_CHECKING:
    from boomslang.passes.problem import Problem


@dataclass(frozen=True, eq=False)
class Columns:
    """A problem whose parts are columns of the same atoms."""

    problem: Problem
    atoms: Atoms
    known: Int32
    superpositions: Superpositions
    expressions: Expressions
    fixed: Int8

    @classmethod
    def of(cls, problem: Problem) -> Columns | None:
        """None: some part of it is objects."""
        known, superpositions, expressions = problem.known, problem.superpositions, problem.expressions
        fixed = problem.fixed
        if (
            isinstance(known, KnownEdges)
            and isinstance(superpositions, Superpositions)
            and isinstance(expressions, Expressions)
            and isinstance(fixed, Marks)
        ):
            return cls(problem, known.atoms, known.numbers, superpositions, expressions, fixed.told)
        return None

    def arcs(self) -> tuple[Int64, Int64]:
        """The known graph, each arc once."""
        graph, part = self.problem.ir.graph, self.problem.part
        source, target = (
            column[self.known].astype(np.int64) for column in (self.atoms.source, self.atoms.target)
        )
        inside = source != START
        source, target = source[inside], target[inside]
        if graph.points == 2:
            begin = 2 * (np.arange(graph.transactions) if part is None else np.array(sorted(part), np.int64))
            source, target = np.concatenate([begin, source]), np.concatenate([begin + 1, target])
        return distinct_arcs(source, target, graph.nodes)

    def cells(self) -> Int32:
        """All atoms that are spoken of, in order, not each once."""
        premises, conclusion = self.expressions.premises, self.expressions.conclusion
        rows = len(conclusion)
        mixed = np.empty(len(premises.cells) + rows, np.int32)
        conclusions = premises.start[1:] + np.arange(rows)
        rest = np.ones(len(mixed), np.bool_)
        rest[conclusions] = False
        mixed[conclusions] = conclusion
        mixed[rest] = premises.cells
        mixed = mixed[mixed >= 0]
        return np.concatenate([self.superpositions.parts.cells, mixed])

    def open_atoms(self) -> Int32:
        """Each once, in the order in which they are first spoken of, fixed ones included."""
        found, first = np.unique(self.cells(), return_index=True)
        made: Int32 = found[np.argsort(first, kind="stable")]
        return made

    def refuted(self) -> Problem:
        return replace(self.problem, superpositions=(), expressions=(FALSE,), derived=True)


def distinct_arcs(source: Int64, target: Int64, nodes: int) -> tuple[Int64, Int64]:
    codes = distinct(source * max(1, nodes) + target)
    return np.divmod(codes, max(1, nodes))

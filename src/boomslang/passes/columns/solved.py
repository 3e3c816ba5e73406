"""A problem in columns as clauses, and what their model says of the trace.

The clauses are those of solve/cnf.py: a variable for each edge, one for each option of several edges, "at least one"
and "not two" for each superposition, and each implication as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from boomslang.asg.graph import IN, PRESENT, UNKNOWN_INITIAL
from boomslang.distinct import distinct
from boomslang.ir.expression import START
from boomslang.levels.level import Dependency, Point
from boomslang.passes.columns.of import Columns, distinct_arcs
from boomslang.passes.columns.table import CODE, Bools, Int32, Int64, Rows
from boomslang.passes.problem import topological
from boomslang.passes.skeleton import skeleton
from boomslang.solve.solution import Solution
from boomslang.trace.model import ABSENT

PAIRWISE = 6
"""Options of which "not two" is written pair by pair."""


@dataclass(frozen=True, eq=False)
class ColumnClauses:
    """Variables are 1, 2, ...; a negative number is a negated variable."""

    variables: int
    clauses: Rows
    arcs: tuple[Int64, Int64, Int64]
    """Sources, targets, and the variables on which they depend."""
    always: tuple[Int64, Int64]
    """The known graph, as far as the arcs can tell (skeleton.py)."""
    atom: Int32
    """Of each of the first variables, its atom."""
    advice: dict[int, bool]

    def each_clause(self) -> Iterator[list[int]]:
        cells, start = self.clauses.cells.tolist(), self.clauses.start.tolist()
        for a, b in pairwise(start):
            yield cells[a:b]

    def each_arc(self) -> Iterator[tuple[int, int, int]]:
        a, b, variable = (column.tolist() for column in self.arcs)
        return zip(a, b, variable, strict=True)

    def each_always(self) -> Iterator[tuple[int, int]]:
        a, b = (column.tolist() for column in self.always)
        return zip(a, b, strict=True)


class _Writer:
    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.blocks: list[Rows] = []

    def fresh(self, count: int) -> Int64:
        first, self.variables = self.variables + 1, self.variables + count
        return np.arange(first, first + count)

    def table(self, *columns: Int64) -> None:
        """Clauses of the same length, one for each row."""
        cells = np.stack(columns, axis=1).astype(np.int32)
        self.blocks.append(Rows(np.arange(len(cells) + 1) * cells.shape[1], cells.ravel()))

    def clauses(self) -> Rows:
        lengths = [block.lengths for block in self.blocks]
        if not lengths:
            return Rows.empty()
        return Rows.of_lengths(np.concatenate(lengths), np.concatenate([b.cells for b in self.blocks]))


def clauses_of(columns: Columns, look: Callable[[], object] = lambda: None) -> ColumnClauses:
    """The problem in clauses; `look` is called now and then."""
    atoms, given, expressions = columns.atoms, columns.superpositions, columns.expressions
    used = distinct(columns.cells())  # not a column of all atoms: a window speaks of few of many
    writer = _Writer(len(used))

    def variable(cells: Int32) -> Int64:
        made: Int64 = np.searchsorted(used, cells) + 1
        return made

    parts = Rows(given.parts.start, variable(given.parts.cells).astype(np.int32))
    option = np.zeros(len(parts), np.int64)
    single = parts.lengths == 1
    option[single] = parts.cells[parts.start[:-1][single]]
    many = parts.where(~single)
    if len(many):  # an option of several edges holds just when all of them do
        option[~single] = names = writer.fresh(len(many))
        writer.table(-names[many.owner], many.cells.astype(np.int64))
        writer.blocks.append(_with_last(Rows(many.start, -many.cells), names))
    lengths = np.diff(given.options)
    writer.blocks.append(Rows(given.options, option.astype(np.int32)))
    for length in distinct(lengths).tolist():
        rows = option[given.options[:-1][lengths == length][:, None] + np.arange(length)]
        if length <= PAIRWISE:
            for a in range(length):
                for b in range(a + 1, length):
                    writer.table(-rows[:, a], -rows[:, b])
            continue
        before = rows[:, 0]
        for b in range(1, length):  # a row of "one of the first" (Sinz, 2005)
            writer.table(-before, -rows[:, b])
            name = writer.fresh(len(rows))
            writer.table(-before, name)
            writer.table(-rows[:, b], name)
            before = name
    premises = Rows(expressions.premises.start, (-variable(expressions.premises.cells)).astype(np.int32))
    concludes = expressions.conclusion >= 0
    writer.blocks.append(premises.where(~concludes))
    writer.blocks.append(_with_last(premises.where(concludes), variable(expressions.conclusion[concludes])))
    fixed = columns.fixed[used].astype(np.int64)
    (settled,) = np.nonzero(fixed)
    writer.table(fixed[settled] * (settled + 1))
    advice = _advice(columns, used)
    ordered = np.flatnonzero(atoms.source[used] != START)
    source, target = (column[used[ordered]].astype(np.int64) for column in (atoms.source, atoms.target))
    ends = distinct(np.concatenate([source, target]))
    always = skeleton(*columns.arcs(), ends, look)
    return ColumnClauses(
        writer.variables, writer.clauses(), (source, target, ordered + 1), always, used, advice
    )


def _with_last(rows: Rows, last: Int64) -> Rows:
    """The rows, with one more cell each."""
    made = Rows.of_lengths(rows.lengths + 1, np.empty(len(rows.cells) + len(rows), np.int32))
    rest = np.ones(len(made.cells), np.bool_)
    rest[made.start[1:] - 1] = False
    made.cells[made.start[1:] - 1] = last
    made.cells[rest] = rows.cells
    return made


def _advice(columns: Columns, used: Int32) -> dict[int, bool]:
    from boomslang.passes.columns.table import Marks

    told = columns.problem.advice
    if not isinstance(told, Marks):
        return {}
    values = np.where(columns.fixed[used] == 0, told.told[used], 0)
    (advised,) = np.nonzero(values)
    return dict(zip((advised + 1).tolist(), (values[advised] > 0).tolist(), strict=True))


def solution_of(columns: Columns, written: ColumnClauses, true: Bools) -> Solution:
    """What a model says in numbers of the ASG; `true` of each variable, from 1."""
    problem, atoms = columns.problem, columns.atoms
    if problem.part is not None:
        return Solution("valid")
    graph, asg = problem.ir.graph, problem.ir.asg
    holds = columns.fixed > 0
    holds[written.atom] |= true[1 : len(written.atom) + 1] & (columns.fixed[written.atom] == 0)
    chosen = written.atom[holds[written.atom] & (atoms.source[written.atom] != START)]
    known = columns.arcs()
    arcs = distinct_arcs(
        np.concatenate([known[0], atoms.source[chosen].astype(np.int64)]),
        np.concatenate([known[1], atoms.target[chosen].astype(np.int64)]),
        graph.nodes,
    )
    order = topological(graph.nodes, zip(arcs[0].tolist(), arcs[1].tolist(), strict=True))
    assert order is not None, "a model with a cycle"
    kept = np.zeros(graph.nodes, np.bool_)
    inside = np.flatnonzero(asg.state == IN)
    for point in (Point.BEGIN, Point.COMMIT):
        kept[graph.nodes_of(inside, point)] = True
    reads = np.flatnonzero(
        holds & np.isin(atoms.kind, [CODE[Dependency.WR], CODE[Dependency.PWR]]) & (atoms.read >= 0)
    )
    writer = np.full(len(asg.read_key), -2, np.int64)
    taken = atoms.source[reads].astype(np.int64)
    writer[atoms.read[reads]] = np.where(taken == START, -1, taken // graph.points)
    initial = asg.initial.astype(np.int64)
    for read in np.flatnonzero(writer == -1).tolist():
        key = int(asg.read_key[read])
        if initial[key] in (UNKNOWN_INITIAL, PRESENT):
            initial[key] = int(asg.read_value[read])
    initial[initial == UNKNOWN_INITIAL] = ABSENT
    nodes = np.array(order, np.int64)
    made = Solution("valid", order=nodes[kept[nodes]], read_writer=writer, initial=initial)
    return made if problem.finish is None else problem.finish(problem, made)

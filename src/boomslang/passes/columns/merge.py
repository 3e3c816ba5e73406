"""Merging on columns: what merge.py says, for all items at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.ir.expression import START
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.propagate import asked
from boomslang.passes.columns.table import Bools, Expressions, Int32, Int64, Rows, Superpositions
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock


def merge_columns(columns: Columns, clock: Clock) -> Problem:
    """The problem, with one edge for all keys that two transactions share."""
    problem, atoms, given = columns.problem, columns.atoms, columns.superpositions
    instead = np.arange(len(atoms), dtype=np.int32)
    rows = _opposite(columns)
    keep = np.ones(len(given), np.bool_)
    if len(rows):
        cells = given.cells.cells[given.cells.start[rows][:, None] + np.arange(2)]
        codes = atoms.source[cells].astype(np.int64) * (problem.nodes + 1) + atoms.target[cells]
        swapped = codes[:, 0] > codes[:, 1]
        cells[swapped] = cells[swapped][:, ::-1]
        codes.sort(axis=1)
        order = np.lexsort((rows, codes[:, 1], codes[:, 0]))
        first = np.ones(len(rows), np.bool_)
        first[1:] = (codes[order[1:]] != codes[order[:-1]]).any(axis=1)
        leader = order[np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))]
        keep[rows[order[~first]]] = False
        instead[cells[order[~first]]] = cells[leader[~first]]
    clock.look_now()
    spoken = columns.open_atoms()
    merely = spoken[(atoms.source[spoken] != START) & (columns.fixed[spoken] == 0) & ~asked(columns)[spoken]]
    codes = atoms.source[merely].astype(np.int64) * (problem.nodes + 1) + atoms.target[merely]
    _, where, group = np.unique(codes, return_index=True, return_inverse=True)
    instead[merely] = merely[where][group]
    clock.look_now()
    if keep.all() and (instead == np.arange(len(atoms))).all():
        return problem
    kept = given.where(keep)
    expressions = columns.expressions
    conclusion = expressions.conclusion
    replaced = np.where(conclusion >= 0, instead[conclusion], conclusion).astype(np.int32)
    return replace(
        problem,
        superpositions=Superpositions(
            atoms, kept.options, _replaced(kept.parts, instead), kept.origin, kept.why
        ),
        expressions=Expressions(atoms, _replaced(expressions.premises, instead), replaced).distinct(),
    )


def _replaced(rows: Rows, instead: Int32) -> Rows:
    """With others in their place, each once in its row."""
    made = Rows(rows.start, instead[rows.cells])
    order = np.lexsort((np.arange(len(made.cells)), made.cells, made.owner))
    again = np.zeros(len(order), np.bool_)
    same = (made.cells[order[1:]] == made.cells[order[:-1]]) & (
        made.owner[order[1:]] == made.owner[order[:-1]]
    )
    again[order[1:][same]] = True
    return made.only(~again) if again.any() else made


def _opposite(columns: Columns) -> Int64:
    """The superpositions of two opposite edges that cannot both be without a cycle."""
    given, atoms, graph = columns.superpositions, columns.atoms, columns.problem.ir.graph
    lengths = given.cells.lengths
    rows = np.flatnonzero((np.diff(given.options) == 2) & (lengths == 2))
    cells = given.cells.cells[given.cells.start[rows][:, None] + np.arange(2)]
    source, target = atoms.source[cells].astype(np.int64), atoms.target[cells].astype(np.int64)
    last = graph.points * graph.transactions

    def closes(t: Int64, s: Int64) -> Bools:
        begins = (t % 2 == 0) & (s == t + 1) & (t < last) if graph.points == 2 else np.zeros(len(t), np.bool_)
        made: Bools = (t == s) | begins
        return made

    fine = (columns.fixed[cells] == 0).all(axis=1) & (source != START).all(axis=1)
    fine &= closes(target[:, 0], source[:, 1]) & closes(target[:, 1], source[:, 0])
    made: Int64 = rows[fine]
    return made

"""Topological prioritization on columns: what prioritize.py says, for all edges at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.levels.level import Dependency
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.table import CODE, Int64, Marks, Rows
from boomslang.passes.problem import Problem


def advise_columns(columns: Columns, place: Int64) -> Problem:
    """The problem, with advice for every edge that is open; `place` of each node in the order, START's at the end."""
    atoms, given = columns.atoms, columns.superpositions
    along = place[atoms.source] < place[atoms.target]
    values = np.zeros(len(atoms), np.int8)
    spoken = columns.open_atoms()
    spoken = spoken[columns.fixed[spoken] == 0]
    values[spoken] = np.where(along[spoken], 1, -1)
    # Of the candidates of a read: the last before the reader.
    cells = given.cells
    reads = np.isin(atoms.kind[cells.cells], [CODE[Dependency.WR], CODE[Dependency.PWR]])
    chosen = (cells.count(~reads) == 0) & (cells.lengths == np.diff(given.options))
    if chosen.any():
        rows: Rows = cells.where(chosen)
        fits = along[rows.cells] | (rows.count(along[rows.cells]) == 0)[rows.owner]
        order = np.lexsort((place[atoms.source[rows.cells]], fits, rows.owner))
        best = rows.cells[order[rows.start[1:] - 1]]
        values[rows.cells] = -1
        values[best] = 1
        more = np.setdiff1d(rows.cells, spoken)
        spoken = np.concatenate([spoken, more])
    return replace(columns.problem, advice=Marks(atoms, values, spoken))

"""Windows of a problem in columns: what speaks of a few neighbouring transactions only (segments.py)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.ir.expression import START
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.table import Int64, KnownEdges, Rows
from boomslang.passes.problem import Problem


class ColumnWindows:
    """Items by the places of the first and of the last transaction they speak of."""

    def __init__(self, columns: Columns, place: Int64) -> None:
        self.columns = columns
        atoms, graph = columns.atoms, columns.problem.ir.graph
        nodes = np.full(graph.nodes + 1, -1, np.int64)  # START's is the last cell
        nodes[: graph.points * graph.transactions] = np.repeat(place, graph.points)
        helper = np.zeros(graph.nodes + 1, np.bool_)
        helper[graph.points * graph.transactions :] = True
        none = len(place)
        source, target = nodes[atoms.source], nodes[atoms.target]
        no_source, no_target = helper[atoms.source] | (atoms.source == START), helper[atoms.target]
        low = np.minimum(np.where(no_source, none, source), np.where(no_target, none, target))
        high = np.maximum(np.where(no_source, -1, source), np.where(no_target, -1, target))
        nowhere = no_source & no_target  # a step on the time line is nobody's
        given = columns.expressions
        every = Rows.of_lengths(
            given.premises.lengths + (given.conclusion >= 0),
            columns.cells()[len(columns.superpositions.parts.cells) :],
        )
        self._superpositions = _Sorted(columns.superpositions.cells, low, high)
        self._expressions = _Sorted(every, low, high)
        alone = Rows(np.arange(len(columns.known) + 1), columns.known)
        low, high = np.where(nowhere, 0, low), np.where(nowhere, len(place), high)
        self._known = _Sorted(alone, low, high)

    def window(self, first: int, last: int, inside: frozenset[int]) -> Problem:
        """What speaks of the transactions at these places only."""
        given = self.columns
        return replace(
            given.problem,
            known=KnownEdges(given.atoms, given.known[self._known.within(first, last)]),
            superpositions=given.superpositions.take(self._superpositions.within(first, last)),
            expressions=given.expressions.take(self._expressions.within(first, last)),
            part=inside,
            finish=None,
        )


class _Sorted:
    """Rows by the smallest place in them."""

    def __init__(self, rows: Rows, low: Int64, high: Int64) -> None:
        starts = rows.start[:-1]
        least = np.minimum.reduceat(low[rows.cells], starts) if len(rows) else low[:0]
        self.order = np.argsort(least, kind="stable")
        self.low = least[self.order]
        self.high = (np.maximum.reduceat(high[rows.cells], starts) if len(rows) else high[:0])[self.order]

    def within(self, first: int, last: int) -> Int64:
        begin, end = np.searchsorted(self.low, [first, last + 1])
        made: Int64 = np.sort(self.order[begin:end][self.high[begin:end] <= last])
        return made

"""Who is before whom in a graph without cycles, in far less than n^2 space.

The nodes are laid out in chains (rows in which each is before the next): the sessions, where the level demands
session order, and else whatever rows the edges make. Of a chain it is enough to know the first node that one
reaches: all that follow are reached too. So n nodes and c chains need n * c numbers, and "does a reach b?" is one
comparison (Jagadish, "A compression technique to materialize transitive closure", TODS 1990; Plume and others use
it for sessions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 100_000_000
"""400 MB; beyond that there is no answer."""

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Reach:
    """Reachability over the known graph."""

    def __init__(
        self, order: list[int], arcs: Iterable[tuple[int, int]], look: Callable[[], object] = lambda: None
    ) -> None:
        """`order` is a topological order of all nodes; `look` is called now and then."""
        nodes = len(order)
        follows: list[list[int]] = [[] for _ in range(nodes)]
        for a, b in arcs:
            follows[a].append(b)
        place = np.empty(nodes, np.int64)
        place[order] = np.arange(nodes)
        self.chain = np.full(nodes, -1, np.int32)
        self.at = np.zeros(nodes, np.int32)
        chains = 0
        for node in order:
            if self.chain[node] < 0:
                self.chain[node], chains = chains, chains + 1
            free = [b for b in follows[node] if self.chain[b] < 0]
            if free:  # the nearest is most likely to leave longer rows
                after = min(free, key=lambda b: int(place[b]))
                self.chain[after], self.at[after] = self.chain[node], self.at[node] + 1
        self.chains = chains
        self.known = nodes * chains <= MOST_CELLS
        if not self.known:
            return
        self.first: Int32 = np.full((nodes, chains), np.iinfo(np.int32).max, np.int32)
        for node in reversed(order):
            look()
            row = self.first[node]
            for b in follows[node]:
                np.minimum(row, self.first[b], out=row)
            row[self.chain[node]] = self.at[node]

    def reaches(self, a: Int64, b: Int64) -> NDArray[np.bool_]:
        """Of each pair: is there a path from a to b? (A node reaches itself.)"""
        return np.asarray(self.first[a, self.chain[b]] <= self.at[b])

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
        self,
        order: list[int],
        arcs: Iterable[tuple[int, int]] | NDArray[np.int64],
        look: Callable[[], object] = lambda: None,
    ) -> None:
        """`order` is a topological order of all nodes; `look` is called now and then."""
        nodes = len(order)
        pairs = np.asarray(arcs if isinstance(arcs, np.ndarray) else list(arcs), np.int64).reshape(-1, 2)
        place = np.empty(nodes, np.int64)
        place[order] = np.arange(nodes)
        # Of each node, who follows it, the nearest first: it is most likely to leave longer rows.
        pairs = pairs[np.lexsort((place[pairs[:, 1]], pairs[:, 0]))]
        start = np.searchsorted(pairs[:, 0], np.arange(nodes + 1)).tolist()
        after = pairs[:, 1]
        self.chain = np.full(nodes, -1, np.int32)
        self.at = np.zeros(nodes, np.int32)
        chains = 0
        for node in order:
            if self.chain[node] < 0:
                self.chain[node], chains = chains, chains + 1
            follows = after[start[node] : start[node + 1]]
            free = self.chain[follows] < 0
            if len(free) and free[nearest := int(free.argmax())]:
                self.chain[follows[nearest]] = self.chain[node]
                self.at[follows[nearest]] = self.at[node] + 1
        self.chains = chains
        self.known = nodes * chains <= MOST_CELLS
        if not self.known:
            return
        self.first: Int32 = np.full((nodes, chains), np.iinfo(np.int32).max, np.int32)
        for node in reversed(order):
            look()
            row = self.first[node]
            if start[node] < start[node + 1]:
                np.minimum.reduce(self.first[after[start[node] : start[node + 1]]], axis=0, out=row)
            row[self.chain[node]] = self.at[node]

    def reaches(self, a: Int64, b: Int64) -> NDArray[np.bool_]:
        """Of each pair: is there a path from a to b? (A node reaches itself.)"""
        return np.asarray(self.first[a, self.chain[b]] <= self.at[b])

"""The known graph as far as open edges can tell: as few arcs as say the same.

A solver must keep the known arcs and the open edges that it chooses free of cycles. What is open ends at few nodes,
and of the known graph only this matters: which of these *ends* reach which. So the solver is given the transitive
reduction of that relation in place of the graph itself (Aho, Garey and Ullman, "The transitive reduction of a directed
graph", SIAM J. Comput. 1972): a cycle through open edges goes from end to end by known paths, and those are the same
in both. Pruning makes known what it finds out, so that the known arcs are many times the transactions; of the reduction
there are a few for each, and the paths through them, which a solver walks again and again, are short.

The ends that a node reaches are the bits of one long number, the first in topological order being the lowest. Of what
an end reaches, the lowest bit is reached directly; what that one reaches goes; and so on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from boomslang.passes.problem import topological

Int64 = NDArray[np.int64]
MOST_BITS = 3_000_000_000
"""375 MB; beyond that the graph is left as it is."""


def skeleton(
    source: Int64, target: Int64, ends: Int64, look: Callable[[], object] = lambda: None
) -> tuple[Int64, Int64]:
    """Arcs between the ends (each once, any order) that say which reaches which; the given ones, if those have a cycle,
    as that is the answer, or are too many."""
    # Numbers without gaps: of many nodes a part of a problem has few.
    names, numbers = np.unique(np.concatenate([source, target, ends]), return_inverse=True)
    nodes = len(names)
    if nodes * len(ends) > MOST_BITS:
        return source, target
    arcs = numbers[: 2 * len(source)].reshape(2, -1).T
    ends = numbers[2 * len(source) :]
    order = topological(nodes, arcs)
    if order is None:
        return source, target
    place = np.empty(nodes, np.int64)
    place[order] = np.arange(nodes)
    ends = ends[np.argsort(place[ends])]
    own = [0] * nodes
    for bit, end in enumerate(ends.tolist()):
        own[end] = 1 << bit
    arcs = arcs[np.argsort(arcs[:, 0], kind="stable")]
    start, after = np.searchsorted(arcs[:, 0], np.arange(nodes + 1)).tolist(), arcs[:, 1].tolist()
    reached = [0] * nodes  # beside the node itself
    for node in reversed(order):
        look()
        found = 0
        for follows in after[start[node] : start[node + 1]]:
            found |= reached[follows] | own[follows]
        reached[node] = found
    pairs: list[tuple[int, int]] = []
    at = ends.tolist()
    for end in at:
        look()
        rest = reached[end]
        while rest:
            lowest = rest & -rest
            first = at[lowest.bit_length() - 1]
            pairs.append((end, first))
            rest &= ~(reached[first] | lowest)
    made = names[np.array(pairs, np.int64).reshape(-1, 2)]
    return made[:, 0], made[:, 1]

"""Unsat search: ask small parts first, for a part that is refuted refutes the whole.

Proving that no choice works means trying all; but what is wrong with a history is nearly always wrong among a few
transactions that ran at about the same time (Cui et al. found at most five in 140 real bugs). So the trace is cut
into windows of neighbours, small ones first, and each is solved alone, with the constraints that speak of its
transactions only. Leaving constraints out can only make a problem easier, whatever they are: a window that cannot
be solved proves that the whole cannot. Windows that can be solved prove nothing. (Section 5 of the paper, "unsat
search".)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import OUT
from boomslang.ir.expression import FALSE, START, Committed, Edge, Expression, Path, Superposition, atoms
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.windows import ColumnWindows
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock
from boomslang.solve.native import priorities
from boomslang.solve.solution import Limits, Solution

SIZES = (8, 32, 128)
SECONDS = 5.0
"""For all windows together, and a tenth of it for one."""

Decide = Callable[[Problem, Limits], Solution]


def segments(problem: Problem, decide: Decide, limits: Limits) -> Problem:
    """The problem; refuted, if a window is."""
    asg = problem.ir.asg
    inside = np.flatnonzero(asg.state != OUT)
    inside = inside[np.argsort(priorities(asg)[inside], kind="stable")]
    place = np.full(asg.transactions, -1, np.int64)
    place[inside] = np.arange(len(inside))
    columns = Columns.of(problem)
    windows = _Objects(problem, place, Clock(limits)) if columns is None else ColumnWindows(columns, place)
    seconds = min(SECONDS, SECONDS if limits.seconds is None else limits.seconds / 4)
    stop = time.monotonic() + seconds
    for size in SIZES:
        if size >= len(inside):
            break
        for first in range(0, len(inside) - size // 2, size // 2):
            if time.monotonic() > stop:
                return problem
            last = first + size - 1
            window = frozenset(inside[first : first + size].tolist())
            part = windows.window(first, last, window)
            if decide(part, replace(limits, seconds=seconds / 10)).status == "invalid":
                core = None if problem.derived else tuple(sorted(window))
                return replace(problem, superpositions=(), expressions=(FALSE,), core=core)
    return problem


class _Objects:
    """Items by the places of the first and of the last transaction they speak of."""

    def __init__(self, problem: Problem, place: NDArray[np.int64], clock: Clock) -> None:
        self.problem, self.items = problem, list(problem.items())
        self.low, self.high = _spans(problem, self.items, place, clock)
        self.edges_low, self.edges_high = _spans(problem, list(problem.known), place, clock)

    def window(self, first: int, last: int, inside: frozenset[int]) -> Problem:
        """What speaks of the transactions at these places only."""
        chosen = [self.items[i] for i in np.flatnonzero((self.low >= first) & (self.high <= last)).tolist()]
        edges = np.flatnonzero((self.edges_low >= first) & (self.edges_high <= last))
        return replace(
            self.problem,
            known=tuple(self.problem.known[i] for i in edges.tolist()),
            superpositions=tuple(s for s in chosen if isinstance(s, Superposition)),
            expressions=tuple(e for e in chosen if not isinstance(e, Superposition)),
            part=inside,
            finish=None,
        )


def _spans(
    problem: Problem,
    items: list[Superposition | Expression] | list[Edge],
    place: NDArray[np.int64],
    clock: Clock,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each item, the places of the first and of the last transaction it speaks of."""
    low, high = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    for i, item in enumerate(items):
        clock.look()
        places = [int(place[t]) for t in _transactions(problem, item)]
        low[i], high[i] = min(places, default=0), max(places, default=len(place))
    return low, high


def _transactions(problem: Problem, item: Superposition | Expression) -> Iterator[int]:
    parts = (*item.options, item.when) if isinstance(item, Superposition) else (item,)
    for atom in (a for part in parts for a in atoms(part)):
        if isinstance(atom, Committed):
            yield atom.txn
        elif isinstance(atom, (Edge, Path)):
            for node in (atom.source, atom.target):
                txn = None if node == START else problem.ir.graph.transaction(node)
                if txn is not None:
                    yield txn

"""What happened when: transactions over time, how long operations took, and which kinds of them ended in aborts.

Times are those that the trace has. Those of two clocks cannot be compared, so each clock has its own curves; where
nothing was timed there are none. All is array code, and every number is one that can be counted by hand: a quantile is
a value that occurred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.levels.within import roughly
from boomslang.trace.model import NO_TIME, Flag, Kind, Outcome, Trace
from boomslang.trace.units import UNITS

PIECES, EACH = 120, 10
"""Of the time of a clock at most so many pieces, with so many transactions in each on average at least."""
TRANSACTION = "whole transaction"

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Quantiles:
    """Of lengths of time, in ticks."""

    count: int
    median: float
    ninety: float
    ninety_nine: float
    most: float


@dataclass(frozen=True)
class KindOfOperation:
    """All operations of one kind; or all transactions, under the name of `TRANSACTION`."""

    kind: str
    operations: int
    failed: int
    latency: Quantiles | None
    """None: none of them has both times."""
    transactions: int
    """That have such an operation, and how many of those were aborted or are of unknown outcome."""
    aborted: int
    unknown: int

    def to_json(self) -> dict[str, Any]:
        latency = None if self.latency is None else vars(self.latency)
        return {**vars(self), "latency": latency}


@dataclass(frozen=True)
class Curves:
    """The time of one clock in pieces of the same length, and what ended in each."""

    clock: str
    transactions: int
    """With a time of this clock."""
    first: int
    ticks: float
    """From the first time to the last."""
    committed: list[int]
    aborted: list[int]
    unknown: list[int]
    at_once: list[int]
    """Transactions that were under way when the piece began."""
    median: list[float | None]
    ninety_nine: list[float | None]
    """Of the lengths of the transactions that ended in it."""


class Activity:
    """Of a trace. Each figure is computed when it is asked for."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def kinds(self) -> list[KindOfOperation]:
        """Transactions as a whole first, then the kinds that occur."""
        t = self.trace
        found = [
            KindOfOperation(
                TRANSACTION,
                len(t),
                0,
                _quantiles(t.txn_begin, t.txn_end),
                len(t),
                *self._ends(np.ones(len(t), bool)),
            )
        ]
        owner = np.repeat(np.arange(len(t)), np.diff(t.txn_ops))
        failed: Mask = (t.op_flags & np.uint8(Flag.ERROR)) != 0
        for kind in Kind:
            here = np.flatnonzero(t.op_kind == kind)
            if not len(here):
                continue
            has = np.zeros(len(t), bool)
            has[owner[here]] = True
            timed = t.op_invoke is not None and t.op_return is not None
            latency = _quantiles(t.op_invoke[here], t.op_return[here]) if timed else None  # type: ignore[index]
            found.append(
                KindOfOperation(
                    kind.name.lower(),
                    len(here),
                    int(failed[here].sum()),
                    latency,
                    int(has.sum()),
                    *self._ends(has),
                )
            )
        return found

    def _ends(self, which: Mask) -> tuple[int, int]:
        ended = self.trace.txn_outcome[which]
        return int((ended == Outcome.ABORTED).sum()), int((ended == Outcome.UNKNOWN).sum())

    @cached_property
    def timed(self) -> bool:
        """Does anything say how long it took?"""
        return any(kind.latency is not None for kind in self.kinds)

    @cached_property
    def curves(self) -> list[Curves]:
        """Of each clock, the one with most transactions first; none of a clock that shows a single instant."""
        made = [self._curves(clock) for clock in range(len(self.trace.clocks))]
        return sorted((c for c in made if c is not None), key=lambda c: -c.transactions)

    @property
    def seconds(self) -> float | None:
        """From the first time to the last, where there is one clock and its unit is known."""
        if len(self.curves) != 1 or not self.trace.unit:
            return None
        return in_seconds(self.curves[0].ticks, self.trace.unit)

    def _curves(self, clock: int) -> Curves | None:
        t = self.trace
        here = t.txn_clock == clock
        begin, end = t.txn_begin[here], t.txn_end[here]
        outcome = t.txn_outcome[here]
        times = np.concatenate((begin[begin != NO_TIME], end[end != NO_TIME]))
        if not len(times) or times.min() == times.max():
            return None
        first = int(times.min())
        ticks = float(int(times.max()) - first)
        shown = np.where(end != NO_TIME, end, begin)  # who has no end is shown where it began
        some = shown != NO_TIME
        pieces = int(min(PIECES, ticks, max(EACH, int(some.sum()) // EACH)))
        place = np.minimum((_after(shown[some], first) * (pieces / ticks)).astype(np.int64), pieces - 1)
        ended = outcome[some]

        def counted(outcome: Outcome) -> list[int]:
            found: list[int] = np.bincount(place[ended == outcome], minlength=pieces).tolist()
            return found

        both = (begin != NO_TIME) & (end != NO_TIME)
        starts, stops = np.sort(_after(begin[both], first)), np.sort(_after(end[both], first))
        edges = np.arange(pieces) * (ticks / pieces)
        at_once = np.searchsorted(starts, edges, side="right") - np.searchsorted(stops, edges, side="right")
        median: list[float | None] = [None] * pieces
        ninety_nine: list[float | None] = [None] * pieces
        lengths = _lengths(begin[both], end[both])
        where = np.minimum((_after(end[both], first) * (pieces / ticks)).astype(np.int64), pieces - 1)
        order = np.lexsort((lengths, where))
        lengths, where = lengths[order], where[order]
        bounds = np.searchsorted(where, np.arange(pieces + 1))
        for piece in range(pieces):
            part = lengths[bounds[piece] : bounds[piece + 1]]
            if len(part):
                median[piece], ninety_nine[piece] = _nth(part, 0.5), _nth(part, 0.99)
        return Curves(
            t.clocks[clock], int(some.sum()), first, ticks, counted(Outcome.COMMITTED), counted(Outcome.ABORTED),
            counted(Outcome.UNKNOWN), at_once.tolist(), median, ninety_nine,
        )  # fmt: skip


def in_seconds(ticks: float, unit: str) -> float:
    return float(ticks * UNITS[unit] / UNITS["s"])


def length(ticks: float, unit: str) -> str:
    """A length of time for people."""
    return roughly(int(ticks), unit) if unit else f"{ticks:,.0f} units"


def doubling(numbers: NDArray[Any] | Sequence[int]) -> list[tuple[str, int]]:
    """How often numbers from 1 on occur, in classes of twice the size: 1, 2, 3 to 4, 5 to 8 ..."""
    counted = np.asarray(numbers)
    counted = counted[counted > 0].astype(np.int64)
    if not len(counted):
        return []
    classes = np.ceil(np.log2(counted)).astype(np.int64)
    counts = np.bincount(classes).tolist()
    names = ["1", "2", *(f"{2 ** (n - 1) + 1:,} to {2**n:,}" for n in range(2, len(counts)))]
    return list(zip(names, counts, strict=False))


def _after(times: NDArray[np.int64], first: int) -> Floats:
    """Ticks after the first: as unsigned numbers, for 64-bit times may lie further apart than a signed one can say."""
    base = np.array([first], np.int64).view(np.uint64)
    return (times.view(np.uint64) - base).astype(np.float64)


def _lengths(begin: NDArray[np.int64], end: NDArray[np.int64]) -> Floats:
    """A clock that was set back makes a length negative: that is none."""
    return np.where(end >= begin, (end.view(np.uint64) - begin.view(np.uint64)).astype(np.float64), 0.0)


def _quantiles(begin: NDArray[np.int64], end: NDArray[np.int64]) -> Quantiles | None:
    both = (begin != NO_TIME) & (end != NO_TIME)
    if not both.any():
        return None
    found = np.sort(_lengths(begin[both], end[both]))
    return Quantiles(len(found), _nth(found, 0.5), _nth(found, 0.9), _nth(found, 0.99), float(found[-1]))


def _nth(ordered: Floats, share: float) -> float:
    """The least that so large a share is at or below."""
    return float(ordered[max(0, int(np.ceil(share * len(ordered))) - 1)])

"""What scans said of keys that nobody had heard of yet.

A scan reads every key of its range, those included that the windows so far never speak of. Where the trace says what
the database held at first, such a key is absent until somebody writes it, and there is nothing to remember. Where
nobody knows, the scan tells: a key in its range that it did not return, and that nobody had written, was absent from
the start. So the ranges that were looked through are remembered, for keys that first appear later. They are joined
where they meet or overlap, so that many scans of a few places are a few ranges.

A key that the window speaks of needs no range: what a scan saw of it is a read like any other. If no read that was
taken has fixed it, it is left out of the ranges: a transaction that had written the key says nothing of what others
left there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import Flag, Kind, Trace
from boomslang.trace.scalars import FAMILY, FLOAT, INT, Code, Scalars

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

Bound = tuple[Any, ...]
"""A place between keys of one family: before (0) or behind (1) one of them; see `_before`."""
FIRST: Bound = (0,)
LAST: Bound = (2,)
"""Before and behind all keys of a family."""
FAMILIES = sorted(set(FAMILY.tolist()))


def _before(code: Code) -> Bound:
    """The place just before a key. Families have an order each: see docs/trace-format.md."""
    kind, content = code[0], code[1:]
    if kind in (INT, FLOAT):
        number = Scalars.of_codes([code])[0]
        return 1, number, kind == FLOAT, 0
    return 1, content, False, 0


def _behind(code: Code) -> Bound:
    return *_before(code)[:-1], 1


@dataclass(frozen=True, eq=False)
class Looked:
    """Ranges of keys. It is never changed: whoever has it may go back to it."""

    starts: dict[int, list[Bound]] = field(default_factory=dict)
    """Of each family, sorted; no two of its ranges meet."""
    ends: dict[int, list[Bound]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.starts)

    def __len__(self) -> int:
        return sum(map(len, self.starts.values()))

    def holds(self, key: Code) -> bool:
        """Is the key in one of the ranges?"""
        starts = self.starts.get(int(FAMILY[key[0]]))
        if not starts:
            return False
        here = _before(key)
        at = bisect_right(starts, here) - 1
        return at >= 0 and here < self.ends[int(FAMILY[key[0]])][at]

    def joined(self, more: Looked) -> Looked:
        """The ranges of both."""
        if not self or not more:
            return self or more
        starts, ends = dict(self.starts), dict(self.ends)
        for family in more.starts:
            new = [(low, high) for low, high in more._of(family) if not self._covers(family, low, high)]
            if not new:
                continue
            a: list[Bound] = []
            b: list[Bound] = []
            for low, high in sorted(self._of(family) + new):
                if b and low <= b[-1]:
                    b[-1] = max(b[-1], high)
                else:
                    a.append(low)
                    b.append(high)
            starts[family], ends[family] = a, b
        return Looked(starts, ends)

    def _of(self, family: int) -> list[tuple[Bound, Bound]]:
        return list(zip(self.starts.get(family, ()), self.ends.get(family, ()), strict=True))

    def _covers(self, family: int, low: Bound, high: Bound) -> bool:
        at = bisect_right(self.starts.get(family, ()), low) - 1
        return at >= 0 and high <= self.ends[family][at]

    def among(self, trace: Trace, keys: Iterable[int]) -> Iterator[int]:
        """Which of these keys of a trace are in them."""
        if self:
            yield from (key for key in keys if self.holds(trace.keys.code(key)))


@dataclass(frozen=True, eq=False)
class InWindow:
    """Ranges in the numbers of a window's trace: 2 r is the place before the key of rank r, 2 r + 1 the one behind."""

    trace: Trace
    family: Int64
    """Of each range; -1: all of them."""
    low: Int64
    high: Int64

    def but_for(self, keys: Mask) -> Looked:
        """The ranges without these keys."""
        trace = self.trace
        far = np.int64(2 * len(trace.keys))
        by_rank = np.argsort(trace.key_rank)
        left_out = np.sort(trace.key_rank[keys])
        starts: dict[int, list[Bound]] = {}
        ends: dict[int, list[Bound]] = {}

        def bound(at: int) -> Bound:
            if at < 0 or at >= far:
                return FIRST if at < 0 else LAST
            code = trace.keys.code(int(by_rank[at // 2]))
            return _behind(code) if at % 2 else _before(code)

        for family in FAMILIES:
            here = (self.family == family) | (self.family < 0)
            low, high = _merged(self.low[here], self.high[here])
            own = left_out[FAMILY[trace.keys.type[by_rank[left_out]]] == family]
            of = np.searchsorted(low, 2 * own, side="right") - 1
            own = own[(of >= 0) & (2 * own < np.append(high, far)[of])]
            low, high = np.sort(np.append(low, 2 * own + 1)), np.sort(np.append(high, 2 * own))
            some = low < high  # one that begins with a key that is left out
            if some.any():
                starts[family] = [bound(at) for at in low[some].tolist()]
                ends[family] = [bound(at) for at in high[some].tolist()]
        return Looked(starts, ends)


def _merged(low: Int64, high: Int64) -> tuple[Int64, Int64]:
    """Ranges that overlap, or of which one begins where the other ends, as one."""
    by = np.argsort(low, kind="stable")
    low, high = low[by], np.maximum.accumulate(high[by])
    new = np.append(True, low[1:] > high[:-1])[: len(low)]
    return low[new], high[np.append(new[1:], True)[: len(low)]]


def looked_through(trace: Trace, by: Mask) -> InWindow:
    """The ranges of these transactions. An iterator has looked through its range up to each key that it returned, and
    to its end if it came there."""
    ours = by[np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))] & (trace.op_flags & Flag.ERROR == 0)
    opened = np.zeros(len(trace.range_lo) + 1, bool)
    opened[trace.op_range[ours & (trace.op_kind == Kind.ITERATOR)]] = True
    steps = (
        ours & (trace.op_kind == Kind.NEXT) & opened[trace.op_range]
    )  # of one that failed nothing is known
    row = np.flatnonzero((ours & (trace.op_kind == Kind.SCAN)) | steps)
    span = trace.op_range[row]
    lo, hi = trace.range_lo[span].astype(np.int64), trace.range_hi[span].astype(np.int64)
    stands = steps[row] & (trace.op_flags[row] & Flag.END == 0)
    hi = np.where(stands, trace.op_key[row], hi)
    bound = np.maximum(lo, hi)
    place, family = np.append(2 * trace.key_rank, 0), np.append(FAMILY[trace.keys.type], 0).astype(np.int64)
    low = np.where(lo >= 0, place[lo], -1)
    high = np.where(hi >= 0, place[hi], 2 * len(trace.keys))
    some = low < high
    return InWindow(trace, np.where(bound >= 0, family[bound], -1)[some], low[some], high[some])

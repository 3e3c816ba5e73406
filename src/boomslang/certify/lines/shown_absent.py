"""Which keys ranges have shown to be absent at first, where the trace does not say what there was.

Until somebody writes it, a key that a range covers and did not return was absent from the start, and the order may not
choose another value for it later. The keys that will yet appear nobody knows, so it is the ranges that are kept, joined
where they meet. A key that a transaction had written itself, and for which its range is excused, is not shown by it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.block_rows import FAMILIES
from boomslang.certify.lines.numbered import InOrder, sort_key
from boomslang.trace.scalars import Code

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

Place = tuple[tuple[Any, ...], int]
"""Before (0) or behind (1) a key, by its `sort_key`. `(f,)` sorts before all keys of the family f."""


class ShownAbsent:
    """Ranges of keys."""

    def __init__(self) -> None:
        self._low: list[Place] = []
        self._high: list[Place] = []

    def __len__(self) -> int:
        return len(self._low)

    def has(self, key: Code) -> bool:
        here = sort_key(key), 0
        at = bisect_right(self._low, here) - 1
        return at >= 0 and here < self._high[at]

    def _add(self, low: Place, high: Place) -> None:
        i, j = bisect_left(self._high, low), bisect_right(self._low, high)
        if i < j:
            low, high = min(low, self._low[i]), max(high, self._high[j - 1])
        self._low[i:j], self._high[i:j] = [low], [high]

    def add(
        self,
        order: InOrder,
        *,
        low: Ints,
        after_low: Ints,
        high: Ints,
        family: Ints,
        excused: Ints,
        excused_of: Ints,
    ) -> None:
        """These ranges (as in `Rows`), each without the keys that are `excused` in it: a key, and the number of its
        range."""
        # Places as numbers: family by family its start, before and behind each key, and its end.
        place = np.append(order.place, 0)
        size = np.int64(2 * len(order.place) + 2)
        whole = family < 0
        start = np.where(whole, 0, family) * size
        stop = np.where(whole, FAMILIES, family + 1) * size - 1
        a = np.where(low >= 0, start + 1 + 2 * place[low] + after_low, start)
        b = np.where(high >= 0, start + 1 + 2 * place[high], stop)

        def named(at: int) -> Place:
            of, rest = divmod(at, int(size))
            if rest == 0 or rest == size - 1:
                return (of + (rest > 0),), 0
            return order.sorted_key((rest - 1) // 2), (rest - 1) % 2

        holes = []
        for key in np.unique(excused).tolist():
            at = order.sorted_key(int(place[key]))[0] * int(size) + 1 + 2 * int(place[key])
            shows = (a <= at) & (at < b)
            shows[excused_of[excused == key]] = False
            if not shows.any():
                holes.append(at)
        by = np.flatnonzero(a < b)
        by = by[np.argsort(a[by], kind="stable")]
        ends = np.maximum.accumulate(b[by])
        first = np.append(True, a[by][1:] > ends[:-1])[: len(by)]
        for one, end in zip(
            a[by][first].tolist(), ends[np.append(first[1:], True)[: len(by)]].tolist(), strict=True
        ):
            at = one
            for hole in sorted(holes):
                if one <= hole < end:
                    if at < hole:
                        self._add(named(at), named(hole))
                    at = hole + 1
            if at < end:
                self._add(named(at), named(end))

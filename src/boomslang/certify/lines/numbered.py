"""Keys and values have numbers, and what nobody speaks of any more loses its number again.

Every block numbers its keys and values itself. Here they get numbers that hold for all blocks, by content, so
that a replay can be array code. A trace has values without end; those that no key holds and no waiting
transaction speaks of are forgotten now and then, and the numbers are given anew: so memory is that of what is held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import compress, count

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.scalars import FAMILY, FLOAT, INT, Code, text_to_int

Ints = NDArray[np.int64]

SPARE = 200_000
"""Numbers that may be out of use before they are given anew."""


class Numbered:
    """Scalars by content, and their numbers: 0, 1, 2, ..."""

    def __init__(self) -> None:
        self.number: dict[Code, int] = defaultdict(
            count().__next__
        )  # who asks for a new one, gives it a number
        self._worth = SPARE

    def __len__(self) -> int:
        return len(self.number)

    def of(self, codes: Iterable[Code]) -> Ints:
        """Of each of these its number, a new one if need be."""
        return np.array(list(map(self.number.__getitem__, codes)), np.int64)

    @property
    def worth_forgetting(self) -> bool:
        return len(self.number) > self._worth

    def keep(self, used: Ints) -> None:
        """Only these, sorted, are kept; the i-th of them is number i from now on."""
        numbers = np.fromiter(self.number.values(), np.int64, len(self.number))
        at = np.searchsorted(used, numbers)
        kept = used[np.minimum(at, len(used) - 1)] == numbers if len(used) else np.zeros(len(numbers), bool)
        pairs = zip(compress(self.number, kept.tolist()), at[kept].tolist(), strict=True)
        self.number = defaultdict(count(len(used)).__next__, pairs)
        self._worth = 2 * len(self.number) + SPARE


SortKey = tuple[int, object, int]


def sort_key(code: Code) -> SortKey:
    """Keys of one family compare by this as they do in a range (docs/trace-format.md)."""
    kind, content = code[0], code[1:]
    family = int(FAMILY[kind])
    if kind == INT:
        return family, text_to_int(content.decode()), 0
    if kind == FLOAT:
        return family, float(np.frombuffer(content, "<f8")[0]), 1
    return family, content, 0


class InOrder:
    """All keys that have a number, in the order of keys: for what looks through ranges."""

    def __init__(self) -> None:
        self._sorted: list[tuple[SortKey, int]] = []
        self._known = 0
        self.number = np.zeros(0, np.int64)
        """Their numbers, in the order of keys."""
        self.place = np.zeros(0, np.int64)
        """Of each number, where it is in that order."""
        self.first = np.zeros(6, np.int64)
        """Of each family the place of its first key, and of the one behind its last."""
        self.last = np.zeros(6, np.int64)

    def update(self, keys: Numbered) -> None:
        """Takes up those that came since."""
        if len(keys) == self._known:
            return
        new = [(sort_key(code), i) for code, i in keys.number.items() if i >= self._known]
        new.sort()
        self._sorted += new
        self._sorted.sort()  # two sorted runs: as quick as merging them
        self._known = len(keys)
        self.number = np.array([i for _, i in self._sorted], np.int64)
        self.place = np.empty(len(self.number), np.int64)
        self.place[self.number] = np.arange(len(self.number))
        families = np.array([key[0] for key, _ in self._sorted], np.int64)
        self.first = np.searchsorted(families, np.arange(6), side="left")
        self.last = np.searchsorted(families, np.arange(6), side="right")

    def sorted_key(self, place: int) -> SortKey:
        """Of the key at a place in that order, what it is sorted by."""
        return self._sorted[place][0]

    def forget(self) -> None:
        """The numbers are given anew."""
        self._sorted, self._known = [], 0

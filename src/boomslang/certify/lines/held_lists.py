"""Lists that are appended to, in an order that is replayed piece by piece.

A list read returns all that was ever appended to its key, so what each list holds is kept as a whole: that is what
the keys of such a trace hold. What a transaction read of its own appends, at the end of a list, is looked at when its
lines are read; the rest of the list must be what the key holds where the transaction begins. Whether writers overlap,
and what those saw who found nothing, is looked at in replay_order.py, for which an append is a write like others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.replay_lists import of_lists
from boomslang.trace.model import ABSENT, Flag, Kind, Outcome, Trace
from boomslang.trace.scalars import Code

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass
class _Work:
    """What one transaction does to lists."""

    appends: list[tuple[Code, Code]] = field(default_factory=list)
    reads: list[tuple[Code, list[Code], int]] = field(default_factory=list)
    """A key, what others have appended to it, and the line."""
    broken: int = -1
    """The line of a read that does not end with what the transaction had appended itself."""


class HeldLists:
    """What every list holds between two points of the order, and what those will do who wait for their place."""

    def __init__(self) -> None:
        self._held: dict[Code, list[Code]] = {}
        self._waiting: dict[int, _Work] = {}

    def take_in(self, trace: Trace, over: Mask, place: Ints, line: Ints) -> None:
        """Transactions of a block that are over; `place` of each, and `line` of each operation."""
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
        counts = over & (trace.txn_outcome != Outcome.ABORTED)
        rows = np.flatnonzero(of_lists(trace) & counts[owner])
        if not len(rows):
            return
        keys, values, start = trace.keys.codes(), trace.values.codes(), trace.range_items
        for row in rows.tolist():
            work = self._waiting.setdefault(int(place[owner[row]]), _Work())
            key = keys[trace.op_key[row]]
            if trace.op_kind[row] == Kind.APPEND:
                work.appends.append((key, values[trace.op_value[row]]))
                continue
            span = trace.op_range[row]
            seen = [values[v] for v in trace.item_value[start[span] : start[span + 1]].tolist()]
            own = [element for appended_to, element in work.appends if appended_to == key]
            others = len(seen) - len(own)
            if others < 0 or seen[others:] != own:
                work.broken = int(line[row])
            else:
                work.reads.append((key, seen[:others], int(line[row])))

    def piece(self, place: Ints, begin: Mask, commit: Mask, refuse: Callable[[int, str, int], None]) -> None:
        """The next points of the order, each of the transaction at `place`. `refuse` is told which cannot be."""
        if not self._waiting:
            return
        for i, where in enumerate(place.tolist()):
            if (work := self._waiting.get(where)) is None:
                continue
            if begin[i]:
                if work.broken >= 0:
                    refuse(i, "does not see its own appends at the end of a list", work.broken)
                for key, seen, line in work.reads:
                    if self._held.get(key, []) != seen:
                        refuse(i, "read a list that is not the version it reads", line)
            if commit[i]:
                for key, element in work.appends:
                    self._held.setdefault(key, []).append(element)
                del self._waiting[where]


def register_keys(trace: Trace) -> Mask:
    """Of each key: is it used as a register? (Who found nothing says nothing of it.)"""
    done = (trace.op_flags & Flag.ERROR == 0) & (trace.op_key >= 0)
    nothing = (trace.op_kind == Kind.GET) & (trace.op_value == ABSENT)
    found = np.zeros(len(trace.keys), bool)
    found[trace.op_key[done & ~nothing & ~np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST))]] = True
    scanned = np.zeros(len(trace.range_lo) + 1, bool)
    scanned[trace.op_range[(trace.op_kind == Kind.SCAN) & (trace.op_flags & Flag.ERROR == 0)]] = True
    found[trace.item_key[np.repeat(scanned[:-1], np.diff(trace.range_items))]] = True
    return found

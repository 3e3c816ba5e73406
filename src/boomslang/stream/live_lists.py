"""Lists that are appended to, in a trace that goes by: what each holds is taken off the front of what is read.

A list read returns all that was ever appended to a key. Most of that lies in windows behind us, and who appended it is
forgotten. So the lists that the windows behind left are kept, and a read in a window must begin with its key's: what
follows are appends of the window, and the window is a trace in which all lists start empty (native/asg/lists.cpp). A
read that begins otherwise is of no version that the window knows: an element that nobody appended is put before it, so
that no order explains it, and it is asked as a part of all that was recorded, as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.replay_lists import replay_lists
from boomslang.distinct import distinct
from boomslang.trace.model import Flag, Kind, Trace
from boomslang.trace.scalars import Code

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

Change = list[tuple[Code, int]]
"""Keys, and how long their lists were before."""


class LiveLists:
    """What every list holds now."""

    def __init__(self) -> None:
        self._held: dict[Code, list[Code]] = {}
        self._members: dict[Code, set[Code]] = {}

    def given_to(self, trace: Trace, pinned: Mask) -> Trace:
        """The trace, as one in which lists start empty. What pinned transactions read counts no more, and is left."""
        rows = np.flatnonzero((trace.op_kind == Kind.LIST) & (trace.op_flags & Flag.ERROR == 0))
        owner = owners(trace)
        rows = rows[~pinned[owner[rows]]]
        if not self._held or not len(rows):
            return trace
        before = self._in_numbers_of(trace, distinct(trace.op_key[rows]).tolist())
        start = trace.range_items
        many = np.diff(start)
        less, more = np.zeros(len(many), np.int64), np.zeros(len(many), np.int64)
        for row in rows.tolist():
            held = before.get(int(trace.op_key[row]))
            if held is None:
                continue
            span = int(trace.op_range[row])
            seen = trace.item_value[start[span] : start[span] + len(held)]
            if many[span] >= len(held) and bool((seen == held).all()):
                less[span] = len(held)
            else:
                more[span] = 1
        within = np.arange(len(trace.item_value)) - np.repeat(start[:-1], many)
        kept = within >= np.repeat(less, many)
        at = np.concatenate([np.zeros(1, np.int64), np.cumsum(many - less)])
        unknown = at[:-1][more > 0]
        return replace(
            trace,
            range_items=np.concatenate([np.zeros(1, np.int64), np.cumsum(many - less + more)]).astype(
                start.dtype
            ),
            item_key=np.insert(trace.item_key[kept], unknown, -1),
            item_value=np.insert(trace.item_value[kept], unknown, len(trace.values)),
        )

    def _in_numbers_of(self, trace: Trace, keys: Iterable[int]) -> dict[int, NDArray[np.int32]]:
        """What these keys hold; an element that the trace never names is none of its values."""
        held = {k: found for k in keys if (found := self._held.get(trace.keys.code(k)))}
        if not held:
            return {}
        number = {code: i for i, code in enumerate(trace.values.codes())}
        return {k: np.array([number.get(e, -9) for e in found], np.int32) for k, found in held.items()}

    def take(self, trace: Trace, over: Mask, commit: Int64) -> tuple[Change, tuple[Code, Code] | None]:
        """These transactions have appended, in the order of their commits. How that is undone; and if an element was
        appended to a key a second time, which."""
        rows = np.flatnonzero((trace.op_kind == Kind.APPEND) & (trace.op_flags & Flag.ERROR == 0))
        owner = owners(trace)[rows]
        rows, owner = rows[over[owner]], owner[over[owner]]
        change: Change = []
        changed: set[Code] = set()
        for row in rows[np.lexsort((rows, commit[owner]))].tolist():
            key, element = (
                trace.keys.code(int(trace.op_key[row])),
                trace.values.code(int(trace.op_value[row])),
            )
            held, members = self._held.setdefault(key, []), self._members.setdefault(key, set())
            if key not in changed:
                changed.add(key)
                change.append((key, len(held)))
            if element in members:
                return change, (key, element)
            held.append(element)
            members.add(element)
        return change, None

    def undo(self, change: Change) -> None:
        for key, long in change:
            held = self._held[key]
            self._members[key].difference_update(held[long:])
            del held[long:]


def owners(trace: Trace) -> Int64:
    """Of each operation, its transaction."""
    return np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))


def appended(trace: Trace) -> Mask:
    """Of each transaction: has it appended to a list?"""
    found = np.zeros(len(trace), bool)
    found[owners(trace)[trace.op_kind == Kind.APPEND]] = True
    return found


def replayed(trace: Trace, pinned: Mask, begin: Int64, commit: Int64, end: int) -> None:
    """Does each list read that is taken see what was appended before it? Looked at apart from the engine."""
    reads = (begin >= 0) & (begin < end) & ~pinned
    owner, kind = owners(trace), trace.op_kind
    counts = np.where(kind == Kind.LIST, reads[owner], (commit >= 0)[owner]) & (
        trace.op_flags & Flag.ERROR == 0
    )

    def refuse(rows: NDArray[np.int64], what: str) -> None:
        if len(rows):
            raise AssertionError(f"a list read of a window {what}")

    replay_lists(trace, begin, commit, counts, None, False, refuse)

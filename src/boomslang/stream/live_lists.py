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
from typing import cast

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.replay_lists import replay_lists
from boomslang.distinct import distinct
from boomslang.stream.live import LiveKeys
from boomslang.trace.model import ABSENT, Flag, Kind, Trace
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

    def __contains__(self, key: object) -> bool:
        """Does it hold a list? A scan says nothing of it then."""
        return bool(self._held.get(cast(Code, key)))

    def used_otherwise(self, trace: Trace, live: LiveKeys, *, scans: bool) -> Code | None:
        """A key that is a list in the windows before and a register in this one, or the other way round. That nothing
        was found in a list may be said with a get, too; but where there are scans, they would speak of the key."""
        done = trace.op_flags & Flag.ERROR == 0
        lists = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)) & done
        here = np.zeros(len(trace.keys) + 1, bool)
        here[trace.op_key[lists]] = True
        nothing = (trace.op_kind == Kind.GET) & (trace.op_value == ABSENT) & (not scans)
        registers = np.zeros(len(trace.keys) + 1, bool)
        registers[trace.op_key[~lists & ~nothing & done]] = True
        registers[trace.item_key] = True
        for code in trace.keys.codes(np.flatnonzero(registers[:-1] & ~here[:-1])):
            if code in self:
                return code
        for code in trace.keys.codes(np.flatnonzero(here[:-1])):
            if code not in self._held and (held := live.get(code)) is not None and held.value is not None:
                return code
        return None

    def given_to(self, trace: Trace, pinned: Mask) -> Trace:
        """The trace, as one in which lists start empty. What pinned transactions read counts no more, and is left."""
        if not self._held:
            return trace
        trace = self._found_something(trace, pinned)
        rows = np.flatnonzero((trace.op_kind == Kind.LIST) & (trace.op_flags & Flag.ERROR == 0))
        owner = owners(trace)
        rows = rows[~pinned[owner[rows]]]
        if not len(rows):
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

    def _found_something(self, trace: Trace, pinned: Mask) -> Trace:
        """A get that found nothing saw an empty list. Where the windows before have left elements in it, it is made a
        list read with one that nobody appended."""
        gets = (trace.op_kind == Kind.GET) & (trace.op_value == ABSENT) & (trace.op_flags & Flag.ERROR == 0)
        rows = np.flatnonzero(gets)
        lists = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)) & (trace.op_flags & Flag.ERROR == 0)
        rows = rows[np.isin(trace.op_key[rows], trace.op_key[lists]) & ~pinned[owners(trace)[rows]]]
        rows = rows[[trace.keys.code(int(k)) in self for k in trace.op_key[rows].tolist()]]
        if not len(rows):
            return trace
        kind, span = trace.op_kind.copy(), trace.op_range.copy()
        ranges, items = len(trace.range_lo), len(trace.item_value)
        kind[rows], span[rows] = Kind.LIST, np.arange(ranges, ranges + len(rows))
        nobody = np.full(len(rows), -1, np.int32)
        ends = np.arange(items + 1, items + 1 + len(rows))
        return replace(
            trace,
            op_kind=kind,
            op_range=span,
            range_lo=np.append(trace.range_lo, nobody),
            range_hi=np.append(trace.range_hi, nobody),
            range_items=np.append(trace.range_items, ends).astype(trace.range_items.dtype),
            item_key=np.append(trace.item_key, nobody),
            item_value=np.append(trace.item_value, np.full(len(rows), len(trace.values), np.int32)),
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


def uses_lists(trace: Trace) -> Mask:
    """Of each transaction: has it appended to a list, or read one?"""
    found = np.zeros(len(trace), bool)
    found[owners(trace)[np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST))]] = True
    return found


def replayed_lists(trace: Trace, pinned: Mask, begin: Int64, commit: Int64, end: int) -> None:
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

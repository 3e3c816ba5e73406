"""What the trace says, one read at a time: the verifiers' own reading of it, shared with nothing that checks.

What an operation saw of a key, what of that came from others, and what each transaction left there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from boomslang.trace import ABSENT, Flag, Kind, Trace

SOME_VALUE = -2  # seen by a delete that found its key


class Seen(NamedTuple):
    value: int
    item: bool
    since: int  # own writes from this operation on may or may not show
    row: int
    elements: tuple[int, ...] | None = None  # of a list read


def look(trace: Trace, row: int, key: int) -> Seen | None:
    """What the operation saw in the key; None if it did not look there."""
    kind, flags, r = int(trace.op_kind[row]), int(trace.op_flags[row]), int(trace.op_range[row])
    if flags & Flag.ERROR:
        return None
    here = int(trace.op_key[row]) == key
    if kind == Kind.GET and here:
        return Seen(int(trace.op_value[row]), True, row, row)
    if kind == Kind.LIST and here:
        elements = trace.item_value[trace.range_items[r] : trace.range_items[r + 1]]
        return Seen(ABSENT, True, row, row, tuple(elements.tolist()))
    if kind == Kind.DELETE and here and flags & (Flag.FOUND | Flag.NOTHING):
        return Seen(SOME_VALUE if flags & Flag.FOUND else ABSENT, True, row, row)
    if kind == Kind.SELECT:
        for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1])):
            if trace.item_key[i] == key:
                return Seen(int(trace.item_value[i]), True, row, row)
        return None
    if kind not in (Kind.SCAN, Kind.NEXT):
        return None
    rank, low, high = int(trace.key_rank[key]), int(trace.range_lo[r]), int(trace.range_hi[r])
    if any(bound >= 0 and not _comparable(trace, bound, key) for bound in (low, high)):
        return None
    if (low >= 0 and rank < trace.key_rank[low]) or (high >= 0 and rank >= trace.key_rank[high]):
        return None
    if holds_list(trace, key):
        return None  # what is no item of a scan says nothing of a list
    if kind == Kind.SCAN:
        for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1])):
            if trace.item_key[i] == key:
                return Seen(int(trace.item_value[i]), True, row, row)
        return Seen(ABSENT, False, row, row)

    # An iterator looks at the keys after the one it returned before, up to the one it returns now; at its end, at
    # all that are left.
    def passes(step: int) -> bool:
        if trace.op_flags[step] & Flag.END:
            return True
        returned = int(trace.op_key[step])
        return _comparable(trace, returned, key) and rank <= trace.key_rank[returned]

    opened = row
    while trace.op_kind[opened] != Kind.ITERATOR or trace.op_range[opened] != r:
        opened -= 1
        if trace.op_range[opened] != r or trace.op_kind[opened] != Kind.NEXT:
            continue
        if not trace.op_flags[opened] & Flag.ERROR and passes(opened):
            return None  # it had passed the key before
    if here and not flags & Flag.END:
        return Seen(int(trace.op_value[row]), True, opened, row)
    return Seen(ABSENT, False, opened, row) if passes(row) else None


def _comparable(trace: Trace, a: int, b: int) -> bool:
    """Keys order within their type, and numbers among each other; else their order is the database's."""
    integer, real = 2, 3
    types = {int(trace.keys.type[a]), int(trace.keys.type[b])}
    return len(types) == 1 or types == {integer, real}


_list_keys: WeakKeyDictionary[Trace, frozenset[int]] = WeakKeyDictionary()


def holds_list(trace: Trace, key: int) -> bool:
    if trace not in _list_keys:
        of_list = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)) & (trace.op_flags & Flag.ERROR == 0)
        _list_keys[trace] = frozenset(np.unique(trace.op_key[of_list]).tolist())
    return key in _list_keys[trace]


def written(trace: Trace, rows: Iterable[int]) -> list[tuple[int, int, int]]:
    """The writes among the operations: (row, key, value)."""
    writes = []
    for row in rows:
        kind, flags = int(trace.op_kind[row]), int(trace.op_flags[row])
        if not flags & Flag.ERROR:
            if kind in (Kind.PUT, Kind.APPEND):
                writes.append((row, int(trace.op_key[row]), int(trace.op_value[row])))
            elif kind == Kind.DELETE and not flags & Flag.NOTHING:
                writes.append((row, int(trace.op_key[row]), ABSENT))
    return writes


def fits(seen: int, value: int) -> bool:
    return seen == value or (seen == SOME_VALUE and value != ABSENT)


def all_writers(trace: Trace, keys: set[int]) -> dict[int, dict[int, int]]:
    """key -> {transaction: what it left there}, over the whole trace."""
    writing = np.isin(trace.op_kind, (Kind.PUT, Kind.DELETE, Kind.APPEND))
    rows = np.flatnonzero(writing & np.isin(trace.op_key, np.array(sorted(keys), dtype=np.int64)))
    txns = np.searchsorted(trace.txn_ops, rows, side="right") - 1
    left: dict[int, dict[int, int]] = {key: {} for key in keys}
    for row, t in zip(rows.tolist(), txns.tolist(), strict=True):
        for _, key, value in written(trace, [row]):
            left[key][t] = value
    return left


def rows_of(trace: Trace, t: int) -> range:
    return range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1]))


CONTRADICTS: Final = "it contradicts what its transaction wrote itself"


def of_others(trace: Trace, t: int, key: int, seen: Seen) -> Seen | str | None:
    """What a read of transaction t says of others' writes: nothing, if its own explain it; or it `CONTRADICTS`."""
    own = [(at, value) for at, k, value in written(trace, range(int(trace.txn_ops[t]), seen.row)) if k == key]
    if seen.elements is not None:  # own appends are at the list's end
        mine, cut = tuple(v for _, v in own), len(seen.elements) - len(own)
        if cut < 0 or seen.elements[cut:] != mine:
            return CONTRADICTS
        return seen._replace(elements=seen.elements[:cut])
    before = [value for at, value in own if at < seen.since]
    if any(fits(seen.value, value) for value in before[-1:] + [v for at, v in own if at > seen.since]):
        return None
    return CONTRADICTS if before else seen

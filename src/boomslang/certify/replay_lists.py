"""Replay of list reads: does each list hold just what its order says?

A key that is only appended to keeps its history in its value. In a given order, a version of a list is all that
its writer and those before it appended, in program order; a list read must return exactly the version that it
reads, and after that what its own transaction had appended. The rest of a witness is replay.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from boomslang.trace import Flag, Kind, Trace

Array = np.ndarray[Any, np.dtype[Any]]
CHUNK = 1 << 22  # elements compared together: bounds the memory
Refuse = Callable[[Array, str], None]


def of_lists(trace: Trace) -> Array:
    """Of each operation: does it append to a list, or read one?"""
    found: Array = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST)) & (trace.op_flags & Flag.ERROR == 0)
    return found


def listed_keys(trace: Trace) -> Array:
    """Of each key: is it used as a list?"""
    found = np.zeros(len(trace.keys), bool)
    found[trace.op_key[of_lists(trace)]] = True
    return found


def replay_lists(
    trace: Trace,
    begin: Array,
    commit: Array,
    counts: Array,
    source: Callable[[Array], Array] | None,
    latest: bool,
    refuse: Refuse,
) -> int:
    """Checks all list reads that count, and says how many there are.

    `begin` and `commit` are the transactions' places in the order. `source` names the writer of each of some
    operations (-1: the initial state), where the order alone does not tell; `latest`: it must be the last.
    """
    row = np.flatnonzero((trace.op_kind == Kind.LIST) & counts)
    txn = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    places, rows = 2 * len(trace) + 1, len(trace.op_kind) + 1
    append = np.flatnonzero((trace.op_kind == Kind.APPEND) & counts)
    program = np.sort(trace.op_key[append] * np.int64(rows) + append)  # by key, in program order
    append = append[np.lexsort((append, commit[txn[append]], trace.op_key[append]))]
    place = trace.op_key[append] * np.int64(places) + commit[txn[append]]  # by key, in the order's order
    content, mine = trace.op_value[append], trace.op_value[program % rows]

    key, span = trace.op_key[row].astype(np.int64), trace.op_range[row]
    first = np.searchsorted(place, key * places)
    end = np.searchsorted(place, key * places + begin[txn[row]])
    if source is not None:
        writer = source(row)
        ended = np.where(writer < 0, -1, commit[writer])
        told = np.where(writer < 0, first, np.searchsorted(place, key * places + ended, side="right"))
        some = np.append(place, -1)[told - 1] == key * places + ended
        bad = (writer >= 0) & ((ended < 0) | (ended >= begin[txn[row]]) | ~some)
        refuse(row[bad], "reads from one that left no version of the list before it")
        if latest:
            refuse(row[told != end], "reads a version of the list that is not the last before it")
        end = told
    own = np.searchsorted(program, key * rows + trace.txn_ops[txn[row]])
    owned = np.searchsorted(program, key * rows + row) - own
    start, count = trace.range_items[span], np.diff(trace.range_items)[span]
    refuse(row[count != end - first + owned], "read a list of another length than the version it reads has")
    for part, at in _pairs(start, first, end - first):
        wrong = trace.item_value[at[0]] != content[at[1]]
        refuse(row[part[wrong]], "read a list that is not the version it reads")
    for part, at in _pairs(start + count - owned, own, owned):
        wrong = trace.item_value[at[0]] != mine[at[1]]
        refuse(row[part[wrong]], "does not see its own appends at the end of the list")
    return len(row)


def _pairs(a: Array, b: Array, count: Array) -> Iterator[tuple[Array, tuple[Array, Array]]]:
    """a[i] + j and b[i] + j for all j below count[i], a chunk of i's at a time."""
    ends, j = np.append(0, np.cumsum(count)), 0
    while (i := j) < len(count):
        j = max(i + 1, int(np.searchsorted(ends, ends[i] + CHUNK)) - 1)
        of = np.repeat(np.arange(i, j), count[i:j])
        within = np.arange(ends[i], ends[j]) - ends[of]
        yield of, (a[of] + within, b[of] + within)

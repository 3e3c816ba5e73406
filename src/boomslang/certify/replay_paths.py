"""Replay of levels that forbid some cycles with one anti-dependency, and of cursors.

Below snapshot isolation a read need not see the last version before it. The levels in between say which versions it may
miss: r read x from w, and p wrote a later version of x, which r missed. Then there must be no path from p to r:

    read atomic                  ... of one step: r read from p
    read committed (Biswas-Enea) ... the same, but only if r had read from p before it read x
    causal                       ... of reads from one another
    consistent view (PL-2+)      ... of reads from one another and overwrites
    cursor stability             (no path, but:) if r writes x too, nobody writes it between w and r

so and rt are steps like reads, where the level has them. As every step leads forward in the order, only what stands
between w and r is looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from boomslang.trace import NO_TIME, Flag, Kind, Outcome, Trace

Array = np.ndarray[Any, np.dtype[Any]]
Refuse = Callable[[Array, str], None]

PATHS = {  # steps are overwrites too, any number of steps, only what was read earlier
    "read-committed-be": (False, False, True),
    "read-atomic": (False, False, False),
    "causal": (False, True, False),
    "consistent-view": (True, True, False),
    "forward-consistent-view": (True, True, False),
}


def replay_paths(
    trace: Trace,
    base: str,
    extra: set[str],
    slack: int,
    order: Array,
    row: Array,
    key: Array,
    source: Array,
    refuse: Refuse,
) -> None:
    """Check the reads (`row`, `key`, and whom they read from) against an order of transactions. rt is of what is more
    than `slack` apart."""
    overwrites, any_length, earlier = PATHS[base]
    txn = np.searchsorted(trace.txn_ops, row, side="right") - 1
    place = _places(trace, order)
    versions = _versions(trace, place)

    missed: list[tuple[int, list[int]]] = []
    for i in range(len(row)):
        w, t = int(source[i]), int(txn[i])
        places = versions.get(int(key[i]), [])
        first = bisect_right(places, -1 if w < 0 else int(place[w]))
        later = [int(order[p]) for p in places[first : bisect_left(places, int(place[t]))]]
        if later:
            missed.append((i, later))
    if not missed:
        return

    before: dict[int, set[int]] = {int(t): set() for t in order}  # the last step of a path to each
    read_from: dict[int, list[tuple[int, int]]] = {}
    for r, t, w in zip(row.tolist(), txn.tolist(), source.tolist(), strict=True):
        if w >= 0:
            read_from.setdefault(t, []).append((r, w))
            before[t].add(w)
    if overwrites:
        for places in versions.values():
            for a, b in pairwise(order[places].tolist()):
                before[b].add(a)
    committed = trace.txn_outcome == Outcome.COMMITTED
    sessions: dict[int, int] = {}  # the last committed transaction of each session so far
    earlier_in_session: dict[int, int] = {}
    for t in range(len(trace)):
        s = int(trace.txn_session[t])
        if "so" in extra and s >= 0 and place[t] >= 0:
            if s in sessions:
                before[t].add(sessions[s])
                earlier_in_session[t] = sessions[s]
            if committed[t]:
                sessions[s] = t

    def returned_before(p: int, moments: dict[int, int]) -> bool:
        known = "rt" in extra and committed[p] and trace.txn_end[p] != NO_TIME
        return bool(known and int(trace.txn_end[p]) + slack < moments.get(int(trace.txn_clock[p]), NO_TIME))

    for i, later in missed:
        t = int(txn[i])
        if not any_length:
            direct = {w for r, w in read_from.get(t, ()) if not earlier or r < row[i]}
            at = t
            while not earlier and at in earlier_in_session:
                at = earlier_in_session[at]
                direct.add(at)
            if direct & set(later):
                refuse(row[i : i + 1], "misses a version whose writer it read from")
            continue
        # Backwards from the reader: who reaches it? `moments`: of each clock, the latest begin of those that do.
        marked, moments = set(before[t]), dict[int, int]()
        goal = set(later)
        if trace.txn_begin[t] != NO_TIME:
            moments[int(trace.txn_clock[t])] = int(trace.txn_begin[t])
        first = min(int(place[p]) for p in later)
        for at in range(int(place[t]) - 1, first - 1, -1):
            p = int(order[at])
            if p not in marked and not returned_before(p, moments):
                continue
            if p in goal:
                refuse(row[i : i + 1], "misses a version that it depends on")
            marked |= before[p]
            began, clock = int(trace.txn_begin[p]), int(trace.txn_clock[p])
            if began != NO_TIME:
                moments[clock] = max(began, moments.get(clock, NO_TIME))


def replay_cursors(
    trace: Trace, order: Array, row: Array, key: Array, source: Array, item: Array, refuse: Refuse
) -> None:
    """Who reads a key and writes it overwrites the version that it read."""
    marked = trace.marked("cursor")
    place = _places(trace, order)
    versions = _versions(trace, place)
    txn = np.searchsorted(trace.txn_ops, row, side="right") - 1
    for i in np.flatnonzero(item & (True if marked is None else marked[row])).tolist():
        places, mine = versions.get(int(key[i]), []), int(place[txn[i]])
        at = bisect_left(places, mine)
        if places[at : at + 1] == [mine] and (int(order[places[at - 1]]) if at else -1) != source[i]:
            refuse(row[i : i + 1], "reads a key and writes it, and another wrote it in between")


def replay_uncommitted(trace: Trace, order: Array, refuse: Refuse) -> None:
    """Nothing read counts, but in what order the appends of the ordered transactions came."""
    place = _places(trace, order)
    fine = trace.op_flags & Flag.ERROR == 0
    txn = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    wrote = np.flatnonzero((trace.op_kind == Kind.APPEND) & fine)
    writer = {(int(trace.op_key[r]), int(trace.op_value[r])): int(txn[r]) for r in wrote}
    for row in np.flatnonzero((trace.op_kind == Kind.LIST) & fine & (place[txn] >= 0)).tolist():
        r, key = int(trace.op_range[row]), int(trace.op_key[row])
        elements = trace.item_value[trace.range_items[r] : trace.range_items[r + 1]].tolist()
        seen = [int(place[writer[key, e]]) for e in elements if (key, e) in writer]
        seen = [p for p in seen if p >= 0]
        if seen != sorted(seen):
            refuse(np.array([row]), "read a list whose appends are in another order")


def _places(trace: Trace, order: Array) -> Array:
    """Where each transaction stands in the order; -1: nowhere."""
    place = np.full(len(trace), -1)
    place[order] = np.arange(len(order))
    return place


def _versions(trace: Trace, place: Array) -> dict[int, list[int]]:
    """Of each key, where in the order those stand who wrote it."""
    deletes = (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.NOTHING == 0)
    writes = (np.isin(trace.op_kind, (Kind.PUT, Kind.APPEND)) | deletes) & (trace.op_flags & Flag.ERROR == 0)
    txn = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    rows = np.flatnonzero(writes & (place[txn] >= 0))
    pairs = np.unique(np.stack([trace.op_key[rows].astype(np.int64), place[txn[rows]]], axis=1), axis=0)
    found: dict[int, list[int]] = {}
    for key, at in pairs.tolist():
        found.setdefault(key, []).append(at)
    return found

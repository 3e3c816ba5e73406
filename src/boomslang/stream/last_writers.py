"""Two last writers of a key, and nobody has read what either wrote: later reads say which one came last.

Where writes are blind, the order of two that overlapped is a guess until somebody reads the key, and that may be many
windows later. Asking all of that again would be a lot of work for two transactions that stand side by side. So the
earlier of the two is put just behind the later one, or that just before it, if nothing else changes by that: every
read between still sees what it saw, every other key is left as it was, and the orders of sessions and of time hold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG
from boomslang.distinct import distinct
from boomslang.levels.level import Dependency, Level
from boomslang.stream.window import writers_must_not_overlap
from boomslang.trace.model import NO_TIME, Outcome

Int64 = NDArray[np.int64]

FARTHEST = 5_000
"""Points between the two, at most."""


def swapped(asg: ASG, level: Level, order: Int64, key: int, early: int, late: int) -> Int64 | None:
    """The order with transaction `early` after `late` as the last writer of `key`, and nothing else changed; or None.

    `order` is the part that was taken of a window: points in the numbers of its ASG.
    """
    points = level.points
    place = np.full(points * asg.transactions, -1, np.int64)
    place[order] = np.arange(len(order))
    mine, other = _points_of(early, points), _points_of(late, points)
    # Where writers may overlap, the later one may have begun first.
    low, high = int(min(place[mine].min(), place[other].min())), int(place[other].max())
    if low < 0 or high - low > FARTHEST:
        return None
    between = order[low : high + 1]
    for moved, changed in (
        (early, np.concatenate([between[~np.isin(between, mine)], mine])),
        (late, np.concatenate([other, between[~np.isin(between, other)]])),
    ):
        if _same_but_for(key, asg, level, between, changed) and _may_move(
            asg, level, between, moved, place, high
        ):
            return np.concatenate([order[:low], changed, order[high + 1 :]])
    return None


def _points_of(txn: int, points: int) -> Int64:
    return np.arange(points * txn, points * (txn + 1))


def _same_but_for(key: int, asg: ASG, level: Level, before: Int64, after: Int64) -> bool:
    """Do all reads see the same, and is every other key left the same?"""
    seen, left = _walk(asg, level, before)
    seen_now, left_now = _walk(asg, level, after)
    if seen is None or seen_now is None or seen != seen_now:
        return False
    return {k: v for k, v in left.items() if k != key} == {k: v for k, v in left_now.items() if k != key}


def _walk(asg: ASG, level: Level, points: Int64) -> tuple[dict[int, int | None] | None, dict[int, int]]:
    """Of each read its writer (None: one before these points), and who wrote each key last. No reads: writers of a key
    overlap."""
    wrote: dict[int, int] = {}
    at: dict[int, int] = {}
    begun: dict[int, int] = {}
    seen: dict[int, int | None] = {}
    many, apart = level.points, writers_must_not_overlap(level)
    two = many == 2
    written = _written(asg, points // many)
    for i, point in enumerate(points.tolist()):
        txn = point // many
        if not two or point % 2 == 0:
            begun[txn] = i
            for r in range(int(asg.read_start[txn]), int(asg.read_start[txn + 1])):
                seen[r] = wrote.get(int(asg.read_key[r]))
        if not two or point % 2 == 1:
            for k in written[txn]:
                if apart and at.get(k, -1) > begun.get(txn, -1):
                    return None, wrote
                wrote[k], at[k] = txn, i
    return seen, wrote


def _written(asg: ASG, transactions: Int64) -> dict[int, list[int]]:
    """Of each of these transactions the keys that it wrote."""
    wanted = np.zeros(asg.transactions, bool)
    wanted[transactions] = True
    rows = np.flatnonzero(wanted[asg.write_txn])
    keys = np.searchsorted(asg.key_start, rows, side="right") - 1
    found: dict[int, list[int]] = {txn: [] for txn in transactions.tolist()}
    for txn, key in zip(asg.write_txn[rows].tolist(), keys.tolist(), strict=True):
        found[txn].append(key)
    return found


def _may_move(asg: ASG, level: Level, between: Int64, moved: int, place: Int64, high: int) -> bool:
    trace = asg.trace
    txns = distinct(between // level.points)
    others = txns[txns != moved]
    session = trace.txn_session
    alike = session[others] == session[moved]
    if level.has(Dependency.SO) and session[moved] >= 0 and bool(alike.any()):
        return False
    if level.has(Dependency.RT):
        begin, end = trace.txn_begin, trace.txn_end
        known = (trace.txn_outcome[others] == Outcome.COMMITTED) & (end[others] != NO_TIME)
        if bool((known & (end[others] < begin[moved])).any()):
            return False
        returned = trace.txn_outcome[moved] == Outcome.COMMITTED and end[moved] != NO_TIME
        if returned and bool(((begin[others] != NO_TIME) & (end[moved] < begin[others])).any()):
            return False
    if writers_must_not_overlap(level):  # nobody who writes one of its keys is open at either end
        for k in _written(asg, np.array([moved]))[moved]:
            writers = asg.write_txn[asg.key_start[k] : asg.key_start[k + 1]]
            begin_at, commit_at = place[2 * writers], place[2 * writers + 1]
            open_after = (begin_at >= 0) & (begin_at <= high) & ((commit_at > high) | (commit_at < 0))
            if bool((open_after & (writers != moved)).any()):
                return False
    return True

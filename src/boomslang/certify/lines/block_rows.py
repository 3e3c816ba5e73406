"""What the transactions of a block did, as rows that need the block no more.

Where a transaction stands in the order changes nothing about what it wrote itself. So what it saw of its own is looked
at here, once, when its lines are read; what is left are its reads of others' values, the ranges that it looked
through, and the last value that it gave each key: what a replay asks of the state at its begin, and does to it
at its commit.

A range says that its keys were absent but for some that are *excused*: those it returned, which are reads by
themselves, and those the transaction had written, where its own value explains what it saw (as in
certify/replay.py: own writes must show, those made while an iterator was open may). What keys there are
besides is known where it is replayed. A list that is read is no row here (held_lists.py): an append is, as a write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.replay_lists import listed_keys
from boomslang.trace.model import ABSENT, Flag, Kind, Outcome, Trace
from boomslang.trace.scalars import FAMILY

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

PRESENT: Final = -2
"""What a delete saw that found something."""
FAMILIES: Final = 6
ALL: Final = -1
"""As the family of a range: it goes through every one of them."""


@dataclass(frozen=True, eq=False)
class Rows:
    """In the numbers of the block. Reads, ranges and writes are sorted by transaction."""

    read_txn: Ints
    read_key: Ints
    read_value: Ints
    """A value, ABSENT or PRESENT."""
    read_row: Ints
    write_txn: Ints
    write_key: Ints
    write_value: Ints
    range_txn: Ints
    range_row: Ints
    low: Ints
    """The key where it starts; -1: with the first key of its family."""
    after_low: Mask
    """It starts behind that key."""
    high: Ints
    """The key before which it ends; -1: with the last of its family."""
    family: Ints
    excused_range: Ints
    excused_key: Ints
    broken: Ints
    """Of each transaction an operation that does not see its own write; -1: none."""


def rows_of(trace: Trace, skipped: Mask) -> Rows:
    """`skipped`: transactions that do not count here."""
    return _Block(trace, skipped).rows()


class _Block:
    def __init__(self, trace: Trace, skipped: Mask) -> None:
        self.trace = trace
        self.size = np.int64(len(trace.op_kind) + 1)
        self.txn = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
        counts = ~skipped & (trace.txn_outcome != Outcome.ABORTED)
        self.counts = (trace.op_flags & Flag.ERROR == 0) & counts[self.txn]
        self.broken = np.full(len(trace), -1, np.int64)
        deletes = (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.NOTHING == 0)
        writes = (trace.op_kind == Kind.PUT) | (trace.op_kind == Kind.APPEND) | deletes
        row = np.flatnonzero(writes & self.counts)
        # By key, then by row; the first is a sentinel.
        self.write = np.append(-1, np.sort(trace.op_key[row].astype(np.int64) * self.size + row))
        self.key, row = np.divmod(self.write[1:], self.size)
        self.writer = self.txn[row]
        self.wrote = np.append(ABSENT, np.where(deletes[row], ABSENT, trace.op_value[row])).astype(np.int64)

    def rows(self) -> Rows:
        trace = self.trace
        read = self._items()
        outside = self._of_others(*read[:3], read[3])
        row, key, value = (a[outside] for a in read[:3])
        reader = self.txn[row]
        by = np.argsort(reader, kind="stable")
        last = np.append((self.key[1:] != self.key[:-1]) | (self.writer[1:] != self.writer[:-1]), True)
        final = np.flatnonzero(last[: len(self.key)])
        final = final[np.argsort(self.writer[final], kind="stable")]
        ranges = self._ranges() if bool(np.isin(trace.op_kind, (Kind.SCAN, Kind.NEXT)).any()) else None
        if ranges is None:
            none, no = np.zeros(0, np.int64), np.zeros(0, bool)
            ranges = (none, none, no, none, none, none, none)
        of, low, after, high, family, excused, excused_key = ranges
        return Rows(
            reader[by],
            key[by],
            value[by],
            row[by],
            self.writer[final],
            self.key[final],
            self.wrote[1:][final],
            self.txn[of],
            of,
            low,
            after,
            high,
            family,
            excused,
            excused_key,
            self.broken,
        )

    def _items(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Every look at a key that told what it held, or that it was not there: row, key, value, and since
        when own writes may or may not show."""
        t = self.trace
        told = t.op_flags & (Flag.FOUND | Flag.NOTHING) != 0
        steps = (t.op_kind == Kind.NEXT) & (t.op_flags & Flag.END == 0)
        row = np.flatnonzero(((t.op_kind == Kind.GET) | told | steps) & self.counts)
        value = np.where(t.op_flags[row] & Flag.FOUND != 0, PRESENT, t.op_value[row]).astype(np.int64)
        since = np.where(steps[row], self._opened()[t.op_range[row]], row)
        scan = np.flatnonzero((t.op_kind == Kind.SCAN) & self.counts)
        item, of = spread(t.range_items, t.op_range[scan].astype(np.int64))
        scanned = scan[of]
        return (
            np.concatenate([row, scanned]),
            np.concatenate([t.op_key[row], t.item_key[item]]).astype(np.int64),
            np.concatenate([value, t.item_value[item]]),
            np.concatenate([since, scanned]),
        )

    def _opened(self) -> Ints:
        """Of each range the row of its iterator. (One more than there are: an operation without a range is at -1.)"""
        t = self.trace
        opened = np.zeros(len(t.range_lo) + 1, np.int64)
        rows = np.flatnonzero((t.op_kind == Kind.ITERATOR) & (t.op_range >= 0))
        opened[t.op_range[rows]] = rows
        return opened

    def _of_others(self, row: Ints, key: Ints, value: Ints, since: Ints) -> Mask:
        """Which of these looks own writes do not explain; one that contradicts them breaks its transaction."""
        code = key * self.size + row
        at = np.searchsorted(self.write, code) - 1
        first = code - row + self.trace.txn_ops[self.txn[row]]
        look, own, must = np.ones(len(row), bool), np.zeros(len(row), bool), np.zeros(len(row), bool)
        while (look := look & (self.write[at] >= first)).any():
            own |= look & np.where(value == PRESENT, self.wrote[at] != ABSENT, self.wrote[at] == value)
            must |= look & (self.write[at] < code - row + since)
            look, at = look & ~must, np.maximum(at - 1, 0)
        wrong = row[must & ~own]
        self.broken[self.txn[wrong]] = wrong
        outside: Mask = ~must & ~own
        return outside

    def _ranges(self) -> tuple[Any, ...]:
        """Of each range that an operation looked through: its row, bounds and family; and who is excused in which."""
        t = self.trace
        family_of = np.append(FAMILY[t.keys.type], 0).astype(np.int64)
        lo, hi = np.append(t.range_lo, -1).astype(np.int64), np.append(t.range_hi, -1).astype(np.int64)
        bound = np.maximum(lo, hi)
        scan = np.flatnonzero((t.op_kind == Kind.SCAN) & self.counts)
        span = t.op_range[scan]
        family = np.where(bound[span] < 0, ALL, family_of[bound[span]])
        steps, step_low, step_after, step_high, step_family = self._steps(family_of, lo, hi, bound)
        row = np.concatenate([scan, steps])
        low, high = np.concatenate([lo[span], step_low]), np.concatenate([hi[span], step_high])
        after = np.concatenate([np.zeros(len(scan), bool), step_after])
        family = np.concatenate([family, step_family])

        # Own writes in a range, and not returned by it.
        rank, keys = t.key_rank, np.int64(len(t.keys) + 1)
        in_order = FAMILY[t.keys.type[np.argsort(rank)]]
        first, last = (
            np.searchsorted(in_order, np.arange(FAMILIES), side=side) for side in ("left", "right")
        )
        ranks = np.append(rank, 0)
        a = np.where(low >= 0, ranks[low] + after, np.where(family < 0, 0, first[family]))
        b = np.where(high >= 0, ranks[high], np.where(family < 0, len(rank), last[family]))
        register = ~listed_keys(t)[self.key]  # that a list is no item of a range says nothing
        mine = np.unique((self.writer * keys + rank[self.key])[register])
        starts = np.searchsorted(mine, self.txn[row] * keys + a)
        ends = np.maximum(starts, np.searchsorted(mine, self.txn[row] * keys + b))
        of = np.repeat(np.arange(len(row)), ends - starts)
        at = np.arange(len(of)) - np.repeat(np.cumsum(ends - starts) - (ends - starts), ends - starts)
        key = np.argsort(rank)[mine[at + starts[of]] % keys] if len(of) else np.zeros(0, np.int64)
        item, returned = spread(t.range_items, t.op_range[scan].astype(np.int64))
        item_key = t.item_key[item].astype(np.int64)
        again = np.isin(of * keys + key, returned * keys + item_key)  # scans are the first of the ranges
        of, key = of[~again], key[~again]
        opened = self._opened()
        since = np.where(t.op_kind[row[of]] == Kind.NEXT, opened[t.op_range[row[of]]], row[of])
        own = ~self._of_others(row[of], key, np.full(len(of), ABSENT), since)
        excused = np.concatenate([returned, of[own]])
        excused_key = np.concatenate([item_key, key[own]])

        by = np.argsort(self.txn[row], kind="stable")
        number = np.empty(len(by), np.int64)
        number[by] = np.arange(len(by))
        excused = number[excused]
        order = np.argsort(excused, kind="stable")
        return row[by], low[by], after[by], high[by], family[by], excused[order], excused_key[order]

    def _steps(self, family_of: Ints, lo: Ints, hi: Ints, bound: Ints) -> tuple[Any, ...]:
        """A step of an iterator looks from behind the key of that family that it returned before, or from its
        lower bound, to just before the key that it returns; at its end to its upper bound. Without bounds it
        goes through the families as the database likes: at its end it has seen the rest of each."""
        t = self.trace
        row = np.flatnonzero((t.op_kind == Kind.NEXT) & self.counts)
        end = t.op_flags[row] & Flag.END != 0
        times = np.where(end & (bound[t.op_range[row]] < 0), FAMILIES, 1)
        part = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        whole = np.repeat(times > 1, times)
        row, end = np.repeat(row, times), np.repeat(end, times)
        span = t.op_range[row]
        key = np.where(end, -1, t.op_key[row]).astype(np.int64)
        within = np.where(end, bound[span], key)
        family = np.where(whole, part, family_of[within])
        code = span.astype(np.int64) * FAMILIES + family
        by = np.argsort(code, kind="stable")
        again = np.append(False, code[by][1:] == code[by][:-1])[: len(by)]
        before = np.empty(len(by), np.int64)
        before[by] = np.where(again, np.roll(key[by], 1), -1)
        low = np.where(before >= 0, before, lo[span])
        return row, low, before >= 0, np.where(end, hi[span], key), family


def spread(start: NDArray[Any], which: NDArray[Any]) -> tuple[Ints, Ints]:
    """What lies in each of these compartments, one after the other, and of each the number of its compartment
    among them."""
    counts = start[which + 1] - start[which]
    of = np.repeat(np.arange(len(which)), counts)
    at = np.arange(len(of)) + np.repeat(start[which] - (np.cumsum(counts) - counts), counts)
    return at, of

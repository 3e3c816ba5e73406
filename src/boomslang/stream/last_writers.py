"""Last writers of a key who overlapped, and nobody has read it since: later reads say which one came last.

Where writes are blind, the order of those that overlapped is a guess until somebody reads the key, and that may be
many windows later. Asking all of that again would be a lot of work for a few transactions that stand side by side. So
only the stretch of the order between them is asked again, as a small trace of its own that ends with a reader: every
read sees whom it saw, what else somebody saw later is left again, the orders of sessions and of time hold, and the
wanted one is the last writer of the key. Where that cannot be, other keys that nobody has read since may get another
last writer, too.

What this takes is kept by itself, without the lines of the window or its values (`Around`), so that it can outlive the
window by far: see open_keys.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, build_asg
from boomslang.distinct import distinct
from boomslang.ir.model import IR, Graph
from boomslang.levels.level import Dependency, Level, Point
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits
from boomslang.stream.live_lists import appended
from boomslang.stream.window import writers_must_not_overlap
from boomslang.trace.builder import TraceBuilder
from boomslang.trace.model import NO_TIME, Outcome, Trace
from boomslang.trace.scalars import Code

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Ints = NDArray[np.signedinteger[Any]]
UInt8 = NDArray[np.uint8]
Mask = NDArray[np.bool_]

FARTHEST = 5_000
"""Points between the writers, at most, in a window that may be joined."""
BEYOND = 50
"""Points before and behind them, where those between have no other order by themselves."""
CONFLICTS = 2_000
"""Of the search for an order, at most."""


def overlap(trace: Trace, early: Ints, late: Ints) -> Mask:
    """Of pairs of writers: did they overlap, as far as one can tell? (The order of appends is what lists hold.)"""
    if trace.has_times:
        starts, ends = trace.txn_begin[late], trace.txn_end[early]
        together = (starts == NO_TIME) | (ends == NO_TIME) | (starts <= ends)
    else:
        together = trace.txn_begin_line[late] <= trace.txn_end_line[early]
    lists = appended(trace)
    found: Mask = together & ~lists[early] & ~lists[late]
    return found


class Open(NamedTuple):
    """A key whose last writers overlapped, in the numbers of a window. Nobody has read what the very last wrote."""

    key: int
    late: int
    """Who wrote it last, as the order has it."""
    value: Code | None
    """What that one wrote; None: it deleted the key."""
    early: tuple[tuple[Code | None, int], ...]
    """Who may have come last, too, and what they wrote."""

    def with_late(self, txn: int) -> Open:
        """Where one of the earlier has come last."""
        value = next(wrote for wrote, early in self.early if early == txn)
        others = tuple(pair for pair in self.early if pair[1] != txn)
        return Open(self.key, txn, value, (*others, (self.value, self.late)))

    def writer_of(self, value: Code | None) -> int:
        """Of the earlier ones the last who wrote that; below 0: none did."""
        return next((txn for wrote, txn in self.early if wrote == value), -1)


class Reordered(NamedTuple):
    """A stretch of the order, otherwise."""

    at: Int64
    """Where it is, in what was taken: see `Around`."""
    before: Int64
    points: Int64
    """Which come there now, in the window's numbers, and which did before."""
    last: dict[int, int]
    """Keys that somebody else has written last now, and who."""
    read: set[int]
    """Those of them that somebody has read since, in that stretch."""


@dataclass(frozen=True, eq=False)
class Around:
    """Points of an order that was taken, and what their transactions read and wrote. Transactions have numbers of their
    own here."""

    points: int
    """Of a transaction."""
    order: Int64
    at: Int64
    """Of each point, where it is among all that were taken, without begins that stand in a window before."""
    txn: Int64
    """Of each transaction its number in the window. They grow."""
    place: Int64
    """And in the trace (window.py)."""
    read_start: Int64
    read_key: Int32
    write_start: Int64
    write_key: Int32
    matters: UInt8
    """Of each write: has anybody read it, or is it what the window has left?"""
    session: Int32
    begin: Int64
    end: Int64
    """When it has returned: NO_TIME if nobody knows, or whether it has committed."""
    listed: Mask
    """Has it to do with lists? The order of these stays as it is."""

    @property
    def size(self) -> int:
        """What it takes, in some bytes."""
        return 10 * len(self.txn) + len(self.read_key) + len(self.write_key)

    @cached_property
    def where(self) -> Int64:
        """Of each point its place in the order; -1: it stands elsewhere."""
        where = np.full(self.points * len(self.txn), -1, np.int64)
        where[self.order] = np.arange(len(self.order))
        return where

    def of(self, txn: int) -> int:
        """The number here of a transaction of the window; below 0: it is not here."""
        at = int(np.searchsorted(self.txn, txn))
        return at if at < len(self.txn) and self.txn[at] == txn else -1

    def row_of(self, txn: int, key: int) -> int:
        """Of a transaction here, the row of its write of that key."""
        rows = self.write_key[int(self.write_start[txn]) : int(self.write_start[txn + 1])]
        return int(self.write_start[txn] + np.flatnonzero(rows == key)[0])

    def _ends(self, txn: int) -> tuple[int, int]:
        """The places of its first point and its last; below 0: it is not here."""
        here = self.of(txn)
        if here < 0:
            return -1, -1
        places = self.where[self.points * here : self.points * (here + 1)]
        return int(places.min()), int(places.max())

    def near(self, key: Open) -> Open | None:
        """With those who are here; None: its last writer is not."""
        if min(self._ends(key.late)) < 0:
            return None
        return key._replace(early=tuple(pair for pair in key.early if min(self._ends(pair[1])) >= 0))

    def reordered(self, how: Reordered) -> Around:
        """With that stretch as it is now."""
        order, low = self.order.copy(), int(np.searchsorted(self.at, how.at[0]))
        order[low : low + len(how.at)] = self.points * np.searchsorted(
            self.txn, how.points // self.points
        ) + (how.points % self.points)
        matters = self.matters.copy()
        for key, txn in how.last.items():
            matters[self.row_of(self.of(txn), key)] = 1
        return replace(self, order=order, matters=matters)

    def narrowed(self, keys: Iterable[Open]) -> Around:
        """Only what is needed for these."""
        ends = [[self._ends(txn) for txn in (key.late, *(txn for _, txn in key.early))] for key in keys]
        kept = _between(ends, len(self.order))
        order = self.order[kept]
        txns = distinct(order // self.points)
        number = np.full(len(self.txn), -1, np.int64)
        number[txns] = np.arange(len(txns))
        read_start, reads = _rows(self.read_start, txns)
        write_start, writes = _rows(self.write_start, txns)
        return Around(
            self.points,
            self.points * number[order // self.points] + order % self.points,
            self.at[kept],
            self.txn[txns],
            self.place[txns],
            read_start,
            self.read_key[reads],
            write_start,
            self.write_key[writes],
            self.matters[writes],
            self.session[txns],
            self.begin[txns],
            self.end[txns],
            self.listed[txns],
        )


@dataclass(eq=False)
class Whole:
    """All that was taken of a window. In the numbers of its ASG."""

    asg: ASG
    points: int
    """Of a transaction."""
    order: Int64
    """Without begins that stand in a window before."""
    place: Int64
    matters: UInt8
    """Of each write: see `Around`."""
    listed: Mask

    @cached_property
    def _where(self) -> Int32:
        """Of each point its place in the order; -1: it has none."""
        where = np.full(self.points * self.asg.transactions, -1, np.int32)
        where[self.order] = np.arange(len(self.order))
        return where

    @cached_property
    def _writes(self) -> tuple[Int64, Int64]:
        """The writes by transaction: where those of each start, and which they are."""
        starts = np.zeros(self.asg.transactions + 1, np.int64)
        np.cumsum(np.bincount(self.asg.write_txn, minlength=self.asg.transactions), out=starts[1:])
        return starts, np.argsort(self.asg.write_txn, kind="stable")

    def _ends(self, txn: int) -> tuple[int, int]:
        """The places of its first point and its last; below 0: it has none."""
        places = self._where[self.points * txn : self.points * (txn + 1)].tolist()
        return min(places), max(places)

    def around(self, keys: Iterable[Open], farthest: int) -> Around:
        """What stands between the writers of these keys, where they are no farther than that from the last one."""
        asg, trace, points = self.asg, self.asg.trace, self.points
        ends = []
        for key in keys:
            low, last = self._ends(key.late)
            early = [end for end in (self._ends(txn) for _, txn in key.early) if last - end[0] <= farthest]
            early = [end for end in early if end[0] >= 0]
            if early and low >= 0:
                ends.append([(low, last), *early])
        at = _between(ends, len(self.order))
        order = self.order[at]
        txns = distinct(order // points)
        read_start, reads = _rows(asg.read_start, txns)
        starts, by_txn = self._writes
        write_start, rows = _rows(starts, txns)
        writes = by_txn[rows]
        returned = (trace.txn_outcome[txns] == Outcome.COMMITTED) & (trace.txn_end[txns] != NO_TIME)
        return Around(
            points,
            points * np.searchsorted(txns, order // points) + order % points,
            at,
            txns,
            self.place[txns],
            read_start,
            asg.read_key[reads],
            write_start,
            (np.searchsorted(asg.key_start, writes, side="right") - 1).astype(np.int32),
            self.matters[writes],
            trace.txn_session[txns],
            trace.txn_begin[txns],
            np.where(returned, trace.txn_end[txns], NO_TIME),
            self.listed[txns],
        )

    def reorder(self, how: Reordered) -> None:
        """That stretch is so from now on."""
        self.order[how.at] = how.points
        self._where[how.points] = how.at
        for key, txn in how.last.items():
            low, high = self.asg.key_start[key : key + 2].tolist()
            self.matters[low:high][self.asg.write_txn[low:high] == txn] = 1


def begun_here(order: Int64, points: int, pinned: Mask) -> Mask:
    """Which points are no begins that stand in a window before?"""
    if points == 1:
        return np.ones(len(order), bool)
    found: Mask = ~(pinned[order // 2] & (order % 2 == 0))
    return found


def _between(ends: Iterable[list[tuple[int, int]]], many: int) -> Int64:
    """The places between the first and the last of some, and some beyond."""
    spans = sorted(
        (max(0, min(low for low, _ in some) - BEYOND), min(many, max(high for _, high in some) + 1 + BEYOND))
        for some in ends
    )
    found, end = [np.zeros(0, np.int64)], 0
    for low, high in spans:
        found.append(np.arange(max(low, end), high, dtype=np.int64))
        end = max(end, high)
    return np.concatenate(found)


def _rows(start: Int64, of: Int64) -> tuple[Int64, Int64]:
    """The rows of some, side by side: where those of each start, and which they were."""
    many = start[of + 1] - start[of]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(many)])
    return starts, np.repeat(start[of] - starts[:-1], many) + np.arange(int(starts[-1]))


def with_last(
    here: Around,
    level: Level,
    wanted: Open,
    writer: int,
    may_be_last: Callable[[int, int], Container[int] | None],
) -> Reordered | None:
    """The order in which `writer`, one of the earlier, is the last who wrote the key; None: none was found. Another key
    may get another last writer, too, where nothing else helps. `may_be_last`: of a key, and who is its last writer,
    who else may be; None: anybody, as it was written again later, and nobody has read it before that."""
    mine, late = here.of(writer), here.of(wanted.late)
    if mine < 0 or late < 0:
        return None
    for beyond, free in ((0, False), (BEYOND, False), (BEYOND, True)):
        stretch = _Stretch(here, level, [mine, late], beyond)
        if not stretch.there:
            return None
        ends = stretch.ends()
        ends[wanted.key] = {mine}
        overwritten = {key for key in ends if not stretch.matters(key)}
        for key, of in stretch.writers.items():
            if free and key != wanted.key:
                others = may_be_last(key, int(here.txn[of[-1]]))
                ends[key] |= {t for t in of if others is None or int(here.txn[t]) in others}
                if others is None:
                    overwritten.add(key)
        order = stretch.ordered(ends)
        last = None if order is None else stretch.last_of(order, ends)
        if order is not None and last is not None:
            place = slice(stretch.low, stretch.high + 1)
            changed = {
                key: int(here.txn[t])
                for key, t in last.items()
                if key not in overwritten and t != stretch.writers[key][-1]
            }
            read = {
                key for (_, key), t in stretch.seen.items() if key in changed and here.txn[t] == changed[key]
            }
            return Reordered(
                here.at[place], _in_window(here, here.order[place]), _in_window(here, order), changed, read
            )
    return None


def _in_window(here: Around, order: Int64) -> Int64:
    return here.points * here.txn[order // here.points] + order % here.points


class _Stretch:
    """The points from the first of some transactions to the last of them, and some beyond."""

    def __init__(self, here: Around, level: Level, of: list[int], beyond: int) -> None:
        self.here, self.level, self.points = here, level, level.points
        self.apart = writers_must_not_overlap(level)
        where = [int(here.where[self.points * t + i]) for t in of for i in range(self.points)]
        self.low, self.high = min(where), max(where)
        self.there = self.low >= 0 and self.high - self.low <= FARTHEST
        self.there &= bool(here.at[self.high] - here.at[self.low] == self.high - self.low)
        """Is all of it here, and is it short enough?"""
        if self.there and beyond:
            first, last = max(0, self.low - beyond), min(len(here.order) - 1, self.high + beyond)
            apart = here.at - np.arange(len(here.at))
            first = int(np.searchsorted(apart[first : self.low + 1], apart[self.low])) + first
            last = int(np.searchsorted(apart[: last + 1], apart[self.high], side="right")) - 1
            self.low, self.high = first, last
        self.before: list[int] = here.order[self.low : self.high + 1].tolist() if self.there else []
        self.at = {point: i for i, point in enumerate(self.before)}
        self.txns = sorted({point // self.points for point in self.before})
        self.writes = {t: _slice(here.write_key, here.write_start, t).tolist() for t in self.txns}
        # Only these can be seen otherwise. (A scan reads thousands.)
        written = np.array(sorted({key for keys in self.writes.values() for key in keys}), np.int32)
        self.reads = dict[int, list[int]]()
        for t in self.txns:
            read = _slice(here.read_key, here.read_start, t)
            self.reads[t] = read[np.isin(read, written)].tolist()
        seen, self.writers = self._walk(self.before)
        self.seen = {} if seen is None else seen
        self.there &= seen is not None

    def ends(self) -> dict[int, set[int]]:
        """Of each key who may be the last writer here: who is; or anybody, where nobody ever saw what that one
        wrote."""
        return {
            key: {writers[-1]} if self.matters(key) else set(writers) for key, writers in self.writers.items()
        }

    def matters(self, key: int) -> bool:
        """Has anybody seen what the last writer here wrote, or may yet?"""
        return bool(self.here.matters[self.here.row_of(self.writers[key][-1], key)])

    def _has(self, txn: int, point: int) -> bool:
        return self.points * txn + min(point, self.points - 1) in self.at

    def _walk(self, order: Iterable[int]) -> tuple[dict[tuple[int, int], int] | None, dict[int, list[int]]]:
        """Of each read (a transaction and a key) the writer, below 0: somebody before; and who wrote each key, one
        after the other. No reads: writers of a key overlap."""
        seen: dict[tuple[int, int], int] = {}
        writers: dict[int, list[int]] = {}
        committed: dict[int, int] = {}
        begun: dict[int, int] = {}
        two = self.points == 2
        for i, point in enumerate(order):
            txn = point // self.points
            if not two or point % 2 == 0:
                begun[txn] = i
                for key in self.reads[txn]:
                    seen[txn, key] = writers[key][-1] if key in writers else -1
            if not two or point % 2 == 1:
                for key in self.writes[txn]:
                    if self.apart and key in writers and committed[writers[key][-1]] > begun.get(txn, -1):
                        return None, writers
                    writers.setdefault(key, []).append(txn)
                committed[txn] = i
        if self.apart:  # those who go on behind the stretch overlap with nobody either
            for txn, i in begun.items():
                if txn not in committed:
                    for key in self.writes[txn]:
                        if key in writers and committed[writers[key][-1]] > i:
                            return None, writers
        return seen, writers

    def ordered(self, ends: dict[int, set[int]]) -> Int64 | None:
        """The points in an order that explains what was read, in which each key has one of these last writers. It is
        what the engine finds for a small trace in which whoever wrote a key writes a value of its own, and which ends
        with a reader of what is left. (Where a key may have several last writers, it is not read.)"""
        builder = TraceBuilder(initial=[(key, -1) for key in self.writers])
        number: dict[int, int] = {}
        for point in self.before:
            txn = point // self.points
            if txn in number:
                continue
            number[txn] = len(number)
            with builder.transaction() as t:
                for key in self.reads[txn] if self._has(txn, 0) else ():
                    if key in self.writers:  # and not only in one that commits behind the stretch
                        t.get(key, self.seen[txn, key])
                for key in self.writes[txn]:
                    t.put(key, txn)
        start, end = len(number), len(number) + 1
        with builder.transaction():
            pass
        with builder.transaction() as t:
            for key, of in ends.items():
                if len(of) == 1:
                    t.get(key, *of)
        asg = build_asg(builder.build(), jobs=1)
        graph = Graph(self.points, asg.transactions)
        begin, commit = partial(graph.node, point=Point.BEGIN), partial(graph.node, point=Point.COMMIT)
        known = [(commit(start), begin(end))]
        for txn, n in number.items():
            # Who has begun before the stretch was there first, and who goes on commits last.
            known.append((commit(start), begin(n)) if self._has(txn, 0) else (begin(n), begin(start)))
            known.append((commit(n), begin(end)) if self._has(txn, 1) else (commit(end), commit(n)))
        for edge in self._known():
            a, b = (self.points * number[p // self.points] + p % self.points for p in edge)
            known.append((a, b))
        sources, targets = np.array(known, np.int64).T
        graph.chunks.append((sources.copy(), targets.copy(), Dependency.SO))
        found = solve_native(IR(asg, self.level, graph), Limits(conflicts=CONFLICTS))
        if found.status != "valid" or found.order is None:
            return None
        txn_of = list(number)
        points = (
            self.points * txn_of[node // self.points] + node % self.points
            for node in found.order.tolist()
            if node // self.points < start
        )
        return np.array([point for point in points if point in self.at], np.int64)

    def _known(self) -> Iterable[tuple[int, int]]:
        """The orders of sessions, of time, and of those that have to do with lists, from point to point."""
        listed = [point for point in self.before if self.here.listed[point // self.points]]
        yield from itertools.pairwise(listed)
        if self.level.has(Dependency.SO):
            yield from self._sessions()
        if self.level.has(Dependency.RT):
            yield from self._times()

    def _sessions(self) -> Iterable[tuple[int, int]]:
        """Each session as it stood. (What is of unknown outcome may go on later; it does not have to.)"""
        latest: dict[int, int] = {}
        for point in self.before:
            session = int(self.here.session[point // self.points])
            if session >= 0:
                if session in latest:
                    yield latest[session], point
                latest[session] = point

    def _times(self) -> Iterable[tuple[int, int]]:
        """Who returned before others began. Of these only those who did so before anybody else had returned who began
        later: behind that one come the others anyway."""
        there = [t for t in self.txns if self._has(t, 0) and self.here.begin[t] != NO_TIME]
        there.sort(key=lambda t: int(self.here.begin[t]))
        begins = self.here.begin[np.array(there, np.int64)]
        soonest = np.full(len(there) + 1, np.iinfo(np.int64).max)
        for i in reversed(range(len(there))):
            t = there[i]
            back = self.here.end[t] != NO_TIME and self._has(t, 1)
            soonest[i] = min(soonest[i + 1], int(self.here.end[t])) if back else soonest[i + 1]
        for t in self.txns:
            end = int(self.here.end[t])
            if end != NO_TIME and self._has(t, 1):
                first = int(np.searchsorted(begins, end, side="right"))
                until = int(np.searchsorted(begins, soonest[first], side="right"))
                for other in there[first:until]:
                    if other != t:
                        yield self.points * t + self.points - 1, self.points * other

    def last_of(self, order: Int64, ends: dict[int, set[int]]) -> dict[int, int] | None:
        """Who wrote each key last. None: the order does not show what was seen, or somebody else is the last. Nothing
        is built on the engine alone."""
        if sorted(order.tolist()) != sorted(self.before):
            return None
        seen, writers = self._walk(order.tolist())
        place = {point: i for i, point in enumerate(order.tolist())}
        if seen != self.seen or any(place[a] >= place[b] for a, b in self._known()):
            return None
        last = {key: of[-1] for key, of in writers.items()}
        return last if all(last[key] in of for key, of in ends.items()) else None


def _slice(keys: Int32, start: Int64, txn: int) -> Int32:
    return keys[int(start[txn]) : int(start[txn + 1])]

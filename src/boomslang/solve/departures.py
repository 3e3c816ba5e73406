"""Departures: those who saw some keys in one state and changed it are at most as many as those who brought it about.

It is counting (counting.py) for several keys at once. Under serializability all that a transaction saw of a few keys
is so when it writes them. Whoever saw them in a state and changed one of them leaves that state; a serial order comes
back to it before it is left again; and whoever may have come to it left the keys that it wrote so, and saw the others
so. If more left than may have come, with the first state, two left it at the same time: a lost update or a
write skew that no key shows alone. (A serial order is a trail through all transactions, from state to state: this is
Euler's condition of 1736 that one can leave a place only as often as one comes to it.)

States are those of the keys that somebody read together and wrote in part; at snapshot isolation, where only what is
overwritten must be as it was read, the keys that somebody both read and wrote. Where real time counts, those who had
returned by some moment share the arrivals that had begun by then. What transactions saw and did is compared through
hashes, for there are many; whatever is found that way is then counted exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IMPOSSIBLE, ITEM, PRESENT, UNKNOWN_INITIAL, unsettled
from boomslang.certify.proof import TooFewArrivals
from boomslang.distinct import distinct
from boomslang.levels.laws import State, ranges_count, state_law
from boomslang.levels.level import Level
from boomslang.solve.counting import list_keys
from boomslang.trace.model import ABSENT, NO_TIME, Outcome

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_KEYS, MOST_GROUPS = 8, 200
STEPS, STEPS_PER_OPERATION = 20_000_000, 20
"""A step compares what a transaction did with one key of one state."""
NONE = -9
"""Of a key: it was not read, or not written."""
_FOREVER = int(np.iinfo(np.int64).max)


def too_few_arrivals(asg: ASG, level: Level) -> TooFewArrivals | None:
    """A state that was left more often than it came about, if one is found."""
    if state_law(level) not in (State.SERIAL, State.SNAPSHOT):
        return None
    done = _Done(asg, level)
    budget = STEPS + STEPS_PER_OPERATION * (len(asg.read_key) + len(asg.write_key))
    for keys in _groups(done):
        group = _Group(asg, done, keys)
        budget -= len(group.txn) * len(keys)
        for state, leaving in group.states():
            budget -= len(group.which) * len(keys)
            if budget < 0:
                return None
            if (proof := group.count(state, leaving, level)) is not None:
                return proof
    return None


def groups_of_keys(asg: ASG, level: Level) -> Iterator[tuple[int, ...]]:
    """Keys that several saw in one state and changed in part: first those that most did."""
    return _groups(_Done(asg, level))


class _Done:
    """What each transaction that did not abort saw and left, with (transaction, key) as one number; sorted by that."""

    def __init__(self, asg: ASG, level: Level) -> None:
        self.asg = asg
        self.keys = np.int64(max(1, asg.keys))
        left_out = list_keys(asg)
        left_out[asg.read_key[asg.read_value == IMPOSSIBLE]] = True
        alive = asg.outcome != Outcome.ABORTED
        writes = np.flatnonzero(alive[asg.write_txn] & ~left_out[asg.write_key])
        code = asg.write_txn[writes] * self.keys + asg.write_key[writes]
        by = np.argsort(code, kind="stable")
        self.wrote, self.left = code[by], asg.write_value[writes[by]]
        reads = alive[asg.read_txn] & ~left_out[asg.read_key]
        if not ranges_count(level):
            reads &= asg.read_kind == ITEM
        which = np.flatnonzero(reads)
        code = asg.read_txn[which] * self.keys + asg.read_key[which]
        if state_law(level) is State.SNAPSHOT:
            which, code = which[mine := _inside(self.wrote, code)], code[mine]
        # Of several reads of one key, one that names a value.
        by = np.lexsort((-asg.read_value[which], code))
        code, which = code[by], which[by]
        first = np.concatenate(([True], code[1:] != code[:-1])) if len(code) else np.zeros(0, bool)
        self.saw, self.read = code[first], which[first]
        self.value = asg.read_value[self.read]

    def seen(self, txns: Int64, key: int) -> NDArray[np.int32]:
        """What each of these transactions saw of the key, or NONE."""
        return _looked_up(self.saw, self.value, txns * self.keys + key)

    def written(self, txns: Int64, key: int) -> NDArray[np.int32]:
        return _looked_up(self.wrote, self.left, txns * self.keys + key)


def _inside(codes: Int64, asked: Int64) -> Bools:
    at = np.minimum(np.searchsorted(codes, asked), max(0, len(codes) - 1))
    return codes[at] == asked if len(codes) else np.zeros(len(asked), bool)


def _looked_up(codes: Int64, values: NDArray[np.int32], asked: Int64) -> NDArray[np.int32]:
    found = np.full(len(asked), NONE, np.int32)
    if len(codes):
        at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
        here = codes[at] == asked
        found[here] = values[at[here]]
    return found


def _groups(done: _Done) -> Iterator[tuple[int, ...]]:
    """Keys that several saw in one state, all of them, and changed in part: first those that most did."""
    asg, named = done.asg, np.flatnonzero(done.value != PRESENT)
    if not len(named):
        return
    code, value = done.saw[named], done.value[named]
    txn, key = code // done.keys, code % done.keys
    changed = _looked_up(done.wrote, done.left, code)
    leaves = np.bincount(txn, weights=(changed != NONE) & (changed != value), minlength=asg.transactions) > 0
    counts = np.bincount(txn, minlength=asg.transactions)
    fits = leaves & (counts >= 2) & (counts <= MOST_KEYS) & (asg.outcome == Outcome.COMMITTED)
    kept = fits[txn]
    txn, key, value = txn[kept], key[kept], value[kept]
    if not len(txn):
        return
    starts = np.flatnonzero(np.concatenate(([True], txn[1:] != txn[:-1])))
    of_keys = np.add.reduceat(spread(key), starts)
    of_state = np.add.reduceat(spread(key * np.int64(len(asg.trace.values) + 8) + value + 4), starts)
    # A state that one transaction left is for reachable states, not for a count.
    _, state, many = np.unique(of_state, return_inverse=True, return_counts=True)
    several = many[state] > 1
    _, first, often = np.unique(of_keys[several], return_index=True, return_counts=True)
    starts = starts[several]
    for g in np.argsort(-often, kind="stable")[:MOST_GROUPS].tolist():
        begin = int(starts[first[g]])
        yield tuple(sorted(key[begin : begin + int(counts[txn[begin]])].tolist()))


def spread(x: Int64) -> NDArray[np.uint64]:
    """Numbers spread out, so that sums of them tell sets apart (splitmix64; Steele, Lea and Flood, OOPSLA 2014)."""
    z = x.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


@dataclass(frozen=True, eq=False)
class _Deeds:
    """What transactions saw and left of a group's keys: a row each, a column for each key."""

    saw: NDArray[np.int32]
    left: NDArray[np.int32]

    def arrive(self, state: NDArray[np.int32]) -> Bools:
        """May they have brought the state about? Then they found another one and left this."""
        wrote = self.left != NONE
        seen_so = (self.saw == NONE) | (self.saw == state) | ((self.saw == PRESENT) & (state != ABSENT))
        fits: Bools = np.where(wrote, self.left == state, seen_so).all(axis=1)
        fresh: Bools = (wrote & (self.saw != state)).any(axis=1)
        return fits & fresh

    def leave(self) -> Bools:
        """Did they see all of the keys, and change one?"""
        known: Bools = (self.saw >= np.int32(ABSENT)).all(axis=1)
        changed: Bools = ((self.left != NONE) & (self.left != self.saw)).any(axis=1)
        return known & changed


class _Group:
    """All that wrote one of a few keys."""

    def __init__(self, asg: ASG, done: _Done, keys: tuple[int, ...]) -> None:
        self.asg, self.keys = asg, keys
        spans = [asg.write_txn[asg.key_start[k] : asg.key_start[k + 1]] for k in keys]
        txn = distinct(np.concatenate(spans)).astype(np.int64)
        self.txn: Int64 = txn[asg.outcome[txn] != Outcome.ABORTED]
        saw = np.stack([done.seen(self.txn, k) for k in keys], axis=1)
        left = np.stack([done.written(self.txn, k) for k in keys], axis=1)
        self.deeds = _Deeds(saw, left)
        self.leaves = self.deeds.leave() & (asg.outcome[self.txn] == Outcome.COMMITTED)
        # Those who saw and did the same are looked at once.
        mixed = np.zeros(len(self.txn), np.uint64)
        for column in (*saw.T, *left.T):
            mixed = spread(mixed.view(np.int64) ^ column.astype(np.int64))
        _, self.which, self.kind = np.unique(mixed, return_index=True, return_inverse=True)
        self.many = np.bincount(self.kind)
        self.kinds = _Deeds(saw[self.which], left[self.which])
        self.first = unsettled(asg)[list(keys)]

    @cached_property
    def of_kind(self) -> list[Int64]:
        """Of each kind, the rows."""
        return np.split(np.argsort(self.kind, kind="stable"), np.cumsum(self.many)[:-1])

    @cached_property
    def times(self) -> tuple[NDArray[np.signedinteger[Any]], Int64, Int64]:
        """Of each row: its clock, when it began, when it returned."""
        trace, ids = self.asg.trace, self.asg.txn_of[self.txn]
        ordered = self.asg.ordered[self.txn]
        begin, end = trace.txn_begin[ids].astype(np.int64), trace.txn_end[ids].astype(np.int64)
        return trace.txn_clock[ids], np.where(ordered, begin, NO_TIME), np.where(ordered, end, NO_TIME)

    def states(self) -> Iterator[tuple[NDArray[np.int32], Int64]]:
        """Those that several left, and most left first; each with the rows of who left it."""
        rows = np.flatnonzero(self.leaves)
        mixed = np.zeros(len(rows), np.uint64)
        for column in self.deeds.saw[rows].T:
            mixed = spread(mixed.view(np.int64) ^ column.astype(np.int64))
        _, which, often = np.unique(mixed, return_inverse=True, return_counts=True)
        by, ends = np.argsort(which, kind="stable"), np.cumsum(often)
        for n in np.argsort(-often, kind="stable").tolist():
            if often[n] < 2:
                return
            mine = rows[by[ends[n] - often[n] : ends[n]]]
            state = self.deeds.saw[mine[0]]
            yield state, mine[(self.deeds.saw[mine] == state).all(axis=1)]

    def begins(self, state: NDArray[np.int32]) -> bool:
        """Can it have been so at first?"""
        return bool(((self.first == state) | (self.first == UNKNOWN_INITIAL)).all())

    def count(self, state: NDArray[np.int32], leaving: Int64, level: Level) -> TooFewArrivals | None:
        """Did more leave than may have come? `leaving`: the rows of who left it."""
        came = self.kinds.arrive(state)
        at_first = self.begins(state)
        there, who = int(self.many[came].sum()) + at_first, self.txn[leaving]
        if len(who) > there:
            there = int(self.deeds.arrive(state).sum()) + at_first
            return self._proof(state, who[: there + 1]) if len(who) > there else None
        if not level.needs_times:
            return None
        arriving = [self.of_kind[kind] for kind in np.flatnonzero(came).tolist()]
        rows = np.concatenate(arriving) if arriving else np.zeros(0, np.int64)
        if self._up_to_a_moment(state, leaving, rows, at_first, level) is None:
            return None
        rows = np.flatnonzero(self.deeds.arrive(state))
        return self._up_to_a_moment(state, leaving, rows, at_first, level)

    def _up_to_a_moment(
        self, state: NDArray[np.int32], leaving: Int64, arriving: Int64, at_first: bool, level: Level
    ) -> TooFewArrivals | None:
        """The same of those who had returned by some moment, and the arrivals that had begun by then."""
        slack = min(level.slack, _FOREVER)
        clock, begin, end = self.times
        for c in distinct(clock[leaving]).tolist():
            mine = leaving[(clock[leaving] == c) & (end[leaving] != NO_TIME)]
            mine = mine[np.argsort(end[mine], kind="stable")]
            moments = end[mine] + np.minimum(slack, _FOREVER - np.maximum(end[mine], 0))
            timed = arriving[(clock[arriving] == c) & (begin[arriving] != NO_TIME)]
            begins = np.sort(begin[timed])
            there = len(arriving) + at_first - (len(begins) - np.searchsorted(begins, moments, side="right"))
            lacking = np.flatnonzero(np.arange(1, len(mine) + 1) > there)
            if len(lacking):
                last = int(lacking[0])
                return self._proof(
                    state, self.txn[mine[: last + 1]], self.txn[timed[begin[timed] > moments[last]]]
                )
        return None

    def _proof(self, state: NDArray[np.int32], who: Int64, later: Int64 | None = None) -> TooFewArrivals:
        asg = self.asg
        gone = () if later is None else tuple(sorted(asg.txn_of[later].tolist()))
        named = tuple(asg.trace_key(key) for key in self.keys)
        return TooFewArrivals(named, tuple(state.tolist()), tuple(sorted(asg.txn_of[who].tolist())), gone)


def arrivals_of(asg: ASG, level: Level, proof: TooFewArrivals) -> tuple[int, bool]:
    """How many may have brought the state about, of those that count; and may it have been so at first?"""
    group, state = _group_of(asg, _Done(asg, level), proof), np.array(proof.state, np.int32)
    came = asg.txn_of[group.txn[group.deeds.arrive(state)]]
    return int((~np.isin(came, proof.later)).sum()), group.begins(state)


def _group_of(asg: ASG, done: _Done, proof: TooFewArrivals) -> _Group:
    keys = proof.keys if asg.key_of is None else tuple(np.searchsorted(asg.key_of, proof.keys).tolist())
    return _Group(asg, done, keys)


def parts_of_departures(asg: ASG, level: Level, proof: TooFewArrivals) -> tuple[Int64, Int64]:
    """The transactions and reads that it rests on: of those who left, of those whose reads say that they did not come,
    and those who came too late."""
    done = _Done(asg, level)
    group, state = _group_of(asg, done, proof), np.array(proof.state, np.int32)
    keys = group.keys
    leaving = np.isin(asg.txn_of[group.txn], proof.departures)
    later = np.isin(asg.txn_of[group.txn], proof.later)
    blind = _Deeds(np.full_like(group.deeds.saw, NONE), group.deeds.left)
    kept_out = blind.arrive(state) & ~group.deeds.arrive(state) & ~leaving & ~later
    reads = []
    for n in np.flatnonzero(leaving | kept_out).tolist():
        txn, saw, left = int(group.txn[n]), group.deeds.saw[n], group.deeds.left[n]
        otherwise = (left == NONE) & ~(
            (saw == NONE) | (saw == state) | ((saw == PRESENT) & (state != ABSENT))
        )
        if leaving[n]:
            needed = list(keys)
        elif otherwise.any():  # it saw another key otherwise, and left it so
            needed = [keys[int(np.flatnonzero(otherwise)[0])]]
        else:  # what it wrote had been so before
            needed = [key for key, value in zip(keys, left.tolist(), strict=True) if value != NONE]
        at = np.searchsorted(done.saw, txn * done.keys + np.array(needed, np.int64))
        reads.append(done.read[at])
    txns = group.txn[leaving | later | kept_out]
    found = np.concatenate(reads) if reads else np.zeros(0, np.int64)
    return txns.astype(np.int64), np.sort(found).astype(np.int64)

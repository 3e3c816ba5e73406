"""Counting: those who read a value and overwrote it are at most as many as the versions with that value.

Where a level forbids lost updates, whoever reads a key from another and writes it is the next writer after the version
it read (levels/laws.py), so different ones take different versions. "The stock was 5 six times, and seven orders took
it from 5" is the pigeonhole principle, which no search that learns from its conflicts finds in reasonable time (Haken,
"The intractability of resolution", 1985), and a count finds at once. In general it is a matching of readers to
versions; as each reader takes any version of its value, Hall's condition (1935) is one comparison for each value:

- readers are committed, one for each transaction and key; whoever did not abort counts as a version, and so does the
  initial value; an unknown one fits any value, once;
- nobody takes its own version, so if all versions of a value are by those who read that value and wrote it again, there
  is none for the first of them;
- a delete that found something takes any version that was there;
- where real time counts, the readers that returned up to some moment share the versions that had begun by then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IMPOSSIBLE, ITEM, PRESENT, UNKNOWN_INITIAL, unsettled
from boomslang.certify.proof import TooFewVersions
from boomslang.levels.laws import forbids_lost_updates, ranges_count
from boomslang.levels.level import Level
from boomslang.solve import _engine
from boomslang.trace.model import ABSENT, NO_TIME, Kind, Outcome

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Readers:
    """Those who read a key and overwrote it, sorted by what they read: a *group* is one key and one value."""

    read: Int64
    txn: Int64
    group: Int64
    again: Bools
    """Did it write the value that it had read?"""
    key: Int64
    value: Int64
    """Of each group."""


def too_few_versions(asg: ASG, level: Level) -> TooFewVersions | None:
    """Readers with too few versions between them, if there are any; the fewest that were found."""
    if not forbids_lost_updates(level):
        return None
    readers = _readers(asg, level)
    if not len(readers.read):
        return None
    versions = _Versions(asg, readers)
    found = [_at_any_time(asg, readers, versions)]
    if level.needs_times:
        found.append(_up_to_a_moment(asg, readers, versions, level))
    return min(filter(None, found), key=lambda proof: len(proof.readers), default=None)


def list_keys(asg: ASG) -> Bools:
    """Keys that hold lists: of these a reader knows the version, and the order of appends says more than a count."""
    lists = np.zeros(asg.keys, bool)
    if len(asg.lists.of):
        trace = asg.trace
        listed = np.isin(trace.op_kind, (Kind.APPEND, Kind.LIST))
        keys = np.unique(trace.op_key[listed])
        lists |= np.isin(np.arange(asg.keys) if asg.key_of is None else asg.key_of, keys)
    return lists


def _readers(asg: ASG, level: Level) -> _Readers:
    counts = (asg.read_value != IMPOSSIBLE) & ~list_keys(asg)[asg.read_key]
    if not ranges_count(level):
        counts &= asg.read_kind == ITEM
    if level.cursor:
        counts &= asg.cursor_reads()
    found, write = _engine.overwriting(
        asg.transactions,
        asg.keys,
        asg.outcome,
        asg.read_start,
        asg.read_key,
        counts.astype(np.uint8),
        asg.key_start,
        asg.write_txn,
    )
    span, read = _span(asg), found.astype(np.int64)
    code = asg.read_key[read].astype(np.int64) * span + asg.read_value[read] - PRESENT
    by = np.argsort(code, kind="stable")
    read, write = read[by], write[by]
    groups, group = np.unique(code[by], return_inverse=True)
    txn = asg.write_txn[write].astype(np.int64)
    again = asg.write_value[write] == asg.read_value[read]
    return _Readers(read, txn, group, again, groups // span, groups % span + PRESENT)


def _span(asg: ASG) -> int:
    return len(asg.trace.values) - PRESENT


class _Versions:
    """The versions that each group may take: rows of the ASG's writes, `low` to `high`; which of them did not abort."""

    def __init__(self, asg: ASG, readers: _Readers) -> None:
        span = _span(asg)
        code = asg.write_key.astype(np.int64) * span + asg.write_value - PRESENT
        present = readers.value == PRESENT
        first = np.where(present, ABSENT + 1, readers.value) - PRESENT
        last = np.where(present, span - 1, readers.value - PRESENT)
        self.low = np.searchsorted(code, readers.key * span + first, side="left")
        self.high = np.searchsorted(code, readers.key * span + last, side="right")
        self.alive = asg.outcome[asg.write_txn] != Outcome.ABORTED
        before = np.concatenate(([0], np.cumsum(self.alive)))
        self.count = before[self.high] - before[self.low]
        initial = unsettled(asg)[readers.key]
        self.open = initial == UNKNOWN_INITIAL
        held = np.where(present, initial != ABSENT, initial == readers.value)
        self.initial = (held & ~self.open).astype(np.int64)


def _at_any_time(asg: ASG, readers: _Readers, versions: _Versions) -> TooFewVersions | None:
    many = np.bincount(readers.group)
    again = np.bincount(readers.group, weights=readers.again).astype(np.int64)
    present = readers.value == PRESENT
    there = versions.count + versions.initial
    circular = (there == again) & ~present
    lacking = np.where(present, 0, np.maximum(many - there, circular))
    # What an unknown initial value can make good is one of a key's.
    per_key = np.bincount(readers.key, weights=lacking).astype(np.int64)
    open_key = np.zeros(len(per_key), np.int64)
    open_key[readers.key[versions.open]] = 1
    broken = np.flatnonzero((per_key > open_key)[readers.key] & (lacking > 0))
    if len(broken):
        # So many of them make it too many; where it is circular, all do.
        need = np.where(many > there, np.minimum(many, there + 1 + versions.open), many)
        alone = broken[lacking[broken] > versions.open[broken]]
        if len(alone):  # one value says it all: the one that takes the fewest readers to tell
            groups = alone[[np.argmin(need[alone])]]
        else:
            groups = broken[readers.key[broken] == readers.key[broken[0]]][:2]
        which = [np.flatnonzero(readers.group == g)[: need[g]] for g in groups.tolist()]
        return _proof(asg, readers, np.concatenate(which))
    return _deletes(asg, readers, versions, many)


def _deletes(asg: ASG, readers: _Readers, versions: _Versions, many: Int64) -> TooFewVersions | None:
    """Deletes that found something, together with all who overwrote some value."""
    for group in np.flatnonzero(readers.value == PRESENT).tolist():
        mine = (readers.key == readers.key[group]) & (readers.value != ABSENT)
        there = int(versions.count[group] + versions.initial[group] + versions.open[group])
        if int(many[mine].sum()) > there:
            return _proof(asg, readers, np.flatnonzero(mine[readers.group])[: there + 1])
    return None


def _up_to_a_moment(asg: ASG, readers: _Readers, versions: _Versions, level: Level) -> TooFewVersions | None:
    """The same of those who had returned by some moment, and the versions that had begun by then."""
    trace, ids = asg.trace, asg.txn_of
    slack = np.int64(level.slack)
    begin, end, clock = trace.txn_begin[ids], trace.txn_end[ids], trace.txn_clock[ids]
    best: tuple[int, int, np.int64] | None = None
    fewest = len(readers.read) + 1
    for group in np.flatnonzero((np.bincount(readers.group) > 1) & (readers.value != PRESENT)).tolist():
        first, last = np.searchsorted(readers.group, (group, group + 1))
        mine = readers.txn[first:last]
        rows = np.arange(versions.low[group], versions.high[group])
        writers = asg.write_txn[rows[versions.alive[rows]]]
        spare = int(versions.initial[group] + versions.open[group])
        for c in np.unique(clock[mine]).tolist():
            timed = (clock[mine] == c) & (end[mine] != NO_TIME)
            ends = np.sort(end[mine[timed]])
            begins = np.sort(begin[writers[(clock[writers] == c) & (begin[writers] != NO_TIME)]])
            later = len(begins) - np.searchsorted(begins, ends + slack, side="right")
            lacking = np.flatnonzero(np.arange(1, len(ends) + 1) > len(writers) - later + spare)
            if len(lacking) and lacking[0] + 1 < fewest:
                fewest = int(lacking[0]) + 1
                best = (group, c, ends[lacking[0]])
    if best is None:
        return None
    group, c, moment = best
    first, last = np.searchsorted(readers.group, (group, group + 1))
    which = np.arange(first, last)
    t = readers.txn[which]
    which = which[(clock[t] == c) & (end[t] != NO_TIME) & (end[t] <= moment)]
    which = np.sort(which[np.argsort(end[readers.txn[which]], kind="stable")][:fewest])
    rows = np.arange(versions.low[group], versions.high[group])
    writers = asg.write_txn[rows[versions.alive[rows]]]
    begins = begin[writers]
    later = writers[(clock[writers] == c) & (begins != NO_TIME) & (begins > moment + slack)]
    return _proof(asg, readers, which, later)


def _proof(
    asg: ASG, readers: _Readers, which: Int64, later: NDArray[np.int32] | None = None
) -> TooFewVersions:
    reads, txns = readers.read[which], asg.txn_of[readers.txn[which]]
    pairs = sorted(zip(txns.tolist(), asg.read_op[reads].tolist(), strict=True))
    gone = () if later is None else tuple(sorted(asg.txn_of[later].tolist()))
    return TooFewVersions(asg.trace_key(int(readers.key[readers.group[which[0]]])), tuple(pairs), gone)


def parts_of_count(asg: ASG, proof: TooFewVersions) -> tuple[Int64, Int64]:
    """The transactions and reads of a count, with those whose versions do not count: aborted, or too late."""
    key = proof.key if asg.key_of is None else int(np.searchsorted(asg.key_of, proof.key))
    txns = np.searchsorted(asg.txn_of, [t for t, _ in proof.readers])
    rows = {row for _, row in proof.readers}
    reads = np.concatenate([np.arange(asg.read_start[t], asg.read_start[t + 1]) for t in txns.tolist()])
    reads = reads[(asg.read_key[reads] == key) & np.isin(asg.read_op[reads], list(rows))]
    gone = []
    for pattern in np.unique(asg.read_value[reads]).tolist():
        writers = asg.write_txn[asg.writes_of(key, pattern)]
        gone.append(writers[asg.outcome[writers] == Outcome.ABORTED])
    later = np.searchsorted(asg.txn_of, proof.later)
    return np.unique(np.concatenate([txns, later, *gone])).astype(np.int64), np.sort(reads)

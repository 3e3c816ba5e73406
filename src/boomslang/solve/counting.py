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
from boomslang.distinct import distinct
from boomslang.levels.laws import forbids_lost_updates, ranges_count
from boomslang.levels.level import Level
from boomslang.solve import _engine
from boomslang.trace.model import ABSENT, NO_TIME, Kind, Outcome

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

_FOREVER = int(np.iinfo(np.int64).max)


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
    trace = asg.trace
    lists = np.zeros(len(trace.keys), bool)
    keys = trace.op_key[(trace.op_kind == Kind.APPEND) | (trace.op_kind == Kind.LIST)]
    lists[keys[keys >= 0]] = True
    return lists if asg.key_of is None else lists[asg.key_of]


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

    def of(self, groups: Int64) -> tuple[Int64, Int64]:
        """The rows of those of these groups that did not abort, and of each row its group."""
        counts = self.high[groups] - self.low[groups]
        rows = np.repeat(self.low[groups] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        alive = self.alive[rows]
        return rows[alive], np.repeat(groups, counts)[alive]


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
    takers = np.bincount(readers.key, weights=np.where(readers.value != ABSENT, many, 0)).astype(np.int64)
    there = versions.count + versions.initial + versions.open
    lacking = np.flatnonzero((readers.value == PRESENT) & (takers[readers.key] > there))
    if not len(lacking):
        return None
    group = lacking[0]
    mine = (readers.key == readers.key[group]) & (readers.value != ABSENT)
    return _proof(asg, readers, np.flatnonzero(mine[readers.group])[: there[group] + 1])


def _up_to_a_moment(asg: ASG, readers: _Readers, versions: _Versions, level: Level) -> TooFewVersions | None:
    """The same of those who had returned by some moment, and the versions that had begun by then."""
    trace, ids, slack = asg.trace, asg.txn_of, min(level.slack, _FOREVER)
    clock = trace.txn_clock[ids].astype(np.int64)
    begin = np.where(asg.ordered, trace.txn_begin[ids], NO_TIME)
    end = np.where(asg.ordered, trace.txn_end[ids], NO_TIME)
    several = (np.bincount(readers.group) > 1) & (readers.value != PRESENT)
    which = np.flatnonzero(several[readers.group] & (end[readers.txn] != NO_TIME))
    if not len(which):
        return None
    rows, group = versions.of(np.flatnonzero(several))
    writers = asg.write_txn[rows]
    group, writers = group[begin[writers] != NO_TIME], writers[begin[writers] != NO_TIME]
    # Moments and begins as ranks, so that a group, a clock and a rank make one number.
    returned = end[readers.txn[which]]
    moments = returned + np.minimum(slack, _FOREVER - np.maximum(returned, 0))
    ranks = distinct(np.concatenate([moments, begin[writers]]))
    span, clocks = len(ranks), int(clock.max()) + 1

    def lane(of_group: Int64, txn: Int64 | NDArray[np.int32]) -> Int64:
        return (of_group * clocks + clock[txn]) * span

    mine = lane(readers.group[which], readers.txn[which])
    by = np.lexsort((returned, mine))
    which, mine, moments = which[by], mine[by], moments[by]
    begins = np.sort(lane(group, writers) + np.searchsorted(ranks, begin[writers]))
    later = np.searchsorted(begins, mine + span - 1, side="right")
    later -= np.searchsorted(begins, mine + np.searchsorted(ranks, moments), side="right")
    so_many = np.arange(1, len(which) + 1) - np.searchsorted(mine, mine, side="left")
    there = (versions.count + versions.initial + versions.open)[readers.group[which]] - later
    lacking = np.flatnonzero(so_many > there)
    if not len(lacking):
        return None
    last = lacking[np.argmin(so_many[lacking])]
    chosen = np.sort(which[last + 1 - so_many[last] : last + 1])
    mine_too = (group == readers.group[which[last]]) & (clock[writers] == clock[readers.txn[which[last]]])
    return _proof(asg, readers, chosen, writers[mine_too & (begin[writers] > moments[last])])


def _proof(
    asg: ASG, readers: _Readers, which: Int64, later: NDArray[np.int32] | None = None
) -> TooFewVersions:
    reads, txns = readers.read[which], asg.txn_of[readers.txn[which]]
    pairs = sorted(zip(txns.tolist(), asg.read_op[reads].tolist(), strict=True))
    gone = () if later is None else tuple(sorted(asg.txn_of[later].tolist()))
    return TooFewVersions(asg.trace_key(int(readers.key[readers.group[which[0]]])), tuple(pairs), gone)


def parts_of_count(asg: ASG, proof: TooFewVersions) -> tuple[Int64, Int64]:
    """The transactions and reads of a count, with those whose versions came too late."""
    key = proof.key if asg.key_of is None else int(np.searchsorted(asg.key_of, proof.key))
    txns = np.searchsorted(asg.txn_of, [t for t, _ in proof.readers])
    rows = {row for _, row in proof.readers}
    reads = np.concatenate([np.arange(asg.read_start[t], asg.read_start[t + 1]) for t in txns.tolist()])
    reads = reads[(asg.read_key[reads] == key) & np.isin(asg.read_op[reads], list(rows))]
    later = np.searchsorted(asg.txn_of, proof.later)
    return np.concatenate([txns, later]).astype(np.int64), np.sort(reads)

"""Where real time is broken, and by which keys: the place to look for what breaks a looser bound.

What no order in real time explains is often told by a few keys and some moments, and found at once: two withdrew from
one customer's accounts, each having seen both. Within a bound of real time the same clash may still be one, but a
search through the whole trace has thousands of other places to be busy at. So ask for the clash in real time first: of
the engine, or of keys that were read together, alone. Then ask again within the bound, of just those keys and of just
those who were there some bounds before and after; first with the reads of few (grown.py), then with those in one
order that nothing tells apart (interchangeable.py). Leaving the rest out only weakens the problem (parts.py), so a
refutation is one of the whole; anything else says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from time import monotonic, process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, OUT
from boomslang.distinct import distinct
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.solve.departures import groups_of_keys
from boomslang.solve.grown import refute_grown
from boomslang.solve.parts import refuted_part
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.lengths import usual_length
from boomslang.trace.model import NO_TIME, Outcome

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

LARGE = 50_000
"""Transactions of a trace that is not asked so."""
MOST_GROUPS, MOST_PAIRS, MOST_GROWN = 16, 12, 64
MOST_UNDER_WAY = 64
AGAIN = 2
"""Clashes of one group of keys that are looked at."""
MOST_MISSES = 2_000
"""Of those who missed each other."""
MOST_KEYS = 6
"""Of a clash; one of more is no place."""
BOUNDS = 3
"""Before and after the clash."""
SECONDS = 2.0
"""Of this process, after which no other clash is looked at."""
STRICT_CONFLICTS, CONFLICTS = 1_000, 15_000
GROWING = (2_000, 20_000)
"""Conflicts that a part which grows may take."""
ALIKE = (6_000, 20_000)
"""The same of a part in which those that nothing tells apart are in one order."""


def refute_nearby(ir: IR, strictly: Solution | None, limits: Limits) -> Solution | None:
    """A refutation by a few keys, if one is found. `strictly`: what is known of the level with real-time order."""
    asg, level = ir.asg, ir.level
    if asg.modules or not level.needs_times or not asg.trace.has_times or asg.transactions > LARGE:
        return None
    begin, used = monotonic(), process_time()
    if level.slack > 0:
        for refute in (_grown, _with_those_alike):
            if (found := refute(ir, limits.since(begin))) is not None:
                return found
    strict = lower(asg, replace(level, slack=0))
    for keys, clash in _clashes(strict, strictly, limits):
        if level.slack == 0:
            return clash
        assert clash.core_reads is not None
        moments = _moments(asg, asg.read_txn[clash.core_reads])
        if not len(moments):
            continue
        around = BOUNDS * level.slack + 10 * usual_length(asg.trace)
        here = _within(asg, int(np.median(moments)), around)
        found = _asked(ir, keys, here, replace(limits.since(begin), conflicts=CONFLICTS))
        if found is not None:
            return found
        if process_time() - used > SECONDS:
            return None
    return None


def _grown(ir: IR, limits: Limits) -> Solution | None:
    """A refutation that grows around two who missed each other; first where few can have made up for it."""
    asg, slack = ir.asg, ir.level.slack
    begin, used = monotonic(), process_time()
    clashes = list(islice(_missed_each_other(asg), MOST_MISSES))
    times = _Times(asg)
    clashes.sort(key=lambda clash: times.others(clash, slack))
    for conflicts in GROWING:  # briefly each, for one of them may be easy
        for clash in clashes[:MOST_GROWN]:
            here = _within(asg, clash.moment, 2 * slack)
            left = replace(limits.since(begin), conflicts=conflicts)
            keys = np.array(clash.keys, np.int64)
            found = refute_grown(ir, [clash.one, clash.other], keys, here, left)
            if found is not None or process_time() - used > SECONDS:
                return found
    return None


def _with_those_alike(ir: IR, limits: Limits) -> Solution | None:
    """A refutation by all who were around two who missed each other. Those that nothing tells apart as far as the
    clash's keys go are in one order."""
    if ir.graph.points != 1 or ir.level.once is not None:
        return None
    asg, slack = ir.asg, ir.level.slack
    begin, used = monotonic(), process_time()
    times = _Times(asg)
    clashes = list(islice(_missed_each_other(asg), MOST_MISSES))
    clashes.sort(key=lambda clash: times.others(clash, slack))
    for conflicts in ALIKE:
        for clash in clashes[:MOST_GROWN]:
            keys, here = np.array(clash.keys, np.int64), _within(asg, clash.moment, slack + slack // 5)
            left = replace(limits.since(begin), conflicts=conflicts)
            found = _asked(ir, keys, here, left, alike=True)
            if found is not None or process_time() - used > SECONDS:
                return found
    return None


def _clashes(strict: IR, strictly: Solution | None, limits: Limits) -> Iterator[tuple[Int64, Solution]]:
    """Keys, and what refutes them in real time."""
    asg = strict.asg
    everywhere = np.ones(asg.transactions, bool)
    if strictly is not None and strictly.core_reads is not None:
        spoken_of = distinct(asg.read_key[strictly.core_reads]).astype(np.int64)
        if len(spoken_of) <= MOST_KEYS:
            yield spoken_of, strictly
    briefly = replace(limits, conflicts=STRICT_CONFLICTS)
    first = {clash.keys: clash for clash in reversed(list(islice(_missed_each_other(asg), MOST_MISSES)))}
    for clash in sorted(first.values(), key=lambda clash: clash.moment)[:MOST_PAIRS]:
        keys = np.array(clash.keys, np.int64)
        here = _within(asg, clash.moment, 10 * usual_length(asg.trace))
        if (found := _asked(strict, keys, here, briefly)) is not None:
            yield keys, found
    for n, group in enumerate(groups_of_keys(asg, strict.level)):
        if n == MOST_GROUPS:
            return
        keys, out = np.array(group, np.int64), np.zeros(len(asg.read_key), bool)
        for _ in range(AGAIN):
            found = _asked(strict, keys, everywhere, briefly, out)
            if found is None:
                break
            assert found.core_reads is not None
            yield keys, found
            out[found.core_reads] = True


class Missed(NamedTuple):
    """Two who overlapped, each of which wrote a key where the other saw something else."""

    one: int
    other: int
    keys: tuple[int, ...]
    moment: int


def _missed_each_other(asg: ASG) -> Iterator[Missed]:
    """All of those, as the clock has them; of each two, a key that each missed, and the same if there is one."""
    end = asg.trace.txn_end[asg.txn_of]
    who, reader, writer, key = _misses(asg)
    if not len(key):
        return
    # Two of them, by their ranks: a pair's misses one way stand beside those the other way.
    low, high = np.minimum(reader, writer), np.maximum(reader, writer)
    pair = low * len(who) + high
    by = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], pair[by][1:] != pair[by][:-1])))
    for first, last in zip(starts.tolist(), [*starts.tolist()[1:], len(by)], strict=True):
        here = by[first:last]
        forth = reader[here] == low[here]
        one, other = distinct(key[here[forth]]).tolist(), distinct(key[here[~forth]]).tolist()
        if one and other:
            both = [x for x in one if x in other]
            keys = (both[0],) if both else (one[0], other[0])
            a, b = int(who[low[here[0]]]), int(who[high[here[0]]])
            yield Missed(a, b, tuple(sorted(keys)), int(end[a]))


def _misses(asg: ASG) -> tuple[Int64, Int64, Int64, Int64]:
    """Those who committed and wrote, by when they were invoked; and of each read of one that missed what another one
    wrote while both were under way: the ranks of the two, and the key."""
    ids = asg.txn_of
    begin, end, clock = asg.trace.txn_begin[ids], asg.trace.txn_end[ids], asg.trace.txn_clock[ids]
    wrote = np.zeros(asg.transactions, bool)
    wrote[asg.write_txn] = True
    timed = wrote & (asg.outcome == Outcome.COMMITTED) & (begin != NO_TIME) & (end != NO_TIME)
    who = np.flatnonzero(timed)
    who = who[np.argsort(begin[who], kind="stable")]
    many = np.int64(len(who) + 1)
    rank = np.full(asg.transactions, -1, np.int64)
    rank[who] = np.arange(len(who))
    rows = np.flatnonzero(timed[asg.write_txn])
    place = asg.write_key[rows] * many + rank[asg.write_txn[rows]]
    rows = rows[by := np.argsort(place, kind="stable")]
    place = place[by]
    reads = np.flatnonzero(timed[asg.read_txn])
    mine, base = rank[asg.read_txn[reads]], asg.read_key[reads] * many
    last = np.searchsorted(begin[who], end[asg.read_txn[reads]], side="right") - 1
    low = np.searchsorted(place, base + np.maximum(0, mine - MOST_UNDER_WAY))
    high = np.searchsorted(place, base + np.minimum(last, mine + MOST_UNDER_WAY), side="right")
    counts = np.maximum(0, high - low)
    read = np.repeat(np.arange(len(reads)), counts)
    row = rows[np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + low[read]]
    a, b = asg.read_txn[reads[read]], asg.write_txn[row]
    missed = (a != b) & (clock[a] == clock[b]) & (begin[a] <= end[b])
    missed &= asg.write_value[row] != asg.read_value[reads[read]]
    return (
        who.astype(np.int64),
        mine[read[missed]],
        rank[b[missed]],
        asg.write_key[row[missed]].astype(np.int64),
    )


class _Times:
    """When each value was written to each key."""

    def __init__(self, asg: ASG) -> None:
        self.asg = asg
        self.begin, self.end = asg.trace.txn_begin[asg.txn_of], asg.trace.txn_end[asg.txn_of]

    def others(self, clash: Missed, slack: int) -> int:
        """How many, within the bound, wrote what the two saw of the keys."""
        asg, many = self.asg, 0
        for t in (clash.one, clash.other):
            for r in range(int(asg.read_start[t]), int(asg.read_start[t + 1])):
                if asg.read_key[r] in clash.keys:
                    who = asg.write_txn[asg.writes_of(int(asg.read_key[r]), int(asg.read_value[r]))]
                    near = (self.end[who] >= self.begin[t] - slack) & (self.begin[who] <= self.end[t] + slack)
                    many += int(near.sum())
        return many


def _asked(
    ir: IR, keys: Int64, here: Bools, limits: Limits, out: Bools | None = None, *, alike: bool = False
) -> Solution | None:
    """Are these keys alone refuted, by those who read them here and all who wrote them? (Those who aborted, too: what
    is not in a part may have committed.)"""
    asg = ir.asg
    mine = np.isin(asg.read_key, keys) & (here & (asg.state != OUT))[asg.read_txn]
    if out is not None:
        mine &= ~out
    reads = np.flatnonzero(mine)
    rows = np.concatenate([np.arange(asg.key_start[k], asg.key_start[k + 1]) for k in keys.tolist()])
    transactions = np.concatenate([asg.read_txn[reads], asg.write_txn[rows]]).astype(np.int64)
    if not len(reads):
        return None
    return refuted_part(ir, transactions, reads.astype(np.int64), limits, alike=keys if alike else None)


def _moments(asg: ASG, transactions: NDArray[np.int32]) -> Int64:
    end = asg.trace.txn_end[asg.txn_of[transactions]]
    moments: Int64 = end[end != NO_TIME]
    return moments


def _within(asg: ASG, moment: int, around: int) -> Bools:
    begin, end = asg.trace.txn_begin[asg.txn_of], asg.trace.txn_end[asg.txn_of]
    timed = (begin != NO_TIME) & (end != NO_TIME)
    here: Bools = timed & (end >= moment - around) & (begin <= moment + around)
    return here

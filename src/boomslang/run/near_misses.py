"""How near a run came to an anomaly: the dangerous moments in its trace, counted.

An *anti-dependency under way* is a reader of a version that somebody overwrote while the reader was still at work.
Where a transaction has one going in and one coming out, both under way, the three are a *dangerous structure*: every
cycle that snapshot isolation lets happen has one (Fekete et al., TODS 2005), a serializable database must look
closely there (Cahill et al., SIGMOD 2008), and one that looks away is caught there. A run without any can hardly fail.
Anti-dependencies on a key that was *born*, which the reader had looked for in vain, are a kind of their own: there is
no row yet to see the conflict by, and more than one database has overlooked it there.

This measures a load; it decides nothing. So it takes the likeliest reading in one linear pass: writers of a key in the
order of their commits, a value from the latest that wrote it, "while" by the clocks as they were recorded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.asg import build_asg
from boomslang.asg.graph import ASG, IN, INITIAL, SEVERAL
from boomslang.distinct import distinct
from boomslang.trace.model import ABSENT, NO_TIME, Trace

Int64 = NDArray[np.int64]


class NearMisses(NamedTuple):
    """Of a trace."""

    overwritten: int
    """Anti-dependencies under way: pairs of transactions."""
    dangerous: int
    """Transactions with one going in and one coming out."""
    births: int = 0
    """Of the anti-dependencies under way, those on a key that was not there before."""
    passed: int = 0
    """Of the anti-dependencies under way, those whose writer was overwritten in turn while the reader was at work."""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def near_misses(trace: Trace) -> NearMisses:
    """Those of a trace; none where nothing was timed."""
    asg = build_asg(trace)
    begin, end = trace.txn_begin[asg.txn_of], trace.txn_end[asg.txn_of]
    there = (asg.state == IN) & (begin != NO_TIME) & (end != NO_TIME)
    writes = np.flatnonzero(there[asg.write_txn])
    key, writer = asg.write_key[writes].astype(np.int64), asg.write_txn[writes].astype(np.int64)
    order = np.lexsort((end[writer], key))
    key, writer = key[order], writer[order]
    reads = np.flatnonzero(there[asg.read_txn])
    reader, read_key = asg.read_txn[reads].astype(np.int64), asg.read_key[reads].astype(np.int64)
    seen = _likely_writer(asg, reads, reader, end, there)
    known = (seen == INITIAL) | ((seen >= 0) & there[np.maximum(seen, 0)])
    reader, read_key, seen = reader[known], read_key[known], seen[known]
    born = (seen == INITIAL) & (asg.initial[read_key] == ABSENT)
    # Of each read, the version after the one it saw: the key's first, or the one behind its writer.
    first = np.searchsorted(key, read_key)
    size = np.int64(max(1, asg.transactions))
    place = key * size + writer
    by_place = np.argsort(place)
    at = by_place[
        np.searchsorted(place[by_place], read_key * size + np.maximum(seen, 0)) % max(1, len(place))
    ]
    following = np.where(seen == INITIAL, first, at + 1)
    ok = following < len(key)
    ok[ok] = key[following[ok]] == read_key[ok]
    reader, over, born, following = reader[ok], writer[following[ok]], born[ok], following[ok]

    def at_work_together(one: Int64, other: Int64) -> NDArray[np.bool_]:
        together: NDArray[np.bool_] = (one != other) & (begin[other] < end[one]) & (begin[one] < end[other])
        return together

    under_way = at_work_together(reader, over)
    pairs = distinct(reader[under_way] * size + over[under_way])
    coming_out, going_in = distinct(pairs // size), distinct(pairs % size)
    dangerous = np.intersect1d(coming_out, going_in, assume_unique=True)
    births = distinct((reader * size + over)[under_way & born])
    behind = np.minimum(following + 1, len(key) - 1)
    again = (key[behind] == key[following]) & (behind > following) & at_work_together(reader, writer[behind])
    passed = distinct((reader * size + over)[under_way & again])
    return NearMisses(len(pairs), len(dangerous), len(births), len(passed))


def _likely_writer(asg: ASG, reads: Int64, reader: Int64, end: Int64, there: NDArray[np.bool_]) -> Int64:
    """Of each read who wrote it: of several, the one that committed last before the reader did."""
    seen: Int64 = asg.read_writer[reads].astype(np.int64)
    for i in np.flatnonzero(seen == SEVERAL).tolist():
        writes = asg.writes_of(int(asg.read_key[reads[i]]), int(asg.read_value[reads[i]]))
        able = asg.write_txn[writes]
        able = able[there[able] & (able != reader[i]) & (end[able] <= end[reader[i]])]
        seen[i] = able[np.argmax(end[able])] if len(able) else INITIAL
    return seen

"""What happened around a core: the transactions before and after in the same session, and those at the same time."""

from __future__ import annotations

from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import NO_TIME, Trace

MOST = 40
"""Neighbours in all."""
BESIDE = 2
"""Of each transaction, so many before and after it in its session."""
MEANWHILE = 4
"""Of each transaction, so many that overlap it in time."""


def neighbours(trace: Trace, core: list[int]) -> list[int]:
    """Transactions close to these in session order or time, the closest first taken; in the trace's order."""
    lists = [[*_beside(trace, t), *_meanwhile(trace, t)] for t in core]
    # A few of each rather than all of the first.
    fair = chain.from_iterable(zip_longest(*lists))
    found = dict.fromkeys(t for t in fair if t is not None and t not in set(core))
    return sorted(list(found)[:MOST])


def _beside(trace: Trace, t: int) -> list[int]:
    session = int(trace.txn_session[t])
    same = np.arange(len(trace)) if session < 0 else np.flatnonzero(trace.txn_session == session)
    at = int(np.searchsorted(same, t))
    near = [same[i] for d in range(1, BESIDE + 1) for i in (at - d, at + d) if 0 <= i < len(same)]
    return [int(n) for n in near]


def _meanwhile(trace: Trace, t: int) -> list[int]:
    begin, end = int(trace.txn_begin[t]), int(trace.txn_end[t])
    if NO_TIME in (begin, end):
        return []
    timed = (trace.txn_begin != NO_TIME) & (trace.txn_end != NO_TIME)
    same_clock = trace.txn_clock == trace.txn_clock[t]
    overlap = timed & same_clock & (trace.txn_begin <= end) & (trace.txn_end >= begin)
    found: NDArray[np.int64] = np.flatnonzero(overlap)
    # As floats: 64-bit times may lie further apart than a 64-bit number can say.
    far = np.abs(trace.txn_begin[found].astype(float) - float(begin))
    return [int(n) for n in found[np.argsort(far, kind="stable")[: MEANWHILE + 1]] if n != t][:MEANWHILE]

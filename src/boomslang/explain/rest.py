"""What is left of a trace when parts of its violations are taken out.

A read that is taken out was never made. A transaction that is taken out loses its reads and its place in session and
time, and nobody knows whether it committed, as if it were dropped from a core: others may still have read from it.
Both only weaken the problem, so whatever the rest breaks, the whole trace breaks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG, UNKNOWN_INITIAL, Int64, linked
from boomslang.explain.parts import Parts
from boomslang.trace.model import Outcome


class Rest:
    """An ASG, and what has been taken out of it so far. Parts are spoken of in the numbers of the whole."""

    def __init__(self, whole: ASG) -> None:
        self.whole = whole
        self.reads = np.ones(len(whole.read_key), bool)
        self.internal = np.ones(len(whole.internal[0]), bool)
        self.transactions = np.ones(whole.transactions, bool)
        self.asg = whole
        self.read_of: Int64 = np.arange(len(whole.read_key))
        """Of each read of `asg`, its number in the whole."""
        self.internal_of: Int64 = np.arange(len(whole.internal[0]))

    def take_out(self, reads: Int64, internal: Int64, transactions: Int64) -> None:
        """Takes these out; they are numbers of the whole."""
        self.reads[reads] = False
        self.internal[internal] = False
        self.transactions[transactions] = False
        whole, out = self.whole, ~self.transactions
        kept = self.reads & ~out[whole.read_txn]
        inner = self.internal & ~out[whole.internal[0]]
        self.read_of, self.internal_of = np.flatnonzero(kept), np.flatnonzero(inner)
        self.asg = _without(whole, out, self.read_of, self.internal_of)

    def in_whole(self, parts: Parts) -> Parts:
        """Parts of `asg` in the numbers of the whole."""
        return Parts(parts.transactions, self.read_of[parts.reads], self.internal_of[parts.internal])


def _without(asg: ASG, out: np.ndarray[tuple[int], np.dtype[np.bool_]], reads: Int64, inner: Int64) -> ASG:
    counts = np.bincount(asg.read_txn[reads], minlength=asg.transactions)
    initial = asg.initial.copy()
    if len(asg.initial_by):  # what reads fixed must be fixed again by those that are left
        initial[asg.initial_by >= 0] = UNKNOWN_INITIAL
    same = (np.arange(asg.transactions, dtype=np.int32), np.arange(asg.keys, dtype=np.int32))
    txn, op, key, seen, own = (column[inner] for column in asg.internal)
    return linked(
        replace(
            asg,
            outcome=np.where(out, np.uint8(Outcome.UNKNOWN), asg.outcome).astype(np.uint8),
            read_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            read_key=asg.read_key[reads],
            read_value=asg.read_value[reads],
            read_op=asg.read_op[reads],
            read_kind=asg.read_kind[reads],
            initial=initial,
            lists=asg.lists.restrict(reads, *same),
            internal=(txn, op, key, seen, own),
            ordered=asg.ordered & ~out,
        )
    )

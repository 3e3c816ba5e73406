"""A part of an ASG, of which one can ask whether it already breaks a level; and the parts that no order can explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG

if TYPE_CHECKING:
    from boomslang.solve.solution import Solution

Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """A part of an ASG: its transactions, reads and internal reads, in the ASG's numbers."""

    transactions: Int64
    reads: Int64
    internal: Int64

    @staticmethod
    def all_of(asg: ASG, transactions: Int64) -> Parts:
        """These transactions, with all that they read."""
        inside = np.zeros(asg.transactions, bool)
        inside[transactions] = True
        return Parts(
            np.flatnonzero(inside),
            np.flatnonzero(inside[asg.read_txn]),
            np.flatnonzero(inside[asg.internal[0]]),
        )

    @staticmethod
    def of(transactions: list[int], reads: list[int], internal: list[int]) -> Parts:
        return Parts(*(np.array(sorted(set(x)), np.int64) for x in (transactions, reads, internal)))

    @staticmethod
    def used_by(asg: ASG, refutation: Solution) -> Parts:
        """What a refutation used; everything, if the solver does not say."""
        nothing = np.zeros(0, np.int64)
        if refutation.core_transactions is None or refutation.core_reads is None:
            return Parts(np.arange(asg.transactions), np.arange(len(asg.read_key)), nothing)
        return Parts(refutation.core_transactions, refutation.core_reads, nothing)


def first_broken(asg: ASG) -> Parts | None:
    """A read that no order can explain, if there is one: it contradicts its own transaction, or nobody wrote it."""
    if len(asg.broken):
        i = int(asg.broken[0])
        return Parts.of([int(asg.internal[0][i])], [], [i])
    if len(asg.orphans):
        r = int(asg.orphans[0])
        return Parts.of([int(np.searchsorted(asg.read_start, r, side="right")) - 1], [r], [])
    return None

"""A part of the trace, asked on its own.

Leaving transactions and reads out only weakens the problem (what is left out stays a candidate for the reads that are
kept), so a part that is refuted refutes the whole: the paper's *unsat search*, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG
from boomslang.distinct import distinct
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.solve.interchangeable import ranked, with_all_reads
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Limits, Solution

Int64 = NDArray[np.int64]


def refuted_part(
    ir: IR,
    transactions: Int64,
    reads: Int64,
    limits: Limits | None,
    *,
    alike: Int64 | None = None,
    as_timed: bool = False,
    at_first: Callable[[IR], Solution | None] | None = None,
) -> Solution | None:
    """The refutation of these transactions with these of their reads, in numbers of the whole; or None. `alike`: the
    keys that the reads speak of, to put those into one order that nothing tells apart there (interchangeable.py).
    `as_timed`: begin with the order in which they ended, if that is known. `at_first`: what is tried before a search,
    and may refute the part; a proof of it speaks of the whole trace. `limits`: None: nothing is searched."""
    asg = ir.asg
    reads = distinct(reads)
    part = asg.restrict(distinct(transactions), reads)
    if len(part.orphans):
        orphan = part.orphans[:1]
        reader = np.searchsorted(part.read_start, orphan, side="right") - 1
        found = Solution("invalid", core_transactions=reader, core_reads=orphan)
    else:
        asked = IR(part, ir.level, lower(part, ir.level).graph)
        made = None if alike is None else ranked(asked, alike)
        if at_first is not None and (sure := at_first(asked)) is not None:
            found = sure
        elif limits is None:
            return None
        elif made is None:
            found = solve_native(asked, limits, rank=_ends(part) if as_timed else None)
        else:
            found = with_all_reads(part, made[1], solve_native(made[0], limits))
    return in_the_whole(asg, part, reads, found) if found.status == "invalid" else None


def _ends(asg: ASG) -> Int64 | None:
    return priorities(asg) if asg.trace.has_times else None


def in_the_whole(asg: ASG, part: ASG, reads: Int64, found: Solution) -> Solution:
    """The refutation of a part that has these reads, in numbers of the whole."""
    assert found.core_transactions is not None and found.core_reads is not None
    return replace(
        found,
        core_transactions=np.searchsorted(asg.txn_of, part.txn_of[found.core_transactions]),
        core_reads=reads[found.core_reads],
    )


def reads_of(ir: IR, transactions: Int64) -> Int64:
    """All reads of these transactions."""
    starts, ends = ir.asg.read_start[transactions], ir.asg.read_start[transactions + 1]
    counts = ends - starts
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

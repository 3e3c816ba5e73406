"""Further violations, independent of those that are known: no transaction in common.

What was found is taken out: its transactions lose their reads and their place in session and time, and nobody knows
whether they committed, as if they were dropped from a core. That only weakens the problem, so whatever is refuted then
is a violation of the whole trace, and rests on other transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG, UNKNOWN_INITIAL, Int64, linked
from boomslang.errors import UsageError
from boomslang.explain.counterexample import Counterexample, explain
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.levels.level import Level
from boomslang.solve.solution import Limits
from boomslang.solve.strategy import solve
from boomslang.trace.model import Outcome


def further(asg: ASG, level: Level, first: Counterexample, limits: Limits) -> Iterator[Counterexample]:
    """One violation after the other, until none is left (or a limit is reached)."""
    if asg.modules or not level.observes:
        raise UsageError(f"further violations can be looked for without modules, and not at {level.title}")
    found = first
    while True:
        gone = np.flatnonzero(np.isin(asg.txn_of, found.core.transactions))
        asg = without(asg, gone)
        parts = first_broken(asg)
        if parts is None:
            solution = solve(lower(asg, level), limits)
            if solution.core_transactions is None or solution.core_reads is None:
                return
            parts = Parts(solution.core_transactions, solution.core_reads, np.zeros(0, np.int64))
        found = explain(asg, level, parts, limits.seconds)
        yield found


def without(asg: ASG, gone: Int64) -> ASG:
    """The ASG in which these transactions count for nothing, but that others may have read from them."""
    out = np.zeros(asg.transactions, bool)
    out[gone] = True
    reads = np.flatnonzero(~out[asg.read_txn])
    counts = np.where(out, 0, np.diff(asg.read_start))
    initial = asg.initial.copy()
    if len(asg.initial_by):  # what reads fixed must be fixed again by those that are left
        initial[asg.initial_by >= 0] = UNKNOWN_INITIAL
    same = (np.arange(asg.transactions, dtype=np.int32), np.arange(asg.keys, dtype=np.int32))
    inner = ~out[asg.internal[0]]
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

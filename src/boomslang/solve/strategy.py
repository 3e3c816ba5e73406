"""How the native engine is used: what is tried first, and what when it does not come to an end.

1. If the trace has times that the level does not demand, and reads with several candidates, first ask for more than
   the level does: real-time order. An order that keeps it is an order; and where values say little, times say much.
2. The problem itself, for a while.
3. If that takes long, look for a small contradiction: split the trace into windows of neighbours and ask each alone.
   A window that is refuted refutes the whole, because leaving transactions out only weakens the problem (this is the
   paper's *unsat search*, section 5).
4. The problem itself, to the end.

Steps 1 and 3 can only give the answer they are sound for; which step answered is told in the statistics.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from boomslang.asg.graph import OUT
from boomslang.ir.lower import lower
from boomslang.ir.model import IR, ambiguous_reads
from boomslang.levels.level import Dependency
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Limits, Solution

EAGER_CONFLICTS = 2_000
FIRST_CONFLICTS = 20_000
WINDOW_CONFLICTS = 2_000
WINDOWS = (64, 256, 1024)
WINDOW_SECONDS = 5.0


def solve(ir: IR, limits: Limits | None = None) -> Solution:
    """Decides an IR, with the strategy above."""
    clock = _Clock(limits or Limits())
    asg = ir.asg
    if not ir.level.needs_times and asg.trace.has_times and ambiguous_reads(asg):
        timed = lower(asg, ir.level.strong(ir.level.name, "", "", "", ()))
        timed.graph.chunks = [*ir.graph.chunks, *(c for c in timed.graph.chunks if c[2] == Dependency.RT)]
        if (found := solve_native(timed, clock.left(EAGER_CONFLICTS))).status == "valid":
            return _by(found, "real-time order")
    found = solve_native(ir, clock.left(FIRST_CONFLICTS))
    if found.reason != "conflicts":
        return _by(found, "direct")
    if (small := _windows(ir, clock)) is not None:
        return _by(small, "a window")
    return _by(solve_native(ir, clock.left(None)), "direct")


def _by(solution: Solution, what: str) -> Solution:
    return replace(solution, decided_by=what)


class _Clock:
    """The limits, less the time that has passed."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.start = time.monotonic()

    def left(self, conflicts: int | None) -> Limits:
        if self.limits.seconds is None:
            return replace(self.limits, conflicts=conflicts)
        seconds = max(1e-3, self.limits.seconds - (time.monotonic() - self.start))
        return replace(self.limits, seconds=seconds, conflicts=conflicts)


def _windows(ir: IR, clock: _Clock) -> Solution | None:
    """A window of neighbouring transactions that is refuted on its own, or None."""
    asg = ir.asg
    inside = np.flatnonzero(asg.state != OUT)
    inside = inside[np.argsort(priorities(asg)[inside], kind="stable")]
    stop = time.monotonic() + WINDOW_SECONDS
    for size in WINDOWS:
        if size >= len(inside):
            break
        for first in range(0, len(inside), size // 2):
            limits = clock.left(WINDOW_CONFLICTS)
            if time.monotonic() > stop or (limits.seconds is not None and limits.seconds < 0.1):
                return None
            txns = np.sort(inside[first : first + size])
            starts, ends = asg.read_start[txns], asg.read_start[txns + 1]
            reads = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
            part = asg.restrict(txns, reads)
            window = IR(part, ir.level, lower(part, ir.level).graph)
            found = solve_native(window, limits)
            if found.status == "invalid":
                assert found.core_transactions is not None and found.core_reads is not None
                return replace(
                    found,
                    core_transactions=np.searchsorted(asg.txn_of, part.txn_of[found.core_transactions]),
                    core_reads=reads[found.core_reads],
                )
    return None

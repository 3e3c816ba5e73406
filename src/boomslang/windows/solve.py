"""Windows in the strategy: who is asked in windows, and what happens when one of them fails.

A window that fails shows nothing yet. First its core is asked as a part of the whole trace: what the final reader
demanded stands for the reads that demanded it. If that part is refuted, so is the trace, and the answer is the same
as without windows. Otherwise the window is joined with as much again on either side, and asked once more.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import suppose
from boomslang.distinct import distinct
from boomslang.free_memory import give_back
from boomslang.ir.model import IR, ambiguous_reads
from boomslang.levels.level import Dependency, Point
from boomslang.solve.native import hinted_successors, undecidable_doubt
from boomslang.solve.parts import reads_of, refuted_part
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import Outcome
from boomslang.windows import _windows
from boomslang.windows.rank import Ranked, ranked_points, threads

SIZE = 2_000
"""Transactions of a window."""
MARGIN = 400
"""Transactions either side of a cut that are ordered to find where it should be."""
WALK_MARGIN = 150
"""The same around a place at which one pass through the trace did not go on."""
WALK_STRETCH = 65_536
"""Transactions that one pass through the trace has at least for each of its threads."""
CONFLICTS = 1_000
"""In one window. What takes more than this is not made easier by its neighbours."""
ASKED_CORES = 4
"""Cores of windows that are asked as a part of the whole, before windows are just joined. Once so many windows are
refuted, and at least one in twenty, the others are not looked at before these were asked."""
BEGINNINGS = (16_000, 64_000)
"""Transactions from the start that are asked as a part of the whole, when no core of a window was refuted."""
MOST_FAILED = 0.2
"""Of the windows: if more of them fail, it is not for where they were cut."""
LARGEST = 0.3
"""Of the trace: once a window is as large as this, nothing is gained any more."""
PART_CONFLICTS = 20_000
LONG = 250_000
"""Transactions of a trace that takes so much memory that what is free of it is worth giving back."""

_EMPTY = np.zeros(0, np.int32)


def walk_through(
    ir: IR, limits: Limits, *, in_time: bool = False, stretch: int = WALK_STRETCH
) -> tuple[Solution | None, dict[str, Any]]:
    """An order, if one pass finds it; and what it did."""
    return solve_in_windows(ir, limits, in_time=in_time, walk=True, cut=False, stretch=stretch)


def solve_in_windows(
    ir: IR,
    limits: Limits,
    *,
    in_time: bool = False,
    walk: bool = False,
    cut: bool = True,
    stretch: int = WALK_STRETCH,
) -> tuple[Solution | None, dict[str, Any]]:
    """The answer, if windows give one; and what they did. `in_time`: ask for real-time order, too. `walk`: try to go
    through it in one pass first, in several threads if there is at least a `stretch` for each. `cut`: if that is not
    enough, cut it into windows."""
    start = time.monotonic()
    if undecidable_doubt(ir) is not None:
        return None, {}
    settled = ir
    if len(ir.asg.doubtful):  # nothing needs these: leave them out
        settled = IR(suppose(ir.asg, ir.asg.doubtful.tolist(), committed=False), ir.level, ir.graph)
        if len(settled.asg.orphans):
            return None, {}
    try:
        ranked = ranked_points(settled, limits)
        if ranked is None:
            return None, {}
        long = settled.asg.transactions >= LONG
        if long:  # what reading, analysing and ranking have freed
            give_back()
        windows = _made(settled, ranked, in_time, threads(limits))
        if long:
            give_back()
        beginning = ranked.points[: BEGINNINGS[-1] * ir.graph.points].copy()
        timed = len(ranked.after) > 0
        del ranked  # which is as long as the trace
        size = limits.window or SIZE
        asked = _Asked(ir, limits, start, windows, beginning, in_time)
        walk = walk and timed  # without a clock or a log there is no way to go by
        found = asked.walked(stretch) if walk else None
        if found is None and cut:
            windows.hint(hinted_successors(settled, 0))
            found = asked.answer(size, max(1, min(MARGIN, size // 2)))
    except LimitReached as limit:
        return Solution("unknown", reason=limit.reason), {}
    return found, {f"windows: {name}": n for name, n in windows.stats().items()} | asked.counted


class _Asked:
    """One trace that is being decided in windows."""

    def __init__(
        self,
        ir: IR,
        limits: Limits,
        start: float,
        windows: _windows.Windows,
        beginning: NDArray[np.int32],
        in_time: bool,
    ) -> None:
        self.ir, self.limits, self.start, self.windows, self.beginning = ir, limits, start, windows, beginning
        self.in_time = in_time
        self.jobs = threads(limits)
        self.began = False
        self.cores = 0
        self.counted: dict[str, int] = {}

    def walked(self, stretch: int) -> Solution | None:
        """An order of the whole, if one is found in one pass."""
        found = self.windows.walk(WALK_MARGIN, stretch, self.jobs, CONFLICTS, *self.left())
        self.stopped(found)
        return self.valid(found) if found["valid"] else None

    def answer(self, size: int, margin: int) -> Solution | None:
        windows, jobs = self.windows, self.jobs
        found = windows.cut(size, margin, ASKED_CORES, jobs, CONFLICTS, *self.left())
        self.stopped(found)
        if found["hard"]:
            return None
        if found["refuted"]:
            if (refuted := self.ask_all(found["refuted"], broken=True)) is not None:
                return refuted
            self.stopped(windows.cut(size, margin, 0, jobs, CONFLICTS, *self.left()))
        while True:
            found = windows.solve(0 if self.began else ASKED_CORES, jobs, CONFLICTS, *self.left())
            self.stopped(found)
            if found["valid"]:
                return self.valid(found)
            if found["hard"]:
                return None
            if found["misfit"]:
                self.counted["windows: misfits"] = 1
                return None
            if (refuted := self.ask_all(found["why"], broken=found["broken"])) is not None:
                return refuted
            if self.hopeless(len(found["failed"])) or not windows.join(found["failed"]):
                return None

    def hopeless(self, failed: int) -> bool:
        """So much does not fit that the trace had better be asked in one piece."""
        if self.limits.window is not None:
            return False
        done = self.windows.stats()
        return failed > MOST_FAILED * done["windows"] or done["largest"] > LARGEST * self.ir.asg.transactions

    def valid(self, found: dict[str, Any]) -> Solution:
        initial = self.ir.asg.initial.copy()
        initial[found["initial_key"]] = found["initial_value"]
        return Solution("valid", order=found["order"], read_writer=_EMPTY, initial=initial)

    def ask_all(self, failed: list[dict[str, Any]], *, broken: bool) -> Solution | None:
        """Do these refute the whole, or, if so many of them are `broken`, does its beginning?"""
        for why in failed:
            if why["status"] == "invalid" and (refuted := self.ask(why)) is not None:
                return refuted
        return self.ask_beginning() if broken else None

    def ask(self, why: dict[str, Any]) -> Solution | None:
        """Is the core of a window refuted as a part of the whole?"""
        if self.cores >= ASKED_CORES and self.limits.window is None:
            return None
        self.cores += 1
        self.counted["windows: cores asked"] = self.cores
        seconds = self.left()[0]
        limits = Limits(seconds or None, self.limits.megabytes, conflicts=PART_CONFLICTS)
        transactions = why["core_txns"].astype(np.int64)
        return refuted_part(self.ir, transactions, why["core_reads"].astype(np.int64), limits)

    def ask_beginning(self) -> Solution | None:
        """Are the first transactions refuted on their own? Once: where a database breaks a level everywhere, that is
        the part of the trace in which the initial state is all that came before."""
        if self.began or self.limits.window is not None:
            return None
        self.began = True
        for size in BEGINNINGS:
            transactions = distinct(
                self.beginning[: size * self.ir.graph.points].astype(np.int64) // self.ir.graph.points
            )
            seconds = self.left()[0]
            limits = Limits(seconds or None, self.limits.megabytes, conflicts=PART_CONFLICTS)
            found = refuted_part(
                self.ir, transactions, reads_of(self.ir, transactions), limits, as_timed=self.in_time
            )
            if found is not None:
                return found
        return None

    def left(self) -> tuple[float, float]:
        return self.limits.since(self.start).seconds or 0.0, self.limits.megabytes or 0.0

    def stopped(self, found: dict[str, Any]) -> None:
        if found["stopped"]:
            raise LimitReached(found["stopped"])


def _made(ir: IR, ranked: Ranked, in_time: bool, jobs: int) -> _windows.Windows:
    asg, level, trace = ir.asg, ir.level, ir.asg.trace
    sources, targets = ir.list_order()
    # Real time is not among them: each window has a time line of its own.
    kept = [(a, b) for a, b, kind in ir.graph.chunks if kind is not Dependency.RT]
    in_time = in_time and trace.has_times and ambiguous_reads(asg) > 0
    timed = asg.txn_of if in_time or level.has(Dependency.RT) else _EMPTY  # nobody else looks at times
    return _windows.Windows(
        asg.transactions,
        ir.graph.points,
        asg.keys,
        len(trace.values) + 1,
        ir.graph.points == 2 and level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT),
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.read_writer,
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        asg.initial,
        np.concatenate([sources, *(a for a, _ in kept)]).astype(np.int32),
        np.concatenate([targets, *(b for _, b in kept)]).astype(np.int32),
        trace.txn_begin[timed],
        trace.txn_end[timed],
        trace.txn_clock[timed],
        ((asg.outcome == Outcome.COMMITTED) & asg.ordered).astype(np.uint8),
        level.has(Dependency.RT),
        in_time,
        *ranked,
        (asg.outcome == Outcome.UNKNOWN).astype(np.uint8),
        jobs,
    )

"""A stretch: windows go forward from one seam to the next, as one task.

It reads the lines between the two seams, and is told which of them belong behind the second one. It says in which order
things happened, what its reads have seen of the state at its start (its *demands*), and what it left behind. Where two
writers of a key overlapped and the next stretch starts with what the earlier wrote, they change places, if they can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.levels import find_level
from boomslang.levels.level import Dependency
from boomslang.solve.solution import Limits, Solution
from boomslang.stream.check import KEPT, pressed_by
from boomslang.stream.counted import Counted
from boomslang.stream.forward import TAIL, Forward
from boomslang.stream.looked import Looked
from boomslang.stream.no_answer import NotForward, Stuck
from boomslang.stream.past import Core, Past
from boomslang.stream.replayed import Replayed
from boomslang.stream.standing import Standing
from boomslang.stream.taken import Taken
from boomslang.stream.window import Question, places, writers_must_not_overlap
from boomslang.stretches.seam import Seam
from boomslang.stretches.slices import Sliced, SlicedBlocks, first_lines, left_out, not_above
from boomslang.stretches.survey import written
from boomslang.trace.blocks import MANY_FILES
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import NO_TIME, Outcome
from boomslang.trace.scalars import Code

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
_LINES = 1 << 40
"""More than a file has."""

FITS, CORE, STUCK, NOT_SO, LIMIT = "fits", "core", "stuck", "not so", "limit"
"""What becomes of a stretch: it has an order; the core of a window is to be asked; there is none, by what it knows; it
cannot be decided so; it takes too much."""


@dataclass(frozen=True, eq=False)
class Between:
    """A task: the trace from one seam (None: its beginning) to the next one (None: its end)."""

    trace: Sliced
    start: Seam | None
    end: Seam | None
    level: str
    size: int
    tail: int = TAIL
    asks: bool = True
    """Shall cores of windows be asked?"""
    order: bool = True
    """Is the order wanted, for a certificate?"""
    seconds: float | None = None
    megabytes: float | None = None
    smallest: int = 1 << 16
    kept: int = KEPT


@dataclass(eq=False)
class Told:
    """What became of it."""

    status: str
    reason: str = ""
    core: Core | None = None
    verdict: Any = None
    """If the stretch is all of the trace: the verdict on it."""
    taken: list[Taken] = field(default_factory=list)
    demands: dict[Code, Code | None] = field(default_factory=dict)
    wrote: dict[Code, Code | None] = field(default_factory=dict)
    fixed: list[tuple[Code, Code | None]] = field(default_factory=list)
    """What the initial state was, where nobody said."""
    looked: Looked = field(default_factory=Looked)
    """And the ranges that were looked through by its end."""
    scans: bool = False
    sessions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each session its first and its last transaction, by file and line."""
    began: int = NO_TIME
    """The latest begin."""
    returned: int | None = None
    """The earliest return of what committed."""
    uncertain: list[int] = field(default_factory=list)
    """Places of those of unknown outcome that it took."""
    counted: Counted = field(default_factory=Counted)


class _CoreFound(Exception):
    def __init__(self, core: Core) -> None:
        self.core = core


class _Asking(Past):
    """Hands a core on, for others to go through the trace."""

    def _gone_through(self, core: Core) -> None:
        raise _CoreFound(core)


class Stretch(Forward):
    """Windows that write down what they need, and what they leave."""

    def __init__(self, told: Told, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.told = told
        self.first_point = self._points
        self.all_of_it = False
        """Is the stretch the whole trace?"""

    @property
    def at_once(self) -> bool:
        return self.all_of_it and super().at_once

    def _replay(self, asked: Question, initial: Int32, order: Int64) -> Replayed:
        walked = super()._replay(asked, initial, order)
        assert self.live is not None
        trace = asked.asg.trace
        for k, code in zip(walked.seen.tolist(), trace.keys.codes(walked.seen), strict=True):
            held = self.live.get(code)
            if held is None or held.at < self.first_point:
                stands = int(initial[k])
                named = 0 <= stands < len(trace.values)
                self.told.demands[code] = (
                    trace.values.code(stands) if named else None if held is None else held.value
                )
        return walked

    def _in_time(self, asked: Question, began: Mask) -> None:
        super()._in_time(asked, began)
        told, trace = self.told, asked.asg.trace
        mine = np.flatnonzero(began & (trace.txn_session >= 0))
        where = in_file(asked.place[mine])
        for number in distinct(trace.txn_session[mine]).tolist():
            here = where[trace.txn_session[mine] == number]
            name = trace.sessions[number]
            first, last = told.sessions.get(name, (int(here.min()), int(here.max())))
            told.sessions[name] = min(first, int(here.min())), max(last, int(here.max()))
        told.began = max(told.began, self._began)
        back = began & (trace.txn_outcome == Outcome.COMMITTED) & (trace.txn_end != NO_TIME)
        if back.any():
            earliest = int(trace.txn_end[back].min())
            told.returned = earliest if told.returned is None else min(told.returned, earliest)
        unsure = began & (trace.txn_outcome == Outcome.UNKNOWN)
        told.uncertain += asked.place[unsure].tolist()

    def leave(self, wanted: dict[Code, Any]) -> None:
        """Two last writers change places where the next stretch starts with what the earlier one wrote."""
        assert self.live is not None
        for key, (value, _, _) in wanted.items():
            held = self.live.get(key)
            if held is not None and held.at >= self.first_point and held.value != value:
                self.swap(key, value)

    def result(self) -> dict[Code, Code | None]:
        """What the stretch wrote last of each key."""
        assert self.live is not None
        return {
            key: value for key, (value, _, at) in self.live.everything().items() if at >= self.first_point
        }

    def holds_open(self, end: Standing) -> bool:
        """Are just those open that cross the seam? As they commit behind all of this, nobody here may have overwritten
        what they write since they began, nor have begun after they returned or behind them in their session."""
        assert self.live is not None
        if set(self.pins) != set(end.pins):
            return False
        if not end.pins:
            return True
        crossing = [
            lines.without(lines.number[~np.isin(lines.number, those)])
            for lines, those in zip(end.held, end.pinned_lines, strict=True)
        ]
        block = self.blocks.parsed(crossing)
        trace, place = block.trace, places(block)
        if set(place.tolist()) != set(end.pins):
            return False
        if self.level.has(Dependency.RT) and bool(
            ((trace.txn_end != NO_TIME) & (trace.txn_end < self.told.began)).any()
        ):
            return False
        if self.level.has(Dependency.SO):
            here = in_file(place)
            for t in np.flatnonzero(trace.txn_session >= 0).tolist():
                _, last = self.told.sessions.get(trace.sessions[int(trace.txn_session[t])], (-1, -1))
                if last > here[t]:
                    return False
        if writers_must_not_overlap(self.level):
            for t, p in enumerate(place.tolist()):
                for key, _ in written(block, t):
                    held = self.live.get(key)
                    if held is not None and held.at >= self.first_point and held.at > self.pins[p]:
                        return False
        return True


def in_file(place: Int64) -> Int64:
    """Places as numbers that grow along a session: by file, then by line."""
    return place % MANY_FILES * _LINES + place // MANY_FILES


def stretch(task: Between) -> Told:
    """The task."""
    told = Told(FITS)
    level = find_level(task.level)
    start, end = task.start, task.end
    blocks = SlicedBlocks(
        task.trace,
        task.trace.first if start is None else start.at,
        task.trace.sizes if end is None else end.at,
        first_lines(task.trace) if start is None else start.line,
        without=None if end is None else end.skipped(),
        check=not_above(task.megabytes),
        smallest=task.smallest,
    )
    standing: Standing | None = None
    if start is not None:
        blocks.forget_initial()
        standing = start.standing
        if end is not None:
            standing = replace(standing, held=left_out(standing.held, end.skipped()))
    try:
        forward = Stretch(
            told,
            blocks,
            level,
            Limits(task.seconds, task.megabytes, jobs=1),
            take=told.taken.append,
            refuted=_asking(task) if task.asks else lambda *_: None,
            size=task.size,
            tail=task.tail,
            kept=task.kept,
            pressed=pressed_by(task.megabytes),
            standing=standing,
            stays_open=() if end is None else end.standing.pins,
            sweep=None,  # what stands is compared key by key
        )
        forward.all_of_it = start is None and end is None
        while True:
            if (found := forward.step()) is not None:
                return Told(CORE, verdict=found)
            if forward.done:
                break
        if end is not None:
            forward.leave(end.standing.live)
            if not forward.holds_open(end.standing):
                return Told(STUCK, "transactions that cross a seam do not fit")
        told.counted = forward.counted
        told.wrote, told.scans, told.looked = forward.result(), forward.scans, forward.looked
        forward.finish()
    except _CoreFound as asked:
        return Told(CORE, core=asked.core)
    except NotForward as why:
        return Told(NOT_SO, str(why))
    except Stuck as why:
        return Told(STUCK, str(why))
    except LimitReached as limit:
        return Told(LIMIT, limit.reason)
    except AssertionError as misfit:
        return Told(STUCK, str(misfit))
    told.fixed = [item for taken in told.taken for item in taken.initial]
    if not task.order:
        told.taken = []
    return told


def _asking(task: Between) -> Callable[[Forward, Question, Solution], Any]:
    return _Asking(lambda stack: [], Limits(task.seconds, task.megabytes))

"""`check` of one trace by many workers: surveys, seams and stretches are handed out, matched and stitched here.

What is held here are the keys and what they hold at each cut, lines of the transactions that are open there, and, if a
certificate is wanted, the order. The trace is read by the workers alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from boomslang.levels.level import Dependency, Level
from boomslang.solve.solution import Limits
from boomslang.stream.check import REASONS, WentBy, answered, window_bytes
from boomslang.stream.counted import Counted
from boomslang.stream.forward import TAIL
from boomslang.stream.live import Held, LiveKeys
from boomslang.stream.looked import Looked
from boomslang.stream.past import Core, Past, spoken_of
from boomslang.stream.standing import Cell, Lost, Standing
from boomslang.stream.taken import Taken
from boomslang.stretches.seam import Cut, Seam, seam
from boomslang.stretches.slices import Sliced, SlicedBlocks, first_lines, sliced
from boomslang.stretches.stretch import CORE, FITS, LIMIT, NOT_SO, STUCK, Between, Told, stretch
from boomslang.stretches.survey import BYTES, Found, Slice, Survey, committed, survey, take_in, touched
from boomslang.trace.blocks import Files, Lines, files_of
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import NO_TIME, Initial
from boomslang.trace.scalars import Code
from boomslang.verdict import INVALID, UNKNOWN, Verdict
from boomslang.workers import Lost as LostWorkers
from boomslang.workers import Workers

SLICES = 16
"""Of a trace, unless they get too long or too short."""
WINDOW = 8 << 20
"""Bytes of a window, at most: a seam takes one, on either side of which there must be more."""
LONGEST = 256 << 20
"""Bytes of a slice."""
FEWEST_WINDOWS = 4
"""Of a slice; with fewer, seams are a large part of the work."""
CORES = 3
"""Cores of windows that are asked as a part of the whole."""


class OnOneMachine(Exception):
    """Why a trace is not decided in stretches."""


@dataclass(eq=False)
class Cost:
    """What it took."""

    slices: int = 0
    seams: int = 0
    """That were found."""
    stretches: int = 0
    """Tasks, those that were asked again included."""
    again: int = 0
    """Stretches whose start was not as the surveys had it."""
    joins: int = 0


@dataclass(frozen=True)
class Sizes:
    """In bytes; what is not said follows from the trace and the memory of a worker."""

    slice: int | None = None
    window: int | None = None
    tail: int = TAIL
    smallest: int = 1 << 16


def check_in_stretches(
    path: Path,
    level: Level,
    workers: Workers,
    *,
    seconds: float | None = None,
    take: Callable[[Taken], None] | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, all_of_them: None,
    sizes: Sizes | None = None,
) -> tuple[WentBy, Cost]:
    """Decides a trace. `take` is given the order, part by part. Raises `OnOneMachine` if it cannot be decided so,
    `NotSliced` if it cannot be cut, and `TraceError` if it is no trace."""
    megabytes, sizes = workers.megabytes, sizes or Sizes()
    window = sizes.window or min(WINDOW, window_bytes(megabytes))
    total = sum(int(file.stat().st_size) for file in files_of(path))
    size = sizes.slice or max(FEWEST_WINDOWS * window, min(LONGEST, total // SLICES))
    trace = sliced(path, size)
    spread = _Spread(trace, level, workers, seconds, window, sizes, take is not None, progress)
    try:
        found = spread.answer()
    except LimitReached as limit:
        return WentBy(level, UNKNOWN, REASONS.get(limit.reason, limit.reason), None, Counted()), spread.cost
    if isinstance(found, Verdict):
        return WentBy(level, INVALID, "", found, spread.counted(())), spread.cost
    if take is not None:
        for part in spread.whole_order(found):
            take(part)
    counted = spread.counted(found)
    return WentBy(level, *answered(level, counted), None, counted), spread.cost


@dataclass(eq=False)
class _Stretch:
    """From one seam to another, by their numbers; and what became of it."""

    first: int
    end: int
    told: Told | None = None
    start: Seam | None = None
    """If it starts otherwise than the seam says."""
    asks: bool = True


@dataclass(eq=False)
class _Spread:
    trace: Sliced
    level: Level
    workers: Workers
    seconds: float | None
    window: int
    sizes: Sizes
    order: bool
    progress: Callable[[str, int, int], None]
    cost: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.surveys: list[Survey] = []
        self.line: list[list[int]] = []  # of each bound the number of the next line of each file
        self.spanning: Files = [Lines()] * len(self.trace.files)  # lines of those that are in several slices
        self.seams: list[Seam | None] = []  # the first and the last are the ends of the trace
        self.asked = 0
        self.initial: dict[Code, Cell] = {}
        self.committed = 0  # transactions of the trace, by what the surveys count
        self.supposed: list[tuple[Code, Code | None]] = []
        self.said: set[Code] = set()

    def answer(self) -> Verdict | list[Told]:
        self._survey()
        self._find_seams()
        last = len(self.seams) - 1
        todo = [_Stretch(at, at + 1) for at in range(last)]
        while True:
            self._decide(todo)
            if (verdict := self._cores(todo)) is not None:
                return verdict
            if any(one.told is None for one in todo):
                continue
            failed = [one for one in todo if one.told is not None and one.told.status == STUCK]
            if failed:
                if len(todo) == 1:
                    raise OnOneMachine("no order was found in windows that go forward")
                todo = self._joined(todo, failed)
                continue
            wrong = self._stitched(todo)
            if wrong is None:
                fitting = [one.told for one in todo if one.told is not None]
                self._each_once(fitting)
                return fitting
            todo = wrong

    # --- tasks

    def _map(self, what: str, function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        results: list[Any] = [None] * len(items)
        for done, (number, result) in enumerate(self.workers.map(function, items), 1):
            if isinstance(result, LostWorkers):
                raise LimitReached(result.reason)
            results[number] = result
            self.progress(what, done, len(items))
        return results

    def _left(self) -> float | None:
        if self.seconds is None:
            return None
        left = self.seconds - (time.monotonic() - self.began)
        if left <= 0:
            raise LimitReached("time")
        return left

    # --- surveys, and what they come to

    def _survey(self) -> None:
        many = len(self.trace.bounds) - 1
        self.cost.slices = many
        tasks = [self._slice(n) for n in range(many)]
        self.surveys = self._map("surveyed", survey, tasks)
        if unfit := next((one.unfit for one in self.surveys if one.unfit), ""):
            raise OnOneMachine(unfit)
        line = first_lines(self.trace)
        for one in self.surveys:
            self.committed += one.committed
            self.line.append(line)
            one.placed(line)
            line = [a + b for a, b in zip(line, one.lines, strict=True)]
        self.initial = self.surveys[0].initial

    def _slice(self, n: int) -> Slice:
        # In blocks as large as memory allows: what a read found may be written further below in another file.
        size = min(BYTES, window_bytes(self.workers.megabytes))
        return Slice(self.trace, n, self.sizes.smallest, size, self.workers.megabytes)

    def _guesses(self) -> Iterator[tuple[Standing, dict[Code, Found]]]:
        """Where things stand at each cut, as far as surveys can say, and what reads behind it found."""
        mode = self.surveys[0].mode
        scans = any(one.scans for one in self.surveys)
        live = LiveKeys(mode)
        for key, cell in self.initial.items():
            live.set(key, Held(*cell))
        lost: dict[int, Lost] = {}
        opened: Files = [Lines()] * len(self.trace.files)
        wanted = self._wanted()
        for n in range(len(self.surveys) - 1):
            one = self.surveys[n]
            if scans and mode == Initial.UNKNOWN:  # what was read was there, and scans behind will see it
                for key, values in one.found.items():
                    if live.get(key) is None:
                        live.set(key, Held(values[0][0]))
            for key, cell in one.wrote.items():
                live.set(key, Held(*cell))
            lost |= one.lost
            opened = self._open_after(n, opened, live)
            state = {key: (value, writer, -1) for key, (value, writer, _) in live.everything().items()}
            later = wanted[n + 1]
            state |= {
                key: (found[0][0], state[key][1] if key in state else -1, -1)
                for key, found in later.items()
                if key not in state or all(state[key][0] != value for value, _ in found)
            }
            if not scans:
                near = touched(self.surveys[n + 1 : n + 3])
                state = {key: cell for key, cell in state.items() if key in near}
                later = {key: found for key, found in later.items() if key in near}
            many = len(self.trace.files)
            standing = Standing(mode, state, opened, {}, dict(lost), NO_TIME, [NO_TIME] * many, 0, scans)
            yield standing, later
        opened = self._open_after(len(self.surveys) - 1, opened, live)
        self.spanning = [a + b for a, b in zip(self.spanning, opened, strict=True)]  # they never ended

    def _wanted(self) -> list[dict[Code, Found]]:
        """Of each slice, what later reads say that keys held at its start."""
        wanted: list[dict[Code, Found]] = []
        later: dict[Code, Found] = {}
        for one in reversed(self.surveys):
            later = {key: found for key, found in later.items() if key not in one.wrote} | one.found
            wanted.append(later)
        return wanted[::-1]

    def _open_after(self, n: int, opened: Files, live: LiveKeys) -> Files:
        """Lines of all who are open at the end of a slice. Who was open at its start and ended in it is taken in."""
        one = self.surveys[n]
        before = [a + b for a, b in zip(opened, one.strays, strict=True)]
        still: Files = [Lines()] * len(before)
        if any(before):
            blocks = self._blocks()
            block = blocks.parsed(before)
            ended = LiveKeys(Initial.UNKNOWN)
            self.committed += committed(block, take_in(block, ended))
            for key, (value, writer, at) in ended.everything().items():
                held = live.get(key)
                if held is None or held.at <= at:
                    live.set(key, Held(value, writer, at))
            still = block.lines_of(block.open)
            over = block.lines_of(~block.open)
            self.spanning = [a + b for a, b in zip(self.spanning, over, strict=True)]
        return [a + b for a, b in zip(still, one.opened, strict=True)]

    def _blocks(self) -> SlicedBlocks:
        """Blocks of no lines but those that it is given."""
        size = self.trace.sizes
        blocks = SlicedBlocks(self.trace, size, size, [1] * len(size))
        for source in blocks.slices:
            source.goes_on = True
        blocks.forget_initial()
        return blocks

    # --- seams

    def _find_seams(self) -> None:
        tasks = [
            Cut(
                self.trace,
                self.trace.cuts[n],
                self.trace.bounds[n + 2],
                self.line[n + 1],
                standing,
                found,
                self.level.name,
                self.window,
                self.sizes.tail,
                self._left(),
                self.workers.megabytes,
                self.sizes.smallest,
            )
            for n, (standing, found) in enumerate(self._guesses())
        ]
        seams: list[Seam] = [one for one in self._map("seams looked for", seam, tasks) if one is not None]
        self.cost.seams = len(seams)
        self.seams = [None, *seams, None]

    # --- stretches

    def _decide(self, todo: list[_Stretch]) -> None:
        asked = [one for one in todo if one.told is None]
        tasks = [
            Between(
                self.trace,
                one.start or self.seams[one.first],
                self.seams[one.end],
                self.level.name,
                self.window,
                self.sizes.tail,
                one.asks,
                self.order,
                self._left(),
                self.workers.megabytes,
                self.sizes.smallest,
            )
            for one in asked
        ]
        self.cost.stretches += len(tasks)
        for one, told in zip(asked, self._map("stretches decided", stretch, tasks), strict=True):
            if told.status == NOT_SO:
                raise OnOneMachine(told.reason)
            if told.status == LIMIT:
                raise LimitReached(told.reason)
            one.told = told

    def _cores(self, todo: list[_Stretch]) -> Verdict | None:
        """Is the trace refuted by the core of a window? If not, that stretch is asked again without its cores."""
        for one in todo:
            if one.told is None or one.told.status != CORE:
                continue
            if one.told.verdict is not None:
                verdict: Verdict = one.told.verdict
                return verdict
            core, one.told, one.asks = one.told.core, None, False
            if core is not None and self.asked < CORES:
                self.asked += 1
                if (found := self._refuted(core)) is not None:
                    return found
        return None

    def _refuted(self, core: Core) -> Verdict | None:
        """The core is asked as a part of the whole trace, with all who wrote what it read."""
        started = time.monotonic()
        tasks = [_Pick(self._slice(n), core, self.line[n]) for n in range(len(self.surveys))]
        blocks = self._blocks()
        crossing = blocks.parsed(self.spanning)
        picked = crossing.lines_of(spoken_of(crossing, core))
        for lines in self._map("looked through", pick, tasks):
            if lines is None:
                return None
            picked = [a + b for a, b in zip(picked, lines, strict=True)]
        for source in blocks.slices:
            source.goes_on = False
        past = Past(lambda stack: [], Limits(self._left(), self.workers.megabytes))
        initial = LiveKeys(self.surveys[0].mode)
        for key, cell in self.initial.items():
            initial.set(key, Held(*cell))
        return past.verdict(initial, self.level, blocks.parsed(picked), core, started)

    def _joined(self, todo: list[_Stretch], failed: list[_Stretch]) -> list[_Stretch]:
        """Those that failed, each with as much again on either side."""
        self.cost.joins += len(failed)
        last = len(self.seams) - 1
        gone: set[int] = set()  # seams that are no more
        for one in failed:
            width = max(1, (one.end - one.first) // 2)
            gone |= set(range(max(1, one.first - width + 1), min(last, one.end + width)))
        found: list[_Stretch] = []
        for one in todo:
            if found and one.first in gone:
                found[-1] = _Stretch(found[-1].first, one.end, start=found[-1].start)
            else:
                found.append(one)
        return found

    # --- what fits together

    def _stitched(self, todo: list[_Stretch]) -> list[_Stretch] | None:
        """None: all of it. Else what is to be decided again: the first that starts otherwise than it was told, and
        those that do not follow in the orders of sessions and of time."""
        state: dict[Code, Code | None] = {key: value for key, (value, _, _) in self.initial.items()}
        unknown = self.surveys[0].mode == Initial.UNKNOWN
        looked = Looked()  # what it says of keys that are not in the state
        supposed: list[tuple[Code, Code | None]] = []
        uncertain: set[int] = set()
        sessions: dict[str, int] = {}
        latest = NO_TIME
        for at, one in enumerate(todo):
            told = one.told
            assert told is not None and told.status == FITS
            start = one.start or self.seams[one.first]
            if not self._in_order(told, sessions, latest):
                return self._joined(todo, [one])
            fixed = dict(told.fixed)
            supposes = [told.demands.items()]
            if unknown:
                supposes.append({key: fixed[key] for key in fixed.keys() - state.keys()}.items())
            if told.scans and start is not None:
                held = {key: value for key, (value, _, _) in start.standing.live.items()}
                supposes.append({key: held.get(key) for key in state.keys() | held.keys()}.items())
            # Where the initial state is unknown, of a key that nobody has spoken of it is known only what ranges say.
            differs = {
                key: value
                for key, value in chain.from_iterable(supposes)
                if state.get(key) != value and (key in state or not unknown or looked.holds(key))
            }
            if differs or uncertain & set(told.uncertain):
                assert start is not None
                if one.start is not None:  # it was given all that there is
                    return self._joined(todo, [one])
                self.cost.again += 1
                live = start.standing.live
                corrected = {
                    key: (
                        state.get(key),
                        live[key][1] if key in live else -1,
                        live[key][2] if key in live else -1,
                    )
                    for key in (state.keys() if told.scans else live.keys() | differs.keys())
                    if key in state or not unknown
                }
                lost = {place: x for place, x in start.standing.lost.items() if place not in uncertain}
                standing = replace(start.standing, live=corrected, lost=lost, looked=looked)
                todo[at] = _Stretch(one.first, one.end, start=replace(start, standing=standing))
                return todo
            if unknown:
                fresh = {key: value for key, value in told.demands.items() if key not in state}
                supposed += [(key, value) for key, value in fresh.items() if key not in fixed]
                state |= {key: value for key, value in told.fixed if key not in state} | fresh
                looked = looked.joined(told.looked)
            state |= told.wrote
            uncertain |= set(told.uncertain)
            for name, (_, last) in told.sessions.items():
                sessions[name] = last
            latest = max(latest, told.began)
        self.supposed = supposed
        return None

    def _each_once(self, fitting: list[Told]) -> None:
        """Seams say which transactions a stretch has; whether that makes all of them, others have counted."""
        if sum(told.counted.committed for told in fitting) != self.committed:
            raise OnOneMachine("its stretches do not have each transaction once")

    def _in_order(self, told: Told, sessions: dict[str, int], latest: int) -> bool:
        """Does it follow on what came before, as sessions and time have it?"""
        if self.level.has(Dependency.SO) and any(
            first < sessions.get(name, -1) for name, (first, _) in told.sessions.items()
        ):
            return False
        return not (self.level.has(Dependency.RT) and told.returned is not None and told.returned < latest)

    def whole_order(self, stretches: Iterable[Told]) -> Iterator[Taken]:
        """The orders of the stretches, one after the other. What was supposed of the initial state comes first."""
        if self.supposed:
            nobody = np.zeros(0, bool) if self.level.points == 2 else None
            yield Taken(np.zeros(0, np.int64), nobody, self._first_said(self.supposed))
        for told in stretches:
            for taken in told.taken:
                yield replace(taken, initial=self._first_said(taken.initial))

    def _first_said(self, initial: Iterable[tuple[Code, Code | None]]) -> list[tuple[Code, Code | None]]:
        """What was said of the initial state for the first time."""
        found = [(key, value) for key, value in initial if key not in self.said and key not in self.initial]
        self.said |= {key for key, _ in found}
        return found

    def counted(self, stretches: Iterable[Told]) -> Counted:
        all_of_it = Counted()
        for told in stretches:
            for name, value in vars(told.counted).items():
                before = getattr(all_of_it, name)
                added = value or before if isinstance(value, bool) else before + value
                setattr(all_of_it, name, max(before, value) if name in ("largest", "keys") else added)
        all_of_it.asked += self.asked
        return all_of_it


@dataclass(frozen=True, eq=False)
class _Pick:
    """A task: a slice, and what is looked for in it."""

    slice: Slice
    core: Core
    line: list[int]


def pick(task: _Pick) -> Files | None:
    """The lines of all transactions that begin and end in the slice and are spoken of. None: they are too many."""
    blocks = task.slice.blocks()
    blocks._next = list(task.line)
    blocks.forget_initial()
    held: Files = [Lines()] * len(blocks.sources)
    picked, many = held, 0
    while True:
        new = blocks.more(task.slice.bytes)
        block = blocks.parsed([a + b for a, b in zip(held, new, strict=True)])
        chosen = spoken_of(block, task.core) & ~block.open
        many += int(chosen.sum())
        if many > task.core.most:
            return None
        picked = [a + b for a, b in zip(picked, block.lines_of(chosen), strict=True)]
        held = block.going_on()
        if blocks.exhausted:
            return picked

"""How far a check reaches: load and check 1M and 10M transactions of 8 operations, on one core and on all.

Each row is one trace at one level, checked by the command in fresh processes: on one core (`--jobs 1`), and on all.
Up to a million transactions it is the fastest of five times each, in turn, and of more until the two fastest are close
to each other: a shared host is faster at one time and slower at another.
*Two at once* are two checks on one core each, started together: how much more than one core the machine's cores do,
whatever is asked of them. On a host that others use, too, they are often far from two times as fast.
*MB* is the most of both, *CPU* that of one core; *load* and *solve* are told by the command on one core. Rows of
*streamed* are asked with `--memory`, so that the trace goes by window by window. Growth is the slope of log time over
log size, between the smallest and the largest trace of one kind at one level: 1 is linear.

The rows without times are as other checkers are given them: a text of one line an operation (PolySI's), or a file a
session; nothing says in which order sessions did what.

What is asked of all this is a list of marks (`MARKS`), each answered by the worst of its rows; a mark whose rows are
not there says so.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from simulate import BLINDW, DATA, History, stored

MILLION = 1_000_000
STREAMED_MB = 2_000
REPEATS, MOST_REPEATS = 5, 15
"""Of each question about up to a million transactions. The first one after something large waits for memory."""
CLOSE = 1.03
"""The two fastest of a question are at most so far apart, or it is asked again."""
NAMES = (
    "trace", "transactions", "level", "verdict", "load s", "solve s", "CPU s", "MB", "wall s 1 job", "all jobs",
    "times as fast", "two at once",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """Traces of one kind in several sizes."""

    name: str
    history: History
    levels: tuple[str, ...]
    sizes: tuple[int, ...]
    text: bool = False
    """As text, which has neither times nor an order between sessions."""
    words: tuple[str, ...] = ()
    once: bool = False
    """Asked once, on all cores: it takes minutes."""
    at_once: bool = False
    """Two of them at once, too, up to a million transactions."""

    def path(self, size: int) -> Path:
        source = stored(replace(self.history, transactions=size))
        return _as_text(source) if self.text else source


_SI = replace(BLINDW, level="si", sessions=100)
KINDS = (
    Kind(
        "one log, times",
        replace(BLINDW, times=True),
        ("ser",),
        (100_000, MILLION, 10 * MILLION),
        at_once=True,
    ),
    Kind("one log, times", replace(BLINDW, times=True), ("si",), (100_000, MILLION), at_once=True),
    Kind(
        "a file a session, times",
        replace(BLINDW, times=True, folder=True),
        ("ser",),
        (100_000, MILLION, 10 * MILLION),
    ),
    Kind(
        "one log, times, streamed",
        replace(BLINDW, times=True),
        ("ser",),
        (10 * MILLION,),
        words=("--stream", "--memory", str(STREAMED_MB)),
        once=True,
    ),
    Kind("a file a session, no times", replace(BLINDW, folder=True), ("ser", "si"), (MILLION,)),
    Kind("an SI database, times", replace(_SI, times=True), ("ser",), (MILLION,)),
    Kind("an SI database, files, no times", replace(_SI, folder=True), ("ser",), (100_000, MILLION)),
    Kind(
        "text, 50 sessions, no times",
        replace(BLINDW, sessions=50, folder=True),
        ("ser", "si", "causal"),
        (MILLION,),
        text=True,
    ),
)


def _as_text(source: Path) -> Path:
    path = DATA / f"{source.name}.txt"
    if not path.exists():
        part = path.with_suffix(".part")
        command = [
            sys.executable,
            "-m",
            "boomslang",
            "convert",
            str(source),
            str(part),
            "--to",
            "text",
            "--lossy",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
        part.rename(path)
    return path


@dataclass(frozen=True)
class Asked:
    """What one command told."""

    status: str
    cpu: float
    wall: float
    megabytes: float
    load: float
    solve: float


Ask = Callable[..., Asked]


def _wall(asked: Asked) -> float:
    return asked.wall


def _two_at_once(ask: Callable[[], Asked]) -> float:
    """Seconds until both have answered."""
    start = time.perf_counter()
    with ThreadPoolExecutor(2) as both:
        for asked in [both.submit(ask) for _ in range(2)]:
            asked.result()
    return time.perf_counter() - start


def _settled(asked: list[Asked]) -> bool:
    fastest = sorted(map(_wall, asked))
    return len(fastest) < 2 or fastest[1] <= CLOSE * fastest[0]


def measured_rows(
    ask: Ask, jobs: int, largest: int, known: Iterable[list[str]], forget: bool
) -> Iterable[tuple[list[str], bool]]:
    """Rows that are not `known`, of at most so many transactions, and whether their answers agree. `forget`: the
    traces of ten million are deleted when they were asked."""
    done = {tuple(row[:3]) for row in known}
    for kind in KINDS:
        for size in kind.sizes:
            open_levels = [level for level in kind.levels if (kind.name, f"{size:,}", level) not in done]
            if size > largest or not open_levels:
                continue
            path = kind.path(size)
            os.sync()  # what was just made is written to the disk now, not while it is read
            for level in open_levels:
                least, most = (REPEATS, MOST_REPEATS) if size <= MILLION else (1, 1)
                asked_of_all: list[Asked] = []
                asked_of_one: list[Asked] = []
                alone = partial(ask, path, level, "--jobs", "1", *kind.words)
                at_once: list[float] = []
                for count in range(most):
                    if count >= least and _settled(asked_of_all) and _settled(asked_of_one):
                        break
                    asked_of_all.append(ask(path, level, "--jobs", str(jobs), *kind.words))
                    if not kind.once:
                        asked_of_one.append(alone())
                    if kind.at_once and size <= MILLION:
                        at_once.append(_two_at_once(alone))
                all_ = min(asked_of_all, key=_wall)
                one = min(asked_of_one, key=_wall, default=all_)
                yield [
                    kind.name, f"{size:,}", level, one.status, f"{one.load:.2f}", f"{one.solve:.2f}", f"{one.cpu:.2f}",
                    f"{max(one.megabytes, all_.megabytes):.0f}", f"{one.wall:.2f}", f"{all_.wall:.2f}",
                    f"{one.wall / all_.wall:.2f}", f"{2 * one.wall / min(at_once):.2f}" if at_once else "",
                ], one.status == all_.status  # fmt: skip
            if forget and size >= 10 * MILLION:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def growth(rows: Iterable[list[str]]) -> list[str]:
    """In words, of each kind and level with several sizes: the slope by CPU and by the clock."""
    by: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for row in rows:
        by.setdefault((row[0], row[2]), []).append(
            (int(row[1].replace(",", "")), float(row[6]), float(row[9]))
        )
    found = []
    for (name, level), points in by.items():
        (small, *first), (large, *last) = min(points), max(points)
        if large > small:
            across = math.log(large / small)
            cpu, wall = (math.log(b / a) / across for a, b in zip(first, last, strict=True))
            found.append(
                f"Growth of *{name}* at {level}, {small:,} to {large:,}: slope {cpu:.3f} by CPU on one core, "
                f"{wall:.3f} by the clock on all."
            )
    return found


@dataclass(frozen=True)
class Mark:
    """Something that is asked of rows: a figure of each, and what it may be at most (or at least)."""

    asked: str
    name: str
    size: int
    figure: Callable[[dict[str, str]], float]
    bound: float
    unit: str = ""
    levels: tuple[str, ...] = ("ser", "si", "causal")
    at_least: bool = False

    def answered(self, rows: Iterable[list[str]]) -> list[str]:
        mine = [dict(zip(NAMES, row, strict=True)) for row in rows if row[0] == self.name]
        mine = [
            row for row in mine if row["transactions"] == f"{self.size:,}" and row["level"] in self.levels
        ]
        bound = f"{'at least' if self.at_least else 'at most'} {self.bound:g}{self.unit}"
        if not mine:
            return [self.asked, bound, "not measured", ""]
        figures = {row["level"]: self.figure(row) for row in mine}
        told = ", ".join(f"{level} {figure:.2f}" for level, figure in figures.items())
        worst = min(figures.values()) if self.at_least else max(figures.values())
        return [self.asked, bound, told, "yes" if (worst >= self.bound) == self.at_least else "**no**"]


def _column(name: str) -> Callable[[dict[str, str]], float]:
    return lambda row: float(row[name])


def _marks() -> Iterable[Mark]:
    log, wall = "one log, times", _column("all jobs")
    yield Mark("solving 1M, one core", log, MILLION, _column("solve s"), 2.5, " s")
    yield Mark(
        "solving in parts of reading, 1M, one core",
        log,
        MILLION,
        lambda row: float(row["solve s"]) / float(row["load s"]),
        0.5,
    )
    yield Mark("load and check 1M", log, MILLION, wall, 5, " s")
    yield Mark("the same, memory", log, MILLION, _column("MB"), 600, " MB")
    yield Mark("two cores, times as fast as one", log, MILLION, _column("times as fast"), 1.7, at_least=True)
    yield Mark("load and check 10M", log, 10 * MILLION, wall, 50, " s")
    yield Mark("the same, memory", log, 10 * MILLION, _column("MB"), 2000, " MB")
    yield Mark("10M streamed", f"{log}, streamed", 10 * MILLION, wall, 50, " s")
    yield Mark("the same, memory", f"{log}, streamed", 10 * MILLION, _column("MB"), 2000, " MB")
    yield Mark("1M in session files without times", "a file a session, no times", MILLION, wall, 10, " s")
    yield Mark("1M as text, 50 sessions, no times", "text, 50 sessions, no times", MILLION, wall, 15, " s")
    yield Mark("invalid: 1M from an SI database at SER", "an SI database, times", MILLION, wall, 10, " s")
    yield Mark("the same in files without times", "an SI database, files, no times", MILLION, wall, 10, " s")


MARKS = tuple(_marks())
MARK_NAMES = ("asked", "mark", "measured", "met")
STEEPEST = 1.03
SMALLEST = 100_000


def answers(rows: list[list[str]]) -> list[list[str]]:
    """Line by line, what was asked and whether these rows meet it. Of streaming a hundred million and of watching,
    benchmarks/watch.py answers."""
    found = [mark.answered(rows) for mark in MARKS]
    grown = ["growth from 100K to 10M, slope of CPU, ser", f"at most {STEEPEST}", "not measured", ""]
    cpu = {
        int(row[1].replace(",", "")): float(row[6])
        for row in rows
        if row[0] == MARKS[0].name and row[2] == "ser"
    }
    if SMALLEST in cpu and 10 * MILLION in cpu:
        slope = math.log(cpu[10 * MILLION] / cpu[SMALLEST]) / math.log(10 * MILLION / SMALLEST)
        grown[2:] = [f"{slope:.3f}", "yes" if slope <= STEEPEST else "**no**"]
    return [*found, grown]

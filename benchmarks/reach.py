"""How far a check reaches: load and check 1M and 10M transactions of 8 operations, on one core and on all.

Each row is one trace at one level, checked by the command in fresh processes: on one core (`--jobs 1`), and on all.
*MB* is the most of both, *CPU* that of one core; *load* and *solve* are told by the command on one core. Rows of
*streamed* are asked with `--memory`, so that the trace goes by window by window. Growth is the slope of log time over
log size, between the smallest and the largest trace of one kind at one level: 1 is linear.

The rows without times are as other checkers are given them: a text of one line an operation (PolySI's), or a file a
session; nothing says in which order sessions did what.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from simulate import BLINDW, DATA, History, stored

MILLION = 1_000_000
STREAMED_MB = 2_000
NAMES = (
    "trace", "transactions", "level", "verdict", "load s", "solve s", "CPU s", "MB", "wall s 1 job", "all jobs",
    "times as fast",
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

    def path(self, size: int) -> Path:
        source = stored(replace(self.history, transactions=size))
        return _as_text(source) if self.text else source


_SI = replace(BLINDW, level="si", sessions=100)
KINDS = (
    Kind("one log, times", replace(BLINDW, times=True), ("ser", "si"), (100_000, MILLION, 10 * MILLION)),
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
    ),
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
            for level in open_levels:
                one = ask(path, level, "--jobs", "1", *kind.words)
                all_ = ask(path, level, "--jobs", str(jobs), *kind.words)
                yield [
                    kind.name, f"{size:,}", level, one.status, f"{one.load:.2f}", f"{one.solve:.2f}", f"{one.cpu:.2f}",
                    f"{max(one.megabytes, all_.megabytes):.0f}", f"{one.wall:.2f}", f"{all_.wall:.2f}",
                    f"{one.wall / all_.wall:.2f}",
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

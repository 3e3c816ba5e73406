"""A watch beside a recorder that never rests: how fast it goes on one core, how far behind it is, and what it holds.

The simulated database of `simulate.cpp` writes a trace, one file a session, with times; it is held back to a stated
rate, by stopping it whenever it is ahead of that. Beside it, in a process of its own that may use one core, a
`Watcher` follows. Each second tells how many bytes are recorded and not read, and how much memory the watch has;
memory is flat if the second half of the run has little more than the first.

How far behind it is: at each look, how long ago so many transactions were recorded as are decided by now.

    python benchmarks/watch.py                             a million transactions at each of two levels
    python benchmarks/watch.py --case si:20000000:30000    LEVEL:TRANSACTIONS:RATE, several times if you like
    python benchmarks/watch.py --case ... --write          into docs/benchmarks-watch.md
    python benchmarks/watch.py --case ... --write --merge  and what the page has of other cases stays
    python benchmarks/watch.py --case si:100000000:50000 --holes
                                                           a hundred million: some 35 minutes. What was recorded long
                                                           ago is given back to the disk, so it takes 4 GB and not 100
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import simulate

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-watch.md"
LINE_BYTES = 960
"""About what a transaction of eight operations takes; the rate is held by it."""
WARM = 5.0
LONG_AGO = 128 << 20
"""Bytes of a session's file before its end that are kept, if holes are made: the watch has read on long since."""
HOLE = 64 << 20
CASES = [("si", 1_000_000, 20_000), ("ser", 1_000_000, 20_000)]


@dataclass(frozen=True)
class Measured:
    level: str
    transactions: int
    rate: int
    seconds: float
    """From the first line to the verdict."""
    cpu: float
    """Of the watch."""
    after: float
    """Seconds from the end of the recorder to the verdict."""
    lag: float
    most_lag: float
    """Seconds that it is behind while the recorder writes: the median, and the most after the first seconds."""
    unread: int
    """Bytes, the most after the first quarter."""
    first_half: float
    second_half: float
    """The most memory, MB."""
    status: str
    windows: int
    joins: int
    load: float
    """Processes of this machine that wanted a core, ours included, on average over the last minute of the run."""


def watched(wire: Any, folder: str, level: str, end: float | None) -> None:
    """The process that watches, on one core."""
    from boomslang.levels import find_level
    from boomslang.stream.watcher import Watcher

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    watcher = Watcher(Path(folder), find_level(level))
    samples: list[tuple[float, int, float, int]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            now = watcher.status
            samples.append((time.monotonic(), now.unread, now.megabytes, now.transactions))
            if wire.poll():
                wire.recv()
                watcher.end()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    before = time.process_time()
    found = watcher.run()
    cpu = time.process_time() - before
    over.set()
    thread.join()
    wire.send((found.status, found.reason, found.last, cpu, samples, time.monotonic()))
    wire.close()


def measure(level: str, transactions: int, rate: int, folder: Path, *, holes: bool = False) -> Measured:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=watched, args=(theirs, str(folder), level, None))
    history = simulate.History(level=level, transactions=transactions, times=True, folder=True)
    process.start()
    theirs.close()
    start = time.monotonic()
    recorder = subprocess.Popen(simulate.command(history, folder), stdout=subprocess.DEVNULL)
    recorded = _held_back(recorder, folder, rate, start, holes=holes)
    ended = time.monotonic()
    ours.send("end")
    status, reason, last, cpu, samples, over = ours.recv()
    process.join()
    if status != "valid":
        raise SystemExit(
            f"found {status} ({reason}) at {level}; expected valid: the simulated database keeps it"
        )
    half = start + (over - start) / 2
    quarter = start + (over - start) / 4
    lags = _lags(
        recorded, [(at, many) for at, _, _, many in samples if start + WARM < at < ended], last.transactions
    )
    return Measured(
        level, last.transactions, rate, over - start, cpu, over - ended, statistics.median(lags), max(lags),
        max((unread for at, unread, _, _ in samples if at > quarter), default=0),
        max((mb for at, _, mb, _ in samples if at <= half), default=0.0),
        max((mb for at, _, mb, _ in samples if at > half), default=0.0),
        status, last.windows, last.joins, os.getloadavg()[0],
    )  # fmt: skip


def _lags(
    recorded: list[tuple[float, int]], decided: list[tuple[float, int]], transactions: int
) -> list[float]:
    """Of each moment at which so many were decided: how long ago were so many recorded?"""
    each = recorded[-1][1] / transactions  # bytes
    found, i = [0.0], 0
    for now, many in decided:
        while i + 1 < len(recorded) and recorded[i + 1][1] <= many * each:
            i += 1
        found.append(max(0.0, now - recorded[i][0]))
    return found


class Holes:
    """What is long past of files that grow goes back to the disk; their sizes, and what is left, stay. If the watch
    went back to it, it would read zeros and say that this is no trace."""

    PUNCH = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE

    def __init__(self) -> None:
        self._until: dict[Path, int] = {}
        self._fallocate = ctypes.CDLL(None, use_errno=True).fallocate
        self._fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]

    def make(self, file: Path, size: int) -> None:
        before = self._until.get(file, 0)
        until = (size - LONG_AGO) // HOLE * HOLE
        if until <= before:
            return
        with file.open("r+b") as opened:
            if self._fallocate(opened.fileno(), self.PUNCH, before, until - before):
                raise SystemExit(f"{file}: no holes can be made here: {os.strerror(ctypes.get_errno())}")
        self._until[file] = until


def _held_back(
    recorder: subprocess.Popen[bytes], folder: Path, rate: int, start: float, *, holes: bool
) -> list[tuple[float, int]]:
    """Lets the recorder write so many transactions a second, about. Returns how many bytes there were when."""
    stopped, made = False, Holes() if holes else None
    seen: list[tuple[float, int]] = [(start, 0)]
    while recorder.poll() is None:
        sizes = {file: file.stat().st_size for file in folder.glob("*.jsonl")} if folder.is_dir() else {}
        size, now = sum(sizes.values()), time.monotonic()
        if made is not None:
            for file, its in sizes.items():
                made.make(file, its)
        if now - seen[-1][0] >= 0.1:
            seen.append((now, size))
        ahead = size / LINE_BYTES > rate * (now - start)
        if ahead != stopped:
            recorder.send_signal(signal.SIGSTOP if ahead else signal.SIGCONT)
            stopped = ahead
        time.sleep(0.01)
    if recorder.returncode:
        raise SystemExit("the simulated database failed")
    seen.append((time.monotonic(), sum(file.stat().st_size for file in folder.glob("*.jsonl"))))
    return seen


HEAD = (
    "level", "transactions", "recorded a second", "CPU of the watch, s", "transactions a second of CPU",
    "most unread, MB", "behind: median, s", "most, s", "verdict after the end, s", "memory, first half",
    "second half", "windows", "joined", "load of the machine",
)  # fmt: skip


def row(m: Measured) -> str:
    cells = (
        m.level, f"{m.transactions:,}", f"{m.rate:,}", f"{m.cpu:.1f}", f"{m.transactions / m.cpu:,.0f}",
        f"{m.unread / 1e6:.1f}", f"{m.lag:.1f}", f"{m.most_lag:.1f}", f"{m.after:.1f}", f"{m.first_half:.0f} MB",
        f"{m.second_half:.0f} MB", f"{m.windows:,}", f"{m.joins:,}", f"{m.load:.1f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def of_other_cases(rows: list[str], page: str) -> list[str]:
    """Rows of the page as it is, of cases that were not measured now."""
    old = [line for line in page.splitlines() if re.match(r"\| \w+ \| [0-9]", line)]
    measured = {tuple(line.split(" | ")[:3]) for line in rows}
    return [line for line in old if tuple(line.split(" | ")[:3]) not in measured]


def page(rows: list[str]) -> str:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    table = "\n".join([f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD), *rows])
    return f"""# A watch beside a recorder, measured

Measured by `python benchmarks/watch.py`, one run a row ({machine}).

A simulated database of 24 sessions and 10,000 keys writes transactions of eight operations, one file a session, at
about the rate that the table says. [A watch](watch.md) follows on one core. Its CPU time includes reading, checking
and looking for new lines. It is behind by the time since so many transactions were recorded as are decided; the first
{WARM:.0f} seconds are left out, in which the program starts. The load is that of all processes of the machine: above
the number of its cores, the watch had to wait for them, which shows in how far it was behind, and not in its CPU time.

{table}
"""


def case(text: str) -> tuple[str, int, int]:
    try:
        level, transactions, rate = text.split(":")
        return level, int(transactions), int(rate)
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected LEVEL:TRANSACTIONS:RATE") from None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", type=case, action="append", metavar="LEVEL:TRANSACTIONS:RATE")
    parser.add_argument("--folder", type=Path, help="where the trace may be written: it is large")
    parser.add_argument("--holes", action="store_true", help="give back to the disk what is long past")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--merge", action="store_true", help="with --write: rows of other cases stay")
    chosen = parser.parse_args(arguments)
    rows = []
    for level, transactions, rate in chosen.case or CASES:
        place = Path(tempfile.mkdtemp(prefix="watch-", dir=chosen.folder))
        try:
            rows.append(row(measure(level, transactions, rate, place / "trace", holes=chosen.holes)))
        finally:
            shutil.rmtree(place)
        print(rows[-1], flush=True)
    if chosen.write:
        if chosen.merge and PAGE.exists():
            rows = sorted([*rows, *of_other_cases(rows, PAGE.read_text())])
        PAGE.write_text(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

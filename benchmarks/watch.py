"""A watch beside a recorder that never rests: how fast it goes on one core, how far behind it is, and what it holds.

The simulated database of `simulate.cpp` writes a trace, one file a session, with times; it is held back to a stated
rate, by stopping it whenever it is ahead of that. Beside it, in a process of its own that may use one core, a
`Watcher` follows. Each second tells how many bytes are recorded and not read, and how much memory the watch has;
memory is flat if the second half of the run has little more than the first.

python benchmarks/watch.py a million transactions, a few seconds behind each other python benchmarks/watch.py
--transactions 20000000 --rate 50000 python benchmarks/watch.py --write into docs/benchmarks-watch.md
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import signal
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
    unread: int
    """Bytes, the most after the first quarter."""
    first_half: float
    second_half: float
    """The most memory, MB."""
    status: str
    windows: int
    joins: int


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


def measure(level: str, transactions: int, rate: int, folder: Path) -> Measured:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=watched, args=(theirs, str(folder), level, None))
    history = simulate.History(level=level, transactions=transactions, times=True, folder=True)
    process.start()
    theirs.close()
    start = time.monotonic()
    recorder = subprocess.Popen(simulate.command(history, folder), stdout=subprocess.DEVNULL)
    _held_back(recorder, folder, rate, start)
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
    return Measured(
        level, last.transactions, rate, over - start, cpu, over - ended,
        max((unread for at, unread, _, _ in samples if at > quarter), default=0),
        max((mb for at, _, mb, _ in samples if at <= half), default=0.0),
        max((mb for at, _, mb, _ in samples if at > half), default=0.0),
        status, last.windows, last.joins,
    )  # fmt: skip


def _held_back(recorder: subprocess.Popen[bytes], folder: Path, rate: int, start: float) -> None:
    """Lets the recorder write so many transactions a second, about."""
    stopped = False
    while recorder.poll() is None:
        size = sum(file.stat().st_size for file in folder.glob("*.jsonl")) if folder.is_dir() else 0
        ahead = size / LINE_BYTES > rate * (time.monotonic() - start)
        if ahead != stopped:
            recorder.send_signal(signal.SIGSTOP if ahead else signal.SIGCONT)
            stopped = ahead
        time.sleep(0.01)
    if recorder.returncode:
        raise SystemExit("the simulated database failed")


def table(found: list[Measured]) -> str:
    lines = [
        "| level | transactions | recorded a second | CPU of the watch, s | transactions a second of CPU | most "
        "unread, MB | verdict after the end, s | memory, first half | second half | windows | joined |",
        "|" + " --- |" * 11,
    ]
    lines += [
        f"| {m.level} | {m.transactions:,} | {m.rate:,} | {m.cpu:.1f} | {m.transactions / m.cpu:,.0f} | "
        f"{m.unread / 1e6:.1f} | {m.after:.1f} | {m.first_half:.0f} MB | {m.second_half:.0f} MB | {m.windows:,} | "
        f"{m.joins:,} |"
        for m in found
    ]
    return "\n".join(lines)


def page(found: list[Measured], words: str) -> str:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    return f"""# A watch beside a recorder, measured

Measured by `python benchmarks/watch.py{words}` ({machine}).

A simulated database of 24 sessions and 10,000 keys writes transactions of eight operations, one file a session, at
about the rate that the table says. [A watch](watch.md) follows on one core. Its CPU time includes reading, checking
and looking for new lines.

{table(found)}
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=20_000, help="recorded a second, about")
    parser.add_argument("--level", action="append", choices=("ser", "si"))
    parser.add_argument("--folder", type=Path, help="where the trace may be written: it is large")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    found = []
    for level in chosen.level or ["si", "ser"]:
        place = Path(tempfile.mkdtemp(prefix="watch-", dir=chosen.folder))
        try:
            found.append(measure(level, chosen.transactions, chosen.rate, place / "trace"))
        finally:
            shutil.rmtree(place)
        print(table(found[-1:]), flush=True)
    if chosen.write:
        words = "".join(f" {word}" for word in arguments)
        PAGE.write_text(page(found, words))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Work in the background while the main thread watches.

Python delivers Ctrl-C to the main thread only, and only between two steps of Python code; a main thread that
is deep in native code answers when that returns. So the work gets a thread of its own and the main thread
waits: it can always be interrupted, and it moves the progress bar (on a terminal, once the work takes longer
than a blink). Work that has a time limit looks at the clock itself; should some solver not, the main thread waits no
longer than a little over it. After that, and after Ctrl-C, the process ends without the worker, see `main.run`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from boomslang.cli.screen import console, is_terminal
from boomslang.trace.errors import LimitReached

T = TypeVar("T")

PATIENCE = 0.4
"""Seconds before a progress bar appears."""
GRACE = 2.0
"""Seconds beyond a time limit in which the work should notice; and a tenth of the limit more."""
STACK = 64 << 20
"""Of the worker: as deep as a main thread's, on every system."""


@dataclass
class Watch:
    """What the work is doing. The worker writes it, the main thread shows it."""

    phase: str = ""
    done: int = 0
    total: int = 0
    """0: nobody knows."""
    note: str = ""

    def begin(self, phase: str) -> None:
        self.phase, self.done, self.total, self.note = phase, 0, 0, ""

    def bytes_read(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def solving(self, decisions: int, conflicts: int, pending: int) -> None:
        """How the search for an order goes: what is wrong with the one it has, and what it took so far."""
        wrong = f"{pending:,} place{'s' * (pending != 1)} in the order still wrong"
        tried = (
            f"{decisions:,} guess{'es' * (decisions != 1)}, {conflicts:,} dead end{'s' * (conflicts != 1)}"
        )
        self.note = f"{wrong}; {tried}"

    @property
    def percent(self) -> str:
        """How much is done; nothing if nobody knows of how much."""
        return f"{min(100, 100 * self.done // self.total)} %" if self.total else ""


abandoned: list[threading.Thread] = []
"""Workers that nobody waits for any more: the process must end without them."""


def watched(work: Callable[[Watch], T], *, quiet: bool = False, seconds: float | None = None) -> T:
    """Does the work, and returns or raises what it does; LimitReached, if it goes on long after so many seconds."""
    end = None if seconds is None else time.monotonic() + 1.1 * seconds + GRACE
    watch = Watch()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(watch))
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(STACK)
    worker = threading.Thread(target=run, name="boomslang", daemon=True)
    worker.start()
    threading.stack_size(before)
    try:
        worker.join(PATIENCE)
        with _bar(watch, show=worker.is_alive() and not quiet and is_terminal(sys.stderr)) as move:
            while worker.is_alive() and (end is None or time.monotonic() < end):
                move()
                worker.join(0.1)
    except KeyboardInterrupt:
        abandoned.append(worker)
        raise
    if worker.is_alive():
        abandoned.append(worker)
        raise LimitReached(f"the time limit was reached, and {watch.phase} did not stop there")
    if errors:
        raise errors[0]
    return results[0]


@contextmanager
def _bar(watch: Watch, *, show: bool) -> Iterator[Callable[[], object]]:
    if not show:
        yield lambda: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    start = time.monotonic()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[percent]:>5}", markup=False),
        TextColumn("{task.fields[seconds]:.0f} s", markup=False),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as progress:
        task = progress.add_task(watch.phase, total=None, note="", percent="", seconds=0.0)

        def move() -> None:
            progress.update(
                task,
                description=watch.phase,
                total=watch.total or None,
                completed=watch.done,
                note=watch.note,
                percent=watch.percent,
                seconds=time.monotonic() - start + PATIENCE,
            )

        yield move

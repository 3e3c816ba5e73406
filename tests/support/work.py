"""Pieces of work for tests of workers: functions that other processes and machines can be asked for."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from boomslang.workers import Lost


def doubled(n: int) -> int:
    return 2 * n


def failing(n: int) -> float:
    return n / 0


def dying(item: tuple[str, int]) -> int:
    """Kills its process the first times; then returns the how manieth it is."""
    path, times = item
    with Path(path).open("a") as file:
        file.write("x")
    lives = Path(path).stat().st_size
    if lives <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return lives


def sleeping(item: tuple[str, float]) -> int:
    """Says who it is, and sleeps."""
    path, seconds = item
    written = Path(f"{path}.new")
    written.write_text(str(os.getpid()))
    written.replace(path)
    time.sleep(seconds)
    return os.getpid()


def held_megabytes(megabytes: int) -> float:
    """Takes so much memory, and says how much its process has."""
    from boomslang.trace.reader import resident_mb

    kept = bytearray(megabytes << 20)
    kept[:: 1 << 12] = b"x" * len(kept[:: 1 << 12])
    return resident_mb()


def other_version(workers: Any) -> Iterator[Any]:
    """Work that is handed out by another version than the one that takes it."""
    from boomslang.workers import ray_cluster

    before = ray_cluster.__version__
    ray_cluster.__version__ = "0.0.0"
    try:
        yield from workers.map(doubled, [1])
    finally:
        ray_cluster.__version__ = before


class Here:
    """Workers that are far away, as far as their tasks can tell."""

    megabytes: float | None = None
    obstacle = ""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for number, item in enumerate(items):
            yield number, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(item)))))

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Measured:
    """Other workers, and the most memory that any of their processes held, by the name of the function."""

    def __init__(self, workers: Any) -> None:
        self.workers, self.megabytes, self.obstacle = workers, workers.megabytes, ""
        self.peak: dict[str, float] = {}

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for number, told in self.workers.map(with_peak, [(function, item) for item in items]):
            if isinstance(told, Lost):
                yield number, told
                continue
            result, peak = told
            name = function.__name__
            self.peak[name] = max(peak, self.peak.get(name, 0.0))
            yield number, result

    def __enter__(self) -> Measured:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def with_peak(task: tuple[Callable[[Any], Any], Any]) -> tuple[Any, float]:
    """A result, and the most memory that this process has ever held, in MB (not ru_maxrss, which begins with that of
    the process it was forked off)."""
    function, item = task
    result = function(item)
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return result, int(peak) / 1024

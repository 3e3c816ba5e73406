"""Pieces of work for tests of workers: functions that other processes and machines can be asked for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


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

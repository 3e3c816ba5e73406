"""Pieces of work for tests of workers: functions that other processes and machines can be asked for."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


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

"""The clock of explanations.

An answer that is there may be explained for some seconds. If the user set a limit, those are seconds of the day. If
not, they are seconds of this process: what others do to the machine shall not decide whether a core is minimal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.monotonic)
BUSY = 5.0
"""Seconds of the day that a second of this process may take on a busy machine."""


def now() -> float:
    return _clock.get()()


def on_the_day(seconds: float) -> float:
    """As a limit for the engine, which knows the time of day only."""
    return seconds if _clock.get() is time.monotonic else BUSY * seconds


@contextmanager
def of_this_process() -> Iterator[None]:
    """Inside, `now` counts what this process uses."""
    token = _clock.set(time.process_time)
    try:
        yield
    finally:
        _clock.reset(token)

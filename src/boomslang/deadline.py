"""The moment by which a check must have come to an end, known to all that works for it.

Most code is handed its limits. But what a module says is asked for in many places (whenever a part of a trace is
lowered), and modules are other people's code, so the moment is ambient: whoever starts a check sets it with `until`,
and whoever may take long asks `left` or `look`s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from boomslang.trace.errors import LimitReached

_MOMENT: ContextVar[float | None] = ContextVar("boomslang_deadline", default=None)


@contextmanager
def until(moment: float | None) -> Iterator[None]:
    """What is done in here should end by this moment (of `time.monotonic`); None: no hurry."""
    before = _MOMENT.set(moment)
    try:
        yield
    finally:
        _MOMENT.reset(before)


def left() -> float | None:
    """Seconds that are left; 0 if the moment has passed, None if there is none."""
    moment = _MOMENT.get()
    return None if moment is None else max(0.0, moment - time.monotonic())


def look() -> None:
    """Raises LimitReached if the moment has passed."""
    if left() == 0.0:
        raise LimitReached("time")

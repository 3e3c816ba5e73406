"""Time and memory limits for loops of Python code: the counterpart of native/common/limits.hpp.

Writing a problem out in full can take far longer than the user wants to wait, and more memory than there is. `look`
costs next to nothing; now and then it looks at the clock and at the memory of the process, and raises LimitReached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached

T = TypeVar("T")

OFTEN = 256
"""Looks between two glances at the clock."""
SELDOM = 0.1
"""Seconds between two at the memory."""


class Clock:
    """Started when it is made."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._start = time.monotonic()
        self._looks = 0
        self._weighed = self._start

    def look(self) -> None:
        """Raises LimitReached if a limit has been reached."""
        self._looks += 1
        if not self._looks % OFTEN:
            self.look_now()

    def look_now(self) -> None:
        """The same, without counting: for steps that take long each."""
        now = time.monotonic()
        if self.limits.seconds is not None and now - self._start > self.limits.seconds:
            raise LimitReached("time")
        if self.limits.megabytes is not None and now - self._weighed > SELDOM:
            self._weighed = now
            if resident_megabytes() > self.limits.megabytes:
                raise LimitReached("memory")

    def left(self) -> Limits:
        """The limits, less the time that has passed."""
        return self.limits.since(self._start)

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, with a look at each."""
        for item in items:
            self.look()
            yield item


def resident_megabytes(process: int | str = "self") -> float:
    """The memory of a process; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGESIZE") / 1e6

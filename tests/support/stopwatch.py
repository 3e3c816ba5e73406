"""How long something took, on a machine that is busy with others too: by the clock or of work, whichever is less."""

from __future__ import annotations

import time


def now() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def passed(start: tuple[float, float]) -> float:
    """Seconds since `now()`."""
    return min(time.monotonic() - start[0], time.process_time() - start[1])

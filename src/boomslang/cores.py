"""How many threads can run at a time: what `--jobs` is if nobody says."""

from __future__ import annotations

import os


def all_cores() -> int:
    """Those that this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1

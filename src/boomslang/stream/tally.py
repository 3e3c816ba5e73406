"""What went by: how many, how fast, how long transactions took, and how far behind the check is.

Lines that are asked again in the next window go by again; a transaction is counted when its end is read first, which
the line of that end tells.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.blocks import Block
from boomslang.trace.model import NO_TIME, Outcome
from boomslang.trace.units import UNITS

RECENT = 10.0
"""Seconds that speeds are taken over."""
SAMPLES = 20_000
"""Transactions that latencies are taken over: the newest."""

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Status:
    """How a watch is doing. All of it is for showing."""

    level: str
    phase: str
    """What it is doing, in words."""
    seconds: float
    """Since it began."""
    transactions: int = 0
    """Decided: the level holds for them, so far."""
    per_second: float = 0.0
    committed: int = 0
    aborted: int = 0
    """Read so far."""
    commits_per_second: float = 0.0
    aborts_per_second: float = 0.0
    lag: float | None = None
    """Seconds between the newest moment read and the newest decided; None: the trace has no times, or no unit."""
    unread: int = 0
    """Bytes that are recorded, and not read yet."""
    megabytes: float = 0.0
    """Memory of this process."""
    keys: int = 0
    windows: int = 0
    joins: int = 0
    held: int = 0
    """Transactions that are read and not decided."""
    lost: int = 0
    """Transactions of unknown outcome that nobody has read from."""
    open: int = 0
    """Keys that several wrote at once, long ago, and that nobody has read since."""
    sessions: int = 0
    idle: tuple[str, ...] = ()
    restarts: int = 0
    """How often the files were read again from their beginning."""
    latency: tuple[float, float, float] | None = None
    """Seconds from begin to end: the median, of 95 and of 99 in a hundred."""
    recorded: int = 0
    """Bytes on the disk."""
    deleted: int = 0
    """Bytes that were checked and given back to the disk."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Tally:
    """Counts blocks as they go by."""

    unit: str = ""
    committed: int = 0
    aborted: int = 0
    samples: deque[Int64] = field(default_factory=deque)
    _counted: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    _speed: deque[tuple[float, int, int, int]] = field(default_factory=deque)

    def block(self, block: Block, files: int) -> None:
        """Counts the transactions whose ends were not read before."""
        trace = block.trace
        self.unit = trace.unit or self.unit
        if files > len(self._counted):
            self._counted = np.concatenate([self._counted, np.zeros(files - len(self._counted), np.int64)])
        if not len(trace):
            return
        line = block.last_lines()
        new = (line > self._counted[trace.txn_file]) & (trace.txn_outcome != Outcome.UNKNOWN)
        np.maximum.at(self._counted, trace.txn_file, line)
        committed = new & (trace.txn_outcome == Outcome.COMMITTED)
        self.committed += int(committed.sum())
        self.aborted += int(new.sum()) - int(committed.sum())
        timed = committed & (trace.txn_end != NO_TIME) & (trace.txn_begin != NO_TIME)
        if timed.any():
            self.samples.append((trace.txn_end - trace.txn_begin)[timed][-SAMPLES:])
            while len(self.samples) > 1 and sum(map(len, self.samples)) - len(self.samples[0]) >= SAMPLES:
                self.samples.popleft()

    def speed(self, decided: int) -> tuple[float, float, float]:
        """Transactions decided, committed and aborted, each a second, over the last few seconds."""
        now = time.monotonic()
        self._speed.append((now, decided, self.committed, self.aborted))
        while len(self._speed) > 2 and now - self._speed[0][0] > RECENT:
            self._speed.popleft()
        then, *before = self._speed[0]
        if now - then < 0.05:
            return 0.0, 0.0, 0.0
        a, b, c = (
            max(0.0, (x - y) / (now - then))
            for x, y in zip((decided, self.committed, self.aborted), before, strict=True)
        )
        return a, b, c

    def latency(self) -> tuple[float, float, float] | None:
        if not self.unit or not self.samples:
            return None
        took = np.concatenate(list(self.samples)) * (UNITS[self.unit] / 1e9)
        a, b, c = np.percentile(took, (50, 95, 99)).tolist()
        return a, b, c

    def between(self, early: int, late: int) -> float | None:
        """Seconds from one moment of the trace to another."""
        if not self.unit or early == NO_TIME or late == NO_TIME:
            return None
        return max(0.0, (late - early) * (UNITS[self.unit] / 1e9))

"""What an application met: which anomalies its traces hold, which levels forbid them, and which transactions meet so.

Each violation of a level (explain/all_violations.py) is counted by its anomaly and by the shapes of its transactions.
What forbids an anomaly is asked of its smallest example: the levels that those transactions alone break.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from boomslang.explain.all_violations import Violation, Violations
from boomslang.explain.shapes import Shape, Shapes
from boomslang.levels import Level, minimal
from boomslang.trace.model import Outcome, Trace


@dataclass
class Meeting:
    """An anomaly between transactions of certain shapes."""

    code: str | None
    name: str | None
    shapes: tuple[Shape, ...]
    count: int = 0
    forbidden_by: list[Level] = field(default_factory=list)
    """All levels that its smallest example breaks."""
    example: str = ""
    """Where that example's first transaction begins."""
    _size: int = 0

    def add(self, one: Violation, where: str) -> None:
        self.count += 1
        if not self._size or len(one.core.transactions) < self._size:
            self._size = len(one.core.transactions)
            self.forbidden_by = one.found.rules_out
            self.example = where


class Met:
    """Of one trace or several."""

    def __init__(self) -> None:
        self.meetings: dict[tuple[Any, ...], Meeting] = {}
        self.executed: Counter[Shape] = Counter()
        """How many transactions there are of each shape."""
        self.recorded_at: Counter[str] = Counter()
        self.complete = True
        self.transactions = 0

    def look_at(self, trace: Trace, listed: Violations | None) -> None:
        """A trace, and its violations if it has any."""
        shapes = Shapes(trace)
        self.recorded_at[shapes.recorded_at] += 1
        self.transactions += len(trace)
        for t in range(len(trace)):
            if int(trace.txn_outcome[t]) != Outcome.ABORTED:
                self.executed[shapes.of(t)] += 1
        for one in listed.found if listed is not None else ():
            involved = one.core.transactions
            if one.found.likely is not None:
                involved = one.found.likely.transactions
            code, name = (one.anomaly.code, one.anomaly.name) if one.anomaly else (None, None)
            met = tuple(sorted(shapes.of(t) for t in involved))
            key = (code, name, met)
            meeting = self.meetings.setdefault(key, Meeting(code, name, met))
            meeting.add(one, trace.where(involved[0]) if involved else "")
        if listed is not None and not listed.complete:
            self.complete = False

    @property
    def most_frequent(self) -> list[Meeting]:
        return sorted(self.meetings.values(), key=lambda m: (-m.count, m.name or "", m.shapes))

    @property
    def would_do(self) -> list[Level]:
        """The weakest levels that forbid everything that was met."""
        meetings = list(self.meetings.values())
        if not meetings:
            return []
        common = [
            level
            for level in meetings[0].forbidden_by
            if all(level.name in {other.name for other in m.forbidden_by} for m in meetings)
        ]
        return minimal(common)

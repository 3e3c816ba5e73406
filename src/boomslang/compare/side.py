"""One of two things that are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from boomslang.activity import Curves
from boomslang.verdict import INVALID


@dataclass(frozen=True)
class Answered:
    """What was answered about a level: of a hunt, about all its runs together."""

    status: str
    reason: str = ""
    """The anomaly, or why it is unknown."""

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "reason": self.reason or None}

    @property
    def broken(self) -> bool:
        return self.status == INVALID


@dataclass(frozen=True)
class Figure:
    """A number that both sides may have."""

    name: str
    unit: str = ""
    """`s` (seconds), `%` (a share of 1), or a word of none."""
    better: int = 0
    """1: more of it is better; -1: less is; 0: nobody can say."""


@dataclass(frozen=True)
class Side:
    """A trace or a hunt, as far as it is compared."""

    path: str
    kind: str
    """`trace` or `hunt`."""
    settings: dict[str, str]
    """What was run, if that is known: the database, its version, the workload ..."""
    figures: dict[Figure, float]
    """Those that it has."""
    answers: dict[str, Answered]
    """By the title of the level."""
    seen: dict[str, set[str]]
    """What occurs in it, by what it is: anomalies, kinds of operations, statements."""
    curves: Curves | None = None
    unit: str = ""
    """Of the times of the curves."""
    runs: list[tuple[float, float, str]] = field(default_factory=list)
    """Of a hunt: commits and aborts a second, and the answer, of each run."""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "settings": self.settings,
            "figures": {figure.name: value for figure, value in self.figures.items()},
            "answers": {level: answer.to_json() for level, answer in self.answers.items()},
            "seen": {what: sorted(names) for what, names in self.seen.items()},
            "notes": self.notes,
        }

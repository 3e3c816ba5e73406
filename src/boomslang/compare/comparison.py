"""Two sides beside each other, and what the second has that the first has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boomslang.compare.side import Answered, Figure, Side
from boomslang.errors import UsageError
from boomslang.verdict import UNKNOWN, VALID

WORDS = {"anomalies": "anomaly", "operations": "kind of operation", "statements": "statement"}
SIZES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
LIST = 20
"""New things of a kind that are named."""


@dataclass(frozen=True)
class Comparison:
    first: Side
    second: Side

    @property
    def settings(self) -> list[tuple[str, str, str]]:
        """What was run otherwise."""
        one, two = self.first.settings, self.second.settings
        return [
            (name, one.get(name, ""), two.get(name, ""))
            for name in dict.fromkeys((*one, *two))
            if one.get(name) != two.get(name)
        ]

    @property
    def same(self) -> list[tuple[str, str]]:
        """What was run in both."""
        one, two = self.first.settings, self.second.settings
        return [(name, value) for name, value in one.items() if two.get(name) == value]

    @property
    def figures(self) -> list[tuple[Figure, float | None, float | None]]:
        one, two = self.first.figures, self.second.figures
        return [(figure, one.get(figure), two.get(figure)) for figure in dict.fromkeys((*one, *two))]

    @property
    def answers(self) -> list[tuple[str, Answered | None, Answered | None]]:
        one, two = self.first.answers, self.second.answers
        return [(level, one.get(level), two.get(level)) for level in dict.fromkeys((*one, *two))]

    @property
    def newly_broken(self) -> list[str]:
        """Levels that the second breaks, and the first does not."""
        return [level for level, a, b in self.answers if b and b.broken and not (a and a.broken)]

    @property
    def no_longer_known(self) -> list[str]:
        """Levels that the first keeps, and of which the second says nothing."""
        return [level for level, a, b in self.answers if a and b and (a.status, b.status) == (VALID, UNKNOWN)]

    @property
    def new(self) -> list[str]:
        """What the second has and the first has not, in words."""
        return self._only(self.first, self.second)

    @property
    def gone(self) -> list[str]:
        return self._only(self.second, self.first)

    @staticmethod
    def _only(without: Side, having: Side) -> list[str]:
        said = []
        for level, answer in having.answers.items():
            other = without.answers.get(level)
            if answer.broken and other is not None and not other.broken:
                said.append(f"{level} is broken: {answer.reason or 'an anomaly without a name'}")
        for what, names in having.seen.items():
            if what not in without.seen:
                continue
            only = sorted(names - without.seen[what])
            said += [f"{WORDS[what]}: {name}" for name in only[:LIST]]
            if len(only) > LIST:
                said.append(f"{len(only) - LIST:,} more {what}")
        return said

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.first.kind,
            "first": self.first.to_json(),
            "second": self.second.to_json(),
            "settings": [
                {"name": name, "first": a or None, "second": b or None} for name, a, b in self.settings
            ],
            "figures": [
                {
                    "name": figure.name,
                    "unit": figure.unit or None,
                    "first": a,
                    "second": b,
                    "ratio": None if a is None or b is None or a == 0 else b / a,
                }
                for figure, a, b in self.figures
            ],
            "newly_broken": self.newly_broken,
            "new": self.new,
            "gone": self.gone,
        }


def compare(first: Side, second: Side) -> Comparison:
    """Raises if one is a trace and the other a hunt."""
    if first.kind != second.kind:
        raise UsageError(
            f"found a {first.kind} ({first.path}) and a {second.kind} ({second.path}); expected two traces or two hunts"
        )
    return Comparison(first, second)


def shown(figure: Figure, value: float | None) -> str:
    """A number for people."""
    if value is None:
        return "-"
    if figure.unit == "%":
        return f"{value:.1%}"
    if figure.unit == "s":
        return next(
            (f"{_digits(value / size)} {unit}" for unit, size in SIZES if value >= size), f"{value:g} s"
        )
    return f"{value:,.0f}" if value == int(value) else _digits(value)


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def change(figure: Figure, a: float | None, b: float | None) -> str:
    """How the second differs from the first, in a few letters."""
    if a is None or b is None or a == b:
        return ""
    if figure.unit == "%":
        return f"{100 * (b - a):+.1f} points"
    if a == 0:
        return "from 0"
    ratio = b / a
    return f"{ratio - 1:+.1%}" if 0.5 <= ratio < 2 else f"x {ratio:.3g}"


def verdict_of(figure: Figure, a: float | None, b: float | None) -> str:
    """`better` or `worse`, where more than a tenth lies between them and one of the two is to be wished for."""
    if a is None or b is None or not figure.better or abs(b - a) <= 0.1 * max(abs(a), abs(b)):
        return ""
    return "better" if (b > a) == (figure.better > 0) else "worse"

"""What a figure is: a part of the page with a table, the paper's number beside ours, and a plot."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.plan import Plan

NOT_HERE = "not here: needs"
NOT_MEASURED = "not measured"
PICTURE = "a picture"
"""In the place of the paper's number: it is a plot without numbers in the text."""


@dataclass(frozen=True)
class Plot:
    name: str
    alt: str
    """What it shows, in words."""
    draw: Callable[[Path], None]


@dataclass
class Shown:
    lines: list[str]
    plots: list[Plot] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """A table or a plot of the paper."""

    name: str
    """As on the command line."""
    title: str
    paper: str
    """Where it is in the paper, and what the paper says of it."""
    make: Callable[[Plan], Shown]


def over(answer: dict[str, Any]) -> bool:
    """Did it come to its limit? Also if it came to its end some seconds after it."""
    late = answer.get("seconds", 0.0) > answer.get("limit", math.inf)
    return late or answer["status"] in ("unknown", "did not end")


def seconds(answer: dict[str, Any] | None, limit: float) -> str:
    """Of a cell: its seconds if it was decided, else why not."""
    if answer is None:
        return NOT_MEASURED
    if over(answer):
        skipped = "" if answer.get("asked", True) else " (skipped)"
        return f"over {answer.get('limit', limit):g}{skipped}"
    if answer["status"] in ("valid", "invalid"):
        return f"{answer['seconds']:.2f}"
    return str(answer["status"])


def value(answer: dict[str, Any] | None) -> float | None:
    """The same for a plot."""
    decided = answer is not None and answer["status"] in ("valid", "invalid") and not over(answer)
    return float(answer["seconds"]) if decided and answer is not None else None


def bar(answer: dict[str, Any] | None, limit: float) -> float | str:
    """The same for a bar, which has words in the place of a number."""
    found = value(answer)
    if found is not None:
        return found
    told = seconds(answer, limit)
    if told.startswith("over"):
        return f"{told} s"
    told = told.partition(":")[0] if len(told) > SHORT else told  # "cannot be asked: ..."
    return told if len(told) <= SHORT else "no answer"


def megabytes(answer: dict[str, Any] | None) -> str:
    return f"{answer['megabytes']:.0f}" if answer is not None and answer.get("megabytes") else ""


NUMBER = re.compile(r"[\d.,]+K?")
SHORT = 20


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; columns of numbers, and of short words where a number would be, are to the right."""
    rules = []
    for cells in zip(*rows, strict=True):
        numeric = any(NUMBER.fullmatch(cell) for cell in cells) and all(len(cell) <= SHORT for cell in cells)
        rules.append("---:" if numeric else "---")
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(rules)} |"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]

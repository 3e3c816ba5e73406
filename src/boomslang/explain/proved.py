"""What a proof by counting or by states comes to: a sentence for people, and its numbers for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


@dataclass(frozen=True, eq=False)
class Proved:
    text: str
    operations: tuple[int, ...]
    """The reads that the sentence speaks of, as rows of the trace."""
    numbers: dict[str, Any]
    """As explanation.schema.json says, but for the sentence."""
    examples: tuple[int, ...]
    """The first few transactions that it speaks of, for whoever wants to see some."""


def number(n: int) -> str:
    """In words, up to twelve."""
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def times(n: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{number(n)} times")


def transactions(n: int) -> str:
    return f"{number(n)} transaction{'' if n == 1 else 's'}"


def joined(words: list[str], last: str = "and") -> str:
    """a, b and c."""
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)

"""What a proof that needs no solver comes to: a sentence for people, and its numbers for programs."""

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


def in_a_state(saw: list[tuple[str, str]]) -> str:
    """'a', 'b' and 'c' all False; or 'a' = 1 and 'b' = 2. Of keys and values in words."""
    values = {value for _, value in saw}
    if len(saw) > 1 and len(values) == 1:
        return f"{joined([key for key, _ in saw])} {'both' if len(saw) == 2 else 'all'} {values.pop()}"
    return joined([f"{key} = {value}" for key, value in saw])

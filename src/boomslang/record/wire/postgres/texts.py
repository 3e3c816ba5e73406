"""A text of several statements, cut where PostgreSQL cuts it: at semicolons outside of strings, names and comments."""

from __future__ import annotations

import re
from functools import lru_cache

PIECE = re.compile(
    r"""
    (?P<escaped>(?<![\w$])[eE]'(?:[^'\\]|''|\\.)*')
  | (?P<string>'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*")
  | (?P<dollar>(?<![\w$])\$(?P<tag>[^\W\d]\w*|)\$.*?\$(?P=tag)\$)
  | (?P<line>--[^\n]*)
  | (?P<comment>/\*)
  | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
COMMENT = re.compile(r"/\*|\*/")
ATOMIC = re.compile(r"\bBEGIN\s+ATOMIC\b", re.IGNORECASE)


@lru_cache(maxsize=2000)
def statements_of(text: str) -> tuple[str, ...]:
    """The statements of a text, without the comments around them; none if there is nothing but comments. A body of
    SQL's own (BEGIN ATOMIC ... END) has semicolons of its own: such a text is not cut."""
    if ATOMIC.search(text):
        return (text,)
    found: list[str] = []
    start = at = 0
    kept: list[str] = []
    while (match := PIECE.search(text, at)) is not None:
        at = match.end()
        if match["end"] is not None:
            kept.append(text[start : match.start()])
            found.append("".join(kept))
            start, kept = at, []
        elif match["line"] is not None or match["comment"] is not None:
            at = match.end() if match["line"] is not None else _end_of_comment(text, at)
            if not "".join(kept).strip() and not text[start : match.start()].strip():
                start, kept = (
                    at,
                    [],
                )  # before the statement: dropped, so that its first word is its first word
            elif not text[at:].strip("; \t\r\n"):
                kept.append(text[start : match.start()])  # after the last one
                start = at
    kept.append(text[start:])
    found.append("".join(kept))
    return tuple(one for one in (each.strip() for each in found) if one)


def _end_of_comment(text: str, at: int) -> int:
    """Comments may hold comments."""
    depth = 1
    while depth and (match := COMMENT.search(text, at)) is not None:
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at if depth == 0 else len(text)

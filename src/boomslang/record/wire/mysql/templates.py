"""Texts that differ in their values only, recognized by their skeletons.

Taking the values out of a text (literals.py) means to look at each of its words. But `... WHERE id = 5` and
`... WHERE id = 6` have one skeleton (native/wire/plain.hpp), and what is taken out of the one is taken out of the
other: so it is found out once for a skeleton, with marks in place of its literals, which of them are values, and which
stay. Literals that stay (`LIMIT 10`) are a part of the text, so a template is for those that have the same.

Only where literals are digits or strings without anything that could end them, in a text of plain characters; all
others are taken apart each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from boomslang.record.sql.labels import Octets
from boomslang.record.sql.text import Numbered
from boomslang.record.wire._relay import literals
from boomslang.record.wire.mysql.values import octets

MOST = 2000
"""Templates."""
MARK = 10**9

Taken = tuple[str, Numbered | None]
"""A text without its values, and these."""


class Template(NamedTuple):
    text: str
    values: tuple[tuple[int, int], ...]
    """Which of the literals, and its sign; 0 for a string."""
    fixed: tuple[tuple[int, bytes], ...]
    """What the others are."""


class Templates:
    """Of one connection. `take`: what does it each time; None if the text is not one statement."""

    def __init__(self, take: Callable[[str], Taken | None]) -> None:
        self._take = take
        self._known: dict[bytes, Template | None] = {}

    def taken_out(self, raw: bytes, encoding: str) -> Taken | None:
        """None: take it apart."""
        found = literals(raw) if raw.isascii() else None
        if found is None:
            return None
        skeleton, given = found
        template = self._known.get(skeleton)
        if template is None or any(given[place] != text for place, text in template.fixed):
            if skeleton in self._known and template is None:
                return None
            if len(self._known) >= MOST:
                self._known.clear()
            template = self._known[skeleton] = self._learn(raw, skeleton, given, encoding)
            if template is None:
                return None
        if not template.values:
            return template.text, None
        return template.text, Numbered(
            [
                int(given[place]) * sign if sign else octets(given[place][1:-1], encoding)
                for place, sign in template.values
            ]
        )

    def _learn(self, raw: bytes, skeleton: bytes, given: list[bytes], encoding: str) -> Template | None:
        pieces = skeleton[1:].decode("ascii").split("?")
        strings = [literal.startswith(b"'") for literal in given]
        inner = [
            (literal[1:-1] if string else literal).decode("ascii")
            for literal, string in zip(given, strings, strict=True)
        ]
        marks = [f"q{MARK + n}" if string else str(MARK + n) for n, string in enumerate(strings)]
        if _filled(pieces, inner) != raw.decode("ascii"):
            return None
        real, marked = self._take(_filled(pieces, inner)), self._take(_filled(pieces, marks))
        if real is None or marked is None:
            return None
        values: list[tuple[int, int]] = []
        for value in marked[1] or ():
            if type(value) is int:
                values.append((abs(value) - MARK, 1 if value > 0 else -1))
            elif type(value) is Octets and value.text is not None and value.text[1:].isdigit():
                values.append((int(value.text[1:]) - MARK, 0))
            else:
                return None
        taken = {place for place, _ in values}
        text = marked[0]
        for place, mark in enumerate(marks):
            if place not in taken:
                text = text.replace(mark, inner[place], 1)
        made = [int(given[p]) * sign if sign else octets(given[p][1:-1], encoding) for p, sign in values]
        if text != real[0] or made != list(real[1] or ()):
            return None
        return Template(text, tuple(values), tuple((p, g) for p, g in enumerate(given) if p not in taken))


def _filled(pieces: list[str], inner: list[str]) -> str:
    made = [pieces[0]]
    for literal, piece in zip(inner, pieces[1:], strict=True):
        made += [literal, piece]
    return "".join(made)

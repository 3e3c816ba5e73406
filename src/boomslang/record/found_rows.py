"""What a write was that changed no row: one that found nothing, or one that set the value which was there already.

Most databases count the rows that an UPDATE found. MySQL and its kin count those that it *changed*, so setting x to 5
where x is 5 counts none. For the application that is a write like any other, which it must be able to read back; some
databases then show it an older value (docs/findings/mariadb-same-value.md), and a trace without the write would hide
that. So a statement that counted none is looked at again:

- with the flag FOUND_ROWS the count says what was found: none is none;
- without it, the server's word on an UPDATE is read: "Rows matched: 1  Changed: 0  Warnings: 0";
- an INSERT ... ON DUPLICATE KEY UPDATE that counted none has found the row, or it would have inserted it.

What was found is a write if the text sets the value as it was given. Where the text computes it (GREATEST, IF), a row
that stays as it is may hold another value; and some drivers keep the server's word to themselves. Then nobody knows,
and nothing is recorded: neither a write, nor that the key is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

NOBODY_KNOWS = -2
"""As a count of rows: none was changed, and what was found, or with which value, is not known."""

FOUND_ROWS = 2
"""The flag of MySQL's protocol that makes a count one of found rows."""

COMMENTS = r"(?:\s+|(?:--|#)[^\n]*(?:\n|$)|/\*.*?\*/)*"
UPDATES = re.compile(
    COMMENTS + r"UPDATE\b.*?\bSET\b(?P<set>.*?)(\bWHERE\b|\bORDER\s+BY\b|\bLIMIT\b|[\s;]*$)", re.I | re.S
)
UPSERTS = re.compile(
    COMMENTS + r"INSERT\b(?!.*\bSELECT\b).*\bON\s+DUPLICATE\s+KEY\s+UPDATE\b(?P<set>.*?)[\s;]*$", re.I | re.S
)
UPDATES_SOMEHOW = re.compile(r"\bUPDATE\b", re.I)
GIVEN = re.compile(r"%s|%\(\w+\)s|\?|:\w+|VALUES?\s*\(\s*[\w`.]+\s*\)", re.I)
"""A parameter, or in an upsert what would have been inserted."""
LITERAL = re.compile(r"-?\d+(\.\d+)?|'[^'\\]*'|TRUE|FALSE|NULL", re.I)
NUMBER = re.compile(r":\s*(\d+)")


def rows_found(text: str, asked: Callable[[], int | None]) -> int:
    """How many rows a statement found that counted none. `asked`: what the driver knows of it."""
    if UPDATES_SOMEHOW.search(text) is None:
        return 0
    upsert = UPSERTS.match(text)
    statement = upsert or UPDATES.match(text)
    found = 1 if upsert else asked()
    if found == 0:
        return 0
    known = found is not None and statement is not None and sets_what_was_given(statement["set"])
    return found if known and found else NOBODY_KNOWS


def sets_what_was_given(assignments: str) -> bool:
    """Does it set what was given as it was given? Columns that were not given a value do not matter."""
    values = [value.strip() for _, _, value in (one.partition("=") for one in _split(assignments))]
    given = [value for value in values if GIVEN.search(value)]
    if given:
        return all(GIVEN.fullmatch(value) for value in given)
    return all(LITERAL.fullmatch(value) for value in values)


def _split(text: str) -> Iterator[str]:
    """At the commas that are not inside of brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def rows_matched(said: object) -> int | None:
    """From what MySQL says of an UPDATE, in whatever language: matched, changed and warnings, in this order."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    numbers = NUMBER.findall(text) if isinstance(text, str) else []
    return int(numbers[0]) if len(numbers) == 3 else None

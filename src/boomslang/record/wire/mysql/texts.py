"""What a text means to the connection itself: one statement or several, a begin inside of a transaction, a change of
autocommit, of the database, of the character set, of how strings are quoted. And which texts hold passwords.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from boomslang.record.wire.mysql.values import NAMES

STRING = r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\""
COMMENT = r"--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!M?!).*?\*/"
PIECES = re.compile(rf"(?P<skipped>{STRING}|`(?:[^`]|``)*`|{COMMENT})|(?P<end>;)", re.DOTALL)
LEADING = re.compile(rf"(?:\s|{COMMENT})*", re.DOTALL)
WORD = re.compile(r"\(*\s*(\w+)")

COMPOUND = re.compile(
    r"(?is)\s*(create\b.*\b(procedure|function|trigger|event|package)\b|begin\s+not\b|if\b|while\b|loop\b|for\b|case\b"
    r"|repeat\b)"
)
"""A text with semicolons inside of one statement."""
BEGINS = re.compile(r"(?is)(begin|start\s+transaction)\b")
ENDS = re.compile(
    r"(?is)(?P<how>commit|rollback)(\s+work)?(\s+and\s+(no\s+)?chain)?(\s+(no\s+)?release)?\s*$"
)
"""Chains are seen by the server's word that a transaction is open."""
USES = re.compile(r"(?is)use\s+(?:`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[\w$]+))\s*$")
SETS = re.compile(r"(?is)set\b")
AUTOCOMMIT = re.compile(r"(?i)\bautocommit\b['\"`]?\s*:?=\s*['\"]?(\w+)")
NAMED = re.compile(r"(?i)\b(?:names|character\s+set|charset)\s+['\"]?(\w+)")
CHARSETS = re.compile(r"(?i)\bcharacter_set_(client|connection)\b|\bnames\b|\bcharacter\s+set\b|\bcharset\b")
QUOTING = re.compile(r"(?i)\bsql_mode\b")
SECRETS = re.compile(r"(?i)\b(identified|password|master_password|source_password)\b")
ON = frozenset(("1", "on", "true"))

NOT_READ = "EXECUTE /* a statement that could not be read */"
"""In place of a text that nobody can read: it may do anything."""


@dataclass(frozen=True)
class Charset:
    """After a SET: what texts are encoded in; None if that is not known."""

    encoding: str | None


def split(text: str) -> list[str]:
    """The statements of a text, without the semicolons and comments around them; one that hides semicolons is one."""
    if ";" not in text:
        return [_trimmed(text)]
    if COMPOUND.match(text, LEADING.match(text).end()):  # type: ignore[union-attr]
        return [_trimmed(text)]
    made, start = [], 0
    for match in PIECES.finditer(text):
        if match["end"]:
            made.append(text[start : match.start()])
            start = match.end()
    made.append(text[start:])
    found = [trimmed for trimmed in map(_trimmed, made) if trimmed]
    if len(found) > 1 and any(first_word(one) == "call" for one in found):
        return [_trimmed(text)]  # nobody knows how many results a procedure has
    return found


def _trimmed(text: str) -> str:
    start = LEADING.match(text)
    return text[start.end() if start else 0 :].strip()


def first_word(text: str) -> str:
    found = WORD.match(text)
    return found[1].lower() if found else ""


def database_used(text: str) -> str | None:
    """Which database a USE names."""
    found = USES.match(text)
    if found is None:
        return None
    return found["plain"] or found["quoted"].replace("``", "`")


def turns_autocommit(text: str) -> bool | None:
    """On, off, or not at all."""
    found = AUTOCOMMIT.search(text) if SETS.match(text) else None
    return None if found is None else found[1].lower() in ON


def charset_set(text: str) -> Charset | None:
    if not SETS.match(text) or not CHARSETS.search(text):
        return None
    found = NAMED.search(text)
    return Charset(NAMES.get(found[1].lower()) if found else None)


def sets_mode(text: str) -> bool:
    """May "..." be a name after this SET, or a backslash be one?"""
    return SETS.match(text) is not None and QUOTING.search(text) is not None


def without_secrets(text: str) -> str:
    """The text as the trace may show it: statements about users without their strings."""
    return re.sub(STRING, "'...'", text, flags=re.DOTALL) if SECRETS.search(text) else text

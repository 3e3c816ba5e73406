"""Takes the values out of a statement's text: `... WHERE id = 5` becomes `... WHERE id = ?` and (5,).

Many clients write values into the text. A statement with its values taken out is parsed once, however many values it
is sent with, and the trace counts it as one statement. Only what is certainly a value is taken: a literal after a
comparison or a comma, behind WHERE, SET or VALUES, and not inside the brackets of a function or a type. All else stays
in the text, for the parser.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from boomslang.record.sql.text import Numbered
from boomslang.record.wire.mysql.values import octets

STRING = r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\""
TOKEN = re.compile(
    r"(?P<space>\s+|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?![!M+]).*?\*/)"
    rf"|(?P<hex>[xX]'[0-9a-fA-F]*'|0x[0-9a-fA-F]+\b)"
    rf"|(?P<binary>_binary\s*)?(?P<string>{STRING})"
    r"|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?![\w$.])"
    r"|(?P<word>[\w$@]+|`(?:[^`]|``)*`)"
    r"|(?P<sign><=>|<=|>=|<>|!=|:=|->>|->|.)",
    re.DOTALL,
)
KINDS = re.compile(r"(?i)\s*(insert|update|delete|replace|select)\b")
BEGINS = frozenset(("where", "set", "values", "value"))
ENDS = frozenset(
    ("limit", "order", "group", "having", "interval", "offset", "procedure", "into", "returning", "as")
)
BEFORE_VALUES = frozenset(("=", "<", ">", "<=", ">=", "<>", "!=", "<=>", ",", "between", "like"))
LISTS = frozenset(("in", "values", "value", ","))
"""What is before brackets that begin with a value."""
BEFORE_BRACKETS = LISTS | frozenset(("and", "or", "where", "not", "between"))
ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
ESCAPED = {mark: re.compile(rf"\\(.)|{mark}{mark}", re.DOTALL) for mark in "'\""}
LONGEST = 1 << 20
"""Characters of a text from which values are taken."""
MOST = 2000
"""Values."""


class _Taking:
    """One text, token by token."""

    def __init__(self, first: str, encoding: str) -> None:
        self._encoding = encoding
        self.made: list[str] = []
        self.values: list[Any] = []
        self._inserts = first in ("insert", "replace")
        self._allowed = [True]
        """Of each open bracket."""
        self._begun = False
        self._between = False
        self._last, self._before_last = first, ""
        self._string_at = -1

    def literal(self, match: re.Match[str], kind: str) -> bool:
        """False: it cannot be told where this value ends."""
        if kind == "string" and self._string_at >= 0:
            return False  # 'a' 'b' is one value
        negative = self._last == "-" and kind == "number"
        if self._begun and self._allowed[-1] and self._expects(negative):
            value = _value(match, kind, self._encoding)
            if negative:
                del self.made[next(n for n in reversed(range(len(self.made))) if self.made[n] == "-")]
            self.values.append(-value if negative else value)
            self.made.append("?")
        else:
            self.made.append(match[0])
        self._string_at = 0 if kind == "string" else -1
        self._before_last, self._last = self._last, "value"
        return len(self.values) <= MOST

    def _expects(self, negative: bool) -> bool:
        """Would a value be one by itself here?"""
        last = self._before_last if negative else self._last
        return last in BEFORE_VALUES or last == "list" or (last == "and" and self._between)

    def other(self, found: str) -> None:
        self.made.append(found)
        low, before = found.lower(), self._last
        if low == "(":
            self._allowed.append(self._allowed[-1] and (not _is_word(before) or before in BEFORE_BRACKETS))
            if before in LISTS:
                low = "list"
        elif low == ")" and len(self._allowed) > 1:
            self._allowed.pop()
        elif low in BEGINS:
            self._begun = True
        elif low in ENDS and not self._inserts:
            self._begun = False
        if low == "between":
            self._between = True
        elif before == "and" or low in ("or", "where"):
            self._between = False
        self._string_at = -1
        self._before_last, self._last = before, low


def taken_out(text: str, encoding: str) -> tuple[str, Numbered | None]:
    """The text with `?` for its values, and these; the text as it is if there are none."""
    start = KINDS.match(text)
    if start is None or len(text) > LONGEST:
        return text, None
    taking = _Taking(start[1].lower(), encoding)
    taking.made.append(start[0])
    for match in TOKEN.finditer(text, start.end()):
        kind = match.lastgroup
        if kind == "space":
            taking.made.append(match[0])
        elif kind in ("hex", "string", "number"):
            if not taking.literal(match, kind):
                return text, None
        elif match[0] == "?":
            return text, None
        else:
            taking.other(match[0])
    return ("".join(taking.made), Numbered(taking.values)) if taking.values else (text, None)


def _is_word(token: str) -> bool:
    return token[:1].isalnum() or token[:1] in "_`@$"


def _value(match: re.Match[str], kind: str, encoding: str) -> Any:
    found = match[kind]
    if kind == "number":
        return int(found) if found.isdigit() else Decimal(found)
    if kind == "hex":
        digits = found[2:].rstrip("'")
        return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")
    mark, inside = found[0], found[1:-1]
    if "\\" in inside or mark in inside:
        inside = ESCAPED[mark].sub(_unescaped, inside)
    raw = inside.encode(encoding, "surrogateescape")
    return raw if match["binary"] else octets(raw, encoding)


def _unescaped(match: re.Match[str]) -> str:
    letter = match[1]
    return match[0][0] if letter is None else ESCAPES.get(letter, letter)

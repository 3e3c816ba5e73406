"""Values of MySQL's protocol as Python's, the same that PyMySQL makes of them: from text rows, from binary rows, and
from the parameters of prepared statements.

What cannot be read (a date of zeros, a text that is not in its character set) is left as PyMySQL leaves it or, where
PyMySQL would fail, as bytes: no rule takes those for a column of another kind, so it is never guessed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from boomslang.record.sql.labels import Octets
from boomslang.record.wire.mysql.packets import Reader
from boomslang.record.wire.relay import Malformed

TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24 = 1, 2, 3, 4, 5, 6, 7, 8, 9
DATE, TIME, DATETIME, YEAR, NEWDATE, VARCHAR, BIT = 10, 11, 12, 13, 14, 15, 16
TIMESTAMP2, DATETIME2, TIME2 = 17, 18, 19
JSON, NEWDECIMAL, ENUM, SET = 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = 249, 250, 251, 252, 253, 254, 255
DECIMAL = 0

INTEGERS = {TINY: "b", SHORT: "h", YEAR: "h", LONG: "i", INT24: "i", LONGLONG: "q"}
"""How each is packed; the unsigned one has the capital letter."""
BLOBS = frozenset((TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB))
TEXTS = frozenset((BIT, VARCHAR, VAR_STRING, STRING, *BLOBS, GEOMETRY))
BINARY = 63
"""The character set of what is no text."""
UNSIGNED = 1 << 5

UTF8 = frozenset(
    (
        33,
        45,
        46,
        76,
        83,
        *range(192, 216),
        *range(223, 248),
        *range(255, 324),
        576,
        608,
        1057,
        1069,
        1107,
        1070,
    )
)
LATIN1 = frozenset((5, 8, 15, 31, 47, 48, 49, 94))
ASCII = frozenset((11, 65))
NAMES = {
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
    "latin1": "cp1252",
    "ascii": "ascii",
    "binary": "utf-8",
}
"""Character sets by the name that SET NAMES gives, as Python's."""


def charset(collation: int) -> str | None:
    """Python's name for the character set of a collation's number; None if it is another than the common ones."""
    if collation in UTF8 or collation == BINARY or 2048 <= collation < 2560:
        return "utf-8"
    return "cp1252" if collation in LATIN1 else "ascii" if collation in ASCII else None


@dataclass(frozen=True, slots=True)
class Field:
    """A column of an answer."""

    kind: int
    collation: int
    flags: int


def field_of(contents: bytes, extended: bool) -> Field:
    """From a column's description."""
    read = Reader(contents)
    for _ in range(6):  # catalog, schema, table, its own name, the column, its own name
        read.text()
    if extended:
        read.text()
    read.number()
    collation = read.two()
    read.four()
    kind = read.byte()
    return Field(kind, collation, read.two())


Row = tuple[Any, ...]


def text_row(contents: bytes, makers: Sequence[Callable[[bytes], Any]]) -> Row:
    """Of an answer to a text."""
    read = Reader(contents)
    made = []
    for make in makers:
        found = read.text()
        made.append(None if found is None else make(found))
    return tuple(made)


def makers_of(fields: Sequence[Field], encoding: str | None) -> list[Callable[[bytes], Any]]:
    """What makes the values of each column, in a text row."""
    return [_maker(field, encoding) for field in fields]


def _maker(field: Field, encoding: str | None) -> Callable[[bytes], Any]:
    kind = field.kind
    if kind in INTEGERS:
        return _integer
    if kind in (FLOAT, DOUBLE):
        return _float
    if kind in (DECIMAL, NEWDECIMAL):
        return _decimal
    if kind in (DATETIME, TIMESTAMP):
        return _datetime
    if kind in (DATE, NEWDATE):
        return _date
    if kind == TIME:
        return _duration
    return _text_maker(field, encoding)


def _text_maker(field: Field, encoding: str | None) -> Callable[[bytes], Any]:
    if field.collation == BINARY and field.kind != JSON and field.kind in TEXTS:
        return bytes
    name = charset(field.collation) if field.collation != BINARY else encoding
    return bytes if name is None else lambda found: decoded(found, name)


def decoded(found: bytes, encoding: str | None) -> Any:
    try:
        return found.decode(encoding or "ascii")
    except (UnicodeDecodeError, LookupError):
        return found


def _integer(found: bytes) -> Any:
    try:
        return int(found)
    except ValueError:
        return found


def _float(found: bytes) -> Any:
    try:
        return float(found)
    except ValueError:
        return found


def _decimal(found: bytes) -> Any:
    try:
        return Decimal(found.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        return found


def _datetime(found: bytes) -> Any:
    text = decoded(found, "ascii")
    try:
        return datetime.fromisoformat(_whole(text)) if isinstance(text, str) else found
    except ValueError:
        return text


def _whole(text: str) -> str:
    """Python 3.10 reads fractions of three or six digits only."""
    start, point, fraction = text.partition(".")
    return f"{start}.{fraction:0<6}" if point and len(fraction) < 6 else text


def _date(found: bytes) -> Any:
    text = decoded(found, "ascii")
    try:
        return date.fromisoformat(text) if isinstance(text, str) else found
    except ValueError:
        return text


def _duration(found: bytes) -> Any:
    try:
        text = found.decode("ascii")
        sign = -1 if text.startswith("-") else 1
        hours, minutes, seconds = text.lstrip("-").split(":")
        whole, _, fraction = seconds.partition(".")
        return sign * timedelta(
            hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=int(f"{fraction:0<6}")
        )
    except ValueError:
        return found


# --- binary rows and parameters


def binary_row(contents: bytes, fields: Sequence[Field], encoding: str | None) -> Row:
    """Of an answer to a prepared statement."""
    read = Reader(contents, 1)
    absent = read.take((len(fields) + 7 + 2) // 8)
    made: list[Any] = []
    for place, field in enumerate(fields, start=2):
        if absent[place >> 3] & 1 << (place & 7):
            made.append(None)
            continue
        kind = field.kind
        if kind in INTEGERS or kind in FIXED:
            made.append(fixed(read, kind, bool(field.flags & UNSIGNED)))
        elif kind in (DECIMAL, NEWDECIMAL):
            made.append(_decimal(_given(read)))
        else:
            made.append(_text_maker(field, encoding)(_given(read)))
    return tuple(made)


def _given(read: Reader) -> bytes:
    found = read.text()
    if found is None:
        raise Malformed("found NULL in place of a value")
    return found


def fixed(read: Reader, kind: int, unsigned: bool) -> Any:
    """A number, a date or a time, as binary rows and parameters have it."""
    letter = INTEGERS.get(kind)
    if letter is not None:
        layout = f"<{letter.upper() if unsigned else letter}"
        return struct.unpack(layout, read.take(struct.calcsize(layout)))[0]
    if kind == DOUBLE:
        return struct.unpack("<d", read.take(8))[0]
    if kind == FLOAT:
        return struct.unpack("<f", read.take(4))[0]
    return _duration_of(read) if kind == TIME else _moment(read, kind)


FIXED = frozenset((DOUBLE, FLOAT, TIME, DATE, DATETIME, TIMESTAMP, NEWDATE))


def _moment(read: Reader, kind: int) -> Any:
    size = read.byte()
    parts = Reader(read.take(size))
    year, month, day = (parts.two(), parts.byte(), parts.byte()) if size >= 4 else (0, 0, 0)
    hour, minute, second = (parts.byte(), parts.byte(), parts.byte()) if size >= 7 else (0, 0, 0)
    fraction = parts.four() if size >= 11 else 0
    try:
        if kind in (DATE, NEWDATE):
            return date(year, month, day)
        return datetime(year, month, day, hour, minute, second, fraction)
    except ValueError:  # dates of zeros, which PyMySQL leaves as text
        shown = f"{year:04}-{month:02}-{day:02}"
        return shown if kind in (DATE, NEWDATE) else f"{shown} {hour:02}:{minute:02}:{second:02}"


def _duration_of(read: Reader) -> Any:
    size = read.byte()
    parts = Reader(read.take(size))
    if size < 8:
        return timedelta(0)
    sign = -1 if parts.byte() else 1
    days, hours, minutes, seconds = parts.four(), parts.byte(), parts.byte(), parts.byte()
    fraction = parts.four() if size >= 12 else 0
    try:
        return sign * timedelta(
            days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction
        )
    except OverflowError:
        return b""


def parameter(read: Reader, kind: int, unsigned: bool, encoding: str | None) -> Any:
    """One parameter of a prepared statement. Whether a string is text or bytes, its column decides."""
    if kind in INTEGERS or kind in FIXED:
        return fixed(read, kind, unsigned)
    return string_parameter(_given(read), kind, encoding)


def string_parameter(found: bytes, kind: int, encoding: str | None) -> Any:
    if kind in (DECIMAL, NEWDECIMAL):
        return _decimal(found)
    return octets(found, encoding)


def octets(found: bytes, encoding: str | None) -> Octets:
    """A string in the client's character set; None: that is not known."""
    if encoding is None:
        return Octets(None, found.decode() if found.isascii() else None)
    text = decoded(found, encoding)
    return Octets(found, text if isinstance(text, str) else None)

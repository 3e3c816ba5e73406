"""What a value is called in the trace: one label for what was written, and the same one for what is read back.

A database does not give back what it was given: 10 comes back as Decimal("10.00"), '5' as 5, a CHAR with its blanks, a
time in another zone. A trace in which one value has two names accuses the database of values from nowhere. So each kind
of column has a rule that gives the parameter and the result the same label; where it cannot be sure (a number that
will be rounded, a text that may be cut), the value is `Unknown`, and whoever reads it later is left out.

Two values may share a label, that only tells less. All labels of a kind have one type, so that conditions can compare
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any
from uuid import UUID

from boomslang.record.sql.schema import Column, Unknown

EXACT_FLOAT = 2**53
DIGITS = re.compile(r"[+-]?[0-9]{1,18}")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
HOUR = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
DATE, TIME = re.compile(DAY), re.compile(HOUR)
MOMENT = re.compile(f"{DAY}(?:[ T]{HOUR})?")
"""Times as text that every database reads alike. Python reads more: weeks, any letter in between, a seventh digit."""
PRINTABLE = re.compile(r"[ -~]*")


@dataclass(frozen=True, slots=True)
class Octets:
    """A string of MySQL's protocol: whether it is text or bytes, the column decides that it goes to. None: of either,
    nobody knows what the server makes of it."""

    raw: bytes | None
    text: str | None

    def of(self, column: Column) -> Any:
        found = self.raw if column.kind == "bytes" else self.text
        return Unknown if found is None else found


def label(column: Column, value: Any) -> Any:
    """A value of this column, written or read, as the trace says it."""
    if column.silent is not None:
        return Unknown
    if type(value) is Octets:
        value = value.of(column)
    if value is None:
        return Unknown if column.required else None
    return RULES[column.kind](column, value)


def key_label(column: Column, value: Any) -> Any:
    """A part of a primary key. NULL is none; and what the database takes for the same row has the same label."""
    if value is None or column.silent is not None:
        return Unknown
    if type(value) is Octets:
        value = value.of(column)
    if not column.exact and column.kind in AS_WRITTEN:
        return value if type(value) is str and (MOMENT.fullmatch(value) or TIME.fullmatch(value)) else Unknown
    made = RULES[column.kind](column, value)
    if isinstance(made, float):
        return Unknown
    return _overlooked(column, made) if isinstance(made, str) and not column.exact else made


AS_WRITTEN = ("timestamp", "date", "time")
"""Times that a database keeps as the text they were written as: two spellings of one moment are two rows."""


def _overlooked(column: Column, made: str) -> Any:
    """Some collation overlooks case, accents or blanks. Of plain characters it is known what it overlooks."""
    if column.overlooks is None or not PRINTABLE.fullmatch(made):
        return Unknown
    if "case" in column.overlooks:
        made = made.lower()
    return made.rstrip(" ") if "blanks" in column.overlooks else made


def _integer(column: Column, value: Any) -> Any:
    made: int | None = None
    if (
        type(value) in (int, bool)
        or (type(value) is float and value.is_integer() and abs(value) < EXACT_FLOAT)
        or (type(value) is Decimal and value.is_finite() and value == value.to_integral_value())
        or (type(value) is str and DIGITS.fullmatch(value))
    ):
        made = int(value)
    if made is None or not within(column, made):
        return Unknown
    return made


def within(column: Column, made: int) -> bool:
    return column.range is None or column.range[0] <= made <= column.range[1]


def _boolean(column: Column, value: Any) -> Any:
    return bool(value) if type(value) in (bool, int) and value in (0, 1) else Unknown


def _text(column: Column, value: Any) -> Any:
    if type(value) is not str or (column.length is not None and len(value) > column.length):
        return Unknown
    return value if "\0" not in value and _sayable(value) else Unknown


def _ascii(column: Column, value: Any) -> Any:
    """A character set that does not hold everything."""
    return _text(column, value) if type(value) is str and value.isascii() else Unknown


def _padded(column: Column, value: Any) -> Any:
    """Blanks at the end do not count."""
    return _text(column, value.rstrip(" ")) if type(value) is str else Unknown


def _padded_ascii(column: Column, value: Any) -> Any:
    return _padded(column, value) if type(value) is str and value.isascii() else Unknown


def _sayable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _double(column: Column, value: Any) -> Any:
    if (type(value) is int and abs(value) <= EXACT_FLOAT) or type(value) is Decimal:
        value = float(value)
    if (
        type(value) is not float
        or not isfinite(value)
        or (column.range is not None and value < column.range[0])
    ):
        return Unknown
    return value


def _decimal(column: Column, value: Any) -> Any:
    """A number of at most 15 digits: an integer, or the float that is written so."""
    try:
        if type(value) in (int, Decimal) or (type(value) is str and NUMBER.fullmatch(value)):
            exact = Decimal(value)
        elif type(value) is float:
            exact = Decimal(repr(value))
        else:
            return Unknown
    except InvalidOperation:
        return Unknown
    if not exact.is_finite():
        return Unknown
    exact = exact.normalize()
    if len(exact.as_tuple().digits) > 15 or abs(exact.adjusted()) > 30:
        return Unknown
    if column.scale is not None and -int(exact.as_tuple().exponent) > column.scale:
        return Unknown
    if column.range is not None and not column.range[0] <= exact <= column.range[1]:
        return Unknown
    if exact == exact.to_integral_value():
        return int(exact)
    return float(exact)


def _timestamp(column: Column, value: Any) -> Any:
    if type(value) is str:
        try:
            value = datetime.fromisoformat(value) if MOMENT.fullmatch(value) else None
        except ValueError:
            return Unknown
    if not isinstance(value, datetime) or value.tzinfo is not None or not _precise(column, value.microsecond):
        return Unknown
    return _moment(value)


def _moment(value: datetime) -> str:
    return f"{value.year:04}-{value.month:02}-{value.day:02} {value:%H:%M:%S.%f}"


def _precise(column: Column, microsecond: int) -> bool:
    return column.scale is None or microsecond % 10 ** (6 - min(column.scale, 6)) == 0


def _zoned(column: Column, value: Any) -> Any:
    if not isinstance(value, datetime) or value.tzinfo is None or not _precise(column, value.microsecond):
        return Unknown
    try:
        return _moment(value.astimezone(timezone.utc)) + "Z"
    except OverflowError:
        return Unknown


def _date(column: Column, value: Any) -> Any:
    if type(value) is str:
        try:
            value = date.fromisoformat(value) if DATE.fullmatch(value) else None
        except ValueError:
            return Unknown
    return value.isoformat() if type(value) is date else Unknown


def _time(column: Column, value: Any) -> Any:
    if type(value) is str:
        try:
            value = time.fromisoformat(value) if TIME.fullmatch(value) else None
        except ValueError:
            return Unknown
    if type(value) is not time or value.tzinfo is not None or not _precise(column, value.microsecond):
        return Unknown
    return f"{value:%H:%M:%S.%f}"


def _uuid(column: Column, value: Any) -> Any:
    if isinstance(value, UUID):  # asyncpg has its own
        return str(UUID(int=value.int))
    try:
        return str(UUID(value)) if type(value) is str else Unknown
    except ValueError:
        return Unknown


def _bytes(column: Column, value: Any) -> Any:
    if not isinstance(value, bytes | bytearray | memoryview):
        return Unknown
    made = bytes(value)
    return made if column.length is None or len(made) <= column.length else Unknown


def _enum(column: Column, value: Any) -> Any:
    known = column.members is None or value in column.members if type(value) is str else False
    return value if known else Unknown


def _numeric(column: Column, value: Any) -> Any:
    """SQLite's affinity NUMERIC: whatever looks like a number becomes one."""
    return _decimal(column, int(value) if type(value) is bool else value)


RULES: dict[str, Callable[[Column, Any], Any]] = {
    "integer": _integer,
    "boolean": _boolean,
    "text": _text,
    "ascii": _ascii,
    "padded": _padded,
    "padded ascii": _padded_ascii,
    "double": _double,
    "decimal": _decimal,
    "timestamp": _timestamp,
    "zoned": _zoned,
    "date": _date,
    "time": _time,
    "uuid": _uuid,
    "bytes": _bytes,
    "enum": _enum,
    "numeric": _numeric,
}
"""By the kind of the column. A kind that is not here is never recorded."""

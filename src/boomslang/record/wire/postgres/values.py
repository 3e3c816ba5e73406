"""PostgreSQL's values, in the text and the binary format, as Python's: those that psycopg would give.

What is not known here is `Unknown`: nobody guesses. A text of a type that has no rule is that text, as psycopg has it.
A parameter whose type the client left open (0) is to PostgreSQL what a quoted literal is, so it is a text here too.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from boomslang.record.sql.schema import Unknown

Decode = Callable[[bytes], Any]

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID = 16, 17, 18, 19, 20, 21, 23, 25, 26
FLOAT4, FLOAT8, VARCHAR, BPCHAR, UNKNOWN = 700, 701, 1043, 1042, 705
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, NUMERIC, UUID_ = 1082, 1083, 1114, 1184, 1700, 2950
TEXTS = (0, CHAR, NAME, TEXT, VARCHAR, BPCHAR, UNKNOWN)
ARRAYS = {
    1000: BOOL,
    1001: BYTEA,
    1003: NAME,
    1005: INT2,
    1007: INT4,
    1009: TEXT,
    1014: BPCHAR,
    1015: VARCHAR,
    1016: INT8,
    1021: FLOAT4,
    1022: FLOAT8,
    1028: OID,
    1115: TIMESTAMP,
    1182: DATE,
    1183: TIME,
    1185: TIMESTAMPTZ,
    1231: NUMERIC,
    2951: UUID_,
}
"""Types of arrays, and of their elements."""

MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?([+-]\d\d(?::?\d\d){0,2}|Z)?"
)
CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?")
ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"]+)', re.DOTALL)
MIDNIGHT = datetime(2000, 1, 1)
DAY = date(2000, 1, 1)


class Encoding:
    """How a connection writes text, and dates: from the server's ParameterStatus."""

    def __init__(self) -> None:
        self.codec: str | None = "utf-8"
        self.iso = True
        self._rows: dict[tuple[Any, ...], list[Decode] | None] = {}

    def told(self, name: bytes, value: bytes) -> None:
        if name == b"client_encoding":
            known = {"UTF8": "utf-8", "SQL_ASCII": "ascii", "LATIN1": "latin-1"}
            self.codec = known.get(value.decode("ascii", "replace").upper())
            self._rows.clear()
        elif name == b"DateStyle":
            self.iso = value.upper().startswith(b"ISO")
            self._rows.clear()

    def text(self, raw: bytes) -> Any:
        if self.codec is None:
            return Unknown
        try:
            return raw.decode(self.codec)
        except UnicodeDecodeError:
            return Unknown

    def statement(self, raw: bytes) -> str:
        """A statement; of one that cannot be read whole, each foreign byte is a mark that no parser takes."""
        return raw.decode(self.codec or "ascii", "replace")

    def decoders(self, types: tuple[int, ...], formats: tuple[int, ...]) -> list[Decode] | None:
        """One for each column; None if types and formats do not fit each other."""
        place = (types, formats)
        if place not in self._rows:
            if len(self._rows) > 2000:
                self._rows.clear()
            spread = _spread(formats, len(types))
            self._rows[place] = (
                None if spread is None else [self.decoder(t, f) for t, f in zip(types, spread, strict=True)]
            )
        return self._rows[place]

    def decoder(self, type_: int, format_: int) -> Decode:
        if type_ in TEXTS:
            return self.text if format_ == 0 or type_ != 0 else _unknown
        element = ARRAYS.get(type_)
        if format_ == 0:
            if element is not None:
                inner = self.decoder(element, 0)
                return lambda raw: _array_text(self.text(raw), inner)
            if type_ in (DATE, TIME, TIMESTAMP, TIMESTAMPTZ) and not self.iso:
                return _unknown
            rule = TEXT_RULES.get(type_)
            return self.text if rule is None else lambda raw: _careful(rule, raw)
        if element is not None:
            return lambda raw: _careful(lambda r: _array_binary(r, self), raw)
        binary = BINARY_RULES.get(type_)
        return _unknown if binary is None else lambda raw: _careful(binary, raw)


def _spread(formats: tuple[int, ...], count: int) -> Sequence[int] | None:
    """None: all text; one: for all; else one each."""
    if not formats:
        return (0,) * count
    if len(formats) == 1:
        return formats * count
    return formats if len(formats) == count else None


def parameters(
    encoding: Encoding, types: Sequence[int], formats: tuple[int, ...], raw: Sequence[bytes | None]
) -> list[Any]:
    """Those of a Bind. Types that were not told are open."""
    spread = _spread(formats, len(raw)) or (1,) * len(raw)
    made: list[Any] = []
    for number, value in enumerate(raw):
        type_ = types[number] if number < len(types) else 0
        made.append(None if value is None else encoding.decoder(type_, spread[number])(value))
    return made


def row(decoders: Sequence[Decode], raw: Sequence[bytes | None]) -> tuple[Any, ...]:
    return tuple(
        None if value is None else decode(value) for decode, value in zip(decoders, raw, strict=True)
    )


def _unknown(raw: bytes) -> Any:
    return Unknown


def _careful(rule: Decode, raw: bytes) -> Any:
    try:
        return rule(raw)
    except (ValueError, ArithmeticError, InvalidOperation, struct.error, IndexError):
        return Unknown


# --- text


def _bool(raw: bytes) -> Any:
    return {b"t": True, b"f": False, b"true": True, b"false": False}.get(raw.lower(), Unknown)


def _bytea(raw: bytes) -> Any:
    return bytes.fromhex(raw[2:].decode("ascii")) if raw.startswith(b"\\x") else Unknown


def _integer(raw: bytes) -> Any:
    return int(raw) if b"_" not in raw else Unknown


def _float(raw: bytes) -> Any:
    return float(raw) if b"_" not in raw else Unknown


def _numeric(raw: bytes) -> Any:
    return Decimal(raw.decode("ascii")) if b"_" not in raw else Unknown


def _date(raw: bytes) -> Any:
    return date.fromisoformat(raw.decode("ascii")) if len(raw) == 10 else Unknown


def _time(raw: bytes) -> Any:
    found = CLOCK.fullmatch(raw.decode("ascii", "replace"))
    return _clock(*found.groups()) if found else Unknown


def _clock(hour: str | None, minute: str | None, second: str | None, part: str | None) -> time:
    return time(int(hour or 0), int(minute or 0), int(second or 0), int((part or "").ljust(6, "0")))


def _moment(raw: bytes) -> tuple[datetime, timezone | None] | None:
    found = MOMENT.fullmatch(raw.decode("ascii", "replace"))
    if found is None:
        return None
    year, month, day, *clock, zone = found.groups()
    made = datetime.combine(date(int(year), int(month), int(day)), _clock(*clock))
    if zone is None:
        return made, None
    if zone == "Z":
        return made, timezone.utc
    digits = zone[1:].replace(":", "").ljust(6, "0")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))
    return made, timezone(-away if zone[0] == "-" else away)


def _timestamp(raw: bytes) -> Any:
    found = _moment(raw)
    return Unknown if found is None or found[1] is not None else found[0]


def _timestamptz(raw: bytes) -> Any:
    """Without a zone it is in the connection's, which may change: nobody knows."""
    found = _moment(raw)
    return Unknown if found is None or found[1] is None else found[0].replace(tzinfo=found[1])


def _array_text(text: Any, inner: Decode) -> Any:
    """One dimension: {1,NULL,"a,b"}."""
    if not isinstance(text, str) or not (text.startswith("{") and text.endswith("}")):
        return Unknown
    body = text[1:-1]
    made: list[Any] = []
    at = 0
    while at < len(body):
        found = ELEMENT.match(body, at)
        if found is None:
            return Unknown
        quoted, plain = found.groups()
        if plain is not None and plain.upper() == "NULL":
            made.append(None)
        else:
            made.append(
                inner((re.sub(r"\\(.)", r"\1", quoted, flags=re.S) if plain is None else plain).encode())
            )
        at = found.end()
        if at < len(body):
            if body[at] != "," or at + 1 == len(body):
                return Unknown
            at += 1
    return made


TEXT_RULES: dict[int, Decode] = {
    BOOL: _bool,
    BYTEA: _bytea,
    INT2: _integer,
    INT4: _integer,
    INT8: _integer,
    OID: _integer,
    FLOAT4: _float,
    FLOAT8: _float,
    NUMERIC: _numeric,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: _timestamptz,
    UUID_: lambda raw: UUID(raw.decode("ascii")),
}

# --- binary


def _packed(code: str) -> Decode:
    unpack = struct.Struct(f"!{code}").unpack
    return lambda raw: unpack(raw)[0]


def _binary_numeric(raw: bytes) -> Any:
    """Digits of base 10000, the weight of the first, a sign, and how many digits are behind the point."""
    count, weight, sign, scale = struct.unpack_from("!HhHH", raw)
    digits = struct.unpack_from(f"!{count}H", raw, 8)
    if sign not in (0, 0x4000):
        return Decimal("NaN") if sign == 0xC000 else Unknown
    whole = 0
    for digit in digits:
        whole = whole * 10000 + digit
    made = Decimal(whole).scaleb(4 * (weight + 1 - count)) if whole else Decimal(0)
    with suppress(InvalidOperation):
        made = made.quantize(Decimal(1).scaleb(-scale))
    return -made if sign else made


_long = _packed("q")
_int = _packed("i")
ENDLESS = (-(1 << 63), (1 << 63) - 1)


def _binary_timestamp(raw: bytes) -> Any:
    micros = _long(raw)
    return Unknown if micros in ENDLESS else MIDNIGHT + timedelta(microseconds=micros)


def _binary_timestamptz(raw: bytes) -> Any:
    made = _binary_timestamp(raw)
    return made.replace(tzinfo=timezone.utc) if isinstance(made, datetime) else made


def _binary_time(raw: bytes) -> Any:
    return (MIDNIGHT + timedelta(microseconds=_long(raw))).time() if _long(raw) < 86_400_000_000 else Unknown


def _array_binary(raw: bytes, encoding: Encoding) -> Any:
    dimensions, _, element = struct.unpack_from("!iiI", raw)
    if dimensions == 0:
        return []
    if dimensions != 1:
        return Unknown
    (count,) = struct.unpack_from("!i", raw, 12)
    decode = encoding.decoder(element, 1)
    at = 20
    made: list[Any] = []
    for _ in range(count):
        (size,) = struct.unpack_from("!i", raw, at)
        at += 4
        if size < 0:
            made.append(None)
            continue
        made.append(decode(raw[at : at + size]))
        at += size
    return made


BINARY_RULES: dict[int, Decode] = {
    BOOL: lambda raw: bool(raw[0]),
    BYTEA: bytes,
    INT2: _packed("h"),
    INT4: _int,
    INT8: _long,
    OID: _packed("I"),
    FLOAT4: _packed("f"),
    FLOAT8: _packed("d"),
    NUMERIC: _binary_numeric,
    DATE: lambda raw: DAY + timedelta(days=_int(raw)),
    TIME: _binary_time,
    TIMESTAMP: _binary_timestamp,
    TIMESTAMPTZ: _binary_timestamptz,
    UUID_: lambda raw: UUID(bytes=bytes(raw)),
}

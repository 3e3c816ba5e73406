"""PostgreSQL's messages: a letter, a length, and that many bytes; and what is read of those that matter.

A message that is larger than what is held is not waited for: `Frames` tells its letter and its size, and lets its bytes
go by.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from boomslang.record.wire.exchange import ServerError
from boomslang.record.wire.relay import Malformed

HELD = 1 << 20
"""Bytes of a message that are held; a larger one goes by unread."""
LARGEST = 1 << 30
"""No message of PostgreSQL is larger."""

LENGTH = struct.Struct("!i")
TWO = struct.Struct("!H")
HEADER = struct.Struct("!ci")
FIELD = struct.Struct("!IhIhih")


class Message(NamedTuple):
    """Where a message is in `Frames.buffer`: its body from `start` to `end`, its letter before. A message that was not
    held has no end here: `end` is -1."""

    letter: int
    start: int
    end: int
    size: int
    """Of its body."""


class Frames:
    """One direction's bytes, cut into messages."""

    def __init__(self) -> None:
        self.data = b""
        """What waits for more."""
        self.buffer = b""
        """What the messages are places in."""
        self._skip = self._before = 0
        """Bytes of a large message that are still to come; now, and when the buffer began."""

    @property
    def at_start(self) -> bool:
        """Of a message."""
        return not self.data and not self._skip

    def again(self) -> None:
        """Nothing of the buffer was used: look at it again with what comes next."""
        self.data, self._skip = self.buffer, self._before

    def messages(self, data: bytes) -> Iterator[Message]:
        """Those that are whole now, or too large to be held. What is left of the data waits for more."""
        if self.data:
            data = self.data + data
        at = 0
        self._before = self._skip
        if self._skip:
            at = min(self._skip, len(data))
            self._skip -= at
        self.buffer, self.data = data, b""
        have = len(data)
        unpack = HEADER.unpack_from
        while have - at >= 5:
            letter, size = unpack(data, at)
            if size < 4 or size > LARGEST or not letter.isalnum():
                raise Malformed(f"a message {letter!r} of {size} bytes")
            end = at + 1 + size
            if end > have and size <= HELD:
                break
            start, at = at + 5, min(end, have)
            self._skip = end - at
            yield Message(letter[0], start, end if size <= HELD else -1, size - 4)
        self.data = data[at:] if at else data


def whole(data: bytes | bytearray) -> int:
    """How many bytes of this are whole messages."""
    at = 0
    while len(data) - at >= 5:
        size: int = LENGTH.unpack_from(data, at + 1)[0]
        if size < 4:
            return len(data)  # nobody will read on
        if at + 1 + size > len(data):
            break
        at += 1 + size
    return at


def text_at(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    """A text up to its zero byte, and where it goes on."""
    zero = data.find(b"\0", at, end)
    if zero < 0:
        raise Malformed("a text without an end")
    return data[at:zero], zero + 1


def numbers(data: bytes, at: int, end: int, code: str, size: int) -> tuple[tuple[int, ...], int]:
    """A count of two bytes, and that many numbers."""
    count = _two(data, at, end)
    after = at + 2 + count * size
    if after > end:
        raise Malformed(f"{count} numbers where there is no room for them")
    return struct.unpack_from(f"!{count}{code}", data, at + 2), after


def _two(data: bytes, at: int, end: int) -> int:
    if at + 2 > end:
        raise Malformed("a message that ends too early")
    return int(TWO.unpack_from(data, at)[0])


class Parse(NamedTuple):
    name: bytes
    text: bytes
    types: tuple[int, ...]


def parse(data: bytes, at: int, end: int) -> Parse:
    name, at = text_at(data, at, end)
    text, at = text_at(data, at, end)
    types, at = numbers(data, at, end, "I", 4)
    return Parse(name, text, types)


class Bind(NamedTuple):
    portal: bytes
    statement: bytes
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


def bind(data: bytes, at: int, end: int) -> Bind:
    portal, at = text_at(data, at, end)
    statement, at = text_at(data, at, end)
    formats, at = numbers(data, at, end, "h", 2)
    values, at = fields(data, at, end)
    results, at = numbers(data, at, end, "h", 2)
    return Bind(portal, statement, formats, values, results)


def fields(data: bytes, at: int, end: int) -> tuple[tuple[bytes | None, ...], int]:
    """The values of a Bind or of a row: a count, then each one's length (-1: NULL) and bytes."""
    count = _two(data, at, end)
    at += 2
    found: list[bytes | None] = []
    for _ in range(count):
        if at + 4 > end:
            raise Malformed("a row that ends too early")
        (size,) = LENGTH.unpack_from(data, at)
        at += 4
        if size < 0:
            found.append(None)
            continue
        if at + size > end:
            raise Malformed("a value that ends too late")
        found.append(data[at : at + size])
        at += size
    return tuple(found), at


def column_types(data: bytes, at: int, end: int) -> tuple[int, ...]:
    """The types of a RowDescription."""
    count = _two(data, at, end)
    at += 2
    types = []
    for _ in range(count):
        _, at = text_at(data, at, end)
        if at + FIELD.size > end:
            raise Malformed("a description that ends too early")
        types.append(FIELD.unpack_from(data, at)[2])
        at += FIELD.size
    return tuple(types)


def formats_of_columns(data: bytes, at: int, end: int) -> tuple[int, ...]:
    count = _two(data, at, end)
    at += 2
    found = []
    for _ in range(count):
        _, at = text_at(data, at, end)
        if at + FIELD.size > end:
            raise Malformed("a description that ends too early")
        found.append(FIELD.unpack_from(data, at)[5])
        at += FIELD.size
    return tuple(found)


def error(data: bytes, at: int, end: int) -> ServerError:
    """An ErrorResponse, as psycopg would say it."""
    parts: dict[int, str] = {}
    while at < end and data[at]:
        kind = data[at]
        text, at = text_at(data, at + 1, end)
        parts[kind] = text.decode(errors="replace")
    return ServerError(parts.get(77, "an error without a message"), parts.get(67))


def message(letter: bytes, body: bytes) -> bytes:
    return HEADER.pack(letter, len(body) + 4) + body


def refusal(why: str) -> bytes:
    """An ErrorResponse of ours."""
    said = f"boomslang: {why}".encode(errors="replace").replace(b"\0", b"?")
    return message(b"E", b"SFATAL\0VFATAL\0C08006\0M" + said[:8000] + b"\0\0")


OURS = b"boomslang_asks"


def question(text: str) -> bytes:
    """A query of ours, by names of ours: what the client has prepared without a name stays as it is."""
    name = OURS + b"\0"
    return b"".join(
        (
            message(b"P", name + text.encode() + b"\0\0\0"),
            message(b"B", name + name + b"\0\0\0\0\0\0"),
            message(b"D", b"P" + name),
            message(b"E", name + b"\0\0\0\0"),
            message(b"C", b"P" + name),
            message(b"C", b"S" + name),
            message(b"S", b""),
        )
    )

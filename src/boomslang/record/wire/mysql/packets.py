"""MySQL's packets: three bytes of length, a sequence number, and the contents.

Contents of 16 MB and more come in several packets: each full one is followed by another, and the first that is not full
is the last. What is longer than anything that a trace can say is not kept; its bytes are passed on all the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from boomslang.record.wire.relay import Malformed

FULL = 0xFFFFFF
HEAD = 4
KEPT = 64 << 20
"""Bytes of one message that are kept, and so understood. A trace has no longer lines."""

PIECE = -1

_two, _four, _eight = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")


class Message:
    """One message, whole, and the bytes that it came in."""

    __slots__ = ("_contents", "first", "number", "raw")

    def __init__(self, raw: bytes, first: int, number: int, contents: bytes | None) -> None:
        self.raw = raw
        self.first = first
        """The byte that it begins with; -1 if it is empty."""
        self.number = number
        """The sequence number that it ends with; PIECE if there is more of it to come."""
        self._contents = contents

    @property
    def contents(self) -> bytes | None:
        """What it says; None if that is longer than what is kept."""
        return self.raw[HEAD:] if self._contents == b"" else self._contents


class Packets:
    """The messages of one direction, from bytes as they come.

    A message is given out when it is whole. Of one that grows too long the pieces are given out as they come.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._bytes = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._first = -1
        self._dropped = False

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now."""
        if self._bytes:
            data = self._bytes + data
            self._bytes = b""
        at, end = 0, len(data)
        while end - at >= HEAD:
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            after = at + HEAD + size
            if after > end:
                break
            raw, number = data[at:after], data[at + 3]
            at = after
            if size < FULL and not self._parts and not self._dropped:
                yield Message(raw, raw[HEAD] if size else -1, number, b"")
            else:
                yield from self._continued(raw, number, size < FULL)
        self._bytes = data[at:]

    @property
    def partial(self) -> bool:
        """A message has begun."""
        return bool(self._bytes or self._parts or self._dropped)

    def _continued(self, raw: bytes, number: int, last: bool) -> Iterator[Message]:
        if not self._parts and not self._dropped:
            self._first = raw[HEAD]
        self._parts.append(raw)
        self._size += len(raw)
        self._dropped = self._dropped or self._size > self._kept
        if not last and not self._dropped:
            return
        contents = None if self._dropped else b"".join(part[HEAD:] for part in self._parts)
        made = Message(b"".join(self._parts), self._first, number if last else PIECE, contents)
        self._parts.clear()
        if last:
            self._size, self._dropped = 0, False
        yield made


def whole(data: bytes) -> int:
    """How many bytes of this are whole packets."""
    at = 0
    while len(data) - at >= HEAD:
        after = at + HEAD + int.from_bytes(data[at : at + 3], "little")
        if after > len(data):
            break
        at = after
    return at


def framed(contents: bytes, number: int = 0) -> bytes:
    """The packets of a message of our own."""
    made = bytearray()
    at = 0
    while True:
        part = contents[at : at + FULL]
        made += len(part).to_bytes(3, "little")
        made.append(number & 0xFF)
        made += part
        number += 1
        at += FULL
        if len(part) < FULL:
            return bytes(made)


class Reader:
    """Reads a message's fields, and says Malformed where there is less than there should be."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        at = self.at
        if size < 0 or at + size > len(self.data):
            raise Malformed(f"found {len(self.data) - at} bytes where a field has {size}")
        self.at = at + size
        return self.data[at : at + size]

    def byte(self) -> int:
        at = self.at
        if at >= len(self.data):
            raise Malformed("found the end of a message in place of a byte")
        self.at = at + 1
        return self.data[at]

    def two(self) -> int:
        return int(_two.unpack(self.take(2))[0])

    def four(self) -> int:
        return int(_four.unpack(self.take(4))[0])

    def eight(self) -> int:
        return int(_eight.unpack(self.take(8))[0])

    def size(self) -> int | None:
        """A number of one to nine bytes ("length-encoded"); None is NULL."""
        first = self.byte()
        if first < 0xFB:
            return first
        if first == 0xFB:
            return None
        if first == 0xFC:
            return self.two()
        if first == 0xFD:
            return int.from_bytes(self.take(3), "little")
        if first == 0xFE:
            return self.eight()
        raise Malformed("found 255 in place of a length")

    def number(self) -> int:
        found = self.size()
        if found is None:
            raise Malformed("found NULL in place of a number")
        return found

    def text(self) -> bytes | None:
        """A text whose length precedes it; None is NULL."""
        size = self.size()
        return None if size is None else self.take(size)

    def until_nul(self) -> bytes:
        end = self.data.find(0, self.at)
        if end < 0:
            raise Malformed("found a text without an end")
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def rest(self) -> bytes:
        return self.take(self.left)

"""Keys and values: any JSON scalar, or bytes, compared by type and content.

Python calls 1, 1.0 and True equal; a trace must not: a database that returns 1.0 for a stored 1 has changed
it. So `same` and `typed` compare with the type, and a table of scalars (`Scalars`) numbers each distinct
value once. The table is three arrays rather than a list of objects: forty million values fit in about a
gigabyte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray


class _Singleton(Enum):
    Absent = "Absent"
    Unbounded = "Unbounded"

    def __repr__(self) -> str:
        return self.value

    __str__ = __repr__


AbsentType: TypeAlias = Literal[_Singleton.Absent]
UnboundedType: TypeAlias = Literal[_Singleton.Unbounded]

Absent: Final = _Singleton.Absent
"""What a read returns when there is no such key. None of the values, not even None."""

Unbounded: Final = _Singleton.Unbounded
"""The bound of a range that has none."""

Scalar: TypeAlias = bool | int | float | str | bytes | None
"""A key or a value."""

Code: TypeAlias = bytes
"""A key or a value by content: a byte for its type (see `Scalars`), then its content."""

NULL, BOOL, INT, FLOAT, STR, BYTES = range(6)
_TYPE_BYTE: Final = [bytes([kind]) for kind in range(6)]
FAMILY: Final = np.array([NULL, BOOL, INT, INT, STR, BYTES], np.uint8)
"""Of each type, the first of those that it has an order with: integers and floats are numbers, and order by size."""
_DIGITS = 4000  # below the limit of int(str) and str(int)
_LARGE = 10**_DIGITS


def typed(x: object) -> tuple[str, object]:
    """A hashable stand-in for `x` that keeps 1, 1.0, True and "1" apart."""
    return (type(x).__name__, x)


def same(a: object, b: object) -> bool:
    """Are these the same key or value, type included?"""
    return type(a) is type(b) and a == b


def int_to_text(value: int) -> str:
    """`str(value)`, without Python's limit on the number of digits."""
    value = int(value)  # a member of an enumeration may call itself something else
    if abs(value) < _LARGE:
        return str(value)
    sign, value, parts = "-" if value < 0 else "", abs(value), []
    while value >= _LARGE:
        value, low = divmod(value, _LARGE)
        parts.append(str(low).zfill(_DIGITS))
    return sign + str(value) + "".join(reversed(parts))


def text_to_int(text: str) -> int:
    """`int(text)`, without Python's limit on the number of digits."""
    if len(text) <= _DIGITS:
        return int(text)
    if text[0] == "-":
        return -text_to_int(text[1:])
    value = 0
    for at in range(0, len(text), _DIGITS):
        part = text[at : at + _DIGITS]
        value = value * 10 ** len(part) + int(part)
    return value


@dataclass(frozen=True, eq=False)
class Scalars:
    """A table of distinct scalars: `table[i]` is a Python scalar.

    `type[i]` is 0 null, 1 bool, 2 int, 3 float, 4 str, 5 bytes; `data[offset[i]:offset[i+1]]` the content:
    one byte, canonical decimal text, eight bytes of a double, UTF-8, or the bytes themselves.
    """

    type: NDArray[np.uint8]
    offset: NDArray[np.int64] | NDArray[np.int32]
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.type)

    def content(self, i: int) -> bytes:
        return self.data[self.offset[i] : self.offset[i + 1]].tobytes()

    def __getitem__(self, i: int) -> Scalar:
        if not 0 <= i < len(self.type):
            raise IndexError(f"no scalar {i} in a table of {len(self.type)}")
        kind, content = int(self.type[i]), self.content(i)
        if kind == NULL:
            return None
        if kind == BOOL:
            return content != b"\0"
        if kind == INT:
            return text_to_int(content.decode())
        if kind == FLOAT:
            return float(struct.unpack("<d", content)[0])
        return content.decode() if kind == STR else content

    def __iter__(self) -> Iterator[Scalar]:
        return (self[i] for i in range(len(self)))

    def text(self, i: int) -> str:
        """`table[i]` where it is known to be a string."""
        return self.content(i).decode()

    def code(self, i: int) -> Code:
        """`table[i]` by content."""
        return _TYPE_BYTE[int(self.type[i])] + self.content(i)

    def codes(self, chosen: NDArray[np.signedinteger[Any]] | None = None) -> list[Code]:
        """All of them, or those of these numbers, by content, which is the same in every table."""
        types, starts, ends = self.type, self.offset[:-1], self.offset[1:]
        if chosen is not None:
            types, starts, ends = types[chosen], starts[chosen], ends[chosen]
        blob = self.data.data  # a memoryview
        return [
            _TYPE_BYTE[kind] + blob[a:b]
            for kind, a, b in zip(types.tolist(), starts.tolist(), ends.tolist(), strict=True)
        ]

    @staticmethod
    def of_codes(codes: Iterable[Code]) -> Scalars:
        """The table of these. (They may repeat, if nobody looks them up in it.)"""
        listed = list(codes)
        offset = np.zeros(len(listed) + 1, np.int64)
        np.cumsum([len(code) - 1 for code in listed], out=offset[1:])
        kinds = np.frombuffer(b"".join(code[:1] for code in listed), np.uint8)
        return Scalars(kinds, offset, np.frombuffer(b"".join(code[1:] for code in listed), np.uint8))

    @staticmethod
    def of(scalars: Iterable[Any]) -> Scalars:
        """The table of these, which must be distinct."""
        types, contents = [], []
        for x in scalars:
            kind, content = _encode(x)
            types.append(kind)
            contents.append(content)
        offset = np.zeros(len(types) + 1, np.int64)
        np.cumsum([len(c) for c in contents], out=offset[1:])
        return Scalars(np.array(types, np.uint8), offset, np.frombuffer(b"".join(contents), np.uint8))

    @staticmethod
    def integers(numbers: NDArray[np.signedinteger[Any]]) -> Scalars:
        """The table of these, which must be distinct, without a Python object for each."""
        text = numbers.astype("S20").view(np.uint8).reshape(len(numbers), 20)
        used = text != 0
        offset = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(used.sum(axis=1), out=offset[1:])
        return Scalars(np.full(len(numbers), INT, np.uint8), offset, text[used])


def _encode(x: object) -> tuple[int, bytes]:
    if x is None:
        return NULL, b""
    if isinstance(x, bool):
        return BOOL, bytes([x])
    if isinstance(x, int):
        return INT, int_to_text(x).encode()
    if isinstance(x, float):
        return FLOAT, struct.pack("<d", x or 0.0)
    if isinstance(x, str):
        return STR, x.encode()
    if isinstance(x, bytes):
        return BYTES, x
    raise TypeError(f"found {type(x).__name__}; a key or value is None, bool, int, float, str or bytes")

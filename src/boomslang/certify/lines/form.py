"""What writer and reader of certificates in lines must agree on."""

from __future__ import annotations

from typing import Any, Final

from boomslang.trace.scalars import STR, Code, Scalar, Scalars

VERSION: Final = 2
LONGEST: Final = 16 << 20
"""Bytes of one line, at most."""
LONGEST_INITIAL: Final = 192 << 20
"""Of one that tells what keys held at first: keys and values may be as long as a line of a trace."""
INITIAL: Final = b'{"initial"'
"""How such a line begins."""
SOME_VALUE: Final[Code] = bytes([STR]) + b"some value that nobody read"
"""Stands in a chosen initial state for a value that the trace does not name: a delete found something there,
and nobody said what. (Whatever it is called: the replay only sees that the key was there.)"""
CHECK_WROTE: Final = "expected what `boomslang check --certificate` wrote"


def json_of(scalar: Scalar) -> Any:
    """A key or value as in a line of a trace."""
    return {"bytes": scalar.hex()} if isinstance(scalar, bytes) else scalar


def code_of(data: Any) -> Code:
    """The key or value that `json_of` wrote, by content. Raises ValueError."""
    if isinstance(data, dict):
        if set(data) != {"bytes"} or not isinstance(data["bytes"], str):
            raise ValueError(f"found {data!r} as a key or value; expected a JSON scalar, or bytes")
        data = bytes.fromhex(data["bytes"])
    if isinstance(data, list):
        raise ValueError(f"found {data!r} as a key or value; expected a JSON scalar, or bytes")
    return Scalars.of([data]).codes()[0]

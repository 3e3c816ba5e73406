"""Keys, values and hints as JSON, quickly: this runs beside every operation of the program that is recorded.

What a trace cannot say (a NaN, half of a surrogate pair, an object) is refused here, and since a record's arguments
are written out before the call is made, it is refused before anything was sent to the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any

from boomslang.errors import UsageError
from boomslang.record.rules import check_hints
from boomslang.trace.builder import scalar_text

quoted = encode_basestring
"""Text as JSON, not reduced to ASCII."""

WORD = 2**63
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def text_of(x: object) -> str:
    """A key or value as JSON."""
    if isinstance(x, str):
        return quoted(x)
    if type(x) is int and -WORD <= x < WORD:
        return str(x)
    try:
        return scalar_text(x)
    except TypeError as error:
        raise UsageError(f"{error}; fix: turn it into one of these in the same way everywhere") from None
    except ValueError:
        raise UsageError(f"found {x!r} as a key or value; expected a number that JSON can say") from None


def pairs_of(items: Iterable[tuple[object, object]]) -> str:
    return "[" + ",".join([f"[{text_of(k)},{text_of(v)}]" for k, v in items]) + "]"


def hints_of(ctx: Mapping[str, Any]) -> str:
    try:
        text = _ENCODER(dict(ctx))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"found a ctx that JSON cannot say ({error}); expected a dict of plain values"
        ) from None
    check_hints(ctx, text)
    return text


def encoded(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError as error:
        bad = line[error.start : error.end]
        raise UsageError(
            f"found {bad!r} in a key or value, half a character; expected text, or bytes"
        ) from None

"""Parameters of statements and shapes of tables as a trace says them: enough to send the same statements again.

Plain values stand for themselves. Others say what they are: {"decimal": "9.90"}, {"datetime": "2026-01-31T12:00:00"},
{"bytes": "00ff"}. What has no such name, or is long, is left out: `false` stands for all parameters of the statement.
`spoken` is the way back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

from boomslang.record.sql.labels import Octets
from boomslang.record.sql.schema import Table, Unknown
from boomslang.record.sql.text import Numbered, plain_integer

LONGEST = 2000
"""Characters of a statement's parameters."""
NUMBERED = "numbered"
"""In place of names: the parameters stand beside the text, as protocols carry them."""
DEEPEST = 8
"""Lists in lists."""
WORD = 2**63
FEW = 20
"""Integers that are never too long."""


class Unsayable(Exception):
    """A value that has no name here."""


def given_of(parameters: Any) -> Any:
    """The parameters as JSON; False if that cannot be."""
    if type(parameters) is Numbered and len(parameters) < FEW:
        whole = all(type(value) is int and -WORD <= value < WORD for value in parameters)
        if whole:  # by far the most
            return {NUMBERED: list(parameters)}
    try:
        made: Any = (
            {NUMBERED: [_said(value) for value in parameters]}
            if isinstance(parameters, Numbered)
            else {str(name): _said(value) for name, value in parameters.items()}
            if isinstance(parameters, Mapping)
            else [_said(value) for value in parameters]
        )
        text = json.dumps(made, ensure_ascii=False)
        text.encode()  # half a character cannot be said
    except (Unsayable, TypeError, ValueError, RecursionError):
        return False
    return made if len(text) <= LONGEST else False


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def given_text(parameters: Any) -> str:
    """The same as text."""
    if type(parameters) is Numbered and len(parameters) < FEW:
        for value in parameters:
            if type(value) is not int or not -WORD <= value < WORD:
                break
        else:
            return f'{{"{NUMBERED}": {list(parameters)}}}'
    return _ENCODER(given_of(parameters))


def as_given(said: Any) -> Any:
    """The parameters as drivers take them, with each value as it was said."""
    numbered = said.get(NUMBERED) if isinstance(said, dict) and len(said) == 1 else None
    return Numbered(numbered) if isinstance(numbered, list) else said


def _said(value: Any, depth: int = 0) -> Any:
    value = plain_integer(value)
    if type(value) is Octets:
        if value.raw is None and value.text is None:
            raise Unsayable
        value = value.raw if value.text is None else value.text
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if -WORD <= value < WORD else {"decimal": str(value)}
    if type(value) is float and isfinite(value):
        return value
    if type(value) in (list, tuple) and depth < DEEPEST:
        return [_said(part, depth + 1) for part in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, UUID):
        return {"uuid": str(UUID(int=value.int))}
    if type(value) is Decimal:
        return {"decimal": str(value)}
    for name, kind in (("datetime", datetime), ("date", date), ("time", time)):
        if type(value) is kind:
            return {name: value.isoformat()}
    raise Unsayable


SPOKEN: dict[str, Callable[[str], Any]] = {
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "uuid": UUID,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
}


def spoken(said: Any) -> Any:
    """The value that was said. Raises Unsayable if it is none."""
    if isinstance(said, list):
        return [spoken(part) for part in said]
    if not isinstance(said, dict):
        return said
    ((kind, text),) = said.items() if len(said) == 1 else (("", ""),)
    try:
        return SPOKEN[kind](text)
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise Unsayable(f"found the parameter {str(said)[:60]}") from None


def described(table: Table) -> dict[str, Any]:
    """A table's columns by their kinds (labels.py), its primary key, and what new rows hold by themselves."""
    made: dict[str, Any] = {
        "key": list(table.key),
        "columns": {column.name: column.kind for column in table.columns.values()},
    }
    columns = table.columns.values()
    generated = [column.name for column in columns if column.generated]
    scales = {c.name: c.scale for c in columns if c.kind == "decimal" and c.scale is not None}
    defaults = {
        c.name: c.default
        for c in columns
        if c.default is not None and c.default is not Unknown and type(c.default) in (bool, int, str, float)
    }
    now = [c.name for c in columns if c.default is Unknown and c.kind in ("timestamp", "zoned", "date")]
    for name, value in (("generated", generated), ("scales", scales), ("defaults", defaults), ("now", now)):
        if value:
            made[name] = value
    return made

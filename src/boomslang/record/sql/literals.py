"""Values that stand in SQL text: literals, parameters and casts of them. Anything that must be computed is Unknown."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from boomslang.record.sql.schema import Unknown
from boomslang.record.sql.scope import only

INTEGERS = ("SMALLINT", "INT", "BIGINT")
DIGITS = re.compile(r"[+-]?[0-9]{1,18}")
CASTS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("VARCHAR", "TEXT"), lambda v: type(v) is str),
    **dict.fromkeys(INTEGERS, lambda v: type(v) is int),
    "BOOLEAN": lambda v: type(v) is bool,
    "DOUBLE": lambda v: type(v) is float,
    "DECIMAL": lambda v: type(v) in (Decimal, int),
    "TIMESTAMP": lambda v: isinstance(v, datetime) and v.tzinfo is None,
    "TIMESTAMPNTZ": lambda v: isinstance(v, datetime) and v.tzinfo is None,
    "TIMESTAMPTZ": lambda v: isinstance(v, datetime) and v.tzinfo is not None,
    "DATE": lambda v: type(v) is date,
    "UUID": lambda v: isinstance(v, UUID),
    "TIME": lambda v: type(v) is time and v.tzinfo is None,
    "VARBINARY": lambda v: isinstance(v, bytes | bytearray | memoryview),
}
"""Casts that leave such a value as it is, by their type without a length."""


def constant(node: Any, parameters: Callable[[str], Any]) -> Any:
    """The value of an expression, if it is one that stands there; else Unknown."""
    if not only(node, "this", "is_string", "to"):
        return Unknown
    read = _READERS.get(type(node)) or _reader(type(node))
    return read(node, parameters)


Reader = Callable[[Any, Callable[[str], Any]], Any]
_READERS: dict[type, Reader] = {}
"""Of each kind of node that was met: every statement has some, so they are told apart once."""


def _reader(kind: type) -> Reader:
    from sqlglot import exp

    readers: tuple[tuple[type, Reader], ...] = (
        (exp.Paren, lambda node, parameters: constant(node.this, parameters)),
        (exp.Null, lambda node, parameters: None),
        (exp.Boolean, lambda node, parameters: bool(node.this)),
        (exp.Literal, lambda node, _: str(node.this) if node.is_string else _number(str(node.this))),
        (exp.Neg, _negative),
        (exp.Placeholder, lambda node, parameters: parameters(str(node.name))),
        (exp.Cast, _cast),
    )
    found = next((read for each, read in readers if issubclass(kind, each)), lambda node, parameters: Unknown)
    _READERS[kind] = found
    return found


def _negative(node: Any, parameters: Callable[[str], Any]) -> Any:
    inner = constant(node.this, parameters)
    return -inner if type(inner) in (int, float, Decimal) else Unknown


def _cast(node: Any, parameters: Callable[[str], Any]) -> Any:
    inner = constant(node.this, parameters)
    kind = node.to.this.name if hasattr(node.to.this, "name") else None
    if kind in INTEGERS and type(inner) is str and _is_text(node.this) and DIGITS.fullmatch(inner):
        inner = int(inner)
    kept = None if kind is None else CASTS.get(kind)
    if inner is None:
        return None
    return inner if kept is not None and kept(inner) and _fits(node.to, inner) else Unknown


def _is_text(node: Any) -> bool:
    """A literal in quotes: cast to a number it is the number that it says. (A parameter may be of another type.)"""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _fits(to: Any, value: Any) -> bool:
    """Does a cast to VARCHAR(n) or NUMERIC(p, s) leave it as it is?"""
    limits = [int(limit.name) if limit.name.isdigit() else -1 for limit in to.expressions]
    if not limits:
        return True
    if type(value) is str and len(limits) == 1:
        return len(value) <= limits[0]
    if type(value) in (int, Decimal) and len(limits) == 2:
        return bool(Decimal(value) == round(Decimal(value), limits[1]))
    return False


def _number(text: str) -> Any:
    if text.isdigit():
        return int(text)
    try:
        return Decimal(text)
    except ArithmeticError:
        return Unknown


def default_of(text: str | None, dialect: str) -> Any:
    """What a column's DEFAULT says: None if there is none, a constant, or Unknown."""
    if text is None:
        return None
    import sqlglot
    from sqlglot import exp

    try:
        node = sqlglot.parse_one(f"SELECT {text}", read=dialect).expressions[0]
    except Exception:  # whatever it is, it is not one of the simple ones
        return Unknown
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        node = node.this  # 'open'::character varying: what it makes of it, the label of the column says
    value = constant(node, lambda name: Unknown)
    return float(value) if type(value) is Decimal and dialect == "sqlite" else value

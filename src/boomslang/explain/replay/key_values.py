"""Traces of keys and values, which no SQL is in: their operations as statements over one table, kv(k, v).

A key or value that is text stands for itself, any other as JSON behind a mark that text is never seen with.
"""

from __future__ import annotations

import json
from typing import Any

from boomslang.errors import UsageError
from boomslang.trace.model import Kind, Operation, Trace
from boomslang.trace.scalars import Unbounded

MARK = "\N{WHITE BULLET}"
TEXTS = {
    "postgres": 'TEXT COLLATE "C"',
    "mysql": "VARCHAR(190) COLLATE utf8mb4_bin",
    "sqlite": "TEXT",
    "duckdb": "VARCHAR",
}
TABLE: dict[str, dict[str, Any]] = {
    dialect: {"name": "kv", "key": ["k"], "columns": [("k", text), ("v", text)], "generated": []}
    for dialect, text in TEXTS.items()
}
UPSERT = {
    "mysql": "INSERT INTO kv (k, v) VALUES ({0}, {0}) ON DUPLICATE KEY UPDATE v = VALUES(v)",
}
UPSERT_ELSE = "INSERT INTO kv (k, v) VALUES ({0}, {0}) ON CONFLICT (k) DO UPDATE SET v = excluded.v"

Made = tuple[str, list[Any], list[Operation]]


def statements_of(trace: Trace, transactions: list[int], dialect: str) -> dict[int, list[Made]]:
    """Of each transaction its statements: text, parameters and the operation."""
    mark = "%s" if dialect in ("postgres", "mysql") else "?"
    made: dict[int, list[Made]] = {}
    for t in transactions:
        steps = made.setdefault(t, [])
        for operation in trace.transaction(t).operations:
            if operation.error is None and operation.kind != Kind.NEXT:
                text, given = _statement(operation, mark, dialect)
                steps.append((text, given, [operation]))
    return made


def _statement(operation: Operation, mark: str, dialect: str) -> tuple[str, list[Any]]:
    match operation.kind:
        case Kind.GET:
            return f"SELECT v FROM kv WHERE k = {mark}", [said_key(operation.key)]
        case Kind.PUT:
            text = UPSERT.get(dialect, UPSERT_ELSE).format(mark)
            return text, [said_key(operation.key), said_value(operation.value)]
        case Kind.DELETE:
            return f"DELETE FROM kv WHERE k = {mark}", [said_key(operation.key)]
        case Kind.SCAN | Kind.ITERATOR:
            bounds = [("k >= ", operation.lo), ("k < ", operation.hi)]
            given = [(text, said_key(bound)) for text, bound in bounds if bound is not Unbounded]
            where = " AND ".join(text + mark for text, _ in given)
            return f"SELECT k, v FROM kv{f' WHERE {where}' if where else ''}", [key for _, key in given]
    raise UsageError(
        f"{operation.where}: found a {operation.kind.name.lower()}, which was not recorded from SQL; expected get, "
        "put, delete or scan, which a replay can send to a table kv(k, v)"
    )


def said_key(key: Any) -> str:
    return said_value(key)


def said_value(value: Any) -> str:
    if isinstance(value, str) and not value.startswith(MARK):
        return value
    return MARK + json.dumps(value.hex() if isinstance(value, bytes) else value)

"""Rows and their columns as keys of a trace: `orders[5]` is true if the row exists, `orders[5].total` a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boomslang.record.sql.schema import Table
from boomslang.record.statements import Record
from boomslang.trace.rows import row_key as key_of_row
from boomslang.trace.scalars import Absent

Key = tuple[Any, ...]


def row_key(table: Table, key: Key) -> str:
    return key_of_row(table.name, key)


def cell_key(table: Table, key: Key, column: str) -> str:
    return key_of_row(table.name, key, column)


def seen(table: Table, key: Key, ctx: Any = None) -> Record:
    """The row was there."""
    return Record("get", (row_key(table, key),), True, ctx)


def missing(table: Table, key: Key, ctx: Any = None) -> Record:
    return Record("get", (row_key(table, key),), Absent, ctx)


def read(table: Table, key: Key, column: str, value: Any, ctx: Any = None) -> Record:
    return Record("get", (cell_key(table, key, column),), value, ctx)


def written(table: Table, key: Key, column: str, value: Any) -> Record:
    return Record("put", (cell_key(table, key, column), value))


def created(table: Table, key: Key) -> Record:
    return Record("put", (row_key(table, key), True))


def removed(table: Table, key: Key) -> Iterable[Record]:
    yield Record("delete", (row_key(table, key),))
    for column in table.told:
        yield Record("delete", (cell_key(table, key, column.name),))


def matched(table: Table, condition: Any, keys: Iterable[Key], ctx: Any = None) -> Record:
    """These rows matched, and no others."""
    return Record("select", (table.name, condition), [(row_key(table, key), True) for key in keys], ctx)

"""RETURNING, added to a write that does not tell enough by itself: which rows it changed, and what it made of them.

    UPDATE items SET stock = stock - 1 WHERE name = 'pen'

is sent as it is with `RETURNING "id", "stock"` behind it, if the application's owner allows that (Tracer's
`add_returning`). The rows that come back are the recorder's: the application sees the count, and no rows.

It is added where it changes nothing else: to a write of one table whose rows everybody may see (row security asks more
of a statement that returns rows), that has neither LIMIT nor sub-statements, in a database that is known to have it. A
write that tells all by its text and its count stays as it is. The longer text is parsed again, and must be the same
statement but for what was added: a comment or a semicolon at the end of a text is easily misread.

MariaDB has it for DELETE, and for INSERT in a way that changes what the driver tells of generated keys; so there only
DELETE is asked. MySQL has none. DuckDB has it for all three, and answers a write with how many rows it changed: so does
the recorder in its place (record/connections.py).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from typing import Any

from boomslang.record.sql.conditions import conjuncts
from boomslang.record.sql.schema import EVERYTHING, Schema, Table
from boomslang.record.sql.scope import only, part
from boomslang.record.sql.selects import plain_table
from boomslang.record.sql.text import NotParsed, parsed
from boomslang.record.sql.writes import target_of

SQLITE_SINCE = (3, 35)
MARKS = re.compile(r"[%?:$\\\"`]")
"""In a column's name: a driver may take it for a parameter, or for the end of the name."""


def with_returning(text: str, schema: Schema, given: Any) -> str | None:
    """The text with RETURNING added; None if it needs none, or cannot have it."""
    from sqlglot import exp

    try:
        tree = parsed(text, schema.dialect, given).tree
    except NotParsed:
        return None
    if not isinstance(tree, exp.Insert | exp.Update | exp.Delete) or not _has_it(tree, schema):
        return None
    table = target_of(tree, schema)
    if table is None or not _plain(tree) or not _harmless(table):
        return None
    columns = _insert(tree, table) if isinstance(tree, exp.Insert) else _change(tree, table)
    if not columns or any(MARKS.search(name) for name in columns):
        return None
    mark = "`" if schema.dialect == "mysql" else '"'
    longer = (
        f"{text.rstrip().rstrip(';').rstrip()}\nRETURNING {', '.join(f'{mark}{c}{mark}' for c in columns)}"
    )
    try:
        made = parsed(longer, schema.dialect, given)
    except NotParsed:
        return None
    added = made.tree.args.get("returning")
    if added is None or len(added.expressions) != len(columns):
        return None
    made.tree.set("returning", None)
    return longer if made.tree == tree else None


def _has_it(tree: Any, schema: Schema) -> bool:
    from sqlglot import exp

    if schema.dialect == "mysql":
        return "mariadb" in schema.options and isinstance(tree, exp.Delete)
    if schema.dialect == "sqlite":
        return sqlite3.sqlite_version_info >= SQLITE_SINCE
    return schema.dialect in ("postgres", "duckdb")


def _plain(tree: Any) -> bool:
    """One table, one statement, all rows that match."""
    from sqlglot import exp

    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not plain_table(target) or any(
        tree.args.get(name) for name in ("returning", "order", "limit", "using", "joins", "tables")
    ):
        return False
    if part(tree, "from") or part(tree, "with"):
        return False
    return not any(node is not tree for node in tree.find_all(exp.Insert, exp.Update, exp.Delete, exp.Merge))


def _harmless(table: Table) -> bool:
    """A rule (PostgreSQL) may make a statement one that cannot return anything: such a table may change everything."""
    return (
        table.silent is None
        and not table.hides
        and not any(reach.table == EVERYTHING for reach in table.triggered)
    )


def _change(tree: Any, table: Table) -> list[str] | None:
    """What an UPDATE or DELETE is asked for: the primary key, and what it sets."""
    from sqlglot import exp

    sets: list[tuple[str, Any]] = []
    if isinstance(tree, exp.Update):
        for node in tree.expressions:
            column = table.column(node.this.name) if isinstance(node, exp.EQ) and node.this.name else None
            if column is None or column.name in table.key:
                return None  # nobody will understand it
            if column.silent is None:
                sets.append((column.name, node.expression))
    where = tree.args["where"].this if tree.args.get("where") else None
    if _one_row(where, table) and all(_given(value) for _, value in sets):
        return None
    return list(dict.fromkeys((*table.key, *(name for name, _ in sets))))


def _insert(tree: Any, table: Table) -> list[str] | None:
    """What an INSERT is asked for: the primary key, and what else it does not say."""
    from sqlglot import exp

    named = [node.name for node in tree.this.expressions] if isinstance(tree.this, exp.Schema) else None
    found = [table.column(name) for name in named] if named is not None else list(table.columns.values())
    names = [column.name for column in found if column is not None]
    conflict = tree.args.get("conflict")
    values = tree.expression
    if str(tree.args.get("alternative") or "").upper() == "REPLACE":
        return None
    told = [column.name for column in table.told]
    if conflict is not None and conflict.expressions:
        return [*table.key, *told]
    if isinstance(values, exp.Values) and all(
        _given(value)
        for row in values.expressions
        for value in (row.expressions if isinstance(row, exp.Tuple) else [row])
    ):
        missing = {name for name in (*table.key, *told) if name not in names}
        if conflict is None and all(_has_plain_default(table, name) for name in missing):
            return None
    return [*table.key, *told]


def _has_plain_default(table: Table, name: str) -> bool:
    from boomslang.record.sql.schema import Unknown

    column = table.columns[name]
    return name not in table.key and column.default is not Unknown and not column.generated


def _one_row(where: Any, table: Table) -> bool:
    """Does it name one row by its primary key?"""
    fixed = set(_fixed(where, table))
    return all(name in fixed for name in table.key)


def _fixed(where: Any, table: Table) -> Iterable[str]:
    from sqlglot import exp

    for node in conjuncts(where):
        if isinstance(node, exp.EQ) and only(node, "this", "expression"):
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                if isinstance(one, exp.Column) and _given(other):
                    column = table.column(one.name)
                    if column is not None:
                        yield column.name


def _given(node: Any) -> bool:
    """A value that stands in the text, or beside it."""
    from sqlglot import exp

    while isinstance(node, exp.Cast | exp.Paren | exp.Neg):
        node = node.this
    return isinstance(node, exp.Literal | exp.Placeholder | exp.Boolean | exp.Null)

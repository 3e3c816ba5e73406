"""DuckDB's schema, from its own table functions. It has neither triggers nor cascades."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from boomslang.record.sql.catalogs import STRANGE, Asking
from boomslang.record.sql.literals import default_of
from boomslang.record.sql.schema import Column, Schema, Unknown

MAIN = "main"
DATABASE = """
SELECT current_database(), current_schema(), path, current_setting('default_collation')
FROM duckdb_databases() WHERE database_name = current_database()"""
COLUMNS = """
SELECT c.schema_name, c.table_name, c.column_name, c.data_type, c.column_default, t.sql, t.temporary
FROM duckdb_columns() c LEFT JOIN duckdb_tables() t ON t.table_oid = c.table_oid AND t.database_oid = c.database_oid
WHERE NOT c.internal AND c.database_name = current_database() ORDER BY c.schema_name, c.table_name, c.column_index"""
CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, list_aggregate(constraint_column_names, 'string_agg', '|')
FROM duckdb_constraints() WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')"""
KINDS = {
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DOUBLE": "double",
    "TIMESTAMP": "timestamp",
    "DATE": "date",
    "TIME": "time",
    "UUID": "uuid",
    "BLOB": "bytes",
}
BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}


def database(rows: Sequence[Sequence[Any]]) -> str:
    name, _, path = rows[0][:3]
    return f"duckdb:{path or name}"


def strange(rows: Sequence[Sequence[Any]]) -> bool:
    """Texts are compared in another way."""
    return bool(rows[0][3]) and str(rows[0][3]).lower() != "binary"


def read() -> Asking:
    told = yield DATABASE
    schema = Schema("duckdb", database(told), (told[0][1],), MAIN)
    if strange(told):
        schema.options = frozenset({STRANGE})
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in (yield COLUMNS):
        found[row[0], row[1]].append(row)
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    unique: set[tuple[str, str]] = set()
    for owner, table, kind, columns in (yield CONSTRAINTS):
        if kind == "PRIMARY KEY":
            keys[owner, table] = tuple(columns.split("|"))
        else:
            unique.add((owner, table))
    for place, rows in found.items():
        text, temporary = rows[0][5], rows[0][6]
        collates = bool(re.search(r"\bcollate\b", text or "", re.IGNORECASE))
        computed = bool(re.search(r"\bgenerated\b", text or "", re.IGNORECASE))
        schema.add(
            *place,
            columns={row[2]: column(row, collates) for row in rows},
            key=keys.get(place, ()),
            other_unique=place in unique,
            silent="a view"
            if text is None
            else "a temporary table"
            if temporary
            else "a table with computed columns"
            if computed
            else None
            if place in keys
            else "no primary key",
        )
    return schema


def column(row: Any, collates: bool) -> Column:
    _, _, name, declared, default = row[:5]
    bits = BITS.get(declared)
    scale = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", declared)
    kind = "integer" if bits else "decimal" if scale else KINDS.get(declared, f"of the type {declared}")
    made = (
        None
        if default is None
        else Unknown
        if "(" in default and "CAST" not in default
        else default_of(default, "duckdb")
    )
    plain = kind != "text" or not collates
    return Column(
        name,
        kind,
        exact=plain,
        ordered=plain,
        scale=int(scale[1]) if scale else None,
        range=(-(1 << bits - 1), (1 << bits - 1) - 1) if bits else None,
        default=made,
    )

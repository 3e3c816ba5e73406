"""SQLite's schema: its pragmas as tables. A column's declared type is only an affinity (datatype3.html on sqlite.org),
so what it holds follows from that; dates and times are text by the convention of every library."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from boomslang.record.sql.bodies import named_in
from boomslang.record.sql.catalogs import FAILS, STRANGE, Asking
from boomslang.record.sql.literals import default_of
from boomslang.record.sql.schema import EVERYTHING, Column, Reach, Schema

MAIN = "main"
COLUMNS = """
SELECT m.name, m.type, m.sql, x.name, x.type, x."notnull", x.dflt_value, x.pk, x.hidden
FROM sqlite_master m JOIN pragma_table_xinfo(m.name, 'main') x
WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.name, x.cid"""
UNIQUE = """
SELECT m.name, i.origin FROM sqlite_master m JOIN pragma_index_list(m.name, 'main') i
WHERE m.type = 'table' AND i."unique" AND i.origin <> 'pk'"""
KEYS = """
SELECT m.name, x.name, x.coll FROM sqlite_master m JOIN pragma_index_list(m.name, 'main') i
  JOIN pragma_index_xinfo(i.name, 'main') x
WHERE m.type = 'table' AND i.origin = 'pk' AND x.key"""
REFERENCES = """
SELECT m.name, f."table", f."from", f.on_delete, f.on_update
FROM sqlite_master m JOIN pragma_foreign_key_list(m.name, 'main') f WHERE m.type = 'table'"""
TRIGGERS = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger'"
DATABASE = """
SELECT file, EXISTS (SELECT 1 FROM sqlite_temp_master t WHERE t.type = 'trigger'
  OR lower(t.name) IN (SELECT lower(m.name) FROM sqlite_master m)) FROM pragma_database_list WHERE name = 'main'"""

OVERLOOKED = {"binary": frozenset[str](), "nocase": frozenset({"case"}), "rtrim": frozenset({"blanks"})}
ACTIONS = ("CASCADE", "SET NULL", "SET DEFAULT")
WORD = 2**63


def database(rows: Sequence[Sequence[Any]]) -> str:
    return f"sqlite:{rows[0][0] or 'in memory'}"


def strange(rows: Sequence[Sequence[Any]]) -> bool:
    """Temporary tables that hide others, or triggers that only this connection has."""
    return bool(rows[0][1])


def read() -> Asking:
    told = yield DATABASE
    schema = Schema("sqlite", database(told), (MAIN,), MAIN)
    if strange(told):
        schema.options = frozenset({STRANGE})
    found: dict[str, list[Any]] = defaultdict(list)
    for row in (yield COLUMNS):
        found[row[0]].append(row)
    unique = {row[0].lower() for row in (yield UNIQUE)}
    keyed = {(table.lower(), name): coll.lower() for table, name, coll in (yield KEYS) if name is not None}
    references = yield REFERENCES
    bodies = list((yield TRIGGERS))
    if any(re.search(r"\braise\s*\(\s*fail\b", body, re.IGNORECASE) for _, body in bodies):
        schema.options |= {FAILS}
    for name, rows in found.items():
        text = str(rows[0][2] or "")
        collates = bool(re.search(r"\bcollate\b", text, re.IGNORECASE))
        resolves = bool(re.search(r"\bon\s+conflict\b", text, re.IGNORECASE))
        columns = {row[3]: column(row, collates, keyed.get((name.lower(), row[3]))) for row in rows}
        key = [row[3] for row in sorted((row for row in rows if row[7]), key=lambda row: row[7])]
        plain = not re.search(r"\bwithout\s+rowid\b|\bdesc\b", text, re.IGNORECASE)
        declared = {row[3]: str(row[4] or "").upper() for row in rows}
        if len(key) == 1 and plain and declared[key[0]] == "INTEGER":
            # The one kind of column that is the row's own number, which is given out and told.
            columns[key[0]] = Column(key[0], "integer", generated=True, range=(-WORD, WORD - 1))
        schema.add(
            MAIN,
            name,
            columns=columns,
            key=tuple(key),
            other_unique=name.lower() in unique,
            silent="a view"
            if rows[0][1] == "view"
            else "a virtual table"
            if re.match(r"\s*create\s+virtual", text, re.IGNORECASE)
            else "constraints that resolve conflicts by themselves"
            if resolves
            else None
            if key
            else "no primary key",
            triggered=frozenset(
                reach
                for table, body in bodies
                if table.lower() == name.lower()
                for reach in (Reach(name), *named_in(body, found))
            )
            | ({Reach(EVERYTHING)} if resolves else set()),
            positions=tuple(row[3] for row in rows if not row[8]),
            on_delete=frozenset(
                Reach(child, () if done == "CASCADE" else (source,))
                for child, parent, source, done, _ in references
                if parent.lower() == name.lower() and done in ACTIONS
            ),
            on_update=frozenset(
                Reach(child, (source,))
                for child, parent, source, _, done in references
                if parent.lower() == name.lower() and done in ACTIONS
            ),
        )
    return schema


def column(row: Any, collates: bool, keyed: str | None) -> Column:
    """`keyed`: the collation that tells rows apart, of a column of the primary key."""
    _, _, _, name, declared, required, default, _, hidden = row
    kind = kind_of(str(declared or "").upper())
    collates = collates and keyed != "binary"
    plain = kind not in ("text", "timestamp", "date", "time") or (kind == "text" and not collates)
    return Column(
        name,
        kind,
        exact=plain,
        ordered=plain,
        overlooks=OVERLOOKED.get(keyed or ""),
        required=bool(required),
        range=(-WORD, WORD - 1) if kind == "integer" else None,
        default=default_of(default, "sqlite"),
        silent="computed by the database" if hidden else None,
    )


def kind_of(declared: str) -> str:
    """By the rules of affinity, in their order, once the conventions for times are known."""
    base = declared.split("(")[0].strip()
    if base in ("DATETIME", "TIMESTAMP"):
        return "timestamp"
    if base in ("DATE", "TIME"):
        return base.lower()
    if "INT" in declared:
        return "integer"
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
        return "text"
    if "BLOB" in declared:
        return "bytes"
    if not declared or declared == "ANY":
        return "of no type"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return "double"
    return "numeric"

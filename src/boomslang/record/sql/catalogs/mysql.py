"""MariaDB's and MySQL's schema, from information_schema. Collations matter most: by default neither case nor accents
count, and blanks at the end do not either."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from boomslang.record.sql.bodies import named_in
from boomslang.record.sql.catalogs import ODD_MODES, STRANGE, Asking
from boomslang.record.sql.literals import default_of
from boomslang.record.sql.schema import EVERYTHING, Column, Reach, Schema, Unknown

DATABASE = "SELECT DATABASE(), VERSION(), @@port, @@hostname, @@session.sql_mode"
ISOLATION = "SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')"
"""MariaDB's name and MySQL's."""
COLUMNS = """
SELECT c.TABLE_NAME, t.TABLE_TYPE, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, c.CHARACTER_MAXIMUM_LENGTH,
  c.NUMERIC_SCALE, c.DATETIME_PRECISION, c.COLLATION_NAME, c.IS_NULLABLE, c.COLUMN_DEFAULT, c.EXTRA, t.ENGINE,
  c.GENERATION_EXPRESSION, c.NUMERIC_PRECISION
FROM information_schema.COLUMNS c JOIN information_schema.TABLES t
  ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
WHERE c.TABLE_SCHEMA = DATABASE() ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION"""
UNIQUE = """
SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = DATABASE() AND NON_UNIQUE = 0 ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"""
TRIGGERS = """
SELECT EVENT_OBJECT_TABLE, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()"""
REFERENCES = """
SELECT r.TABLE_NAME, r.REFERENCED_TABLE_NAME, r.DELETE_RULE, r.UPDATE_RULE, k.COLUMN_NAME
FROM information_schema.REFERENTIAL_CONSTRAINTS r JOIN information_schema.KEY_COLUMN_USAGE k
  ON k.CONSTRAINT_SCHEMA = r.CONSTRAINT_SCHEMA AND k.CONSTRAINT_NAME = r.CONSTRAINT_NAME AND k.TABLE_NAME = r.TABLE_NAME
WHERE r.CONSTRAINT_SCHEMA = DATABASE()"""
GRANTED = """
SELECT CURRENT_USER(), GRANTEE, '' FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'TRIGGER'
UNION ALL SELECT CURRENT_USER(), GRANTEE, '' FROM information_schema.SCHEMA_PRIVILEGES
  WHERE PRIVILEGE_TYPE = 'TRIGGER' AND DATABASE() LIKE TABLE_SCHEMA
UNION ALL SELECT CURRENT_USER(), GRANTEE, TABLE_NAME FROM information_schema.TABLE_PRIVILEGES
  WHERE PRIVILEGE_TYPE = 'TRIGGER' AND TABLE_SCHEMA = DATABASE()"""
"""Whose triggers this user may see: MySQL hides those of all others. (MariaDB hides only what is in them.)"""
HIDDEN = "triggers that this user may not see (fix: GRANT TRIGGER)"
ROUTINES = """
SELECT ROUTINE_NAME FROM information_schema.ROUTINES
WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"""

BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
PLAIN = re.compile(
    r"|(?:[a-z0-9]+_)?(?:general|unicode(?:_520)?|0900|uca1400|swedish)(?:_nopad)?(?:_a[is])?_c[is]|[a-z0-9]+_(?:\w+_)?bin"
)
"""Collations in which the letters from a to z are what they are in English. (latin1_swedish_ci was MySQL's default.)"""
ACTIONS = ("CASCADE", "SET NULL", "SET DEFAULT")
TRANSACTIONAL = ("innodb", "rocksdb")


def database(rows: Sequence[Sequence[Any]]) -> str:
    name, _, port, host = rows[0][:4]
    return f"mysql:{_text(name)}@{_text(host)}:{port}"


def strange(rows: Sequence[Sequence[Any]]) -> bool:
    """Quotes, backslashes or signs mean something else."""
    return ODD_MODES.search(_text(rows[0][4])) is not None


def read() -> Asking:
    told = yield DATABASE
    home, version = (_text(part) for part in told[0][:2])
    maria = "mariadb" in version.lower()
    schema = Schema("mysql", database(told), (home,), home)
    odd = frozenset({STRANGE} if strange(told) else ())
    found: dict[str, list[Any]] = defaultdict(list)
    for row in (yield COLUMNS):
        parts = [_text(x) for x in row]
        found[parts[0]].append(parts)
    keys: dict[str, list[str]] = defaultdict(list)
    parts_of_keys: set[str] = set()
    unique: set[str] = set()
    for table, index, name, prefix in (yield UNIQUE):
        if _text(index) == "PRIMARY":
            keys[_text(table)].append(_text(name))
            if prefix is not None:
                parts_of_keys.add(_text(table))
        else:
            unique.add(_text(table))
    bodies = [(_text(table), _text(body)) for table, body in (yield TRIGGERS)]
    sees = everything if maria or "tidb" in version.lower() else granted((yield GRANTED))
    references = [[_text(x) for x in row] for row in (yield REFERENCES)]
    schema.routines = frozenset(_text(row[0]).lower() for row in (yield ROUTINES))
    schema.options = odd | ({"mariadb"} if maria else set())
    for name, rows in found.items():
        kind, engine = rows[0][1], (rows[0][12] or "").lower()
        schema.add(
            home,
            name,
            columns={row[2]: column(row, maria) for row in rows},
            key=tuple(keys.get(name, ())),
            other_unique=name in unique,
            silent=f"a {kind.lower()}"
            if kind != "BASE TABLE"
            else "no primary key"
            if name not in keys
            else "a primary key of prefixes"
            if name in parts_of_keys
            else HIDDEN
            if not sees(name)
            else "a table with columns that are invisible"
            if any("invisible" in (row[11] or "").lower() for row in rows)
            else None
            if engine in TRANSACTIONAL
            else f"a table without transactions ({engine})",
            triggered=frozenset(
                reach
                for table, body in bodies
                if table == name
                for reach in (Reach(name), *named_in(body, found, schema.routines))
            )
            | (set() if sees(name) else {Reach(EVERYTHING)}),
            on_delete=frozenset(
                Reach(child, () if done == "CASCADE" else (source,))
                for child, parent, done, _, source in references
                if parent == name and done in ACTIONS
            ),
            on_update=frozenset(
                Reach(child, (source,))
                for child, parent, _, done, source in references
                if parent == name and done in ACTIONS
            ),
        )
    return schema


def everything(table: str) -> bool:
    return True


def granted(rows: Sequence[Sequence[Any]]) -> Callable[[str], bool]:
    """Of which tables the user may see the triggers."""
    seen: set[str] = set()
    for me, grantee, table in rows:
        name, _, host = _text(me).rpartition("@")
        if _text(grantee) == f"'{name}'@'{host}'":
            seen.add(_text(table))
    return lambda table: "" in seen or table in seen


def _text(x: Any) -> Any:
    return x.decode() if isinstance(x, bytes) else x


def column(row: Any, maria: bool) -> Column:
    (
        _,
        _,
        name,
        base,
        full,
        length,
        scale,
        precision,
        collation,
        nullable,
        default,
        extra,
        _,
        computed,
        digits,
    ) = row
    extra, collation = (extra or "").lower(), (collation or "").lower()
    unsigned = "unsigned" in full.lower()
    bits = BITS.get(base)
    binary = collation.endswith("_bin")
    unpadded = "_nopad_" in collation or "_0900_" in collation
    kind = kind_of(base, full, collation, binary and not unpadded)
    if kind == "double" and scale is not None:
        kind = "of the type double with digits"
    text = kind in ("text", "ascii", "padded", "padded ascii")
    automatic = "auto_increment" in extra
    silent = (
        "computed by the database"
        if computed or "on update" in extra or "generated" in extra.replace("default_generated", "")
        else None
    )
    return Column(
        name,
        kind,
        exact=not text or binary,
        ordered=kind not in ("enum", "uuid") and (not text or (binary and unpadded)),
        overlooks=overlooked(collation, unpadded),
        required=nullable == "NO",
        length=most(base, int(length)) if length is not None and (text or kind == "bytes") else None,
        scale=int(scale)
        if kind == "decimal" and scale is not None
        else int(precision)
        if precision is not None
        else None,
        range=limits(bits, unsigned)
        if bits is not None
        else decimals(int(digits), int(scale), unsigned)
        if kind == "decimal" and digits is not None and scale is not None
        else (0, 0)
        if kind == "double" and unsigned
        else None,
        members=frozenset(m.replace("''", "'") for m in re.findall(r"'((?:[^']|'')*)'", full))
        if kind == "enum"
        else None,
        default=Unknown if automatic else default_value(default, extra, nullable, kind, maria),
        generated=automatic,
        silent=silent,
    )


def limits(bits: int, unsigned: bool) -> tuple[int, int]:
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


def decimals(digits: int, scale: int, unsigned: bool) -> tuple[int, int]:
    """The whole numbers between which no decimal is cut."""
    most = 10 ** (digits - scale) - 1
    return (0 if unsigned else -most, most)


def most(base: str, length: int) -> int:
    """Characters that fit: of texts without a length of their own, the database tells bytes."""
    return length // 4 if base.endswith("text") else length


def overlooked(collation: str, unpadded: bool) -> frozenset[str] | None:
    """What a collation overlooks in plain characters; None of one with letters of its own (in Lithuanian, i is y)."""
    if PLAIN.fullmatch(collation) is None:
        return None
    case = {"case"} if collation.endswith("_ci") else set[str]()
    return frozenset(case if unpadded else case | {"blanks"})


def default_value(default: Any, extra: str, nullable: str, kind: str, maria: bool) -> Any:
    """MariaDB tells an expression, MySQL a text that is one only where `extra` says so."""
    if default is None:
        return None if nullable == "YES" else Unknown
    if maria or "default_generated" in extra:
        return default_of(str(default), "mysql")
    return str(default) if kind != "bytes" else Unknown


def kind_of(base: str, full: str, collation: str, padded: bool) -> str:
    if base in BITS:
        return "integer"
    if base in ("varchar", "char", "text", "tinytext", "mediumtext", "longtext"):
        holds_all = collation.startswith("utf8mb4")
        if base == "char" or padded:
            return "padded" if holds_all else "padded ascii"
        return "text" if holds_all else "ascii"
    if base == "varbinary" or base.endswith("blob"):
        return "bytes"
    return {
        "double": "double",
        "decimal": "decimal",
        "datetime": "timestamp",
        "date": "date",
        "enum": "enum",
        "uuid": "uuid",
    }.get(base, f"of the type {base}")

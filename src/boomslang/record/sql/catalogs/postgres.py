"""PostgreSQL's schema, from pg_catalog (chapter 53 of its manual)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from boomslang.record.sql.bodies import named_in
from boomslang.record.sql.catalogs import STRANGE, Asking
from boomslang.record.sql.literals import default_of
from boomslang.record.sql.schema import EVERYTHING, Column, Reach, Schema, Unknown

HOME = "public"
OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'"
TRUSTED = "'btree_gin', 'btree_gist', 'citext', 'fuzzystrmatch', 'hstore', 'ltree', 'pg_trgm', 'pgcrypto', 'unaccent', "
TRUSTED += "'uuid-ossp', 'vector'"
"""Extensions whose functions write nothing."""


def _of_an_extension(catalog: str, oid: str, which: str) -> str:
    """Does what has this number in a catalog belong to an extension, such as `which` says of e?"""
    return f"""EXISTS (SELECT 1 FROM pg_depend own JOIN pg_extension e ON e.oid = own.refobjid
  WHERE own.classid = '{catalog}'::regclass AND own.objid = {oid} AND own.refclassid = 'pg_extension'::regclass
    AND ({which}))"""


IN_TRUSTED = _of_an_extension("pg_proc", "p.oid", f"e.extname IN ({TRUSTED})")
SURE = _of_an_extension("pg_operator", "o.oid", f"p.provolatile <> 'v' OR e.extname IN ({TRUSTED})")
OPERATORS = f"""
EXISTS (SELECT 1 FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace JOIN pg_proc p ON p.oid = o.oprcode
  LEFT JOIN pg_type l ON l.oid = o.oprleft LEFT JOIN pg_type r ON r.oid = o.oprright
  WHERE {OURS} AND (p.provolatile = 'v' OR (coalesce(l.typnamespace, r.typnamespace) = 'pg_catalog'::regnamespace
    AND coalesce(r.typnamespace, l.typnamespace) = 'pg_catalog'::regnamespace)) AND NOT {SURE})"""
"""Is there an operator that may write, or one, of no extension, that says how PostgreSQL's own types compare?"""
DATABASE = f"""
SELECT current_database()::text, (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
  current_setting('port'), array_to_string(current_schemas(false)::text[], '|'),
  (SELECT datcollate::text FROM pg_database WHERE datname = current_database()),
  current_setting('standard_conforming_strings') <> 'on' OR current_setting('transform_null_equals') <> 'off'
  OR EXISTS (SELECT 1 FROM pg_class c JOIN pg_class hidden ON hidden.relname = c.relname
    AND hidden.relnamespace <> c.relnamespace AND hidden.relkind IN ('r', 'p', 'v', 'm', 'f')
    WHERE c.relnamespace = pg_my_temp_schema() AND c.relkind IN ('r', 'v'))
  OR current_setting('extra_float_digits')::int < 1 OR {OPERATORS}"""
ISOLATION = "SELECT current_setting('transaction_isolation')"
COLUMNS = f"""
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, c.relrowsecurity, c.relhasrules,
  c.relpersistence::text, a.attnum::int, a.attname::text, t.typname::text, t.typtype::text, a.atttypmod::int,
  a.attgenerated::text, a.attidentity::text, pg_get_expr(d.adbin, d.adrelid), co.collname::text,
  co.collisdeterministic, has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  LEFT JOIN pg_collation co ON co.oid = a.attcollation
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {OURS} ORDER BY c.oid, a.attnum"""
UNIQUE = f"""
SELECT i.indrelid::bigint, i.indisprimary, i.indkey::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE (i.indisunique OR i.indisexclusion) AND {OURS}"""
TRIGGERS = """
SELECT g.tgrelid::bigint, p.prosrc FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid WHERE NOT g.tgisinternal"""
REFERENCES = """
SELECT conrelid::bigint, confrelid::bigint, confdeltype::text, confupdtype::text, array_to_string(conkey, ' ')
FROM pg_constraint WHERE contype = 'f'"""
INHERITS = "SELECT inhrelid::bigint, inhparent::bigint FROM pg_inherits"
ROUTINES = f"""
SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {OURS}
  AND NOT {IN_TRUSTED}"""
RUN = f"""
SELECT DISTINCT coalesce(r.ev_class, a.adrelid)::bigint FROM pg_depend d JOIN pg_proc p ON p.oid = d.refobjid
  JOIN pg_namespace n ON n.oid = p.pronamespace
  LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
  LEFT JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
WHERE d.refclassid = 'pg_proc'::regclass AND {OURS} AND p.prokind = 'f' AND p.provolatile = 'v'
  AND (r.oid IS NOT NULL OR a.oid IS NOT NULL) AND NOT {IN_TRUSTED}"""
"""Views and defaults that call a function of somebody's, which may write."""
NOT_UPWARDS = "SELECT seqrelid::bigint FROM pg_sequence WHERE seqincrement < 0 OR seqcycle"
"""Sequences whose numbers do not tell which row came first."""

KINDS = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "bool": "boolean",
    "text": "text",
    "varchar": "text",
    "bpchar": "padded",
    "citext": "text",
    "float8": "double",
    "numeric": "decimal",
    "timestamp": "timestamp",
    "timestamptz": "zoned",
    "date": "date",
    "time": "time",
    "uuid": "uuid",
    "bytea": "bytes",
}
TURKISH = ("tr", "az")
"""Where I is not the capital of i."""
ACTIONS = ("c", "n", "d")
"""CASCADE, SET NULL, SET DEFAULT."""
BITS = {"int2": 15, "int4": 31, "int8": 63}


def database(rows: Sequence[Sequence[Any]]) -> str:
    name, oid, port = rows[0][:3]
    return f"postgres:{name}/{oid}:{port}"


def path(rows: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """The schemas that a name is looked for in: of a connection, or of its role."""
    return tuple(rows[0][3].split("|")) if rows[0][3] else ()


def strange(rows: Sequence[Sequence[Any]]) -> bool:
    """Backslashes mean something, `= NULL` does, temporary tables hide others, numbers are shown rounded, or operators
    are somebody's own."""
    return bool(rows[0][5])


def read() -> Asking:
    told = yield DATABASE
    collation = told[0][4]
    schema = Schema("postgres", database(told), path(told), HOME)
    if strange(told):
        schema.options = frozenset({STRANGE})
    found: dict[int, list[Any]] = defaultdict(list)
    for row in (yield COLUMNS):
        found[row[0]].append(row)
    keys: dict[int, list[int]] = {}
    unique: set[int] = set()
    for table, primary, numbers in (yield UNIQUE):
        if primary:
            keys[table] = [int(n) for n in numbers.split()]
        else:
            unique.add(table)
    sources = yield TRIGGERS
    references = yield REFERENCES
    related = {table for pair in (yield INHERITS) for table in pair}
    schema.routines = frozenset(row[0].lower() for row in (yield ROUTINES))
    runs = {row[0] for row in (yield RUN)}
    counting_up = not (yield NOT_UPWARDS)
    names = {table: schema.full_name(rows[0][1], rows[0][2]) for table, rows in found.items()}
    numbered = {table: {row[7]: row[8] for row in rows} for table, rows in found.items()}
    viewed = {table for table, rows in found.items() if rows[0][3] == "v"} & runs
    for table, rows in found.items():
        _, space, name, kind, secured, ruled, persistence = rows[0][:7]
        silent = (
            "a view or foreign table"
            if kind in "vmf"
            else "a temporary table"
            if persistence == "t"
            else "a table with partitions or children"
            if table in related or kind == "p"
            else None
            if table in keys
            else "no primary key"
        )
        triggered = {
            reach
            for owner, source in sources
            if owner == table
            for reach in (Reach(names[table]), *named_in(source, names.values(), schema.routines))
        }
        if kind in "rp" and (ruled or table in runs):
            triggered.add(Reach(EVERYTHING))
        schema.add(
            space,
            name,
            columns={row[8]: column(row, collation, counting_up) for row in rows},
            readable=bool(rows[0][17]),
            runs=kind == "v" and bool(viewed),  # one view may look at another
            referred_by=frozenset(
                names[child] for child, parent, *_ in references if parent == table and child in names
            ),
            key=tuple(numbered[table][n] for n in keys.get(table, ())),
            other_unique=table in unique,
            silent=silent,
            hides=bool(secured),
            triggered=frozenset(triggered),
            on_delete=frozenset(
                Reach(
                    names.get(child, EVERYTHING),
                    () if done == "c" else tuple(numbered.get(child, {}).get(int(n), "") for n in of.split()),
                )
                for child, parent, done, _, of in references
                if parent == table and done in ACTIONS
            ),
            on_update=frozenset(
                Reach(
                    names.get(child, EVERYTHING),
                    tuple(numbered.get(child, {}).get(int(n), "") for n in of.split()),
                )
                for child, parent, _, done, of in references
                if parent == table and done in ACTIONS
            ),
        )
    return schema


def column(row: Any, database_collation: str, counting_up: bool) -> Column:
    number = dict(enumerate(row))
    name, base, category, modifier = number[8], number[9], number[10], number[11]
    generated, identity, default, collation, deterministic = row[12:17]
    kind = (
        "enum"
        if category == "e"
        else KINDS.get(base, f"of the type {base}")
        if category == "b"
        else "a domain"
    )
    text = kind in ("text", "padded")
    collated = database_collation if collation == "default" else collation
    limited = modifier >= 0
    numbered = bool(identity) or (default or "").startswith("nextval(")
    careless = base == "citext" and deterministic is not False and not database_collation.startswith(TURKISH)
    return Column(
        name,
        kind,
        exact=not text or (base != "citext" and deterministic is not False),
        overlooks=frozenset({"case"}) if careless else None,
        ordered=(not text and kind != "enum") or (text and collated in ("C", "POSIX") and base != "bpchar"),
        length=modifier - 4 if limited and text else None,
        scale=((modifier - 4) & 0x7FF if limited and kind == "decimal" else None)
        if kind == "decimal"
        else (modifier if limited and kind in ("timestamp", "zoned", "time") else None),
        range=(-(1 << BITS[base]), (1 << BITS[base]) - 1) if base in BITS else None,
        default=Unknown if numbered else default_of(default, "postgres"),
        generated=numbered and counting_up,
        silent="computed by the database" if generated else None,
    )

"""Statements that a recorder could misread, one database after the other, sent by one client at a time.

One client at a time is strictly serializable on any database. So if a trace of these is not, a statement was misread:
a row was taken for another, a value has two names, something was written that nobody noted. Each case says what its
tables are, and what is sent; after a `b:` it is the second client that sends it. Where a case must leave out all that
it read it is `silent`; of all others some reads must be left, or the test would show nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ALL = "SELECT * FROM t"
Sent = str | tuple[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    name: str
    databases: str
    setup: tuple[str, ...]
    statements: tuple[Sent, ...]
    silent: bool = False
    on_the_wire: bool | None = None
    """Is it silent there? None: as it is elsewhere."""

    def on(self) -> list[str]:
        return self.databases.split()


CASES: list[Case] = []
EVERYWHERE = "sqlite postgres mariadb duckdb"


def case(
    databases: str,
    name: str,
    setup: str | list[str],
    *statements: Sent,
    silent: bool = False,
    on_the_wire: bool | None = None,
) -> None:
    made = (setup,) if isinstance(setup, str) else tuple(setup)
    CASES.append(Case(name, databases, made, statements, silent, on_the_wire))


# --- values that are equal to the database and not to Python, or the other way round
case(
    "sqlite",
    "digits of another script",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
    ("INSERT INTO t VALUES (?, ?)", (3, 3)),
    ("INSERT INTO t VALUES (?, ?)", (4, "٣")),
    ALL,
    "SELECT id FROM t WHERE n = 3",
)
case(
    "sqlite",
    "a key in digits of another script",
    "CREATE TABLE t (id INT PRIMARY KEY, n INTEGER)",
    ("INSERT INTO t VALUES (?, ?)", (3, 3)),
    ("INSERT INTO t VALUES (?, ?)", ("٣", 4)),
    ALL,
    "SELECT n FROM t WHERE id = 3",
    silent=True,
)
case(
    "sqlite",
    "underscores in numbers",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a NUMERIC)",
    "INSERT INTO t VALUES (1, '1_000')",
    "SELECT id FROM t WHERE a = 1000",
    ALL,
)
case(
    EVERYWHERE,
    "negative zero",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, d DOUBLE PRECISION)",
    "INSERT INTO t VALUES (1, 0.0)",
    "UPDATE t SET d = -0.0 WHERE id = 1",
    ALL,
    "SELECT id FROM t WHERE d = 0",
    "SELECT id FROM t WHERE d < 0",
    "UPDATE t SET d = 0.0 WHERE id = 1",
    ALL,
)
case(
    "mariadb",
    "enums",
    "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('zebra', 'ant', 'Bee'), f ENUM('ANT', 'x'))",
    "INSERT INTO t VALUES (1, 'zebra', 'x'), (2, 'ant', 'ANT'), (3, 'Bee', NULL)",
    "SELECT id FROM t WHERE e > 'ant'",
    "SELECT id FROM t WHERE e < 'b'",
    "SELECT id FROM t WHERE e = f",
    "SELECT id FROM t WHERE e = 'BEE'",
    "UPDATE t SET e = 'ZEBRA' WHERE id = 2",
    "UPDATE t SET e = 2 WHERE id = 1",
    ALL,
)
case(
    "mariadb",
    "the order of UUIDs",
    "CREATE TABLE t (id INT PRIMARY KEY, u UUID)",
    "INSERT INTO t VALUES (1, '00000001-0000-1000-8000-000000000009'), (2, "
    "'f0000000-0000-1000-8000-000000000001')",
    "SELECT id FROM t WHERE u > '80000000-0000-1000-8000-000000000005'",
    "SELECT id FROM t WHERE u < '80000000-0000-1000-8000-000000000005'",
    ALL,
)
case(
    "mariadb",
    "what is cut, rounded or put in place of NULL",
    "CREATE TABLE t (id INT PRIMARY KEY, s TINYTEXT, n INT NOT NULL DEFAULT 4, a "
    "DECIMAL(5, 2), u DECIMAL(5, 2) "
    "UNSIGNED, d DOUBLE UNSIGNED, f DOUBLE(8, 2), k INT)",
    "INSERT IGNORE INTO t VALUES (1, 'x', NULL, 99999, -4, -4.5, 1.239, 1)",
    ALL,
    "SET sql_mode = ''",
    ("INSERT INTO t VALUES (2, %s, NULL, 1, 1, 1, 1, 2), (3, 'x', NULL, 1, 1, 1, 1, 3)", ("é" * 200,)),
    ALL,
    "UPDATE t SET n = NULL, f = 1.005 WHERE id = 3",
    ALL,
)
case(
    "sqlite",
    "two spellings of a moment are two rows",
    "CREATE TABLE t (d DATETIME PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES ('2024-05-06 07:08:09', 1)",
    "INSERT INTO t VALUES ('2024-05-06T07:08:09', 2)",
    ALL,
    "SELECT n FROM t WHERE d = '2024-05-06 07:08:09'",
)
case(
    "postgres",
    "a seventh digit",
    "CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP, b TIME)",
    "INSERT INTO t VALUES (1, '2024-05-06 07:08:09.1234567', '07:08:09.1234567')",
    ALL,
    "SELECT id FROM t WHERE a = '2024-05-06 07:08:09.1234567'",
)
case(
    "mariadb",
    "days as only one reads them",
    "CREATE TABLE t (id INT PRIMARY KEY, a DATETIME(6), b DATE)",
    "SET sql_mode = ''",
    "INSERT INTO t VALUES (1, '20240506', '20240506')",
    "INSERT INTO t VALUES (2, '2024-W05-1', '2024-W05-1')",
    "INSERT INTO t VALUES (3, '2024-05-06 07', '2024-05-06')",
    "INSERT INTO t VALUES (4, '2024-05-06x07:08', '2024-05-06')",
    "INSERT INTO t VALUES (5, '2024-05-06 07:08:09.9999999', '2024-02-31')",
    ALL,
)
case(
    "postgres",
    "days as only one reads them",
    "CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP, b DATE)",
    "INSERT INTO t VALUES (1, '20240506', '20240506')",
    "INSERT INTO t VALUES (2, 'May 6, 2024', '06.05.2024')",
    "INSERT INTO t VALUES (3, '2024-05-06', '2024-05-06')",
    ALL,
    "SELECT id FROM t WHERE b = 'May 6, 2024'",
)
case(
    "postgres",
    "types",
    "CREATE TABLE t (id UUID PRIMARY KEY, b BYTEA, j JSONB, a INT[], n NUMERIC, m "
    "NUMERIC(6, 2), f REAL, tz TIMESTAMPTZ, "
    "i INTERVAL, bo BOOLEAN, dt DATE, ti TIME)",
    "INSERT INTO t VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '\\x00ff', '{\"a\": "
    "1}', '{1,2}', 'NaN', 1.005, 0.1, "
    "'2024-05-06 07:08:09+02', '1 day', 't', '2024-05-06', '07:08')",
    ALL,
    "SELECT n FROM t WHERE id = 'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
    "SELECT id FROM t WHERE n > 5",
    "SELECT id FROM t WHERE m = 1.01",
    "SELECT id FROM t WHERE bo = 't'",
    "SELECT id FROM t WHERE b = '\\x00ff'",
    "SELECT id FROM t WHERE f = 0.1",
    "SELECT id FROM t WHERE tz = '2024-05-06 05:08:09Z'",
    "SELECT id FROM t WHERE ti < '08:00'",
    "UPDATE t SET n = 1e-20, m = 5, f = 1.5, bo = 'yes', tz = now() WHERE id = "
    "'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
    ALL,
    "UPDATE t SET n = 123456789012345678.123 WHERE id = 'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
    ALL,
    "SELECT id FROM t WHERE n = 123456789012345678.123",
)
case(
    "sqlite",
    "affinities",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, n INT, r REAL, x NUMERIC, b BLOB, bo BOOLEAN)",
    ("INSERT INTO t VALUES (1, ?, ?, ?, ?, ?, ?)", (5, "7", 3, "2.50", "bl", True)),
    ALL,
    "SELECT id FROM t WHERE s = 5",
    "SELECT id FROM t WHERE s = '5'",
    "SELECT id FROM t WHERE r = 3",
    "SELECT id FROM t WHERE x = '2.5'",
    "SELECT id FROM t WHERE b = 'bl'",
    "SELECT id FROM t WHERE bo",
    "SELECT id FROM t WHERE bo = 'true'",
    ("UPDATE t SET n = ?, bo = ? WHERE id = 1", ("x", "yes")),
    ALL,
    "SELECT id FROM t WHERE n > 100",
    ("UPDATE t SET x = ?, n = ? WHERE id = 1", ("0x10", " 12 ")),
    ALL,
    "SELECT id FROM t WHERE n = 12",
)
case(
    "sqlite",
    "a column of any type",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a ANY) STRICT",
    "INSERT INTO t VALUES (1, '005')",
    "SELECT id FROM t WHERE a = 5",
    "INSERT INTO t VALUES (2, 5)",
    "SELECT id FROM t WHERE a = 5",
    ALL,
)

# --- collations: which rows are one
case(
    "sqlite",
    "NOCASE, and blanks that count",
    "CREATE TABLE t (name TEXT COLLATE NOCASE PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES ('Ann', 1)",
    "INSERT INTO t VALUES ('ann ', 2)",
    ALL,
    "SELECT n FROM t WHERE name = 'ANN'",
    "UPDATE t SET n = 3 WHERE name = 'aNN'",
    ALL,
)
case(
    "sqlite",
    "a collation of another column",
    "CREATE TABLE t (login TEXT PRIMARY KEY, name TEXT COLLATE NOCASE)",
    "INSERT INTO t VALUES ('ann', 'a')",
    "INSERT INTO t VALUES ('Ann', 'b')",
    ALL,
    "SELECT name FROM t WHERE login = 'ANN'",
    "SELECT login FROM t WHERE name = 'A'",
)
case(
    "sqlite",
    "RTRIM",
    "CREATE TABLE t (login TEXT COLLATE RTRIM PRIMARY KEY, name TEXT)",
    "INSERT INTO t VALUES ('ann', 'a')",
    "INSERT INTO t VALUES ('Ann', 'b')",
    ALL,
    "SELECT name FROM t WHERE login = 'ann  '",
    "SELECT name FROM t WHERE login = 'ANN'",
)
case(
    "sqlite",
    "a join that overlooks case",
    [
        "CREATE TABLE t (name TEXT PRIMARY KEY, n INT)",
        "CREATE TABLE o (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)",
    ],
    "INSERT INTO t VALUES ('ann', 1)",
    "INSERT INTO t VALUES ('ANN', 2)",
    "INSERT INTO o VALUES (1, 'Ann')",
    "SELECT o.id, o.name, t.n FROM o JOIN t ON o.name = t.name",
)
case(
    "postgres",
    "citext, and blanks that count",
    ["CREATE EXTENSION IF NOT EXISTS citext", "CREATE TABLE t (name CITEXT PRIMARY KEY, n INT)"],
    "INSERT INTO t VALUES ('Ann', 1)",
    "INSERT INTO t VALUES ('ann ', 2)",
    ALL,
    "SELECT n FROM t WHERE name = 'ANN'",
)
case(
    "mariadb",
    "a collation in which case counts",
    "CREATE TABLE t (name VARCHAR(20) COLLATE uca1400_as_cs PRIMARY KEY, n INT) CHARSET utf8mb4",
    "INSERT INTO t VALUES ('ann', 1)",
    "INSERT INTO t VALUES ('Ann', 2)",
    ALL,
    "SELECT n FROM t WHERE name = 'ann '",
)
case(
    "mariadb",
    "a collation in which blanks count",
    "CREATE TABLE t (name VARCHAR(20) COLLATE utf8mb4_general_nopad_ci PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES ('ann', 1)",
    "INSERT INTO t VALUES ('ann ', 2)",
    ALL,
    "SELECT n FROM t WHERE name = 'ANN'",
)
for collation, other in (("roman", "ivno"), ("lithuanian", "jvno")):
    case(
        "mariadb",
        f"{collation} letters",
        f"CREATE TABLE t (name VARCHAR(20) COLLATE utf8mb4_{collation}_ci PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES ('juno', 1)",
        f"SELECT n FROM t WHERE name = '{other}'",
        f"UPDATE t SET n = 2 WHERE name = '{other}'",
        ALL,
        silent=True,
    )
case(
    "mariadb",
    "what MariaDB overlooks by default",
    "CREATE TABLE t (name VARCHAR(20) PRIMARY KEY, n INT, s VARCHAR(9))",
    "INSERT INTO t VALUES ('Ann', 1, 'x')",
    "SELECT n FROM t WHERE name = 'ANN  '",
    "UPDATE t SET n = 2 WHERE name = 'aNN'",
    "SELECT n FROM t WHERE s = 'X '",
    ALL,
)
case(
    "postgres",
    "blanks at the end of a CHAR",
    "CREATE TABLE t (code CHAR(4) PRIMARY KEY, c CHAR(4))",
    "INSERT INTO t VALUES ('ab', 'ab')",
    ("SELECT c FROM t WHERE code = %s::VARCHAR", ("ab  ",)),
    ("SELECT c FROM t WHERE code = %s::text", ("ab  ",)),
    ("SELECT code FROM t WHERE c = %s::text", ("ab  ",)),
    ("SELECT c FROM t WHERE code = %s", ("ab  ",)),
    "SELECT c FROM t WHERE code = 'ab'",
    ALL,
)
case(
    "duckdb",
    "NOCASE",
    "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR COLLATE NOCASE)",
    "INSERT INTO t VALUES (1, 'Ann')",
    "SELECT id FROM t WHERE name = 'ann'",
    "SELECT id FROM t WHERE name > 'a'",
    ALL,
)
case(
    "duckdb",
    "a key under NOCASE",
    "CREATE TABLE t (name VARCHAR COLLATE NOCASE PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES ('Ann', 1)",
    "INSERT INTO t VALUES ('ann', 2)",
    "SELECT n FROM t WHERE name = 'ann'",
    ALL,
    silent=True,
)
case(
    "duckdb",
    "a collation that is set",
    "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR)",
    "SET default_collation = 'nocase'",
    "INSERT INTO t VALUES (1, 'Ann')",
    "SELECT id FROM t WHERE name = 'ann'",
    ALL,
    silent=True,
)

# --- texts
case(
    "sqlite",
    "a backslash at the end of a string",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT)",
    ("INSERT INTO t VALUES (1, 'x\\', '?', ?)", ("c",)),
    ALL,
    ("UPDATE t SET a = 'C:\\', b = 'what?', c = ? WHERE id = 1", ("d",)),
    ALL,
)
case(
    "postgres",
    "backslashes and dollars",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT)",
    ("INSERT INTO t VALUES (1, 'x\\', '$1', %s)", ("c",)),
    "INSERT INTO t VALUES (2, 'x\\', '''', 'a\\nb')",
    "INSERT INTO t VALUES (3, E'x\\ty', E'\\x41', U&'\\0041')",
    "INSERT INTO t VALUES (4, E'\\\\', E'a\\'b', 'ä')",
    "INSERT INTO t VALUES (5, E'\\101', E'\\u0041', E'\\q')",
    "INSERT INTO t VALUES (6, $$a'b\\$$, $x$ $$ $x$, 'a' \n 'b')",
    ALL,
)
case(
    "postgres",
    "an operator that writes",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        "CREATE FUNCTION f(INTEGER, INTEGER) RETURNS BOOLEAN LANGUAGE sql AS 'UPDATE t SET n = n + 1 RETURNING true'",
        "CREATE OPERATOR === (LEFTARG = INTEGER, RIGHTARG = INTEGER, FUNCTION = f)",
    ],
    "SELECT n FROM t WHERE id = 1",
    "SELECT 1 === 1",
    "SELECT n FROM t WHERE id = 1",
    "b:SELECT * FROM t",
    silent=True,
)
case(
    "postgres",
    "an operator that compares as it likes",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
        "INSERT INTO t VALUES (1, '1'), (2, '2')",
        "CREATE FUNCTION f(TEXT, INTEGER) RETURNS BOOLEAN IMMUTABLE LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR = (LEFTARG = TEXT, RIGHTARG = INTEGER, FUNCTION = f)",
    ],
    "UPDATE t SET a = '3' WHERE a = 1",
    "SELECT * FROM t",
    silent=True,
)
case(
    "postgres",
    "backslashes that mean something",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
    "SET standard_conforming_strings = off",
    "INSERT INTO t VALUES (1, 'a\\nb')",
    ALL,
    "b:SELECT * FROM t",
    silent=True,
)
case(
    "mariadb",
    "escapes",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT)",
    *[rf"INSERT INTO t VALUES ({n}, 'a\{c}b', '\{c}')" for n, c in enumerate("abfnrtvZ%_'\"\\q")],
    "INSERT INTO t VALUES (50, 'it''s', \"q\"\"r\")",
    "INSERT INTO t VALUES (51, 'a' 'b', _utf8'x')",
    "INSERT INTO t VALUES (52, x'41', 0x41)",
    "INSERT INTO t VALUES (53, N'abc', 'a\nb')",
    ALL,
)
case(
    "mariadb",
    "a comment that is executed",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT)",
    "INSERT INTO t VALUES (1, 1, 1)",
    "UPDATE t SET a = 2 /*! , b = 3 */ WHERE id = 1",
    ALL,
    silent=True,
)
case(
    "mariadb",
    "a condition in a comment that is executed",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)",
    "INSERT INTO t VALUES (1, 1)",
    ALL,
    "SELECT * FROM t /*M! WHERE id = 7 */",
    on_the_wire=True,
)
for mode, statement in (
    ("ANSI", 'UPDATE t SET a = "b" WHERE id = 1'),
    ("NO_BACKSLASH_ESCAPES", "UPDATE t SET a = 'x\\n' WHERE id = 1"),
    ("EMPTY_STRING_IS_NULL", "UPDATE t SET a = '' WHERE id = 1"),
):
    case(
        "mariadb",
        f"the mode {mode}",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(9), b VARCHAR(9))",
        "INSERT INTO t VALUES (1, 'x', 'y')",
        f"SET SESSION sql_mode = '{mode}'",
        statement,
        ALL,
        "b:SELECT * FROM t",
        silent=True,
    )
case(
    "mariadb",
    "signs of two meanings",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT)",
    "INSERT INTO t VALUES (1, 0, 5), (2, 3, 3), (3, 1, NULL)",
    "SELECT id FROM t WHERE ! a = 1",
    "SELECT id FROM t WHERE NOT a = 1",
    "SELECT id FROM t WHERE NOT a",
    "SELECT id FROM t WHERE a || b",
    "SELECT id FROM t WHERE a XOR b",
    "SET sql_mode = 'PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE'",
    "SELECT id FROM t WHERE a || b = 33",
    "SELECT id FROM t WHERE NOT a = 1",
)
case(
    "mariadb",
    "a mark in quotes",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR(9), b VARCHAR(9))",
    "INSERT INTO t VALUES (1, 'x', 'y'), (5, 'x', 'y')",
    ("UPDATE t SET a = '%s' WHERE id = %s", (5, 1)),
    ALL,
    silent=True,
    on_the_wire=False,  # there it has its value
)

for setting in (
    "extra_float_digits = 0",
    "extra_float_digits TO -10",
    "DateStyle = 'German, DMY'",
    "DateStyle = 'SQL, MDY'",
    "bytea_output = 'escape'",
    "TimeZone = 'Asia/Kathmandu'",
    "client_encoding = 'LATIN1'",
    "lc_numeric = 'C'",
):
    case(
        "postgres",
        f"how values are shown: {setting}",
        "CREATE TABLE t (id INT PRIMARY KEY, d FLOAT8, a TIMESTAMP, b DATE, y BYTEA, s TEXT, n NUMERIC)",
        "INSERT INTO t VALUES (1, 0.1::float8 + 0.2, '2024-05-06 07:08:09', '2024-05-06', '\\x00ff41', 'é', 1.5)",
        ("INSERT INTO t (id, d, s, y) VALUES (2, %s, %s, %s)", (1 / 3, "é", b"\x00\\A")),
        ALL,
        f"SET {setting}",
        ALL,
        ("INSERT INTO t (id, d, s, y) VALUES (3, %s, %s, %s)", (1 / 3, "é", b"\x00\\A")),
        "INSERT INTO t VALUES (4, 0.30000000000000004, '2024-06-05 07:08:09', '2024-06-05', '\\x41', 'ü', 2)",
        ALL,
        "SELECT id FROM t WHERE d = 0.3333333333333333",
        "SELECT id FROM t WHERE b = '2024-06-05'",
        "b:SELECT * FROM t",
        silent="float" in setting,
    )
for setting in ("NAMES utf8mb4", "character_set_results = NULL", "time_zone = '+05:45'"):
    case(
        "mariadb",
        f"how values are shown: {setting}",
        "CREATE TABLE t (id INT PRIMARY KEY, d DOUBLE, a DATETIME(6), z TIMESTAMP NULL, y VARBINARY(9), "
        "s VARCHAR(9) CHARSET utf8mb4)",
        "INSERT INTO t VALUES (1, 0.1 + 0.2, '2024-05-06 07:08:09', '2024-05-06 07:08', x'00ff41', 'x')",
        ("INSERT INTO t (id, d, s, y) VALUES (2, %s, %s, %s)", (1 / 3, "é", b"\x00\\A")),
        ALL,
        f"SET {setting}",
        ALL,
        ("INSERT INTO t (id, d, s, y) VALUES (3, %s, %s, %s)", (1 / 3, "é", b"\x00\\A")),
        ALL,
        "SELECT id FROM t WHERE d = 0.3333333333333333",
        "b:SELECT * FROM t",
    )

# --- names
case(
    "postgres",
    "names that differ in case",
    ['CREATE TABLE "T" (id INT PRIMARY KEY, n INT)', 'CREATE TABLE t (id INT PRIMARY KEY, n INT, "N" INT)'],
    "INSERT INTO T VALUES (1, 1, 2)",
    'INSERT INTO "T" VALUES (1, 2)',
    'SELECT * FROM "T"',
    "UPDATE T SET N = 3 WHERE ID = 1",
    "SELECT N FROM T WHERE ID = 1",
    'UPDATE t SET "N" = 6 WHERE id = 1',
    ALL,
    "SELECT id FROM t WHERE N = 6",
    "INSERT INTO t (ID, N) VALUES (2, 3)",
    ALL,
    'SELECT * FROM "T"',
)
case(
    "postgres",
    "a name in quotes in the second schema",
    [
        "DROP SCHEMA IF EXISTS other CASCADE",
        "CREATE SCHEMA other",
        'CREATE TABLE public."Items" (id INT PRIMARY KEY, n INT)',
        "CREATE TABLE other.items (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
    ],
    "INSERT INTO other.items VALUES (1, 2)",
    'INSERT INTO "Items" VALUES (1, 3)',
    "SELECT * FROM other.Items",
    'SELECT * FROM "Items"',
    'SELECT * FROM public."Items"',
)
case(
    "postgres",
    "a path that is changed",
    [
        "DROP SCHEMA IF EXISTS other CASCADE",
        "CREATE SCHEMA other",
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE other.t (id INT PRIMARY KEY, n INT)",
    ],
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO other.t VALUES (1, 2)",
    "SET search_path TO other, public",
    ALL,
    "UPDATE t SET n = 5 WHERE id = 1",
    "SELECT * FROM public.t",
    "b:SELECT * FROM t",
    silent=True,
)
for changing in (
    "ALTER TABLE t ADD COLUMN m INT DEFAULT 4",
    "DROP TABLE t",
    "CREATE OR REPLACE VIEW seen AS SELECT 1",
    "SELECT touch()",
    "SELECT 1; DROP TABLE t",
):
    case(
        "postgres",
        f"whose names have moved: {changing}",
        [
            "DROP SCHEMA IF EXISTS other CASCADE",
            "CREATE SCHEMA other",
            "CREATE TABLE other.t (id INT PRIMARY KEY, n INT)",
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "CREATE FUNCTION touch() RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE "
            "public.t SET n = 9; RETURN 1; END $$",
        ],
        "b:INSERT INTO t VALUES (1, 1)",
        "SET search_path TO public, other",
        changing,
        "b:SELECT * FROM t",
        silent=True,
    )
case(
    "mariadb",
    "tables that differ in case",
    ["CREATE TABLE t (id INT PRIMARY KEY, n INT)", "CREATE TABLE T (id INT PRIMARY KEY, n INT)"],
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO T VALUES (1, 2)",
    "SELECT N FROM t WHERE ID = 1",
    "SELECT n FROM T WHERE id = 1",
)
for databases, temporary in (("postgres sqlite", "TEMP"), ("mariadb", "TEMPORARY")):
    case(
        databases,
        "a temporary table that hides another",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (1, 1)",
        f"CREATE {temporary} TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (1, 5)",
        ALL,
        "b:SELECT * FROM t",
        silent=True,
    )
case(
    "postgres sqlite",
    "a temporary table from before",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (1, 1)",
        "CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (2, 7)",
    ],
    "INSERT INTO t VALUES (1, 5)",
    ALL,
    "b:SELECT * FROM t",
    silent=True,
    on_the_wire=False,  # there the connection is another one
)
case(
    "sqlite",
    "a temporary trigger",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TABLE u (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO u VALUES (new.id, new.n); END",
    ],
    "INSERT INTO t VALUES (1, 1)",
    "b:SELECT * FROM u",
    silent=True,
)
case(
    "sqlite",
    "an attached database",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "ATTACH ':memory:' AS o",
        "CREATE TABLE o.t (id INTEGER PRIMARY KEY, n INT)",
    ],
    "INSERT INTO t VALUES (1, 1)",
    ALL,
    "SELECT * FROM o.t",
)

# --- columns that are not where they seem to be
case(
    "mariadb",
    "an invisible column",
    "CREATE TABLE t (id INT PRIMARY KEY, secret INT INVISIBLE DEFAULT 7, n INT)",
    "INSERT INTO t VALUES (1, 5)",
    ALL,
    "SELECT id, secret, n FROM t",
    silent=True,
)
case(
    "sqlite",
    "a computed column in the middle",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, twice INT AS (n * 2), n INT)",
    "INSERT INTO t VALUES (1, 5)",
    ALL,
    "SELECT id FROM t WHERE n = 5",
)
case(
    "postgres mariadb",
    "a computed column in the middle",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, twice INT GENERATED ALWAYS AS (n * 2) STORED, n INT)",
    "INSERT INTO t VALUES (1, DEFAULT, 5)",
    ALL,
    "SELECT id FROM t WHERE n = 5",
)
case(
    "mariadb",
    "MySQL's ways to INSERT",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT DEFAULT 3, m INT)",
    "INSERT INTO t SET id = 2, n = 6",
    "INSERT INTO t () VALUES ()",
    "REPLACE t VALUES (2, DEFAULT, 9)",
    "REPLACE INTO t SET id = 3, n = 10",
    "INSERT INTO t VALUE (12, 1, 1)",
    ALL,
)
case(
    "mariadb",
    "columns in VALUES",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT DEFAULT 3, m INT)",
    "INSERT INTO t (id, n) VALUES (8, id + 1)",
    "INSERT INTO t (id, n, m) VALUES (9, 4, DEFAULT(n))",
    "INSERT INTO t (id, n, m) VALUES (10, 4, n)",
    ALL,
    silent=True,
)
case(
    "postgres",
    "numbers that are given out downwards",
    [
        "DROP SEQUENCE IF EXISTS s CASCADE",
        "CREATE SEQUENCE s INCREMENT BY -1",
        "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT nextval('s'), n INT)",
    ],
    "INSERT INTO t (n) VALUES (1), (2), (3) RETURNING id",
    ALL,
    silent=True,
)
case(
    "postgres",
    "defaults",
    "CREATE TABLE t (id INT PRIMARY KEY, a TEXT DEFAULT E'C:\\\\new', b VARCHAR(4) DEFAULT "
    "'ab', c CHAR(4) DEFAULT 'ab', "
    "d TEXT DEFAULT 'it''s', e TEXT DEFAULT current_user, f NUMERIC DEFAULT '5', g BOOLEAN "
    "DEFAULT 'yes', h TIMESTAMP "
    "DEFAULT '2024-01-01', i INT DEFAULT -1, j INT DEFAULT 2 + 3, k TEXT DEFAULT NULL, l "
    "DATE DEFAULT '2024-01-01', "
    "m BYTEA DEFAULT '\\x00')",
    "INSERT INTO t (id) VALUES (1)",
    "INSERT INTO t (id, a) VALUES (2, DEFAULT)",
    ALL,
)
case(
    "mariadb",
    "defaults",
    "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) DEFAULT 'C:\\\\new', b VARCHAR(4) "
    "DEFAULT 'ab ', c CHAR(4) DEFAULT "
    "'ab', d TEXT DEFAULT 'it''s', e VARCHAR(90) DEFAULT current_user(), f DECIMAL(5, 2) "
    "DEFAULT '5', h DATETIME DEFAULT "
    "'2024-01-01', i INT DEFAULT -1, j INT DEFAULT (2 + 3), k TEXT DEFAULT NULL, n INT NOT "
    "NULL, o ENUM('x', 'y') NOT NULL)",
    "SET sql_mode = ''",
    "INSERT INTO t (id) VALUES (1)",
    "INSERT INTO t (id, a) VALUES (2, DEFAULT)",
    ALL,
)
case(
    "sqlite",
    "defaults",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT 'C:\\new', b VARCHAR(4) "
    "DEFAULT 5, c INT DEFAULT '5', d TEXT "
    "DEFAULT 'it''s', e REAL DEFAULT 5, f NUMERIC DEFAULT '5.0', g BOOLEAN DEFAULT TRUE, h "
    "TIMESTAMP DEFAULT '2024-01-01', "
    "i INT DEFAULT -1, j INT DEFAULT (2 + 3), k TEXT DEFAULT \"dq\", m BLOB DEFAULT x'00', n INT DEFAULT +7)",
    "INSERT INTO t (id) VALUES (1)",
    "INSERT INTO t DEFAULT VALUES",
    ALL,
)

# --- conflicts
case(
    "sqlite",
    "NULL that REPLACE replaces",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT NOT NULL DEFAULT 7, w INT)",
    "INSERT OR REPLACE INTO t VALUES (1, NULL, NULL)",
    "REPLACE INTO t (id, v) VALUES (2, NULL)",
    ALL,
)
case(
    "sqlite",
    "constraints that resolve conflicts",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, u INT UNIQUE ON CONFLICT REPLACE, v INT NOT "
    "NULL ON CONFLICT REPLACE DEFAULT 7)",
    "INSERT INTO t VALUES (1, 5, NULL)",
    "INSERT INTO t VALUES (2, 5, 3)",
    ALL,
    "SELECT v FROM t WHERE id = 1",
    silent=True,
)
case(
    "sqlite",
    "OR FAIL keeps what it had done",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (2, 5)",
    ALL,
    "INSERT OR FAIL INTO t VALUES (1, 6), (2, 7)",
    "SELECT v FROM t WHERE id = 1",
    "BEGIN",
    "INSERT OR FAIL INTO t VALUES (4, 6), (2, 7)",
    "COMMIT",
    ALL,
    silent=True,
)
case(
    "sqlite",
    "OR ROLLBACK",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (2, 5)",
    "BEGIN",
    "UPDATE t SET v = 8 WHERE id = 2",
    "INSERT OR ROLLBACK INTO t VALUES (2, 7)",
    "INSERT INTO t VALUES (3, 3)",
    ALL,
    "COMMIT",
    ALL,
)
case(
    "sqlite postgres",
    "a conflict that moves a row",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 5)",
    "INSERT INTO t VALUES (1, 6) ON CONFLICT (id) DO UPDATE SET id = 9",
    ALL,
    "INSERT INTO t VALUES (9, 6) ON CONFLICT (id) DO UPDATE SET id = 10, v = excluded.v RETURNING *",
    ALL,
    "SELECT v FROM t WHERE id = 9",
    silent=True,
)
case(
    "sqlite postgres",
    "conflicts of another column",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9) UNIQUE, v INT)",
    "INSERT INTO t VALUES (1, 'a', 5)",
    "INSERT INTO t VALUES (3, 'a', 6) ON CONFLICT (name) DO UPDATE SET v = excluded.v "
    "WHERE t.v > 100 RETURNING *",
    ALL,
    "INSERT INTO t VALUES (3, 'a', 6) ON CONFLICT (name) DO UPDATE SET v = 50 RETURNING id, name, v",
    ALL,
    "INSERT INTO t VALUES (4, 'a', 6) ON CONFLICT DO NOTHING",
    "INSERT INTO t VALUES (4, NULL, 6), (5, NULL, 7) ON CONFLICT DO NOTHING",
    ALL,
)
case(
    "sqlite postgres",
    "a conflict of another column that moves a row",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(9) UNIQUE, v INT)",
    "INSERT INTO t VALUES (1, 'a', 5)",
    "INSERT INTO t VALUES (2, 'a', 6) ON CONFLICT (name) DO UPDATE SET id = excluded.id RETURNING *",
    "SELECT v FROM t WHERE id = 1",
    ALL,
    silent=True,
)
case(
    "mariadb",
    "a duplicate that moves a row",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 5)",
    "INSERT INTO t VALUES (1, 6) ON DUPLICATE KEY UPDATE id = 9",
    ALL,
    "SELECT v FROM t WHERE id = 1",
    silent=True,
)
case(
    "mariadb",
    "numbers that are given out",
    "CREATE TABLE t (id INTEGER PRIMARY KEY AUTO_INCREMENT, v INT)",
    "INSERT INTO t (v) VALUES (5)",
    "INSERT INTO t VALUES (0, 6)",
    "INSERT INTO t VALUES (NULL, 7)",
    ALL,
)
case(
    "mariadb",
    "zero, which is zero",
    "CREATE TABLE t (id INTEGER PRIMARY KEY AUTO_INCREMENT, v INT)",
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "INSERT INTO t VALUES (0, 9)",
    "INSERT INTO t (v) VALUES (LAST_INSERT_ID(70))",
    ALL,
    silent=True,
)

# --- what changes behind a statement
case(
    "sqlite postgres mariadb",
    "a cascade into primary keys",
    [
        "CREATE TABLE p (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TABLE t (pid INT, no INT, n INT, PRIMARY KEY (pid, no), FOREIGN KEY (pid) "
        "REFERENCES p (id) ON UPDATE CASCADE)",
        "CREATE TABLE g (pid INT, no INT, k INT, n INT, PRIMARY KEY (pid, no, k), FOREIGN "
        "KEY (pid, no) REFERENCES t "
        "(pid, no) ON UPDATE CASCADE)",
    ],
    "INSERT INTO p VALUES (1, 1)",
    "INSERT INTO t VALUES (1, 1, 5)",
    "INSERT INTO g VALUES (1, 1, 1, 5)",
    "UPDATE p SET id = 2 WHERE id = 1",
    "SELECT n FROM t WHERE pid = 2 AND no = 1",
    "SELECT n FROM t WHERE pid = 1 AND no = 1",
    "SELECT n FROM g WHERE pid = 2 AND no = 1 AND k = 1",
    "SELECT * FROM g",
    ALL,
    silent=True,
)
case(
    "sqlite postgres mariadb",
    "cascades of a unique column",
    [
        "CREATE TABLE p (id INTEGER PRIMARY KEY, code INT UNIQUE)",
        "CREATE TABLE t (id INT PRIMARY KEY, code INT UNIQUE, n INT, FOREIGN KEY (code) "
        "REFERENCES p (code) ON UPDATE CASCADE "
        "ON DELETE SET NULL)",
        "CREATE TABLE g (id INT PRIMARY KEY, code INT, FOREIGN KEY (code) REFERENCES t "
        "(code) ON UPDATE CASCADE ON DELETE "
        "CASCADE)",
    ],
    "INSERT INTO p VALUES (1, 1)",
    "INSERT INTO t VALUES (1, 1, 7)",
    "INSERT INTO g VALUES (1, 1)",
    "UPDATE p SET code = 2 WHERE id = 1",
    ALL,
    "SELECT * FROM g",
    "DELETE FROM p WHERE id = 1",
    ALL,
    "SELECT * FROM g",
)
case(
    "postgres",
    "TRUNCATE ... CASCADE",
    [
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, p INT REFERENCES p)",
        "CREATE TABLE g (id INT PRIMARY KEY, t INT REFERENCES t)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
    ],
    "INSERT INTO p VALUES (1)",
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO g VALUES (1, 1)",
    "INSERT INTO other VALUES (1)",
    "TRUNCATE p CASCADE",
    ALL,
    "SELECT t FROM g WHERE id = 1",
    "SELECT * FROM other",
)
WRITING = (
    "CREATE OR REPLACE FUNCTION w() RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = "
    "n + 1; RETURN 1; END $$"
)
for name, more, texts in (
    ("EXPLAIN ANALYZE", [], ["EXPLAIN ANALYZE SELECT w()"]),
    ("a cursor", [], ["BEGIN", "DECLARE c CURSOR FOR SELECT w()", "FETCH ALL FROM c", "COMMIT"]),
    (
        "a default",
        ["CREATE TABLE u (id INT PRIMARY KEY, n INT DEFAULT w())"],
        ["INSERT INTO u (id) VALUES (1)"],
    ),
    (
        "a view of a view",
        ["CREATE VIEW v AS SELECT w() AS x", "CREATE VIEW v2 AS SELECT * FROM v"],
        ["SELECT * FROM v2"],
    ),
):
    case(
        "postgres",
        f"a function that writes, in {name}",
        ["CREATE TABLE t (id INT PRIMARY KEY, n INT)", WRITING, *more],
        "INSERT INTO t VALUES (1, 1)",
        *texts,
        ALL,
        silent=True,
    )
case(
    "mariadb",
    "a function that writes, in SET",
    [
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "DROP FUNCTION IF EXISTS w",
        "CREATE FUNCTION w() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE t SET n = n + 1; RETURN 1; END",
    ],
    "INSERT INTO t VALUES (1, 1)",
    "SET @x = w()",
    ALL,
    silent=True,
)
for verb in ("UPDATE t SET n = 9", "DELETE FROM t"):
    case(
        "postgres",
        f"{verb} WHERE CURRENT OF",
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT * FROM t FOR UPDATE",
        "FETCH 1 FROM c",
        f"{verb} WHERE CURRENT OF c",
        "COMMIT",
        ALL,
        silent=True,
    )
for sent in (
    "WITH x AS (UPDATE t SET n = 7 WHERE id = 1 RETURNING *) SELECT * FROM x",
    "WITH x AS (SELECT 5 AS n) UPDATE t SET n = x.n FROM x WHERE id = 1",
    "WITH x AS (SELECT 6 AS n) INSERT INTO t SELECT 3, n FROM x",
    "MERGE INTO t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 12",
    "SELECT * INTO copied FROM t",
    "CREATE TABLE made AS SELECT * FROM t",
    "UPDATE t SET (n) = ROW(5) WHERE id = 1",
    "UPDATE t SET n = DEFAULT WHERE id = 1",
    "UPDATE t SET n = (SELECT max(n) FROM t) + 1 WHERE id = 1",
    "UPDATE t AS x SET n = 6 FROM t AS y WHERE x.id = y.id AND y.id = 1 RETURNING x.id, y.n",
    "UPDATE t SET n = 5 FROM p WHERE t.id = 2 AND p.id = 7 RETURNING *",
    "DELETE FROM t USING p WHERE t.id = p.id RETURNING t.*",
    "DELETE FROM ONLY t WHERE id = 2",
    "INSERT INTO t AS x VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET n = x.n + excluded.n "
    "RETURNING n, x.n + 1, id",
    "INSERT INTO t VALUES (3, 4) RETURNING n AS id, id AS n",
    "UPDATE t SET n = 4 WHERE id = 1 RETURNING n AS id, id AS n",
):
    case(
        "postgres",
        f"writes: {sent}",
        [
            "DROP TABLE IF EXISTS copied, made",
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "CREATE TABLE p (id INT PRIMARY KEY, k INT)",
        ],
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "INSERT INTO p VALUES (1, 1), (7, 8)",
        sent,
        ALL,
        "SELECT * FROM p",
        "SELECT n FROM t WHERE id = 1",
        "SELECT k FROM p WHERE id = 7",
        silent=" INTO copied" in sent,
    )
for sent in (
    "UPDATE t SET n = 5 ORDER BY id LIMIT 1",
    "UPDATE t SET n = 6 WHERE id = 1 LIMIT 1",
    "DELETE FROM t WHERE id IN (1, 2) LIMIT 1",
    "UPDATE t a JOIN t b ON a.id = b.id SET a.n = 8 WHERE a.id = 3",
    "DELETE a FROM t a JOIN t b ON a.id = b.id WHERE a.id = 3",
    "UPDATE IGNORE t SET n = 'x' WHERE id = 2",
    "UPDATE t SET n = 1, n = 2 WHERE id = 2",
    "UPDATE t SET n = m, m = n WHERE id = 1",
    "INSERT HIGH_PRIORITY INTO t VALUES (11, 1, 1)",
    "DELETE QUICK FROM t WHERE id = 1",
    "UPDATE LOW_PRIORITY t SET n = 4 WHERE id = 1",
    "UPDATE t SET n = 4 WHERE id = '1'",
    "UPDATE t SET n = 4 WHERE id = '1x'",
    "UPDATE t SET n = '4' WHERE id = 1.0",
    "UPDATE t, p SET t.n = 4, p.k = 5 WHERE t.id = 1 AND p.id = 1",
    "REPLACE INTO t (id) VALUES (1)",
    "INSERT INTO t (id, n) SELECT id + 10, n FROM t",
    "DELETE FROM t WHERE id = 1 RETURNING n, m",
):
    case(
        "mariadb",
        f"writes: {sent}",
        [
            "CREATE TABLE t (id INT PRIMARY KEY, n INT, m INT)",
            "CREATE TABLE p (id INT PRIMARY KEY, k INT)",
        ],
        "INSERT INTO t VALUES (1, 1, 1), (2, NULL, 2), (3, 3, NULL)",
        "INSERT INTO p VALUES (1, 1)",
        "SET sql_mode = ''",
        sent,
        ALL,
        "SELECT * FROM p",
        "SELECT n FROM t WHERE id = 1",
        "SELECT id FROM t WHERE n = 4",
        silent=any(word in sent for word in ("UPDATE IGNORE", "_PRIORITY", "t, p")),
    )
for sent in (
    "UPDATE t SET rowid = 8 WHERE id = 1",
    "INSERT INTO t (rowid, n) VALUES (20, 1)",
    "UPDATE t SET n = 4 WHERE id = 2 OR id = 3",
    'UPDATE t SET n = "m" WHERE id = 3',
    'UPDATE t SET n = "zz" WHERE id = 3',
    "UPDATE t SET n = m, m = n WHERE id = 3",
    "INSERT INTO t VALUES (30, 1, 2) RETURNING id + 1, n",
    "UPDATE t SET n = 3 WHERE id = 1 RETURNING id AS n, n AS id",
    "UPDATE t SET n = 5 FROM (SELECT 1 AS x) WHERE id = x",
    "DELETE FROM t WHERE id = 2 RETURNING n",
    "INSERT INTO t VALUES ('7', '8', 9)",
    "UPDATE t SET n = 4 WHERE id = '1'",
    "UPDATE t SET n = 4 WHERE id = 1.5",
):
    case(
        "sqlite",
        f"writes: {sent}",
        [
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, m INT)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY, k INT)",
        ],
        "INSERT INTO t VALUES (1, 1, 1), (2, NULL, 2), (3, 3, NULL)",
        "INSERT INTO p VALUES (1, 1)",
        sent,
        ALL,
        "SELECT * FROM p",
        "SELECT n FROM t WHERE id = 1",
        "SELECT id FROM t WHERE n = 4",
    )

case(
    "sqlite",
    "OR IGNORE and OR REPLACE in an UPDATE",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
    "UPDATE OR IGNORE t SET id = 2 WHERE id = 1",
    "UPDATE OR REPLACE t SET id = 2 WHERE id = 1",
    ALL,
    silent=True,
)
case(
    "sqlite",
    "a trigger that fails half-way",
    [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
        "CREATE TABLE p (id INTEGER PRIMARY KEY, k INT)",
        "CREATE TRIGGER x AFTER INSERT ON t WHEN new.n > 5 BEGIN SELECT RAISE(FAIL, 'too much'); END",
    ],
    "INSERT INTO t VALUES (1, 1), (2, 9)",
    "SELECT * FROM p",
    ALL,
)

# --- reads
THREE = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, m INT)",
    "INSERT INTO t VALUES (1, 1, 1), (2, NULL, 2), (3, 3, NULL)",
)
CONDITIONS = (
    "n IN (1, NULL)",
    "n NOT IN (1, NULL)",
    "NOT n IN (1)",
    "n = NULL",
    "n <> NULL",
    "NOT (n = m)",
    "n <> m",
    "n NOT BETWEEN 2 AND 5",
    "n BETWEEN 3 AND 1",
    "n = 1.5",
    "n < 2.5",
    "n = '1'",
    "id = '1'",
    "id = 1.0",
    "-n = -1",
    "2 > n",
    "n % 2 = 1",
    "n = 1 OR n IS NULL AND m = 2",
    "NOT (n = 1 AND m = 1)",
    "NOT n IS NULL",
    "(n, m) = (1, 1)",
    "id = 1 AND n = 3",
    "id IN (1, 2) AND NOT (n = 1)",
    "id = 1 AND id = 2",
    "n = n",
    "n = id",
    "n + 0 = 1",
    "COALESCE(n, 1) = 1",
    "n = (SELECT 1)",
    "EXISTS (SELECT 1 FROM t b WHERE b.n = t.id)",
    "CASE WHEN n = 1 THEN 1 ELSE 0 END = 1",
    "n LIKE '1'",
    "1 = 1",
    "1 = 2",
    "(id = 1 AND 1 = 1)",
    "id = 7 AND 1 = 1",
    "n = 1 AND 1 = 1 OR 1 = 1",
    "NOT (1 = 1)",
    "1 = 1 AND 2 = 2",
    "id = 9 LIMIT 1 OFFSET 0",
    "n = 3 LIMIT 5 OFFSET 0",
    "n = 3 LIMIT 5 OFFSET 1",
)
SELECTS = (
    "SELECT DISTINCT n FROM t",
    "SELECT id AS n, n AS id FROM t WHERE n = 3",
    "SELECT id, n m, m n FROM t",
    "SELECT * FROM (SELECT id FROM t WHERE n = 1) x",
    "SELECT * FROM t a JOIN t b USING (id)",
    "SELECT a.id, b.id, b.n FROM t a JOIN t b ON a.n = b.id",
    "SELECT a.id, b.n FROM t a LEFT JOIN t b ON a.n = b.id",
    "SELECT * FROM t, t b WHERE t.id = 1 AND b.id = 2",
    "SELECT n FROM t WHERE id = 1 UNION ALL SELECT m FROM t",
    "SELECT n FROM t ORDER BY id LIMIT 1 OFFSET 2",
    "SELECT * FROM t LIMIT 0",
    "SELECT * FROM t LIMIT 3",
    "SELECT * FROM t LIMIT 4",
    "SELECT id FROM t GROUP BY id",
    "SELECT 1 FROM t WHERE id = 77",
    "SELECT count(*) FROM t WHERE n = 99",
    "SELECT count(*) FROM t, t b WHERE t.n = 99",
    "SELECT count(*) + 0 FROM t WHERE n = 1",
    "SELECT count(n) FROM t WHERE n IS NULL",
    "SELECT count(DISTINCT n) FROM t",
    "SELECT max(id), min(n) FROM t",
    "SELECT id, count(*) OVER () FROM t WHERE n > 0",
    "SELECT id, sum(n) OVER (ORDER BY id) FROM t",
    "SELECT t.* FROM t WHERE t.id = 1",
)
ONLY = {
    "postgres": (
        "TABLE t",
        "SELECT * FROM ONLY t",
        "SELECT * FROM t WHERE n IS DISTINCT FROM m",
        "SELECT * FROM t WHERE n IS NOT DISTINCT FROM 1",
        "SELECT * FROM t WHERE (n > 1) IS NOT TRUE",
        "SELECT * FROM t WHERE n BETWEEN SYMMETRIC 3 AND 1",
        "SELECT * FROM t WHERE n > 0 FETCH FIRST 1 ROW ONLY",
        "SELECT DISTINCT ON (m) * FROM t",
        "SELECT * FROM t WHERE id = ANY('{1,2}')",
        "SELECT * FROM t TABLESAMPLE BERNOULLI (0)",
        "SELECT n FROM t OFFSET 1",
        "SELECT t FROM t",
        "SELECT * FROM t a (x, y, z) WHERE x = 1",
        "SELECT * FROM t WHERE id = 1 FOR UPDATE SKIP LOCKED",
        "SELECT * FROM t WHERE id = 9 FOR UPDATE NOWAIT",
        "SELECT a.id, b.n FROM t a RIGHT JOIN t b ON a.n = b.id",
        "SELECT a.id, b.id FROM t a FULL JOIN t b ON a.n = b.id",
        "SELECT * FROM t NATURAL JOIN t b",
        "SELECT * FROM t CROSS JOIN LATERAL (SELECT 1) x",
        "(SELECT n FROM t WHERE id = 1)",
        "(SELECT n FROM t WHERE id = 1 LIMIT 0)",
        "(SELECT id, n FROM t) LIMIT 1",
        "(SELECT id FROM t) OFFSET 1",
        "SELECT * FROM t WHERE n = 1 OR TRUE",
        "SELECT * FROM t WHERE id = 1 AND FALSE",
        "SELECT id FROM t WHERE n <> ALL (ARRAY[1])",
        "SELECT * FROM t WHERE n::text = '1'",
        "SELECT * FROM t WHERE n = '1'::int",
        "SELECT EXISTS (SELECT 1 FROM t WHERE id = 1)",
        "SELECT count(*) FILTER (WHERE n = 5) FROM t",
        "SELECT id, unnest(ARRAY[1, 2]) FROM t",
        "SELECT id, generate_series(1, 0) FROM t",
    ),
    "mariadb": (
        "SELECT * FROM t WHERE n <=> NULL",
        "SELECT * FROM t WHERE NOT (n <=> m)",
        "SELECT * FROM t WHERE n = '1abc'",
        "SELECT * FROM t WHERE id = '1abc'",
        "SELECT * FROM t WHERE n && m",
        "SELECT * FROM t WHERE n = 1 | 2",
        "SELECT * FROM t WHERE id DIV 2 = 1",
        "SELECT * FROM t LIMIT 1, 5",
        "SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1",
        "SELECT * FROM t WHERE n = true",
        "SELECT * FROM t WHERE n IS TRUE",
        "SELECT * FROM t WHERE n IS NOT TRUE",
        "SELECT * FROM t WHERE n IS UNKNOWN",
        "SELECT * FROM t FORCE INDEX (PRIMARY) WHERE id = 1",
        "SELECT id FROM t GROUP BY n",
        "SELECT HIGH_PRIORITY id FROM t",
        "SELECT * FROM t WHERE BINARY n = 1",
        "SELECT id, n FROM t WHERE n = 0 OR n = 3 FOR UPDATE SKIP LOCKED",
        "SELECT * FROM t WHERE n = 1e0",
        "SELECT * FROM t WHERE n = 0x01",
        "SELECT * FROM t WHERE n = b'1'",
        "SELECT * FROM t WHERE n",
        "SELECT DISTINCTROW n FROM t",
        "SELECT id, @x := n FROM t",
    ),
    "sqlite": (
        "SELECT * FROM t WHERE n IN ()",
        "SELECT * FROM t WHERE n NOT IN ()",
        "SELECT * FROM t WHERE n == 1",
        "SELECT * FROM t WHERE n IS m",
        "SELECT * FROM t WHERE n IS NOT m",
        "SELECT * FROM t WHERE n IS NOT 1",
        "SELECT * FROM t WHERE n NOTNULL",
        "SELECT * FROM t WHERE n ISNULL",
        "SELECT * FROM t WHERE rowid = 1",
        "SELECT rowid, n FROM t WHERE id = 2",
        "SELECT * FROM t WHERE n = '1 '",
        "SELECT * FROM t WHERE +n = '1'",
        "SELECT * FROM t WHERE n = 1 COLLATE nocase",
        "SELECT * FROM t NOT INDEXED WHERE n = 1",
        "SELECT * FROM t WHERE n IS TRUE",
        "SELECT max(id), n FROM t",
        "SELECT id, max(n) FROM t",
        "SELECT * FROM t WHERE n < 'a'",
        "SELECT * FROM t LIMIT -1",
        "SELECT * FROM t LIMIT 1, 1",
        "SELECT main.t.n FROM main.t WHERE id = 1",
        "VALUES (1)",
    ),
    "duckdb": (
        "SELECT * EXCLUDE (n) FROM t",
        "SELECT * REPLACE (n + 1 AS n) FROM t",
        "FROM t",
        "SELECT * FROM t USING SAMPLE 1",
        "SELECT COLUMNS('n|m') FROM t",
        "SELECT * FROM t LIMIT 10%",
    ),
}
for database, own in ONLY.items():
    case(
        database,
        "reads of all kinds",
        list(THREE),
        *(f"SELECT * FROM t WHERE {condition}" for condition in CONDITIONS),
        *SELECTS,
        *own,
    )

# --- texts of several statements, and statements that commit
for sent in (
    "BEGIN; UPDATE t SET n = 5 WHERE id = 1; COMMIT",
    "SET lock_timeout = '5s'; UPDATE t SET n = 5 WHERE id = 1",
    "SELECT 1; UPDATE t SET n = 5 WHERE id = 1",
    "CREATE TABLE made (id INT PRIMARY KEY); DO $$ BEGIN UPDATE t SET n = 9; END $$",
):
    case(
        "postgres",
        f"several statements: {sent}",
        ["DROP TABLE IF EXISTS made", "CREATE TABLE t (id INT PRIMARY KEY, n INT)"],
        "INSERT INTO t VALUES (1, 1)",
        sent,
        "b:SELECT * FROM t",
        silent=True,
        on_the_wire="DO " in sent,  # there it is known where one ends
    )
case(
    "postgres sqlite",
    "a semicolon at the end",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n VARCHAR(9))",
    "INSERT INTO t VALUES (1, ';'); -- that is all",
    "UPDATE t SET n = 'a;b' WHERE id = 1 ; /* that; is all */ ",
    ALL,
)
case(
    "postgres",
    "COMMIT AND CHAIN",
    "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES (1, 1)",
    "BEGIN",
    "UPDATE t SET n = 5 WHERE id = 1",
    "COMMIT AND CHAIN",
    "UPDATE t SET n = 6 WHERE id = 1",
    "ROLLBACK",
    "b:SELECT * FROM t",
    silent=True,
)
for sent in (
    "RESET QUERY CACHE",
    "FLUSH STATUS",
    "ANALYZE TABLE p",
    "LOCK TABLES t WRITE",
    "CREATE INDEX i ON p (k)",
):
    case(
        "mariadb",
        f"what commits: {sent}",
        ["CREATE TABLE t (id INT PRIMARY KEY, n INT)", "CREATE TABLE p (id INT PRIMARY KEY, k INT)"],
        "INSERT INTO t VALUES (1, 1)",
        "BEGIN",
        "UPDATE t SET n = 5 WHERE id = 1",
        sent,
        "UNLOCK TABLES",
        "ROLLBACK",
        "b:SELECT * FROM t",
    )

# --- tables of other kinds, and changes of them
case(
    "postgres",
    "partitions and children",
    [
        "CREATE TABLE t (id INT, n INT, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20)",
        "CREATE TABLE u (id INT PRIMARY KEY, n INT)",
        "CREATE TABLE c () INHERITS (u)",
    ],
    "INSERT INTO t VALUES (1, 1)",
    "SELECT * FROM t1",
    "UPDATE t1 SET n = 2",
    ALL,
    "UPDATE t SET id = 11 WHERE id = 1",
    "SELECT * FROM t2",
    "INSERT INTO u VALUES (1, 1)",
    "INSERT INTO c VALUES (1, 2)",
    "SELECT * FROM u",
    silent=True,
)
case(
    "postgres",
    "rows that are hidden",
    [
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        "CREATE POLICY p ON t USING (n > 1)",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE t FORCE ROW LEVEL SECURITY",
    ],
    "INSERT INTO t VALUES (1, 1)",
    "INSERT INTO t VALUES (2, 2)",
    ALL,
    "SELECT n FROM t WHERE id = 1",
    "UPDATE t SET n = 2 WHERE id = 1",
    "SELECT count(*) FROM t",
)
case(
    "postgres",
    "an enum whose members are renamed",
    [
        "DROP TYPE IF EXISTS mood CASCADE",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t (id INT PRIMARY KEY, m mood)",
    ],
    "INSERT INTO t VALUES (1, 'sad')",
    ALL,
    "SELECT id FROM t WHERE m < 'ok'",
    "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'",
    ALL,
    silent=True,
)
case(
    "postgres sqlite",
    "a table that is changed in a transaction",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES (1, 1)",
    "BEGIN",
    "ALTER TABLE t ADD COLUMN m INT DEFAULT 4",
    "UPDATE t SET m = 5 WHERE id = 1",
    ALL,
    "ROLLBACK",
    ALL,
    "BEGIN",
    "CREATE TABLE u (id INTEGER PRIMARY KEY)",
    "INSERT INTO u VALUES (1)",
    "ROLLBACK",
    "CREATE TABLE u (id INTEGER PRIMARY KEY, k INT)",
    "INSERT INTO u VALUES (1, 2)",
    "b:SELECT * FROM u",
    "DROP TABLE u",
    "CREATE TABLE u (id INTEGER PRIMARY KEY, k INT)",
    "SELECT * FROM u",
    "b:SELECT * FROM t",
    silent=True,
)
case(
    "sqlite",
    "keys that are NULL",
    "CREATE TABLE t (a TEXT PRIMARY KEY, n INT)",
    "INSERT INTO t VALUES (NULL, 5)",
    "INSERT INTO t VALUES (NULL, 6)",
    ALL,
    "SELECT n FROM t WHERE a IS NULL",
    "SELECT n FROM t WHERE a = NULL",
    "INSERT INTO t VALUES ('x', 1)",
    ALL,
    silent=True,
)

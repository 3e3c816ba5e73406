"""What a statement tells: from its text, its parameters and its answer to operations of a trace, and what it taints."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from boomslang.record.sql.catalogs import catalog, mysql
from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.meaning import meaning_of, names_move
from boomslang.record.sql.returning import with_returning
from boomslang.record.sql.schema import Column, Reach, Schema, Unknown
from boomslang.record.sql.text import several, spelled
from boomslang.record.sql.told import Answer
from boomslang.record.statements import Record
from boomslang.trace.scalars import Absent

TABLES = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR(30) UNIQUE, stock INTEGER NOT NULL DEFAULT 0,
    price NUMERIC(10, 2));
CREATE TABLE lines (ord INT, pos INT, item_id INT REFERENCES items (id) ON DELETE CASCADE, qty INT, at DATETIME DEFAULT
    CURRENT_TIMESTAMP, PRIMARY KEY (ord, pos));
CREATE TABLE doctors (name TEXT PRIMARY KEY, on_call BOOLEAN);
CREATE TABLE noted (what TEXT);
CREATE VIEW shown AS SELECT * FROM items;
"""


@pytest.fixture(scope="module")
def schema() -> Schema:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    asking = catalog("sqlite")
    try:
        query = next(asking)
        while True:
            query = asking.send(connection.execute(query).fetchall())
    except StopIteration as made:
        found: Schema = made.value
        return found
    finally:
        connection.close()


def shown(record: Record) -> str:
    lock = f" ({record.ctx['lock']})" if record.ctx else ""
    if record.op == "select":
        table, where = record.args
        return f"select {table} {where}: {[key for key, _ in record.result]}{lock}"
    if record.op == "put":
        return f"put {record.args[0]} = {record.args[1]!r}"
    result = (
        {None: "", Absent: " absent"}.get(record.result, f" {record.result!r}")
        if record.op == "delete"
        else (" absent" if record.result is Absent else f" {record.result!r}")
    )
    return f"{record.op} {record.args[0]}{result}{lock}"


def told(
    schema: Schema,
    text: str,
    given: Any = None,
    rows: Sequence[tuple[Any, ...]] = (),
    count: int = -1,
    last: Any = None,
) -> Iterator[str]:
    """The operations, then `taints ...`, then why not all of it."""
    found = meaning_of(text, schema, given).tell(given, Answer(list(rows), count, last))
    yield from map(shown, found.records)
    if found.taints:
        yield f"taints {' '.join(found.taints)}"
    if found.why:
        yield f"{'partly' if found.partly else 'left out'}: {found.why}"


UNMATCHED = "rows that did not match are not recorded"
SOME = "a write of some of the rows that it names, and nobody knows which"
CASES: dict[str, tuple[Any, list[str]]] = {
    # --- SELECT
    "SELECT stock FROM items WHERE id = ?": (
        {"given": (3,), "rows": [(7,)]},
        ["get items[3] True", "get items[3].stock 7"],
    ),
    "SELECT stock, name FROM items WHERE ? = id": ({"given": (3,)}, ["get items[3] absent"]),
    "SELECT id, stock FROM items WHERE id IN (1, 2)": (
        {"rows": [(2, 5)]},
        ["get items[2] True", "get items[2].stock 5", "get items[1] absent"],
    ),
    "SELECT * FROM items": (
        {"rows": [(1, "tea", 5, 2.5)]},
        [
            "select items True: ['items[1]']",
            "get items[1].name 'tea'",
            "get items[1].stock 5",
            "get items[1].price 2.5",
        ],
    ),
    "SELECT id FROM items WHERE id > 5 AND id <= 9": (
        {"rows": [(6,)]},
        ["select items ['and', ['>', {'key': 0}, 5], ['<=', {'key': 0}, 9]]: ['items[6]']"],
    ),
    "SELECT id FROM items WHERE name = ?": (
        {"given": ("tea",), "rows": []},
        ["select items ['=', {'column': 'name'}, 'tea']: []"],
    ),
    "SELECT name FROM doctors WHERE on_call": (
        {"rows": [("Ann",)]},
        ["select doctors ['!=', {'column': 'on_call'}, 0]: ['doctors[\"Ann\"]']"],
    ),
    "SELECT name FROM doctors WHERE NOT on_call OR on_call IS NULL": (
        {"rows": []},
        [
            "select doctors ['or', ['not', ['!=', {'column': 'on_call'}, 0]], ['is-null', {'column': 'on_call'}]]: []"
        ],
    ),
    "SELECT id, stock FROM items WHERE stock > 1 ORDER BY stock LIMIT 1": (
        {"rows": [(1, 5)]},
        [
            "get items[1] True",
            "get items[1].stock 5",
            f"partly: {UNMATCHED} (some may be hidden, as by LIMIT)",
        ],
    ),
    "SELECT id, stock FROM items WHERE stock > 1 LIMIT 10": (
        {"rows": [(1, 5)]},
        ["select items ['>', {'column': 'stock'}, 1]: ['items[1]']", "get items[1].stock 5"],
    ),
    "SELECT stock FROM items WHERE (items.id = ? AND 1=1) LIMIT ? OFFSET ?": (
        {"given": (3, 1, 0), "rows": []},
        ["get items[3] absent"],
    ),
    "SELECT stock FROM items WHERE id = ? LIMIT 1 OFFSET 1": (
        {"given": (3,), "rows": []},
        ["left out: rows may be hidden"],
    ),
    "SELECT id FROM items WHERE 1 = 1 AND stock = 2": (
        {"rows": [(4,)]},
        ["select items ['=', {'column': 'stock'}, 2]: ['items[4]']"],
    ),
    "SELECT stock FROM items WHERE stock > 1": (
        {"rows": [(5,)]},
        ["left out: rows whose primary key is not known"],
    ),
    "SELECT id FROM items WHERE UPPER(name) = 'TEA'": (
        {"rows": [(1,)]},
        ["get items[1] True", f"partly: {UNMATCHED} (a condition that only the database can evaluate)"],
    ),
    "SELECT COUNT(*) FROM items WHERE stock = 0": (
        {"rows": [(0,)]},
        ["select items ['=', {'column': 'stock'}, 0]: []"],
    ),
    "SELECT COUNT(*) FROM items": (
        {"rows": [(4,)]},
        ["left out: a count: which rows were counted is not known"],
    ),
    "SELECT MAX(stock) FROM items WHERE id = 1": ({"rows": [(4,)]}, ["left out: an aggregate"]),
    "SELECT 1 FROM items WHERE id = 5 LIMIT 1": ({"rows": [(1,)]}, ["get items[5] True"]),
    "SELECT l.qty, i.stock FROM lines l JOIN items i ON i.id = l.item_id WHERE l.ord = 1 AND l.pos = 2 AND i.id = 9": (
        {"rows": [(3, 5)]},
        [
            "get lines[1,2] True",
            "get lines[1,2].qty 3",
            "get items[9] True",
            "get items[9].stock 5",
            f"partly: {UNMATCHED}",
        ],
    ),
    "SELECT i.id, l.ord, l.pos, l.qty FROM items i LEFT JOIN lines l ON l.item_id = i.id": (
        {"rows": [(1, 1, 2, 3), (4, None, None, None)]},
        [
            "get items[1] True",
            "get items[4] True",
            "get lines[1,2] True",
            "get lines[1,2].qty 3",
            f"partly: {UNMATCHED}",
        ],
    ),
    "SELECT what FROM noted": ({"rows": [("x",)]}, ["left out: no primary key"]),
    "SELECT id FROM shown": ({"rows": [(1,)]}, ["left out: a view"]),
    "SELECT id FROM items UNION SELECT ord FROM lines": ({"rows": [(1,)]}, ["left out: a set operation"]),
    # --- UPDATE
    "UPDATE items SET stock = ? WHERE id = ?": (
        {"given": (4, 1), "count": 1},
        ["get items[1] True (update)", "put items[1].stock = 4"],
    ),
    "UPDATE items SET stock = 4 WHERE id = 2": ({"count": 0}, ["get items[2] absent (update)"]),
    "UPDATE items SET stock = 4, name = 'x' WHERE id = 1 AND stock = 5": (
        {"count": 1},
        [
            "get items[1] True (update)",
            "get items[1].stock 5 (update)",
            "put items[1].stock = 4",
            "put items[1].name = 'x'",
        ],
    ),
    "UPDATE items SET stock = 3 WHERE id = 1 AND stock = 5": (
        {"count": 0},
        ["select items ['and', ['=', {'key': 0}, 1], ['=', {'column': 'stock'}, 5]]: [] (update)"],
    ),
    "UPDATE items SET stock = stock - ? WHERE id = ? RETURNING stock": (
        {"given": (2, 1), "rows": [(3,)], "count": 1},
        ["get items[1] True (update)", "get items[1].stock 5 (update)", "put items[1].stock = 3"],
    ),
    "UPDATE items SET stock = stock - 1 WHERE id = 1": (
        {"count": 1},
        [
            "get items[1] True (update)",
            "taints items[1].stock",
            "partly: a value of stock that only the database knows",
        ],
    ),
    "UPDATE items SET stock = 0 WHERE name LIKE 't%'": (
        {"count": 3},
        ["taints items[].stock", "left out: a write of rows that are not known"],
    ),
    "UPDATE items SET stock = 0 WHERE name LIKE 'q%'": (
        {"count": 0},
        [f"partly: {UNMATCHED} (a condition that only the database can evaluate)"],
    ),
    "UPDATE items SET stock = 0 WHERE id IN (1, 2)": (
        {"count": 1},
        ["taints items[1].stock items[2].stock", f"left out: {SOME}"],
    ),
    "UPDATE items SET stock = 0 WHERE id IN (1, 2) AND stock > 5": (
        {"count": 2},
        [
            "select items ['and', ['in', {'key': 0}, [1, 2]], ['>', {'column': 'stock'}, 5]]: ['items[1]', 'items[2]'] "
            "(update)",
            "put items[1].stock = 0",
            "put items[2].stock = 0",
        ],
    ),
    "UPDATE items SET stock = 0 WHERE name = 'tea'": (
        {"count": 1},
        ["taints items[].stock", "left out: a write of rows that are not known"],
    ),
    "UPDATE items SET stock = 1 WHERE name = 'tea'": (
        {"count": 0},
        ["select items ['=', {'column': 'name'}, 'tea']: [] (update)"],
    ),
    "UPDATE items SET stock = stock + 1 WHERE name = 'tea' RETURNING id, stock": (
        {"rows": [(3, 8)], "count": 1},
        [
            "select items ['=', {'column': 'name'}, 'tea']: ['items[3]'] (update)",
            "get items[3].stock 7 (update)",
            "put items[3].stock = 8",
        ],
    ),
    "UPDATE items SET stock = 2 WHERE id BETWEEN 3 AND 5 RETURNING id, stock": (
        {"rows": [(4, 2)], "count": 1},
        ["select items ['between', {'key': 0}, 3, 5]: ['items[4]'] (update)", "put items[4].stock = 2"],
    ),
    "UPDATE items SET stock = 2 RETURNING id, stock": (
        {"rows": [(4, 2), (5, 2)], "count": 2},
        [
            "select items True: ['items[4]', 'items[5]'] (update)",
            "put items[4].stock = 2",
            "put items[5].stock = 2",
        ],
    ),
    "UPDATE items SET stock = stock WHERE id IN (1, 2, 3) RETURNING id": (
        {"rows": [(1,)], "count": 1},
        [
            "get items[1] True (update)",
            "get items[2] absent (update)",
            "get items[3] absent (update)",
            "taints items[1].stock",
            "partly: a value of stock that only the database knows",
        ],
    ),
    "UPDATE items SET id = 5 WHERE id = 4": (
        {"count": 1},
        ["taints items[] lines[]", "left out: a primary key is changed"],
    ),
    # --- DELETE
    "DELETE FROM doctors WHERE name = 'Ann'": (
        {"count": 1},
        [
            'get doctors["Ann"] True (update)',
            'delete doctors["Ann"]',
            'delete doctors["Ann"].on_call',
        ],
    ),
    "DELETE FROM doctors WHERE name = 'Ben'": ({"count": 0}, ['get doctors["Ben"] absent (update)']),
    "DELETE FROM items": (
        {"count": 2},
        ["taints items[] lines[]", "left out: a write of rows that are not known"],
    ),
    "DELETE FROM doctors WHERE name IN ('Ann', 'Ben')": (
        {"count": 1},
        [
            'taints doctors["Ann"] doctors["Ann"].on_call doctors["Ben"] doctors["Ben"].on_call',
            f"left out: {SOME}",
        ],
    ),
    "DELETE FROM doctors WHERE name > 'B' RETURNING name": (
        {"rows": [("Ben",)], "count": 1},
        [
            "select doctors ['>', {'key': 0}, 'B']: ['doctors[\"Ben\"]'] (update)",
            'delete doctors["Ben"]',
            'delete doctors["Ben"].on_call',
        ],
    ),
    "DELETE FROM items WHERE name = 'tea' RETURNING id": (
        {"rows": [(3,)], "count": 1},
        [
            "select items ['=', {'column': 'name'}, 'tea']: ['items[3]'] (update)",
            "delete items[3]",
            "delete items[3].name",
            "delete items[3].stock",
            "delete items[3].price",
            "taints lines[]",
        ],
    ),
    "DELETE FROM doctors RETURNING name": ({"rows": [], "count": 0}, ["select doctors True: [] (update)"]),
    # --- INSERT
    "INSERT INTO items (name) VALUES (?)": (
        {"given": ("a",), "count": 1, "last": 8},
        [
            "put items[8] = True",
            "put items[8].name = 'a'",
            "put items[8].stock = 0",
            "put items[8].price = None",
        ],
    ),
    "INSERT INTO items (name) VALUES ('a'), ('b') RETURNING id": (
        {"rows": [(9,), (8,)], "count": 2},
        [
            *(
                "put items[8] = True",
                "put items[8].name = 'a'",
                "put items[8].stock = 0",
                "put items[8].price = None",
            ),
            *(
                "put items[9] = True",
                "put items[9].name = 'b'",
                "put items[9].stock = 0",
                "put items[9].price = None",
            ),
        ],
    ),
    "INSERT INTO lines (ord, pos) VALUES (1, 2)": (
        {"count": 1},
        [
            "put lines[1,2] = True",
            "put lines[1,2].item_id = None",
            "put lines[1,2].qty = None",
            "taints lines[].at",
            "partly: a value of at that only the database knows",
        ],
    ),
    "INSERT INTO doctors VALUES ('Ann', 1) ON CONFLICT (name) DO UPDATE SET on_call = excluded.on_call": (
        {"count": 1},
        ['put doctors["Ann"] = True', 'put doctors["Ann"].on_call = 1'],
    ),
    "INSERT INTO doctors VALUES ('Ann', 1) ON CONFLICT (name) DO UPDATE SET on_call = 0": (
        {"count": 1},
        [
            'put doctors["Ann"] = True',
            'taints doctors["Ann"].on_call',
            "partly: a value of on_call that only the database knows",
        ],
    ),
    "INSERT OR IGNORE INTO doctors VALUES ('Ann', 1)": (
        {"count": 0},
        ["partly: a conflict: which row was there is not recorded"],
    ),
    "REPLACE INTO doctors VALUES ('Ann', NULL)": (
        {"count": 1},
        ['put doctors["Ann"] = True', 'put doctors["Ann"].on_call = None'],
    ),
    "REPLACE INTO items (id, name) VALUES (1, 'x')": (
        {"count": 1},
        [
            "taints items[] lines[]",
            "left out: a conflict of another column than the primary key may have changed another row",
        ],
    ),
    "INSERT INTO doctors SELECT name, 1 FROM items": (
        {"count": 2},
        ["taints doctors[]", "left out: new rows that the statement does not give"],
    ),
    "INSERT INTO doctors SELECT name, 1 FROM items RETURNING name, on_call": (
        {"rows": [("tea", 1)], "count": 1},
        [
            'put doctors["tea"] = True',
            'put doctors["tea"].on_call = 1',
            "partly: what its new rows were made from is not recorded",
        ],
    ),
    "INSERT INTO doctors VALUES ('Ann', 1), ('Ben', 0) ON CONFLICT DO NOTHING RETURNING *": (
        {"rows": [("Ben", 0)], "count": 1},
        [
            'put doctors["Ben"] = True',
            'put doctors["Ben"].on_call = 0',
            "partly: a conflict: which row was there is not recorded",
        ],
    ),
    "INSERT INTO items (name, stock) VALUES ('tea', 2) ON CONFLICT (name) DO UPDATE SET stock = items.stock + 2 "
    "RETURNING *": (
        {"rows": [(3, "tea", 9, None)], "count": 1},
        [
            "put items[3] = True",
            "put items[3].name = 'tea'",
            "put items[3].stock = 9",
            "put items[3].price = None",
        ],
    ),
    "INSERT OR REPLACE INTO items (id, name) VALUES (1, 'x') RETURNING *": (
        {"rows": [(1, "x", 0, None)], "count": 1},
        [
            "taints items[] lines[]",
            "left out: a conflict of another column than the primary key may have changed another row",
        ],
    ),
    "INSERT INTO noted VALUES ('x')": ({"count": 1}, ["left out: no primary key"]),
    # --- whatever else
    "WITH gone AS (DELETE FROM doctors RETURNING name) SELECT * FROM gone": (
        {},
        ["taints doctors[]", "left out: a SELECT that writes"],
    ),
    "MERGE INTO doctors USING items ON 1 = 1 WHEN MATCHED THEN DELETE": (
        {},
        ["taints doctors[] items[] lines[]", "left out: a MERGE"],
    ),
    "CALL something()": ({}, ["taints *", "left out: a statement that may do anything"]),
    "DROP TABLE lines": ({}, ["taints lines[]", "left out: DROP: the schema is changed"]),
    "this is no SQL": ({}, ["taints *", "left out: a statement that may do anything"]),
    "UPDATE elsewhere SET x = 1": (
        {"count": 1},
        ["taints *", "left out: a write to something that is no table"],
    ),
    "UPDATE shown SET stock = 1": ({"count": 1}, ["taints *", "left out: a write to a view"]),
    "SELECT sqlite_version()": ({"rows": [("3",)]}, []),
    "PRAGMA foreign_keys": ({"rows": [(1,)]}, []),
    "CREATE TABLE fresh (id INTEGER PRIMARY KEY)": ({}, []),
}


@pytest.mark.parametrize("text", CASES)
def test_what_a_statement_tells(schema: Schema, text: str) -> None:
    answer, expected = CASES[text]
    assert list(told(schema, text, **answer)) == expected


NEEDED = {
    "UPDATE items SET stock = stock - 1 WHERE id = 1": '"id", "stock"',
    "UPDATE items SET stock = 4 WHERE id = 1 OR id = 2": '"id", "stock"',
    "UPDATE items SET stock = 4, price = ? WHERE name = 'x' ;\n": '"id", "stock", "price"',
    "UPDATE items SET stock = 4 WHERE name = ';' -- all of them;": '"id", "stock"',
    "UPDATE items AS i SET stock = 4": '"id", "stock"',
    "DELETE FROM lines WHERE ord = 1": '"ord", "pos"',
    "DELETE FROM doctors": '"name"',
    "INSERT INTO lines (ord, pos) VALUES (1, 2)": '"ord", "pos", "item_id", "qty", "at"',
    "INSERT INTO doctors SELECT name, 1 FROM items": '"name", "on_call"',
    "INSERT INTO items (id, stock) VALUES (1, 2 * 3)": '"id", "name", "stock", "price"',
    "INSERT INTO doctors VALUES ('Ann', 1) ON CONFLICT (name) DO NOTHING": '"name", "on_call"',
    "INSERT INTO doctors VALUES ('Ann', 1) ON CONFLICT (name) DO UPDATE SET on_call = 0": '"name", "on_call"',
}


@pytest.mark.parametrize("text", NEEDED)
def test_returning_is_added_where_a_write_does_not_tell_enough(schema: Schema, text: str) -> None:
    given = (1,) if "?" in text else None
    made = with_returning(text, schema, given)
    assert made is not None and made.endswith(f"\nRETURNING {NEEDED[text]}")
    assert made.startswith(text.rstrip(" \n;")[:40])
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    connection.execute(made, given or ())  # it is SQL
    connection.close()
    assert with_returning(made, schema, given) is None


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE items SET stock = 4 WHERE id = 1",
        "UPDATE items SET stock = ?, price = -1 WHERE id = ? AND stock = 5",
        "DELETE FROM lines WHERE ord = 1 AND pos = ?",
        "INSERT INTO doctors VALUES (?, ?)",
        "INSERT INTO lines (ord, pos, at) VALUES (1, 2, NULL)",
        # what cannot have it, or nobody would understand it
        "UPDATE items SET id = id + 1",
        "UPDATE items SET stock = 0 FROM lines WHERE lines.item_id = items.id",
        "UPDATE items SET stock = 0 LIMIT 1",
        "DELETE FROM noted",
        "UPDATE shown SET stock = 0",
        "UPDATE items SET stock = 0; -- a comment behind the end",
        "UPDATE items SET stock = 0; DELETE FROM items",
        "WITH w AS (SELECT 1) UPDATE items SET stock = 0",
        "INSERT OR REPLACE INTO items SELECT * FROM items",
        "SELECT id FROM items",
        "DROP TABLE items",
        "this is no SQL",
    ],
)
def test_returning_is_not_added_elsewhere(schema: Schema, text: str) -> None:
    assert with_returning(text, schema, (1, 2) if "?" in text else None) is None


def test_returning_is_added_only_where_the_database_has_it(schema: Schema) -> None:
    update, delete = "UPDATE items SET stock = 0", "DELETE FROM doctors"
    mysql = replace(schema, dialect="mysql")
    mariadb = replace(mysql, options=frozenset({"mariadb"}))
    assert with_returning(update, mysql, None) is None and with_returning(delete, mysql, None) is None
    assert with_returning(update, mariadb, None) is None
    assert with_returning(delete, mariadb, None) == "DELETE FROM doctors\nRETURNING `name`"
    assert with_returning(delete, replace(schema, dialect="postgres"), None) is not None
    (place,) = [place for place, table in schema.tables.items() if table.name == "doctors"]
    secured = replace(schema.tables[place], hides=True)
    ruled = replace(schema.tables[place], triggered=frozenset({Reach("*")}))
    for table in (secured, ruled):
        assert with_returning(delete, replace(schema, tables={**schema.tables, place: table}), None) is None


@pytest.mark.parametrize(
    ("dialect", "text", "given", "expected", "places"),
    [
        ("sqlite", "a = ? AND b = '?' AND c = ?2", (1, 2), "a =  :p0  AND b = '?' AND c =  :p1 ", (0, 1)),
        ("sqlite", "a = :x -- :y\n", {"x": 1}, "a =  :p0  -- :y\n", ("x",)),
        ("postgres", "a = %s AND b LIKE 'x%%' AND c = %(n)s::INT", {"n": 1}, None, (0, "n")),
        (
            "postgres",
            "a = $2 AND b = $1 AND $$ $1 $$",
            (1, 2),
            "a =  :p0  AND b =  :p1  AND $$ $1 $$",
            (1, 0),
        ),
        ("mysql", "`%%s` = %s", (1,), "`%s` =  :p0 ", (0,)),
        ("sqlite", "\"a\" = %s AND b LIKE '%%'", (1,), "\"a\" =  :p0  AND b LIKE '%'", (0,)),
    ],
)
def test_parameters_have_one_spelling(
    dialect: str, text: str, given: Any, expected: str | None, places: tuple[Any, ...]
) -> None:
    made, found = spelled(text, dialect, given)
    assert found == places
    if expected is not None:
        assert made == expected


ZONE = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("column", "written", "read"),
    [
        (Column("n", "integer"), "5", 5),
        (Column("n", "integer"), True, 1),
        (Column("n", "decimal", scale=2), Decimal("10.50"), Decimal("10.5")),
        (Column("n", "decimal", scale=2), 10, Decimal("10.00")),
        (Column("s", "padded", length=4), "ab", "ab  "),
        (Column("t", "timestamp"), "2024-05-06 07:08:09", datetime(2024, 5, 6, 7, 8, 9)),
        (
            Column("t", "zoned"),
            datetime(2024, 5, 6, 9, tzinfo=ZONE),
            datetime(2024, 5, 6, 7, tzinfo=timezone.utc),
        ),
        (Column("d", "double"), 3, 3.0),
        (Column("d", "date"), "2024-05-06", date(2024, 5, 6)),
        (Column("b", "bytes"), b"x", memoryview(b"x")),
        (Column("s", "text"), None, None),
    ],
)
def test_what_was_written_and_what_comes_back_have_one_label(column: Column, written: Any, read: Any) -> None:
    assert label(column, written) is not Unknown
    assert label(column, written) == label(column, read)
    assert type(label(column, written)) is type(label(column, read))


@pytest.mark.parametrize(
    ("column", "written"),
    [
        (Column("n", "integer"), 2.5),
        (Column("n", "integer", range=(-128, 127)), 128),
        (Column("n", "decimal", scale=2), Decimal("1.005")),
        (Column("s", "text", length=3), "abcd"),
        (Column("s", "ascii"), "é"),
        (Column("t", "timestamp", scale=0), datetime(2024, 5, 6, 7, 8, 9, 1)),
        (Column("t", "zoned"), datetime(2024, 5, 6)),
        (Column("e", "enum", members=frozenset(("open",))), "OPEN"),
        (Column("d", "double"), float("nan")),
        (Column("j", "text", silent="values of the type json"), "{}"),
    ],
)
def test_what_the_database_may_change_has_no_label(column: Column, written: Any) -> None:
    assert label(column, written) is Unknown


def test_a_row_is_found_whatever_its_collation_overlooks() -> None:
    careless = Column("name", "text", exact=False, overlooks=frozenset({"case", "blanks"}))
    assert key_label(careless, "Ann ") == key_label(careless, "ann") == "ann"
    assert key_label(replace(careless, overlooks=frozenset({"case"})), "Ann ") == "ann "
    assert key_label(replace(careless, overlooks=frozenset({"blanks"})), "Ann ") == "Ann"
    assert key_label(careless, "é") is Unknown
    assert key_label(replace(careless, overlooks=None), "ann") is Unknown
    assert key_label(Column("name", "text"), "Ann ") == "Ann "
    assert key_label(careless, None) is Unknown


# --- texts as a whole


@pytest.mark.parametrize(
    ("dialect", "text", "more"),
    [
        ("postgres", "SELECT 1;", False),
        ("postgres", "SELECT ';' ; -- and; that\n /* was; it */ ;", False),
        ("postgres", "SELECT 1; SELECT 2", True),
        ("postgres", "SET a = 1; 'x'", True),
        ("postgres", "DO $$ BEGIN x; y; END $$", False),
        ("postgres", "SELECT E'\\';' ; ", False),
        ("sqlite", "SELECT '\\'; DELETE FROM t", True),
        ("mysql", "SELECT '\\'; DELETE FROM t'", False),
        ("mysql", "SELECT 1; # DELETE FROM t", False),
        ("sqlite", "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; DELETE FROM u; END", False),
    ],
)
def test_texts_of_several_statements(dialect: str, text: str, more: bool) -> None:
    assert several(text, dialect) == more


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("SET search_path TO other", True),
        ("SELECT set_config('search_path', 'x', false)", True),
        ("USE other", True),
        ("show standard_conforming_strings", False),
        ("SET standard_conforming_strings = on", False),
        ("SET standard_conforming_strings TO off", True),
        ("SET extra_float_digits = 3", False),
        ("SET extra_float_digits = 0", True),
        ("SELECT @@sql_mode", False),
        ("SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE'", False),
        ("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')", True),
        ("SET sql_mode = @before", True),
        ("SET default_collation = 'nocase'", True),
        ("UPDATE settings SET value = 1 WHERE name = 'x'", False),
    ],
)
def test_what_changes_the_meaning_of_texts(text: str, moves: bool) -> None:
    assert names_move(text) == moves


# --- what the database may hide


@pytest.mark.parametrize("grantee", ["'app'@'%'", "'other'@'%'"])
def test_triggers_that_mysql_hides_are_not_taken_for_none(grantee: str) -> None:
    """MySQL shows triggers only to those who may make them."""
    column = ["t", "BASE TABLE", "id", "int", "int", None, 0, None, None, "NO", None, "", "InnoDB", "", 10]
    answers = {
        mysql.DATABASE: [("here", "8.0.36", 3306, "host", "")],
        mysql.COLUMNS: [column],
        mysql.UNIQUE: [("t", "PRIMARY", "id", None)],
        mysql.GRANTED: [("app@%", grantee, "")],
    }
    asking = catalog("mysql")
    query = next(asking)
    try:
        while True:
            query = asking.send(answers.get(query, []))
    except StopIteration as made:
        found = made.value.find("t")
    seen = grantee == "'app'@'%'"
    assert found.silent == (None if seen else mysql.HIDDEN)
    assert found.triggered == (frozenset() if seen else {Reach("*")})


# --- other databases' ways to say it


def tables_of(dialect: str, **parts: Any) -> Schema:
    """Two tables: one with nothing unique but its primary key, and one with a name that is."""
    made = Schema(dialect, "here", ("public",), "public", options=frozenset(parts.get("options", ())))
    integer, text = Column("id", "integer"), Column("name", "text", length=20)
    n = Column("n", "integer", default=3)
    made.add("public", "pairs", {"id": integer, "n": n}, key=("id",))
    made.add(
        "public",
        "things",
        {"id": replace(integer, generated=True, default=Unknown), "name": text, "n": n},
        key=("id",),
        other_unique=True,
    )
    return made


OTHER = "left out: a conflict of another column than the primary key may have changed another row"
ELSEWHERE: dict[tuple[str, str], tuple[Any, list[str]]] = {
    ("postgres", "SELECT n FROM pairs WHERE id = %s FOR SHARE"): (
        {"given": (1,), "rows": [(5,)]},
        ["get pairs[1] True (share)", "get pairs[1].n 5 (share)"],
    ),
    ("postgres", "SELECT id FROM pairs WHERE n > 2 FOR UPDATE"): (
        {"rows": [(1,)]},
        ["select pairs ['>', {'column': 'n'}, 2]: ['pairs[1]'] (update)"],
    ),
    ("postgres", "SELECT id, n FROM pairs WHERE n > 2 FOR UPDATE SKIP LOCKED"): (
        {"rows": [(1, 5)]},
        [
            "get pairs[1] True (update)",
            "get pairs[1].n 5 (update)",
            f"partly: {UNMATCHED} (some may be hidden, as by LIMIT)",
        ],
    ),
    ("mysql", "SELECT n FROM pairs WHERE id = 1 LOCK IN SHARE MODE"): (
        {"rows": [(5,)]},
        ["get pairs[1] True (share)", "get pairs[1].n 5 (share)"],
    ),
    ("postgres", "SELECT id, n FROM pairs WHERE id IN (SELECT id FROM things WHERE n > 1)"): (
        {"rows": [(1, 5)]},
        [
            "get pairs[1] True",
            "get pairs[1].n 5",
            f"partly: {UNMATCHED} (a condition that only the database can evaluate)",
        ],
    ),
    ("postgres", "INSERT INTO pairs SELECT * FROM UNNEST(%s::INT[], %s::INT[])"): (
        {"given": ([1, 2], [5, 6]), "count": 2},
        ["put pairs[1] = True", "put pairs[1].n = 5", "put pairs[2] = True", "put pairs[2].n = 6"],
    ),
    (
        "postgres",
        "INSERT INTO things (name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET n = 4 RETURNING *",
    ): (
        {"rows": [(7, "a", 4)], "count": 1},
        ["put things[7] = True", "put things[7].name = 'a'", "put things[7].n = 4"],
    ),
    ("postgres", "INSERT INTO things VALUES (1, 'a', 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n"): (
        {"count": 1},
        [
            "put things[1] = True",
            "put things[1].n = 2",
            "taints things[1].name",
            "partly: a value of name that only the database knows",
        ],
    ),
    ("mysql", "INSERT INTO pairs VALUES (1, 2) ON DUPLICATE KEY UPDATE n = VALUES(n)"): (
        {"count": 2},
        ["put pairs[1] = True", "put pairs[1].n = 2"],
    ),
    ("mysql", "INSERT INTO pairs VALUES (1, 2) AS new ON DUPLICATE KEY UPDATE n = new.n"): (
        {"count": 2},
        ["put pairs[1] = True", "put pairs[1].n = 2"],
    ),
    ("mysql", "INSERT INTO pairs VALUES (1, 2) ON DUPLICATE KEY UPDATE n = n + 1"): (
        {"count": 2},
        [
            "put pairs[1] = True",
            "taints pairs[1].n",
            "partly: a value of n that only the database knows",
        ],
    ),
    ("mysql", "INSERT INTO things VALUES (1, 'a', 2) ON DUPLICATE KEY UPDATE n = 4"): (
        {"count": 2},
        ["taints things[]", OTHER],
    ),
    ("mysql", "INSERT IGNORE INTO pairs VALUES (1, 2), (2, 3)"): (
        {"count": 2},
        ["put pairs[1] = True", "put pairs[1].n = 2", "put pairs[2] = True", "put pairs[2].n = 3"],
    ),
    ("mysql", "INSERT IGNORE INTO pairs VALUES (3, 2), (4, 3)"): (
        {"count": 1},
        ["taints pairs[]", "left out: some of the rows were not inserted, and nobody knows which"],
    ),
    ("mysql", "REPLACE INTO pairs (id) VALUES (1)"): (
        {"count": 2},
        ["put pairs[1] = True", "put pairs[1].n = 3"],
    ),
    ("mysql", "REPLACE INTO things VALUES (1, 'a', 2)"): ({"count": 3}, ["taints things[]", OTHER]),
    ("mysql", "INSERT INTO things (name) VALUES ('a')"): (
        {"count": 1, "last": 9},
        ["put things[9] = True", "put things[9].name = 'a'", "put things[9].n = 3"],
    ),
    ("mysql", "INSERT INTO things (name) VALUES ('a'), ('b')"): (
        {"count": 2, "last": 9},
        ["taints things[]", "left out: new rows whose primary key is not known"],
    ),
    ("mysql", "DELETE FROM things WHERE name = 'a' RETURNING id"): (
        {"rows": [(4,)], "count": 1},
        [
            "select things ['=', {'column': 'name'}, 'a']: ['things[4]'] (update)",
            "delete things[4]",
            "delete things[4].name",
            "delete things[4].n",
        ],
    ),
}


@pytest.mark.parametrize(("dialect", "text"), ELSEWHERE)
def test_what_it_tells_elsewhere(dialect: str, text: str) -> None:
    answer, expected = ELSEWHERE[dialect, text]
    assert list(told(tables_of(dialect), text, **answer)) == expected

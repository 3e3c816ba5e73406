"""What tests of the proxy share: the proxy, a program of statements of every kind, and what two recorders made of it.

The program is plain data, so that clients of other languages can run it: statements with `$1` and their parameters, in
autocommit mode, some of which fail. The reference is the Python recorder (psycopg, `trace_connection`) on a database
that is in the same state.
"""

from __future__ import annotations

import json
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from boomslang.record import Tracer, trace_connection
from boomslang.record.sql.steps import ToldStep
from boomslang.record.wire.mysql.watcher import MySQLWatcher
from boomslang.record.wire.postgres.watcher import PostgresWatcher
from boomslang.record.wire.proxy import Proxy
from boomslang.record.wire.shapes import Shapes

SCHEMA = [
    "DROP TABLE IF EXISTS items, orders, noted",
    "CREATE TABLE items (id int PRIMARY KEY, name text UNIQUE, stock bigint NOT NULL DEFAULT 7, price numeric(10, 2))",
    "CREATE TABLE orders (id serial PRIMARY KEY, item int REFERENCES items, state varchar(20) NOT NULL, "
    "version int NOT NULL DEFAULT 1, at timestamp)",
    "CREATE TABLE noted (what text)",
    "INSERT INTO items (id, name, stock, price) VALUES (1, 'bolt', 10, 0.5), (2, 'nut', 20, 0.25), "
    "(3, 'it''s', 0, NULL)",
    "INSERT INTO orders (item, state) VALUES (1, 'open'), (2, 'open'), (1, 'sent')",
]


def step(sql: str, *args: Any, fails: bool = False) -> dict[str, Any]:
    return {"sql": sql, "args": list(args), "fails": fails}


PROGRAM = [
    # reads: by key, unique key, IN, range, whole table, conditions, joins, in part, not understood
    step("SELECT * FROM items WHERE id = $1", 1),
    step("SELECT name, stock FROM items WHERE id = $1", 99),
    step("SELECT id, price FROM items WHERE name = $1", "nut"),
    step("SELECT id, stock FROM items WHERE id IN ($1, $2)", 1, 3),
    step("SELECT id, stock FROM items WHERE id >= $1 AND id < $2", 2, 9),
    step("SELECT * FROM items"),
    step("SELECT id, state FROM orders WHERE state = $1", "open"),
    step("SELECT id FROM orders WHERE state = $1 AND version > $2", "open", 0),
    step("SELECT o.id, i.id, i.name FROM orders o JOIN items i ON i.id = o.item WHERE o.state = $1", "open"),
    step("SELECT id FROM items ORDER BY stock DESC LIMIT 1"),
    step("SELECT count(*) FROM items"),
    step("SELECT 1"),
    step("SHOW server_version"),
    # writes that are transactions of their own
    step("INSERT INTO items (id, name) VALUES ($1, $2)", 4, "screw"),
    step("INSERT INTO items (id, name) VALUES ($1, $2), ($3, $4)", 5, "washer", 6, "nail; -- $1"),
    step("INSERT INTO items (id, name) VALUES ($1, $2)", 4, "again", fails=True),
    step("INSERT INTO items (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", 4, "again"),
    step(
        "INSERT INTO items (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = $3",
        4,
        "x",
        "screw 2",
    ),
    step("UPDATE items SET stock = $1 WHERE id = $2", 11, 1),
    step("UPDATE items SET stock = $1 WHERE id = $2", 11, 100),
    step("UPDATE items SET stock = stock + 1 WHERE id = $1 RETURNING id, stock", 2),
    step("UPDATE items SET stock = stock - 1 WHERE id = $1", 5),
    step("DELETE FROM items WHERE id = $1", 6),
    step("DELETE FROM items WHERE id = $1", 6),
    step("INSERT INTO orders (item, state) VALUES ($1, $2) RETURNING id", 2, "open"),
    step("INSERT INTO noted VALUES ($1)", "no primary key"),
    step("SELECT nonsense FROM items", fails=True),
    # transactions: committed, rolled back, failed, with savepoints, locking reads, optimistic locking
    step("BEGIN"),
    step("SELECT stock FROM items WHERE id = $1 FOR UPDATE", 1),
    step("UPDATE items SET stock = $1 WHERE id = $2", 12, 1),
    step(
        "INSERT INTO orders (id, item, state, at) VALUES ($1, $2, $3, '2026-01-02 03:04:05')", 100, 1, "new"
    ),
    step("COMMIT"),
    step("BEGIN ISOLATION LEVEL SERIALIZABLE"),
    step("UPDATE items SET name = NULL WHERE id = $1", 3),
    step("ROLLBACK"),
    step("START TRANSACTION"),
    step("UPDATE orders SET state = $1, version = $2 WHERE id = $3 AND version = $4", "paid", 2, 1, 1),
    step("UPDATE orders SET state = $1, version = $2 WHERE id = $3 AND version = $4", "paid", 2, 1, 1),
    step("SAVEPOINT a"),
    step("DELETE FROM orders WHERE id = $1", 2),
    step("INSERT INTO items (id, name) VALUES ($1, $2)", 1, "twice", fails=True),
    step("ROLLBACK TO SAVEPOINT a"),
    step("SELECT id, state, at FROM orders WHERE id = $1", 2),
    step("SAVEPOINT b"),
    step("UPDATE orders SET state = $1 WHERE id = $2", "kept", 2),
    step("RELEASE SAVEPOINT b"),
    step("END"),
    step("BEGIN"),
    step("UPDATE items SET stock = $1 WHERE id = $2", 0, 2),
    step("INSERT INTO items (id, name) VALUES ($1, $2)", 1, "twice", fails=True),
    step("SELECT * FROM items WHERE id = $1", 1, fails=True),
    step("COMMIT"),  # which rolls back
    # what changes the schema, and what may do anything
    step("CREATE TABLE later (id int PRIMARY KEY, n int)"),
    step("INSERT INTO later (id, n) VALUES ($1, $2)", 1, 1),
    step("SELECT * FROM later"),
    step("DROP TABLE later"),
    step("DELETE FROM orders WHERE state = $1", "sent"),
    step("DO $$ BEGIN PERFORM 1; END $$"),
]


@contextmanager
def proxied(address: Any, folder: Path) -> Iterator[tuple[int, list[str]]]:
    """The port of a proxy that records into a folder, and what went wrong."""
    wrong: list[str] = []
    proxy = Proxy(
        address,
        Tracer(folder),
        trouble=wrong.append,
        unexpected=lambda error: wrong.append("".join(traceback.format_exception(error))),
    )
    with proxy.running() as (_, port):
        yield port, wrong


@contextmanager
def only_the_long_way() -> Iterator[None]:
    """No question is taken together with its answer, no statement has a plan, and each text is parsed."""
    with pytest.MonkeyPatch.context() as patch:
        for watcher in (PostgresWatcher, MySQLWatcher):
            patch.setattr(watcher, "_nothing_else", lambda self: False)
        patch.setattr(ToldStep, "_planned", lambda *_: False)
        patch.setattr(Shapes, "meaning", lambda *_: None)
        yield


@contextmanager
def short_ways() -> Iterator[Counter[str]]:
    """How often each of them was taken."""
    taken: Counter[str] = Counter()

    def counting(call: Any, name: str) -> Any:
        def counted(*given: Any) -> Any:
            made = call(*given)
            taken[name] += bool(made)
            return made

        return counted

    with pytest.MonkeyPatch.context() as patch:
        for watcher in (PostgresWatcher, MySQLWatcher):
            patch.setattr(watcher, "_whole", counting(watcher._whole, "whole"))
        patch.setattr(ToldStep, "_planned", counting(ToldStep._planned, "planned"))
        patch.setattr(Shapes, "meaning", counting(Shapes.meaning, "shaped"))
        yield taken


def prepare(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS later")
        for statement in SCHEMA:
            connection.execute(statement)


def percents(sql: str) -> str:
    return re.sub(r"\$\d", "%s", sql)


def run_with_psycopg(connection: Any, program: list[dict[str, Any]], **options: Any) -> None:
    for one in program:
        given = one["args"] or None
        try:
            cursor = connection.execute(percents(one["sql"]) if given else one["sql"], given, **options)
            if getattr(cursor, "description", None):
                cursor.fetchall()
        except psycopg.Error:
            assert one["fails"], one
        else:
            assert not one["fails"], one


def literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def with_literals(one: dict[str, Any]) -> str:
    """The same statement without parameters."""
    text: str = one["sql"]
    for number, value in enumerate(one["args"], 1):
        text = text.replace(f"${number}", literal(value))
    return text


def reference(dsn: str, folder: Path, program: list[dict[str, Any]], *, literals: bool = False) -> list[Any]:
    """What the Python recorder writes."""
    prepare(dsn)
    if literals:
        program = [{**one, "sql": with_literals(one), "args": []} for one in program]
    with psycopg.connect(dsn, autocommit=True) as plain:
        run_with_psycopg(trace_connection(plain, Tracer(folder)), program)
    return told(folder)


IGNORED = ("invoke", "return", "txn")


def told(folder: Path, *, given: bool = False) -> list[Any]:
    """What a trace tells: all records, without times, names of sessions, spellings of texts and of errors."""
    records: list[Any] = []
    for path in sorted(folder.glob("*.jsonl")):
        if "+ahead" in path.name or path.name == "initial.jsonl":
            continue
        for line in map(json.loads, path.read_text().splitlines()[1:]):
            made = {name: value for name, value in line.items() if name not in IGNORED}
            if "error" in made:
                made["error"] = True
            ctx = made.get("ctx")
            if ctx:
                ctx.pop("text", None)
                ctx["given"] = [str(x) for x in ctx.pop("given", None) or []] if given else None
            records.append(made)
    return records


def unknown_ahead(folder: Path) -> int:
    """Promises that were not settled."""
    return sum(
        path.read_text().count('"begin"') - path.read_text().count('"abort"')
        for path in folder.glob("*+ahead*.jsonl")
    )

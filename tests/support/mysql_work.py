"""Work for clients of MySQL's protocol in any language: every kind of statement, and the trace that comes of it.

A client reads a list of [text, parameters] and sends one after the other, as text or prepared; after an error it goes
on. Two traces of the same work are the same but for times, names of sessions, and how statements and errors read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql

from boomslang.record import Tracer, trace_connection
from boomslang.record.wire.proxy import Proxy

TABLES = [
    "DROP TABLE IF EXISTS goods, orders, kinds, log",
    "CREATE TABLE goods (id INT PRIMARY KEY, stock INT, name VARCHAR(40) COLLATE utf8mb4_bin, price DECIMAL(10,2),"
    " weight DOUBLE, since DATETIME, day DATE, picture VARBINARY(40), state ENUM('new','old') DEFAULT 'new')",
    "CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, good INT, amount INT UNSIGNED DEFAULT 1,"
    " version INT DEFAULT 0, KEY (good))",
    "CREATE TABLE log (text VARCHAR(100))",
    "INSERT INTO goods VALUES (1, 5, 'teapot', 12.50, 0.5, '2024-05-06 07:08:09', '2024-05-06', x'00ff', 'old')",
    "INSERT INTO goods (id, stock, name) VALUES (2, 7, 'cup'), (3, NULL, 'Größe 日本')",
]

ALL_OF_A_GOOD = "SELECT id, stock, name, price, weight, since, day, picture, state FROM goods WHERE id = ?"
WORK: list[tuple[str, list[Any]]] = [
    (ALL_OF_A_GOOD, [1]),
    ("SELECT stock FROM goods WHERE id = ?", [99]),
    ("SELECT * FROM goods WHERE id IN (?, ?)", [1, 3]),
    ("SELECT id FROM goods WHERE stock > ? AND state = ?", [4, "new"]),
    ("SELECT id, name FROM goods", []),
    ("BEGIN", []),
    (
        "INSERT INTO goods VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)",
        [4, -3, "it's \\ 'x'", "7.25", 2.5, "2020-01-02 03:04:05", "2020-01-02", "old"],
    ),
    (ALL_OF_A_GOOD, [4]),
    ("UPDATE goods SET stock = ?, name = ? WHERE id = ?", [6, "Ä?;", 4]),
    ("UPDATE goods SET stock = ? WHERE id = ?", [6, 4]),
    ("UPDATE goods SET stock = stock + 1 WHERE id = ?", [2]),
    ("SELECT stock FROM goods WHERE id = ? FOR UPDATE", [1]),
    ("COMMIT", []),
    ("START TRANSACTION", []),
    ("INSERT INTO orders (good, amount) VALUES (?, ?)", [1, 2]),
    ("INSERT INTO orders (good) VALUES (?), (?)", [2, 3]),
    ("SELECT good, amount, version FROM orders WHERE id = ?", [1]),
    ("UPDATE orders SET amount = ?, version = ? WHERE id = ? AND version = ?", [3, 1, 1, 0]),
    ("UPDATE orders SET amount = ?, version = ? WHERE id = ? AND version = ?", [4, 1, 1, 0]),
    ("SAVEPOINT here", []),
    ("DELETE FROM orders WHERE id = ?", [1]),
    ("ROLLBACK TO SAVEPOINT here", []),
    ("SAVEPOINT there", []),
    ("DELETE FROM orders WHERE id = ?", [2]),
    ("RELEASE SAVEPOINT there", []),
    ("COMMIT", []),
    ("BEGIN", []),
    ("UPDATE goods SET stock = ? WHERE id = ?", [0, 1]),
    ("INSERT INTO goods (id) VALUES (?)", [1]),
    ("SELECT nothing FROM goods", []),
    ("ROLLBACK", []),
    ("INSERT INTO goods (id, stock) VALUES (?, ?) ON DUPLICATE KEY UPDATE stock = VALUES(stock)", [1, 8]),
    ("INSERT IGNORE INTO goods (id, stock) VALUES (?, ?)", [1, 9]),
    ("REPLACE INTO goods (id, stock, name) VALUES (?, ?, ?)", [2, 1, "cup"]),
    ("DELETE FROM goods WHERE id = ?", [77]),
    ("DELETE FROM goods WHERE stock > ?", [100]),
    ("SELECT o.id, o.good, g.name FROM orders o JOIN goods g ON g.id = o.good WHERE o.id = ?", [3]),
    ("SELECT COUNT(*) FROM goods", []),
    ("INSERT INTO log VALUES (?)", ["a table without a key"]),
    ("BEGIN", []),
    ("UPDATE goods SET state = ? WHERE id = ?", ["old", 2]),
    ("CREATE TABLE kinds (id INT PRIMARY KEY, name VARCHAR(10) COLLATE utf8mb4_bin)", []),
    ("INSERT INTO kinds VALUES (?, ?)", [1, "pots"]),
    ("SELECT id, name FROM kinds WHERE id >= ? AND id < ?", [0, 5]),
    ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", []),
    ("SELECT id, stock FROM goods WHERE id BETWEEN ? AND ?", [1, 2]),
]
"""Everything that a text can say and that can also be prepared."""

TEXT_ONLY = ("BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET", "CREATE")
"""What some servers do not prepare; a client sends these as text."""


def is_text_only(text: str) -> bool:
    return text.startswith(TEXT_ONLY)


@contextmanager
def proxied(
    connect: dict[str, Any], folder: Path, query: str = ""
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """A proxy in a thread: how to connect to it, and what troubled it."""
    troubles: list[str] = []
    proxy = Proxy(
        f"mysql://{connect['host']}:{connect['port']}{query}",
        Tracer(folder),
        trouble=troubles.append,
        unexpected=lambda error: troubles.append(f"unexpected: {error!r}"),
    )
    with proxy.running() as (host, port):
        yield {**connect, "host": host, "port": port}, troubles


def make_tables(connect: dict[str, Any]) -> None:
    with pymysql.connect(**connect, autocommit=True) as connection, connection.cursor() as cursor:
        for text in TABLES:
            cursor.execute(text)


def recorded_in_python(connect: dict[str, Any], folder: Path, **options: Any) -> list[list[Any]]:
    """The same work by PyMySQL, recorded by `trace_connection`."""
    make_tables(connect)
    plain = pymysql.connect(**connect, autocommit=True, **options)
    connection = trace_connection(plain, Tracer(folder))
    run_plainly(connection)
    connection.close()
    return comparable(folder)


def run_plainly(connection: Any) -> None:
    cursor = connection.cursor()
    for text, parameters in WORK:
        with suppress(pymysql.Error):
            cursor.execute(text.replace("%", "%%").replace("?", "%s"), tuple(parameters))
    cursor.close()


SHOWN = ("invoke", "return", "txn", "clock", "unit", "error")
NOTED = ("sql", "text", "left", "partly", "given")
"""Texts have values in them or not, and these are of other types then."""


def comparable(folder: Path, *, start: bool = True) -> list[list[Any]]:
    """The sessions of a trace that did something, without what may differ. `start`: and the rows at the start."""
    sessions = []
    for file in sorted(folder.glob("*.jsonl")):
        if (not start and file.name == "rows.jsonl") or file.name.startswith("unread"):  # the proxy runs
            continue
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        made = [_plain(line) for line in lines if "boomslang" not in line]
        if made:
            sessions.append(made)
    return sorted(sessions, key=lambda lines: len(lines))


def _plain(line: dict[str, Any]) -> dict[str, Any]:
    made = {name: value for name, value in line.items() if name not in SHOWN}
    made["failed"] = "error" in line
    ctx = {name: value for name, value in line.get("ctx", {}).items() if name not in NOTED}
    made["ctx"] = ctx
    return made

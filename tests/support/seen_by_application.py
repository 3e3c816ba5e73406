"""What an application sees of its own writes: with a RETURNING that it did not write, it must be the same."""

from __future__ import annotations

from typing import Any

SCHEMA = (
    "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, stock INT NOT NULL DEFAULT 3)",
    "INSERT INTO goods VALUES (1, 'tea', 5), (2, 'pot', 6), (3, 'cup', 7)",
)
WRITES: tuple[tuple[str, tuple[Any, ...] | None], ...] = (
    ("UPDATE goods SET stock = stock + 1 WHERE id = 1", None),
    ("UPDATE goods SET stock = stock - {mark} WHERE name = {mark}", (2, "pot")),
    ("UPDATE goods SET stock = 1 WHERE name = 'nothing' -- a comment;", None),
    ("UPDATE goods SET stock = stock * 2 WHERE id BETWEEN {mark} AND {mark};", (2, 9)),
    ("UPDATE goods SET stock = stock + 1", None),
    ("INSERT INTO goods (id, stock) VALUES (4, 2 * 3)", None),
    ("DELETE FROM goods WHERE name = {mark}", ("tea",)),
    ("UPDATE goods SET stock = 9 WHERE id = 2", None),
    ("DELETE FROM goods WHERE id > 3", None),
    ("DELETE FROM goods WHERE id IN (2, 77)", None),
    ("DELETE FROM goods", None),
)
READ = "SELECT id, name, stock FROM goods ORDER BY id"


def seen(connection: Any, mark: str) -> list[Any]:
    """Of each write: what the cursor tells, and what it gives to whoever asks for rows. The rows after each."""
    found: list[Any] = []
    for text, parameters in WRITES:
        cursor = connection.cursor()
        sent = text.format(mark=mark)
        cursor.execute(sent) if parameters is None else cursor.execute(sent, parameters)
        told = [cursor.rowcount, cursor.description, getattr(cursor, "lastrowid", None)]
        told += [getattr(cursor, name, "no such") for name in ("rownumber", "statusmessage")]
        for ask in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda c=cursor: list(c)):
            try:
                told.append(ask())
            except Exception as error:
                told.append((type(error), str(error)))
        cursor.execute(READ)
        found.append((text, told, [tuple(row) for row in cursor.fetchall()]))
        cursor.close()
    many = connection.cursor()
    many.execute("INSERT INTO goods VALUES (5, 'a', 1), (6, 'b', 1)")
    many.executemany(f"UPDATE goods SET stock = stock + {mark} WHERE stock < 5", [(1,), (2,)])
    found.append(("executemany", many.rowcount, many.description))
    many.close()
    return found

"""A plan says what the long way says, to the letter: random statements on SQLite, and those that plans are for."""

from __future__ import annotations

import json
import sqlite3
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from support import wire
from support.random_sql import SCHEMAS, play

from boomslang import Tracer, check, read_trace
from boomslang.record import trace_connection

MADE = """
CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER, price NUMERIC(8, 2), shape GEOMETRY);
CREATE TABLE places (a INTEGER, b TEXT, note TEXT, PRIMARY KEY (a, b));
INSERT INTO items (id, name, stock, price) VALUES (1, 'tea', 5, 0.5), (2, 'p"o\\t', 6, NULL), (3, NULL, 7, 1);
INSERT INTO places VALUES (1, 'x', 'one'), (1, 'é', 'two');
"""
PLANNED: list[tuple[str, tuple[Any, ...]]] = [
    ("SELECT * FROM items WHERE id = ?", (1,)),
    ("SELECT name, stock FROM items WHERE id = ?", (2,)),
    ("SELECT stock, id FROM items WHERE id = ?", (3,)),
    ("SELECT stock FROM items WHERE id = ?", (99,)),
    ("SELECT stock FROM items WHERE id = 1", ()),
    ("SELECT stock FROM items WHERE id = ?", ("1",)),
    ("SELECT note FROM places WHERE b = ? AND a = ?", ("é", 1)),
    ("UPDATE items SET stock = ?, name = 'new' WHERE id = ?", (8, 1)),
    ("UPDATE items SET price = NULL WHERE id = ?", (3,)),
    ("UPDATE places SET note = ? WHERE a = 1 AND b = ?", ('with \u2028 and \\ and "', "x")),
    ("DELETE FROM items WHERE id = ?", (2,)),
    ("DELETE FROM places WHERE a = ? AND b = ?", (1, "x")),
]
NOT_PLANNED: list[tuple[str, tuple[Any, ...]]] = [
    ("SELECT stock FROM items WHERE id = ? AND stock > ?", (1, 0)),
    ("SELECT stock FROM items WHERE id IN (?, ?)", (1, 2)),
    ("SELECT stock FROM items WHERE id = ? LIMIT 1", (1,)),
    ("SELECT stock, stock FROM items WHERE id = ?", (1,)),
    ("SELECT stock FROM items WHERE id = ?", (None,)),
    ("SELECT stock FROM items WHERE id = ? AND id = ?", (1, 2)),
    ("SELECT note FROM places WHERE a = ?", (1,)),
    ("SELECT count(*) FROM items WHERE id = ?", (1,)),
    ("UPDATE items SET stock = stock + 1 WHERE id = ?", (1,)),
    ("UPDATE items SET stock = ? WHERE id = ?", (1, 99)),
    ("UPDATE items SET stock = ? WHERE id = ?", ("odd", 1)),
    ("UPDATE items SET stock = ? WHERE id = ?", (b"odd", 1)),
    ("UPDATE items SET id = ? WHERE id = ?", (50, 1)),
    ("DELETE FROM items WHERE id = ?", (99,)),
    ("DELETE FROM items WHERE stock = ?", (7,)),
]


def without_times(folder: Path) -> list[dict[str, Any]]:
    said = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").rstrip("\n").split("\n"):
            one = json.loads(line)
            said.append({name: one[name] for name in one if name not in ("invoke", "return", "clock")})
    return said


def recorded(folder: Path, statements: list[tuple[str, tuple[Any, ...]]], long: bool) -> tuple[Any, int]:
    folder.mkdir()
    plain = sqlite3.connect(folder / "a.db", isolation_level=None)
    plain.executescript(MADE)
    with wire.only_the_long_way() if long else nullcontext(), wire.short_ways() as taken:
        connection = trace_connection(plain, Tracer(folder / "t"), session="one")
        for text, given in [*statements, *statements]:  # the first time, the text itself is told too
            connection.execute(text, given).fetchall()
        connection.execute("BEGIN")
        for text, given in statements:
            connection.execute(text, given).fetchall()
        connection.execute("COMMIT")
        connection.close()
    assert check(read_trace(folder / "t"), "sser").valid
    return without_times(folder / "t"), taken["planned"]


@pytest.mark.parametrize("statement", PLANNED)
def test_a_plan_says_the_same(tmp_path: Path, statement: tuple[str, tuple[Any, ...]]) -> None:
    short, planned = recorded(tmp_path / "short", [statement], False)
    long, none = recorded(tmp_path / "long", [statement], True)
    # What deletes a row finds none the next time, of which the plan knows nothing.
    assert short == long and none == 0 and planned == (0 if statement[0].startswith("DELETE") else 2)


def test_plans_of_deletes_say_the_same(tmp_path: Path) -> None:
    """Each of a row of its own."""
    both = []
    for long in (False, True):
        folder = tmp_path / f"{long}"
        folder.mkdir()
        plain = sqlite3.connect(folder / "a.db", isolation_level=None)
        plain.executescript(MADE)
        with wire.only_the_long_way() if long else nullcontext(), wire.short_ways() as taken:
            connection = trace_connection(plain, Tracer(folder / "t"), session="one")
            for key in (1, 2, 3, 4):
                connection.execute("DELETE FROM items WHERE id = ?", (key,))
            connection.close()
        both.append((without_times(folder / "t"), taken["planned"]))
    assert both[0] == (both[1][0], 2) and both[1][1] == 0


@pytest.mark.parametrize("statement", NOT_PLANNED)
def test_what_is_not_as_a_plan_expects_goes_the_long_way(
    tmp_path: Path, statement: tuple[str, tuple[Any, ...]]
) -> None:
    short, planned = recorded(tmp_path / "short", [statement], False)
    long, _ = recorded(tmp_path / "long", [statement], True)
    assert short == long and planned == 0


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 40), marks=pytest.mark.full)])
def test_random_statements(tmp_path: Path, seeds: range) -> None:
    assert sum(_planned(tmp_path / f"{seed}", seed) for seed in seeds) > 0


def _planned(place: Path, seed: int) -> int:
    """How many statements of a random session took a plan, which left the same lines as the long way does."""
    both = []
    for long in (False, True):
        folder = place / f"{long}"
        folder.mkdir(parents=True)
        plain = sqlite3.connect(folder / "a.db", isolation_level=None)
        for text in SCHEMAS["sqlite"]:
            plain.execute(text.replace("CURRENT_TIMESTAMP", "'2026-01-02 03:04:05'"))
        plain.execute("INSERT INTO things (name, n) VALUES ('first', 1)")
        with wire.only_the_long_way() if long else nullcontext(), wire.short_ways() as taken:
            connection = trace_connection(plain, Tracer(folder / "t"), session="one")
            with suppress(sqlite3.Error):
                play(connection, "sqlite", seed, 80, (sqlite3.Error, OverflowError))
            connection.close()
        both.append((without_times(folder / "t"), taken["planned"]))
    assert both[0][0] == both[1][0] and both[1][1] == 0
    return both[0][1]

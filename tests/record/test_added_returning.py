"""RETURNING added to an application's writes: the recorder learns what they did, the application sees nothing of it."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from support.seen_by_application import READ, SCHEMA, WRITES, seen

from boomslang import Tracer, check, read_trace
from boomslang.record import trace_connection, trace_engine


def connected(path: Path, isolation: str | None = None) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=isolation)
    for text in SCHEMA:
        connection.execute(text)
    connection.commit()
    return connection


def named(cursor: Any, row: Any) -> dict[str, Any]:
    """A row factory that knows the application's columns, and no others."""
    assert [column[0] for column in cursor.description] == ["id", "name", "stock"]
    return dict(zip(("id", "name", "stock"), row, strict=True))


@pytest.mark.parametrize("isolation", [None, "DEFERRED"])
def test_the_application_sees_what_it_saw_before(tmp_path: Path, isolation: str | None) -> None:
    plain = connected(tmp_path / "plain.db", isolation)
    before = seen(plain, "?")
    tracer = Tracer(tmp_path / "trace", add_returning=True)
    recorded = trace_connection(connected(tmp_path / "recorded.db", isolation), tracer)
    assert seen(recorded, "?") == before
    recorded.commit()
    recorded.close()
    trace = read_trace(tracer.folder)
    assert check(trace, level="strict serializable").valid
    assert trace.coverage is not None and trace.coverage.writes == (14, 0, 0) and trace.coverage.untold == 0
    assert not any("RETURNING" in one.text for one in trace.coverage.statements)


def test_without_leave_nothing_is_added(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path / "trace")
    recorded = trace_connection(connected(tmp_path / "recorded.db"), tracer)
    texts: list[str] = []
    recorded.connection.set_trace_callback(texts.append)
    seen(recorded, "?")
    assert texts and not any("RETURNING" in text for text in texts)
    coverage = read_trace(tracer.folder).coverage
    assert coverage is not None and coverage.writes[1] > 3


def test_a_row_factory_never_sees_the_added_rows(tmp_path: Path) -> None:
    connection = connected(tmp_path / "recorded.db")
    connection.row_factory = named
    recorded = trace_connection(connection, Tracer(tmp_path / "trace", add_returning=True))
    cursor = recorded.execute("UPDATE goods SET stock = stock + 1")
    assert cursor.rowcount == 3 and cursor.description is None
    cursor.execute("SELECT * FROM goods WHERE id = 1")
    assert cursor.fetchall() == [{"id": 1, "name": "tea", "stock": 6}]
    trace = read_trace(tmp_path / "trace")
    puts = {op.key: op.value for op in trace.transaction(0).operations if op.kind.name == "PUT"}
    assert puts == {"goods[1].stock": 6, "goods[2].stock": 7, "goods[3].stock": 8}


def test_a_lost_update_of_statements_that_compute_is_found(tmp_path: Path) -> None:
    """With it a wrong value has a writer; by hand, as SQLite would not let it happen."""
    tracer = Tracer(tmp_path / "trace", add_returning=True)
    recorded = trace_connection(connected(tmp_path / "recorded.db"), tracer)
    recorded.execute("UPDATE goods SET stock = stock - 1 WHERE name = 'tea'")
    recorded.connection.execute("UPDATE goods SET stock = 5 WHERE id = 1")  # it is lost
    recorded.execute("UPDATE goods SET stock = stock - 1 WHERE name = 'tea'")
    recorded.close()
    assert check(read_trace(tracer.folder), level="ser").invalid


def test_a_statement_that_fails_fails_as_before(tmp_path: Path) -> None:
    recorded = trace_connection(
        connected(tmp_path / "recorded.db"), Tracer(tmp_path / "trace", add_returning=True)
    )
    with pytest.raises(sqlite3.IntegrityError):
        recorded.execute("UPDATE goods SET name = 'tea'")
    recorded.execute("UPDATE goods SET stock = stock + 1 WHERE name = 'tea'")
    assert recorded.execute("SELECT stock FROM goods WHERE id = 1").fetchall() == [(6,)]
    assert check(read_trace(tmp_path / "trace"), level="strict serializable").valid


def test_a_tracer_takes_the_leave_with_it(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path / "trace", add_returning=True)
    assert pickle.loads(pickle.dumps(tracer)).add_returning
    assert Tracer.join(tmp_path / "trace", add_returning=True).add_returning
    assert not Tracer.join(tmp_path / "trace").add_returning


def test_sqlalchemy_sees_its_counts(tmp_path: Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    connected(tmp_path / "shop.db").close()
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/shop.db")
    trace_engine(engine, Tracer(tmp_path / "trace", add_returning=True))
    text = sqlalchemy.text
    with engine.begin() as connection:
        done = connection.execute(text("UPDATE goods SET stock = stock + 1 WHERE stock > :n"), {"n": 5})
        assert done.rowcount == 2 and not done.returns_rows
        with pytest.raises(sqlalchemy.exc.ResourceClosedError):
            done.fetchall()
    engine.dispose()
    coverage = read_trace(tmp_path / "trace").coverage
    assert coverage is not None and coverage.writes == (1, 0, 0)


def test_an_async_engine_of_sqlite(tmp_path: Path) -> None:
    """Its cursors would not tell generated keys: an INSERT is left alone, all else is asked."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiosqlite")
    from sqlalchemy.ext.asyncio import create_async_engine

    connected(tmp_path / "shop.db").close()
    text = sqlalchemy.text
    found: list[Any] = []

    async def work() -> None:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/shop.db")
        trace_engine(engine, Tracer(tmp_path / "trace", add_returning=True))
        async with engine.begin() as connection:
            done = await connection.execute(text("UPDATE goods SET stock = stock + 1 WHERE stock > 5"))
            found.append((done.rowcount, done.returns_rows))
            done = await connection.execute(text("INSERT INTO goods (id, stock) VALUES (9, 2 * 3)"))
            found.append((done.rowcount, done.returns_rows, done.lastrowid))
            done = await connection.execute(text("DELETE FROM goods WHERE name = 'cup'"))
            found.append((done.rowcount, done.returns_rows))
        await engine.dispose()

    asyncio.run(work())
    assert found == [(2, False), (1, False, 4), (1, False)]
    trace = read_trace(tmp_path / "trace")
    assert trace.coverage is not None and trace.coverage.writes == (3, 0, 1)
    puts = {op.key: op.value for op in trace.transaction(0).operations if op.kind.name == "PUT"}
    assert puts["goods[2].stock"] == 7 and puts["goods[3].stock"] == 8


# --- DuckDB, which answers a write with how many rows it changed


def seen_of_duckdb(connection: Any) -> list[Any]:
    found: list[Any] = []
    for text, parameters in WRITES:
        for ask in ("fetchall", "fetchone"):
            connection.execute("BEGIN")
            connection.execute(text.format(mark="?"), parameters)
            told = [connection.description, connection.rowcount, getattr(connection, ask)()]
            rows = connection.execute(READ).fetchall()
            connection.execute("ROLLBACK" if ask == "fetchall" else "COMMIT")
            found.append((text, told, rows))
    return found


def test_duckdb_answers_what_it_did_before(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    plain, connection = duckdb.connect(tmp_path / "plain.db"), duckdb.connect(tmp_path / "recorded.db")
    for one in (plain, connection):
        for text in SCHEMA:
            one.execute(text.replace(" UNIQUE", ""))
    before = seen_of_duckdb(plain)
    tracer = Tracer(tmp_path / "trace", add_returning=True)
    recorded = trace_connection(connection, tracer)
    assert seen_of_duckdb(recorded) == before
    with pytest.raises(duckdb.ConstraintException):
        recorded.execute("INSERT INTO goods SELECT 1, 'twice', 1 + 1 FROM (VALUES (1), (2)) AS two")
    recorded.execute("INSERT INTO goods VALUES (1, 'tea', 1 + 1), (2, 'pot', 3)")
    assert recorded.execute("UPDATE goods SET stock = stock + 1").fetchall() == [(2,)]
    recorded.close()
    trace = read_trace(tracer.folder)
    assert check(trace, level="strict serializable").valid
    assert trace.coverage is not None and trace.coverage.writes[1:] == (0, 0)
    assert not any("RETURNING" in one.text for one in trace.coverage.statements)

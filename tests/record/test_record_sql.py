"""A DB-API connection that records itself, on the standard library's SQLite: what it makes of each statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.recorded_sql import outcomes, recorded

from boomslang import UsageError
from boomslang.record import RecordingFailed, Tracer, trace_connection
from boomslang.record.statements import custom, delete, get, ignore, put, scan

STATEMENTS = {
    "SELECT v FROM kv WHERE k = ?": get(),
    "SELECT k, v FROM kv WHERE k >= ? AND k < ?": scan(lo=0, hi=1),
    "SELECT k, v FROM kv": scan(),
    "INSERT INTO kv VALUES (?, ?)": put(),
    "INSERT INTO kv VALUES (:k, :v)": put(key="k", value="v"),
    "INSERT OR IGNORE INTO kv VALUES (?, ?)": put(),
    "UPDATE kv SET v = ? WHERE k = ?": put(key=1, value=0, none_means_absent=True),
    "UPDATE kv SET v = v + 1 WHERE k = ? RETURNING v": put(returned=0),
    "UPDATE kv SET v = ?": put(key=lambda p: "all", value=0),
    "DELETE FROM kv WHERE k = ?": delete(),
    "UPDATE kv SET v = v + ? WHERE k = ? RETURNING v - ?, v": custom(
        lambda p, rows, count: [("get", (p[1],), rows[0][0]), ("put", (p[1], rows[0][1]))] if rows else []
    ),
    "SELECT 1": ignore(),
}
UPDATE = "UPDATE kv SET v = ? WHERE k = ?"
GET = "SELECT v FROM kv WHERE k = ?"
INSERT = "INSERT INTO kv VALUES (?, ?)"
DELETE = "DELETE FROM kv WHERE k = ?"
COMMENTS = ("/* from the shop */ ", " -- from the shop\n", "/* a */\n-- b\n")
STATEMENTS |= {f"{INSERT} RETURNING k": put(), **{comment + INSERT: put() for comment in COMMENTS}}

Open = Callable[..., Any]


@pytest.fixture
def connect(tmp_path: Path) -> Open:
    """Connections of one database, recorded in one trace."""
    first = sqlite3.connect(tmp_path / "db")
    first.execute("CREATE TABLE kv (k TEXT PRIMARY KEY, v)")
    first.close()
    tracer = Tracer(tmp_path / "trace")

    def make(name: str = "a", options: dict[str, Any] | None = None, **more: Any) -> Any:
        inner = sqlite3.connect(tmp_path / "db", timeout=0.05, **more)
        return trace_connection(inner, tracer, STATEMENTS, session=name, **(options or {}))

    return make


def test_statements_become_operations(connect: Open, tmp_path: Path) -> None:
    c = connect()
    cursor = c.cursor()
    cursor.execute(INSERT, ("x", 1))
    cursor.execute("INSERT  INTO kv VALUES\n (:k, :v);", {"k": "y", "v": 5})
    cursor.execute(UPDATE, (2, "x"))
    cursor.execute(UPDATE, (2, "nowhere"))
    assert cursor.execute(GET, ("x",)).fetchone() == (2,) and cursor.fetchone() is None
    assert c.execute(GET, ("z",)).fetchall() == []
    assert list(c.execute("SELECT k, v FROM kv")) == [("x", 2), ("y", 5)]
    cursor.execute("SELECT k, v FROM kv WHERE k >= ? AND k < ?", ("a", "y"))
    assert cursor.fetchmany(5) == [("x", 2)] and cursor.fetchmany(5) == []
    assert c.execute("UPDATE kv SET v = v + 1 WHERE k = ? RETURNING v", ("y",)).fetchone() == (6,)
    c.execute("UPDATE kv SET v = v + ? WHERE k = ? RETURNING v - ?, v", (10, "y", 10))
    c.execute("INSERT OR IGNORE INTO kv VALUES (?, ?)", ("y", 0))
    assert c.execute("SELECT 1").fetchone() == (1,)
    cursor.execute(DELETE, ("y",))
    cursor.execute(DELETE, ("y",))
    cursor.executemany(INSERT, [("p", 1), ("q", 2)])
    c.commit()
    assert recorded(c) == [
        "begin",
        "put x=1",
        "put y=5",
        "put x=2",
        "get nowhere=absent",
        "get x=2",
        "get z=absent",
        "scan [['x', 2], ['y', 5]]",
        "scan [['x', 2]]",
        "put y=6",
        "get y=6",
        "put y=16",
        "delete y=True",
        "delete y=False",
        "put p=1",
        "put q=2",
        "commit",
    ]
    assert outcomes(tmp_path / "trace") == ["committed"]


def test_what_is_outside_of_a_transaction_is_one_by_itself(connect: Open, tmp_path: Path) -> None:
    c = connect(isolation_level=None)
    c.execute(INSERT, ("x", 1))
    assert c.execute(GET, ("x",)).fetchall() == [(1,)]
    c.execute(DELETE, ("y",))
    c.execute(UPDATE, (3, "y"))
    c.execute(DELETE, ("x",))
    with pytest.raises(sqlite3.IntegrityError):
        c.execute(INSERT, ("p", 1)) and c.execute(INSERT, ("p", 2))
    c.execute("INSERT OR IGNORE INTO kv VALUES (?, ?)", ("p", 3))
    assert recorded(c) == [
        *("begin", "put x=1", "commit"),
        *("begin", "get x=1", "commit"),
        *("begin", "delete y=", "abort", "begin", "delete y=False", "commit"),
        *("begin", "put y=3", "abort", "begin", "get y=absent", "commit"),
        *("begin", "delete x=", "commit"),
        *("begin", "put p=1", "commit", "begin", "put p=2", "abort"),
        *("begin", "put p=3", "abort"),
    ]
    for statement in (
        "UPDATE kv SET v = v + 1 WHERE k = ? RETURNING v",
        "UPDATE kv SET v = v + ? WHERE k = ? RETURNING v - ?, v",
    ):
        with pytest.raises(UsageError, match="outside of a transaction"):
            c.execute(statement, ("p", "p", "p"))
    assert connect("b").execute(GET, ("p",)).fetchall() == [(1,)]
    assert "unknown" not in outcomes(tmp_path / "trace")


def test_begin_and_commit_as_text(connect: Open, tmp_path: Path) -> None:
    c = connect(isolation_level=None)
    c.execute("BEGIN IMMEDIATE")
    c.execute(INSERT, ("x", 1))
    with pytest.raises(UsageError, match="begin inside a transaction"):
        c.execute("begin")
    c.execute("commit ;")
    c.execute("BEGIN")
    c.execute(UPDATE, (2, "x"))
    c.execute("ROLLBACK TRANSACTION")
    c.execute("BEGIN")
    assert c.execute(GET, ("x",)).fetchone() == (1,)
    c.execute("END")
    assert outcomes(tmp_path / "trace") == ["committed", "aborted", "committed"]


def test_savepoints(connect: Open, tmp_path: Path) -> None:
    c = connect(isolation_level=None)
    with pytest.raises(UsageError, match="savepoint outside"):
        c.execute("SAVEPOINT a")
    c.execute("BEGIN")
    c.execute(INSERT, ("x", 1))
    c.execute("SAVEPOINT a")
    c.execute(UPDATE, (2, "x"))
    c.execute("SAVEPOINT b")
    c.execute(INSERT, ("y", 1))
    c.execute("RELEASE b")
    c.execute("ROLLBACK TO SAVEPOINT a")
    c.execute(INSERT, ("z", 1))
    c.execute("RELEASE SAVEPOINT A")
    assert recorded(c) == ["begin", "put x=1", "put z=1"]
    c.execute("SAVEPOINT c")
    c.execute(INSERT, ("w", 1))
    c.execute("COMMIT")
    assert recorded(c)[-2:] == ["put w=1", "commit"]
    seen = connect("b").execute("SELECT k, v FROM kv").fetchall()
    assert seen == [("x", 1), ("z", 1), ("w", 1)]
    assert outcomes(tmp_path / "trace") == ["committed", "committed"]


def test_a_busy_commit_leaves_the_transaction_open(connect: Open, tmp_path: Path) -> None:
    writer, reader = connect("w"), connect("r", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute(GET, ("x",)).fetchall() == []
    writer.execute(INSERT, ("x", 1))
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        writer.commit()
    reader.execute("COMMIT")
    writer.commit()
    assert recorded(writer) == ["begin", "put x=1", "commit!", "commit"]
    assert outcomes(tmp_path / "trace") == ["committed", "committed"]


def test_leaving_with(connect: Open, tmp_path: Path) -> None:
    c = connect()
    with c:
        c.execute(INSERT, ("x", 1))
    with pytest.raises(ZeroDivisionError), c:
        c.execute(UPDATE, (2, "x"))
        _ = 1 / 0
    c.execute(UPDATE, (3, "x"))
    c.close()
    assert recorded(c) == [
        "begin",
        "put x=1",
        "commit",
        "begin",
        "put x=2",
        "abort",
        "begin",
        "put x=3",
        "abort",
    ]
    d = connect("d")
    assert d.execute(GET, ("x",)).fetchall() == [(1,)]
    assert outcomes(tmp_path / "trace")[:3] == ["committed", "aborted", "aborted"]


def test_what_nobody_knows_how_to_record_is_refused(connect: Open) -> None:
    c = connect()
    for text in (
        "SELECT 2",
        "UPDATE kv SET v = 0",
        "SELECT v FROM kv WHERE k = ?; DELETE FROM kv",
        "COMMIT AND CHAIN",
    ):
        with pytest.raises(UsageError, match="not in the table"):
            c.execute(text)
    with pytest.raises(UsageError, match=r"connection\.executescript"):
        c.executescript("DELETE FROM kv")
    with pytest.raises(UsageError, match="parameter 0"):
        c.execute(GET)
    with pytest.raises(UsageError, match="Decimal"):
        c.execute(INSERT, ("x", Decimal(1)))
    c.execute(INSERT, ("x", 1))
    with pytest.raises(UsageError, match="isolation_level"):
        c.isolation_level = None
    c.commit()
    c.isolation_level = None
    assert c.connection.isolation_level is None and c.in_transaction is False
    c.connection.execute("BEGIN")
    with pytest.raises(UsageError, match="open already"):
        trace_connection(c.connection, None, STATEMENTS)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"expected get\(\), put\(\)"):
        trace_connection(c.connection, None, {"SELECT 1": "get"})  # type: ignore[arg-type]


def test_values_are_made_comparable(connect: Open, tmp_path: Path) -> None:
    c = connect(options={"value": int, "key": str.lower})
    c.execute(INSERT, ("X", True))
    assert c.execute(GET, ("X",)).fetchone() == (1,)
    c.commit()
    assert recorded(c) == ["begin", "put x=1", "get x=1", "commit"]


def test_a_statement_that_is_not_what_it_was_said_to_be(connect: Open, tmp_path: Path) -> None:
    c = connect()
    c.execute(INSERT, ("x", 1))
    c.execute(INSERT, ("y", 1))
    with pytest.raises(RecordingFailed, match="2 rows changed"):
        c.execute("UPDATE kv SET v = ?", (7,))
    for attempt in (c.commit, lambda: c.execute(GET, ("x",))):
        with pytest.raises(RecordingFailed, match="rollback"):
            attempt()
    c.rollback()
    c.execute(INSERT, ("x", 2))
    c.commit()
    assert outcomes(tmp_path / "trace") == ["aborted", "committed"]


class Strange:
    """A DB-API connection of a driver that is not known, and fails as it is told to."""

    def __init__(self) -> None:
        self.fails: dict[str, BaseException] = {}
        self.sent: list[str] = []
        self.rowcount = 1

    def cursor(self) -> Strange:
        return self

    def _call(self, name: str) -> None:
        self.sent.append(name)
        if name in self.fails:
            raise self.fails.pop(name)

    def execute(self, query: str, parameters: Any = None) -> int:
        self._call("execute")
        return 1

    def fetchall(self) -> list[Any]:
        return [(1,)]

    def commit(self) -> None:
        self._call("commit")

    def rollback(self) -> None:
        self._call("rollback")

    def close(self) -> None:
        self._call("close")


def test_of_an_unknown_driver_nothing_is_believed(tmp_path: Path) -> None:
    inner = Strange()
    c = trace_connection(inner, Tracer(tmp_path / "trace"), STATEMENTS)
    c.cursor().execute(INSERT, ("x", 1))
    inner.fails["execute"] = RuntimeError("perhaps")
    with pytest.raises(RuntimeError):
        c.cursor().execute(UPDATE, (2, "x"))
    with pytest.raises(RecordingFailed, match="perhaps"):
        c.commit()
    assert "commit" not in inner.sent
    c.rollback()
    c.cursor().execute(INSERT, ("x", 1))
    inner.fails["commit"] = RuntimeError("time-out")
    with pytest.raises(RuntimeError):
        c.commit()
    c.rollback()  # says nothing about the commit
    c.cursor().execute(GET, ("x",))
    c.commit()
    with pytest.raises(UsageError, match="with"), c:
        pass
    assert outcomes(tmp_path / "trace") == ["aborted", "unknown", "committed"]


def test_a_rollback_that_failed_may_have_to_be_tried_again(tmp_path: Path) -> None:
    inner = Strange()
    c = trace_connection(inner, Tracer(tmp_path / "trace"), STATEMENTS)
    c.cursor().execute(INSERT, ("x", 1))
    inner.fails["rollback"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        c.rollback()
    with pytest.raises(RecordingFailed, match="KeyboardInterrupt"):
        c.commit()
    assert "commit" not in inner.sent
    c.rollback()
    assert recorded(c) == ["begin", "put x=1", "abort!", "abort"]


def test_a_full_disk_lets_nothing_be_committed(connect: Open) -> None:
    c = connect()
    c.execute(INSERT, ("x", 1))
    c.session.fail("no space left")
    with pytest.raises(RecordingFailed, match="no space left"):
        c.commit()
    with pytest.raises(RecordingFailed, match="no space left"):
        c.execute(INSERT, ("y", 1))
    c.rollback()
    assert connect("b").execute(GET, ("x",)).fetchall() == []


def test_two_at_a_time_on_one_connection(tmp_path: Path) -> None:
    inner = Strange()
    c = trace_connection(inner, Tracer(tmp_path / "trace"), STATEMENTS)
    refused: list[str] = []

    def meanwhile(name: str) -> None:
        for attempt in (lambda: c.cursor().execute(GET, ("x",)), c.commit, c.rollback):
            with pytest.raises(UsageError, match="two statements at a time"):
                attempt()
            refused.append(name)

    inner._call = meanwhile  # type: ignore[method-assign]
    c.cursor().execute(INSERT, ("x", 1))
    c.commit()
    assert refused == ["execute"] * 3 + ["commit"] * 3
    assert outcomes(tmp_path / "trace") == ["committed"]


@pytest.mark.parametrize("level", ["", None])
def test_a_write_that_returns_rows_is_counted_when_it_is_over(
    connect: Open, tmp_path: Path, level: str | None
) -> None:
    """Before its last row is taken sqlite3 says that no row was changed, and has committed nothing."""
    c = connect(isolation_level=level)
    cursor = c.execute(f"{INSERT} RETURNING k", ("x", 1))
    c.commit()
    assert connect("b").execute(GET, ("x",)).fetchall() == [(1,)]
    assert cursor.fetchall() == [("x",)]
    assert recorded(c) == ["begin", "put x=1", "commit"]
    assert outcomes(tmp_path / "trace", "sser") == ["committed", "committed"]


@pytest.mark.parametrize("comment", COMMENTS)
def test_a_comment_does_not_hide_that_a_transaction_begins(
    connect: Open, tmp_path: Path, comment: str
) -> None:
    c = connect()
    c.execute(comment + INSERT, ("x", 1))
    open_still = c.in_transaction
    c.rollback()
    assert recorded(c) == ["begin", "put x=1", "abort" if open_still else "commit"]
    assert (connect("b").execute(GET, ("x",)).fetchall() == []) == open_still
    assert outcomes(tmp_path / "trace", "ser") == ["aborted" if open_still else "committed", "committed"]

"""What each driver tells about its transactions: whether one is open, and what became of it when something failed.

PEP 249 says how to commit and nothing about what an exception means, so each driver that is known has a few lines here.
One that is not known is taken at PEP 249's word: a transaction begins with the first statement, and after any failure
nobody knows, so it can only be rolled back.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, ClassVar

from boomslang.record.found_rows import FOUND_ROWS, rows_matched
from boomslang.record.outcomes import (
    AMBIGUOUS,
    DISCONNECTED,
    MYSQL_DISCONNECTED,
    MYSQL_ROLLED_BACK,
    MYSQL_STATEMENT,
    Effect,
    mysql_code_of,
    sqlstate_of,
)

WRITES = re.compile(r"(?i)\s*(insert|update|delete|replace)\b")
COMMENTS = re.compile(r"(?s)(\s+|--[^\n]*(\n|$)|/\*.*?\*/)*")


class Driver:
    """A driver that nobody knows: PEP 249, and no more."""

    dialect: ClassVar[str | None] = None
    """Of its SQL, if that is known."""
    hides_rows: bool = False
    """Rows that RETURNING was added for can be kept from the application."""
    tells_keys: bool = True
    """Of an INSERT that returns rows it tells the key that was generated, as of any other."""
    of_rows: ClassVar[tuple[str, ...]] = ("description",)
    """Attributes of a cursor that are None if there are no rows to fetch."""
    leaving: ClassVar[tuple[str, ...]] = ()
    """What the end of `with connection` does: "commit" (or roll back), "close"; nothing that is known, if empty."""

    def in_transaction(self, connection: Any) -> bool:
        """Is one certainly open?"""
        return False

    def autocommits(self, connection: Any, text: str) -> bool:
        """Outside of a transaction: is this statement one of its own?"""
        return getattr(connection, "autocommit", False) is True

    def effect(self, connection: Any, error: BaseException) -> Effect:
        """What a failed statement means for its transaction."""
        return Effect.DOUBTFUL

    def doomed(self, connection: Any) -> bool:
        """Will a COMMIT now roll back?"""
        return False

    def gone(self, connection: Any) -> bool:
        """Is the connection gone, so that a commit would not even be sent?"""
        return False

    def still_open(self, connection: Any) -> bool:
        """After a commit that failed: is the transaction certainly as it was before?"""
        return False

    def isolation(self, connection: Any) -> str | None:
        """The level at which it begins transactions, if the driver was told one."""
        return None

    def plain_cursor(self, connection: Any) -> Any:
        """A cursor whose rows are tuples, for questions of our own."""
        return connection.cursor()

    def found(self, connection: Any) -> int | None:
        """After an UPDATE that counted no row: how many did it find? None if that is not known."""
        return 0

    @contextmanager
    def plain_rows(self, cursor: Any) -> Iterator[None]:
        """What the application's cursor returns in here are rows as the database has them."""
        yield

    def hide_rows(self, cursor: Any) -> None:
        """The cursor, whose rows are all taken, is to look as if there had been none."""

    def nothing_to_fetch(self, cursor: Any) -> None:
        """Raises, if the driver does where rows are asked for after a statement that returns none."""


class Psycopg(Driver):
    """psycopg 3, plain and asyncio. The status of the transaction is what the server last said."""

    dialect = "postgres"
    leaving = ("commit", "close")
    hides_rows = True
    of_rows = ("description", "rownumber")

    def __init__(self) -> None:
        psycopg: Any = importlib.import_module("psycopg")
        self._no_rows = psycopg.ProgrammingError
        self._status = psycopg.pq.TransactionStatus
        self._tuples = psycopg.rows.tuple_row
        self._unsent = (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError, TypeError)

    def isolation(self, connection: Any) -> str | None:
        told = getattr(connection, "isolation_level", None)
        return str(told.name).replace("_", " ").lower() if told is not None else None

    def in_transaction(self, connection: Any) -> bool:
        status = connection.info.transaction_status
        return status in (self._status.ACTIVE, self._status.INTRANS, self._status.INERROR)

    def autocommits(self, connection: Any, text: str) -> bool:
        return bool(connection.autocommit)

    def effect(self, connection: Any, error: BaseException) -> Effect:
        state = sqlstate_of(error)
        if connection.closed or (state is not None and state.startswith(DISCONNECTED)):
            return Effect.LOST
        status = connection.info.transaction_status
        if status == self._status.INERROR:
            return Effect.DOOMED
        if status not in (self._status.IDLE, self._status.INTRANS):
            return Effect.DOUBTFUL
        certain = not state.startswith(AMBIGUOUS) if state else isinstance(error, self._unsent)
        return Effect.NOTHING if certain else Effect.DOUBTFUL

    def plain_cursor(self, connection: Any) -> Any:
        return connection.cursor(row_factory=self._tuples)

    @contextmanager
    def plain_rows(self, cursor: Any) -> Iterator[None]:
        kept, cursor.row_factory = cursor.row_factory, self._tuples
        try:
            yield
        finally:
            cursor._row_factory = kept  # setting the property would try it on our rows

    def nothing_to_fetch(self, cursor: Any) -> None:
        raise self._no_rows(
            f"the last operation didn't produce records (command status: {cursor.statusmessage})"
        )

    def doomed(self, connection: Any) -> bool:
        return bool(connection.info.transaction_status == self._status.INERROR)

    def gone(self, connection: Any) -> bool:
        return bool(connection.closed)


class Asyncpg(Driver):
    """asyncpg: everything outside of `connection.transaction()` is a transaction of its own."""

    dialect = "postgres"
    hides_rows = True

    def __init__(self) -> None:
        asyncpg: Any = importlib.import_module("asyncpg")
        self._unsent = asyncpg.InterfaceError

    def in_transaction(self, connection: Any) -> bool:
        return bool(connection.is_in_transaction())

    def autocommits(self, connection: Any, text: str) -> bool:
        return True

    def effect(self, connection: Any, error: BaseException) -> Effect:
        state = sqlstate_of(error)
        if connection.is_closed() or (state is not None and state.startswith(DISCONNECTED)):
            return Effect.LOST
        if state is not None and connection.is_in_transaction():
            return Effect.DOOMED
        certain = not state.startswith(AMBIGUOUS) if state else isinstance(error, self._unsent)
        return Effect.NOTHING if certain else Effect.DOUBTFUL

    def gone(self, connection: Any) -> bool:
        return bool(connection.is_closed())


class PyMySQL(Driver):
    """PyMySQL. An error says nothing about the transaction but its number, so only listed numbers are certain."""

    dialect = "mysql"
    leaving = ("close",)
    hides_rows = True

    def in_transaction(self, connection: Any) -> bool:
        return bool(connection.server_status & 1)  # SERVER_STATUS_IN_TRANS

    def autocommits(self, connection: Any, text: str) -> bool:
        return bool(connection.get_autocommit())

    def effect(self, connection: Any, error: BaseException) -> Effect:
        code = mysql_code_of(error)
        if not connection.open or code in MYSQL_DISCONNECTED:
            return Effect.LOST
        if code in MYSQL_ROLLED_BACK:
            return Effect.ABORTED
        return Effect.NOTHING if code in MYSQL_STATEMENT else Effect.DOUBTFUL

    def plain_cursor(self, connection: Any) -> Any:
        return connection.cursor(importlib.import_module("pymysql").cursors.Cursor)

    def gone(self, connection: Any) -> bool:
        return not connection.open

    def found(self, connection: Any) -> int | None:
        if connection.client_flag & FOUND_ROWS:
            return 0
        return rows_matched(getattr(getattr(connection, "_result", None), "message", None))

    def hide_rows(self, cursor: Any) -> None:
        cursor._rows, cursor.description, cursor.lastrowid, cursor.rownumber = None, None, 0, 0


class OtherMySQL(Driver):
    """mysqlclient and MySQL's own connector: PEP 249 and no more, but what they count is known."""

    dialect = "mysql"

    def found(self, connection: Any) -> int | None:
        flags = getattr(connection, "client_flag", None) or getattr(connection, "_client_flags", 0)
        if isinstance(flags, int) and flags & FOUND_ROWS:
            return 0
        info = getattr(connection, "info", None)  # mysqlclient's
        return rows_matched(info()) if callable(info) else None


class SQLite(Driver):
    """The standard library's sqlite3, which says at any time whether a transaction is open."""

    dialect = "sqlite"
    leaving = ("commit",)
    hides_rows = True

    def in_transaction(self, connection: Any) -> bool:
        return bool(connection.in_transaction)

    def autocommits(self, connection: Any, text: str) -> bool:
        mode = getattr(connection, "autocommit", -1)  # Python 3.12: True, False, or -1 for as it was before
        if mode is True or mode is False:
            return bool(mode)
        start = COMMENTS.match(text) if sees_through_comments() else None
        return connection.isolation_level is None or not WRITES.match(text, start.end() if start else 0)

    def plain_cursor(self, connection: Any) -> Any:
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        return cursor

    @contextmanager
    def plain_rows(self, cursor: Any) -> Iterator[None]:
        kept, cursor.row_factory = cursor.row_factory, None
        try:
            yield
        finally:
            cursor.row_factory = kept

    def effect(self, connection: Any, error: BaseException) -> Effect:
        return Effect.NOTHING if connection.in_transaction else Effect.ABORTED

    def still_open(self, connection: Any) -> bool:
        return bool(connection.in_transaction)


class DuckDB(Driver):
    """DuckDB: a cursor is a connection of its own, and a write returns how many rows it changed as a row. After an
    error COMMIT is answered with success though nothing may be committed, so only a rollback is let through."""

    dialect = "duckdb"
    hides_rows = True

    def autocommits(self, connection: Any, text: str) -> bool:
        return True

    def plain_cursor(self, connection: Any) -> Any:
        return connection.cursor()


@lru_cache(maxsize=1)
def duckdb_counts_rows() -> bool:
    """Does this DuckDB say in `rowcount` how many rows a write has changed? Not all do."""
    duckdb: Any = importlib.import_module("duckdb")
    with closing(duckdb.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (k INT)")
        return bool(connection.execute("INSERT INTO t VALUES (1)").rowcount == 1)


class Adapted(Driver):
    """What SQLAlchemy makes of an asyncio driver: it looks like PEP 249, and holds the connection itself."""

    def __init__(self, connection: Any) -> None:
        self._inner = driver_of(connection._connection)
        self.hides_rows = isinstance(self._inner, Psycopg | Asyncpg | SQLite)
        # Of a statement with rows, SQLAlchemy's cursor of aiosqlite does not tell the key that was generated.
        self.tells_keys = not isinstance(self._inner, SQLite)

    @property
    def dialect(self) -> str | None:  # type: ignore[override]
        return self._inner.dialect

    def in_transaction(self, connection: Any) -> bool:
        return self._inner.in_transaction(connection._connection)

    def autocommits(self, connection: Any, text: str) -> bool:
        if isinstance(self._inner, Asyncpg):
            return bool(connection.autocommit)
        return self._inner.autocommits(connection._connection, text)

    def effect(self, connection: Any, error: BaseException) -> Effect:
        cause = error.__cause__ if isinstance(self._inner, Psycopg | SQLite) else None
        return self._inner.effect(connection._connection, cause or error)

    def doomed(self, connection: Any) -> bool:
        return self._inner.doomed(connection._connection)

    def gone(self, connection: Any) -> bool:
        return self._inner.gone(connection._connection)

    def still_open(self, connection: Any) -> bool:
        return self._inner.still_open(connection._connection)


@lru_cache(maxsize=1)
def sees_through_comments() -> bool:
    """Does this Python's sqlite3 begin a transaction for a write that a comment precedes? Not all do."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (k)")
        connection.execute("/* */ INSERT INTO t VALUES (1)")
        return connection.in_transaction


KNOWN: dict[str, type[Driver]] = {
    "psycopg": Psycopg,
    "asyncpg": Asyncpg,
    "pymysql": PyMySQL,
    "MySQLdb": OtherMySQL,
    "mysql": OtherMySQL,
    "sqlite3": SQLite,
    "aiosqlite": SQLite,
    "duckdb": DuckDB,
    "_duckdb": DuckDB,
}


def driver_of(connection: Any) -> Driver:
    """By where the class of the connection, or one it is made from, comes from."""
    if type(connection).__module__.startswith("sqlalchemy.") and hasattr(connection, "_connection"):
        return Adapted(connection)
    for kind in type(connection).__mro__:
        driver = KNOWN.get(kind.__module__.split(".")[0])
        if driver is not None:
            return driver()
    return Driver()

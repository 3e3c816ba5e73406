"""SQLite, from Python's standard library: serializable, because only one transaction writes at a time.

`sqlite` keeps a write-ahead log (readers see a snapshot, a writer does not wait for them); `sqlite:?journal=delete`
has SQLite's original rollback journal (a writer waits until no one reads). Levels are the ways to begin: deferred
takes its locks when they are needed, immediate and exclusive at once.

A statement that finds a lock taken fails and leaves the transaction open, COMMIT too: it may be tried again. Where
a snapshot is no longer the newest (SQLITE_BUSY_SNAPSHOT) trying again is in vain, and `abort` the only way on.

`sqlite-shared-cache` is the exception that SQLite's documentation makes: connections of one process that share a
cache, one of which asked for `read_uncommitted`, see what others have not committed.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from boomslang.databases.claims import Release
from boomslang.databases.database import Aborted, Connection, Database, DatabaseError, Failed, Lost, Offered
from boomslang.databases.embedded_files import Place, one_of, seconds, split_argument
from boomslang.databases.settings import refuse_reserved, set_pragmas, split_settings
from boomslang.databases.sql import DROP, LOAD, TABLE, SqlConnection, select
from boomslang.errors import UsageError

_SERIALIZABLE = "sqlite.org/isolation.html: transactions are serializable"
RESERVED = {"journal_mode": "journal=...", "busy_timeout": "timeout=...", "encoding": ""}
"""Pragmas that are not for the user to set."""
_CREATE = f"CREATE TABLE {TABLE} (key TEXT PRIMARY KEY COLLATE BINARY, value TEXT NOT NULL) WITHOUT ROWID"


def _said(error: sqlite3.Error) -> str:
    """What SQLite said, with the name of its error where Python (3.11 and newer) knows it."""
    name = getattr(error, "sqlite_errorname", None)
    return f"{error} ({name})" if name else str(error)


class SQLiteConnection(SqlConnection):
    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver
        self._open: list[sqlite3.Cursor] = []

    def begin(self, level: str) -> None:
        try:
            self._driver.execute(f"BEGIN {level}")
        except sqlite3.ProgrammingError as error:
            raise Lost(_said(error)) from error
        except sqlite3.Error as error:
            raise Aborted(_said(error)) from error

    def ask(self, sql: str, parameters: Sequence[str] = ()) -> list[Any]:
        try:
            return self._driver.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        try:
            cursor = self._driver.execute(*select(lo, hi))
        except sqlite3.Error as error:
            raise self._told(error) from error
        self._open.append(cursor)
        return self._walk(cursor)

    def _walk(self, cursor: sqlite3.Cursor) -> Iterator[tuple[str, str]]:
        try:
            while (row := cursor.fetchone()) is not None:
                yield row
        except sqlite3.Error as error:
            raise self._told(error) from error

    def commit(self) -> None:
        self._close_cursors()
        try:
            self._driver.execute("COMMIT")
        except sqlite3.ProgrammingError as error:
            raise Lost(_said(error)) from error
        except sqlite3.Error as error:
            if self._driver.in_transaction:
                raise Failed(_said(error)) from error
            raise Lost(_said(error)) from error

    def abort(self) -> None:
        self._close_cursors()
        try:
            if self._driver.in_transaction:
                self._driver.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise Lost(_said(error)) from error

    def close(self) -> None:
        # Python's close never fails for what SQLite says; a connection with an open transaction rolls back.
        self._close_cursors()
        self._driver.close()

    def _close_cursors(self) -> None:
        """A statement that is still being read would keep its snapshot for the next transaction."""
        for cursor in self._open:
            cursor.close()
        self._open.clear()

    def _told(self, error: sqlite3.Error) -> DatabaseError:
        if isinstance(error, sqlite3.ProgrammingError):  # the connection was closed
            return Lost(_said(error))
        # After the worst of its errors (a full disk, for one) SQLite rolls back by itself.
        return Failed(_said(error)) if self._driver.in_transaction else Aborted(_said(error))


class SQLite(Database):
    name = "sqlite"
    title = "SQLite"
    levels: ClassVar[Mapping[str, Offered]] = {
        "deferred": Offered("deferred", "ser", note=_SERIALIZABLE),
        "immediate": Offered(
            "immediate", "ser", note=f"{_SERIALIZABLE}; takes the write lock when it begins"
        ),
        "exclusive": Offered(
            "exclusive",
            "ser",
            note=f"{_SERIALIZABLE}; keeps readers out too, unless there is a write-ahead log",
        ),
    }
    default_level = "deferred"
    capabilities = frozenset({"iterator", "append"})

    def __init__(self, argument: str = "") -> None:
        argument, self.settings = split_settings(argument)
        refuse_reserved(self.title, self.settings, RESERVED)
        path, options = split_argument(self.title, argument, {"journal": "wal", "timeout": "5"})
        journals = ("wal", "delete", "truncate", "persist")
        self.journal = one_of(self.title, "journal", options["journal"].lower(), journals)
        self.timeout = seconds(self.title, "timeout", options["timeout"])
        self._place = Place(path, "sqlite.db")

    def claim(self) -> Release | None:
        return self._place.claim(self.title)

    def prepare(self, initial: Mapping[str, str]) -> None:
        driver = self._connect()
        try:
            driver.execute(f"PRAGMA journal_mode = {self.journal}")
            driver.execute("BEGIN IMMEDIATE")
            driver.execute(DROP)
            driver.execute(_CREATE)
            driver.executemany(LOAD, initial.items())
            driver.execute("COMMIT")
        except sqlite3.Error as error:
            raise Lost(f"{self._where}: {_said(error)}") from error
        finally:
            driver.close()

    def connect(self) -> Connection:
        driver = self._connect()
        driver.execute(f"PRAGMA busy_timeout = {round(self.timeout * 1000)}")
        return SQLiteConnection(driver)

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version} ({self.journal} journal)"

    def close(self) -> None:
        self._place.remove()

    @property
    def _where(self) -> str:
        return str(self._place.path)

    def _connect(self) -> sqlite3.Connection:
        try:
            driver = sqlite3.connect(self._where, isolation_level=None, check_same_thread=False)
            # What is at stake here is processes that die, not power that fails.
            driver.execute("PRAGMA synchronous = OFF")
            # The first to come brings the log in order, for which others wait however little they want to wait.
            driver.execute("SELECT 1 FROM sqlite_master").fetchall()
            set_pragmas(self.title, self.settings, lambda asked: driver.execute(asked).fetchall())
        except sqlite3.Error as error:
            raise Lost(f"{self._where}: {_said(error)}") from error
        return driver


class SharedCacheConnection(SQLiteConnection):
    def begin(self, level: str) -> None:
        self.ask(f"PRAGMA read_uncommitted = {int(level == 'read uncommitted')}")
        super().begin("DEFERRED")

    # Over rows that others are changing a cursor may return one twice, which no trace can hold.

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        pairs = super().scan(lo, hi)
        if len({key for key, _ in pairs}) < len(pairs):
            raise Failed("the scan returned a key twice")
        return pairs

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        return SqlConnection.iterator(self, lo, hi)


class SQLiteSharedCache(Database):
    """In memory, in one process. Here a table is locked as a whole, and nobody waits for it."""

    name = "sqlite-shared-cache"
    title = "SQLite with a shared cache"
    levels: ClassVar[Mapping[str, Offered]] = {
        "read uncommitted": Offered(
            "read uncommitted", "ru", note="sqlite.org/sharedcache.html: reads take no locks on tables"
        ),
        "serializable": Offered("serializable", "ser", note=_SERIALIZABLE),
    }
    default_level = "serializable"
    one_process = True
    capabilities = frozenset({"iterator", "append"})

    def __init__(self, argument: str = "") -> None:
        argument, self.settings = split_settings(argument)
        refuse_reserved(self.title, self.settings, {**RESERVED, "read_uncommitted": "--db-level"})
        split_argument(self.title, argument, {})
        if argument:
            raise UsageError(f"{self.title} lives in memory; found the path {argument!r}")
        self._name = f"file:boomslang-{uuid.uuid4()}?mode=memory&cache=shared"
        self._keeper = self._connect()  # the last connection to close takes the database with it
        self._keeper.execute(_CREATE)

    def prepare(self, initial: Mapping[str, str]) -> None:
        try:
            self._keeper.execute("BEGIN")
            self._keeper.execute(f"DELETE FROM {TABLE}")
            self._keeper.executemany(LOAD, initial.items())
            self._keeper.execute("COMMIT")
        except sqlite3.Error as error:
            raise Lost(_said(error)) from error

    def connect(self) -> Connection:
        return SharedCacheConnection(self._connect())

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version} (shared cache)"

    def close(self) -> None:
        self._keeper.close()

    def _connect(self) -> sqlite3.Connection:
        try:
            driver = sqlite3.connect(self._name, uri=True, isolation_level=None, check_same_thread=False)
            set_pragmas(self.title, self.settings, lambda asked: driver.execute(asked).fetchall())
            return driver
        except sqlite3.Error as error:
            raise Lost(_said(error)) from error

"""Turso, the rewrite of SQLite: many versions (`journal_mode = 'mvcc'`), and writers that do not wait for each other.

`BEGIN CONCURRENT` gives a snapshot; of two that write a row the second is refused, when it writes or when it
commits, and its transaction is over. `BEGIN IMMEDIATE` writes alone, as in SQLite. The driver has one class for
most errors, so what happened is asked of the connection: is it still in a transaction?

`turso:?timeout=2` says how many seconds a lock is waited for. A deferred transaction that read before another one
wrote cannot write any more, and waits as long, in vain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from boomslang.databases.claims import Release
from boomslang.databases.database import Aborted, Connection, Database, DatabaseError, Failed, Lost, Offered
from boomslang.databases.embedded_files import Place, missing, seconds, split_argument
from boomslang.databases.settings import refuse_reserved, refused, set_pragmas, split_settings
from boomslang.databases.sql import LOAD, TABLE, SqlConnection

try:
    import turso
except ImportError as error:
    raise missing("Turso", "turso", error) from error

_AS_SQLITE = "as in SQLite, which Turso means to be compatible with"


class TursoConnection(SqlConnection):
    """Reads each statement to its end: one that is open when a conflict ends its transaction brings the engine down."""

    def __init__(self, driver: turso.Connection) -> None:
        self._driver = driver

    def begin(self, level: str) -> None:
        try:
            self._driver.execute(f"BEGIN {level}")
        except BaseException as error:
            raise self._told(error) from error

    def ask(self, sql: str, parameters: Sequence[str] = ()) -> list[Any]:
        try:
            cursor = self._driver.execute(sql, tuple(parameters))
            rows: list[Any] = cursor.fetchall()
            cursor.close()
        except BaseException as error:
            raise self._told(error) from error
        return rows

    def commit(self) -> None:
        try:
            self._driver.execute("COMMIT")
        except BaseException as error:
            told = self._told(error)
            # Only a conflict is known to have changed nothing.
            if isinstance(told, Aborted) and "conflict" not in str(error).lower():
                told = Lost(str(error))
            raise told from error

    def abort(self) -> None:
        try:
            if self._driver.in_transaction:
                self._driver.execute("ROLLBACK")
        except BaseException as error:
            told = self._told(error)
            raise (told if isinstance(told, Lost) else Lost(str(error))) from error

    def close(self) -> None:
        try:
            if self._driver.in_transaction:
                self._driver.execute("ROLLBACK")  # closing alone would leave the transaction behind
            self._driver.close()
        except BaseException as error:
            self._told(error)

    def _told(self, error: BaseException) -> DatabaseError:
        """What an error means. One that is not the database's is raised again."""
        if (
            type(error).__name__ == "PanicException"
        ):  # the engine broke off; it is no `Exception`, and has no home
            return Lost(f"the engine panicked: {error}")
        if not isinstance(error, turso.Error):
            raise error
        if "connection closed" in str(error).lower():
            return Lost(str(error))
        return Failed(str(error)) if self._driver.in_transaction else Aborted(str(error))


class Turso(Database):
    name = "turso"
    title = "Turso"
    levels: ClassVar[Mapping[str, Offered]] = {
        "concurrent": Offered(
            "concurrent",
            "si",
            note="docs.turso.tech/tursodb/concurrent-writes: a snapshot; two that touch the same row conflict",
        ),
        "deferred": Offered("deferred", "ser", note=f"{_AS_SQLITE}; one writer at a time"),
        "immediate": Offered("immediate", "ser", note=f"{_AS_SQLITE}; takes the write lock when it begins"),
    }
    default_level = "concurrent"
    one_process = True
    capabilities = frozenset({"iterator", "append"})

    def __init__(self, argument: str = "") -> None:
        argument, self.settings = split_settings(argument)
        refuse_reserved(self.title, self.settings, {"journal_mode": "", "busy_timeout": "timeout=..."})
        path, options = split_argument(self.title, argument, {"timeout": "0.1"})
        self.timeout = seconds(self.title, "timeout", options["timeout"])
        self._place = Place(path, "turso.db")
        self._keeper = self._connect()
        try:
            self._keeper.execute("PRAGMA journal_mode = 'mvcc'").fetchall()
            self._keeper.execute(
                f"CREATE TABLE IF NOT EXISTS {TABLE} (key TEXT PRIMARY KEY COLLATE BINARY, value TEXT NOT NULL)"
            )
        except turso.Error as error:
            raise Lost(f"{self._place.path}: {error}") from error

    def claim(self) -> Release | None:
        return self._place.claim(self.title)

    def prepare(self, initial: Mapping[str, str]) -> None:
        try:
            self._keeper.execute("BEGIN IMMEDIATE")
            self._keeper.execute(f"DELETE FROM {TABLE}")
            for pair in initial.items():
                self._keeper.execute(LOAD, pair)
            self._keeper.execute("COMMIT")
        except turso.Error as error:
            raise Lost(f"{self._place.path}: {error}") from error

    def connect(self) -> Connection:
        return TursoConnection(self._connect())

    def version(self) -> str:
        return f"Turso {version('pyturso')}"  # turso_version() forgets its own with journal_mode = 'mvcc'

    def close(self) -> None:
        self._keeper.close()
        self._place.remove()

    def _connect(self) -> turso.Connection:
        try:
            driver = turso.connect(str(self._place.path), isolation_level=None)
            # What is at stake here is processes that die, not power that fails.
            driver.execute("PRAGMA synchronous = OFF").fetchall()
            driver.execute(f"PRAGMA busy_timeout = {round(self.timeout * 1000)}").fetchall()
        except turso.Error as error:
            raise Lost(f"{self._place.path}: {error}") from error
        for name, value in self.settings.items():
            try:
                asked = {name: value}
                set_pragmas(self.title, asked, lambda said: driver.execute(said).fetchall(), listed=False)
            except turso.Error as error:
                raise refused(self.title, name, value, error) from None
        return driver

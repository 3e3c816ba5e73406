"""DuckDB: snapshots, and of two transactions that change a row at the same time the second is refused.

`duckdb` is in memory, `duckdb:shop.duckdb` in a file. There is one level, and no name for it. After an error DuckDB
keeps the transaction open for nothing but ROLLBACK, and *answers COMMIT with success though nothing is committed*:
so each error rolls back at once here, and is an abort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from boomslang.databases.database import Aborted, Connection, Database, Lost, Offered
from boomslang.databases.embedded_files import missing, split_argument
from boomslang.databases.settings import literal, refused, split_settings
from boomslang.databases.sql import DROP, LOAD, TABLE, SqlConnection

try:
    import duckdb
except ImportError as error:
    raise missing("DuckDB", "duckdb", error) from error

_GONE = (duckdb.ConnectionException, duckdb.FatalException, duckdb.InternalException)


class DuckDBConnection(SqlConnection):
    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver
        self._begun = False

    def begin(self, level: str) -> None:
        self._run("BEGIN TRANSACTION")
        self._begun = True

    def ask(self, sql: str, parameters: Sequence[str] = ()) -> list[Any]:
        try:
            rows: list[Any] = self._driver.execute(sql, list(parameters)).fetchall()
        except _GONE as error:
            raise Lost(str(error)) from error
        except duckdb.Error as error:
            self.abort()
            raise Aborted(str(error)) from error
        return rows

    def commit(self) -> None:
        self._begun = False
        try:
            self._driver.execute("COMMIT")
        except duckdb.TransactionException as error:
            raise Aborted(str(error)) from error
        except duckdb.Error as error:
            raise Lost(str(error)) from error

    def abort(self) -> None:
        begun, self._begun = self._begun, False
        if begun:
            self._run("ROLLBACK")

    def close(self) -> None:
        self._driver.close()

    def _run(self, sql: str) -> None:
        try:
            self._driver.execute(sql)
        except duckdb.Error as error:
            raise Lost(str(error)) from error


class DuckDB(Database):
    name = "duckdb"
    title = "DuckDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        "snapshot": Offered(
            "snapshot",
            "si",
            note="duckdb.org/docs/stable/connect/concurrency: two that edit the same row at the same time conflict",
        ),
    }
    default_level = "snapshot"
    one_process = True
    capabilities = frozenset({"iterator", "append"})

    def __init__(self, argument: str = "") -> None:
        argument, self.settings = split_settings(argument)
        path, _ = split_argument(self.title, argument, {})
        try:
            self._driver = duckdb.connect(path or ":memory:", config={"threads": "1"})
        except duckdb.Error as error:
            raise Lost(str(error)) from error
        self._set(self._driver)

    def _set(self, driver: duckdb.DuckDBPyConnection) -> None:
        for name, value in self.settings.items():
            try:
                driver.execute(f"SET {name} = {literal(value)}")
            except duckdb.Error as error:
                driver.close()
                raise refused(self.title, name, value, error) from None

    def prepare(self, initial: Mapping[str, str]) -> None:
        try:
            self._driver.execute(DROP)
            self._driver.execute(f"CREATE TABLE {TABLE} (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
            if initial:
                self._driver.executemany(LOAD, [list(pair) for pair in initial.items()])
        except duckdb.Error as error:
            raise Lost(str(error)) from error

    def connect(self) -> Connection:
        try:
            cursor = self._driver.cursor()
        except duckdb.Error as error:
            raise Lost(str(error)) from error
        self._set(cursor)
        return DuckDBConnection(cursor)

    def version(self) -> str:
        return f"DuckDB {duckdb.__version__}"

    def close(self) -> None:
        self._driver.close()

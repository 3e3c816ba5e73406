"""H2: Java's embedded database, which many applications are tested on in place of the one they will run on.

`h2` starts a server of it for the run, `h2:2.2` one of that version, `h2://user:password@host:5435/name` is somebody's
(one that was started with `-pg`). It is reached through PostgreSQL's protocol, with psycopg, but speaks its own SQL.

Its manual (h2database.com, Advanced, Transaction Isolation) says what each level forbids in the words of the standard,
and of *serializable* that it "doesn't ensure equivalence of concurrent and serializable execution of transactions that
perform write operations": it is snapshot isolation. Repeatable read forbids non-repeatable reads, which no level here
is just; with a single table it is taken for read atomic.

What is deleted stays as a row without a value, as in PostgreSQL: two that change a *row* collide, and one that inserts
a key again which another has deleted makes another row. An error of class 40 has rolled the transaction back; after any
other the statement had no effect and the transaction is open. After a statement that it could not parse,
H2 was once seen to run the one before it again with the new values, so nothing is sent here that it might not parse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from boomslang.databases.claims import Release
from boomslang.databases.database import Aborted, Failed, Lost, Offered
from boomslang.databases.postgres import PostgresConnection, PostgreSQL, error_text
from boomslang.databases.server_database import TABLE, making_table
from boomslang.errors import UsageError

_MANUAL = "h2database.com, Advanced, Transaction Isolation"


class H2(PostgreSQL):
    name = "h2"
    title = "H2"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read uncommitted", "ru", note=_MANUAL),
            Offered("read committed", "rc", note=_MANUAL),
            Offered(
                "repeatable read", "ra", note=f"{_MANUAL}: no non-repeatable reads; phantoms are possible"
            ),
            Offered("snapshot", "si", note=_MANUAL),
            Offered(
                "serializable",
                "si",
                note=f"{_MANUAL}: does not ensure equivalence to a serial execution of transactions that write",
            ),
        )
    }
    default_level = "serializable"
    capabilities = frozenset({"locking", "append"})
    server_kind: ClassVar[str | None] = "h2"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    reserved_settings: ClassVar[Mapping[str, str] | None] = None
    level_settings: ClassVar[tuple[str, ...]] = ()

    def options_to_vary(self, level: Offered) -> Mapping[str, tuple[str, ...]]:
        return {}

    def connect_at(self, dsn: str) -> H2Connection:
        psycopg = self.driver_must_be_there()
        try:
            given = psycopg.conninfo.conninfo_to_dict(dsn)
        except psycopg.ProgrammingError as problem:
            raise UsageError(f"cannot read the address of {self.title}: {str(problem).strip()}") from None
        try:
            driver = psycopg.connect(
                **{"connect_timeout": 10, **given, "client_encoding": "UTF8"},
                autocommit=True,
                prepare_threshold=None,
            )
        except psycopg.Error as problem:
            raise Lost(error_text(problem)) from None
        connection = H2Connection(driver)
        if self.started_here:
            # Else what it confirmed within the last half second is lost with its process, and it would be blamed for
            # that. The setting is gone when the last connection is, or the server: so it is for everyone to make.
            try:
                connection.run("SET WRITE_DELAY 0")
            except (Failed, Aborted) as problem:  # somebody holds a lock; the next attempt may be luckier
                connection.close()
                raise Lost(str(problem)) from None
        return connection

    def claim_tables(self) -> Release | None:
        return None

    def prepare(self, initial: Mapping[str, str]) -> None:
        with making_table(self.connect(), self.title) as connection:
            connection.run(f"DROP TABLE IF EXISTS {TABLE}")
            connection.run(f"CREATE TABLE {TABLE} (k VARCHAR NOT NULL PRIMARY KEY, v VARCHAR)")
            connection.begin("read committed")
            connection.load(initial)
            connection.commit()

    def version(self) -> str:
        connection = self.connect()
        try:
            return f"H2 {connection.run('SELECT H2VERSION()').fetchone()[0]}"
        finally:
            connection.close()


class H2Connection(PostgresConnection):
    def begin(self, level: str) -> None:
        if level != self._level:
            self.run(f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level.upper()}")
            self._level = level
        self.run("BEGIN")
        self._absent.clear()
        self._empty.clear()

    def load(self, pairs: Mapping[str, str]) -> None:
        for key, value in pairs.items():
            self.put(key, value)

    def commit(self) -> None:
        """It answers with "UPDATE 0", whatever it did; a transaction that it rolled back has told so before."""
        try:
            self.driver.execute("COMMIT")
        except self._error as problem:
            state: Any = getattr(problem, "sqlstate", None) or ""
            if not self._is_gone(state) and state[:2] == "40":
                self.abort()
                raise Aborted(error_text(problem)) from None
            self.close()
            raise Lost(error_text(problem)) from None

    def put(self, key: str, value: str) -> None:
        self.run(f"MERGE INTO {TABLE} KEY (k) VALUES (%s, %s)", key, value)

    def append(self, key: str, element: str) -> None:
        self.run(
            f"MERGE INTO {TABLE} t USING (SELECT CAST(%s AS VARCHAR) k, CAST(%s AS VARCHAR) v) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v = COALESCE(t.v || ',', '') || s.v "
            "WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v)",
            key,
            element,
        )

    def delete(self, key: str) -> bool:
        return bool(self.run(f"UPDATE {TABLE} SET v = NULL WHERE k = %s AND v IS NOT NULL", key).rowcount)

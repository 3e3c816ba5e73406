"""PostgreSQL, through psycopg 3. What speaks its protocol and has its own rules is in a file of its own.

Outcomes. An error of class 40 (serialization failure, deadlock) is an abort, but for 40003, which says that the server
does not know either. After any other error of a statement the transaction is open and doomed: PostgreSQL answers each
further statement with an error, and COMMIT with ROLLBACK, which is an abort. A connection that is gone is `Lost`, and
so is a COMMIT that ended with anything that does not certainly mean that nothing was committed.

Deletes. Below serializable PostgreSQL's rules are about *rows*, and a key that is deleted and inserted again is another
row. At repeatable read the first of two wins who change a row; whoever inserts a key that another has deleted since the
snapshot is not refused, though both have written the key. At read committed a DELETE or a locking read that waited for
another looks at the row it waited for and at no other: if that was deleted and the key inserted again, it finds
nothing, though the key was never absent. As a store of keys and values that would be neither level, and it is not what
PostgreSQL promises. So at those levels a delete sets the value to NULL, and a key keeps its row. At serializable a
delete is a DELETE.

For hunts the key's index can be chosen. `index=btree` is the primary key; `index=hash`, `index=none` and `unique=no`
leave nothing that keeps two rows from having one key, so `put` updates and, if there was no row, inserts. Only at
serializable must that be the same, and only serializable is offered then: below it two rows of a key break no promise
of PostgreSQL's. `scan=bitmap` (`index`, `seq`) leaves the planner no other way of reading. `fillfactor=100` packs the
index; `rows=wide` gives each row a page of its own, so that every insert makes the table grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from boomslang.databases.claims import Release, Taken, number_for
from boomslang.databases.database import Aborted, Connection, DatabaseError, Failed, Lost, Offered
from boomslang.databases.server_database import BATCH, TABLE, Served, import_driver, making_table
from boomslang.databases.settings import refused
from boomslang.errors import UsageError

_SCANS = ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")
_WITHOUT = {
    "any": (),
    "bitmap": _SCANS[:3],
    "index": ("enable_seqscan", "enable_bitmapscan"),
    "seq": _SCANS[1:],
}
OF_THE_SERVER = "55P02"
"""The error of a SET that names what can only be set for the server as a whole."""
RESERVED: Mapping[str, str] = {
    **dict.fromkeys(("client_encoding", "standard_conforming_strings", "transaction_isolation"), ""),
    **dict.fromkeys(("data_directory", "listen_addresses", "port", "unix_socket_directories"), ""),
    **dict.fromkeys(("hba_file", "ident_file", "logging_collector"), ""),
}


class PostgreSQL(Served):
    name = "postgres"
    title = "PostgreSQL"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read committed", "rc", note="each statement has a snapshot of its own"),
            Offered("repeatable read", "si", note="snapshot isolation since 9.1"),
            Offered("serializable", "ser", note="serializable snapshot isolation"),
        )
    }
    default_level = "serializable"
    capabilities = frozenset({"locking", "iterator", "append"})
    server_kind: ClassVar[str | None] = "postgres"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "index": ("btree", "hash", "none"),
        "unique": ("yes", "no"),
        "scan": tuple(_WITHOUT),
        "fillfactor": ("10", "50", "90", "100"),
        "rows": ("narrow", "wide"),
    }
    reserved_settings: ClassVar[Mapping[str, str] | None] = RESERVED
    level_settings: ClassVar[tuple[str, ...]] = ("default_transaction_isolation",)
    key_type = 'TEXT COLLATE "C"'
    """A string that is ordered by its UTF-8 bytes."""

    def __init__(self, argument: str = "") -> None:
        self.driver_must_be_there()
        super().__init__(argument)
        self.dsns = tuple("postgresql:" + dsn.partition(":")[2] for dsn in self.dsns)
        self.dsn = self.dsns[0]

    @property
    def unique(self) -> bool:
        """Does an index keep two rows from having one key?"""
        return self.options.get("index") in (None, "btree") and self.options.get("unique") != "no"

    def options_to_vary(self, level: Offered) -> Mapping[str, tuple[str, ...]]:
        alike = ("scan", "rows")  # at every level
        return {
            name: values
            for name, values in self.options_known.items()
            if name not in self.given and (name in alike or level.name == "serializable")
        }

    @classmethod
    def driver_must_be_there(cls) -> Any:
        return import_driver("psycopg", cls.title, "postgres")

    def level(self, name: str | None) -> Offered:
        found = super().level(name)
        if not self.unique and found.name != "serializable":
            raise UsageError(
                f"found the level {found.name!r} with a key that is not unique; only at serializable must two "
                "sessions not insert the same key"
            )
        return found

    def connect(self) -> PostgresConnection:
        return self.connect_at(self.dsn)

    def connect_at(self, dsn: str) -> PostgresConnection:
        psycopg = self.driver_must_be_there()
        try:
            given = psycopg.conninfo.conninfo_to_dict(dsn)
        except psycopg.ProgrammingError as problem:
            raise UsageError(f"cannot read the address of {self.title}: {str(problem).strip()}") from None
        given = {"connect_timeout": 10, "application_name": "boomslang", **given, "client_encoding": "UTF8"}
        try:
            connection = psycopg.connect(**given, autocommit=True)
            for setting in _WITHOUT[self.options.get("scan", "any")]:
                connection.execute(f"SET {setting} = off")
        except psycopg.Error as problem:
            raise Lost(error_text(problem)) from None
        for name, value in self.settings.items():
            try:
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            except psycopg.Error as problem:
                state = problem.sqlstate or ""
                if state == OF_THE_SERVER and self.started_here:
                    continue  # its configuration has it
                connection.close()
                if state[:2] not in ("0A", "22", "42", "55"):
                    raise Lost(error_text(problem)) from None
                raise refused(self.title, name, value, error_text(problem)) from None
        return PostgresConnection(connection, unique=self.unique)

    def claim_tables(self) -> Release | None:
        connection = self.connect()
        try:
            schema = connection.run("SELECT current_schema()").fetchone()[0]
            number = number_for(f"{schema}.{TABLE}")
            if not connection.run(f"SELECT pg_try_advisory_lock({number})").fetchone()[0]:
                connection.close()
                raise Taken(self.title, f"the table {TABLE}")
        except (Failed, Aborted):  # of those that speak the protocol, some have no such locks
            connection.close()
            return None
        return connection.close

    def prepare(self, initial: Mapping[str, str]) -> None:
        with making_table(self.connect(), self.title) as connection:
            encoding = connection.driver.info.parameter_status("server_encoding")
            if encoding not in (None, "UTF8"):
                raise UsageError(f"found a database in {encoding}; expected UTF8, in which keys are ordered")
            run = connection.run
            run("SET lock_timeout = '30s'")
            run(f"DROP TABLE IF EXISTS {TABLE}")
            primary = " PRIMARY KEY" if self.unique else ""
            run(f"CREATE TABLE {TABLE} (k {self.key_type} NOT NULL{primary}, v TEXT)")
            if self.options.get("rows") == "wide":
                run(f"ALTER TABLE {TABLE} ADD filler TEXT DEFAULT repeat('-', 5000)")
                run(f"ALTER TABLE {TABLE} ALTER filler SET STORAGE PLAIN")
            if not self.unique and self.options.get("index") != "none":
                packed = (
                    f" WITH (fillfactor = {self.options['fillfactor']})"
                    if "fillfactor" in self.options
                    else ""
                )
                run(f"CREATE INDEX ON {TABLE} USING {self.options.get('index', 'btree')} (k){packed}")
            run("BEGIN")
            connection.load(initial)
            run("COMMIT")

    def version(self) -> str:
        connection = self.connect()
        try:
            told: str = connection.run("SELECT version()").fetchone()[0]
            return told.partition(" on ")[0].partition(" (")[0]
        finally:
            connection.close()


def error_text(problem: Exception) -> str:
    """What the server said, on one line, with its code."""
    state = getattr(problem, "sqlstate", None)
    said = " ".join(str(problem).split())
    return f"{state}: {said}" if state else said


class PostgresConnection(Connection):
    def __init__(self, driver: Any, *, unique: bool = True) -> None:
        self.driver = driver
        """The psycopg connection. It commits each statement by itself; transactions are ours to begin."""
        self._unique = unique
        self._iterators = 0
        self._level = ""
        self._empty: list[tuple[str | None, str | None]] = []
        """Ranges in which it found nothing, and has put nothing since."""
        self._absent: set[str] = set()
        """Keys that this transaction looked for and did not find."""
        self._error = import_driver("psycopg", "PostgreSQL", "postgres").Error

    # --- what may be raised

    def run(self, statement: str, *values: str) -> Any:
        """Runs a statement of an open transaction."""
        try:
            return self.driver.execute(statement, values)
        except self._error as problem:
            raise self._meaning(problem) from None

    def load(self, pairs: Mapping[str, str]) -> None:
        """Inserts many pairs at a time."""
        try:
            with self.driver.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {TABLE} VALUES (%s, %s)", list(pairs.items()))
        except self._error as problem:
            raise self._meaning(problem) from None

    def _meaning(self, problem: Exception) -> DatabaseError:
        state = getattr(problem, "sqlstate", None) or ""
        if self._is_gone(state):
            self.close()
            return Lost(error_text(problem))
        if state[:2] == "40":
            self.abort()
            return Aborted(error_text(problem))
        return Failed(error_text(problem))

    def _is_gone(self, state: str) -> bool:
        return bool(self.driver.closed) or state[:2] == "08" or state[:3] == "57P"

    def commit(self) -> None:
        try:
            answer = self.driver.execute("COMMIT").statusmessage
        except self._error as problem:
            state = getattr(problem, "sqlstate", None) or ""
            # Conflicts, and constraints that are looked at last: nothing else is certain not to have committed.
            if not self._is_gone(state) and state[:2] in ("40", "23") and state != "40003":
                self.abort()
                raise Aborted(error_text(problem)) from None
            self.close()
            raise Lost(error_text(problem)) from None
        if answer != "COMMIT":
            raise Aborted(f"COMMIT was answered with {answer}")

    def abort(self) -> None:
        try:
            self.driver.execute("ROLLBACK")
        except self._error as problem:
            self.close()
            raise Lost(error_text(problem)) from None

    def close(self) -> None:
        self.driver.close()

    # --- operations

    def begin(self, level: str) -> None:
        self.run(f"BEGIN ISOLATION LEVEL {level.upper()}")
        self._level = level
        self._absent.clear()
        self._empty.clear()

    def get(self, key: str) -> str | None:
        return self._one(f"SELECT v FROM {TABLE} WHERE k = %s", key)

    def get_for_update(self, key: str) -> str | None:
        return self._one(f"SELECT v FROM {TABLE} WHERE k = %s FOR UPDATE", key)

    def _one(self, statement: str, key: str) -> str | None:
        # If a key that is not unique has two rows, two sessions have inserted it: that is in the trace already, and
        # which of the rows is shown here matters no more, as long as it is always the same.
        rows = self.run(statement, key).fetchall()
        if not rows:
            self._absent.add(key)
        return min((row[0] for row in rows if row[0] is not None), default=None)

    def put(self, key: str, value: str) -> None:
        self._upsert(key, value, "{new}")

    def append(self, key: str, element: str) -> None:
        self._upsert(key, element, f"coalesce({TABLE}.v || ',', '') || {{new}}")

    def _upsert(self, key: str, value: str, change: str) -> None:
        insert = f"INSERT INTO {TABLE} VALUES (%s, %s)"
        if self._unique:
            update = change.format(new="excluded.v")
            self.run(f"{insert} ON CONFLICT (k) DO UPDATE SET v = {update}", key, value)
            return
        update = change.format(new="%s")
        # Whoever has looked inserts without looking again: a second look would hide what the first one missed.
        if (
            self._looked_in_vain(key)
            or not self.run(f"UPDATE {TABLE} SET v = {update} WHERE k = %s", value, key).rowcount
        ):
            self.run(insert, key, value)
            self._absent.discard(key)
            self._empty = [span for span in self._empty if not _within(key, span)]

    def _looked_in_vain(self, key: str) -> bool:
        return key in self._absent or any(_within(key, span) for span in self._empty)

    def delete(self, key: str) -> bool:
        keep = self._level != "serializable"
        what = f"UPDATE {TABLE} SET v = NULL" if keep else f"DELETE FROM {TABLE}"
        return bool(self.run(f"{what} WHERE k = %s AND v IS NOT NULL", key).rowcount)

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        found = list(self.run(*_select(lo, hi)).fetchall())
        if not found:
            self._empty.append((lo, hi))
        return found

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        self._iterators += 1
        cursor = f"boomslang_{self._iterators}"  # it ends with the transaction
        statement, *bounds = _select(lo, hi)
        self.run(f"DECLARE {cursor} NO SCROLL CURSOR FOR {statement}", *bounds)
        return self._fetch(cursor, (lo, hi))

    def _fetch(self, cursor: str, span: tuple[str | None, str | None]) -> Iterator[tuple[str, str]]:
        any_yet = False
        while rows := self.run(f"FETCH {BATCH} FROM {cursor}").fetchall():
            any_yet = True
            yield from rows
        if not any_yet:
            self._empty.append(span)


def _within(key: str, span: tuple[str | None, str | None]) -> bool:
    lo, hi = span
    return (lo is None or lo <= key) and (hi is None or key < hi)


def _select(lo: str | None, hi: str | None) -> tuple[str, ...]:
    bounds = [("k >= %s", lo), ("k < %s", hi)]
    where = " AND ".join(["v IS NOT NULL", *(text for text, bound in bounds if bound is not None)])
    return f"SELECT k, v FROM {TABLE} WHERE {where} ORDER BY k", *(b for _, b in bounds if b is not None)

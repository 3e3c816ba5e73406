"""FoundationDB, through its own Python package: `foundationdb`, or `foundationdb:/path/to/fdb.cluster`.

The package needs the client library libfdb_c, which comes with FoundationDB and not with pip. All keys are below one
prefix, and only what is below it is touched. A delete (`clear`) does not tell whether there was something.

Outcomes. Error 1021 of a commit says that nobody knows; only those that say "not committed" are aborts. Before the
commit a transaction lives in the client alone, so any error is an abort.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from boomslang.databases.database import Aborted, Connection, Database, DriverMissing, Lost, Offered
from boomslang.databases.server_database import import_driver

API = 710
PREFIX = b"boomslang/"
END = b"boomslang0"  # the byte after the slash
PATIENCE = 10_000
"""Milliseconds after which a transaction that has not ended is given up."""
NOT_COMMITTED = frozenset({1007, 1009, 1020, 1037, 1038, 1042, 1051, 1213, 2101})
"""Too old, a version of the future, a conflict, storage behind, locked, no memory, throttled (twice), too large: what
FoundationDB calls "retryable, not committed", and what it refuses to look at."""


class FoundationDB(Database):
    name = "foundationdb"
    title = "FoundationDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        "serializable": Offered("serializable", "sser", note="strictly: with real-time order")
    }
    default_level = "serializable"
    server_kind = None
    one_process = True
    """Its network runs in a thread, which a fork does not take along."""
    capabilities = frozenset({"iterator"})

    def __init__(self, argument: str = "") -> None:
        self._fdb = self.driver_must_be_there()
        self._database = self._fdb.open(argument or None)

    @classmethod
    def driver_must_be_there(cls) -> Any:
        fdb = import_driver("fdb", cls.title, "foundationdb")
        try:
            fdb.api_version(API)
        except Exception as problem:
            raise DriverMissing(
                f"FoundationDB's client library libfdb_c cannot be used ({problem}); install `foundationdb-clients` "
                "of your server's version, from its releases"
            ) from None
        return fdb

    def connect(self) -> FoundationDBConnection:
        return FoundationDBConnection(self._database, self._fdb.FDBError)

    def prepare(self, initial: Mapping[str, str]) -> None:
        connection = self.connect()
        connection.begin("serializable")
        connection.clear_all()
        for key, value in initial.items():
            connection.put(key, value)
        connection.commit()

    def version(self) -> str:
        return f"FoundationDB (client {self._fdb.__version__})"


class FoundationDBConnection(Connection):
    def __init__(self, database: Any, error: type[Exception]) -> None:
        self._database = database
        self._error = error
        self._transaction: Any = None

    def begin(self, level: str) -> None:
        self._transaction = self._database.create_transaction()
        self._transaction.options.set_timeout(PATIENCE)

    def get(self, key: str) -> str | None:
        try:
            found: bytes | None = self._transaction.get(PREFIX + key.encode()).value
        except self._error as problem:
            raise self._over(problem) from None
        return None if found is None else found.decode()

    def put(self, key: str, value: str) -> None:
        self._transaction.set(PREFIX + key.encode(), value.encode())

    def delete(self, key: str) -> None:
        self._transaction.clear(PREFIX + key.encode())

    def clear_all(self) -> None:
        self._transaction.clear_range(PREFIX, END)

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return list(self.iterator(lo, hi))

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        first = PREFIX + (lo or "").encode()
        end = END if hi is None else PREFIX + hi.encode()
        try:
            for pair in self._transaction.get_range(first, end):
                yield bytes(pair.key)[len(PREFIX) :].decode(), bytes(pair.value).decode()
        except self._error as problem:
            raise self._over(problem) from None

    def _over(self, problem: Exception) -> Aborted:
        self.abort()
        return Aborted(str(problem))

    def commit(self) -> None:
        try:
            self._transaction.commit().wait()
        except self._error as problem:
            self.abort()
            if getattr(problem, "code", None) in NOT_COMMITTED:
                raise Aborted(str(problem)) from None
            raise Lost(str(problem)) from None

    def abort(self) -> None:
        self._transaction.reset()

    def close(self) -> None:
        if self._transaction is not None:
            self._transaction.cancel()

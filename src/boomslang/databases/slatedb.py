"""SlateDB, a key-value store on object storage: snapshots, and conflicts that are found when a transaction commits.

`slatedb` keeps its objects in memory, `slatedb:folder` in a folder. At `snapshot` two that write the same key
conflict; at `serializable snapshot` also what was read, ranges too, must be as it was. Its interface is
asynchronous; a connection here has an event loop of its own and waits for each call.

Writes stay with the client until the commit, so an operation that failed has changed nothing. A commit is confirmed
when others can see it, and is durable a moment later.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine, Iterator, Mapping
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

from boomslang.databases.database import Aborted, Connection, Database, Failed, Lost, Offered
from boomslang.databases.embedded_files import Place, missing, split_argument

try:
    from slatedb import uniffi
except ImportError as error:
    raise missing("SlateDB", "slatedb", error) from error

T = TypeVar("T")
_LEVELS = {
    "snapshot": uniffi.IsolationLevel.SNAPSHOT,
    "serializable snapshot": uniffi.IsolationLevel.SERIALIZABLE_SNAPSHOT,
}


class SlateDBConnection(Connection):
    def __init__(self, database: uniffi.Db) -> None:
        self._database = database
        self._loop = asyncio.new_event_loop()
        self._transaction: uniffi.DbTransaction | None = None

    def begin(self, level: str) -> None:
        self._transaction = self._wait(self._database.begin(_LEVELS[level]))

    def get(self, key: str) -> str | None:
        value = self._wait(self._begun.get(key.encode()))
        return None if value is None else value.decode()

    def put(self, key: str, value: str) -> None:
        self._wait(self._begun.put(key.encode(), value.encode()))

    def delete(self, key: str) -> None:
        self._wait(self._begun.delete(key.encode()))

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return list(self.iterator(lo, hi))

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        start, end = None if lo is None else lo.encode(), None if hi is None else hi.encode()
        if start is not None and end is not None and start >= end:
            return iter(())  # SlateDB refuses a range without keys
        bounds = uniffi.KeyRange(start=start, start_inclusive=True, end=end, end_inclusive=False)
        return self._walk(self._wait(self._begun.scan(bounds)))

    def _walk(self, found: uniffi.DbIterator) -> Iterator[tuple[str, str]]:
        while (row := self._wait(found.next())) is not None:
            yield row.key.decode(), row.value.decode()

    def commit(self) -> None:
        transaction, self._transaction = self._begun, None
        try:
            self._loop.run_until_complete(transaction.commit())
        except uniffi.Error.Transaction as error:
            raise Aborted(error.message) from error
        except uniffi.Error as error:
            raise Lost(str(error)) from error

    def abort(self) -> None:
        transaction, self._transaction = self._transaction, None
        try:
            if transaction is not None:
                self._loop.run_until_complete(transaction.rollback())
        except uniffi.Error as error:
            raise Lost(str(error)) from error

    def close(self) -> None:
        self._transaction = None  # what it has written was never sent
        self._loop.close()

    @property
    def _begun(self) -> uniffi.DbTransaction:
        if self._transaction is None:
            raise Lost("there is no transaction")
        return self._transaction

    def _wait(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.run_until_complete(call)
        except uniffi.Error.Closed as error:
            raise Lost(error.message) from error
        except uniffi.Error as error:
            raise Failed(str(error)) from error


class SlateDB(Database):
    name = "slatedb"
    title = "SlateDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        "snapshot": Offered(
            "snapshot", "si", note="slatedb.io, Transactions: write-write conflicts are found"
        ),
        "serializable snapshot": Offered(
            "serializable snapshot",
            "ser",
            note="slatedb.io, Transactions: read-write conflicts are found too",
        ),
    }
    default_level = "serializable snapshot"
    one_process = True
    capabilities = frozenset({"iterator"})

    def __init__(self, argument: str = "") -> None:
        path, _ = split_argument(self.title, argument, {})
        self._place = Place(path, "slatedb") if path else None
        # Already to open it would shut out whoever has it open.
        self._release = None if self._place is None else self._place.claim(self.title)
        self._loop = asyncio.new_event_loop()
        try:
            self._database = self._open()
        except BaseException:
            self._let_go()
            raise

    def prepare(self, initial: Mapping[str, str]) -> None:
        self._shut()
        if self._place is not None:
            shutil.rmtree(self._place.path / "boomslang", ignore_errors=True)
        self._database = self._open()
        try:
            for key, value in initial.items():
                self._loop.run_until_complete(self._database.put(key.encode(), value.encode()))
        except uniffi.Error as error:
            raise Lost(str(error)) from error

    def connect(self) -> Connection:
        return SlateDBConnection(self._database)

    def version(self) -> str:
        return f"SlateDB {version('slatedb')}"

    def close(self) -> None:
        if not self._loop.is_closed():
            self._shut()
            self._loop.close()
            self._let_go()

    def _let_go(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()

    def _open(self) -> uniffi.Db:
        where, path = "memory:///", "boomslang"
        try:
            if self._place is not None:
                self._place.path.mkdir(parents=True, exist_ok=True)
                where, path = "file:///", str(self._place.path.resolve() / path).lstrip("/")
            store = uniffi.ObjectStore.resolve(where)
            return self._loop.run_until_complete(uniffi.DbBuilder(path, store).build())
        except (OSError, uniffi.Error) as error:
            self._loop.close()
            raise Lost(str(error)) from error

    def _shut(self) -> None:
        try:
            self._loop.run_until_complete(self._database.shutdown())
        except uniffi.Error as error:
            raise Lost(str(error)) from error

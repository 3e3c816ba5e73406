"""RocksDB's pessimistic transactions (TransactionDB): a write locks its key; a snapshot is had for the asking.

At `snapshot` a transaction reads from one, and a write or a locking read of a key that has changed since is
refused: snapshot isolation. At `no snapshot` each read sees the newest committed value and writes only lock: read
committed, where two may read a value and the second overwrites the first one's update. `get_for_update` locks what
it reads.

A lock that is not to be had (a time-out, a deadlock) and a key that has changed leave the transaction open.
`rocksdb:?timeout=0.1` says how many seconds a lock is waited for.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import ClassVar, TypeVar

from boomslang.databases.database import Connection, Database, DatabaseError, Failed, Lost, Offered
from boomslang.databases.embedded_files import Place, missing, seconds, split_argument

try:
    import pyrex
except ImportError as error:
    raise missing("RocksDB", "rocksdb", error) from error

T = TypeVar("T")
_REFUSED = (pyrex.RocksDBBusyError, pyrex.RocksDBTimeoutError, pyrex.RocksDBConflictError)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


class RocksDBConnection(Connection):
    def __init__(self, database: pyrex.TransactionDB) -> None:
        self._database = database
        self._transaction: pyrex.Transaction | None = None

    def begin(self, level: str) -> None:
        options = pyrex.TransactionOptions()
        options.set_snapshot = level == "snapshot"
        options.deadlock_detect = True
        try:
            self._transaction = self._database.begin_transaction(None, options)
        except pyrex.RocksDBException as error:
            raise Lost(str(error)) from error

    def get(self, key: str) -> str | None:
        return self._text(self._do(lambda t: t.get(key.encode())))

    def get_for_update(self, key: str) -> str | None:
        return self._text(self._do(lambda t: t.get_for_update(key.encode())))

    def put(self, key: str, value: str) -> None:
        self._do(lambda t: t.put(key.encode(), value.encode()))

    def delete(self, key: str) -> None:
        self._do(lambda t: t.delete(key.encode()))

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return list(self.iterator(lo, hi))

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        # Opened here and not when the first pair is taken: it reads from where it was opened.
        found = self._do(lambda t: t.new_iterator())
        self._do(lambda t: found.seek_to_first() if lo is None else found.seek(lo.encode()))
        return self._walk(found, _bytes(hi))

    def _walk(self, found: pyrex.PyTransactionIterator, hi: bytes | None) -> Iterator[tuple[str, str]]:
        while self._do(lambda t: found.valid()):
            key, value = self._do(lambda t: (found.key(), found.value()))
            if hi is not None and key >= hi:
                return
            yield key.decode(), value.decode()
            self._do(lambda t: found.next())
        self._do(lambda t: found.check_status())  # where it stopped for an error, it is not at its end

    def commit(self) -> None:
        self._do(lambda t: t.commit())
        self._transaction = None

    def abort(self) -> None:
        transaction, self._transaction = self._transaction, None
        try:
            if transaction is not None and transaction.is_active:
                transaction.rollback()
        except pyrex.RocksDBException as error:
            raise Lost(str(error)) from error

    def close(self) -> None:
        # Rolled back here and now: an iterator that somebody still holds would keep it, and its locks, alive.
        with suppress(Lost):
            self.abort()

    def _do(self, call: Callable[[pyrex.Transaction], T]) -> T:
        if self._transaction is None:
            raise Lost("there is no transaction")
        try:
            return call(self._transaction)
        except pyrex.RocksDBException as error:
            raise self._told(error) from error

    def _told(self, error: pyrex.RocksDBException) -> DatabaseError:
        # Anything but a lock or a change since the snapshot: at commit it may have been written or not.
        return Failed(str(error)) if isinstance(error, _REFUSED) else Lost(str(error))

    @staticmethod
    def _text(value: bytes | None) -> str | None:
        return None if value is None else value.decode()


class RocksDB(Database):
    name = "rocksdb"
    title = "RocksDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        "no snapshot": Offered(
            "no snapshot", "rc", note="reads see what is committed; writes lock their keys"
        ),
        "snapshot": Offered(
            "snapshot",
            "si",
            note="rocksdb/utilities/transaction.h, SetSnapshot: keys written have not changed since",
        ),
    }
    default_level = "snapshot"
    one_process = True
    capabilities = frozenset({"locking", "iterator"})

    def __init__(self, argument: str = "") -> None:
        path, options = split_argument(self.title, argument, {"timeout": "1"})
        self.timeout = seconds(self.title, "timeout", options["timeout"])
        self._place = Place(path, "rocksdb")
        self._folder = self._place.path / "boomslang"
        self._database = self._open()

    def prepare(self, initial: Mapping[str, str]) -> None:
        self._database.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._database = self._open()
        try:
            for key, value in initial.items():
                self._database.put(key.encode(), value.encode())
        except pyrex.RocksDBException as error:
            raise Lost(f"{self._folder}: {error}") from error

    def connect(self) -> Connection:
        return RocksDBConnection(self._database)

    def version(self) -> str:
        written = (line for path in self._folder.glob("OPTIONS-*") for line in path.read_text().splitlines())
        found = {line.strip().partition("=")[2] for line in written if "rocksdb_version" in line}
        return f"RocksDB {', '.join(sorted(found)) or '(unknown)'} (pyrex {pyrex.__version__})"

    def close(self) -> None:
        self._database.close()
        self._place.remove()

    def _open(self) -> pyrex.TransactionDB:
        options = pyrex.TransactionDBOptions()
        options.transaction_lock_timeout = round(self.timeout * 1000)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return pyrex.TransactionDB(str(self._folder), None, options)
        except (OSError, pyrex.RocksDBException) as error:
            raise Lost(f"{self._folder}: {error}") from error

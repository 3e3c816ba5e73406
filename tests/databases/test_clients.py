"""TiKV and FoundationDB, for which no server is to be had here: what their clients can be shown without one.

The adapters run against clients that we wrote, with the calls of the real ones over a dictionary: that shows which
calls are made and what their errors are taken for, and nothing about the databases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from support.servers import outcome

from boomslang.databases import Aborted, DriverMissing, Lost, find_database
from boomslang.databases.foundationdb import FoundationDBConnection
from boomslang.databases.tikv import conflicted
from boomslang.errors import UsageError
from boomslang.extras import how_to_install

MISSING = {
    "postgres": ("psycopg", "postgres"),
    "cockroachdb://h/d": ("psycopg", "postgres"),
    "mysql": ("pymysql", "mysql"),
    "mariadb": ("pymysql", "mysql"),
    "tidb://h/d": ("pymysql", "mysql"),
    "tikv://h": ("tikv_client", "tikv"),
    "foundationdb": ("fdb", "foundationdb"),
}


@pytest.mark.parametrize("spec", MISSING)
def test_a_driver_that_is_missing_is_named(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, extra = MISSING[spec]
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DriverMissing) as said:
        find_database(spec)
    assert how_to_install(extra) in str(said.value)


# --- TiKV


def test_tikv_needs_an_address() -> None:
    pytest.importorskip("tikv_client")
    with pytest.raises(UsageError, match="tikv://host:2379"):
        find_database("tikv")


def test_nobody_at_the_address_of_tikv_is_lost() -> None:
    pytest.importorskip("tikv_client")
    with find_database("tikv://127.0.0.1:1") as database:
        assert outcome(database.connect) is Lost


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ('[region.rs] KeyError(KeyError { locked: None, conflict: Some(WriteConflict { start_ts: 1 }) })', True),
        ("KeyError(KeyError { locked: None, retryable: '', conflict: None })", False),
        ("UndeterminedError(KeyError(KeyError { conflict: Some(WriteConflict {}) }))", False),
        ("gRPC api error: RpcFailure: 14-UNAVAILABLE", False),
    ],
)  # fmt: skip
def test_only_a_conflict_is_certain(text: str, certain: bool) -> None:
    assert conflicted(text) is certain


class FakeTiKV:
    """A client that keeps a dictionary; each name in `broken` is a call that fails, with a text."""

    data: dict[bytes, bytes]
    broken: dict[str, str]

    @classmethod
    async def connect(cls, endpoints: list[str]) -> FakeTiKV:
        assert endpoints == ["pd1:2379", "pd2:2379"]
        return cls()

    async def begin(self, pessimistic: bool = False) -> FakeTiKV:
        self.own: dict[bytes, bytes | None] = {}
        return self

    def _may(self, call: str) -> None:
        if call in self.broken:
            raise Exception(self.broken[call])

    async def get(self, key: bytes) -> bytes | None:
        self._may("get")
        return self.own.get(key, self.data.get(key))

    get_for_update = get

    async def put(self, key: bytes, value: bytes) -> None:
        self.own[key] = value

    async def delete(self, key: bytes) -> None:
        self.own[key] = None

    async def scan(self, start: bytes, end: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        both = {**self.data, **self.own}
        return [(k, v) for k, v in sorted(both.items()) if start <= k < end and v is not None][:limit]

    async def commit(self) -> None:
        self._may("commit")
        for key, value in self.own.items():
            self.data.pop(key, None)
            if value is not None:
                self.data[key] = value

    async def rollback(self) -> None:
        self._may("rollback")


@pytest.fixture
def tikv(monkeypatch: pytest.MonkeyPatch) -> Any:
    FakeTiKV.data, FakeTiKV.broken = {b"other": b"1"}, {}
    module = SimpleNamespace(TransactionClient=FakeTiKV)
    monkeypatch.setitem(sys.modules, "tikv_client", SimpleNamespace(asynchronous=module))
    monkeypatch.setitem(sys.modules, "tikv_client.asynchronous", module)
    return find_database("tikv://pd1:2379,pd2:2379")


def test_tikv_keeps_to_its_prefix(tikv: Any) -> None:
    tikv.prepare({f"k{i:03}": str(i) for i in range(600)})
    tikv.prepare({"a": "1", "b": "2", "é": "3"})
    assert set(FakeTiKV.data) == {b"other", b"boomslang/a", b"boomslang/b", "boomslang/é".encode()}
    c = tikv.connect()
    c.begin("pessimistic")
    assert c.get("a") == "1" and c.get_for_update("b") == "2" and c.get("c") is None
    c.put("c", "4")
    assert c.delete("a") is None
    assert c.scan(None, None) == [("b", "2"), ("c", "4"), ("é", "3")]
    assert c.scan("c", "d") == [("c", "4")]
    for i in range(20):
        c.put(f"k{i:02}", str(i))
    assert [key for key, _ in c.iterator("k", "l")] == [f"k{i:02}" for i in range(20)]
    c.abort()
    c.begin("optimistic")
    assert c.scan(None, None) == [("a", "1"), ("b", "2"), ("é", "3")]
    c.close()


@pytest.mark.parametrize(
    ("broken", "calls"),
    [
        ({"get": "timeout"}, [("get", Aborted)]),
        ({"get": "timeout", "rollback": "gone"}, [("get", Lost)]),
        ({"commit": "conflict: Some(WriteConflict {})"}, [("commit", Aborted)]),
        ({"commit": "timeout"}, [("commit", Lost)]),
    ],
)
def test_what_an_error_of_tikv_means(tikv: Any, broken: dict[str, str], calls: list[Any]) -> None:
    c = tikv.connect()
    c.begin("optimistic")
    FakeTiKV.broken = broken
    for call, expected in calls:
        assert outcome(getattr(c, call), *(["k"] if call == "get" else [])) is expected
    c.close()


# --- FoundationDB


def test_the_library_of_foundationdb_is_named() -> None:
    pytest.importorskip("fdb")
    try:
        find_database("foundationdb")
    except DriverMissing as said:
        assert "libfdb_c" in str(said)
    else:
        pytest.skip("libfdb_c is installed")


class FDBError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"error {code}")
        self.code = code


class FakeFoundationDB:
    """A database and its one transaction over a dictionary; `code` is the error of the next call that can fail."""

    def __init__(self) -> None:
        self.data: dict[bytes, bytes] = {b"other": b"1"}
        self.code = 0
        self.options = SimpleNamespace(set_timeout=lambda milliseconds: None)

    def create_transaction(self) -> FakeFoundationDB:
        self.own = dict(self.data)
        return self

    def _may(self) -> None:
        if self.code:
            raise FDBError(self.code)

    def get(self, key: bytes) -> Any:
        self._may()
        return SimpleNamespace(value=self.own.get(key))

    def set(self, key: bytes, value: bytes) -> None:
        self.own[key] = value

    def clear(self, key: bytes) -> None:
        self.own.pop(key, None)

    def clear_range(self, first: bytes, end: bytes) -> None:
        self.own = {k: v for k, v in self.own.items() if not first <= k < end}

    def get_range(self, first: bytes, end: bytes) -> Iterator[Any]:
        for key in sorted(self.own):
            if first <= key < end:
                self._may()
                yield SimpleNamespace(key=key, value=self.own[key])

    def commit(self) -> Any:
        self._may()
        self.data = dict(self.own)
        return SimpleNamespace(wait=lambda: None)

    def reset(self) -> None:
        self.own = dict(self.data)

    cancel = reset


def test_foundationdb_keeps_to_its_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    there = FakeFoundationDB()
    module = SimpleNamespace(
        api_version=lambda n: None, open=lambda file: there, FDBError=FDBError, __version__="7"
    )
    monkeypatch.setitem(sys.modules, "fdb", module)
    with find_database("foundationdb") as database:
        database.prepare({"old": "1"})
        database.prepare({"a": "1", "é": "2"})
        c = database.connect()
        c.begin("serializable")
        assert c.scan(None, None) == [("a", "1"), ("é", "2")] and list(c.iterator("b", None)) == [("é", "2")]
        assert c.get("a") == "1" and c.delete("a") is None and c.get("a") is None
        c.put("b", "3")
        c.commit()
        assert there.data == {b"other": b"1", b"boomslang/b": b"3", "boomslang/é".encode(): b"2"}
        c.close()


@pytest.mark.parametrize(
    ("code", "expected"), [(1020, Aborted), (1007, Aborted), (1021, Lost), (1031, Lost), (1039, Lost)]
)
def test_what_a_commit_of_foundationdb_may_say(code: int, expected: type) -> None:
    there = FakeFoundationDB()
    c = FoundationDBConnection(there, FDBError)
    c.begin("serializable")
    c.put("k", "1")
    there.code = code
    assert outcome(c.commit) is expected


def test_before_the_commit_an_error_of_foundationdb_is_an_abort() -> None:
    there = FakeFoundationDB()
    c = FoundationDBConnection(there, FDBError)
    for read in (lambda: c.get("k"), lambda: c.scan(None, None), lambda: list(c.iterator("k", None))):
        there.code = 0
        c.begin("serializable")
        c.put("k", "1")
        there.code = 1007
        assert outcome(read) is Aborted

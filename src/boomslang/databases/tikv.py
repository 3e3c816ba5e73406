"""TiKV, through tikv-client: `tikv://127.0.0.1:2379` is the address of its placement driver (several with commas).

All keys are below one prefix, and only what is below it is touched. A delete does not tell whether there was something.

Outcomes. The client has one kind of error, a text. Before the commit every error is made an abort by rolling back. Of
the commit's, only a write conflict is certain to have had no effect.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, ClassVar

from boomslang.databases.database import Aborted, Connection, Database, Lost, Offered
from boomslang.databases.server_database import BATCH, import_driver
from boomslang.errors import UsageError

PREFIX = b"boomslang/"
END = b"boomslang0"  # the byte after the slash
PAGE = 256
PATIENCE = 30.0
"""Seconds after which an operation that has not returned is given up, and its connection with it."""


def bounds(lo: str | None, hi: str | None) -> tuple[bytes, bytes]:
    """A range of keys as the store has it."""
    return PREFIX + (lo or "").encode(), END if hi is None else PREFIX + hi.encode()


def conflicted(text: str) -> bool:
    """Does the error of a commit say that another was first, and so that nothing was committed?"""
    return "conflict: Some(" in text and "Undetermined" not in text


class TiKV(Database):
    name = "tikv"
    title = "TiKV"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("optimistic", "si", note="conflicts show at the commit"),
            Offered(
                "pessimistic",
                "si",
                ("mariadb-repeatable-read",),
                note="writes lock; they and locking reads see the newest state",
            ),
        )
    }
    default_level = "optimistic"
    server_kind = None
    one_process = True
    capabilities = frozenset({"locking", "iterator"})

    def __init__(self, argument: str = "") -> None:
        self.driver_must_be_there()
        self.endpoints = [each for each in argument.removeprefix("tikv://").split(",") if each]
        if not self.endpoints:
            raise UsageError(
                "TiKV is not started here: give the address of one that runs, as tikv://host:2379"
            )

    @classmethod
    def driver_must_be_there(cls) -> Any:
        return import_driver("tikv_client.asynchronous", cls.title, "tikv")

    def connect(self) -> TiKVConnection:
        return TiKVConnection(self.endpoints)

    def prepare(self, initial: Mapping[str, str]) -> None:
        connection = self.connect()
        try:
            while True:
                connection.begin("optimistic")
                left = connection.page(*bounds(None, None), PAGE)
                for key, _ in left:
                    connection.delete(key)
                connection.commit()
                if len(left) < PAGE:
                    break
            connection.begin("optimistic")
            for key, value in initial.items():
                connection.put(key, value)
            connection.commit()
        finally:
            connection.close()

    def version(self) -> str:
        from importlib.metadata import version

        return f"TiKV (tikv-client {version('tikv-client')})"


class TiKVConnection(Connection):
    def __init__(self, endpoints: list[str]) -> None:
        self._loop = asyncio.new_event_loop()
        self._transaction: Any = None
        try:
            client = TiKV.driver_must_be_there().TransactionClient
            self._client = self._wait(client.connect(endpoints))
        except Exception as problem:
            self.close()
            raise Lost(str(problem)) from None

    def _wait(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(call, PATIENCE))

    def _do(self, call: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._wait(call)
        except Exception as problem:
            self.abort()
            raise Aborted(str(problem)) from None

    def begin(self, level: str) -> None:
        try:
            self._transaction = self._wait(self._client.begin(pessimistic=level == "pessimistic"))
        except Exception as problem:
            self.close()
            raise Lost(str(problem)) from None

    def get(self, key: str) -> str | None:
        found = self._do(self._transaction.get(PREFIX + key.encode()))
        return None if found is None else found.decode()

    def get_for_update(self, key: str) -> str | None:
        found = self._do(self._transaction.get_for_update(PREFIX + key.encode()))
        return None if found is None else found.decode()

    def put(self, key: str, value: str) -> None:
        self._do(self._transaction.put(PREFIX + key.encode(), value.encode()))

    def delete(self, key: str) -> None:
        self._do(self._transaction.delete(PREFIX + key.encode()))

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return list(self._pages(*bounds(lo, hi), PAGE))

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        return self._pages(*bounds(lo, hi), BATCH)

    def _pages(self, start: bytes, end: bytes, size: int) -> Iterator[tuple[str, str]]:
        while True:
            page = self.page(start, end, size)
            yield from page
            if len(page) < size:
                return
            start = PREFIX + page[-1][0].encode() + b"\0"

    def page(self, start: bytes, end: bytes, size: int) -> list[tuple[str, str]]:
        rows = self._do(self._transaction.scan(start, end, size))
        return [(key[len(PREFIX) :].decode(), value.decode()) for key, value in rows]

    def commit(self) -> None:
        try:
            self._wait(self._transaction.commit())
        except Exception as problem:
            text = str(problem)
            if conflicted(text):
                with contextlib.suppress(Exception):  # it is over, whatever the client says to this
                    self._wait(self._transaction.rollback())
                self._transaction = None
                raise Aborted(text) from None
            self.close()
            raise Lost(text) from None
        self._transaction = None

    def abort(self) -> None:
        try:
            self._wait(self._transaction.rollback())
        except Exception as problem:
            self.close()
            raise Lost(str(problem)) from None
        finally:
            self._transaction = None

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.close()

"""A database in memory for tests: right, or broken on purpose, and as unlucky as a test wants it.

At `serializable` one transaction runs at a time. At `broken` transactions read what was committed last and write when
they commit, so they lose each other's updates, while the store calls that serializable. Its argument says what commits
meet: each nth is aborted, or the connection is lost with it, every other time after the commit took effect; `slow=1`
makes each take a millisecond, so that a test's faults find somebody at work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import ClassVar

from boomslang.databases.database import Aborted, Connection, Database, Lost, Offered


class MemoryServer:
    """What a test kills and starts again."""

    def __init__(self) -> None:
        self.up = True
        self.kills = 0

    def kill(self) -> None:
        self.up = False
        self.kills += 1

    def restart(self) -> None:
        self.up = True


class Memory(Database):
    name = "memory"
    title = "the test store"
    levels: ClassVar[Mapping[str, Offered]] = {
        "broken": Offered("broken", "ser", note="a lie"),
        "serializable": Offered("serializable", "ser"),
    }
    default_level = "serializable"
    one_process = True
    capabilities = frozenset({"iterator", "locking", "append"})

    def __init__(self, argument: str = "") -> None:
        self.committed: dict[str, str] = {}
        self.lock = threading.Lock()
        self.turn = threading.Lock()
        """Held by the one transaction that runs, at serializable."""
        self.commits = 0
        self.abort_each = self.lose_each = self.slow_each = 0
        self.server: MemoryServer | None = None
        self.connections = 0
        for word in filter(None, argument.split(",")):
            kind, _, n = word.partition("=")
            if kind == "server":
                self.server = MemoryServer()
            else:
                setattr(self, f"{kind}_each", int(n))

    def prepare(self, initial: Mapping[str, str]) -> None:
        self.committed = dict(initial)
        self.turn = threading.Lock()

    def connect(self) -> MemoryConnection:
        if self.server is not None and not self.server.up:
            raise Lost("connection refused")
        self.connections += 1
        return MemoryConnection(self)

    def version(self) -> str:
        return "memory 1"


class MemoryConnection(Connection):
    def __init__(self, store: Memory) -> None:
        self.store = store
        self.kills = 0 if store.server is None else store.server.kills
        self.writes: dict[str, str | None] | None = None
        self.serial = self.gone = False

    def begin(self, level: str) -> None:
        self._alive()
        self.serial = level == "serializable"
        if self.serial:
            while not self.store.turn.acquire(timeout=0.05):
                self._alive()
        self.writes = {}

    def get(self, key: str) -> str | None:
        self._alive()
        assert self.writes is not None
        if not self.serial:
            time.sleep(0)  # let others in
        return self.writes[key] if key in self.writes else self.store.committed.get(key)

    get_for_update = get

    def put(self, key: str, value: str) -> None:
        self._alive()
        assert self.writes is not None
        self.writes[key] = value

    def delete(self, key: str) -> bool | None:
        found = self.get(key) is not None
        if found:
            assert self.writes is not None
            self.writes[key] = None
        return found

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        self._alive()
        assert self.writes is not None
        with self.store.lock:
            seen = {**self.store.committed, **self.writes}
        inside = [k for k in seen if (lo is None or k >= lo) and (hi is None or k < hi)]
        return [(k, v) for k in sorted(inside) if (v := seen[k]) is not None]

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        return iter(self.scan(lo, hi))

    def append(self, key: str, element: str) -> None:
        held = self.get(key)
        self.put(key, element if held is None else f"{held},{element}")

    def commit(self) -> None:
        self._alive()
        store = self.store
        with store.lock:
            store.commits += 1
            number = store.commits
        if store.abort_each and number % store.abort_each == 0:
            self._end()
            raise Aborted("unlucky")
        time.sleep(store.slow_each / 1000)
        lost = store.lose_each and number % store.lose_each == 0
        if not lost or number % (2 * store.lose_each) == 0:
            self._apply()
        self._end()
        if lost:
            self.gone = True
            raise Lost("the connection broke")

    def abort(self) -> None:
        self._end()

    def cut(self) -> None:
        self.gone = True

    def close(self) -> None:
        self.gone = True
        self._end()

    def _apply(self) -> None:
        assert self.writes is not None
        if not self.serial:
            time.sleep(0.001)
        with self.store.lock:
            for key, value in self.writes.items():
                if value is None:
                    self.store.committed.pop(key, None)
                else:
                    self.store.committed[key] = value

    def _end(self) -> None:
        if self.writes is not None and self.serial:
            self.store.turn.release()
        self.writes = None

    def _alive(self) -> None:
        server = self.store.server
        if self.gone or (server is not None and (not server.up or server.kills != self.kills)):
            self._end()
            raise Lost("the connection is gone")

"""Short random load on a real database: sessions in threads, each with its own random transactions, all of it recorded.

A transaction is given up when the database aborts it or an operation fails, and the session goes on with the next: so a
run ends, whatever the database does. Sessions pause now and then between operations, or they would seldom overlap.
"""

from __future__ import annotations

import random
import threading
import time
from itertools import islice
from pathlib import Path

from boomslang import Trace, read_trace
from boomslang.databases import Aborted, Database, Failed, Lost
from boomslang.record import Recorded, Tracer

MIX = {"get": 30, "put": 15, "update": 25, "delete": 5, "scan": 10, "iterator": 10}
LOCKED = {"locked get": 40, "locked update": 60}


class _Client:
    """One session: what it does is decided by its seed."""

    def __init__(self, name: str, seed: int, keys: int, mix: dict[str, int]) -> None:
        self.name = name
        self.random = random.Random(f"{seed} {name}")
        self.keys = [f"k{i:02}" for i in range(keys)]
        self.kinds, self.weights = list(mix), list(mix.values())
        self.written = 0
        self.committed = 0

    def transaction(self, c: Recorded, level: str) -> None:
        c.begin(level)
        for _ in range(self.random.randint(1, 5)):
            self.operation(c, self.random.choices(self.kinds, self.weights)[0])
            if self.random.random() < 0.3:
                time.sleep(self.random.random() / 2000)
        c.commit()
        self.committed += 1

    def operation(self, c: Recorded, kind: str) -> None:
        key = self.random.choice(self.keys)
        lo, hi = sorted(self.random.sample(self.keys, 2))
        if kind == "get":
            c.get(key)
        elif kind == "put":
            c.put(key, self.value())
        elif kind == "update":
            c.get(key)
            c.put(key, self.value())
        elif kind == "locked get":
            c.get_for_update(key)
        elif kind == "locked update":
            c.get_for_update(key)
            c.put(key, self.value())
        elif kind == "delete":
            c.delete(key)
        elif kind == "scan":
            c.scan(lo, hi)
        else:
            list(islice(c.iterator(lo, None), self.random.randint(1, 3)))

    def value(self) -> str:
        self.written += 1
        return f"{self.name}.{self.written}"


def run(
    database: Database,
    level: str,
    folder: Path,
    *,
    sessions: int = 4,
    transactions: int = 60,
    keys: int = 8,
    seed: int = 1,
    mix: dict[str, int] = MIX,
) -> tuple[Trace, int]:
    """The trace of a run, and how many transactions were committed."""
    initial = {f"k{i:02}": f"initial.{i}" for i in range(0, keys, 2)}
    database.prepare(initial)
    tracer = Tracer(folder, initial=initial)
    clients = [_Client(f"s{i}", seed, keys, mix) for i in range(sessions)]
    broke: list[BaseException] = []

    def work(client: _Client) -> None:
        try:
            c = Recorded(database.connect(), tracer.session(client.name))
            for _ in range(transactions):
                try:
                    client.transaction(c, level)
                    continue
                except Aborted:
                    pass
                except Failed:
                    c.abort()
                except Lost:
                    break
                time.sleep(client.random.random() / 200)  # let those go first who have what we want
            c.close()
        except BaseException as error:
            broke.append(error)

    threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a session never came back"
    if broke:
        raise broke[0]
    return read_trace(folder), sum(client.committed for client in clients)

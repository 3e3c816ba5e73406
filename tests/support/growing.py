"""A database that is recorded while a test looks on: clients of a small multi-version store, one operation at a time.

It keeps snapshot isolation (the first committer wins), or is `careless` and lets both commit. Clients take turns by
chance, so their transactions overlap, and the recorder is the real one: files grow as they do beside a real database.
"""

from __future__ import annotations

import random
from pathlib import Path

from boomslang.record import Tracer
from boomslang.record.session import Session
from boomslang.trace.scalars import Absent


class Client:
    def __init__(self, store: Store, session: Session) -> None:
        self.store, self.session = store, session
        self.seen: dict[str, int] | None = None
        self.writes: dict[str, int] = {}
        self.began = self.left = 0

    def step(self) -> None:
        store, rng = self.store, self.store.random
        if self.seen is None:
            self.session.log_input("begin")
            self.seen, self.writes = dict(store.state), {}
            self.began, self.left = store.commits, rng.randint(1, 4)
            self.session.log_output()
        elif self.left:
            self.left -= 1
            key = f"k{rng.randrange(store.keys)}"
            if rng.random() < 0.5:
                self.get(key)
            else:
                self.put(key)
        else:
            self.commit()

    def get(self, key: str) -> None:
        assert self.seen is not None
        self.session.log_input("get", (key,))
        self.session.log_output({**self.seen, **self.writes}.get(key, Absent))

    def put(self, key: str) -> None:
        value = self.store.fresh()
        self.session.log_input("put", (key, value))
        self.writes[key] = value
        self.session.log_output()

    def commit(self) -> None:
        store = self.store
        clash = any(store.written.get(key, 0) > self.began for key in self.writes)
        if clash and not store.careless:
            self.session.log_input("abort")
        else:
            self.session.log_input("commit")
            store.commits += 1
            store.state.update(self.writes)
            store.written.update(dict.fromkeys(self.writes, store.commits))
        self.session.log_output()
        self.seen = None


class Store:
    """The clients of one trace, in `folder`."""

    def __init__(
        self,
        folder: Path,
        *,
        clients: int = 4,
        keys: int = 20,
        seed: int = 0,
        careless: bool = False,
        values: int = 0,
        rotate: float | None = None,
    ) -> None:
        """`values`: so many different ones are written, again and again; 0: each is new."""
        self.random, self.keys, self.careless = random.Random(seed), keys, careless
        self.state: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.commits = self.written_values = 0
        self.values = values
        self.tracer = Tracer(folder, rotate=rotate)
        self.clients = [Client(self, self.tracer.session(f"c{n + 1}")) for n in range(clients)]

    def fresh(self) -> int:
        self.written_values += 1
        return self.random.randrange(self.values) if self.values else self.written_values

    def run(self, steps: int, clients: list[Client] | None = None) -> None:
        for _ in range(steps):
            self.random.choice(clients or self.clients).step()

    def settle(self) -> None:
        """Every open transaction comes to its end."""
        for client in self.clients:
            while client.seen is not None:
                client.step()

    def lose_an_update(self) -> None:
        """Two clients read a key, and both write it."""
        self.settle()
        a, b = self.clients[:2]
        for client in (a, b):
            client.step()
            client.left = 0
            client.get("k0")
        careless, self.careless = self.careless, True
        for client in (a, b):
            client.put("k0")
            client.commit()
        self.careless = careless

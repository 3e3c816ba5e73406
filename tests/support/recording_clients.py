"""Programs that record themselves and come to a bad end: started, killed and starved by test_record_crashes.py.

Each is a process of its own: `python recording_clients.py WHAT FOLDER DATABASE ...`. The database is SQLite, which is
strictly serializable with BEGIN IMMEDIATE: what these clients record has to be so too, however they ended.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable

from boomslang.databases.database import Connection, Failed
from boomslang.record import Recorded, RecordingFailed, Tracer


class Store(Connection):
    """A table of pairs. `before` and `after` are called around what each COMMIT, or each put, does; `before` also ahead
    of each BEGIN."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=20)
        self._db.execute("PRAGMA synchronous = OFF")  # no machine fails here
        self._db.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID")
        self.before: Callable[[str], None] = lambda op: None
        self.after: Callable[[str], None] = lambda op: None

    def begin(self, level: str) -> None:
        self.before("begin")
        self._db.execute("BEGIN IMMEDIATE")

    def get(self, key: str) -> str | None:
        row = self._db.execute("SELECT v FROM kv WHERE k = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: str, value: str) -> None:
        self.before("put")
        self._db.execute(
            "INSERT INTO kv VALUES (?, ?) ON CONFLICT DO UPDATE SET v = excluded.v", (key, value)
        )
        self.after("put")

    def delete(self, key: str) -> bool | None:
        return self._db.execute("DELETE FROM kv WHERE k = ?", (key,)).rowcount > 0

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return self._db.execute("SELECT k, v FROM kv ORDER BY k").fetchall()

    def commit(self) -> None:
        self.before("commit")
        try:
            self._db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise Failed(str(error)) from error
        self.after("commit")

    def abort(self) -> None:
        self._db.execute("ROLLBACK")

    def close(self) -> None:
        self._db.close()


def work(c: Recorded, name: str, rng: random.Random, transactions: int) -> None:
    """Unique values, read and written; now and then one changes its mind."""
    for n in range(transactions):
        c.begin("serializable")
        for m in range(rng.randint(1, 4)):
            key = f"k{rng.randrange(8)}"
            match rng.randrange(4):
                case 0:
                    c.get(key)
                case 1:
                    c.delete(key)
                case _:
                    c.put(key, f"{name}-{n}-{m}")
        if rng.random() < 0.1:
            c.abort()
        else:
            c.commit()


def client(folder: str, database: str, name: str, transactions: int) -> None:
    tracer = Tracer.join(folder)
    with tracer.session(name) as session:
        c = Recorded(Store(database), session)
        print("ready", flush=True)
        work(c, name, random.Random(name), transactions)


def killed(folder: str, database: str, when: str, op: str) -> None:
    """Writes x, and dies just before or just after the database has done `op`; alone: not in a transaction."""
    tracer = Tracer.join(folder)
    store = Store(database)
    setattr(store, when, lambda done: os.kill(os.getpid(), signal.SIGKILL) if done == op else None)
    if op == "put":
        tracer.traced("put")(store.put)("x", "1")
    c = Recorded(store, tracer.session("killed"))
    c.begin("serializable")
    c.put("x", "1")
    c.commit()


def starved(folder: str, database: str, op: str = "") -> None:
    """Goes on until its disk is full, in the middle of a transaction; or, if `op` is given, until the record of one
    such operation finds room for no more than its first ten bytes.

    Times have as many digits as the machine has been up for, so where a given size cuts a trace is a matter of luck.
    """
    session = Tracer.join(folder).session("starved")
    store = Store(database)
    c = Recorded(store, session)

    def no_more_room(doing: str) -> None:
        if doing == op:
            limit = session.path.stat().st_size + 10
            print("limit", limit, flush=True)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    work(c, "starved", random.Random(op), 60)
    store.before = no_more_room
    try:
        if op:
            work(c, "starving", random.Random(op), 60)
        c.begin("serializable")
        for n in range(10**6):
            c.put("k1", f"last-{n}")
    except RecordingFailed as failed:
        print(failed)
    for attempt in (c.commit, lambda: c.put("k1", "never"), lambda: c.begin("any")):
        try:
            attempt()
        except RecordingFailed:
            print("refused")
    if store._db.in_transaction:
        c.abort()


def parallel(folder: str, database: str, method: str) -> None:
    """Two processes that got the tracer from this one, and this one too, all at once."""
    tracer = Tracer.join(folder)
    tracer.current()  # one that children must not go on using
    context = multiprocessing.get_context(method)
    children = [
        context.Process(target=child, args=(tracer, database, f"{method}-{n}", inherited))
        for n, inherited in enumerate([tracer.session("parent") if method == "fork" else None, None])
    ]
    for process in children:
        process.start()
    work(Recorded(Store(database), tracer.current()), "parent", random.Random(3), 60)
    for process in children:
        process.join()
        assert process.exitcode == 0


def child(tracer: Tracer, database: str, name: str, inherited: object) -> None:
    if inherited is not None:
        try:
            inherited.log("begin")  # type: ignore[attr-defined]
        except ValueError as error:
            assert "forked" in str(error)
        else:
            raise AssertionError("a session of two processes")
    work(Recorded(Store(database), tracer.current()), name, random.Random(name), 60)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "client":
        client(rest[0], rest[1], rest[2], int(rest[3]))
    else:
        {"killed": killed, "starved": starved, "parallel": parallel}[what](*rest)

"""Servers for tests: one a test file, or a word on why there is none; and what a script is expected to lead to.

What is expected of a script is one of four things: the anomaly `happens`; it is `harmless` (all commit and nothing
comes of it); somebody `waits` for a lock and all commit; somebody `aborts`. Who it is may be the database's choice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from boomslang import check, read_trace
from boomslang.databases import (
    Aborted,
    Connection,
    Database,
    DatabaseError,
    DriverMissing,
    Failed,
    Lost,
    find_database,
)
from boomslang.databases.server_database import Served
from boomslang.databases.servers import ServerMissing, start_server
from boomslang.record import Recorded, Tracer
from support.interleavings import SCRIPTS, Played, play


def opened(spec: str) -> Iterator[Served]:
    """The body of a fixture: a database with a server of its own."""
    try:
        database = find_database(spec)
    except (ServerMissing, DriverMissing) as problem:
        pytest.skip(str(problem))
    assert isinstance(database, Served) and database.server is not None
    with database:
        yield database


def matches(played: Played, expected: str) -> bool:
    if expected == "happens":
        return played.happened
    waited = any(result.waited for result in played.results)
    if played.happened or (played.not_committed() != []) != (expected == "aborts"):
        return False
    return waited if expected == "waits" else True


def see(database: Database, name: str, level: str, expected: str, folder: Path) -> Played:
    """Plays a script: it must lead to what is expected, and the level must keep its promise."""
    offered = database.level(level)
    # On a busy machine a step may seem to wait that is only slow; then it is played again, with more patience.
    for patience in (0.25, 1.0, 4.0):
        played = play(database, SCRIPTS[name], level, folder / str(patience), patience=patience)
        assert played.holds(offered.promises, modules=list(offered.modules)), str(played)
        if matches(played, expected):
            return played
    raise AssertionError(f"expected: {expected}; found: {played.summary}\n{played}")


def scripts(expected: dict[str, dict[str, str]], quick: dict[str, set[str]] | None = None) -> list[Any]:
    """Parameters (level, script, expected); those that are not among the quick ones are for `make test-full`."""
    return [
        pytest.param(
            level,
            name,
            result,
            id=f"{level}-{name}",
            marks=() if quick is None or name in quick.get(level, set()) else pytest.mark.full,
        )
        for level, results in expected.items()
        for name, result in results.items()
    ]


@contextmanager
def connected(database: Database) -> Iterator[Any]:
    connection = database.connect()
    try:
        yield connection
    finally:
        connection.close()


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns, or the kind of its error."""
    try:
        return call(*arguments)
    except DatabaseError as error:
        return type(error)


class Later:
    """A call in a thread of its own, which may have to wait."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(target=lambda: self._found.append(outcome(call, *arguments)))
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(30)
        assert self._found, "it never came back"
        return self._found[0]


def is_byte_for_byte(database: Database) -> None:
    """Keys are ordered by their bytes, and what differs in a byte differs."""
    keys = sorted(["", "A", "B", "a", "a ", "z", "~", "é", "日本", "ﬀ", "\U0001f600"], key=str.encode)
    database.prepare({key: f"{key}=" for key in keys[::2]})
    with connected(database) as c:
        c.begin(database.default_level)
        for key in keys[1::2]:
            c.put(key, f"{key}=")
        assert c.scan(None, None) == [(key, f"{key}=") for key in keys]
        assert [key for key, _ in c.scan("a", "é")] == ["a", "a ", "z", "~"]
        assert [key for key, _ in c.scan("é", None)] == ["é", "日本", "ﬀ", "\U0001f600"]
        assert c.scan(None, "A") == c.scan("", "A") == [("", "=")]
        assert c.get("a") == "a=" and c.get("a ") == "a =" and c.get("e") is None
        assert [c.delete("a"), c.delete("a"), c.delete("nothing")] == [True, False, False]
        assert c.get("a") is None and c.get("a ") == "a ="
        c.commit()


def iterates(database: Database) -> None:
    """An iterator gives what a scan gives, and two may be open at a time, with writes in between."""
    database.prepare({f"k{i:02}": str(i) for i in range(40)})
    with connected(database) as c:
        for level in database.levels:
            c.begin(level)
            assert list(c.iterator("k05", "k31")) == c.scan("k05", "k31")
            assert list(c.iterator(None, None)) == c.scan(None, None)
            assert list(c.iterator("x", None)) == []
            one, two = c.iterator("k", None), c.iterator("k1", None)
            assert [next(one), next(two), next(one)] == [("k00", "0"), ("k10", "10"), ("k01", "1")]
            c.put("k39", "new")
            assert len(list(one)) == 38 and len(list(two)) == 29
            assert c.get("k39") == "new"
            c.abort()


def appends(database: Database) -> None:
    database.prepare({})
    with connected(database) as c:
        for level in database.levels:
            c.begin(level)
            c.append("l", "1")
            c.append("l", "2")
            assert c.get("l") == "1,2" and c.delete("l") and c.get("l") is None
            c.append("l", "3")
            assert c.get("l") == "3"
            c.delete("l")
            c.commit()


def deadlock(a: Connection, b: Connection, level: str) -> None:
    """Two who wait for each other, with x and y: one is aborted, all of it, and the other gets what it waits for."""
    for c, key in ((a, "x"), (b, "y")):
        c.begin(level)
        c.put(key, "mine")
    waiting = Later(a.put, "y", "a")
    time.sleep(0.1)
    found = [outcome(b.put, "x", "b"), waiting.result()]
    assert found in ([Aborted, None], [None, Aborted])
    winner, loser = (a, b) if found[0] is Aborted else (b, a)
    winner.commit()
    loser.begin(level)
    assert {value for _, value in loser.scan(None, None)} == {"mine", "a" if winner is a else "b"}


def survives_a_crash(database: Served, folder: Path, *, crashes: int = 2) -> None:
    """Kills the server, all its processes at once, while clients commit. What was confirmed is there afterwards, what
    was refused is not, and what nobody knows is called unknown; and the trace, read afterwards, keeps the promise."""
    server = database.server
    assert server is not None
    database.prepare({"shared": "0"})
    tracer = Tracer(folder, initial={"shared": "0"})
    level = database.level(None)
    known: dict[str, str] = {}
    stop = threading.Event()
    broke: list[BaseException] = []

    def reconnected() -> Connection:
        while True:
            try:
                return database.connect()
            except Lost:
                if stop.wait(0.02):
                    raise

    def work(client: int) -> None:
        number, life = 0, 0
        while not stop.is_set():
            try:
                c = Recorded(reconnected(), tracer.session(f"s{client}.{life}"))
            except Lost:
                return
            life += 1
            try:
                while not stop.is_set():
                    number += 1
                    key, phase = f"{client}.{number}", "before"
                    try:
                        c.begin(level.name)
                        seen = c.get("shared")
                        c.put(key, f"{key} saw {seen}")
                        if number % 3 == 0:
                            c.put("shared", key)
                        phase = "commit"
                        c.commit()
                        known[key] = "committed"
                    except Aborted:
                        known[key] = "aborted"
                    except Failed:
                        known[key] = "aborted"
                        c.abort()
                    except Lost:
                        known[key] = "unknown" if phase == "commit" else "aborted"
                        break
            except BaseException as error:
                broke.append(error)
                return
            finally:
                c.close()

    threads = [threading.Thread(target=work, args=(client,)) for client in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(crashes):
            before = len(known)
            while len(known) < before + 100 and not broke:
                stop.wait(0.01)
            server.kill()
            assert not server.running
            server.restart()
        before = len(known)
        while len(known) < before + 50 and not broke:
            stop.wait(0.01)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    if broke:
        raise broke[0]
    reader = Recorded(database.connect(), tracer.session("afterwards"))
    reader.begin(level.name)
    there = {key for key, _ in reader.scan(None, None)} - {"shared"}
    reader.commit()
    reader.close()
    for key, end in known.items():
        if end != "unknown":
            assert (key in there) == (end == "committed"), (key, end)
    assert there <= known.keys()
    assert "committed" in known.values()
    verdict = check(read_trace(folder), level.promises, modules=list(level.modules))
    assert verdict.valid, verdict.counterexample and verdict.counterexample.lines()


@contextmanager
def server_or_skip(kind: str) -> Iterator[Any]:
    """A server that is reached by its address, as somebody else's."""
    try:
        server = start_server(kind)
    except ServerMissing as problem:
        pytest.skip(str(problem))
    with server:
        yield server

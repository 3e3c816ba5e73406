"""The proxy when things go wrong: bytes that make no sense, a thousand connections, kill -9 during a commit."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.damage import damaged
from support.recorded_sql import started
from support.wire import PROGRAM, prepare, proxied, run_with_psycopg, told

from boomslang import check, read_trace
from boomslang.errors import UsageError
from boomslang.record import Tracer, trace_connection
from boomslang.record.wire import engine
from boomslang.record.wire.postgres.messages import HELD, Frames, message
from boomslang.record.wire.postgres.transport import CANCEL
from boomslang.record.wire.postgres.watcher import PostgresWatcher
from boomslang.record.wire.recovery import recover
from boomslang.record.wire.relay import Malformed
from boomslang.trace import Outcome

Said = list[tuple[str, bytes]]


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


def through(server: Any, port: int) -> str:
    return str(server.dsn).replace(f":{server.port}/", f":{port}/")


def address(server: Any) -> str:
    return f"postgres://127.0.0.1:{server.port}"


# --- streams


class NoWire:
    """In place of a connection: what was said is played to a watcher, and nobody listens."""

    def to_client(self, data: bytes) -> None: ...

    def to_server(self, data: bytes) -> None: ...

    def hold_client(self) -> None: ...

    def go_on_with_client(self) -> None: ...

    def broke(self, error: Exception) -> None:
        raise error

    forwarded = False
    buffered = False

    def clock(self) -> int:
        return time.monotonic_ns()

    def later(self, call: Callable[[], None]) -> None:
        call()

    def know(self, kind: bytes, text: bytes) -> None: ...

    def begin_odd(self) -> None: ...

    def end_odd(self) -> None: ...


@pytest.fixture(scope="module")
def said(server: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Said, Path]:
    """What a client and the server said to each other, and the trace of it."""
    prepare(server.dsn)
    heard: Said = []
    plain = {name: getattr(PostgresWatcher, name) for name in ("from_client", "from_server")}

    def hears(name: str) -> Callable[[Any, bytes], None]:
        def method(self: Any, data: bytes) -> None:
            heard.append((name, bytes(data)))
            plain[name](self, data)

        return method

    folder = tmp_path_factory.mktemp("said") / "t"
    with pytest.MonkeyPatch.context() as patch:
        for name in plain:
            patch.setattr(PostgresWatcher, name, hears(name))
        with proxied(address(server), folder) as (port, wrong):
            with psycopg.connect(through(server, port), autocommit=True) as c:
                run_with_psycopg(c, PROGRAM)
                with c.pipeline():
                    run_with_psycopg(c, [one for one in PROGRAM[:12] if not one["fails"]])
            assert not wrong
    return heard, folder


def play(said: Said, folder: Path) -> Exception | None:
    """Plays it; returns what the watcher raised, which ends the connection."""
    watcher = PostgresWatcher(NoWire(), Tracer(folder))  # type: ignore[arg-type]
    raised = None
    for name, data in said:
        try:
            getattr(watcher, name)(data)
        except (Malformed, UsageError) as error:
            raised = error
            break
    watcher.gone("proxy" if raised else "client")
    return raised


def test_bytes_may_come_in_any_pieces(said: tuple[Said, Path], tmp_path: Path) -> None:
    heard, folder = said
    expected = told(folder)
    for seed in range(4):
        rng = random.Random(seed)
        largest = rng.choice([1, 3, 17, 1000])
        pieces: Said = []
        for name, data in heard:
            at = 0
            while at < len(data):
                size = rng.randint(1, largest)
                pieces.append((name, data[at : at + size]))
                at += size
        assert play(pieces, tmp_path / str(seed)) is None
        # Who hears a Sync later than its Execute takes what is alone for the first of several: then statements that
        # neither read nor write are transactions without operations.
        assert without_empty(told(tmp_path / str(seed))) == without_empty(expected)


def without_empty(records: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for record in records:
        if record["op"] in ("commit", "abort") and kept and kept[-1]["op"] == "begin":
            kept.pop()
        else:
            kept.append(record)
    return kept


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(n, marks=pytest.mark.full) for n in range(60, 3000))]
)
def test_bytes_that_make_no_sense(said: tuple[Said, Path], tmp_path: Path, seed: int) -> None:
    """Nothing but a refusal comes of them; and what is in the trace can be read, up to a transaction in doubt."""
    rng = random.Random(seed)
    spoilt = list(said[0])
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(spoilt))
        name, data = spoilt[at]
        spoilt[at] = (name, damaged(data, rng))
    play(spoilt, tmp_path / "t")
    read_trace(tmp_path / "t")


def test_nonsense_from_a_client_harms_nobody_else(server: Any, tmp_path: Path) -> None:
    prepare(server.dsn)
    rng = random.Random(1)
    with (
        proxied(address(server), tmp_path / "t") as (port, _),
        psycopg.connect(through(server, port), autocommit=True) as c,
    ):
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(rng.randbytes(rng.randint(1, 5000)))
            c.execute("UPDATE items SET stock = 5 WHERE id = 1")
    assert sum(record.get("key") == "items[1].stock" for record in told(tmp_path / "t")) == 31


def test_a_large_message_is_not_held_however_it_comes() -> None:
    """Its spool has only zeros in its place, and what is understood must not hang on how its bytes were cut."""
    small, large = message(b"Q", b"x\0"), message(b"B", bytes(HELD))
    for size in (len(large) * 2, 60_000):
        frames, found = Frames(), []
        data = small + large + small
        for at in range(0, len(data), size):
            found += [(chr(one.letter), one.end >= 0) for one in frames.messages(data[at : at + size])]
        assert found == [("Q", True), ("B", False), ("Q", True)] and frames.at_start


def test_large_messages_go_by(server: Any, tmp_path: Path) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS pages")
        c.execute("CREATE TABLE pages (id int PRIMARY KEY, words text)")
    large = "x" * 5_000_000
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            c.execute("INSERT INTO pages VALUES (%s, %s)", (1, large))
            assert c.execute("SELECT length(words) FROM pages WHERE id = 1").fetchone() == (len(large),)
            assert c.execute("SELECT words FROM pages WHERE id = %s", (1,)).fetchone() == (large,)
            c.execute(f"INSERT INTO pages VALUES (2, '{large}')")
            c.execute("DELETE FROM pages WHERE id = 1")
        assert not wrong
    assert sum(path.stat().st_size for path in (tmp_path / "t").iterdir()) < 100_000
    assert check(read_trace(tmp_path / "t"), "ser").status != "invalid"


def test_who_cancels_hears_nothing(tmp_path: Path) -> None:
    """Not even that the proxy is being stopped: libpq takes any answer for a failure."""
    watcher = PostgresWatcher(NoWire(), Tracer(tmp_path / "t"))  # type: ignore[arg-type]
    assert watcher.refusal("why") != b""
    watcher.from_client(struct.pack("!iiii", 16, CANCEL, 1, 2))
    assert watcher.refusal("why") == b""


# --- many, and gone


def test_clients_wait_for_a_proxy_that_is_far_behind(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was forwarded and is not understood is bounded, and nothing of it is lost."""
    bound, room = 8_000, 4 * 1_000
    monkeypatch.setattr(engine, "MOST_WAITING", bound)
    look, behind = engine.Engine._look, [0]

    def slowly(self: engine.Engine, *found: Any) -> bool:
        behind.append(self.behind)
        time.sleep(0.002)
        return look(self, *found)

    with psycopg.connect(server.dsn, autocommit=True) as plain:
        plain.execute("DROP TABLE IF EXISTS cells CASCADE")
        plain.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        plain.execute("INSERT INTO cells SELECT n, 0 FROM generate_series(1, 4) n")
    with proxied(address(server), tmp_path / "t") as (port, wrong):

        def client(number: int) -> None:
            with psycopg.connect(through(server, port), autocommit=True, prepare_threshold=0) as c:
                for n in range(60):
                    c.execute("UPDATE cells SET n = %s WHERE id = %s", (n + 1, number))

        client(1)  # the schema is read, and the texts are understood
        monkeypatch.setattr(engine.Engine, "_look", slowly)
        threads = [threading.Thread(target=client, args=(number,)) for number in (2, 3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
    assert bound / 2 < max(behind) < bound + room
    trace = read_trace(tmp_path / "t")
    assert len(trace) == 4 * 60 and (trace.txn_outcome == Outcome.COMMITTED).all()
    assert check(trace, "strict serializable").valid


@pytest.mark.full
def test_a_thousand_connections(tmp_path: Path) -> None:
    from boomslang.databases.servers import find_server
    from boomslang.databases.servers.postgresql import PostgreSQLServer

    class Roomy(PostgreSQLServer):
        def command(self) -> list[str]:
            return [word.replace("max_connections=200", "max_connections=1100") for word in super().command()]

    with started("postgres"):  # skips where there is none
        pass
    with Roomy(find_server("postgres"), port=None, durable=False) as server:
        with psycopg.connect(server.dsn, autocommit=True) as c:
            c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        with proxied(address(server), tmp_path / "t") as (port, wrong):
            clients = [psycopg.connect(through(server, port), autocommit=True) for _ in range(1000)]
            for number, c in enumerate(clients):
                c.execute("INSERT INTO cells VALUES (%s, 1)", (number,))
            for c in clients:
                c.close()
            assert not wrong
    trace = read_trace(tmp_path / "t")
    assert len(trace) == 1000 and check(trace, "sser").valid


CLIENT = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as c:
    c.execute("BEGIN")
    c.execute("INSERT INTO cells VALUES (1, 1)")
    print("committing", flush=True)
    c.execute("COMMIT")
"""


@pytest.fixture
def slow(server: Any) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS cells, items, orders, noted CASCADE")
        c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        c.execute(
            "CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$"
        )
        c.execute(
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON cells DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION dawdle()"
        )


@pytest.mark.parametrize("killed", ["client", "server", "proxy"])
def test_kill_in_the_middle_of_a_commit(server: Any, slow: None, tmp_path: Path, killed: str) -> None:
    proxy, port = command(server, tmp_path / "t")
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, through(server, port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert client.stdout is not None and client.stdout.readline() == b"committing\n"
        time.sleep(0.3)
        if killed == "server":
            server.kill()
        else:
            (client if killed == "client" else proxy).kill()
        client.wait(30)
        if killed != "proxy":
            proxy.send_signal(signal.SIGINT)
            assert proxy.wait(30) == 0
    finally:
        for process in (client, proxy):
            process.kill()
            process.communicate()
        if not server.running:
            server.restart()
    if killed == "proxy":  # until it is recovered, the trace itself says that something may be missing
        assert len(read_trace(tmp_path / "t").txn_outcome) == 2
        assert recover(tmp_path / "t") == 1
    trace = read_trace(tmp_path / "t")
    assert [Outcome(o).name.lower() for o in trace.txn_outcome] == ["unknown"]
    assert [line["key"] for line in told(tmp_path / "t") if "key" in line] == ["cells[1]", "cells[1].n"]


def command(server: Any, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The command itself, and the port that it says it listens on."""
    words = ["proxy", address(server), "--listen", "127.0.0.1:0", "--out", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "boomslang", *words],
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "500"},
    )
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
    assert found is not None, line
    return process, int(found[1])


@pytest.mark.parametrize("round_", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 10))])
def test_a_killed_proxy_has_lost_no_record(server: Any, tmp_path: Path, round_: int) -> None:
    """Whoever looks afterwards sees nothing that, by the trace, nobody wrote. Pipelines included."""
    with psycopg.connect(server.dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS cells, items, orders, noted CASCADE")
        c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        c.execute("INSERT INTO cells SELECT n, 0 FROM generate_series(1, 40) n")
    proxy, port = command(server, tmp_path / "t")
    done = 0

    def work(client: int) -> None:
        nonlocal done
        rng = random.Random(client + 100 * round_)
        try:
            with psycopg.connect(through(server, port)) as c:
                c.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
                for number in range(100_000):
                    try:
                        with_pipeline = rng.random() < 0.3
                        value, key, other = client + 8 * number + 1, rng.randint(1, 40), rng.randint(1, 40)
                        if with_pipeline:
                            with c.pipeline():
                                c.execute("SELECT n FROM cells WHERE id = %s", (other,))
                                c.execute("UPDATE cells SET n = %s WHERE id = %s", (value, key))
                                c.commit()
                        else:
                            c.execute("SELECT n FROM cells WHERE id = %s", (other,))
                            c.execute("UPDATE cells SET n = %s WHERE id = %s", (value, key))
                            c.commit()
                        done += 1
                    except psycopg.errors.SerializationFailure:
                        c.rollback()
        except psycopg.OperationalError:
            return

    threads = [threading.Thread(target=work, args=(client,)) for client in range(4)]
    for thread in threads:
        thread.start()
    while done < 150 + 37 * round_:
        assert any(thread.is_alive() for thread in threads), "nobody gets through"
        time.sleep(0.01)
    proxy.kill()
    for thread in threads:
        thread.join(60)
    proxy.communicate()
    with psycopg.connect(server.dsn, autocommit=True) as plain:
        while plain.execute("SELECT 1 FROM pg_stat_activity WHERE state LIKE '%in transaction%'").fetchall():
            time.sleep(0.01)
        reader = trace_connection(plain, Tracer.join(tmp_path / "t"))
        for key in range(1, 41):
            reader.execute("SELECT n FROM cells WHERE id = %s", (key,))
    assert check(read_trace(tmp_path / "t"), "ser").valid  # what is missing accuses nobody
    assert recover(tmp_path / "t") >= 4
    trace = read_trace(tmp_path / "t")
    assert check(trace, "ser").valid
    told_of = trace.coverage
    assert told_of is not None and told_of.writes[0] > 100 and "*" not in told_of.tainted

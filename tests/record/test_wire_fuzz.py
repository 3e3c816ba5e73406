"""The relay with damaged bytes from either side: nothing but the damaged connection ends, and nothing is lost.

Damage from a client: what reached the database all the same is in the trace, or in doubt there, so whoever looks
afterwards finds no value that nobody wrote. Damage from the server: what it says is not believed further than it goes,
and the connections beside it are recorded as if nothing were.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from support import mysql_work, wire
from support.damage import Damager
from support.recorded_sql import address, server, started

from boomslang import check, read_trace
from boomslang.record import Tracer, trace_connection
from boomslang.trace.coverage import EVERYTHING

SEEDS = [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 16))]
PATIENCE = 20


@contextmanager
def bounded(*works: Callable[[], None]) -> Iterator[None]:
    """Each in a thread, which must end."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "somebody waits for ever"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


@pytest.fixture(scope="module")
def mariadb() -> Iterator[dict[str, Any]]:
    with server("mariadb") as dsn:
        yield address(dsn)


def clean_of(troubles: list[str]) -> None:
    assert not [why for why in troubles if "internal error" in why or "Traceback" in why], troubles


def nothing_is_missing_without_a_word(folder: Path, told: list[int]) -> None:
    """Of the 60 updates that a healthy client made and read. Another's nonsense may name a table that nobody knows.
    Until the schema was read again, nobody's statements are understood: that is noted, and what they wrote is
    tainted."""
    done = [n for n in range(1, 61) for _ in "wr"]
    left = iter(done)
    assert all(n in left for n in told), "told in another order, or what was never done"
    if len(told) < len(done):
        coverage = read_trace(folder).coverage
        assert coverage is not None
        assert coverage.reads[1] + coverage.writes[1] >= len(done) - len(told)
        if set(told) < set(done):
            assert any(table == EVERYTHING or "healthy" in table for table in coverage.tainted)


# --- PostgreSQL


BUSY = (
    "SELECT 1 FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


def prepare_cells(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS cells, healthy, items, orders, noted CASCADE")
        c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        c.execute("CREATE TABLE healthy (id int PRIMARY KEY, n int)")
        c.execute("INSERT INTO cells SELECT n, 0 FROM generate_series(1, 5) n")
        c.execute("INSERT INTO healthy VALUES (1, 0)")


def postgres_client(there: str, client: int, seed: int, connections: int) -> Callable[[], None]:
    def work() -> None:
        rng = random.Random(f"{seed}/{client}")
        for connection in range(connections):
            with suppress(Exception), psycopg.connect(there, connect_timeout=2) as c:
                threading.Timer(
                    1 + seed % 3, c.pgconn.finish
                ).start()  # a server may wait for what does not come
                for number in range(30):
                    value = (connection * 100 + number) * 10 + client + 100
                    with c.pipeline() if rng.random() < 0.3 else nullcontext():
                        c.execute("SELECT n FROM cells WHERE id = %s", (rng.randint(1, 5),))
                        if rng.random() < 0.5:
                            c.execute("UPDATE cells SET n = %s WHERE id = %s", (value, rng.randint(1, 5)))
                        else:
                            c.execute(f"UPDATE cells SET n = {value} WHERE id = {rng.randint(1, 5)}")
                        c.commit()

    return work


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("seed", SEEDS)
def test_postgres(postgres: Any, tmp_path: Path, seed: int, side: str) -> None:
    prepare_cells(postgres.dsn)
    place, folder = ("127.0.0.1", postgres.port), tmp_path / "t"
    damager = None
    if side == "server":
        damager = Damager(place, seed, client=False, spared=12)
        place = ("127.0.0.1", damager.port)
    with wire.proxied(f"postgres://127.0.0.1:{place[1]}", folder) as (port, troubles):
        if side == "client":
            damager = Damager(("127.0.0.1", port), seed, client=True, spared=3)
        assert damager is not None

        def dsn(at: int) -> str:
            return str(postgres.dsn).replace(f":{postgres.port}/", f":{at}/")

        through = dsn(damager.port if side == "client" else port)
        with bounded(*(postgres_client(through, client, seed, 6 if seed else 2) for client in range(3))):
            wrote = 0
            if side == "client":
                with psycopg.connect(dsn(port), autocommit=True) as c:
                    for number in range(1, 61):
                        c.execute("UPDATE healthy SET n = %s WHERE id = 1", (number,))
                        assert c.execute("SELECT n FROM healthy WHERE id = 1").fetchone() == (number,)
                        wrote += 1
                        time.sleep(0.01)
        damager.close()
    clean_of(troubles)
    written = [record["value"] for record in wire.told(folder) if record.get("key") == "healthy[1].n"]
    if side == "client":
        assert wrote == 60
        nothing_is_missing_without_a_word(folder, [n for n in written if n])
        with psycopg.connect(postgres.dsn, autocommit=True) as plain:
            while plain.execute(BUSY).fetchall():
                time.sleep(0.01)
            reader = trace_connection(plain, Tracer.join(folder))
            for key in range(1, 6):
                reader.execute("SELECT n FROM cells WHERE id = %s", (key,))
    trace = read_trace(folder)
    if side == "client":
        verdict = check(trace, "rc")
        assert verdict.status != "invalid", verdict.counterexample


# --- MySQL's protocol


def mysql_client(there: dict[str, Any], client: int, seed: int, connections: int) -> Callable[[], None]:
    def work() -> None:
        rng = random.Random(f"{seed}/{client}")
        for connection in range(connections):
            with suppress(Exception):
                c = pymysql.connect(**there, autocommit=True, read_timeout=1, connect_timeout=2)
                with c, c.cursor() as cursor:
                    for number in range(30):
                        value, good = (connection * 100 + number) * 10 + client + 100, rng.randint(1, 3)
                        cursor.execute("BEGIN")
                        cursor.execute("SELECT stock FROM goods WHERE id = %s", (good,))
                        cursor.execute("UPDATE goods SET stock = %s WHERE id = %s", (value, good))
                        cursor.execute("COMMIT")

    return work


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("seed", SEEDS)
def test_mysql(mariadb: dict[str, Any], tmp_path: Path, seed: int, side: str) -> None:
    mysql_work.make_tables(mariadb)
    with pymysql.connect(**mariadb, autocommit=True) as plain, plain.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS healthy")
        cursor.execute("CREATE TABLE healthy (id INT PRIMARY KEY, n INT)")
        cursor.execute("INSERT INTO healthy VALUES (1, 0)")
    folder, damager, to = tmp_path / "t", None, mariadb
    if side == "server":
        damager = Damager(("127.0.0.1", mariadb["port"]), seed, client=False, spared=12)
        to = {**mariadb, "port": damager.port}
    with mysql_work.proxied(to, folder) as (there, troubles):
        through = there
        if side == "client":
            damager = Damager(("127.0.0.1", there["port"]), seed, client=True, spared=3)
            through = {**there, "port": damager.port}
        assert damager is not None
        with bounded(*(mysql_client(through, client, seed, 6 if seed else 2) for client in range(3))):
            if side == "client":
                with pymysql.connect(**there, autocommit=True) as c, c.cursor() as cursor:
                    for number in range(1, 61):
                        cursor.execute("UPDATE healthy SET n = %s WHERE id = 1", (number,))
                        cursor.execute("SELECT n FROM healthy WHERE id = 1")
                        assert cursor.fetchall() == ((number,),)
                        time.sleep(0.01)
        damager.close()
    assert not [why for why in troubles if why.startswith("unexpected")], troubles
    clean_of(troubles)
    if side == "client":
        told = [
            line["value"]
            for lines in mysql_work.comparable(folder, start=False)
            for line in lines
            if line.get("key") == "healthy[1].n"
        ]
        nothing_is_missing_without_a_word(folder, told)
        time.sleep(0.2)
        last = trace_connection(pymysql.connect(**mariadb, autocommit=True), Tracer.join(folder))
        with last, last.cursor() as cursor:
            cursor.execute("SELECT id, stock FROM goods")
            cursor.fetchall()
    trace = read_trace(folder)
    if side == "client":
        verdict = check(trace, "rc")
        assert verdict.status != "invalid", verdict.counterexample

"""MySQL's protocol through the proxy when somebody is killed in the middle of commits, or a server talks nonsense.

Afterwards somebody reads what the database holds, into the same trace: a write that was lost from the trace would be a
value from nowhere, and the trace would be invalid.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.damage import Damager, one_byte_of_the_head
from support.mysql_work import make_tables, proxied
from support.recorded_sql import address, server, started

from boomslang import check, read_trace
from boomslang.record import Tracer, trace_connection
from boomslang.record.wire.recovery import recover

WRONG = (pymysql.Error, OSError, AttributeError)


@contextmanager
def proxy_process(
    connect: dict[str, Any], folder: Path
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    command = [sys.executable, "-m", "boomslang", "proxy", f"mysql://{connect['host']}:{connect['port']}"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"listening on 127.0.0.1:(\d+)", process.stdout.readline())
        assert found, "the proxy does not listen"
        yield process, {**connect, "port": int(found[1])}
    finally:
        process.kill()
        process.communicate()


def work(there: dict[str, Any], client: int, stop: threading.Event, done: list[int], vanishes: bool) -> None:
    """Reads and overwrites, with values of its own, in transactions and outside; until something breaks."""
    rng, number = random.Random(client), 0
    while not stop.is_set():
        with suppress(*WRONG):
            connection = pymysql.connect(**there, autocommit=True, read_timeout=20)
            cursor = connection.cursor()
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            while not stop.is_set():
                number += 1
                value, good = client * 100_000 + number, rng.randrange(1, 4)
                try:
                    if rng.random() < 0.3:
                        cursor.execute("UPDATE goods SET stock = %s WHERE id = %s", (value, good))
                    else:
                        cursor.execute("BEGIN")
                        cursor.execute("SELECT stock FROM goods WHERE id = %s FOR UPDATE", (good,))
                        cursor.execute("UPDATE goods SET stock = %s WHERE id = %s", (value, good))
                        if vanishes and rng.random() < 0.1:
                            connection._execute_command(3, "COMMIT")
                            connection._force_close()  # before the answer
                            break
                        cursor.execute("COMMIT")
                    done.append(value)
                except pymysql.OperationalError as error:
                    if error.args[0] not in (1205, 1213):
                        break
                    cursor.execute("ROLLBACK")
        if not vanishes:
            return


@pytest.mark.full
@pytest.mark.parametrize("victim", ["client", "proxy", "server"])
def test_killed_in_the_middle_of_a_commit(tmp_path: Path, victim: str) -> None:
    folder = tmp_path / "wire"
    with started("mariadb") as running:
        connect = address(running.dsn)
        make_tables(connect)
        with proxy_process(connect, folder) as (process, there):
            stop, done = threading.Event(), list[int]()
            clients = [
                threading.Thread(target=work, args=(there, n, stop, done, victim == "client"))
                for n in range(1, 5)
            ]
            for client in clients:
                client.start()
            deadline = time.monotonic() + 60
            while len(done) < 150 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert len(done) >= 150
            if victim == "server":
                running.kill()
            elif victim == "proxy":
                process.kill()
            stop.set()
            for client in clients:
                client.join(60)
            time.sleep(0.3)
            if victim == "server":
                running.restart()
            last = trace_connection(pymysql.connect(**connect, autocommit=True), Tracer.join(folder))
            with last, last.cursor() as cursor:
                cursor.execute("SELECT id, stock FROM goods")
                assert len(cursor.fetchall()) == 3
    if victim == "proxy":
        recover(folder)
    trace = read_trace(folder)
    verdict = check(trace, "serializable")
    assert trace.coverage is not None and trace.coverage.writes[0] >= 100
    assert verdict.valid, verdict.counterexample and verdict.counterexample.lines()


@pytest.mark.full
def test_a_server_that_talks_nonsense(tmp_path: Path) -> None:
    with server("mariadb") as dsn:
        connect = address(dsn)
        make_tables(connect)
        place = (connect["host"], connect["port"])
        garbler = Damager(place, 7, client=False, spared=6, damage=one_byte_of_the_head)
        with proxied({**connect, "port": garbler.port}, tmp_path / "wire") as (there, troubles):
            for client in range(60):
                with suppress(*WRONG, IndexError, AssertionError, ValueError, TypeError, Exception):
                    connection = pymysql.connect(**there, autocommit=True, read_timeout=1)
                    with connection, connection.cursor() as cursor:
                        for number in range(10):
                            cursor.execute("SELECT id, name FROM goods WHERE id = %s", (number,))
                            cursor.execute(
                                "UPDATE goods SET stock = %s WHERE id = 1", (client * 100 + number,)
                            )
        garbler.close()
    assert not [why for why in troubles if why.startswith("unexpected")], troubles
    assert troubles
    read_trace(tmp_path / "wire")

"""What does it cost to be recorded on the wire?

The same transfers between accounts are made by several clients (psycopg, a process each) on one PostgreSQL: directly,
and through `boomslang proxy`. Both take turns in the same run, a second each, so that whatever else the machine does
slows both. A transfer is a begin, two reads, two writes and a commit, each a round trip. Told are transfers a second,
their ratio, and the CPU time that the proxy took for each statement.

    python benchmarks/proxy.py             print
    python benchmarks/proxy.py --write     ... and write docs/benchmarks-proxy.md
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from run import machine

from boomslang.databases.servers import start_server

REPORT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-proxy.md"
ACCOUNTS = 10_000
STATEMENTS = 6


@dataclass(frozen=True)
class Measured:
    clients: int
    durable: bool
    direct: float
    """Transfers a second."""
    proxied: float
    cpu: float
    """Microseconds of the proxy's, a statement."""


def client(dsn: str, barrier: Any, seconds: float, seed: int, counts: Any) -> None:
    rng = random.Random(seed)
    with psycopg.connect(dsn, prepare_threshold=1) as connection:
        barrier.wait()
        ends = time.monotonic() + seconds
        done = 0
        while time.monotonic() < ends:
            a, b = rng.sample(range(ACCOUNTS), 2)
            try:
                read = "SELECT balance FROM accounts WHERE id = %s"
                write = "UPDATE accounts SET balance = %s WHERE id = %s"
                one = connection.execute(read, (a,)).fetchone()[0]  # type: ignore[index]
                other = connection.execute(read, (b,)).fetchone()[0]  # type: ignore[index]
                connection.execute(write, (one - 1, a))
                connection.execute(write, (other + 1, b))
                connection.commit()
                done += 1
            except psycopg.errors.DeadlockDetected:
                connection.rollback()
    counts.put(done)


def transfers(dsn: str, clients: int, seconds: float, seed: int) -> float:
    """A second, of all clients together."""
    barrier, counts = multiprocessing.Barrier(clients), multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=client, args=(dsn, barrier, seconds, seed * 100 + number, counts))
        for number in range(clients)
    ]
    for worker in workers:
        worker.start()
    done = sum(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    return done / seconds


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(clients: int, durable: bool, rounds: int, seconds: float) -> Measured:
    with tempfile.TemporaryDirectory() as folder, start_server("postgres", durable=durable) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)")
            connection.execute(
                f"INSERT INTO accounts SELECT n, 100 FROM generate_series(0, {ACCOUNTS - 1}) n"
            )
        words = [
            "proxy",
            f"postgres://127.0.0.1:{server.port}",
            "--listen",
            "127.0.0.1:0",
            "--out",
            f"{folder}/trace",
        ]
        proxy = subprocess.Popen(
            [sys.executable, "-m", "boomslang", *words],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "500"},
        )
        assert proxy.stderr is not None
        said = re.search(r"listening on [\d.]+:(\d+)", proxy.stderr.readline())
        assert said is not None
        port = said[1]
        through = server.dsn.replace(f":{server.port}/", f":{port}/")
        try:
            transfers(through, 1, 0.5, 999)  # the schema is read, and the texts are understood
            direct, proxied = [], []
            before = cpu_of(proxy.pid)
            for number in range(rounds):
                direct.append(transfers(server.dsn, clients, seconds, 2 * number))
                proxied.append(transfers(through, clients, seconds, 2 * number + 1))
            spent = cpu_of(proxy.pid) - before
        finally:
            proxy.terminate()
            proxy.communicate()
    statements = sum(proxied) * seconds * STATEMENTS
    return Measured(
        clients, durable, sum(direct) / rounds, sum(proxied) / rounds, spent / max(1, statements) * 1e6
    )


def row(one: Measured) -> str:
    disk = "waits for the disk" if one.durable else "does not wait"
    return (
        f"| {one.clients} | {disk} | {one.direct:,.0f} | {one.proxied:,.0f} | {one.proxied / one.direct:.0%} "
        f"| {one.cpu:,.0f} µs |"
    )


HEAD = """\
| clients | a commit | direct, transfers/s | proxied, transfers/s | proxied of direct | CPU of the proxy, a statement |
| --- | --- | --- | --- | --- | --- |"""

PAGE = """\
# What it costs to be recorded on the wire

Written by `python benchmarks/proxy.py --write`. The same transfers between accounts (a begin, two reads, two writes
and a commit, each a round trip; psycopg, a process for each client) go to one PostgreSQL, directly and through
`boomslang proxy`, in turns of {seconds:g} s, {rounds} each. Clients, server and proxy share the machine,
whose load average before was {load:.0f}: the higher, the less the figures say of a quiet one.

{table}

{about}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    about, load = machine(), os.getloadavg()[0]
    rows = []
    for clients, durable in ((8, True), (8, False), (1, True), (1, False)):
        rows.append(row(measure(clients, durable, args.rounds, args.seconds)))
        print(rows[-1], flush=True)
    if args.write:
        table = "\n".join([HEAD, *rows])
        page = PAGE.format(seconds=args.seconds, rounds=args.rounds, table=table, about=about, load=load)
        REPORT.write_text(page)
        print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()

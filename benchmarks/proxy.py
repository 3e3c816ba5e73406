"""What does it cost to be recorded on the wire?

The same transfers between accounts are made by several clients (a process each: psycopg, PyMySQL) on one PostgreSQL or
MariaDB: directly, and through `boomslang proxy`. Both take turns in the same run, so that whatever else the machine
does slows both; the ratio is the median of those of the pairs. A transfer is a begin, two reads, two writes and a
commit, each a round trip.

The proxy forwards what it knows before it understands it, and may fall behind. So after each of its turns it is waited
for until it has caught up, which is no part of the next direct turn; the second ratio counts that time too: it is what
is left of the throughput if the load never ends.

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
from statistics import mean, median
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
from run import machine

from boomslang.databases.servers import start_server

REPORT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-proxy.md"
ACCOUNTS = 10_000
STATEMENTS = 6
NAMES = {"postgres": "PostgreSQL", "mariadb": "MariaDB"}
IDLE = 0.3
"""Seconds without work after which the proxy has caught up."""


READ = "SELECT balance FROM accounts WHERE id = %s"
WRITE = "UPDATE accounts SET balance = %s WHERE id = %s"


@dataclass(frozen=True)
class Measured:
    database: str
    clients: int
    durable: bool
    direct: list[float]
    """Transfers a second, of each turn."""
    proxied: list[float]
    behind: list[float]
    """Seconds until the proxy had caught up, after each turn."""
    seconds: float
    """Of a turn."""
    cpu: float
    """Microseconds of the proxy's, a statement, catching up included."""

    @property
    def ratio(self) -> float:
        return median(p / max(d, 1e-9) for d, p in zip(self.direct, self.proxied, strict=True))

    @property
    def lasting(self) -> float:
        return median(
            p * self.seconds / (self.seconds + b) / max(d, 1e-9)
            for d, p, b in zip(self.direct, self.proxied, self.behind, strict=True)
        )


def connected(dsn: str) -> Any:
    if dsn.startswith("postgres"):
        return psycopg.connect(dsn, prepare_threshold=1)
    return pymysql.connect(**mysql_arguments(dsn))


def mysql_arguments(dsn: str) -> dict[str, Any]:
    parts = urlsplit(dsn)
    return {
        "host": parts.hostname,
        "port": parts.port,
        "user": parts.username or "root",
        "password": parts.password or "",
        "database": parts.path.strip("/"),
    }


def client(dsn: str, barrier: Any, seconds: float, seed: int, counts: Any) -> None:
    rng = random.Random(seed)
    connection = connected(dsn)
    cursor = connection.cursor()

    def read(account: int) -> int:
        cursor.execute(READ, (account,))
        return int(cursor.fetchone()[0])

    barrier.wait()
    ends = time.monotonic() + seconds
    done = 0
    while time.monotonic() < ends:
        a, b = rng.sample(range(ACCOUNTS), 2)
        try:
            if not dsn.startswith("postgres"):
                connection.begin()
            one, other = read(a), read(b)
            cursor.execute(WRITE, (one - 1, a))
            cursor.execute(WRITE, (other + 1, b))
            connection.commit()
            done += 1
        except (psycopg.errors.DeadlockDetected, pymysql.err.OperationalError):
            connection.rollback()
    connection.close()
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


def caught_up(pid: int) -> float:
    """Seconds until a process has nothing to do any more."""
    begun = idle = time.monotonic()
    before = cpu_of(pid)
    while time.monotonic() - idle < IDLE:
        time.sleep(0.02)
        now = cpu_of(pid)
        if now - before > 0.011:
            before, idle = now, time.monotonic()
    return idle - begun


def make_accounts(dsn: str) -> None:
    connection = connected(dsn)
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)")
    for start in range(0, ACCOUNTS, 1000):
        rows = ", ".join(f"({n}, 100)" for n in range(start, start + 1000))
        cursor.execute(f"INSERT INTO accounts VALUES {rows}")
    connection.commit()
    connection.close()


def measure(database: str, clients: int, durable: bool, rounds: int, seconds: float) -> Measured:
    with tempfile.TemporaryDirectory() as folder, start_server(database, durable=durable) as server:
        make_accounts(server.dsn)
        kind = "postgres" if database == "postgres" else "mysql"
        place, trace = f"{kind}://127.0.0.1:{server.port}", f"{folder}/trace"
        proxy = subprocess.Popen(
            [sys.executable, "-m", "boomslang", "proxy", place, "--listen", "127.0.0.1:0", "--out", trace],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "500"},
        )
        assert proxy.stderr is not None
        said = re.search(r"listening on [\d.]+:(\d+)", proxy.stderr.readline())
        assert said is not None
        through = re.sub(r"@[^/]*/", f"@127.0.0.1:{said[1]}/", server.dsn)
        try:
            transfers(through, 1, 0.5, 999)  # the schema is read, and the texts are understood
            caught_up(proxy.pid)
            direct, proxied, behind = [], [], []
            before = cpu_of(proxy.pid)
            for number in range(rounds):
                direct.append(transfers(server.dsn, clients, seconds, 2 * number))
                proxied.append(transfers(through, clients, seconds, 2 * number + 1))
                behind.append(caught_up(proxy.pid))
            spent = cpu_of(proxy.pid) - before
        finally:
            proxy.terminate()
            proxy.communicate()
    statements = sum(proxied) * seconds * STATEMENTS
    cpu = spent / max(1, statements) * 1e6
    return Measured(database, clients, durable, direct, proxied, behind, seconds, cpu)


def row(one: Measured) -> str:
    disk = "waits for the disk" if one.durable else "does not wait"
    return (
        f"| {NAMES[one.database]} | {one.clients} | {disk} | {mean(one.direct):,.0f} | {mean(one.proxied):,.0f} "
        f"| {one.ratio:.0%} | {one.lasting:.0%} | {one.cpu:,.0f} µs |"
    )


HEAD = """\
| database | clients | a commit | direct, transfers/s | proxied | of direct | ... endlessly | CPU, a statement |
| --- | --- | --- | --- | --- | --- | --- | --- |"""

PAGE = """\
# What it costs to be recorded on the wire

Written by `python benchmarks/proxy.py --write`. The same transfers between accounts (a begin, two reads, two writes
and a commit, each a round trip; psycopg with prepared statements, PyMySQL with values in the text; a process for each
client) go to one server, directly and through `boomslang proxy`, in turns of {seconds:g} s, {rounds} each. Ratios are
medians of those of the pairs of turns. The proxy forwards what it knows before it understands it; the time that it
needs to catch up after a turn is counted in the second ratio, and in the CPU time. Clients, server and proxy share the
machine, whose load average before was {load:.0f}: the higher, the less the figures say of a quiet one.

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
    for database in NAMES:
        for clients, durable in ((8, True), (8, False), (1, True), (1, False)):
            rows.append(row(measure(database, clients, durable, args.rounds, args.seconds)))
            print(rows[-1], flush=True)
    if args.write:
        table = "\n".join([HEAD, *rows])
        page = PAGE.format(seconds=args.seconds, rounds=args.rounds, table=table, about=about, load=load)
        REPORT.write_text(page)
        print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()

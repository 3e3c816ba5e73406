"""What does it cost to be recorded?

The same work is done bare and recorded, and the difference is divided by the number of operations. The work is
transactions of four reads and four writes on: a dict (where nothing hides the cost), SQLite in memory and in a file,
and PostgreSQL, if a server can be started here. Then as many records as can be written, by one thread and by
several processes; all of them are counted back.

    python benchmarks/tracing.py             all of it
    python benchmarks/tracing.py --write     ... into docs/benchmarks-tracing.md
    python benchmarks/tracing.py --seconds 0.1
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import machine

from boomslang.databases.database import Connection
from boomslang.record import Recorded, Tracer, trace_connection
from boomslang.record.statements import get, put
from boomslang.trace import read_trace

REPORT = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-tracing.md"
PAIRS = 4
"""Reads in a transaction, and writes."""
OPERATIONS = 2 * PAIRS + 2
"""With begin and commit."""
ROUNDS = 20

Transaction = Callable[[int], None]


class Dict(Connection):
    """The least a store can be."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}

    def begin(self, level: str) -> None:
        pass

    def get(self, key: str) -> str | None:
        return self.held.get(key)

    def put(self, key: str, value: str) -> None:
        self.held[key] = value

    def delete(self, key: str) -> bool | None:
        return self.held.pop(key, None) is not None

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return sorted(self.held.items())

    def commit(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def close(self) -> None:
        pass


# ---------------------------------------------------------------- the work


def over_connection(c: Connection) -> Transaction:
    def transaction(n: int) -> None:
        c.begin("serializable")
        for i in range(PAIRS):
            c.get(f"key{(n + i) % 100}")
            c.put(f"key{(n + 7 * i) % 100}", f"value{n}-{i}")
        c.commit()

    return transaction


def over_sql(c: Any, mark: str, begin: str = "") -> Transaction:
    read, write = (text.replace("?", mark) for text in (READ, WRITE))

    def transaction(n: int) -> None:
        cursor = c.cursor()
        if begin:
            cursor.execute(begin)
        for i in range(PAIRS):
            cursor.execute(read, (f"key{(n + i) % 100}",))
            cursor.fetchone()
            cursor.execute(write, (f"value{n}-{i}", f"key{(n + 7 * i) % 100}"))
        c.commit()

    return transaction


READ = "SELECT v FROM kv WHERE k = ?"
WRITE = "UPDATE kv SET v = ? WHERE k = ?"
TABLE = "CREATE TABLE kv (k VARCHAR(20) PRIMARY KEY, v VARCHAR(100))"


def statements(mark: str) -> dict[str, Any]:
    return {READ.replace("?", mark): get(), WRITE.replace("?", mark): put(key=1, value=0)}


def filled(c: Any, mark: str) -> Any:
    cursor = c.cursor()
    cursor.execute(TABLE)
    for n in range(100):
        cursor.execute(f"INSERT INTO kv VALUES ({mark}, {mark})", (f"key{n}", "0"))
    c.commit()
    return c


@contextmanager
def dict_store(tracer: Tracer, folder: Path) -> Iterator[tuple[Transaction, Transaction]]:
    yield over_connection(Dict()), over_connection(Recorded(Dict(), tracer.session()))


@contextmanager
def sqlite_memory(tracer: Tracer, folder: Path) -> Iterator[tuple[Transaction, Transaction]]:
    with sqlite_at(":memory:", ":memory:", tracer) as both:
        yield both


@contextmanager
def sqlite_file(tracer: Tracer, folder: Path) -> Iterator[tuple[Transaction, Transaction]]:
    with sqlite_at(str(folder / "bare.db"), str(folder / "recorded.db"), tracer) as both:
        yield both


@contextmanager
def sqlite_at(bare: str, recorded: str, tracer: Tracer) -> Iterator[tuple[Transaction, Transaction]]:
    a, b = (filled(sqlite3.connect(path), "?") for path in (bare, recorded))
    yield over_sql(a, "?", "BEGIN"), over_sql(trace_connection(b, tracer, statements("?")), "?", "BEGIN")
    a.close()
    b.close()


@contextmanager
def postgres(tracer: Tracer, folder: Path) -> Iterator[tuple[Transaction, Transaction]]:
    import psycopg

    from boomslang.databases.servers import start_server

    with start_server("postgres") as server:
        a, b = psycopg.connect(server.dsn), psycopg.connect(server.dsn)
        filled(a, "%s")
        yield over_sql(a, "%s"), over_sql(trace_connection(b, tracer, statements("%s")), "%s")
        a.close()
        b.close()


STORES: dict[str, Any] = {
    "a dict": dict_store,
    "SQLite in memory": sqlite_memory,
    "SQLite in a file": sqlite_file,
    "PostgreSQL, psycopg": postgres,
}


# ---------------------------------------------------------------- measuring it


@dataclass(frozen=True)
class Cost:
    """Microseconds for an operation, by the clock and of this process's CPU time."""

    store: str
    bare: float
    recorded: float
    bare_cpu: float
    recorded_cpu: float
    bytes: float

    @property
    def added(self) -> float:
        return self.recorded - self.bare


def cost(store: str, seconds: float, rounds: int = ROUNDS) -> Cost:
    """The best of some rounds, bare and recorded in turn, so that both meet the same machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tracer = Tracer(folder / "trace")
        with STORES[store](tracer, folder) as both:
            best = [(float("inf"), float("inf"))] * 2
            done = 0
            for _ in range(rounds):
                for which, transaction in enumerate(both):
                    wall, cpu, count = timed(transaction, seconds / rounds)
                    best[which] = (min(best[which][0], wall), min(best[which][1], cpu))
                    done += count if which else 0
        trace = read_trace(tracer.folder)
        assert not trace.warnings and len(trace) == done, "a transaction is missing"
        size = sum(file.stat().st_size for file in tracer.folder.iterdir())
        (bare, bare_cpu), (recorded, recorded_cpu) = (
            (1e6 * wall / OPERATIONS, 1e6 * cpu / OPERATIONS) for wall, cpu in best
        )
        return Cost(store, bare, recorded, bare_cpu, recorded_cpu, size / done / OPERATIONS)


def timed(transaction: Transaction, seconds: float) -> tuple[float, float, int]:
    """Seconds for a transaction, of them on the CPU, and how many there were."""
    gc.collect()
    begun, cpu = time.perf_counter(), time.process_time()
    count = 0
    while (now := time.perf_counter()) - begun < seconds or not count:
        for _ in range(5):
            transaction(count)
            count += 1
    return (now - begun) / count, (time.process_time() - cpu) / count, count


def writer(tracer: Tracer, seconds: float) -> None:
    transaction = over_connection(Recorded(Dict(), tracer.session()))
    timed(transaction, seconds)


def rate(processes: int, seconds: float) -> float:
    """Records a second by so many processes at once; all that were written are counted back."""
    with tempfile.TemporaryDirectory() as name:
        tracer = Tracer(Path(name) / "trace")
        context = multiprocessing.get_context("fork" if processes > 1 else None)
        if processes == 1:
            writer(tracer, seconds)
        else:
            children = [context.Process(target=writer, args=(tracer, seconds)) for _ in range(processes)]
            for child in children:
                child.start()
            for child in children:
                child.join()
        trace = read_trace(tracer.folder)
        assert len(trace.sessions) == processes and len(trace.op_kind) == len(trace) * 2 * PAIRS
        return len(trace) * OPERATIONS / seconds


# ---------------------------------------------------------------- showing it


def rows(costs: list[Cost]) -> Iterator[list[str]]:
    for c in costs:
        share = f"{100 * c.added / c.bare:,.0f} %"
        cpu = c.recorded_cpu - c.bare_cpu
        numbers = (c.bare, c.recorded, c.added, cpu)
        yield [c.store, *(f"{number:.1f}" for number in numbers), share, f"{c.bytes:.0f}"]


COLUMNS = ["store", "bare µs", "recorded µs", "added µs", "added CPU µs", "added", "bytes"]


def report(costs: list[Cost], rates: dict[int, float], about: str) -> str:
    lines = [
        "# What it costs to be recorded",
        "",
        f"Measured by `python benchmarks/tracing.py --write` on {about}.",
        "",
        f"Transactions of {PAIRS} reads and {PAIRS} writes, bare and recorded in turn, the best of {ROUNDS} rounds;",
        "microseconds and bytes of the trace for each operation, begin and commit included. A record is one system",
        "call, and is in the file when the operation returns. The dict is driven through an adapter, the others",
        "through `trace_connection`. (SQLite in a file commits to disk; PostgreSQL runs on the same machine, without",
        "waiting for its disk. On a busy machine the CPU time says more than the clock.)",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| ---{' | ---:' * (len(COLUMNS) - 1)} |",
        *(f"| {' | '.join(row)} |" for row in rows(costs)),
        "",
        "As many records as can be written, each process in a session of its own; the traces are read back and every",
        "operation is counted:",
        "",
        "| processes | records a second |",
        "| ---: | ---: |",
        *(f"| {processes} | {found:,.0f} |" for processes, found in rates.items()),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name}")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each line of the tables")
    args = parser.parse_args()
    about = machine()
    costs = []
    for store in STORES:
        try:
            costs.append(cost(store, args.seconds))
        except (ImportError, ValueError) as missing:
            print(f"{store}: left out ({missing})")
            continue
        for row in rows(costs[-1:]):
            print("  ".join(f"{name} {text}" for name, text in zip(COLUMNS, row, strict=True)), flush=True)
    rates = {}
    for processes in (1, 2, 4):
        rates[processes] = rate(processes, args.seconds)
        print(f"{processes} processes: {rates[processes]:,.0f} records a second", flush=True)
    if args.write:
        REPORT.write_text(report(costs, rates, about))
        print(f"wrote {REPORT}")


if __name__ == "__main__":
    main()

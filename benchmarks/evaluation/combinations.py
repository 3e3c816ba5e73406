"""Figure "Boomslang can check various combinations": levels, databases, workloads.

Each row is recorded on the paper's database if that can be had here, and else on another that promises the level, which
the row says. Workloads, sessions (24), keys, operations and the number of transactions are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evaluation.figure import NOT_HERE, NOT_MEASURED, Plot, Shown, bar, megabytes, seconds, table
from evaluation.plan import Plan, Recording
from evaluation.plots import bars


@dataclass(frozen=True)
class Row:
    level: str
    """As the paper calls it."""
    database: str
    transactions: int
    workload: str
    paper: float | None
    """Seconds; none: the paper has no such row."""
    ours: tuple[str, str, str, str]
    """Database and its level, workload, and the level that is asked for."""
    needs: str = ""
    """What the paper's database takes, if ours is another."""
    settings: dict[str, Any] = field(default_factory=dict)


SERIALIZABLE = ("postgres", "serializable")
BLINDW_C = "blindw-rw"
"""Cobra's BlindW, of which -RW is the one with as many reads as writes."""

ROWS = (
    Row("SSER", "Tapir", 13_200, "BlindW-T", 1.14, ("etcd", "linearizable reads", "blindw-t", "sser"), "Tapir"),
    Row("SSER", "Tapir", 9_100, "Retwis", 0.63, ("etcd", "linearizable reads", "retwis", "sser"), "Tapir"),
    Row("SER", "CockroachDB 25.1.4", 10_500, "BlindW-C", 4.45, (*SERIALIZABLE, BLINDW_C, "ser"),
        "a CockroachDB server"),
    Row("SER", "CockroachDB 25.1.4", 18_200, "TPC-C", 18.54, (*SERIALIZABLE, "tpcc", "ser"), "a CockroachDB server"),
    Row("SER", "PostgreSQL 15.2", 9_800, "RUBiS", 2.81, (*SERIALIZABLE, "rubis", "ser")),
    Row("SER", "PostgreSQL 15.2", 10_100, "Twitter", 2.43, (*SERIALIZABLE, "twitter", "ser")),
    Row("SER", "YugaByteDB 2.25.1.0", 10_400, "BlindW-C", 4.4, ("slatedb", "serializable snapshot", BLINDW_C, "ser"),
        "a YugabyteDB server"),
    Row("SER", "YugaByteDB 2.25.1.0", 15_300, "TPC-C", 10.65, ("slatedb", "serializable snapshot", "tpcc", "ser"),
        "a YugabyteDB server"),
    Row("SI", "TiKV 7.6.0", 11_500, "JuiceFS 1.2.3", 10.03, ("rocksdb", "snapshot", "filesystem", "si"),
        "a TiKV cluster and JuiceFS"),
    Row("SI", "TiKV 7.6.0", 10_000, "RandomBench", 370.81, ("rocksdb", "snapshot", "randombench", "si"),
        "a TiKV cluster"),
    Row("SI", "YugaByteDB 2.25.1.0", 10_300, "RUBiS", 4.08, ("postgres", "repeatable read", "rubis", "si"),
        "a YugabyteDB server"),
    Row("SI", "YugaByteDB 2.25.1.0", 10_400, "Twitter", 4.42, ("postgres", "repeatable read", "twitter", "si"),
        "a YugabyteDB server"),
    Row("SI", "TiDB 8.5.4", 10_000, "RandomRange", 16.76, ("slatedb", "snapshot", "randomrange", "si"),
        "a TiDB server"),
    Row("RR", "MariaDB 12.1.2", 10_000, "BlindW", 3.25,
        ("mariadb", "repeatable read", "blindw", "mariadb-repeatable-read")),
    Row("RR", "MySQL 9.5.0", 10_000, "BlindW", 2.47,
        ("mysql", "repeatable read", "blindw", "mysql-repeatable-read")),
    Row("PL-2+", "Port", 800, "BlindW-E", 0.2, ("rocksdb", "snapshot", "blindw-e", "pl-2+"), "Port"),
    Row("RC", "PostgreSQL 15.2", 10_100, "BlindW-C", 2.99, ("postgres", "read committed", BLINDW_C, "rc")),
    Row("RC", "PostgreSQL 15.2", 14_600, "TPC-C", 5.94, ("postgres", "read committed", "tpcc", "rc")),
    Row("RC", "MariaDB 12.1.2", 10_000, "BlindW", 5.33, ("mariadb", "read committed", "blindw", "rc")),
    Row("RC", "MySQL 9.5.0", 10_000, "BlindW", 5.63, ("mysql", "read committed", "blindw", "rc")),
)  # fmt: skip

MORE = (
    Row("SER", "SQLite", 10_000, "BlindW", None, ("sqlite", "deferred", "blindw", "ser")),
    Row("SI", "DuckDB", 10_000, "BlindW", None, ("duckdb", "snapshot", "blindw", "si")),
    Row("PL-2+", "RocksDB", 10_000, "BlindW-E", None, ("rocksdb", "snapshot", "blindw-e", "pl-2+")),
    Row("RR", "PostgreSQL", 9_800, "RUBiS", None, (*SERIALIZABLE, "rubis", "rr")),
    Row("CS", "PostgreSQL", 9_800, "RUBiS", None, (*SERIALIZABLE, "rubis", "cs")),
    Row("PL-FCV", "PostgreSQL", 9_800, "RUBiS", None, (*SERIALIZABLE, "rubis", "pl-fcv")),
)
"""Levels and databases that the paper's table has no row for."""


def combinations(plan: Plan) -> Shown:
    names = (
        "level",
        "paper's database",
        "workload",
        "paper's txns",
        "paper s",
        "here",
        "txns",
        "verdict",
        "CPU s",
        "MB",
    )
    labels, paper, ours, lines = [], [], [], []
    for rows in (ROWS, MORE):
        cells = []
        for row in rows:
            found = plan.recorded(_recording(plan, row), row.ours[3])
            cells.append(_cells(plan, row, found))
            if found is not None and not found.get("problem"):
                where = "" if not row.needs else f" ({row.ours[0]})"
                labels.append(f"{row.level} {row.database.split()[0]} {row.workload}{where}")
                paper.append("no such row" if row.paper is None else row.paper)
                ours.append(bar(found, plan.limit))
        lines += ["", "Levels and databases beyond the paper's table:", ""] if lines else []
        lines += table(names, cells)
    alt = "seconds that the paper and this program took, row by row of the table"
    series = {"here, with a tenth of the transactions" if plan.quick else "here": ours, "the paper's": paper}
    return Shown(lines, [Plot("combinations", alt, lambda path: bars(path, labels, series, "seconds"))])


def _recording(plan: Plan, row: Row) -> Recording:
    database, level, workload, _ = row.ours
    return Recording(database, level, workload, plan.size(row.transactions), settings=row.settings)


def _cells(plan: Plan, row: Row, found: dict[str, Any] | None) -> list[str]:
    published = [
        row.level,
        row.database if row.paper is not None else "",
        row.workload,
        f"{row.transactions / 1000:g}K" if row.paper is not None else "",
        f"{row.paper:g}" if row.paper is not None else "",
    ]
    missing = f"{NOT_HERE} {row.needs}; instead: " if row.needs else ""
    if found is None:
        return [*published, f"{missing}{row.ours[0]}", "", NOT_MEASURED, "", ""]
    if problem := found.get("problem"):
        return [*published, f"{NOT_HERE} {row.needs or row.database}: {problem}", "", "", "", ""]
    verdict = found["status"] + (f": {found['anomaly']}" if "anomaly" in found else "")
    where = f"{missing}{found['version']}"
    level = f", {row.ours[3]}" if row.level == "RR" and "repeatable" in row.ours[3] else ""
    return [
        *published, where + level, f"{found['transactions']:,}", verdict, seconds(found, plan.limit), megabytes(found),
    ]  # fmt: skip

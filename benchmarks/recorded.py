"""Traces of a real key-value store, recorded on the spot: how long does it take to check them?

A file system's metadata and RandomBench are run on RocksDB's transactions with a snapshot, by 24 clients as the paper
did on TiKV, and checked for snapshot isolation, which RocksDB promises, and for serializability, which it does not.

    python benchmarks/recorded.py             record and check
    python benchmarks/recorded.py --write     ... into docs/benchmarks-recorded.md

The published times are the paper's: its checker, its traces of TiKV 7.6, a 12-core machine. Another database and
other clients make other traces, so they are a scale and no race.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass

from cases import Case
from run import Result, machine, run_case
from simulate import DATA, HERE

from boomslang.databases import find_database
from boomslang.run import Plan, Ran, run
from boomslang.workloads import find_workload

REPORT = HERE.parent / "docs" / "benchmarks-recorded.md"
CLIENTS = 24


@dataclass(frozen=True)
class Recording:
    """A workload to record, and what the paper reports of its like."""

    workload: str
    txns: int
    published: str
    seconds: float


RECORDINGS = (
    Recording("filesystem", 11_500, "JuiceFS 1.2.3 on TiKV, 11.5K transactions", 10.03),
    Recording("randombench", 10_000, "RandomBench on TiKV, 10K transactions", 370.81),
)
LEVELS = ("si", "strong-session-si", "ser")


def record(recording: Recording, database: str, level: str) -> Ran:
    folder = DATA / f"recorded-{database.partition(':')[0]}-{recording.workload}"
    shutil.rmtree(folder, ignore_errors=True)
    workload = find_workload(recording.workload).with_settings(sessions=CLIENTS, seed=1)
    with find_database(database) as opened:
        return run(Plan(opened, workload, opened.level(level), recording.txns), folder)


def checked(ran: Ran, level: str) -> Result:
    # Serializability is not promised: whether this run happens to have it, only the checker can tell.
    expect = None if level == "ser" else "valid"
    return run_case("recorded", Case(ran.plan.workload.name, ran.folder, level, expect))


def report(rows: list[tuple[Recording, Ran, list[Result]]], about: str) -> str:
    version = rows[0][1].version
    lines = [
        "# Recorded traces",
        "",
        f"Measured by `python benchmarks/recorded.py --write` on {about}.",
        "",
        f"{CLIENTS} clients on {version} at `{rows[0][1].plan.level.name}`, which promises snapshot isolation: a file",
        "system's metadata as JuiceFS keeps it in a key-value store, and RandomBench (every operation, 1,000 keys,",
        "100 values). *Recording* is the run itself; *load*, *solve* and *total* are those of",
        "[benchmarks.md](benchmarks.md), each in a fresh process.",
        "",
        "| trace | transactions | aborted | operations | recording s | level | verdict | load s | solve s | total s "
        "| MB |",
        "| --- | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for recording, ran, results in rows:
        for result in results:
            f = result.figures
            cells = [
                recording.workload,
                f"{f['transactions']:,}",
                f"{ran.aborted:,}",
                f"{f['operations']:,}",
                f"{ran.seconds:.1f}",
                result.case.level,
                result.status,
                f"{f['load']:.2f}",
                f"{f['solve']:.2f}",
                f"{f['total']:.2f}",
                f"{f['megabytes']:.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "The paper this project is built after reports, for its own checker at snapshot isolation on a 12-core",
        "machine (AMD Ryzen 5900, 64 GB):",
        "",
        "| trace | published, seconds | here, seconds |",
        "| --- | ---: | ---: |",
    ]
    for recording, _, results in rows:
        total = results[0].figures["total"]
        lines.append(f"| {recording.published} | {recording.seconds:.2f} | {total:.2f} |")
    lines += [
        "",
        "Its traces are of TiKV and, for the file system, of JuiceFS's own benchmark; these here are of another",
        "database and of a mix of our own. The numbers are a scale and no race.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="recorded.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--db", default="rocksdb", help="the database")
    parser.add_argument(
        "--db-level", default="snapshot", help="its level, which must promise snapshot isolation"
    )
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}")
    given = parser.parse_args(arguments)
    about = machine()
    print(about)
    rows = []
    for recording in RECORDINGS:
        ran = record(recording, given.db, given.db_level)
        done = f"{ran.committed:,} committed, {ran.aborted:,} aborted in {ran.seconds:.1f} s: {ran.speed}"
        print(f"{recording.workload}: {done}")
        results = [checked(ran, level) for level in LEVELS]
        for result in results:
            f = result.figures
            told = (
                f"load {f['load']:.2f} s, solve {f['solve']:.2f} s, total {f['total']:.2f} s"
                if f
                else result.error
            )
            print(f"  {result.case.level:18} {result.status:8} {told}", flush=True)
        rows.append((recording, ran, results))
    wrong = [result for _, _, results in rows for result in results if not result.as_expected]
    if given.write and not wrong:
        REPORT.write_text(report(rows, about))
    print(f"{len(wrong)} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

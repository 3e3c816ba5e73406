"""A trace in one piece, against the same trace in windows: CPU, memory, conflicts; and what a second core brings.

Each line is one history and one level, checked in fresh processes: in one piece (`--window 0 --jobs 1`), in windows on
one core (`--jobs 1`), and in windows on all (`--jobs N`). Reading and analysing are in every figure, for they are what
a person waits for; *solve* is the solver's own part.

    python benchmarks/windows.py                             100K transactions, a few minutes
    python benchmarks/windows.py --large 1000000             a few of them larger, too: ten minutes more
    python benchmarks/windows.py --large 1000000 --reach 10000000 --write
                                                             and how far it reaches (reach.py), up to so many
                                                             transactions: some 30 minutes and 30 GB of disk on two
                                                             quiet cores, making the traces included; into
                                                             docs/benchmarks-windows.md

Each row is kept in `bench-data/` (or `--keep FILE`) as soon as it is measured, and a later run goes on where one
stopped, as long as the program is the same: what another version measured is measured anew (`--afresh`: all of it).

A hundred million, generated while it is checked, is `benchmarks/watch.py --case si:100000000:50000 --holes`: some 35
minutes.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import reach
from phases import page, parser, shown, table
from simulate import BLINDW, DATA, History, stored

SHAPES: dict[str, tuple[History, tuple[str, ...]]] = {
    "24 sessions": (replace(BLINDW, times=True), ("ser", "sser")),
    "24 sessions, from an SI database": (replace(BLINDW, level="si", times=True), ("si",)),
    "100 sessions": (replace(BLINDW, sessions=100, times=True), ("ser", "si")),
    "100 sessions, from an SI database": (
        replace(BLINDW, level="si", sessions=100, times=True),
        ("si", "ser"),
    ),
    "100 sessions, 80 % writes, 1,000 keys": (
        replace(BLINDW, level="si", sessions=100, writes=0.8, keys=1_000, times=True),
        ("si",),
    ),
    "skewed keys": (replace(BLINDW, theta=0.99, times=True), ("ser",)),
    "100 values": (replace(BLINDW, values=100, times=True), ("ser",)),
    "one log, no times": (BLINDW, ("ser", "si")),
    "a file a session, no times": (replace(BLINDW, folder=True), ("ser",)),
    "50 files of sessions, no times": (replace(BLINDW, sessions=50, folder=True), ("ser", "si", "causal")),
}


LARGE = ("24 sessions", "100 sessions, from an SI database", "50 files of sessions, no times")


@dataclass(frozen=True)
class Found:
    status: str
    cpu: float
    wall: float
    megabytes: float
    load: float
    solve: float
    conflicts: int
    windows: int
    decided_by: str


def measured(command: list[str]) -> tuple[str, str, float, float]:
    """What it printed, CPU seconds and megabytes."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ask(path: Path, level: str, *words: str) -> Found:
    command = [sys.executable, "-m", "boomslang", "check", str(path), "--level", level, "--json", *words]
    start = time.perf_counter()
    out, err, cpu, megabytes = measured(command)
    wall = time.perf_counter() - start
    try:
        answer = json.loads(out)
        told = answer["levels"][0]
    except (ValueError, KeyError, IndexError):
        raise SystemExit(f"{' '.join(command)}: {err.strip() or 'no answer'}") from None
    stats = told.get("stats") or {}
    return Found(
        told["status"],
        cpu,
        wall,
        megabytes,
        float(answer.get("seconds", {}).get("load", 0)),
        float(stats.get("solve", 0)),
        int(stats.get("windows: conflicts", stats.get("conflicts", 0))),
        int(stats.get("windows: windows", 0)),
        str(stats.get("decided by", "")),
    )


def _asked(path: Path, level: str, *words: str) -> reach.Asked:
    found = ask(path, level, *words)
    return reach.Asked(found.status, found.cpu, found.wall, found.megabytes, found.load, found.solve)


NAMES = (
    "trace", "transactions", "level", "verdict", "whole CPU s", "MB", "conflicts", "windows", "CPU s", "MB",
    "conflicts", "solve s whole", "in windows", "wall s 1 job", "all jobs",
)  # fmt: skip


def fingerprint() -> str:
    """Of the program that is measured, and of what measures it: rows of another say nothing about this one."""
    root, found = Path(__file__).resolve().parents[1], hashlib.sha256()
    sources = [
        *root.glob("src/**/*.py"),
        *root.glob("native/**/*.[ch]pp"),
        *Path(__file__).parent.glob("simulate.*"),
    ]
    for file in sorted(sources):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def kept_rows(path: Path, program: str) -> dict[str, list[list[str]]]:
    """Rows that this program gave before."""
    if not path.exists():
        return {}
    kept: dict[str, Any] = json.loads(path.read_text())
    if kept.get("program") != program:
        print(f"{path} has rows of another version; they are measured anew")
        return {}
    return {name: kept[name] for name in ("windows", "reach")}


def main(arguments: list[str]) -> int:
    made = parser(__doc__, "benchmarks-windows")
    made.add_argument("--size", type=int, default=100_000)
    made.add_argument("--large", type=int, help=f"also so many transactions of: {'; '.join(LARGE)}")
    made.add_argument("--reach", type=int, default=0, help="also load and check up to so many (reach.py)")
    made.add_argument(
        "--forget", action="store_true", help="delete traces of ten million once they were asked"
    )
    made.add_argument("--keep", type=Path, default=DATA / "windows-rows.json", help="where rows are kept")
    made.add_argument("--afresh", action="store_true", help="measure all rows anew")
    given = made.parse_args(arguments)
    program = fingerprint()
    kept = {} if given.afresh else kept_rows(given.keep, program)
    rows: list[list[str]] = kept.get("windows", [])
    far: list[list[str]] = kept.get("reach", [])
    if rows or far:
        print(f"{len(rows) + len(far)} rows were measured before: {given.keep}")

    def keep() -> None:
        given.keep.parent.mkdir(exist_ok=True)
        fresh = given.keep.with_name(f"{given.keep.name}.part")
        fresh.write_text(json.dumps({"program": program, "windows": rows, "reach": far}))
        fresh.rename(given.keep)

    wrong = 0
    jobs = os.cpu_count() or 1
    widths = (38, 12, 5, 8, *(11 for _ in NAMES[4:]))
    if given.reach:
        print(shown(reach.NAMES, widths))
    for row, agree in reach.measured_rows(_asked, jobs, given.reach, list(far), given.forget):
        wrong += not agree
        far.append(row)
        print(shown(row, widths), flush=True)
        keep()
    print(shown(NAMES, widths))
    measured_already = {tuple(row[:3]) for row in rows}
    for size, names in ((given.size, tuple(SHAPES)), (given.large, LARGE)):
        for name in names if size else ():
            shape, levels = SHAPES[name]
            path = stored(replace(shape, transactions=size))
            for level in levels:
                if (name, f"{size:,}", level) in measured_already:
                    continue
                whole = ask(path, level, "--window", "0", "--jobs", "1")
                one = ask(path, level, "--jobs", "1")
                all_ = ask(path, level, "--jobs", str(jobs))
                wrong += len({whole.status, one.status, all_.status}) > 1
                rows.append([
                    name, f"{size:,}", level, one.status, f"{whole.cpu:.1f}", f"{whole.megabytes:.0f}",
                    f"{whole.conflicts:,}", f"{one.windows:,}" if one.windows else "none", f"{one.cpu:.1f}",
                    f"{one.megabytes:.0f}", f"{one.conflicts:,}", f"{whole.solve:.2f}", f"{one.solve:.2f}",
                    f"{one.wall:.1f}", f"{all_.wall:.1f}",
                ])  # fmt: skip
                print(shown(rows[-1], widths), flush=True)
                keep()
    if given.write:
        about = [
            f"Simulated histories, 8 operations a transaction, as JSON Lines; *all jobs* are {jobs} threads. "
            "*CPU*, *wall* and *MB* are those of the whole command, reading included; *solve* is the wall time of the "
            "solver. Where no times and no log say in which order things happened, who read from whom does. "
            "On a machine with other work (see the load average) CPU and MB say something, and wall times do not.",
        ]
        lines = table(NAMES, rows, words=1)
        if far:
            asked = reach.answers(far)
            lines += ["", "## What was asked", "", *table(reach.MARK_NAMES, asked, words=4)]
            lines += [
                "",
                *(reach.__doc__ or "").strip().splitlines(),
                "",
                *table(reach.NAMES, far, words=1),
                "",
            ]
            lines += [f"- {line}" for line in reach.growth(far)]
        page("benchmarks-windows", "Windows", about, lines, arguments, script="windows")
    for told in reach.answers(far) if far else ():
        print(shown(told, (46, 14, 24, 4)))
    print(f"{len(rows) + len(far)} questions, {wrong} with different answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

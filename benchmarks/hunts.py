"""How soon does a hunt find what is known to be there?

Each row is a violation that was found before, hunted again with ten seeds: `boomslang hunt` as a user would type it, a
fresh process and a fresh server each time, stopped at the first violation or after its time. What is counted is commits
and seconds until it was found; `seconds` also hang on the machine, commits hardly do. A row's control is the same hunt
where the violation cannot be: it must find nothing.

    python benchmarks/hunts.py                     all of it; takes hours if much is not found
    python benchmarks/hunts.py --only duckdb       rows whose name has this in it
    python benchmarks/hunts.py --seeds 3 --write   three seeds, into docs/benchmarks-hunts.md
    python benchmarks/hunts.py --keep FILE         goes on where an earlier run ended: answers are kept there, hunt
                                                   by hunt, so that ten seeds can be gathered in several sittings
    python benchmarks/hunts.py --keep FILE --again --only galera    forgets what was kept of these rows, and asks anew
    python benchmarks/hunts.py --keep FILE --estimate           how long what is missing will take, and no more
    python benchmarks/hunts.py --keep FILE --no-run --write     the page of what was kept, and no more
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import machine

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "benchmarks-hunts.md"
CONTROLS = 2
"""Seeds of a control."""
SPARE = 120.0
"""Seconds beyond a hunt's own time in which it must have ended."""


@dataclass(frozen=True)
class Known:
    """A violation that is known to be there, and how it is hunted."""

    name: str
    command: str
    """After `boomslang hunt`."""
    minutes: float
    page: str = ""
    """Under docs/findings."""
    control: str = ""
    """The same where it cannot be found; empty: none."""


ROWS = (
    Known(
        "PostgreSQL 12.3, a list's birth",
        "--db postgres:12.3 --workload list-append --level ser",
        5,
        "postgres-list-birth.md",
        "--db postgres:12.6 --workload list-append --level ser",
    ),
    Known(
        "PostgreSQL 15.3, bitmap scan",
        "--db 'postgres:15.3?unique=no&scan=bitmap&rows=wide' --workload insert-if-no-next",
        2,
        "postgres-bitmap-scan.md",
        "--db 'postgres:15.18?unique=no&scan=bitmap&rows=wide' --workload insert-if-no-next",
    ),
    Known(
        "DuckDB, updates lost to deletes",
        "--db duckdb --workload randomrange",
        2,
        "duckdb-update-delete.md",
    ),
    Known(
        "MariaDB, own write not seen",
        "--db 'mariadb:?writes=update&snapshot_isolation=off' --workload same-value",
        1,
        "mariadb-same-value.md",
        "--db 'mariadb:?writes=update&snapshot_isolation=on' --workload same-value",
    ),
    Known(
        "Galera, write skew between nodes",
        "--db galera --db-level serializable --workload blindw --level ser",
        3,
        "galera-nodes.md",
        "--db 'galera:?nodes=1' --db-level serializable --workload blindw --level ser",
    ),
    Known(
        "SlateDB at snapshot, phantom write skew",
        "--db slatedb --db-level snapshot --workload insert-if-none --level ser",
        1,
        "",
        "--db slatedb --db-level 'serializable snapshot' --workload insert-if-none --level ser",
    ),
)


@dataclass(frozen=True)
class Between:
    """A violation that appears or goes between two versions, and how that is found out."""

    name: str
    command: str
    minutes: float
    """For each version."""
    versions: int


BETWEEN = (
    Between(
        "PostgreSQL 15, bitmap scan",
        "--bisect 'postgres:15.3..15.6?unique=no&scan=bitmap&rows=wide' --workload insert-if-no-next",
        2,
        4,
    ),
)


@dataclass(frozen=True)
class Hunt:
    """What came of one hunt."""

    found: bool
    commits: int
    seconds: float
    runs: int
    dangerous: int
    """Near misses in all runs that were checked."""
    problem: str = ""


def hunt(command: str, minutes: float, seed: int) -> Hunt:
    with tempfile.TemporaryDirectory(prefix="boomslang-hunts-") as folder:
        words = [sys.executable, "-m", "boomslang", "hunt", *shlex.split(command)]
        words += ["--for", f"{60 * minutes:.0f}s", "--seed", str(1000 * seed), "--json"]
        try:
            done = subprocess.run(
                [*words, "--out", f"{folder}/hunt"],
                capture_output=True,
                text=True,
                check=False,
                timeout=60 * minutes + SPARE,
            )
        except subprocess.TimeoutExpired:
            return Hunt(False, 0, 0.0, 0, 0, "to its end in time")
    if done.returncode not in (0, 1):
        return Hunt(
            False, 0, 0.0, 0, 0, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
        )
    told = json.loads(done.stdout)
    near = sum(each["near_misses"]["dangerous"] for each in told["tried"] if each["near_misses"])
    return Hunt(bool(told["invalid"]), told["committed"], told["seconds"], told["runs"], near)


def bisected(each: Between, kept: dict[str, Any], keep: Path | None, run: bool) -> list[str]:
    """What the command says; kept as hunts are."""
    key = f"{each.command} --for {each.minutes:g}m"
    if key not in kept and run:
        with tempfile.TemporaryDirectory(prefix="boomslang-hunts-") as folder:
            words = [sys.executable, "-m", "boomslang", "hunt", *shlex.split(each.command)]
            words += ["--for", f"{60 * each.minutes:.0f}s", "--out", f"{folder}/hunt"]
            limit = each.versions * (60 * each.minutes + SPARE)
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit)
        if done.returncode not in (0, 1):
            return [f"not run: {done.stderr.strip()[-200:]}"]
        kept[key] = {"lines": [line.strip() for line in done.stdout.splitlines() if line.strip()]}
        if keep is not None:
            keep.write_text(json.dumps(kept, indent=1) + "\n")
    return list(kept[key]["lines"]) if key in kept else ["not run yet"]


def middle(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})" if values else ""


def rows(
    known: tuple[Known, ...], seeds: int, kept: dict[str, Any], keep: Path | None, run: bool
) -> Iterator[str]:
    yield "| what | found | commits until found | seconds until found | near misses a 1,000 commits |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for each in known:
        named = f"[{each.name}](findings/{each.page})" if each.page else each.name
        for title, command, many in ((named, each.command, seeds), ("... control", each.control, CONTROLS)):
            if command:
                yield _row(
                    title,
                    [_asked(command, each.minutes, seed, kept, keep, run) for seed in range(1, many + 1)],
                )


def _key(command: str, minutes: float, seed: int) -> str:
    """What an answer is kept by."""
    return f"{command} --for {minutes}m --seed {seed}"


def _asked(
    command: str, minutes: float, seed: int, kept: dict[str, Any], keep: Path | None, run: bool
) -> Hunt:
    key = _key(command, minutes, seed)
    if key not in kept and not run:
        return Hunt(False, 0, 0.0, 0, 0, "yet")
    if key not in kept:
        done = hunt(command, minutes, seed)
        print(f"{key}: {done}", file=sys.stderr, flush=True)
        if done.problem:
            return done  # to be tried again in the next sitting
        kept[key] = vars(done)
        if keep is not None:
            keep.write_text(json.dumps(kept, indent=1) + "\n")
    return Hunt(**kept[key])


def _row(title: str, hunts: list[Hunt]) -> str:
    problems = [each.problem for each in hunts if each.problem]
    hunts = [each for each in hunts if not each.problem]
    if not hunts:
        return f"| {title} | not run {problems[0]} | | | |"
    found = [each for each in hunts if each.found]
    commits = sum(each.commits for each in hunts)
    near = 1000 * sum(each.dangerous for each in hunts) / max(1, commits)
    until = middle([each.commits for each in found]) if found else f"none in {commits:,}"
    return f"| {title} | {len(found)} of {len(hunts)} | {until} | {middle([h.seconds for h in found])} | {near:,.0f} |"


def page(options: argparse.Namespace) -> str:
    known = tuple(each for each in ROWS if options.only.lower() in each.name.lower())
    kept = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    words = [f"--seeds {options.seeds}", *([f"--only {shlex.quote(options.only)}"] if options.only else [])]
    lines = [
        "# Hunts: how soon they find what is known to be there",
        "",
        f"Measured by `python benchmarks/hunts.py {' '.join(words)} --write` on {machine()}.",
        "",
        "Each violation was found before. Here it is hunted again, as a user would, with other seeds: a fresh",
        "server each time, until the first violation or until its time is over. Figures are the median, and the least",
        "and most. A control is the same hunt where it cannot be found.",
        "",
        *rows(known, options.seeds, kept, options.keep, not options.no_run),
        "",
        "The commands, each with `--seed` 1000, 2000, ...:",
        "",
        *(f"    boomslang hunt {each.command} --for {each.minutes:g}m" for each in known),
        "",
    ]
    for between in BETWEEN:
        if options.only.lower() in between.name.lower():
            told = bisected(between, kept, options.keep, not options.no_run)
            lines += [
                f"## Since when: {between.name}",
                "",
                f"    boomslang hunt {between.command} --for {between.minutes:g}m",
                "",
                *(f"- {line}" for line in told),
                "",
            ]
    return "\n".join(lines)


def estimate(options: argparse.Namespace) -> str:
    """How long the hunts take that were not kept yet: those of a row by the mean of its kept ones, else its whole time,
    which is an upper bound but for the start of the server."""
    kept = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    lines, total = [], 0.0
    for each in ROWS:
        if options.only.lower() not in each.name.lower():
            continue
        for title, command, many in (
            (each.name, each.command, options.seeds),
            ("... control", each.control, CONTROLS),
        ):
            keys = [_key(command, each.minutes, seed) for seed in range(1, many + 1)] if command else []
            taken = [kept[key]["seconds"] for key in keys if key in kept and not kept[key]["problem"]]
            missing = sum(key not in kept for key in keys)
            mean = statistics.mean(taken) if taken else 60 * each.minutes
            total += missing * mean
            if missing:
                lines.append(f"{title}: {missing} hunts of {mean:.0f} s")
    return "\n".join([*lines, f"about {total / 60:.0f} minutes in all"])


def forget(keep: Path, only: str) -> None:
    """What was kept of these rows, which a changed hunt would find at another time."""
    mine = [each for each in ROWS if only.lower() in each.name.lower()]
    begin = tuple(f"{command} --for" for each in mine for command in (each.command, each.control) if command)
    kept = {key: told for key, told in json.loads(keep.read_text()).items() if not key.startswith(begin)}
    keep.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--estimate", action="store_true")
    options = parser.parse_args()
    if options.again and options.keep and options.keep.exists():
        forget(options.keep, options.only)
    if options.estimate:
        print(estimate(options))
        return 0
    text = page(options)
    if options.write:
        REPORT.write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

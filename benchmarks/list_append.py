"""How does the time to check a list-append history grow with its length?

The histories are what a Jepsen test of a database records: processes that each run one transaction at a time, of one
to four appends and list reads, over a few active keys; a key that has had its share of appends is replaced by a new
one. The database simulated here is serializable (or snapshot isolated). Each history is written as EDN, read and
checked; each check runs in a fresh process.

    python benchmarks/list_append.py             all sizes
    python benchmarks/list_append.py --write     ... into docs/benchmarks-lists.md
    python benchmarks/list_append.py --most 10000

The published comparison point is Elle (Kingsbury and Alvaro, VLDB 2020), made for just this workload, which its
authors report to check hundreds of thousands of transactions in tens of seconds. Elle looks for cycles in what the
lists show; a verdict here is complete where lists leave the order open, and comes with a witness.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cases import Case
from run import COLUMNS, Result, ladders, machine, plain, row, run_case
from simulate import DATA, HERE

REPORT = HERE.parent / "docs" / "benchmarks-lists.md"
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
LEVELS = ("rc", "si", "ser", "sser")
PROCESSES = 24
ACTIVE_KEYS = 10
APPENDS_PER_KEY = 128
LENGTH = (1, 4)


@dataclass
class Running:
    """A transaction in progress."""

    mops: list[tuple[str, int, int]]  # kind, key, element
    base: dict[int, int]
    """Of each key it touches, how many elements its snapshot holds."""
    results: list[str] = field(default_factory=list)


def history(transactions: int, database: str, seed: int = 1) -> Iterator[str]:
    """The lines of a history, one operation each. `database`: ser (it runs a transaction when it completes) or si."""
    rng = random.Random(seed)
    lists: dict[int, list[int]] = {}
    written: dict[int, int] = {}  # of each key, when it was last written: after how many commits
    active = list(range(ACTIVE_KEYS))
    next_key, elements, index, commits, begun = ACTIVE_KEYS, 0, 0, 0, 0
    running: dict[int, tuple[list[tuple[str, int, int]], int, dict[int, int]]] = {}

    def text(mops: list[str]) -> str:
        return "[" + " ".join(mops) + "]"

    def line(kind: str, process: int, mops: list[str]) -> str:
        nonlocal index
        index += 1
        return (
            f"{{:type :{kind}, :f :txn, :value {text(mops)}, :process {process}, "
            f":time {index * 1000}, :index {index - 1}}}\n"
        )

    while begun < transactions or running:
        process = rng.randrange(PROCESSES)
        if process not in running:
            if begun == transactions:
                continue
            begun += 1
            mops = []
            for _ in range(rng.randint(*LENGTH)):
                key = rng.choice(active)
                if rng.random() < 0.5:
                    elements += 1
                    mops.append(("append", key, elements))
                else:
                    mops.append(("r", key, 0))
            sizes = {key: len(lists.get(key, ())) for _, key, _ in mops}
            running[process] = (mops, commits, sizes)
            yield line("invoke", process, [f"[:{k} {key} {e or 'nil'}]" for k, key, e in mops])
            continue
        mops, base, sizes = running.pop(process)
        appends = {key for kind, key, _ in mops if kind == "append"}
        if database == "si" and any(written.get(key, 0) > base for key in appends):
            yield line("fail", process, [f"[:{k} {key} {e or 'nil'}]" for k, key, e in mops])
            continue
        own: dict[int, list[int]] = {}
        shown = []
        for kind, key, element in mops:
            if kind == "append":
                own.setdefault(key, []).append(element)
                shown.append(f"[:append {key} {element}]")
            else:
                held = lists.get(key, [])
                seen = (held[: sizes[key]] if database == "si" else held) + own.get(key, [])
                shown.append(f"[:r {key} [{' '.join(map(str, seen))}]]" if seen else f"[:r {key} nil]")
        commits += 1
        for key, added in own.items():
            lists.setdefault(key, []).extend(added)
            written[key] = commits
            if len(lists[key]) >= APPENDS_PER_KEY and key in active:
                active[active.index(key)] = next_key
                next_key += 1
        yield line("ok", process, shown)


def stored(transactions: int, database: str) -> Path:
    path = DATA / f"list-append-{database}-{transactions}.edn"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("w") as file:
            file.writelines(history(transactions, database))
        part.rename(path)
    return path


def cases(most: int) -> Iterator[Case]:
    for database in ("ser", "si"):
        for size in SIZES:
            for level in LEVELS if size <= most else ():
                holds = level == "rc" or (level == "si" if database == "si" else True)
                yield Case(
                    f"list-append {size:,} ({database.upper()} database)",
                    stored(size, database),
                    level,
                    "valid" if holds else "invalid" if size >= 1_000 else None,
                    ladder=f"list-append {level} ({database.upper()} database)",
                )


def report(results: list[Result], about: str) -> str:
    names = [name for name, _ in COLUMNS[:-1]]
    rule = ["---" if name in ("case", "level", "verdict") else "---:" for name in names]
    lines = [
        "# Lists: time over length",
        "",
        f"Measured by `python benchmarks/list_append.py --write` on {about}.",
        "",
        f"{PROCESSES} processes, {LENGTH[0]} to {LENGTH[1]} operations a transaction, {ACTIVE_KEYS} keys at a time",
        f"with {APPENDS_PER_KEY} appends each, as EDN. The columns are those of [benchmarks.md](benchmarks.md).",
        'Elle, made for this workload, is reported by its authors to check "hundreds of thousands of',
        'transactions" in "tens of seconds" (Kingsbury and Alvaro, VLDB 2020); that was on other machines, so it',
        "is a scale and no race.",
        "",
        f"| {' | '.join(names)} |",
        f"| {' | '.join(rule)} |",
        *(f"| {' | '.join(row(result)[:-1])} |" for result in results),
        "",
        "The exponent of total time over size; 1 is linear:",
        "",
        "| ladder | exponent |",
        "| --- | ---: |",
        *(f"| {name} | {value:.2f} |" for name, value in ladders(results).items()),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="list_append.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=max(SIZES), help="transactions of the longest history")
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}")
    given = parser.parse_args(arguments)
    about = machine()
    print(about, plain(name for name, _ in COLUMNS), sep="\n\n")
    results = []
    for case in cases(given.most):
        results.append(run_case("lists", case))
        print(plain(row(results[-1])), flush=True)
    for ladder, exponent in ladders(results).items():
        print(f"growth of {ladder}: total ~ size^{exponent:.2f}")
    if given.write:
        REPORT.write_text(report(results, about))
    wrong = [result for result in results if not result.as_expected]
    print(f"{len(results)} checks, {len(wrong)} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

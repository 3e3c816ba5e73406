"""How long does an explanation take, and is its core the smallest? Planted violations in long histories.

The simulated database runs transactions concurrently and keeps its promise, but for one violation whose smallest
core is known. *explain* is all that comes after the answer: finding the core, shrinking it, looking for a smaller
one, the argument and its name; the story and the document are made as well.

    python benchmarks/explain.py --sizes 1000,10000,100000 --write
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from phases import DOCS, MARK, parser, shown, table
from run import machine
from simulate import BLINDW, History, stored

PAGE = DOCS / "benchmarks-explain.md"
LIMIT = 5.0
"""Seconds that an explanation may take."""

PLANTED = {
    "lost-update": (("si", "ser", "pl-2+"), 2, "lost update"),
    "write-skew": (("ser", "rr"), 2, "write skew"),
    "read-skew": (("si", "ser"), 1, "read skew"),
    "long-fork": (("si", "prefix", "ser"), 2, "long fork"),
    "stale-read": (("sser", "pl-fcv"), 2, "stale read"),
    "aborted-read": (("rc", "ser"), 2, "aborted read"),
    "intermediate-read": (("rc", "ser"), 1, "intermediate read"),
    "thin-air": (("rc", "ser"), 1, "read from nowhere"),
}
"""What is planted: the levels to ask, the transactions of the smallest core, the name."""
WILD = ("ra", "pl-2+", "rr", "si", "ser")
"""Asked of a database that keeps only read committed: who knows what is the smallest there."""

NAMES = (
    "transactions",
    "database",
    "planted",
    "level",
    "answer s",
    "explain s",
    "core",
    "smallest",
    "found",
    "lines",
)
WIDTHS = (12, 8, 18, 8, 8, 9, 5, 8, 20, 5)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        print(MARK + json.dumps(measure(Path(arguments[1]), arguments[2])))
        return 0
    made = parser(__doc__, "benchmarks-explain")
    made.add_argument("--sizes", default="1000,10000")
    given = made.parse_args(arguments)
    print(shown(NAMES, WIDTHS))
    rows, wrong = [], 0
    for size in (int(word) for word in given.sizes.split(",")):
        for history, level, smallest, name in questions(size):
            found = run(stored(history), level)
            bad = found["explain"] > LIMIT or (
                smallest and (found["core"], found["name"]) != (smallest, name)
            )
            wrong += bool(bad)
            rows.append(
                [
                    f"{size:,}", history.level, "" if history.plant == "none" else history.plant, level,
                    f"{found['answer']:.2f}", f"{found['explain']:.2f}", str(found["core"]),
                    str(smallest or "?"), found["name"], str(found["lines"]),
                ]
            )  # fmt: skip
            print(shown(rows[-1], WIDTHS), " <- not as it should be" if bad else "", flush=True)
    if given.write:
        slowest = max(float(row[5]) for row in rows)
        about = (
            "BlindW with a violation planted (on keys that nothing else uses, in transactions that do other things as "
            "well), and without, on a database that keeps read committed only. *core* is how many transactions the "
            "core found cannot do without, *smallest* how many the planted one needs. The slowest explanation took "
            f"{slowest:.2f} s."
        )
        command = " ".join(["python benchmarks/explain.py", *arguments])
        head = [
            "# How long an explanation takes",
            "",
            f"Measured by `{command}` on {machine()}.",
            "",
            about,
            "",
        ]
        PAGE.write_text("\n".join([*head, *table(NAMES, rows, words=4)]) + "\n")
    print(f"{len(rows)} explanations, {wrong} not as they should be")
    return 1 if wrong else 0


def questions(size: int) -> list[tuple[History, str, int, str]]:
    """The histories of a size, the levels to ask, and what is known of the answer."""
    base = replace(BLINDW, transactions=size, times=True, rmw=0.2)
    asked = [
        (replace(base, plant=plant), level, core, name)
        for plant, (levels, core, name) in PLANTED.items()
        for level in levels
    ]
    wild = replace(base, level="rc", keys=max(50, size // 10))
    return asked + [(wild, level, 0, "") for level in WILD]


def run(path: Path, level: str) -> dict[str, Any]:
    """One question in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--child", str(path), level]
    child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    for line in child.stdout.splitlines():
        if line.startswith(MARK):
            found: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return found
    raise SystemExit(f"{path} at {level}: {(child.stderr.strip().splitlines() or ['no answer'])[-1]}")


def measure(path: Path, level: str) -> dict[str, Any]:
    from boomslang import Checker, read_trace
    from boomslang.explain.document import document

    trace = read_trace(path)
    start = time.perf_counter()
    verdict = Checker(trace).check(level)
    found = verdict.counterexample
    if found is None:
        return {
            "answer": time.perf_counter() - start,
            "explain": 0.0,
            "core": 0,
            "name": verdict.status,
            "lines": 0,
        }
    checked = time.perf_counter()
    lines = list(found.lines())
    document(verdict)
    explain = verdict.stats["explain"] + time.perf_counter() - checked
    return {
        "answer": checked - start - verdict.stats["explain"],
        "explain": explain,
        "core": len(found.core.transactions),
        "name": "no name" if found.anomaly is None else found.anomaly.name,
        "lines": len(lines),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

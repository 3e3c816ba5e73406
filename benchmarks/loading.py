"""How fast is each format loaded?

A history is written in every format by our own writers, long enough for some 30 MB of it, and each file is read in a
fresh process. Seconds mean little between machines, so they are compared with merely reading the same bytes, and the
operations that a second brings with those of JSON Lines. Each is read by one thread, so that MB a second of CPU are
those of a core; JSON Lines also by two, which shows on two idle cores only.

    python benchmarks/loading.py                    every format
    python benchmarks/loading.py --only jepsen      the formats whose name holds this
    python benchmarks/loading.py --write            ... into docs/benchmarks-formats.md, with its picture

There are two histories: one of puts and gets, which every format can say, and one of lists, for those that have
them. What a format has no words for, such as times, is left out. As a file of so many bytes holds more transactions
in one format than in another, and more transactions touch more memory, ours are asked of one history, too.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import list_append
import numpy as np
import page_plots
from run import MARK, machine, read_bytes
from simulate import DATA, HERE, History, generate

from boomslang.trace import Trace, read_trace
from boomslang.trace.formats import FORMATS, Format
from boomslang.trace.scalars import Scalars

REPORT = HERE.parent / "docs" / "benchmarks-formats.md"
LISTS = re.compile(r"\b(lists?|appends?)\b")
SAMPLE = 3_000
"""Transactions that show how long a history has to be."""
TIMES = 3
OURS = ("jsonl", "arrow", "parquet")


# ---------------------------------------------------------------- in the child: one load


def measure(path: Path, short: Path, format: str) -> dict[str, Any]:
    """`short`, of the same format, is loaded first: what has to be imported for that is not the subject."""
    read_trace(short, format=format)
    read = math.inf
    for _ in range(4):  # the best counts: disks are not the subject
        start = time.perf_counter()
        size = read_bytes(path)
        read = min(read, time.perf_counter() - start)
    start, busy = time.perf_counter(), time.process_time()
    trace = read_trace(path, format=format, jobs=1)
    load, cpu = time.perf_counter() - start, time.process_time() - busy
    two = math.nan
    if format == "jsonl":
        start = time.perf_counter()
        read_trace(path, format=format, jobs=2)
        two = time.perf_counter() - start
    operations = len(trace.op_kind) + len(trace.item_key)
    counts = {"bytes": size, "transactions": len(trace), "operations": operations}
    return {**counts, "read": read, "load": load, "cpu": cpu, "two": two}


# ---------------------------------------------------------------- in the parent: all of them


def registers(transactions: int, folder: Path) -> Trace:
    """Puts and gets with times, of a serializable database."""
    path = folder / "source.jsonl"
    generate(History(transactions=transactions, times=True), path)
    trace = read_trace(path)
    path.unlink()
    return trace


def lists(transactions: int, folder: Path) -> Trace:
    """Appends and list reads."""
    path = folder / "source.edn"
    with path.open("w") as file:
        file.writelines(list_append.history(transactions, "ser"))
    trace = read_trace(path)
    path.unlink()
    return trace


def named(trace: Trace) -> Trace:
    """With keys that are names, for formats that have no others."""
    names = [f"k{trace.keys[i]}" for i in range(len(trace.keys))]
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return replace(trace, keys=Scalars.of(names), key_rank=rank)


def sayable(format: Format, trace: Trace) -> Trace | None:
    """The trace as this format can have it, if it can."""
    for form in (trace, named(trace)):
        if format.write is not None and not any(loss.fatal for loss in format.losses(form)):
            return form
    return None


HISTORIES: dict[str, Callable[[int, Path], Trace]] = {"registers": registers, "lists": lists}


def says_lists(format: Format, trace: Trace) -> bool:
    """Not with the times and names, but with the operations."""
    return not any(LISTS.search(loss.what) for loss in format.losses(trace))


@dataclass(frozen=True)
class Load:
    """One line of the table."""

    format: str
    history: str
    figures: dict[str, Any]

    @property
    def rate(self) -> float:
        """Operations a second of CPU; the elements of lists count."""
        return float(self.figures["operations"] / self.figures["cpu"])


def loads(megabytes: float, only: str, folder: Path) -> Iterator[Load]:
    for history, make in HISTORIES.items():
        sample = make(SAMPLE, folder)
        for format in FORMATS:
            small = sayable(format, sample) if only in format.name else None
            if small is None or (history == "lists" and not says_lists(format, small)):
                continue
            short = written(format, small, folder / "short")
            size = read_bytes(short)
            transactions = max(1, round(len(sample) * megabytes * 1e6 / size))
            large = sayable(format, make(transactions, folder))
            assert large is not None
            path = written(format, large, folder / f"{format.name}-{history}")
            yield Load(format.name, history, in_child(path, short, format.name))
            remove(path)
            remove(short)


def loads_of_one_history(megabytes: float, folder: Path) -> Iterator[Load]:
    """Our own formats; so many megabytes of it are JSON Lines."""
    for history, make in HISTORIES.items():
        sample = make(SAMPLE, folder)
        large: Trace | None = None
        for format in sorted((f for f in FORMATS if f.name in OURS), key=lambda f: OURS.index(f.name)):
            short = written(format, sample, folder / "short")
            if large is None:
                large = make(max(1, round(len(sample) * megabytes * 1e6 / read_bytes(short))), folder)
            path = written(format, large, folder / f"{format.name}-{history}")
            yield Load(format.name, history, in_child(path, short, format.name))
            remove(path)
            remove(short)


def written(format: Format, trace: Trace, path: Path) -> Path:
    assert format.write is not None
    format.write(trace, path)
    return path


def remove(path: Path) -> None:
    for file in [*path.iterdir()] if path.is_dir() else []:
        file.unlink()
    path.rmdir() if path.is_dir() else path.unlink()


def in_child(path: Path, short: Path, format: str) -> dict[str, Any]:
    """The best of a few fresh processes."""
    command = [sys.executable, str(Path(__file__).resolve()), "--child", str(path), str(short), format]
    found: list[dict[str, Any]] = []
    for _ in range(TIMES):
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        line = next(line for line in child.stdout.splitlines() if line.startswith(MARK))
        found.append(json.loads(line.removeprefix(MARK)))
    return found[0] | {
        name: min(figures[name] for figures in found) for name in ("read", "load", "cpu", "two")
    }


# ---------------------------------------------------------------- showing it

COLUMNS = (
    ("format", 14),
    ("history", 9),
    ("MB", 6),
    ("transactions", 12),
    ("operations", 10),
    ("read s", 7),
    ("load s", 7),
    ("CPU s", 7),
    ("load/read", 9),
    ("MB/s", 7),
    ("MB/s of CPU", 11),
    ("2 jobs", 6),
    ("operations/CPU s", 16),
    ("JSON Lines = 1", 14),
)


def row(load: Load, ours: Load | None) -> list[str]:
    """`ours`: the same history as JSON Lines."""
    f = load.figures
    size = f["bytes"] / 1e6
    return [
        load.format,
        load.history,
        f"{size:.1f}",
        f"{f['transactions']:,}",
        f"{f['operations']:,}",
        f"{f['read']:.3f}",
        f"{f['load']:.3f}",
        f"{f['cpu']:.3f}",
        f"{f['load'] / f['read']:.1f}",
        f"{size / f['load']:.0f}",
        f"{size / f['cpu']:.0f}",
        "" if math.isnan(f["two"]) else f"{f['load'] / f['two']:.2f}",
        f"{load.rate:,.0f}",
        "" if ours is None else f"{load.rate / ours.rate:.2f}",
    ]


def rows(found: list[Load]) -> Iterator[list[str]]:
    ours = {load.history: load for load in found if load.format == "jsonl"}
    return (row(load, ours.get(load.history)) for load in found)


def plain(cells: Iterable[str]) -> str:
    pairs = zip(cells, COLUMNS, strict=True)
    return "  ".join(
        c.ljust(w) if name in ("format", "history") else c.rjust(w) for c, (name, w) in pairs
    ).rstrip()


def table(found: list[Load]) -> list[str]:
    names = [name for name, _ in COLUMNS]
    rule = ["---" if name in ("format", "history") else "---:" for name in names]
    return [f"| {' | '.join(cells)} |" for cells in (names, rule, *rows(found))]


def report(found: list[Load], one: list[Load], about: str, options: str = "") -> str:
    lines = [
        "# How fast each format is loaded",
        "",
        f"Measured by `python benchmarks/loading.py {options}--write` on {about}.",
        "",
        "One history in every [format](formats.md) that can say it, long enough for a file of about the same size,",
        f"each loaded in a fresh process (the best of {TIMES}). *read* is the time to read the bytes and forget them,",
        "from warm memory: the yardstick, which no loader can beat",
        "(a file that is mapped into memory is not read until it is used).",
        "*CPU* is what loading used, and says more than the wall clock on a busy machine. One thread loads; *2 jobs*",
        "is how many times as fast two are, by the wall clock: on a busy machine it says nothing.",
        "*operations* counts the elements of lists and the rows of scans too. The last column",
        "is operations a second of CPU, with those of JSON Lines as 1. *registers* are puts and gets with times, where",
        "the format has them; *lists* are appends and list reads.",
        "",
        *table(found),
        "",
        "## Our own formats, of one history",
        "",
        "Above, a format that packs well holds more transactions in as many bytes, and more transactions touch more",
        "memory. Here each file holds the same.",
        "",
        *table(one),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        print(MARK + json.dumps(measure(Path(arguments[1]), Path(arguments[2]), arguments[3])))
        return 0
    parser = argparse.ArgumentParser(prog="loading.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=30, help="about so many in each format (30)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only formats whose name holds TEXT")
    parser.add_argument("--write", action="store_true", help=f"write docs/{REPORT.name}")
    given = parser.parse_args(arguments)
    if given.write and given.only:
        parser.error("found --only with --write; the page is of all formats")
    about = machine()
    print(about, plain(name for name, _ in COLUMNS), sep="\n\n")
    found: list[Load] = []
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        for load in loads(given.megabytes, given.only, Path(folder)):
            found.append(load)
            print(plain([*rows(found)][-1]), flush=True)
        one: list[Load] = []
        for load in () if given.only else loads_of_one_history(3 * given.megabytes, Path(folder)):
            one.append(load)
            print(plain([*rows(one)][-1]), flush=True)
    if given.write:
        usual = given.megabytes == parser.get_default("megabytes")
        REPORT.write_text(report(found, one, about, "" if usual else f"--megabytes {given.megabytes:g} "))
        return page_plots.main([REPORT.stem])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

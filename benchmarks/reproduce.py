"""The paper's evaluation, figure by figure: the paper's number beside ours, on one page.

Every measurement is a *cell*: one check in a fresh process with a limit. A cell that was measured is kept in
`bench-data/reproduce/` under all that determines it, so that an interrupted run goes on where it stopped, and a figure
can be measured alone. (`--fresh` forgets them: a cell does not know which version of the program made it.) What cannot
be had here says "not here" and what it needs.

    python benchmarks/reproduce.py                         all figures, 60 s a cell
    python benchmarks/reproduce.py --only ablation         one of them
    make reproduce QUICK=1                                 smaller sizes, same page
    make reproduce LIMIT=600                               the paper's limit
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from phases import DOCS, Run, Way, run, table
from run import machine
from simulate import BLINDW, DATA, SOURCE, History, stored

NOT_HERE = "not here"


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    quick: bool = False
    limit: float = 60.0
    divide: int = 1
    """All sizes by this: for tests."""
    store: Path = DATA / "reproduce"

    def size(self, paper: int, quick: int) -> int:
        return max(20, (quick if self.quick else paper) // self.divide)

    def cell(self, history: History, way: Way) -> Run:
        """One check; from the store, if it was made before."""
        way = replace(way, timeout=self.limit)
        what = json.dumps([asdict(history), asdict(way), hashlib.sha256(SOURCE.read_bytes()).hexdigest()])
        kept = self.store / f"{hashlib.sha256(what.encode()).hexdigest()[:20]}.json"
        if kept.exists():
            return Run(way, **json.loads(kept.read_text()))
        found = run(stored(history), way)
        self.store.mkdir(parents=True, exist_ok=True)
        data = {name: value for name, value in asdict(found).items() if name != "way"}
        fresh = kept.with_suffix(".part")
        fresh.write_text(json.dumps(data))
        fresh.rename(kept)
        return found


@dataclass(frozen=True)
class Figure:
    """A table or figure of the paper."""

    name: str
    title: str
    says: str
    """What the paper says of it."""
    make: Callable[[Plan], list[str]]


def _seconds(found: Run) -> str:
    return f"{found.total:.2f}" if found.status in ("valid", "invalid") else found.status


# --- "Boomslang can check various combinations"

COMBINATIONS = (
    ("SSER", "Tapir", "13.2K", "BlindW-T", 1.14, "Tapir's sources and three machines"),
    ("SSER", "Tapir", "9.1K", "Retwis", 0.63, "Tapir's sources and three machines"),
    ("SER", "CockroachDB 25.1.4", "10.5K", "BlindW-C", 4.45, "a CockroachDB server"),
    ("SER", "CockroachDB 25.1.4", "18.2K", "TPC-C", 18.54, "a CockroachDB server"),
    ("SER", "PostgreSQL 15.2", "9.8K", "RUBiS", 2.81, ""),
    ("SER", "PostgreSQL 15.2", "10.1K", "Twitter", 2.43, ""),
    ("SER", "YugaByteDB 2.25.1.0", "10.4K", "BlindW-C", 4.4, "a YugabyteDB server"),
    ("SER", "YugaByteDB 2.25.1.0", "15.3K", "TPC-C", 10.65, "a YugabyteDB server"),
    ("SI", "TiKV 7.6.0", "11.5K", "JuiceFS 1.2.3", 10.03, "a TiKV cluster"),
    ("SI", "TiKV 7.6.0", "10K", "RandomBench", 370.81, "a TiKV cluster"),
    ("SI", "YugaByteDB 2.25.1.0", "10.3K", "RUBiS", 4.08, "a YugabyteDB server"),
    ("SI", "YugaByteDB 2.25.1.0", "10.4K", "Twitter", 4.42, "a YugabyteDB server"),
    ("SI", "TiDB 8.5.4", "10K", "RandomRange", 16.76, "a TiDB server"),
    ("RR", "MariaDB 12.1.2", "10K", "BlindW", 3.25, ""),
    ("RR", "MySQL 9.5.0", "10K", "BlindW", 2.47, ""),
    ("PL-2+", "Port", "0.8K", "BlindW-E", 0.2, "Port's sources"),
    ("RC", "PostgreSQL 15.2", "10.1K", "BlindW-C", 2.99, ""),
    ("RC", "PostgreSQL 15.2", "14.6K", "TPC-C", 5.94, ""),
    ("RC", "MariaDB 12.1.2", "10K", "BlindW", 5.33, ""),
    ("RC", "MySQL 9.5.0", "10K", "BlindW", 5.63, ""),
)
"""Level, database, transactions, workload, the paper's seconds; and what it needs that cannot be had here."""


def combinations(plan: Plan) -> list[str]:
    rows = []
    for level, database, size, workload, paper, needs in COMBINATIONS:
        ours = f"{NOT_HERE}: needs {needs}" if needs else "see [what was recorded](benchmarks-recorded.md)"
        rows.append([level, database, size, workload, f"{paper:g}", ours])
    return table(("level", "database", "transactions", "workload", "paper s", "ours s"), rows, 4)


# --- the ablation

PASSES = ("prune", "merge", "prioritize", "segments")
SETTINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("none", "over 600 (noOpt)", ()),
    *((name, "", (name,)) for name in PASSES),
    *((f"all but {name}", "", tuple(p for p in PASSES if p != name)) for name in PASSES),
    ("all", "", PASSES),
)
"""The paper gives its bars as a picture, with one number in its text."""


def ablation(plan: Plan) -> list[str]:
    size = plan.size(10_000, 500)
    history = replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)
    rows = []
    for label, paper, passes in SETTINGS:
        found = plan.cell(history, Way("ser", "clingo", passes))
        rows.append(
            [label, paper or "in a picture", *found.cells(), str(found.superpositions), str(found.left)]
        )
    names = (
        "passes",
        "paper s",
        "verdict",
        "parse",
        "construct",
        "optimise",
        "encode",
        "solve",
        "total s",
        "MB",
    )
    about = f"{size:,} transactions, {history.keys:,} keys, 32 sessions, serializable, clingo."
    return [about, "", *table((*names, "superpositions", "left"), rows, 3)]


# --- the encodings


def encodings(plan: Plan) -> list[str]:
    sizes = [plan.size(n, n // 50) for n in ((10_000,) if plan.quick else (10_000, 20_000, 40_000, 80_000))]
    rows = []
    for size in sizes:
        history = replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)
        cells = [
            plan.cell(history, Way("strong-session-si", "clingo", PASSES, name))
            for name in ("viper", "polysi")
        ]
        native = plan.cell(history, Way("strong-session-si"))
        rows.append([f"{size:,}", *map(_seconds, cells), _seconds(native)])
    return table(("transactions", "Viper's s", "PolySI's s", "native s"), rows, 1)


# --- superpositions and scaling


def superpositions(plan: Plan) -> list[str]:
    size, rows = plan.size(2_000, 200), []
    for share in (1, 2, 4, 8):
        history = replace(BLINDW, transactions=size, keys=max(3, size // share), sessions=32)
        found = plan.cell(history, Way("ser", "clingo", PASSES))
        native = plan.cell(history, Way("ser"))
        rows.append([f"{found.superpositions:,}", str(found.left), _seconds(found), _seconds(native)])
    return table(("superpositions", "left", "clingo s", "native s"), rows, 0)


def scaling(plan: Plan) -> list[str]:
    rows = []
    for paper in (10_000, 50_000, 100_000):
        size = plan.size(paper, paper // 20)
        history = replace(BLINDW, transactions=size, sessions=32)
        cells = [plan.cell(history, Way(level)) for level in ("ser", "si", "rc")]
        rows.append([f"{size:,}", *map(_seconds, cells), *(f"{found.megabytes:.0f}" for found in cells)])
    return table(("transactions", "SER s", "SI s", "RC s", "SER MB", "SI MB", "RC MB"), rows, 1)


def elsewhere(page: str) -> Callable[[Plan], list[str]]:
    return lambda plan: [f"Measured by a script of its own: [{page}]({page})."]


FIGURES = (
    Figure(
        "combinations", "Boomslang can check various combinations", "Every row within 371 s.", combinations
    ),
    Figure("violations", "Real-world violations", "18 rows, each within 26 s.", elsewhere("violations.md")),
    Figure("loc", "Lines of code of each checker", "238 to 364 lines a checker.", elsewhere("loc.md")),
    Figure("encodings", "PolySI's and Viper's encodings of SI", "Viper's is slightly faster.", encodings),
    Figure("peers", "Others beside us", "Cobra, Viper, PolySI, Elle.", elsewhere("benchmarks-peers.md")),
    Figure(
        "ablation",
        "Decomposition of run time",
        "Over 600 s without optimisations; pruning is worth most.",
        ablation,
    ),
    Figure("superpositions", "Run time over superpositions", "It grows superlinearly.", superpositions),
    Figure("scaling", "Scaling of SER, SI and RC", "To 100K transactions.", scaling),
)


def page(figures: Sequence[Figure], plan: Plan, arguments: Sequence[str]) -> str:
    command = " ".join(["python benchmarks/reproduce.py", *arguments])
    lines = ["# The paper's evaluation, and ours", "", f"Measured by `{command}` on {machine()}.", ""]
    lines += [f"`unknown` is the limit of {plan.limit:g} s a cell. Seconds include reading the trace.", ""]
    for figure in figures:
        print(f"{figure.name} ...", flush=True)
        lines += [f"## {figure.title}", "", f"The paper: {figure.says}", "", *figure.make(plan), ""]
    return "\n".join(lines[:-1]) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="reproduce.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], choices=[f.name for f in FIGURES])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, same page")
    parser.add_argument("--limit", type=float, default=60, help="seconds a cell")
    parser.add_argument("--divide", type=int, default=1, help="all sizes by this")
    parser.add_argument(
        "--store", type=Path, default=DATA / "reproduce", help="where measured cells are kept"
    )
    parser.add_argument("--fresh", action="store_true", help="measure all cells anew")
    parser.add_argument("--out", type=Path, default=DOCS / "evaluation.md")
    given = parser.parse_args(arguments)
    plan = Plan(given.quick, given.limit, given.divide, given.store)
    for kept in given.store.glob("*.json") if given.fresh else ():
        kept.unlink()
    figures = [figure for figure in FIGURES if not given.only or figure.name in given.only]
    given.out.write_text(page(figures, plan, arguments))
    print(f"wrote {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Every public history of the corpus, decided at every level, and a page about it: docs/corpus.md.

The histories are read in place, from the folder that BOOMSLANG_CORPUS names or that lies beside the repository. Each
is loaded and decided in a process of its own, every level with a limit of a minute; no verdict is taken on trust:
each witness is replayed, each core refuted by Z3.

    python benchmarks/corpus.py                 decide everything, write docs/corpus.md
    python benchmarks/corpus.py --check         decide everything, compare with docs/corpus.md
    python benchmarks/corpus.py --only galera   just look at the histories whose path holds this

Exit code 1 if anything is not as documented, undecided or broken (with --check: or not as on the page), else 0.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "corpus.md"
CORPUS = Path(os.environ.get("BOOMSLANG_CORPUS", HERE.parent.parent / "shared" / "corpus"))
LIMIT = 60.0  # seconds, for a level
MARK = "decided: "  # opens the one line of a child's output that is for the parent

STRONG_SESSION = "strong-session-"
COLUMNS = {"ser": "strong-session-serializable", "si": "strong-session-snapshot-isolation"}
"""What the table's columns mean here: its levels all include session order."""
PLAIN = ("rc", "rr", "si", "ser", "sser")
ASKED = (*PLAIN, *(f"{STRONG_SESSION}{level}" for level in PLAIN), "strong-si")
"""The levels of the page. The others take their turn in tests/test_corpus.py and in tests/fuzz.py."""
STATUS = {"ok": "valid", "VIOL": "invalid"}

COMMITTED = "dbcop-bincode-committed"
"""The reading of partial transactions that the published verdicts of table 2 rest on."""

ELSEWHERE = {
    # Verdicts that are documented, but not in the corpus's table: its formats.md (TimeKiller checks SI at the times
    # that the database gave, which is at least strong SI), Elle's and elle-cli's own tests.
    "timekiller/format-kv.json": {"strong-snapshot-isolation": "valid"},
    "timekiller/format-list.json": {"strong-snapshot-isolation": "valid"},
    "elle/paper-example.edn": {"strict-serializable": "invalid"},
    "elle/si-without-g-single.edn": {"snapshot-isolation": "valid", "serializable": "invalid"},
    "elle-cli/paper-example.edn": {"strict-serializable": "invalid"},
    "elle-cli/paper-example.json": {"strict-serializable": "invalid"},
    "elle-cli/list-append-gh-30.edn": {"serializable": "invalid"},
}


@dataclass(frozen=True)
class Group:
    title: str
    about: str
    folder: str
    format: str | None = None


GROUPS = (
    Group("Cobra: RocksDB", "Valid runs of Cobra's benchmarks: BlindW, RUBiS, Twitter.", "cobra/one-shot"),
    Group(
        "Cobra: real violations",
        "CockroachDB beta of 2016 (`cock-G2`), CockroachDB 2.1 (`cock-blog`: reads of writes that never committed), "
        "YugabyteDB 1.3 (`yuga-G2-b`).",
        "cobra/ser-violation",
    ),
    Group(
        "PolySI: PostgreSQL",
        "PostgreSQL's repeatable read, which is snapshot isolation: it holds, and serializability mostly does not. "
        "A name is sessions, transactions a session, operations a transaction, keys, share of reads, distribution.",
        "polysi/fig7",
    ),
    Group(
        "PolySI: real violations",
        "A lost update of MariaDB Galera 10.7, a causality violation of Dgraph 21.12.",
        "polysi/violations",
    ),
    Group("VeriStrong: values that repeat", "PostgreSQL 15, with few values to write.", "veristrong/fig"),
    Group("Elle", "List-append and register histories of Jepsen's checker, with times.", "elle"),
    Group("TimeKiller", "Histories with the database's own start and commit timestamps.", "timekiller"),
    Group("AWDIT", "The inputs of its test suite.", "awdit"),
    Group(
        "dbcop's runs of 2019, as published checkers read them",
        "CockroachDB 2.1 and Galera. A *partial* transaction, in which some operation failed and the commit succeeded, "
        f"counts as committed with its successful operations (`--format {COMMITTED}`). The documented verdicts rest "
        "on this reading, which is almost certainly wrong: after a failed statement such a commit is a rollback.",
        "veristrong/table2",
        COMMITTED,
    ),
    Group(
        "dbcop's runs of 2019, as Boomslang reads them",
        "The same files. Whether a partial transaction committed is not known, so it is unknown: what nobody saw of "
        "it need not have happened.",
        "veristrong/table2",
    ),
)


# ---------------------------------------------------------------- what there is


@dataclass(frozen=True)
class History:
    path: str
    group: Group
    documented: dict[str, str] = field(default_factory=dict)
    """level -> status"""

    @property
    def name(self) -> str:
        """The path, without what all of its group have in common."""
        short = self.path.removesuffix("/history.bincode").removesuffix("/hist-00000")
        folder = self.group.folder
        common = folder if short.startswith(f"{folder}/") else folder.rpartition("/")[0]
        return short.removeprefix(f"{common}/")

    @property
    def twin(self) -> str | None:
        """The same run in another format."""
        return f"{self.path.removesuffix('json')}log" if self.path.endswith("/json") else None


def histories() -> list[History]:
    """Those of the corpus, group by group; none where there is no corpus."""
    table = CORPUS / "histories.tsv"
    if not table.exists():
        return []
    with table.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [
        History(row["path"], group, documented(row, group))
        for group in GROUPS
        for row in rows
        if row["path"].startswith(group.folder)
    ]


def documented(row: dict[str, str], group: Group) -> dict[str, str]:
    if group.folder == "veristrong/table2" and group.format is None:
        return {}  # documented for the other reading
    known = {level: STATUS[row[column]] for column, level in COLUMNS.items() if row[column] in STATUS}
    return {**known, **ELSEWHERE.get(row["path"], {})}


# ---------------------------------------------------------------- in the child: one history


def decide(history: History, limit: float = LIMIT) -> dict[str, Any]:
    """Load the history and decide every level, in this process."""
    import numpy as np

    from boomslang import Checker, read_trace
    from boomslang.levels import find_level
    from boomslang.trace import Outcome

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # partial transactions: the page says how they were read
        trace = read_trace(CORPUS / "histories" / history.path, format=history.group.format)
    loaded = time.perf_counter() - start
    checker = Checker(trace, timeout=limit)
    levels = {}
    for level in map(find_level, ASKED):
        if (level.needs_times and not trace.has_times) or (level.needs_sessions and not trace.has_sessions):
            continue  # it is no level of its own
        start = time.perf_counter()
        verdict = checker.check(level)
        seconds = time.perf_counter() - start
        found = verdict.counterexample
        levels[level.short] = {
            "name": level.name,
            "status": verdict.status,
            "seconds": seconds,
            "anomaly": None if found is None or found.anomaly is None else found.anomaly.code,
            "wrong": certificate_error(verdict),
        }
    outcomes = [int(np.count_nonzero(trace.txn_outcome == o)) for o in (Outcome.ABORTED, Outcome.UNKNOWN)]
    return {
        "sessions": len(np.unique(trace.txn_session[trace.txn_session >= 0])),
        "transactions": len(trace),
        "aborted": outcomes[0],
        "unknown": outcomes[1],
        "operations": len(trace.op_kind),
        "load": loaded,
        "levels": levels,
    }


def certificate_error(verdict: Any) -> str:
    """What is wrong with the verdict's certificate; empty if nothing is."""
    from boomslang.certify.refute import minimal, refute
    from boomslang.certify.replay import ReplayError, replay

    if verdict.witness is not None:
        try:
            replay(verdict.trace, verdict.witness)
        except ReplayError as error:
            return f"the witness does not replay: {error}"
    found = verdict.counterexample
    if found is not None and not refute(verdict.trace, found.core):
        return "the core is not refuted"
    if found is not None and found.minimal and minimal(verdict.trace, found.core):
        return "the core is said to be minimal, and is not"
    return ""


# ---------------------------------------------------------------- in the parent: all of them


@dataclass(frozen=True)
class Result:
    history: History
    found: dict[str, Any]  # empty when the child broke down
    error: str = ""

    def status(self, level: str) -> str:
        """By the level's name."""
        return next((str(v["status"]) for v in self.found["levels"].values() if v["name"] == level), "")

    def complaints(self) -> Iterator[str]:
        if self.error:
            yield f"{self.history.path}: {self.error}"
            return
        for level, v in self.found["levels"].items():
            if v["wrong"]:
                yield f"{self.history.path}: {level}: {v['wrong']}"
            if v["status"] == "unknown":
                yield f"{self.history.path}: {level}: undecided after {v['seconds']:.0f} s"
        for level, status in self.history.documented.items():
            if self.status(level) != status:
                yield f"{self.history.path}: {level}: {self.status(level)}, documented as {status}"


def run(history: History) -> Result:
    words = [history.path, str(GROUPS.index(history.group))]
    command = [sys.executable, str(Path(__file__).resolve()), "--child", *words]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in child.stdout.splitlines():
        if line.startswith(MARK):
            return Result(history, json.loads(line.removeprefix(MARK)))
    last = (child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1]
    return Result(history, {}, last)


def twins_that_differ(results: list[Result]) -> Iterator[str]:
    by_path = {result.history.path: result for result in results}
    for result in results:
        twin = by_path.get(result.history.twin or "")
        if twin is None or not result.found or not twin.found:
            continue
        for level, v in result.found["levels"].items():
            if v["status"] != twin.found["levels"][level]["status"]:
                yield f"{result.history.path}: {level}: {v['status']}, but its twin {twin.history.path} is not"


# ---------------------------------------------------------------- showing it

INTRO = """\
# The public histories

Written by `python benchmarks/corpus.py`: every history of the corpus at every level, with a 60 s limit for each.
A `valid` was replayed and an `invalid` refuted by a second solver. *seconds* is the time for loading and for deciding
all levels, without that second look, *slowest* the time for the slowest level.

In the tables **no** means that the level is violated, and - that the history has no sessions or no times, without
which such a level is no level of its own. A column `s-...` is the strong-session level. *What is wrong* names the
anomaly at the weakest level that is violated, and at stronger ones where it is another.
"""


def page(results: list[Result]) -> str:
    lines = [INTRO, *summary(results)]
    for group in GROUPS:
        rows = [result for result in results if result.history.group is group]
        if rows:
            lines += ["", f"## {group.title}", "", group.about, "", *table(rows)]
    return "\n".join(lines) + "\n"


def summary(results: list[Result]) -> Iterator[str]:
    files = {result.history.path for result in results}
    told = [(r, level, status) for r in results for level, status in r.history.documented.items()]
    same = sum(bool(r.found) and r.status(level) == status for r, level, status in told)
    asked = [v for r in results if r.found for v in r.found["levels"].values()]
    open_ = sum(v["status"] == "unknown" for v in asked)
    twins = sum(r.history.twin is not None for r in results)
    yield f"- {len(files)} histories, {len(results)} readings, {len(asked):,} verdicts; {open_} undecided."
    yield f"- {same} of the {len(told)} verdicts that are documented for these levels are reproduced."
    yield f"- {twins} runs are here in two formats; they differ in {len(list(twins_that_differ(results)))} verdicts."
    yield from standing(results)


def standing(results: list[Result]) -> Iterator[str]:
    """What is left of table 2's violations when a partial transaction is unknown."""
    for title, part, column in (("CockroachDB", "table2/ser/", "ser"), ("Galera", "table2/si/", "si")):
        level = COLUMNS[column]
        here = [r for r in results if part in r.history.path and r.found]
        published = [r for r in here if r.history.group.format == COMMITTED]
        ours = [r for r in here if r.history.group.format is None]
        broken = [sum(r.status(level) == "invalid" for r in some) for some in (published, ours)]
        yield (
            f"- {title} in dbcop's runs: {broken[0]} of {len(published)} files violate `{level}` as published "
            f"checkers read them, {broken[1]} of {len(ours)} with partial transactions unknown."
        )


def table(rows: list[Result]) -> Iterator[str]:
    levels = levels_of(rows)
    outcomes = [name for name in ("aborted", "unknown") if any(r.found and r.found[name] for r in rows)]
    counts = ["sessions", "transactions", *outcomes, "operations"]
    names = [level.replace(STRONG_SESSION, "s-") for level in levels]
    yield f"| history | {' | '.join((*counts, *names))} | what is wrong | seconds | slowest |"
    yield f"| --- |{' ---: |' * len(counts)}{' :-: |' * len(names)} --- | ---: | ---: |"
    for result in rows:
        if not result.found:
            yield f"| {result.history.name} | {result.error} |"
            continue
        f = result.found
        cells = [f"{f[name]:,}" for name in counts] + [word(f["levels"].get(level)) for level in levels]
        times = [v["seconds"] for v in f["levels"].values()]
        cells += [wrong(f["levels"]), f"{f['load'] + sum(times):.2f}", f"{max(times):.2f}"]
        yield f"| {result.history.name} | {' | '.join(cells)} |"


def levels_of(rows: list[Result]) -> list[str]:
    """Those that some history of the group has the means to decide: plain, with sessions, with times."""
    most = max((r.found["levels"] for r in rows if r.found), key=len, default={})
    return list(most)


def word(verdict: dict[str, Any] | None) -> str:
    if verdict is None:
        return "-"
    return {"valid": "yes", "invalid": "**no**", "unknown": "?"}[verdict["status"]]


def wrong(levels: dict[str, dict[str, Any]]) -> str:
    """Such as: G-single at rr, G2-item-process at s-ser."""
    first: dict[str, str] = {}
    for level, v in levels.items():
        if v["status"] == "invalid":
            first.setdefault(v["anomaly"] or "no name", level.replace(STRONG_SESSION, "s-"))
    return ", ".join(f"{code} at {level}" for code, level in first.items())


def timeless(text: str) -> str:
    """The page without its times: they differ from run to run."""
    return re.sub(r"\| [\d.]+ \| [\d.]+ \|$", "|", text, flags=re.MULTILINE)


def changes(old: str, new: str) -> Iterable[str]:
    """Rows of either page that the other does not have."""
    before, after = timeless(old).splitlines(), timeless(new).splitlines()
    yield from (f"- {line}" for line in before if line not in set(after))
    yield from (f"+ {line}" for line in after if line not in set(before))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        path, group = arguments[1], GROUPS[int(arguments[2])]
        print(MARK + json.dumps(decide(History(path, group))))
        return 0
    parser = argparse.ArgumentParser(prog="corpus.py", description="Decide the public histories.")
    parser.add_argument("--check", action="store_true", help=f"compare with docs/{PAGE.name}, write nothing")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="histories whose path holds TEXT; writes nothing"
    )
    given = parser.parse_args(arguments)
    chosen = [history for history in histories() if given.only in history.path]
    if not chosen:
        parser.error(f"no such histories in {CORPUS}: set BOOMSLANG_CORPUS")
    results = []
    for history in chosen:
        results.append(run(history))
        shown = results[-1].found.get("levels", {})
        verdicts = " ".join(f"{level}={word(v)}" for level, v in shown.items())
        print(f"{history.path}: {results[-1].error or verdicts}", flush=True)
    bad = [line for result in results for line in result.complaints()] + list(twins_that_differ(results))
    if given.check and not given.only:
        bad += changes(PAGE.read_text(), page(results))
    elif not given.only:
        PAGE.write_text(page(results))
    print(*bad, f"{len(results)} readings, {len(bad)} complaints", sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Applications whose values repeat: how much of what one may ask is decided, how fast, and how well is it told?

Every family of `application_families.py` is run on a simulated database at read committed, snapshot isolation and
serializable, each with the anomalies it lets happen; and one transaction after the other with one violation planted.
Each trace is asked about with times, as one log, and with neither, at the levels from read committed to strict
serializable. A question is one `boomslang check` in a process of its own, with a limit of time.

    python benchmarks/applications.py --sizes 100                              a few minutes
    python benchmarks/applications.py --families on-call --levels ser,sser     a part of it
    python benchmarks/applications.py --sizes 100,1000,10000,100000 --write    all, into docs/benchmarks-applications.md
    python benchmarks/applications.py generate on-call --at si --size 1000 --order times FOLDER
    python benchmarks/applications.py generate carts --at lost-update --order log --set users=9 FILE

What a database promised must hold, and what was planted must not at the strict level: another answer is reported as
WRONG, with exit code 1. *Unknown* is reported, never judged.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from application_families import FAMILIES, with_settings
from phases import page, shown, table
from simulate import DATA, HERE
from simulated_database import LEVELS as DATABASES
from simulated_database import ORDERS, PLANTS, Application, CannotPlant, Recording, concurrent, planted

PAGE = "benchmarks-applications"
RESULTS = DATA / "applications.json"
SHARED = HERE.parent.parent / "shared" / "apps"

ASKED = ("rc", "ra", "causal", "pl-2+", "si", "ser", "strong-session-ser", "sser")
STRICT = ("sser", "strong-si", "pl-fcv")
BOUNDED = ("pl-2+", "si", "ser", "strong-session-ser")
"""Levels that can also be asked for up to a slack of real time."""
AT = (*DATABASES, *PLANTS)
SLACK = "1s"

_HOLDS = {
    "rc": ("rc",),
    "si": ("rc", "ra", "causal", "pl-2+", "si", "strong-si", "pl-fcv"),
    "ser": (*ASKED, *STRICT),
    # The rest is serial: two that overlap and wrote the same keys from one snapshot break no more than they must.
    "lost-update": ("rc", "ra", "causal"),
    "write-skew": ("rc", "ra", "causal", "pl-2+", "si", "strong-si", "pl-fcv"),
    # Only reads, and before the write it missed, all is well.
    "stale-read": ("rc", "ra", "causal", "pl-2+", "si", "ser", "strong-session-ser"),
}
_BROKEN = {"lost-update": STRICT, "write-skew": ("sser",), "stale-read": STRICT}


def expected(at: str, level: str) -> str | None:
    """The verdict that is known beforehand; None if only a checker can tell."""
    if level in _BROKEN.get(at, ()):
        return "invalid"
    return "valid" if level in _HOLDS[at] else None


_WEAK = ("rc", "ra", "causal", "pl-2+", "si")
_SHARED = {
    "valid": ((*ASKED, *STRICT), ()),
    "lost": ((), ("pl-2+", "si", "ser", "strong-session-ser", *STRICT)),
    "even": ((*_WEAK, "ser"), STRICT),
    "call": (_WEAK, ("ser", "strong-session-ser", "sser")),
}
"""Of traces recorded elsewhere, by the last word of their names: levels that hold, and that do not."""


def expected_elsewhere(name: str, level: str) -> str | None:
    holds, broken = _SHARED.get(name.rpartition("-")[2], ((), ()))
    return "valid" if level in holds else "invalid" if level in broken else None


# --- traces


@dataclass(frozen=True)
class Run:
    """What an application did: equal fields, equal traces."""

    family: str
    at: str
    """The level of the database, or what was planted."""
    size: int
    seed: int = 1
    settings: tuple[str, ...] = ()
    clients: int = 8
    place: float = 0.5
    lost: float = 0.0

    def record(self) -> Recording:
        application: Application = with_settings(self.family, list(self.settings))
        if self.at in DATABASES:
            more = {"seed": self.seed, "clients": self.clients}
            return concurrent(application, self.at, self.size, lost=self.lost, **more)
        if self.lost:
            raise ValueError("answers get lost in a database at a level, not where a violation is planted")
        return planted(
            application, self.at, self.size, seed=self.seed, clients=self.clients, place=self.place
        )


def orders_of(run: Run, orders: Iterable[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """The traces of a run, in a folder that is there for a while."""
    recording = run.record()
    for order in orders:
        path = folder / f"{run.family}-{run.at}-{run.size}-{order}{'.jsonl' if order == 'log' else ''}"
        recording.write(path, order)
        yield order, path


# --- questions


@dataclass(frozen=True)
class Answer:
    family: str
    at: str
    size: int
    order: str
    level: str
    status: str
    """valid, invalid, unknown; or what went wrong."""
    expect: str | None
    cpu: float
    megabytes: float
    core: int
    decided_by: str
    name: str
    lines: int
    reason: str

    @property
    def decided(self) -> bool:
        return self.status in ("valid", "invalid")

    @property
    def wrong(self) -> bool:
        return self.status != "unknown" and (not self.decided or self.expect not in (None, self.status))


@cache
def takes_within() -> bool:
    """Whether this `boomslang check` can be asked for a slack."""
    done = subprocess.run(_command("--help"), capture_output=True, text=True, check=False)
    return "--within" in done.stdout


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "boomslang", "check", *words]


def levels_of(order: str, levels: Iterable[str], within: str | None) -> Iterator[tuple[str, str | None]]:
    """Levels to ask, each with a slack or without."""
    for level in levels:
        if level in STRICT and order != "times":
            continue
        yield level, None
        if within and order == "times" and level in BOUNDED and takes_within():
            yield level, within


def run_measured(command: list[str], seconds: float) -> tuple[str, str, float, float]:
    """What it printed, CPU seconds and megabytes; a process that does not end is ended."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(["timeout", "-k", "1", str(seconds), *command], stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ask(path: Path, level: str, within: str | None, timeout: float, memory: float) -> dict[str, Any]:
    """One question; its figures."""
    words = [str(path), "--level", level, "--timeout", str(timeout), "--memory", str(memory)]
    words += ["--within", within] if within else []
    found = {"status": "unknown", "core": 0, "decided_by": "", "name": "", "lines": 0, "reason": ""}
    out, err, cpu, megabytes = run_measured(_command(*words, "--json"), 2 * timeout + 30)
    found |= {"cpu": cpu, "megabytes": megabytes}
    try:
        told = json.loads(out)["levels"][0]
    except (ValueError, KeyError, IndexError):
        return found | {"status": "error", "reason": (err.strip().splitlines() or ["did not end"])[-1]}
    found |= {"status": told["status"], "reason": told["reason"] or ""}
    found["decided_by"] = str((told.get("stats") or {}).get("decided by", ""))
    if example := told.get("counterexample"):
        found["core"] = len(example["transactions"])
        found["name"] = (example.get("anomaly") or {}).get("name", "no name")
        found["lines"] = story_lines(run_measured(_command(*words), 2 * timeout + 30)[0])
    return found


def story_lines(text: str) -> int:
    """Of what people are told: the lines from "Why" to the next empty one."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("Why "):
            return sum(1 for _ in iter(lambda: next(lines, ""), ""))
    return 0


def answer(
    path: Path,
    about: tuple[str, str, int, str],
    level: str,
    slack: str | None,
    expect: str | None,
    given: argparse.Namespace,
) -> Answer:
    family, at, size, order = about
    figures = ask(path, level, slack, given.timeout, given.memory)
    name = f"{level} within {slack}" if slack else level
    return Answer(family, at, size, order, name, expect=expect, **figures)


def bounded_expectation(at: str, level: str) -> str | None:
    """Of a level within a slack: what holds at its strict form holds here."""
    strict = {"pl-2+": "pl-fcv", "si": "strong-si", "ser": "sser", "strong-session-ser": "sser"}[level]
    return "valid" if expected(at, strict) == "valid" else None


# --- showing it

COLUMNS = (
    ("family", 10), ("recorded at", 11), ("size", 7), ("order", 8), ("level", 29), ("verdict", 8), ("CPU s", 6),
    ("MB", 5), ("core", 5), ("decided by", 26), ("name", 18), ("lines", 5),
)  # fmt: skip
NAMES = [name for name, _ in COLUMNS]
WIDTHS = [width for _, width in COLUMNS]


def cells(a: Answer) -> list[str]:
    verdict = f"WRONG: {a.status}" if a.wrong else a.status
    told = [str(a.core), a.decided_by, a.name, str(a.lines)] if a.core else ["", a.decided_by, "", ""]
    return [
        a.family,
        a.at,
        f"{a.size:,}",
        a.order,
        a.level,
        verdict,
        f"{a.cpu:.2f}",
        f"{a.megabytes:.0f}",
        *told,
    ]


def shares(answers: list[Answer]) -> list[str]:
    """A table for each kind of order: families and sizes down, levels across, decided of asked."""
    text = []
    heads = {"times": "With times", "log": "One log, no times", "sessions": "A file a session, no times"}
    for order in ORDERS:
        here = [a for a in answers if a.order == order]
        if not here:
            continue
        levels = list(dict.fromkeys(a.level for a in sorted(here, key=_place)))
        rows = []
        for family, size in dict.fromkeys((a.family, a.size) for a in here):
            row = [family, f"{size:,}"]
            for level in levels:
                asked = [a for a in here if (a.family, a.size, a.level) == (family, size, level)]
                row.append(_share(asked))
            rows.append(row)
        rows.append(["all", "", *(_share([a for a in here if a.level == level]) for level in levels)])
        text += [f"## {heads[order]}", "", *table(["family", "size", *levels], rows, words=1), ""]
    return text


def _place(a: Answer) -> tuple[int, str]:
    level = a.level.split(" ")[0]
    return ASKED.index(level) if level in ASKED else len(ASKED), a.level


def _share(asked: list[Answer]) -> str:
    if not asked:
        return ""
    return f"{sum(a.decided for a in asked)}/{len(asked)}"


def costs(answers: list[Answer]) -> list[str]:
    rows = []
    for size, level in dict.fromkeys(
        (a.size, a.level) for a in sorted(answers, key=lambda a: (a.size, _place(a)))
    ):
        here = [a for a in answers if (a.size, a.level) == (size, level) and a.decided]
        if here:
            cpu = [a.cpu for a in here]
            told = [a for a in here if a.core]
            rows.append(
                [
                    f"{size:,}", level, str(len(here)), f"{statistics.median(cpu):.2f}", f"{max(cpu):.2f}",
                    f"{max(a.megabytes for a in here):.0f}", str(len(told)),
                    *([f"{statistics.median(a.core for a in told):g}", str(max(a.core for a in told))]
                      if told else ["", ""]),
                    str(max((a.lines for a in told), default="")),
                    str(sum(a.name == "no name" for a in told)) if told else "",
                ]
            )  # fmt: skip
    names = ["size", "level", "decided", "median CPU s", "most", "most MB", "invalid", "median core", "largest",
             "most lines", "without a name"]  # fmt: skip
    return ["## What an answer takes", "", *table(names, rows, words=2), ""]


def how(answers: list[Answer]) -> list[str]:
    counted: dict[tuple[str, str], int] = {}
    for a in answers:
        if a.decided:
            key = a.decided_by or "reading the trace", a.status
            counted[key] = counted.get(key, 0) + 1
    rows = [[by, status, str(n)] for (by, status), n in sorted(counted.items(), key=lambda x: -x[1])]
    return ["## How it was decided", "", *table(["by", "verdict", "questions"], rows, words=2), ""]


def unknowns(answers: list[Answer]) -> list[str]:
    """What is not decided: for each trace and order, its levels."""
    open_: dict[tuple[str, str, int, str], list[str]] = {}
    for a in answers:
        if a.status == "unknown":
            open_.setdefault((a.family, a.at, a.size, a.order), []).append(a.level)
    rows = [
        [family, at, f"{size:,}" if size else "", order, ", ".join(levels)]
        for (family, at, size, order), levels in open_.items()
    ]
    text = ["## Unknown", "", *bounded(answers)]
    return text + (
        table(["family", "recorded at", "size", "order", "levels"], rows, words=5) if rows else ["Nothing."]
    )


def bounded(answers: list[Answer]) -> list[str]:
    """Of plain levels that stayed unknown: how many have an answer within the slack?"""
    asked = {(a.family, a.at, a.size, a.order, *a.level.split(" within ")): a.decided for a in answers}
    slacks = {a.level.split(" within ")[1] for a in answers if " within " in a.level}
    text = []
    for slack in sorted(slacks):
        plain = [
            (a.family, a.at, a.size, a.order, a.level)
            for a in answers
            if a.status == "unknown" and a.order == "times" and a.level in BOUNDED
        ]
        known = sum(asked.get((*key, slack), False) for key in plain)
        text += [
            f"Of {len(plain)} plain questions with times that stayed unknown, {known} are decided within {slack}.",
            "",
        ]
    return text


def report(answers: list[Answer], shared: list[Answer]) -> list[str]:
    text = [*shares(answers), *costs(answers), *how(answers)]
    if shared:
        rows = [[c[0], *c[4:]] for c in map(cells, shared)]
        text += ["## Recorded elsewhere", "", *table([NAMES[0], *NAMES[4:]], rows, words=3), ""]
    return [*text, *unknowns([*answers, *shared])]


PARAGRAPHS = (
    "Seven small applications (`benchmarks/application_families.py`): doctors on call, seats, an inventory, a bank of "
    "round amounts, a queue of jobs, feature flags, carts. Each was recorded from a simulated database at read "
    "committed, snapshot isolation and serializable, and one transaction after the other with a lost update, a write "
    "skew or a stale read planted. A cell is *decided of asked*: valid or invalid within the limit, of up to six "
    "traces. *CPU* and *MB* are those of the whole process, Python's start included; *core* counts transactions, "
    "*lines* those of the story.",
)


def shared_answers(folder: Path, given: argparse.Namespace) -> Iterator[Answer]:
    """Traces of applications that were recorded elsewhere, if there are any."""
    for path in sorted([*folder.glob("*.jsonl"), *(p for p in folder.glob("*") if p.is_dir())]):
        for level, slack in levels_of("times", given.levels, given.within):
            expect = None if slack else expected_elsewhere(path.stem, level)
            yield answer(path, (path.stem, "", 0, "times"), level, slack, expect, given)


# --- the command


def words_of(known: Iterable[str]) -> Any:
    """An option of several words, separated by commas."""
    known = tuple(known)

    def parse(text: str) -> list[str]:
        words = text.split(",")
        if strangers := [word for word in words if word not in known]:
            raise argparse.ArgumentTypeError(f"no {strangers[0]!r}; there are {', '.join(known)}")
        return words

    return parse


def sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def generate(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="applications.py generate", description="Write one trace.")
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("out", type=Path, help="a file for --order log, else a folder; must not be there yet")
    parser.add_argument("--at", type=str.lower, choices=AT, default="ser", help="a level, or what is planted")
    parser.add_argument("--size", type=int, default=1000, help="transactions that commit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--order", choices=ORDERS, default="times")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--place", type=float, default=0.5, help="where (0 to 1) the violation is planted")
    parser.add_argument("--lost", type=float, default=0.0, help="share of commits whose answer is lost")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="of the family")
    given = parser.parse_args(arguments)
    if given.out.exists():
        parser.error(f"{given.out} is there already")
    run = Run(
        given.family,
        given.at,
        given.size,
        given.seed,
        tuple(given.set),
        given.clients,
        given.place,
        given.lost,
    )
    try:
        recording = run.record()
    except (ValueError, CannotPlant) as error:
        parser.error(str(error))
    recording.write(given.out, given.order)
    counts = {name: getattr(recording, name) for name in ("committed", "aborted", "unknown", "planted")}
    print(json.dumps(counts))
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="applications.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", type=words_of(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--at", type=words_of(AT), default=list(AT))
    parser.add_argument("--sizes", type=sizes, default=[100], help="transactions")
    parser.add_argument("--orders", type=words_of(ORDERS), default=list(ORDERS))
    parser.add_argument("--levels", type=words_of((*ASKED, *STRICT)), default=list(ASKED))
    parser.add_argument("--within", default=SLACK, help="also ask for this slack of real time; none: do not")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds of one question")
    parser.add_argument("--memory", type=float, default=4000.0, help="megabytes of one question")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shared", type=Path, default=SHARED, help="traces of applications recorded elsewhere"
    )
    parser.add_argument("--no-shared", action="store_true", help="leave them out")
    parser.add_argument("--table", type=Path, help="also write the tables here")
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE}.md")
    given = parser.parse_args(arguments)
    given.within = None if given.within == "none" else given.within
    return given


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["generate"]:
        return generate(arguments[1:])
    given = parse(arguments)
    answers: list[Answer] = []
    shared: list[Answer] = []

    def keep(made: Answer, into: list[Answer]) -> None:
        into.append(made)
        print(shown(cells(made), WIDTHS), flush=True)
        DATA.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps([asdict(a) for a in [*answers, *shared]], indent=1) + "\n")
        if given.table:
            given.table.write_text("\n".join(report(answers, shared)) + "\n")

    print(shown(NAMES, WIDTHS))
    if not given.no_shared and given.shared.is_dir():
        for made in shared_answers(given.shared, given):
            keep(made, shared)
    for size in given.sizes:
        for family in given.families:
            for at in given.at:
                if at in PLANTS and at not in FAMILIES[family].plants:
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    for order, path in orders_of(
                        Run(family, at, size, given.seed), given.orders, Path(folder)
                    ):
                        for level, slack in levels_of(order, given.levels, given.within):
                            expect = bounded_expectation(at, level) if slack else expected(at, level)
                            about = family, at, size, order
                            keep(answer(path, about, level, slack, expect, given), answers)
    if given.write:
        page(PAGE, "Applications", PARAGRAPHS, report(answers, shared), arguments, script="applications")
    everything = [*answers, *shared]
    wrong = sum(a.wrong for a in everything)
    decided = sum(a.decided for a in everything)
    print(f"{len(everything)} questions, {decided} decided, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

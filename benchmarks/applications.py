"""Applications whose values repeat: how much of what one may ask is decided, how fast, and how well is it told?

Every family of `application_families.py` is run on a simulated database at read committed, snapshot isolation and
serializable, each with the anomalies it lets happen; and one transaction after the other with one violation planted.
Each trace is asked about with times, as one log, and with neither, at the levels from read committed to strict
serializable. All questions about a trace are one process (application_questions.py), each with a limit of time.

    python benchmarks/applications.py --sizes 100                              a few minutes
    python benchmarks/applications.py --families on-call --levels ser,sser     a part of it
    python benchmarks/applications.py generate on-call --at si --size 1000 --order times FOLDER
    python benchmarks/applications.py generate carts --at lost-update --order log --set users=9 FILE

The page is all parts of PLAN below, one after the other, and MariaDB's trace, which is recorded first where a server is
installed. It may be stopped and started again: a trace whose questions are all answered is not asked again, unless
--fresh says so.

    python benchmarks/applications.py --all --write

Parts of it may go side by side, and the page is made of all that was answered since the last --fresh:

    python benchmarks/applications.py --sizes 1000 --orders times --again --no-shared
    python benchmarks/applications.py --sizes none --write

What a database promised must hold, and what was planted must not at the strict level: another answer is reported as
WRONG, with exit code 1. *Unknown* is reported, never judged.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from application_families import FAMILIES, with_settings
from application_questions import Question, ask
from phases import page, shown, table
from simulate import DATA, HERE
from simulated_database import LEVELS as DATABASES
from simulated_database import ORDERS, PLANTS, Application, CannotPlant, Recording, concurrent, planted

from boomslang import read_trace

PLAN = (
    "--sizes 100 --timeout 5",
    "--sizes 1000 --orders times --no-shared",
    "--sizes 1000 --orders times --levels strong-si,pl-fcv --no-shared",
    "--sizes 10000 --orders times --levels pl-2+,si,ser,strong-session-ser,sser --no-shared",
    "--sizes 10000 --orders times --levels strong-si,pl-fcv --no-shared",
    "--sizes 1000 --orders log,sessions --timeout 3 --no-shared",
    "--sizes 10000 --orders log,sessions --at si,ser --levels si,ser --timeout 5 --no-shared",
    "--sizes 100000 --orders times --at si,ser --levels si,ser,sser --within none --no-shared",
)
"""What the page is made of, the most important first. Where nothing bounds a question, most that are not decided soon
are not decided at all: those get less time."""
PAGE = "benchmarks-applications"
RESULTS = DATA / "applications"
SHARED = HERE.parent.parent / "shared" / "apps"

ASKED = ("rc", "ra", "causal", "pl-2+", "si", "ser", "strong-session-ser", "sser")
STRICT = ("sser", "strong-si", "pl-fcv")
BOUNDED = ("pl-2+", "si", "ser", "strong-session-ser")
"""Levels that can also be asked for up to a slack of real time."""
AT = (*DATABASES, *PLANTS)
SLACK = "1s"
SECONDS, LARGEST = 10.0, 10_000
"""What is asked for: strict levels, and levels within a bound, decided in so many seconds up to this size."""
MARIADB = "mariadb-10000"
MARIADB_TRACES = {f"{MARIADB}-{seed}": seed for seed in (1, 2, 3)}
"""Three recordings of MariaDB, with their seeds."""
MARIADB_RUNS = 5
"""So often they are asked, and the one in the middle counts: the mark is near, and machines are shared."""
_RECORD = [
    "run",
    "--db",
    "mariadb",
    "--workload",
    "blindw",
    "--sessions",
    "24",
    "--txns",
    "10000",
    "--quiet",
    "--out",
]
MOMENT = 0.3
"""Seconds: an explanation looks at its clock between steps."""

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
    "call": (_WEAK, ("rr", "ser", "strong-session-ser", "sser")),
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
    solving: float = 0.0
    explaining: float = 0.0
    """CPU seconds."""
    refuted_within: str | None = None
    """Of an unknown one: the bound of real time within which it is known to be broken."""

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        return self.family, self.at, self.size, self.order, self.level

    @property
    def explained_in_time(self) -> bool:
        """Five times as long as it took to find, or two seconds."""
        return self.explaining <= max(2.0, 5 * self.solving) + MOMENT

    @property
    def decided(self) -> bool:
        return self.status in ("valid", "invalid")

    @property
    def wrong(self) -> bool:
        return self.status != "unknown" and (not self.decided or self.expect not in (None, self.status))


def levels_of(order: str, levels: Iterable[str], within: str | None) -> Iterator[tuple[str, str | None]]:
    """Levels to ask, each with a slack or without."""
    for level in levels:
        if level in STRICT and order != "times":
            continue
        yield level, None
        if within and order == "times" and level in BOUNDED:
            yield level, within


def answers_about(
    path: Path,
    about: tuple[str, str, int, str],
    questions: list[Question],
    expect: Callable[[str, str | None], str | None],
    given: argparse.Namespace,
) -> Iterator[Answer]:
    family, at, size, order = about
    asked = zip(questions, ask(path, questions, given.timeout, given.memory), strict=True)
    for (level, slack), figures in asked:
        name = f"{level} within {slack}" if slack else level
        yield Answer(family, at, size, order, name, expect=expect(level, slack), **figures)


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
    """What is not decided: for each trace and order, its levels, and up to which bound they are known to be broken."""
    open_: dict[tuple[str, str, int, str], list[str]] = {}
    for a in answers:
        if a.status == "unknown":
            bound = f" (broken within {a.refuted_within})" if a.refuted_within else ""
            open_.setdefault((a.family, a.at, a.size, a.order), []).append(a.level + bound)
    rows = [
        [family, at, f"{size:,}" if size else "", order, ", ".join(levels)]
        for (family, at, size, order), levels in open_.items()
    ]
    text = ["## Unknown", "", *bounded(answers)]
    return text + (
        table(["family", "recorded at", "size", "order", "levels"], rows, words=5) if rows else ["Nothing."]
    )


def bounded(answers: list[Answer]) -> list[str]:
    """Of plain levels that stayed unknown: how many have an answer within a bound?"""
    plain = [a for a in answers if a.status == "unknown" and a.order == "times" and a.level in BOUNDED]
    within = len(plain) - len(unanswered(answers))
    asked = sum(a.order == "times" and a.level in BOUNDED for a in answers)
    return [
        f"Of {asked:,} plain questions with times, {len(plain)} stayed unknown; {within} of these have an "
        "answer within a bound of real time: the bounded question above is decided, or the longest bound within "
        "which the level is known to be broken is told in brackets.",
        "",
    ]


def unanswered(answers: list[Answer]) -> list[Answer]:
    """Plain levels with times that stayed unknown, with no answer within a bound either."""
    known = {a.key for a in answers if a.decided}
    slacks = {a.level.split(" within ")[1] for a in answers if " within " in a.level}
    return [
        a
        for a in answers
        if a.status == "unknown" and a.order == "times" and a.level in BOUNDED and not a.refuted_within
        if not any((*a.key[:4], f"{a.level} within {slack}") in known for slack in slacks)
    ]


def explaining(answers: list[Answer]) -> list[str]:
    told = [a for a in answers if a.core]
    if not told:
        return []
    late = [a for a in told if not a.explained_in_time]
    long = [a for a in told if a.core > 12]
    return [
        "## What is told",
        "",
        f"Of {len(told):,} answers that are invalid, {sum(a.name == 'no name' for a in told)} have no name. "
        f"Explaining took {max(a.explaining for a in told):.1f} s of the processor at most, and in {len(late)} of them "
        f"longer than two seconds and than five times the solving. {len(long)} have a core of more than a dozen "
        f"transactions; the longest story of these has {max((a.lines for a in long), default=0)} lines, and the "
        f"longest of all {max(a.lines for a in told)}.",
        "",
    ]


def asked_for(answers: list[Answer], shared: list[Answer]) -> list[str]:
    """What should be shown, its mark, and what was found, line by line."""
    timed = [a for a in answers if a.order == "times"]
    near = [a for a in timed if a.size <= LARGEST]

    def soon(what: str, asked: list[Answer]) -> list[str]:
        found = sum(a.decided and a.cpu <= SECONDS for a in asked)
        most = max((a.cpu for a in asked if a.decided), default=0.0)
        told = f"{found:,} of {len(asked):,}, {most:.1f} s at most"
        return [
            f"{what}, with times, up to {LARGEST:,}",
            f"all, in {SECONDS:g} s",
            told,
            _met(found == len(asked) > 0),
        ]

    def share(what: str, asked: list[Answer]) -> list[str]:
        return [what, "the share", f"{sum(a.decided for a in asked):,} of {len(asked):,}", "told"]

    told = [a for a in [*answers, *shared] if a.core]
    late, without = sum(not a.explained_in_time for a in told), len(unanswered(answers))
    plain = [a for a in timed if a.level not in STRICT and " within " not in a.level]
    rows = [
        soon("strict levels", [a for a in near if a.level in STRICT]),
        soon(f"levels within {SLACK}", [a for a in near if " within " in a.level]),
        share("plain levels with times, decided", plain),
        [
            "plain levels unknown that take a bound, with no answer within one",
            "none",
            str(without),
            _met(not without),
        ],
        share("one log, no times, decided", [a for a in answers if a.order == "log"]),
        share("a file a session, no times, decided", [a for a in answers if a.order == "sessions"]),
        [
            "explained in two seconds or five times the solving",
            "all",
            f"{len(told) - late:,} of {len(told):,}",
            _met(not late),
        ],
    ]
    for name, (levels, seconds) in _TABLE.items():
        for a in (a for a in shared if _recording(a.family) == name and a.level in levels):
            story = f", {a.name}, {a.lines} lines" if a.core else ""
            mark = f"in {seconds:g} s; a name and fewer than {LINES} lines if broken"
            named = not a.core or (a.name != "no name" and a.lines < LINES)
            met = _met(a.decided and a.cpu <= seconds and named)
            rows.append([f"{a.family} at {a.level}", mark, f"{a.status} in {a.cpu:.2f} s{story}", met])
    return ["## What was asked", "", *table(["asked", "mark", "measured", "met"], rows, words=4), ""]


def _met(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _recording(family: str) -> str:
    """Which of the traces below it is one of."""
    return MARIADB if family in MARIADB_TRACES else family


LINES = 15
_TABLE = {
    "on-call": (("ser", "strong-session-ser", "rr", "sser"), 1.0),
    "inventory-200-lost": (("ser", "si"), 1.0),
    "inventory-1000-lost": (("ser", "si"), 1.0),
    "inventory-200-even": (("ser", "si"), 5.0),
    "inventory-1000-even": (("ser", "si"), 5.0),
    MARIADB: (("si", "pl-2+"), 1.0),
}
"""Traces recorded elsewhere that were once unknown, or told nothing: the levels asked of each, and in how many seconds
they should be answered."""


def report(answers: list[Answer], shared: list[Answer]) -> list[str]:
    text = [*asked_for(answers, shared)]
    text += [*shares(answers), *costs(answers), *explaining([*answers, *shared]), *how(answers)]
    if shared:
        rows = [[c[0], *c[4:]] for c in map(cells, shared)]
        text += ["## Recorded elsewhere", "", *table([NAMES[0], *NAMES[4:]], rows, words=3), ""]
    return [*text, *unknowns([*answers, *shared])]


PARAGRAPHS = (
    "Seven small applications (`benchmarks/application_families.py`): doctors on call, seats, an inventory, a bank of "
    "round amounts, a queue of jobs, feature flags, carts. Each was recorded from a simulated database at read "
    "committed, snapshot isolation and serializable, and one transaction after the other with a lost update, a write "
    "skew or a stale read planted. A cell is *decided of asked*: valid or invalid within the limit, of up to six "
    "traces. *CPU* are seconds of the processor, reading the trace included and Python's start not, for other work may "
    "have gone on beside it; limits are meant so, too. *MB* are those of the process that asked all of a trace's "
    "questions; *core* counts transactions, *lines* those of the story. Traces of MariaDB were asked "
    f"{MARIADB_RUNS} times; the answer in the middle counts.",
)


def what_was_run(runs: list[str]) -> str:
    return f"Not every question is asked of large traces. What was: {', then '.join(runs)}."


def shared_answers(folder: Path, given: argparse.Namespace, known: Known) -> Iterator[Answer]:
    """Traces of applications that were recorded elsewhere, if there are any."""
    for path in sorted([*folder.glob("*.jsonl"), *(p for p in folder.glob("*") if p.is_dir())]):
        if (path.stem, "", 0, "times") in known:
            continue

        def expect(level: str, slack: str | None, name: str = path.stem) -> str | None:
            return None if slack else expected_elsewhere(name, level)

        # What the recorder of some leaves out is the unit of their times: no bound in seconds for those.
        slack = given.within if read_trace(path).unit else None
        more = [level for level in _TABLE.get(path.stem, ((), 0.0))[0] if level not in given.levels]
        questions = list(levels_of("times", [*given.levels, *more], slack))
        yield from answers_about(path, (path.stem, "", 0, "times"), questions, expect, given)


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
    return [] if text == "none" else [int(word) for word in text.split(",")]


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
    parser.add_argument("--sizes", type=sizes, default=[100], help="transactions; none: ask nothing")
    parser.add_argument("--orders", type=words_of(ORDERS), default=list(ORDERS))
    parser.add_argument("--levels", type=words_of((*ASKED, *STRICT)), default=list(ASKED))
    parser.add_argument("--within", default=SLACK, help="also ask for this slack of real time; none: do not")
    parser.add_argument(
        "--timeout", type=float, default=10.0, help="seconds of the processor, of one question"
    )
    parser.add_argument("--memory", type=float, default=4000.0, help="megabytes of one question")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shared", type=Path, default=SHARED, help="traces of applications recorded elsewhere"
    )
    parser.add_argument("--no-shared", action="store_true", help="leave them out")
    parser.add_argument(
        "--all", action="store_true", help="all parts of the page, as far as they are not answered"
    )
    parser.add_argument("--again", action="store_true", help="ask again what this run has answered before")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    parser.add_argument("--table", type=Path, help="also write the tables here")
    parser.add_argument("--write", action="store_true", help=f"write docs/{PAGE}.md")
    given = parser.parse_args(arguments)
    given.within = None if given.within == "none" else given.within
    return given


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["generate"]:
        return generate(arguments[1:])
    given = parse(arguments)
    if given.fresh:
        for path in RESULTS.glob("*.json"):
            path.unlink()
    asked: list[Answer] = []
    print(shown(NAMES, WIDTHS))
    if given.all:
        asked += run_part(MARIADB_PART, parse(MARIADB_PART), mariadb_answers)
        for part in PLAN:
            more = part.split()
            if "--timeout" not in more:
                more += ["--timeout", f"{given.timeout:g}"]
            asked += run_part(more, parse(more), family_answers)
    elif given.sizes:
        asked += run_part(arguments, given, family_answers)
    if given.write:
        *parts, runs = Results.of_all_runs()
        paragraphs = [*PARAGRAPHS, what_was_run(runs)]
        page(PAGE, "Applications", paragraphs, report(*parts), arguments, script="applications")
    wrong, decided = sum(a.wrong for a in asked), sum(a.decided for a in asked)
    print(f"{len(asked)} questions, {decided} decided, {wrong} wrong")
    return 1 if wrong else 0


Known = set[tuple[str, str, int, str]]
"""Traces whose questions were all answered: family, where recorded, size, order."""


def run_part(
    arguments: list[str],
    given: argparse.Namespace,
    answers: Callable[[argparse.Namespace, Known], Iterator[Answer]],
) -> list[Answer]:
    """All answers of one part of the page. What was answered when it was stopped is not asked again."""
    results = Results(arguments, forget=given.again)
    for made in answers(given, {a.key[:4] for a in results.answers}):
        results.keep(made)
        print(shown(cells(made), WIDTHS), flush=True)
        if given.table:
            mine = [a for a in results.answers if a.size], [a for a in results.answers if not a.size]
            given.table.write_text("\n".join(report(*mine)) + "\n")
    results.end()
    return results.answers


def family_answers(given: argparse.Namespace, known: Known) -> Iterator[Answer]:
    """Of traces recorded elsewhere, then of the families."""
    if not given.no_shared and given.shared.is_dir():
        yield from shared_answers(given.shared, given, known)
    for size in given.sizes:
        for family in given.families:
            for at in given.at:
                if at in PLANTS and at not in FAMILIES[family].plants:
                    continue
                orders = [order for order in given.orders if (family, at, size, order) not in known]
                if not orders:
                    continue

                def expect(level: str, slack: str | None, at: str = at) -> str | None:
                    return bounded_expectation(at, level) if slack else expected(at, level)

                with tempfile.TemporaryDirectory() as folder:
                    run = Run(family, at, size, given.seed)
                    for order, path in orders_of(run, orders, Path(folder)):
                        questions = list(levels_of(order, given.levels, given.within))
                        yield from answers_about(path, (family, at, size, order), questions, expect, given)


MARIADB_PART = ["--sizes", "none", "--levels", "pl-2+,si", "--no-shared"]


def mariadb_answers(given: argparse.Namespace, known: Known) -> Iterator[Answer]:
    """Of traces of MariaDB at its default level, where a server is installed to record them. They are kept."""
    for name, seed in MARIADB_TRACES.items():
        about, folder = (name, "", 0, "times"), DATA / name
        if about in known:
            continue
        if not folder.is_dir():
            command = [sys.executable, "-m", "boomslang", *_RECORD, str(folder), "--seed", str(seed)]
            done = subprocess.run(command, check=False)
            if done.returncode:
                print(f"no trace of MariaDB: recording it ended with {done.returncode}")
                shutil.rmtree(folder, ignore_errors=True)
                return
        questions: list[Question] = [(level, None) for level in given.levels]
        asked = [
            list(answers_about(folder, about, questions, lambda level, slack: None, given))
            for _ in range(MARIADB_RUNS)
        ]
        for same in zip(*asked, strict=True):
            yield sorted(same, key=lambda answer: answer.cpu)[MARIADB_RUNS // 2]


def whole_traces(answers: list[Answer]) -> list[Answer]:
    """Without those of the last trace, which may have been stopped in the middle of."""
    return [a for a in answers if a.key[:4] != answers[-1].key[:4]]


class Results:
    """The answers of this run, in a file of its own among those of other runs: runs may go side by side."""

    def __init__(self, arguments: list[str], *, forget: bool = False) -> None:
        self.run = [word for word in arguments if word not in ("--write", "--fresh", "--again")]
        name = "-".join(word.strip("-").replace(",", "+") for word in self.run) or "everything"
        self.path = RESULTS / f"{name.replace('/', '')[:200]}.json"
        self.answers: list[Answer] = []
        if self.path.exists() and not forget:
            data = json.loads(self.path.read_text())
            self.answers = [Answer(**one) for one in data["answers"]]
            if not data["ended"]:
                self.answers = whole_traces(self.answers)

    def keep(self, made: Answer) -> None:
        self.answers.append(made)
        self._write(ended=False)

    def end(self) -> None:
        if self.answers:
            self._write(ended=True)

    def _write(self, *, ended: bool) -> None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        data = {"run": self.run, "ended": ended, "answers": [asdict(a) for a in self.answers]}
        self.path.write_text(json.dumps(data, indent=1) + "\n")

    @staticmethod
    def of_all_runs() -> tuple[list[Answer], list[Answer], list[str]]:
        """Of the families, of traces recorded elsewhere, and what was run. What was asked twice, the later answer."""
        found: dict[tuple[str, str, int, str, str], Answer] = {}
        runs = []
        for path in sorted(RESULTS.glob("*.json"), key=lambda path: path.stat().st_mtime):
            data = json.loads(path.read_text())
            stopped = "" if data["ended"] else f" (stopped after {len(data['answers'])} questions)"
            runs.append(f"`{' '.join(['python benchmarks/applications.py', *data['run']])}`{stopped}")
            found |= {(a := Answer(**one)).key: a for one in data["answers"]}
        families, orders = list(FAMILIES), list(ORDERS)
        every = sorted(
            found.values(),
            key=lambda a: (a.size, families.index(a.family) if a.size else 0, orders.index(a.order)),
        )
        return [a for a in every if a.size], [a for a in every if not a.size], runs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""docs/violations.md: what every public violation is called, by those who published it and here.

The name that a source documents is typed in below, as its words; ours comes from running the case at the weakest levels
that the source says are broken. Where the two differ, a note says why ours is right; a difference without a note is an
error. Run as a program, this writes the page.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import corpus
from support.paths import ROOT
from support.public_cases import CORPUS, Case, load_all

from boomslang import Checker, Trace, read_trace
from boomslang.explain.counterexample import Counterexample
from boomslang.levels import Level, find_level, minimal
from boomslang.trace import Initial

PAGE = ROOT / "docs" / "violations.md"

# --- what is documented

REAL = {
    "cobra/ser-violation/cock-G2": ("CockroachDB, beta of 2016", "G2"),
    "cobra/ser-violation/cock-blog": ("CockroachDB 2.1", "read of a write that never committed"),
    "cobra/ser-violation/yuga-G2-b": ("YugabyteDB 1.3", "G2"),
    "polysi/violations/galera/galera.txt": ("MariaDB Galera 10.7", "lost update"),
    "polysi/violations/dgraph/history.bincode": ("Dgraph 21.12", "causality violation"),
    "elle/si-without-g-single.edn": ("Elle", "G2-item"),
    "elle/paper-example.edn": ("Elle's paper", ""),
    "elle-cli/paper-example.edn": ("Elle's paper", ""),
    "elle-cli/paper-example.json": ("Elle's paper", ""),
    "elle-cli/list-append-gh-30.edn": ("elle-cli", ""),
}
"""Histories with a story of their own: where they are from, and the name documented for them."""

NAMED: tuple[tuple[str, str], ...] = (
    (r"elle:(?:graph:|rw:)?[gG]0", "G0"),
    (r"elle:(?:graph:|rw:)?[gG]1a", "G1a"),
    (r"elle:(?:graph:|rw:)?[gG]1b", "G1b"),
    (r"elle:(?:graph:|rw:)?[gG]1c|elle:readme-demo-G1c|elle:rw:wr-chain", "G1c"),
    (r"elle:(?:graph:)?[gG]2", "G2"),
    (r"elle:internal:future-internal|elle:future-read", "future-read"),
    (r"elle:(?:rw:)?internal", "internal"),
    (r"elle:G-single|elle:rr-g-single-item|elle:rw:initial-state-G-single", "G-single"),
    (r"elle:G-nonadjacent-process", "G-nonadjacent-process"),
    (r"elle:G-nonadjacent|elle:rr-g-nonadjacent-item", "G-nonadjacent"),
    (r"elle:contradictory-read-orders", "incompatible-order"),
    (r"elle:dirty-update", "dirty-update"),
    (r"elle:duplicated-elements", "duplicate-elements"),
    (r"elle:(?:rw:)?lost-update", "lost-update"),
    (r"elle:wr-process", "G1c-process"),
    (r"elle:rw:(?:cyclic-version-order|read-your-write-linearizable-keys)", "cyclic-versions"),
    (r"elle:rw:scc-sort-bug", "G1c-realtime"),
    (r"elle-pred:(?:g1c-predicate|wr-g1c-item)", "G1c"),
    (r"elle-pred:g2", "G2"),
    (r"elle-pred:(?:ww-wr-rw-item|init-g-single-pred|g1c-multi-key-delete)", "G-single"),
    (r"elle-pred:failure-to-observe", "predicate-read-miss"),
    (r"jepsen:long-fork", "long-fork"),
    (r"awdit:read-committed/non-repeatable-read", "non-repeatable-read"),
    (r"awdit:none/hb-cycle", "happens-before cycle"),
    (r"plume-tap-a", "ThinAirRead"),
    (r"plume-tap-b", "AbortedRead"),
    (r"plume-tap-c", "FutureRead"),
    (r"plume-tap-d", "NotMyOwnWrite"),
    (r"plume-tap-e", "NotMyLastWrite"),
    (r"plume-tap-f", "IntermediateRead"),
    (r"plume-tap-g", "CyclicCO"),
    (r"plume-tap-h", "NonMonoReadCO"),
    (r"plume-tap-i", "NonMonoReadAO"),
    (r"plume-tap-j", "NonRepeatableRead"),
    (r"plume-tap-k", "FracturedReadCO"),
    (r"plume-tap-l", "FracturedReadAO"),
    (r"plume-tap-m", "COConflictAO"),
    (r"plume-tap-n", "ConflictAO"),
)
"""Test cases by their names, and the anomaly that the source means; the first that fits counts."""

SYNONYMS = {
    "ThinAirRead": "thin-air",
    "AbortedRead": "aborted read",
    "FutureRead": "future-read",
    "NotMyOwnWrite": "internal",
    "NotMyLastWrite": "internal",
    "IntermediateRead": "intermediate read",
    "CyclicCO": "G1c-process",
    "NonMonoReadCO": "non-monotonic read",
    "NonMonoReadAO": "non-monotonic read",
    "NonRepeatableRead": "non-repeatable read",
    "FracturedReadCO": "fractured read",
    "FracturedReadAO": "fractured read",
    "COConflictAO": "causality violation",
    "ConflictAO": "causality violation",
    "happens-before cycle": "G1c-process",
}
"""The same thing in other words: CO is Plume's causal order (sessions and reads), AO its arbitration order."""

NOTES = {
    ("G2", "G2-item"): "G2 with anti-dependencies on items only, which Adya calls G2-item: no range was read",
    (
        "G0",
        "G-single-process",
    ): "Elle infers the version order of a register from its session (sequential keys) and "
    "finds a cycle of overwrites. Nobody saw that order; what was seen is that the session's reads go back in time",
    (
        "cyclic-versions",
        "G-single-process",
    ): "Elle's name for an order of versions that its options make cyclic; seen "
    "from outside, a session did not see its own earlier write",
    (
        "incompatible-order",
        "G1c",
    ): "two lists show two appends in opposite orders. The transactions that made them "
    "read one another's appends as well, and that cycle is what read committed forbids by name",
    (
        "dirty-update",
        "G1a",
    ): "a dirty update is an aborted write on which another built: whoever reads the outcome "
    "reads the aborted write, G1a",
    (
        "read of a write that never committed",
        "thin-air",
    ): "the write is nowhere in the log, not even as aborted: to "
    "whoever has only the log, the value came from nowhere",
    (
        "G-single",
        "thin-air",
    ): "a key that was there at first and that nobody deleted was found absent: there never was "
    "a version without it. Elle lets it be the version before the first",
    ("predicate-read-miss", "thin-air"): "the same, in a range: a key that was always there was passed over",
    ("*", "thin-air"): "the case reads a value that nobody wrote, which already breaks read committed",
}
"""(documented, ours) -> why ours is right. `*`: whatever is documented."""


# --- what is found


@dataclass(frozen=True)
class Row:
    name: str
    documented: str
    levels: tuple[str, ...]
    found: tuple[Counterexample, ...]
    """At each of the levels."""
    beside: str = ""
    """What is found if values that nobody wrote were there before."""

    @property
    def called(self) -> list[str]:
        names = [f"{f.anomaly.code} ({f.anomaly.name})" for f in self.found if f.anomaly is not None]
        return list(dict.fromkeys(names))

    @property
    def agrees(self) -> bool:
        wanted = _plain(SYNONYMS.get(self.documented, self.documented))
        ours = {_plain(word) for f in self.found if f.anomaly for word in (f.anomaly.code, f.anomaly.name)}
        return wanted in ours

    @property
    def note(self) -> str:
        if self.agrees or not self.documented:
            return ""
        codes = [f.anomaly.code for f in self.found if f.anomaly is not None]
        for code in codes:
            note = NOTES.get((self.documented, code)) or NOTES.get(("*", code))
            if note is not None:
                return note + (f". If it was there before: {self.beside}" if self.beside else "")
        raise KeyError(
            f"{self.name}: documented as {self.documented}, found {self.called}, and no note says why"
        )


def _plain(word: str) -> str:
    return word.lower().replace(" ", "-")


def explained(trace: Trace, levels: list[Level]) -> tuple[tuple[str, ...], tuple[Counterexample, ...]]:
    checker = Checker(trace)
    found = {level.short: checker.check(level).counterexample for level in minimal(levels)}
    assert all(one is not None for one in found.values())
    return tuple(found), tuple(one for one in found.values() if one is not None)


def read(history: corpus.History) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # partial transactions: docs/corpus.md says how they were read
        return read_trace(CORPUS / "histories" / history.path, format=history.group.format)


def histories() -> list[corpus.History]:
    """Those that are documented to break some level."""
    return [h for h in corpus.histories() if "invalid" in h.documented.values()]


def of_history(history: corpus.History) -> Row:
    broken = [find_level(name) for name, status in history.documented.items() if status == "invalid"]
    return Row(history.path, REAL.get(history.path, ("", ""))[1], *explained(read(history), broken))


def cases() -> list[Case]:
    """The test cases that name what is wrong, and break something."""
    return [case for case in load_all() if documented(case) and broken_levels(case)]


def documented(case: Case) -> str:
    return next((word for pattern, word in NAMED if re.match(pattern, case.name)), "")


def broken_levels(case: Case) -> list[Level]:
    return [find_level(name) for name, expected in case.expected().items() if not expected.valid]


def of_case(case: Case) -> Row:
    levels, found = explained(case.trace(), broken_levels(case))
    beside = ""
    if any(f.anomaly is not None and f.anomaly.code == "thin-air" for f in found):
        there_before = Checker(replace(case.trace(), initial_mode=Initial.UNKNOWN))
        left = [there_before.check(level).counterexample for level in minimal(broken_levels(case))]
        named = [f.anomaly for f in left if f is not None and f.anomaly is not None]
        beside = ", ".join(dict.fromkeys(f"{a.code} ({a.name})" for a in named if a.code != "thin-air"))
    return Row(case.name, documented(case), levels, found, beside)


# --- the page

INTRO = """\
# What public violations are called

Written by `PYTHONPATH=tests:benchmarks python -m pages.violations` from the corpus of public histories and test
cases. *Documented* is the
name that its source gives a violation, if it gives one; *found* is what Boomslang calls it at the weakest levels that
the source says are broken. *Transactions* are those of the core found: which cannot be left out, and with those
whose writes they read. Where the names differ, the last column says why ours is right.
"""


def page() -> str:
    lines = [INTRO, "## Real databases, and examples of others", ""]
    rows = [of_history(h) for h in histories()]
    lines += _table(
        ("history", "from", "documented", "broken", "found", "transactions", "note"),
        (
            [f"`{row.name}`", REAL[row.name][0], row.documented or "no name", *_cells(row), row.note]
            for row in rows
            if row.name in REAL
        ),
    )
    lines += ["", "## Test cases that name an anomaly", ""]
    named = [of_case(case) for case in cases()]
    same = sum(row.agrees for row in named)
    lines += [f"{same} of {len(named)} have the name that their source means; the others have a note.", ""]
    lines += _table(
        ("case", "documented", "broken", "found", "transactions", "note"),
        ([f"`{row.name}`", row.documented, *_cells(row), row.note] for row in named),
    )
    lines += ["", "## Histories that are documented to break a level, without a name", ""]
    lines += [
        "PostgreSQL under repeatable read, which is snapshot isolation, asked for serializability (`polysi/fig7`); "
        "CockroachDB and Galera in dbcop's runs, read as published checkers do (`veristrong/table2`; see "
        "[the corpus](corpus.md) for why that reading is doubtful).",
        "",
    ]
    lines += _table(
        ("history", "broken", "found", "transactions"),
        ([f"`{row.name}`", *_cells(row)] for row in rows if row.name not in REAL),
    )
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    sizes = [
        f"{len(f.core.transactions)} / {len(f.core.transactions) + len(f.candidates)}" for f in row.found
    ]
    return [", ".join(f"`{level}`" for level in row.levels), ", ".join(row.called), ", ".join(sizes)]


def _table(names: tuple[str, ...], rows: Iterator[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(names)} |",
        f"|{' --- |' * len(names)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


if __name__ == "__main__":
    if not histories():
        sys.exit(f"no corpus in {CORPUS}: set BOOMSLANG_CORPUS")
    PAGE.write_text(page())

"""docs/conformance.md: whether we agree with everybody else, as a table. Run as a program, this writes the page.

Nothing on the page is typed by hand but its words: counts, verdicts and certificates come from running every case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from support.list_cases import CASES as LIST_CASES
from support.paths import ROOT
from support.public_cases import (
    CORPUS,
    ELLE_SESSIONS,
    LENIENT,
    MEANINGS,
    SESSIONS,
    SOURCES,
    Case,
    Expected,
    load_all,
)

from boomslang import LEVELS, Checker
from boomslang.levels import find_level

PAGE = ROOT / "docs" / "conformance.md"

INTRO = """\
# Conformance

Other checkers have test suites with documented verdicts. Every case of theirs that we have is run at every level
that Boomslang has; each `valid` is replayed, each `invalid` refuted by a second solver and shown to be minimal, and
where a case is small enough the enumerator and Z3 have to agree too (`tests/conformance/test_conformance.py`). This
page is written by `PYTHONPATH=tests python -m pages.conformance`.

## Agreement

*Documented* counts the verdicts that the source itself states, one for each history and level. *Agree* are those
whose level Boomslang has and where it says the same, *differ* where it does not (the reasons are below), and *not
yet* are those whose level it does not have yet. *Follow* counts verdicts at our other levels that follow from the
documented ones (what a weak level rejects, a stronger one rejects): they all agree, or the tests would fail.
*Computed* counts verdicts that no source documents, but that an independent checker of Biswas and Enea's definitions
gave for the same histories; *as computed* is where we say the same.
"""

THEIR_WORDS = """\
## What their words mean here

The same word means different things in different tools. This is the mapping, as the tests use it.

"Sessions" are the definitions in which session order is part of every level: AWDIT, Plume, dbcop, PolySI, IsoVista
and VeriStrong. "Sessions, by Elle" are Elle's strong-session levels, "plain" its levels without session order; there
each transaction has a session of its own, so that our strong-session levels have to agree as well. In all of them a
read of nothing is a read of the initial version, and there is no other: a value that nobody wrote is thin air.
"""

PREDICATES = """\
## Predicates

Elle's closed-predicate tests read "all keys whose value is odd". We have scans of key ranges and no predicates on
values, but a predicate is an index: it has a row for each key that exists and matches, and whoever writes a key
writes or deletes its rows. Reading the predicate is a scan of the index, and a key that was not returned has no row.
So all of these cases can be told exactly. Elle's results leave out what the transaction itself wrote; a scan would
show it, so it is put in.
"""

DIFFERENCES = """\
## Where we differ
"""

OUR_OWN = """\
## Lists: cases of our own

The definitions say more than anybody's test suite. These were worked out by hand (`tests/support/list_cases.py`); the
same tests run over them. Transactions are called A, B, C, ... in the order of the listing there.
"""


def page(cases: list[Case]) -> str:
    lines = [INTRO, *agreement(cases), "", THEIR_WORDS, *words(), "", PREDICATES, DIFFERENCES]
    lines += [*differences(cases), OUR_OWN, *own()]
    return "\n".join(lines) + "\n"


def agreement(cases: list[Case]) -> Iterator[str]:
    columns = ("histories", "documented", "agree", "differ", "not yet", "follow", "computed", "as computed")
    yield f"| source | {' | '.join(columns)} |"
    yield f"| --- |{' ---: |' * len(columns)}"
    total: Counter[str] = Counter()
    for source, title in SOURCES.items():
        found: Counter[str] = Counter()
        for case in cases:
            if case.source == source:
                found += counts(case)
        yield f"| {title} | {' | '.join(str(found[c]) for c in columns)} |"
        total += found
    yield f"| all | {' | '.join(f'**{total[c]}**' for c in columns)} |"


def counts(case: Case) -> Counter[str]:
    checker = Checker(case.trace())

    def same(level: str, valid: bool) -> bool:
        return checker.check(level).invalid != valid

    found = Counter(histories=1)
    for word, valid in {**case.lenient, **case.documented}.items():
        meaning = MEANINGS[case.family][word]
        found["documented"] += 1
        where = "not yet" if not meaning.known else "agree" if same(meaning.level, valid) else "differ"
        found[where] += 1
    found["follow"] = sum(not e.direct for e in case.expected().values())
    for level, e in without_documented(case).items():
        found["computed"] += 1
        found["as computed"] += same(level, e.valid)
    return found


def without_documented(case: Case) -> dict[str, Expected]:
    return {level: e for level, e in case.computed_too().items() if level not in case.expected()}


def words() -> Iterator[str]:
    yield "| definitions | word | our level | why |"
    yield "| --- | --- | --- | --- |"
    for family, meanings in MEANINGS.items():
        for word, meaning in meanings.items():
            if family == ELLE_SESSIONS and meaning is MEANINGS[SESSIONS][word]:
                continue
            level = f"`{find_level(meaning.level).name}`" if meaning.known else f"{meaning.level} (not yet)"
            yield f"| {family} | `{word}` | {level} | {meaning.why} |"


def differences(cases: list[Case]) -> Iterator[str]:
    """Every case on which we differ, with the certificate of what we say."""
    yield f"{LENIENT}."
    yield ""
    for case in cases:
        known = [word for word in case.lenient if MEANINGS[case.family][word].known]
        if known:
            level = find_level(MEANINGS[case.family][known[-1]].level)
            counterexample = Checker(case.trace()).check(level).counterexample
            assert counterexample is not None
            yield f"`{case.name}`, at {level.title} ({case.why}):"
            yield ""
            yield from ("```text", *counterexample.lines(), "```", "")


def own() -> Iterator[str]:
    columns = [level for level in LEVELS if not level.needs_times or level.name == "strict-serializable"]
    yield f"| history | {' | '.join(level.short for level in columns)} | why |"
    yield f"| --- |{' :-: |' * len(columns)} --- |"
    for case in LIST_CASES:
        checker = Checker(case.trace())
        found = ["**no**" if checker.check(level).invalid else "yes" for level in columns]
        yield f"| {case.name} | {' | '.join(found)} | {case.why} |"


if __name__ == "__main__":
    if every := load_all():
        PAGE.write_text(page(every))
        print(f"wrote docs/{PAGE.name}")
    else:
        print(f"docs/{PAGE.name} stays as it is: no cases in {CORPUS} (set BOOMSLANG_CORPUS)")

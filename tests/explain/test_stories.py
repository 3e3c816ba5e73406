"""The story of every textbook anomaly, word for word: tests/explain/stories holds what a person reads.

One file an anomaly, with its story at the weakest levels that it breaks and at those people ask for. When the words
change on purpose, `make docs` (this file, run as a program) writes them anew, and the difference is there to be read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.anomalies import CASES, Case

from boomslang import Checker
from boomslang.explain.counterexample import Counterexample
from boomslang.levels import find_level

STORIES = Path(__file__).parent / "stories"
ASKED = ("si", "ser", "sser")
LONGEST = 40
BROKEN = [case for case in CASES if case.breaks]

every_broken_case = pytest.mark.parametrize("case", BROKEN, ids=[case.name for case in BROKEN])


def path(case: Case) -> Path:
    return STORIES / (re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-") + ".txt")


def told(case: Case) -> Iterator[tuple[str, Counterexample]]:
    """The levels at which the story is kept, and what is told."""
    checker = Checker(case.build())
    for short in dict.fromkeys((*case.breaks, *ASKED)):
        if not case.verdicts[find_level(short).name]:
            found = checker.check(short).counterexample
            assert found is not None
            yield short, found


def story(case: Case) -> str:
    by_text: dict[str, list[str]] = {}
    for short, found in told(case):
        by_text.setdefault("\n".join(found.lines()), []).append(short)
    parts = [f"at {', '.join(levels)}:\n\n{text}\n" for text, levels in by_text.items()]
    return f"{case.name}: {case.shows}\n\n" + "\n".join(parts)


@every_broken_case
def test_the_story_is_the_one_that_was_read(case: Case) -> None:
    assert path(case).exists(), "a new anomaly: write its story with `make docs`, and read it"
    assert story(case) == path(case).read_text()


@every_broken_case
def test_a_story_is_short(case: Case) -> None:
    for _, found in told(case):
        lines = list(found.lines())
        assert len(lines) < LONGEST
        assert max(map(len, lines)) < 200


def test_every_name_of_the_field_has_a_story() -> None:
    named = {
        (found.anomaly.code, found.anomaly.name) for c in BROKEN for _, found in told(c) if found.anomaly
    }
    codes, names = {code for code, _ in named}, {name for _, name in named}
    assert {"G0", "G1a", "G1b", "G1c", "G-single", "G-nonadjacent", "G2-item", "G2", "thin-air"} <= codes
    assert {"internal", "G-single-process", "G-single-realtime", "G1c-process"} <= codes
    assert {
        "lost update", "read skew", "write skew", "long fork", "fractured read", "phantom", "non-repeatable read",
    } <= names  # fmt: skip


def test_there_is_no_story_of_nothing() -> None:
    assert {file.name for file in STORIES.iterdir()} == {path(case).name for case in BROKEN}


def main() -> int:
    STORIES.mkdir(exist_ok=True)
    wanted = {path(case): story(case) for case in BROKEN}
    for file in set(STORIES.iterdir()) - set(wanted):
        file.unlink()
    for file, text in wanted.items():
        file.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

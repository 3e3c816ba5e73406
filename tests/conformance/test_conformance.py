"""We agree with everybody else's test cases, at every level we have, or say why not.

`conformance.py` holds the mapping from their words to our levels; `docs/conformance.md` is the table that comes
out of it. No verdict is taken on trust: each witness is replayed and each core refuted by Z3, and on small cases
the enumerator, which knows only the definitions, and Z3 on the whole problem have to say the same.
"""

from __future__ import annotations

import json
from functools import cache

import pytest
from fuzz.traces import a_third
from pages.conformance import PAGE, page
from support import effort
from support.effort import in_turn
from support.list_cases import CASES as LIST_CASES
from support.list_cases import ListCase
from support.public_cases import CORPUS, FAMILIES, MEANINGS, SOURCES, Case, build, follows, load_all, matches
from support.unexplained import Unexplained

from boomslang import LEVELS, Checker, Level, Trace, Verdict, check
from boomslang.certify.refute import minimal, refute
from boomslang.certify.replay import replay
from boomslang.levels import find_level, implies
from boomslang.solve.brute import brute
from boomslang.trace import Kind

CASES = load_all()
needs_corpus = pytest.mark.skipif(not CASES, reason=f"no cases in {CORPUS}: set BOOMSLANG_CORPUS")
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
each_list_case = pytest.mark.parametrize("case", LIST_CASES, ids=[case.name for case in LIST_CASES])


def verdicts(trace: Trace, all_explained: bool = True) -> dict[str, Verdict]:
    """The verdict at every level; witnesses are replayed, and the cores of some of the levels refuted."""
    refuted = by_z3(trace)
    explaining, deciding = Checker(trace), Checker(trace) if all_explained else Unexplained(trace)
    found = {level.name: (explaining if level in refuted else deciding).check(level) for level in LEVELS}
    for verdict in found.values():
        if (
            verdict.level.needs_times and not trace.has_times
        ):  # the same as without times, which is looked into
            assert not verdict.valid
        elif verdict.witness is not None:
            replay(trace, verdict.witness)
        elif verdict.level not in refuted:
            assert verdict.invalid and (verdict.counterexample is not None) == all_explained
        else:
            assert verdict.counterexample is not None
            assert refute(trace, verdict.counterexample.core)
            assert minimal(trace, verdict.counterexample.core) == []
    return found


def by_z3(trace: Trace) -> tuple[Level, ...]:
    """The levels at which Z3 is asked too: a third, or in a run that many wait for half as many; others each time. What
    read uncommitted says it never asks Z3 about."""
    number = len(trace.op_kind)
    return tuple(
        level for n, level in enumerate(a_third(number)) if in_turn(n + number // 3, 2) or not level.observes
    )


def holds(found: dict[str, Verdict]) -> dict[str, bool]:
    """level -> is it kept? Without times, as far as can be told."""
    return {name: not verdict.invalid for name, verdict in found.items()}


def kept(case: Case) -> dict[str, bool]:
    """The same, of a case of others; several have the same history."""
    return kept_by(json.dumps(case.sessions))


@cache
def kept_by(sessions: str) -> dict[str, bool]:
    return holds(verdicts(build(json.loads(sessions)), all_explained=effort.full))


# --- others' cases --------------------------------------------------------------------------------------------


@needs_corpus
@each_case
def test_we_say_what_the_source_says(case: Case) -> None:
    expected = {level: e.valid for level, e in case.expected().items()}
    assert {level: kept(case)[level] for level in expected} == expected


@needs_corpus
@each_case
def test_we_say_what_an_independent_checker_says(case: Case) -> None:
    expected = {level: e.valid for level, e in case.computed_too().items()}
    assert {level: kept(case)[level] for level in expected} == expected


@needs_corpus
@each_case
def test_the_levels_agree_with_one_another(case: Case) -> None:
    found = kept(case)
    for a in LEVELS:
        for b in LEVELS:
            assert not (implies(a, b) and found[a.name] and not found[b.name]), (a.name, b.name)
    if Kind.SCAN not in case.trace().op_kind:  # Adya's repeatable read leaves out nothing but predicates
        for prefix in ("", "strong-session-"):
            assert found[f"{prefix}repeatable-read"] == found[f"{prefix}serializable"]


SMALL = [case for case in CASES if case.size <= 6]


@needs_corpus
@pytest.mark.parametrize("case", SMALL, ids=[case.name for case in SMALL])
def test_enumeration_and_z3_say_the_same(case: Case) -> None:
    trace = case.trace()
    found = {level.name: kept(case)[level.name] for level in by_z3(trace)}
    assert {level: brute(trace, level) for level in found} == found
    checker = Unexplained(trace, solver="z3")
    assert {level: not checker.check(level).invalid for level in found} == found


LENIENT = [case for case in CASES if case.lenient]


@needs_corpus
@pytest.mark.parametrize("case", LENIENT, ids=[case.name for case in LENIENT])
def test_where_elle_is_lenient_only_thin_air_is_between_us(case: Case) -> None:
    accepted = follows(case.lenient, case.family)
    for name, verdict in verdicts(case.trace()).items():
        if not verdict.level.observes:
            continue
        found = verdict.counterexample
        assert found is not None and found.anomaly is not None and found.anomaly.code == "thin-air", name
    without = holds(verdicts(case.without_thin_air()))
    assert all(without[level] == e.valid for level, e in accepted.items())


@needs_corpus
def test_every_case_is_used() -> None:
    assert {case.source for case in CASES} <= set(SOURCES)
    for case in CASES:
        assert case.documented or case.lenient, case.name
        assert len(case.expected()) >= 2 or case.lenient, case.name


@needs_corpus
@pytest.mark.full
def test_the_page_shows_what_is_found() -> None:
    assert PAGE.read_text() == page(CASES), "run `PYTHONPATH=tests python -m pages.conformance`"


# --- our own --------------------------------------------------------------------------------------------------


@each_list_case
def test_lists_at_every_level(case: ListCase) -> None:
    found = verdicts(case.trace())
    expected = case.verdicts
    assert holds(found) == expected
    for verdict in found.values():
        if verdict.counterexample is not None and case.anomaly is not None:
            anomaly = verdict.counterexample.anomaly
            assert anomaly is not None
            assert anomaly.code.endswith(tuple(case.anomaly.split())), f"{anomaly} is not {case.anomaly}"


@each_list_case
def test_enumeration_and_z3_know_lists(case: ListCase) -> None:
    trace = case.trace()
    expected = case.verdicts
    assert {name: brute(trace, name) for name in expected} == expected
    checker = Unexplained(trace, solver="z3")
    asked = [name for n, name in enumerate(expected) if in_turn(n + len(trace.op_kind), 3)]
    assert {name: not checker.check(name).invalid for name in asked} == {n: expected[n] for n in asked}


# --- the mapping ----------------------------------------------------------------------------------------------


def test_the_mapping_names_levels_that_are_there() -> None:
    for words in MEANINGS.values():
        for word, meaning in words.items():
            assert meaning.why, word
            if not meaning.known:
                assert meaning.implies and meaning.implied_by, word
            for name in (*meaning.implies, *meaning.implied_by):
                assert find_level(name).name == name
    assert {family for _, family in FAMILIES} <= set(MEANINGS)


def test_what_follows_from_a_word() -> None:
    fails = follows({"causal": False}, "sessions")
    assert fails["strong-session-serializable"].valid is False
    assert "serializable" not in fails  # a session may be what is wrong
    assert not fails["strong-session-serializable"].direct
    assert follows({"si": True}, "plain")["read-committed"].valid
    with pytest.raises(ValueError, match="contradict"):
        follows({"ser": True, "si": False}, "plain")


def test_a_predicate_is_an_index() -> None:
    assert matches("true", 5) and matches(["=", 5], 5) and matches(["mod", 2, 1], 5)
    assert not matches(["=", 4], 5) and not matches(["mod", 2, 0], 5)
    trace = build(
        [
            [{"status": "commit", "init": True, "ops": [["w", "x", 0], ["w", "y", 1]]}],
            [{"status": "commit", "ops": [["w", "x", 1], ["rp", ["=", 1], {"y": 1}], ["delete", "y"]]}],
        ]
    )
    assert dict(trace.initial()) == {"x": 0, "y": 1, '["=", 1] y': 1}
    wrote, indexed, scanned, *_ = trace.transaction(0).operations
    assert (wrote.key, indexed.key) == ("x", '["=", 1] x')
    assert dict(scanned.items) == {'["=", 1] x': 1, '["=", 1] y': 1}
    assert check(trace, "serializable").valid

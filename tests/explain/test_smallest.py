"""The core found is the smallest there is: planted anomalies in long histories, and what short cycles must see."""

from __future__ import annotations

import time
from functools import lru_cache

import pytest
from support.anomalies import CASES
from support.planted import PLANTS, Plant, plant

from boomslang import Checker, Trace
from boomslang.asg import build_asg
from boomslang.explain.cycles import Graph, Known, of_two
from boomslang.levels import find_level

HARD = ("lost update", "long fork", "an answer without its question", "stale read")
"""Those that are planted in the longer histories of the quick tests."""


@lru_cache(maxsize=2)
def planted(what: Plant, transactions: int) -> Trace:
    return plant(what, transactions)


def examine(what: Plant, level: str, transactions: int) -> None:
    trace = planted(what, transactions)
    began = time.process_time()  # what others do to the machine is no fault of ours
    verdict = Checker(trace).check(level)
    spent = time.process_time() - began
    found = verdict.counterexample
    assert found is not None and found.anomaly is not None
    assert found.minimal
    assert found.anomaly.name == what.anomaly
    assert len(found.core.transactions) == what.core
    assert len(found.core.transactions) + len(found.candidates) == what.shown
    assert len(list(found.lines())) < 40
    assert spent < 5 + transactions / 10_000


def each(names: tuple[str, ...] | None = None) -> pytest.MarkDecorator:
    pairs = [(p, level) for p in PLANTS for level in p.levels if names is None or p.name in names]
    return pytest.mark.parametrize(("what", "level"), pairs, ids=[f"{p.name}-{level}" for p, level in pairs])


@each()
def test_the_smallest_core_among_a_thousand(what: Plant, level: str) -> None:
    examine(what, level, 1_000)


@each(HARD)
def test_the_smallest_core_among_ten_thousand(what: Plant, level: str) -> None:
    examine(what, level, 10_000)


@pytest.mark.full
@each(tuple(p.name for p in PLANTS if p.name not in HARD))
def test_the_smallest_core_among_ten_thousand_of_every_kind(what: Plant, level: str) -> None:
    examine(what, level, 10_000)


@pytest.mark.full
@each()
def test_the_smallest_core_among_a_hundred_thousand(what: Plant, level: str) -> None:
    examine(what, level, 100_000)


def test_without_its_script_nothing_is_wrong() -> None:
    """Else the tests above would find something else."""
    empty = Plant("nothing", ("ser",), (), {}, 0, 0, "")
    verdict = Checker(plant(empty, 1_000)).check("strong-session-sser")
    assert verdict.valid


# --- short cycles


def cycles(trace: Trace, level: str) -> set[tuple[int, ...]]:
    return set(of_two(Known(build_asg(trace)), find_level(level)))


def textbook(name: str) -> Trace:
    return next(case for case in CASES if case.name == name).build()


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("lost update", "cs"),
        ("read skew", "ra"),
        ("write skew", "ser"),
        ("circular information flow", "rc"),
        ("stale snapshot", "sser"),
        ("dirty write, seen", "si"),
        ("non-repeatable read", "si"),
    ],
)
def test_cycles_of_two_are_seen(name: str, level: str) -> None:
    assert cycles(textbook(name), level)


def test_what_a_level_allows_is_no_cycle_of_it() -> None:
    assert not cycles(textbook("write skew"), "si")
    assert not cycles(textbook("read skew"), "rc")
    assert not cycles(textbook("stale snapshot"), "ser")


def test_a_shortest_cycle_is_found_from_each_of_its_transactions() -> None:
    level = find_level("si")
    graph = Graph(Known(build_asg(textbook("long fork"))), level)
    assert [graph.shortest(t, 4) for t in range(4)] == [(0, 1, 2, 3)] * 4
    assert graph.shortest(0, 3) is None

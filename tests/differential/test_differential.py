"""Native engine, Z3 and brute force agree on every trace at every level, and what they say can be checked.

See fuzz/traces.py for what is compared. Here are some hundreds of small traces that every run of the tests sees, the
same each time; each is put to a third of the levels, in turn, and `make test-full` puts others to all of them.
Hypothesis shrinks what it finds, the seeded ones are quick and many. What brute force cannot take is in test_crowds.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest
from fuzz.traces import MIXES, a_third, examine, random_trace
from hypothesis import given, settings
from support.effort import examples
from support.opinions import SMALL_MIXES, run
from support.strategies import traces

from boomslang import LEVELS, Trace, check

FEW = range(42, 72)
"""Thirty in a row of which, in every mix, some satisfy and some break each level. The first eight are examined, and of
the others those that are the first to satisfy or to break a level."""
MIX_SECONDS = 30.0
"""Of each mix in `make test-full`, which must come to an end; `make fuzz` goes on for as long as you like."""


def for_a_while(first: int, least: int, seconds: float) -> Iterator[int]:
    """Seeds, until the time is over; but some in any case."""
    stop = time.monotonic() + seconds
    yield from range(first, first + least)
    for seed in count(first + least):
        if time.monotonic() > stop:
            return
        yield seed


@pytest.mark.parametrize("mix", SMALL_MIXES)
@pytest.mark.parametrize("seeds", [FEW, pytest.param(range(300), marks=pytest.mark.full)])
def test_all_opinions_agree(mix: str, seeds: range) -> None:
    found = run(mix, seeds, every_nth_to_z3=16, all_of_first=8 if seeds == FEW else len(seeds))
    most = 1 if seeds == FEW else 4  # a test of one verdict only would test little
    for level in LEVELS:
        assert found[level.name, "valid"] >= most, (level.name, found)
        # No register shows anything at read uncommitted.
        if level.observes or (mix == "lists" and seeds != FEW):
            assert found[level.name, "invalid"] >= min(most, 4 if level.observes else 3), (level.name, found)


@settings(max_examples=examples(45))
@given(traces())
def test_all_opinions_agree_on_what_hypothesis_thinks_of(trace: Trace) -> None:
    examine(trace, levels=a_third(len(trace.op_kind)))


@pytest.mark.full
@pytest.mark.parametrize("mix", MIXES)
def test_all_opinions_agree_on_many_more(mix: str) -> None:
    run(mix, for_a_while(10_000, 5, MIX_SECONDS), every_nth_to_z3=10, levels=lambda _: LEVELS)


@pytest.mark.parametrize("seed", range(len(MIXES)))
def test_the_same_question_has_the_same_answer(seed: int) -> None:
    mix = list(MIXES)[seed]
    for level in a_third(seed):
        one, two = (check(random_trace(seed, mix), level) for _ in range(2))
        assert one.certificate() == two.certificate()
        times = ("analyse", "lower", "solve", "certify", "explain")
        one_stats, two_stats = ({k: v for k, v in x.stats.items() if k not in times} for x in (one, two))
        assert one_stats == two_stats

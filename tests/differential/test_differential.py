"""Native engine, Z3 and brute force agree on every trace at every level, and what they say can be checked.

See fuzz.py for what is compared. Here are some two thousand traces that every run of the tests sees, the same each
time; each is put to a third of the levels, in turn, and `make test-full` puts others to all of them. Hypothesis
shrinks what it finds, the seeded ones are quick and many. The traces that brute force cannot take are put to the
engine and to Z3, and every answer's certificate to those who did not give it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import pytest
from fuzz.traces import MIXES, SMALL, Wrong, a_third, examine, examine_part, random_trace
from hypothesis import given, settings
from support.histories import Absent, append, get, history, list_, put, txn
from support.strategies import traces

from boomslang import LEVELS, Level, Trace, check
from boomslang.solve import strategy

SMALL_MIXES = [name for name, mix in MIXES.items() if mix.transactions[1] <= SMALL]
MIX_SECONDS = 30.0
"""Of each mix in `make test-full`, which must come to an end; fuzz.py goes on for as long as you like."""
LARGE_MIXES = [name for name in MIXES if name not in SMALL_MIXES]


def for_a_while(first: int, least: int, seconds: float) -> Iterator[int]:
    """Seeds, until the time is over; but some in any case."""
    stop = time.monotonic() + seconds
    yield from range(first, first + least)
    for seed in count(first + least):
        if time.monotonic() > stop:
            return
        yield seed


def run(
    mix: str, seeds: Iterable[int], every_nth_to_z3: int, levels: Callable[[int], Sequence[Level]] = a_third
) -> Counter[tuple[str, str]]:
    """Examines one trace a seed; the verdicts by level."""
    found: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        trace = random_trace(seed, mix)
        z3 = seed % every_nth_to_z3 == 0
        try:
            small = len(trace) <= SMALL
            asked = levels(seed)
            found.update(examine(trace, small, by_z3=z3, refuted_by_z3=z3 or not small, levels=asked).items())
        except Wrong as wrong:
            pytest.fail(f"random_trace({seed}, {mix!r}): {wrong}")
    return found


@pytest.mark.parametrize("mix", SMALL_MIXES)
@pytest.mark.parametrize("seeds", [60, pytest.param(300, marks=pytest.mark.full)])
def test_all_opinions_agree(mix: str, seeds: int) -> None:
    found = run(mix, range(seeds), every_nth_to_z3=16)
    most = 4 if seeds >= 150 else 1  # a test of one verdict only would test little
    for level in LEVELS:
        assert found[level.name, "valid"] >= most, (level.name, found)
        if level.observes or (
            mix == "lists" and seeds >= 150
        ):  # no register shows anything at read uncommitted
            assert found[level.name, "invalid"] >= min(most, 4 if level.observes else 3), (level.name, found)


@pytest.mark.parametrize("mix", LARGE_MIXES)
def test_all_opinions_agree_on_more_than_brute_force_can_take(mix: str) -> None:
    run(mix, range(12), every_nth_to_z3=5)


@pytest.mark.parametrize("mix", MIXES)
def test_all_opinions_agree_on_parts_of_a_trace(mix: str) -> None:
    """Whether a part is refuted is what shrinking a core asks, and nobody replays the answers."""
    for seed in range(25 if mix in SMALL_MIXES else 8):
        trace = random_trace(seed, mix)
        small = len(trace) <= SMALL
        try:
            examine_part(trace, random.Random(seed), small, by_z3=not small, levels=a_third(seed))
        except Wrong as wrong:
            pytest.fail(f"a part of random_trace({seed}, {mix!r}): {wrong}")


@settings(max_examples=45)
@given(traces())
def test_all_opinions_agree_on_what_hypothesis_thinks_of(trace: Trace) -> None:
    examine(trace, levels=a_third(len(trace.op_kind)))


@pytest.mark.full
@pytest.mark.parametrize("mix", MIXES)
def test_all_opinions_agree_on_many_more(mix: str) -> None:
    run(mix, for_a_while(10_000, 5, MIX_SECONDS), every_nth_to_z3=10, levels=lambda _: LEVELS)


# --- what was wrong once -------------------------------------------------------------------------------------


def committed_for_two_reasons() -> Trace:
    """D's reads show that B committed, one of them only because B's own read shows what l held at first: a core
    must not use the one to show the other."""
    return history(
        txn("A", get("k", Absent), put("l", 3)),
        txn("B", put("k", 7), get("l", 2), put("l", 8), outcome="unknown"),
        txn("C", get("k", 7), put("k", 11), outcome="unknown"),
        txn("D", get("k", 11), get("l", 8)),
        initial="unknown",
    )


def session_order_past_one_that_was_read_from() -> Trace:
    """D misses A's x, and A is before it in its session. That B, in between, was also read from hides nothing."""
    return history(
        txn("S", put("x", 1)),
        txn("S", put("y", 1)),
        txn("S", put("z", 1)),
        txn("S", get("y", 1), get("x", Absent)),
    )


def one_list_shows_both_orders() -> Trace:
    """B's list alone is a dirty write; A's shows one half of it again."""
    return history(
        txn("A", append("x", 1), list_("x", [3, 1])),
        txn("B", list_("x", [1, 3, 1])),
        txn("C", append("x", 3)),
    )


@pytest.mark.parametrize(
    "trace",
    [one_list_shows_both_orders, committed_for_two_reasons, session_order_past_one_that_was_read_from],
)
def test_what_was_wrong_once(trace: Callable[[], Trace]) -> None:
    examine(trace())


# --- the same answer however it is reached ------------------------------------------------------------------


@pytest.mark.parametrize("mix", LARGE_MIXES)
def test_the_strategy_of_the_engine_changes_no_verdict(mix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no patience all its steps are taken: real time, hints, saturation, windows, the whole."""
    expected = {}
    for seed in range(100, 115):
        trace = random_trace(seed, mix)
        for level in a_third(seed):
            expected[seed, level.name] = check(trace, level).status
    for patience in ("EAGER", "FIRST", "BLIND", "LONG"):
        monkeypatch.setattr(strategy, f"{patience}_CONFLICTS", 1)
    monkeypatch.setattr(strategy, "WINDOWS", (3, 5))
    ways = Counter()
    for seed in range(100, 115):
        trace = random_trace(seed, mix)
        for level in a_third(seed):
            verdict = check(trace, level)
            assert verdict.status == expected[seed, level.name], (seed, mix, level.name)
            ways[verdict.stats.get("decided by")] += 1
    assert ways["a window"] and ways["direct"], ways


@pytest.mark.parametrize("seed", range(20))
def test_the_same_question_has_the_same_answer(seed: int) -> None:
    mix = list(MIXES)[seed % len(MIXES)]
    for level in a_third(seed):
        one, two = (check(random_trace(seed, mix), level) for _ in range(2))
        assert one.certificate() == two.certificate()
        times = ("analyse", "lower", "solve", "certify", "explain")
        one_stats, two_stats = ({k: v for k, v in x.stats.items() if k not in times} for x in (one, two))
        assert one_stats == two_stats

"""The reference is right about small things that a person can check, obeys the laws of the levels, and agrees
with an unrelated encoding of the same definitions in Z3."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.anomalies import LEVELS
from support.effort import examples
from support.histories import Absent, delete, end, failed, get, history, iterator, put, scan, step, txn
from support.strategies import Mix, traces

from boomslang.certify.certificate import Core
from boomslang.certify.refute import refute
from boomslang.solve import brute as reference
from boomslang.solve.brute import PRESENT, Read, brute, brute_core, finals_of, reads_of
from boomslang.trace import ABSENT, Trace

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
randomly = st.randoms(use_true_random=False)


def everything(trace: Trace, level: str) -> Core:
    reads = [(r.row, r.key) for t in range(len(trace)) for r in reads_of(trace, t)]
    return Core(level, tuple(range(len(trace))), tuple(reads))


def a_third(trace: Trace) -> tuple[str, ...]:
    """A third of the levels, by the number of operations: with many traces each has its turn."""
    return LEVELS[len(trace.op_kind) % 3 :: 3]


# --- what a transaction saw and left behind ---


def test_reads_of_others_are_told_from_reads_of_oneself() -> None:
    trace = history(
        txn("A", get("x", 1), put("x", 2), get("x", 2), get("x", 1), failed(get("x", 5)), delete("x", True))
    )
    one = trace.op_value[0]
    assert reads_of(trace, 0) == [
        Read(0, 0, 0, one, item=True, internal=False),
        Read(0, 3, 0, one, True, internal=True),
    ]
    assert finals_of(trace, 0) == {0: ABSENT}


def test_deletes_read_what_they_tell() -> None:
    trace = history(txn("A", delete("x"), delete("y", True), delete("z", False)))
    assert [(r.row, r.value) for r in reads_of(trace, 0)] == [(1, PRESENT), (2, ABSENT)]
    assert finals_of(trace, 0) == {0: ABSENT, 1: ABSENT}


def test_ranges_read_items_and_absent_keys() -> None:
    trace = history(
        txn("A", scan("b", "d", {"c": 1}), iterator(1), step(1, "b", 1), step(1, "c", 1), end(1)),
        txn("B", put("a", 1), put("b", 1), put("d", 1)),
    )
    seen = [(r.row, trace.keys[r.key], r.item) for r in reads_of(trace, 0)]
    assert seen == [
        (0, "b", False), (0, "c", True),
        (2, "a", False), (2, "b", True),
        (3, "c", True),
        (4, "d", False),
    ]  # fmt: skip


# --- laws ---

IMPLIED = [
    ("strict-serializable", "serializable"),
    ("serializable", "snapshot-isolation"),
    ("serializable", "repeatable-read"),
    ("snapshot-isolation", "read-committed"),
    ("repeatable-read", "read-committed"),
    ("strict-serializable", "strong-snapshot-isolation"),
    ("strong-snapshot-isolation", "snapshot-isolation"),
    *(
        (level, level.removeprefix("strong-session-"))
        for level in LEVELS
        if level.startswith("strong-session-")
    ),
    ("strong-session-strict-serializable", "strong-session-serializable"),
    ("strong-session-serializable", "strong-session-snapshot-isolation"),
    ("strong-session-serializable", "strong-session-repeatable-read"),
    ("strong-session-snapshot-isolation", "strong-session-read-committed"),
    ("strong-session-repeatable-read", "strong-session-read-committed"),
]


@calm
@given(traces())
def test_stronger_levels_imply_weaker_ones(trace: Trace) -> None:
    verdict = {level: brute(trace, level) for level in LEVELS}
    for stronger, weaker in IMPLIED:
        assert verdict[weaker] or not verdict[stronger], (stronger, weaker)


@calm
@given(traces())
def test_the_version_order_is_free_at_read_committed(trace: Trace) -> None:
    """RC is "wr and pwr acyclic for some choice of writers": its ww edges never matter."""
    with pytest.MonkeyPatch.context() as patch:
        verdict = brute(trace, "read-committed")
        patch.setitem(reference.GRAPHS, "read-committed", (1, {"wr", "pwr"}))
        assert brute(trace, "read-committed") == verdict


def test_unknown_levels_are_refused_and_the_known_ones_listed() -> None:
    with pytest.raises(
        ValueError, match="unknown level 'sanity'; known are read-uncommitted, read-committed"
    ):
        brute(history(), "sanity")


# --- cores ---


@calm
@given(traces(Mix(transactions=(2, 4))), randomly)
def test_dropping_parts_of_a_core_only_weakens_it(trace: Trace, rng: random.Random) -> None:
    for level in a_third(trace):
        core = everything(trace, level)
        assert brute_core(trace, level, core.transactions, core.reads) == brute(trace, level)
        some = [t for t in core.transactions if rng.random() < 0.7]
        reads = [read for read in core.reads if rng.random() < 0.7]
        fewer = [t for t in some if rng.random() < 0.7], [read for read in reads if rng.random() < 0.7]
        if brute_core(trace, level, some, reads):
            assert brute_core(trace, level, *fewer)


def test_a_dropped_transaction_may_have_committed_even_if_it_aborted() -> None:
    trace = history(txn("A", put("x", 1), outcome="aborted"), txn("B", get("x", 1)))
    read = (1, 0)
    assert not brute_core(trace, "read-committed", [0, 1], [read])
    assert brute_core(trace, "read-committed", [1], [read])
    assert brute_core(trace, "read-committed", [0], [read])
    assert brute_core(trace, "read-committed", [0, 1], [])


def test_a_dropped_transaction_keeps_its_writes_and_nothing_else() -> None:
    trace = history(txn("A", put("x", 1), get("y", 7)), txn("A", get("x", Absent)), txn("A", get("x", 1)))
    assert not brute(trace, "read-committed")  # y = 7 is thin air
    assert brute_core(trace, "strong-session-serializable", [1, 2], [(2, 0), (3, 0)])
    assert not brute_core(trace, "strong-session-serializable", [0, 1, 2], [(2, 0)])


def test_a_candidate_outside_the_core_brings_all_its_writes() -> None:
    trace = history(txn("A", put("x", 1), put("y", 1)), txn("B", get("x", 1), get("y", 0)), initial={"y": 0})
    y, x = 0, 1  # keys are numbered as they come, and the initial state comes first
    assert not brute_core(trace, "serializable", [1], [(2, x), (3, y)])
    assert brute_core(trace, "read-committed", [1], [(2, x), (3, y)])
    assert brute_core(trace, "serializable", [1], [(3, y)])


def test_an_internal_read_is_a_read_of_the_core() -> None:
    trace = history(txn("A", put("x", 1), get("x", 2)))
    assert not brute_core(trace, "read-committed", [0], [(1, 0)])
    assert brute_core(trace, "read-committed", [0], [])
    assert brute_core(trace, "read-committed", [], [(1, 0)])


# --- the other opinion ---


@settings(calm, max_examples=examples(60))
@given(traces())
def test_z3_says_the_same(trace: Trace) -> None:
    for level in a_third(trace):
        assert refute(trace, everything(trace, level)) != brute(trace, level), level


@settings(calm, max_examples=examples(60))
@given(traces(), randomly)
def test_z3_says_the_same_of_any_core(trace: Trace, rng: random.Random) -> None:
    for level in a_third(trace):
        core = everything(trace, level)
        kept = tuple(t for t in core.transactions if rng.random() < 0.8)
        reads = tuple(read for read in core.reads if rng.random() < 0.8)
        assert refute(trace, Core(level, kept, reads)) != brute_core(trace, level, kept, reads), (kept, reads)

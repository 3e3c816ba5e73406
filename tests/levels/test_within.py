"""Levels within a bound: their names, what implies what, and that everybody means the same by them.

Small random traces are put to the engine, Z3, brute force and those who check certificates (fuzz/traces.py) at bounds
between nothing and more than the trace is long. By definition a bound of 0 is the strict level, a long one the plain
level, and what holds within a bound holds within a longer one.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from fuzz.traces import SMALL, Wrong, examine, examine_part, random_trace
from support.histories import get, history, put, txn

from boomslang import LEVELS, Trace, UsageError, check
from boomslang.asg.graph import build_asg
from boomslang.certify.replay import ReplayError, replay
from boomslang.ir import lower
from boomslang.levels import Level, Once, bounded, find_level, fitted, implies
from boomslang.levels.within import takes_bound, words, written
from boomslang.solve import strategy
from boomslang.trace.model import NO_TIME

PLAIN = tuple(level for level in LEVELS if takes_bound(level))
STRICT = {"ser": "sser", "si": "strong-si", "pl-2+": "pl-fcv", "strong-session-ser": "strong-session-sser"}
LONG = 1_000


def late(apart: int, unit: str = "") -> Trace:
    """b reads what was overwritten, and that had returned `apart` before b was invoked."""
    trace = history(
        txn("a", put("x", 1), time=(0, 10)),
        txn("b", get("x", 0), time=(10 + apart, 20 + apart)),
        initial={"x": 0},
    )
    return replace(trace, unit=unit)


def status(trace: Trace, level: str | Level) -> str:
    return check(trace, level).status


# --- names


def test_six_levels_take_a_bound() -> None:
    assert sorted(level.short for level in PLAIN) == [
        "pl-2+", "ser", "si", "strong-session-pl-2+", "strong-session-ser", "strong-session-si",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "name", "title"),
    [
        ("ser-within-1s", "serializable-within-1s", "serializable within 1 s"),
        ("Serializable within 1.5 s", "serializable-within-1500ms", "serializable within 1.5 s"),
        ("PL-3 WITHIN 2000 ms", "serializable-within-2s", "serializable within 2 s"),
        ("psi-within-20us", "consistent-view-within-20us", "consistent view within 20 us"),
        ("si_within_1000", "snapshot-isolation-within-1000", "snapshot isolation within 1000"),
        ("ser-within-2m", "serializable-within-120s", "serializable within 120 s"),
        (
            "strong-session-si-within-0",
            "strong-session-snapshot-isolation-within-0",
            "strong session snapshot isolation within 0",
        ),
    ],
)
def test_a_bound_is_in_the_name(asked: str, name: str, title: str) -> None:
    level = find_level(asked)
    assert (level.name, level.title) == (name, title)
    for again in (level.name, level.short, level.title):
        assert find_level(again) == level


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("rc-within-1s", "which has no form with real-time order; expected serializable"),
        ("rr-within-1s", "which has no form with real-time order; expected serializable"),
        ("sser-within-1s", "which already asks for real-time order; expected serializable"),
        ("ser-within-1s-within-2s", "which already asks for real-time order"),
        ("ser-within-1week", "found the unit 'week'"),
        ("ser-within-1.5", "or a whole number in the unit of the trace"),
        ("ser-within-0.1ns", "no whole number of nanoseconds"),
        ("ser-within-1.2.3s", "found '1.2.3s' as a bound"),
        ("ser-within-99999999999999999999", "longer than any trace"),
        ("ser-within-", "unknown level 'ser-within-'"),
        ("nonsense-within-1s", "unknown level 'nonsense'"),
    ],
)
def test_other_bounds_are_refused(asked: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        find_level(asked)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("ticks", "unit", "shown", "short"),
    [
        (0, "ns", "0 ns", "0s"),
        (1_000_000_000, "ns", "1 s", "1s"),
        (1_500, "ms", "1.5 s", "1500ms"),
        (999, "us", "999 us", "999us"),
        (7, "", "7", "7"),
    ],
)
def test_times_are_written_for_people_and_for_the_next_question(
    ticks: int, unit: str, shown: str, short: str
) -> None:
    assert (words(ticks, unit), written(ticks, unit)) == (shown, short)
    level = fitted(bounded(find_level("ser"), short), late(1, unit))
    assert (level.slack, level.slack_unit) == (ticks, unit)


def test_which_implies_which() -> None:
    def stronger(a: str, b: str) -> bool:
        return implies(find_level(a), find_level(b))

    order = ["sser", "ser-within-1ms", "ser-within-1s", "ser-within-2000ms", "ser"]
    for i, a in enumerate(order):
        assert [stronger(a, b) for b in order] == [j >= i for j in range(len(order))], a
    assert stronger("ser-within-0", "sser") and stronger(
        "strong-session-ser-within-0s", "strong-session-sser"
    )
    assert stronger("ser-within-1s", "si-within-1s") and stronger("si-within-1s", "pl-2+-within-1s")
    assert not stronger("ser-within-2s", "si-within-1s") and not stronger("si-within-1s", "ser-within-1s")
    assert stronger("strong-session-ser-within-1s", "ser-within-1s")
    assert not stronger("ser-within-1s", "strong-session-ser-within-1s")
    # Of a number in the trace's unit nobody knows how it compares with one in seconds.
    assert not stronger("ser-within-1", "ser-within-9s") and not stronger("ser-within-1s", "ser-within-9")
    assert stronger("ser-within-1", "ser-within-2") and not stronger("ser-within-2", "ser-within-1")


# --- the bound is in the unit of the trace


def test_it_counts_only_what_is_more_than_the_bound_apart() -> None:
    for level in PLAIN:
        assert status(late(1500, "ms"), bounded(level, "1s")) == "invalid", level
        assert status(late(1500, "ms"), bounded(level, "1499ms")) == "invalid", level
        assert status(late(1500, "ms"), bounded(level, "1.5s")) == "valid", level
        assert status(late(1500), bounded(level, 1499)) == "invalid", level
        assert status(late(1500), bounded(level, 1500)) == "valid", level
        assert status(late(1500, "s"), bounded(level, "25min")) == "valid", level
        assert status(late(1501, "s"), bounded(level, "25min")) == "invalid", level


def test_a_number_is_in_the_unit_of_the_trace() -> None:
    verdict = check(late(1500, "ms"), "ser", within=1000)
    assert verdict.invalid and verdict.level.title == "serializable within 1 s"
    assert verdict.level.name == "serializable-within-1000"
    assert check(late(1500), "ser", within="1000").level.title == "serializable within 1000"


def test_a_trace_without_a_unit_has_no_seconds() -> None:
    with pytest.raises(UsageError, match=r"does not say the unit of its times.*such as --within 1000"):
        check(late(1500), "ser", within="1s")
    with pytest.raises(UsageError, match="whole numbers of ms; expected a bound of whole ms"):
        check(late(1500, "ms"), "ser", within="1us")


def test_a_trace_without_times_is_told_so() -> None:
    timeless = history(txn("a", put("x", 1)), txn("b", get("x", 1)))
    for asked in ("1s", 1000):
        verdict = check(timeless, "ser", within=asked)
        assert (verdict.status, verdict.reason) == (
            "unknown", "no times in the trace: same as serializable, which holds",
        )  # fmt: skip
    broken = history(txn("a", put("x", 1)), txn("b", get("x", 2)))
    assert check(broken, "ser", within="1s").invalid


def test_the_largest_times_do_not_overflow() -> None:
    last = 2**63 - 1
    trace = history(
        txn("a", put("x", 1), time=(-last, -last + 1)),
        txn("b", get("x", 0), time=(last - 1, last)),
        initial={"x": 0},
    )
    for level in PLAIN:
        assert status(trace, bounded(level, last)) == "invalid"
    near = history(
        txn("a", put("x", 1), time=(0, last - 2)),
        txn("b", get("x", 0), time=(last - 1, last)),
        initial={"x": 0},
    )
    for level in PLAIN:
        assert status(near, bounded(level, 0)) == "invalid"
        for slack in (1, 2, last):
            assert status(near, bounded(level, slack)) == "valid"


def test_none_of_unknown_outcome_had_returned_and_clocks_are_not_compared() -> None:
    unknown = history(
        txn("a", put("x", 1), time=(0, 10), outcome="unknown"),
        txn("b", get("x", 1), time=(20, 30)),
        txn("c", get("x", 0), time=(5_000, 5_010)),
        initial={"x": 0},
    )
    clocks = history(
        txn("a", put("x", 1), time=(0, 10), clock="one"),
        txn("b", get("x", 0), time=(5_000, 5_010), clock="two"),
        initial={"x": 0},
    )
    assert status(clocks, "ser-within-100") == "valid"
    # b had read it, and returned: that counts.
    assert status(unknown, "ser-within-100") == "invalid"
    alone = replace(unknown, txn_outcome=np.array([2, 2, 0], np.uint8))
    assert status(alone, "ser-within-100") == "valid"


def test_a_module_that_wants_real_time_order_gets_all_of_it() -> None:
    assert check(late(50), "ser", within=100).valid
    assert check(late(50), "ser", within=100, modules=["real-time-order"]).invalid


# --- everybody agrees


def a_third(seed: int) -> list[Level]:
    return [level for i, level in enumerate(PLAIN) if i % 3 == seed % 3]


def agree(seed: int, mix: str, by_z3: bool) -> Counter[str]:
    """All opinions on a trace at a short bound, and how it compares; what the bound changed."""
    trace = random_trace(seed, mix)
    small, slack = len(trace) <= SMALL, 1 + seed % 4
    levels = [bounded(level, slack) for level in a_third(seed)]
    try:
        found = examine(trace, small, by_z3=by_z3, refuted_by_z3=by_z3 or not small, levels=levels)
    except Wrong as wrong:
        pytest.fail(f"random_trace({seed}, {mix!r}): {wrong}")
    changed: Counter[str] = Counter()
    for level, short in zip(a_third(seed), levels, strict=True):
        none, long, plain = (status(trace, x) for x in (bounded(level, 0), bounded(level, LONG), level))
        if trace.has_times:
            assert long == plain, (seed, mix, level.name)
        if level.short in STRICT:
            assert none == status(trace, STRICT[level.short]), (seed, mix, level.name)
        row = [none == "invalid", found[short.name] == "invalid", plain == "invalid"]
        assert row == sorted(row, reverse=True), (seed, mix, level.name)  # what holds holds within more
        changed["not strict"] += row[0] != row[1]
        changed["not plain"] += row[1] != row[2]
    return changed


@pytest.mark.parametrize("seeds", [8, pytest.param(200, marks=pytest.mark.full)])
def test_all_opinions_agree_within_bounds(seeds: int) -> None:
    changed: Counter[str] = Counter()
    for mix in ("sessions", "clocks", "few-values"):
        for seed in range(seeds):
            changed += agree(seed, mix, by_z3=seed % 6 == 0)
    assert changed["not strict"] and changed["not plain"], changed  # or the bound was not tried


@pytest.mark.parametrize("mix", ["unknown", "lists", "ranges", "crowd", "crowd-of-twins", "crowd-in-doubt"])
@pytest.mark.parametrize("seeds", [1, pytest.param(60, marks=pytest.mark.full)])
def test_all_opinions_agree_within_bounds_on_other_traces(mix: str, seeds: int) -> None:
    for seed in range(seeds):
        agree(seed, mix, by_z3=seed % 4 == 0)


def test_all_opinions_agree_on_parts() -> None:
    for seed in range(8):
        trace = random_trace(seed, "sessions")
        levels = [bounded(level, 2) for level in a_third(seed)]
        examine_part(trace, random.Random(seed), by_z3=seed % 4 == 0, levels=levels)


def test_the_strategy_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [(seed, bounded(level, 3)) for seed in range(4) for level in a_third(seed)]
    expected = [status(random_trace(seed, "crowd-of-twins"), level) for seed, level in asked]
    for patience in ("SOON", "EAGER", "FIRST", "BLIND", "LONG"):
        monkeypatch.setattr(strategy, f"{patience}_CONFLICTS", 1)
    monkeypatch.setattr(strategy, "NEIGHBOURS", (3, 5))
    assert [status(random_trace(seed, "crowd-of-twins"), level) for seed, level in asked] == expected


def test_the_time_line_is_that_of_pairs_that_are_far_enough_apart() -> None:
    for seed in range(30):
        trace = random_trace(seed, "clocks")
        asg = build_asg(trace)
        for slack in (0, 1, 3):
            ir = lower(asg, bounded(find_level("ser"), slack))
            after: dict[int, set[int]] = {}
            for a, b in zip(*(x.tolist() for x in ir.order_edges()), strict=True):
                after.setdefault(a, set()).add(b)
            for t in range(len(trace)):
                assert _reached(after, t, len(trace)) == {
                    u
                    for u in range(len(trace))
                    if trace.txn_outcome[t] == 0
                    and trace.txn_outcome[u] != 1
                    and trace.txn_clock[t] == trace.txn_clock[u]
                    and NO_TIME not in (trace.txn_end[t], trace.txn_begin[u])
                    and trace.txn_end[t] + slack < trace.txn_begin[u]
                }, (seed, slack, t)


def _reached(after: dict[int, set[int]], start: int, transactions: int) -> set[int]:
    """The transactions that only helpers lead to."""
    found: set[int] = set()
    todo = [start]
    while todo:
        for b in after.get(todo.pop(), ()):
            if b < transactions:
                found.add(b)
            else:
                todo.append(b)
    return found


# --- certificates


def test_a_witness_of_one_bound_is_none_of_a_shorter_one() -> None:
    for level in PLAIN:
        verdict = check(late(1500, "ms"), bounded(level, "2s"))
        assert verdict.witness is not None
        replay(late(1500, "ms"), verdict.witness)
        for bound in ("1499ms", "1s", "0", "0s"):
            forged = replace(verdict.witness, level=f"{level.name}-within-{bound}")
            with pytest.raises(ReplayError, match=r"invoked only when it had returned|misses a version"):
                replay(late(1500, "ms"), forged)
        replay(late(1500, "ms"), replace(verdict.witness, level=f"{level.name}-within-1500"))


@pytest.mark.parametrize("bound", ["2x", "1.5s", "-2s", "2s2", "s", "²", "2 s", "999us", "2s-within-2s"])
def test_a_witness_of_nonsense_is_refused(bound: str) -> None:
    verdict = check(late(1500, "ms"), "ser", within="2s")
    assert verdict.witness is not None
    with pytest.raises(ReplayError, match="malformed"):
        replay(late(1500, "ms"), replace(verdict.witness, level=f"serializable-within-{bound}"))


def test_a_witness_of_a_level_without_such_a_form_is_refused() -> None:
    verdict = check(late(1500, "ms"), "rc")
    assert verdict.witness is not None
    with pytest.raises(ReplayError, match="there is no level"):
        replay(late(1500, "ms"), replace(verdict.witness, level="read-committed-within-2s"))


def test_a_witness_in_seconds_says_nothing_of_a_trace_without_a_unit() -> None:
    verdict = check(late(1500, "ms"), "ser", within="2s")
    assert verdict.witness is not None
    with pytest.raises(ReplayError, match="the times are in no unit"):
        replay(late(1500), verdict.witness)


def test_paths_count_what_is_far_enough_apart() -> None:
    """b saw a's y; c, long after, misses a's x: only b's return says that a is before c."""
    trace = history(
        txn("a", put("x", 1), put("y", 1), time=(0, 100), outcome="unknown"),
        txn("b", get("y", 1), time=(0, 10)),
        txn("c", get("x", 0), time=(50, 60)),
        initial={"x": 0, "y": 0},
    )
    assert status(trace, "pl-2+-within-39") == "invalid"
    verdict = check(trace, "pl-2+-within-40")
    assert verdict.valid and verdict.witness is not None
    replay(trace, verdict.witness)
    with pytest.raises(ReplayError):
        replay(trace, replace(verdict.witness, level="consistent-view-within-39"))


# --- the story


def test_the_story_says_how_far_apart() -> None:
    verdict = check(late(1490, "ms"), "ser", within="1s")
    assert verdict.counterexample is not None
    told = "\n".join(verdict.counterexample.lines())
    assert "T0 had returned (at 10) 1.49 s before T1 was invoked (at 1500), more than 1 s" in told
    near = check(late(1_000_001, "ns"), "ser", within="1ms").counterexample
    assert near is not None and "1.000001 ms before T1 was invoked" in "\n".join(near.lines())
    none = check(late(1490), "ser", within=1000).counterexample
    assert none is not None and "1490 before T1 was invoked (at 1500), more than 1000" in "\n".join(
        none.lines()
    )


def test_levels_stay_data() -> None:
    level = bounded(find_level("pl-2+"), "1s")
    assert isinstance(level.once, Once) and (level.slack, level.slack_unit) == (1, "s")
    assert replace(level, slack=2) != level and hash(level.name)

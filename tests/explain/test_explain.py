"""Explanations as a person reads them: snapshots of what is said about the textbook's anomalies, and a check that
every step of every argument is true of the trace it speaks of.
"""

from __future__ import annotations

import json
from itertools import groupby
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from fuzz.traces import a_third, random_trace
from hypothesis import given, settings
from hypothesis import strategies as st
from support.anomalies import CASES
from support.effort import examples
from support.histories import Absent, delete, get, history, put, scan, txn
from support.strategies import traces

from boomslang import LEVELS, Checker, Level, Trace, check
from boomslang.asg import ASG, build_asg
from boomslang.certify.refute import refute
from boomslang.explain import core
from boomslang.explain.core import refuted, shrink
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.names import LONGEST, short
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir import lower
from boomslang.ir.expression import Edge
from boomslang.levels import Dependency, find_level
from boomslang.solve.brute import PRESENT, finals_of, reads_of
from boomslang.trace import ABSENT, Outcome


def why(trace: Trace, level: str) -> Counterexample:
    found = check(trace, level).counterexample
    assert found is not None
    return found


def told(trace: Trace, level: str) -> str:
    return "\n".join(why(trace, level).lines()) + "\n"


def textbook(name: str) -> Trace:
    return next(case for case in CASES if case.name == name).build()


# --- stories (those of the textbook's anomalies are in test_stories.py) -----------------------------------


def test_an_explanation_that_does_not_end_in_its_time_tells_what_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a long cycle every member is needed; without time, to leave them out one by one is not begun."""
    many = 60
    trace = history(*(txn(f"s{i}", get(f"k{i}", Absent), put(f"k{(i + 1) % many}", i)) for i in range(many)))
    with monkeypatch.context() as patched:
        patched.setattr(core, "LARGE", many - 1)
        in_no_time = check(trace, "ser", explaining=0.0)
    assert (
        in_no_time.invalid and in_no_time.counterexample is not None and in_no_time.counterexample.cut_short
    )
    assert len(in_no_time.counterexample.core.transactions) == many
    assert refute(trace, in_no_time.counterexample.core), "a core that is not minimal is one all the same"
    assert why(trace, "ser").minimal


def test_duplicate_values_make_cases() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1), get("x", Absent)))
    assert told(trace, "ser") == dedent("""
        G-single (non-repeatable read): a cycle with exactly one anti-dependency: somebody saw a state that never was
        rules out read atomic, repeatable read and read committed after Biswas and Enea, and all that imply one of them
          T2: session 'C' transaction 3 (operation 7): get 'x' -> 1; get 'x' -> absent
          T0: session 'A' transaction 1 (operation 1): put 'x' = 1
          T1: session 'B' transaction 2 (operation 4): put 'x' = 1
        1. T2 read 'x' = absent (operation 9), the initial value, which nobody else wrote
        T2 read 'x' = 1 (operation 8). From whom?
        * either T2 read T0's 'x' (operation 2); then
            2. suppose that T2 read 'x' from T0, so T0 is before T2
            3. T2 read the initial 'x', which T0 overwrote (operation 2), so T2 is before T0 [from 1]
            => a cycle: T2 -rw('x')-> T0 -wr('x')-> T2
        * or T2 read T1's 'x' (operation 5); then, in the same way: a cycle: T2 -rw('x')-> T1 -wr('x')-> T2
        => both end in a cycle
        """).lstrip("\n")  # fmt: skip


def test_writers_in_either_order_make_cases() -> None:
    trace = history(
        txn("A", put("x", 1), put("y", 1)),
        txn("B", put("y", 2), put("z", 2)),
        txn("C", get("x", 1), get("y", 2)),
        txn("D", get("y", 1), put("x", 4), put("z", 4)),
    )
    assert told(trace, "pl-2+") == dedent("""
        G-single (read skew): a cycle with exactly one anti-dependency: somebody saw a state that never was
        rules out consistent view and repeatable read, and all that imply one of them
          T2: session 'C' transaction 3 (operation 9): get 'x' -> 1; get 'y' -> 2
          T3: session 'D' transaction 4 (operation 13): get 'y' -> 1; put 'x' = 4; put 'z' = 4
          T0: session 'A' transaction 1 (operation 1): put 'x' = 1; put 'y' = 1
          T1: session 'B' transaction 2 (operation 5): put 'y' = 2; put 'z' = 2
        1. T2 read 'x' = 1 (operation 10), which only T0 wrote (operation 2), so T0 is before T2
        2. T2 read 'y' = 2 (operation 11), which only T1 wrote (operation 6), so T1 is before T2
        3. T3 read 'y' = 1 (operation 14), which only T0 wrote (operation 3), so T0 is before T3
        T1 (operation 7) and T3 (operation 16) both wrote 'z'. Who was first?
        * either T1 wrote 'z' before T3; then
            4. T2 read T1's 'y' and not T0's (operation 3), though T0 is before T2, so T0 is before T1 [from 1, 2]
            5. suppose that T1 wrote 'z' before T3
            6. T3 read T0's 'y', which T1 overwrote (operation 6), so T3 is before T1 [from 3, 4]
            => a cycle: T3 -rw('y')-> T1 -ww('z')-> T3
        * or T3 wrote 'z' before T1; then
            7. suppose that T3 wrote 'z' before T1
            8. T2 read T0's 'x', which T3 overwrote (operation 15), so T2 is before T3 [from 1, 3]
            => a cycle: T2 -rw('x')-> T3 -ww('z')-> T1 -wr('y')-> T2
        => both end in a cycle
        """).lstrip("\n")


def test_a_step_says_from_which_others_it_follows() -> None:
    trace = textbook("lost update")
    argument = why(trace, "ser").argument
    assert argument is not None
    lines = list(argument.lines())
    assert lines[1].startswith("2. ") and lines[1].endswith(" [from 1]")
    assert lines[3].startswith("4. ") and lines[3].endswith(" [from 3]")


def test_an_unknown_outcome_that_matters_is_argued_for() -> None:
    argument = why(textbook("an unknown commit that read thin air"), "rc").argument
    assert argument is not None
    assert argument.steps[0].text.endswith("so T0, whose outcome is unknown, must have committed")


def test_the_operations_of_a_story_are_those_that_matter() -> None:
    trace = history(
        txn("A", get("p", Absent), get("x", 0), put("q", 5), delete("y"), put("x", 1)),
        txn("B", scan("w", "z", {"x": 0, "y": 3}), put("x", 2), put("r", 2)),
        initial={"x": 0, "y": 3},
    )
    lines = list(why(trace, "ser").transactions())
    assert lines == [
        "T0: session 'A' transaction 1 (operation 1): get 'x' -> 0; put 'x' = 1",
        "T1: session 'B' transaction 2 (operation 8): scan: 'x' -> 0; put 'x' = 2",
    ]


# --- length -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["a" * 500, 10**100, b"\x00" * 500, "\x00" * 500, "ä" * 500])
def test_long_values_are_shortened_with_their_length(value: object) -> None:
    text = short(value)
    assert len(text) <= LONGEST + 10
    assert text.endswith(" characters)")
    trace = history(txn("s" * 500, put(value, "x")), txn("B", get(value, value)))
    for line in why(trace, "ser").lines():
        assert len(line) < 400


def test_short_values_are_not() -> None:
    assert [short(x) for x in (1, "a", b"a", None, 1.5, True)] == ["1", "'a'", "b'a'", "None", "1.5", "True"]


def ring(n: int) -> Trace:
    """A cycle of n transactions, each of which read what the one before it overwrote."""
    return history(
        *(txn(f"s{i}", get(f"k{i}", 0), put(f"k{(i + 1) % n}", 1)) for i in range(n)),
        initial={f"k{i}": 0 for i in range(n)},
    )


def test_big_cores_are_summarised() -> None:
    lines = list(why(ring(50), "ser").lines())
    assert len(why(ring(50), "ser").core.transactions) == 50
    assert "  ... and 20 more transactions" in lines
    short = "in short: 50 transactions of 50 sessions, 50 reads of 50 keys; they end in a cycle: "
    assert lines[2].startswith(short) and " ... 34 more ..." in lines[2]
    assert len(lines) < 100
    assert any(line.startswith("... and ") and line.endswith(" more lines") for line in lines)
    assert sum(map(len, lines)) < 10_000


def test_too_big_cores_have_no_argument_but_a_name_for_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine the usual time is too short to try every part.
    monkeypatch.setattr("boomslang.checker.explaining_seconds", lambda stats: 60.0)
    found = why(ring(400), "ser")
    assert found.argument is None
    assert found.minimal
    assert "too many" in list(found.lines())[-1] or "too large" in list(found.lines())[-1]


@pytest.mark.parametrize("n", [2, 3, 4, 7, 30])
def test_cycles_of_any_length_are_told_whole(n: int) -> None:
    argument = why(ring(n), "ser").argument
    assert argument is not None and argument.contradiction is not None
    assert len(argument.contradiction.cycle) == n


# --- as data ----------------------------------------------------------------------------------------------


def test_a_counterexample_as_json() -> None:
    trace = textbook("write skew")
    data = why(trace, "ser").to_json()
    assert json.loads(json.dumps(data)) == data
    assert data["anomaly"] == {
        "code": "G2-item", "name": "write skew", "meaning": "a cycle with several anti-dependencies",
    }  # fmt: skip
    assert data["minimal"] is True
    assert data["transactions"][0] == {
        "index": 0, "name": 1, "session": "A", "outcome": "committed", "where": "operation 1",
    }  # fmt: skip
    assert data["reads"] == [
        {"operation": 0, "key": "x", "where": "operation 2"},
        {"operation": 2, "key": "y", "where": "operation 6"},
    ]
    assert data["argument"]["contradiction"] == "a cycle: T1 -rw('y')-> T0 -rw('x')-> T1"
    assert [step["kind"] for step in data["argument"]["cycle"]] == ["rw", "rw"]


def test_cases_as_json() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1), get("x", Absent)))
    data = why(trace, "ser").to_json()["argument"]
    assert data["question"] == "T2 read 'x' = 1 (operation 8). From whom?"
    assert [case["case"] for case in data["cases"]] == [
        "T2 read T0's 'x' (operation 2)",
        "T2 read T1's 'x' (operation 5)",
    ]


@pytest.mark.parametrize("value", [b"\x00\xff", None, True, 1.0, 10**40, "\ud7ff"])
def test_all_kinds_of_keys_and_values_are_json(value: object) -> None:
    trace = history(txn("A", put(value, 1)), txn("B", get(value, value)))
    verdict = check(trace, "ser")
    assert verdict.invalid
    assert json.loads(json.dumps(verdict.to_json(), allow_nan=False))["status"] == "invalid"
    assert json.loads(json.dumps(verdict.certificate(), allow_nan=False))["verdict"] == "invalid"


# --- every step is true -----------------------------------------------------------------------------------


def examine_argument(trace: Trace, level: Level, found: Counterexample) -> None:
    """Each edge of each cycle: is it one that the trace has, and do they form a cycle?"""
    if found.argument is None:
        return
    # An argument's numbers are those of the part of the trace that its core needs, or the trace's.
    asg = build_asg(trace) if found.part is None else part_of(trace, found)
    points = level.points
    for cycle in found.argument.cycles():
        edges = [step.edge for step in cycle if step.edge is not None]
        assert len(edges) == len(cycle)
        edges = [e for e in edges if points == 1 or e.source // 2 != e.target // 2]
        examine_kinds(trace, level, asg, edges)
        for edge, following in zip(edges, [*edges[1:], *edges[:1]], strict=True):
            assert edge.target // points == following.source // points, "the cycle has a gap"
            if points == 2:
                assert edge.target <= following.source, "it goes from a commit back to its begin"
            examine_edge(trace, level, asg, edge)


def examine_kinds(trace: Trace, level: Level, asg: ASG, edges: list[Edge]) -> None:
    """Is this a cycle that the level forbids?"""
    beside = [edge for edge in edges if edge.kind not in level.edges]
    if not beside:
        return
    others = [edge.kind for edge in edges if edge.kind in level.edges]
    if level.cursor:  # who writes the key that it read comes right after whom it read from: before all others
        for edge in beside:
            assert edge.kind == Dependency.RW
            assert asg.trace_key(edge.key) in finals_of(trace, int(asg.txn_of[edge.source]))
        return
    assert len(beside) == 1 and beside[0].kind in (Dependency.RW, Dependency.PRW)
    assert level.once is not None and set(others) <= level.once.kinds
    if level.once.longest is not None:
        rows = [kind for kind, _ in groupby(others)]  # a row of so or rt counts as one
        assert len(rows) <= level.once.longest and (rows[0] in ORDERS or len(others) == 1)


ORDERS = (Dependency.SO, Dependency.RT)


def examine_edge(trace: Trace, level: Level, asg: ASG, edge: Edge) -> None:
    a, b = (int(asg.txn_of[node // level.points]) for node in (edge.source, edge.target))
    assert a != b
    if edge.kind in (Dependency.SO, Dependency.RT):
        assert trace.txn_outcome[a] == Outcome.COMMITTED
        if edge.kind == Dependency.SO:
            assert a < b and trace.txn_session[a] == trace.txn_session[b]
        else:
            assert trace.txn_end[a] < trace.txn_begin[b] and trace.txn_clock[a] == trace.txn_clock[b]
        return
    key = asg.trace_key(edge.key)
    item = edge.kind in (Dependency.WR, Dependency.RW)
    if edge.kind == Dependency.WW:
        assert key in finals_of(trace, a) and key in finals_of(trace, b)
    elif edge.kind in (Dependency.WR, Dependency.PWR):
        left = finals_of(trace, a)[key]
        seen = {r.value for r in reads_of(trace, b) if r.key == key and r.item == item}
        assert left in seen or (PRESENT in seen and left != ABSENT)
    else:
        assert key in finals_of(trace, b)
        assert any(r.key == key and r.item == item for r in reads_of(trace, a))


def part_of(trace: Trace, found: Counterexample) -> ASG:
    asg = build_asg(trace)
    wanted = set(found.core.reads)
    reads = [
        i
        for i, (op, key) in enumerate(zip(asg.read_op.tolist(), asg.read_key.tolist(), strict=True))
        if (op, key) in wanted
    ]
    internal = [
        i
        for i, (op, key) in enumerate(zip(asg.internal[1].tolist(), asg.internal[2].tolist(), strict=True))
        if (op, key) in wanted
    ]
    return asg.restrict(
        np.array(found.core.transactions, np.int64), np.array(reads, np.int64), np.array(internal, np.int64)
    )


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_arguments_about_the_textbook_are_true(case: object) -> None:
    trace = case.build()  # type: ignore[attr-defined]
    for level in LEVELS:
        if (found := check(trace, level).counterexample) is not None:
            examine_argument(trace, level, found)


@settings(max_examples=examples(150))
@given(traces())
def test_arguments_are_true(trace: Trace) -> None:
    checker = Checker(trace)
    for level in a_third(len(trace.op_kind)):
        if (found := checker.check(level).counterexample) is not None:
            assert found.argument is not None
            examine_argument(trace, level, found)


@pytest.mark.parametrize("seed", range(15))
def test_arguments_with_many_cases_are_true(seed: int) -> None:
    trace = random_trace(seed, "crowd-of-twins")
    checker = Checker(trace)
    for level in a_third(seed):
        if (found := checker.check(level).counterexample) is not None:
            examine_argument(trace, level, found)


# --- cores ------------------------------------------------------------------------------------------------


def test_a_core_of_everything_shrinks_to_what_matters() -> None:
    noise = [txn(f"n{i}", get(f"n{i}", Absent), put(f"n{i + 1}", i)) for i in range(40)]
    trace = history(
        *noise[:20], txn("A", get("x", 0), put("x", 1)), txn("B", get("x", 0), put("x", 2)), *noise[20:],
        initial={"x": 0},
    )  # fmt: skip
    asg, level = build_asg(trace), find_level("si")
    everything = Parts(np.arange(asg.transactions), np.arange(len(asg.read_key)), np.zeros(0, np.int64))
    made = shrink(asg, level, everything)
    assert made.minimal
    assert made.core.transactions == (20, 21)
    assert len(made.core.reads) == 2
    assert made.asg.transactions == 2


def test_of_a_large_core_who_has_a_read_that_is_needed_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ring of 50, each with one read: with the reads all are needed. One by one, transactions would be as many
    questions again."""
    asked = 0
    solved = core._solved

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal asked
        asked += 1
        return solved(*given, **more)

    monkeypatch.setattr(core, "_solved", counted)
    trace = ring(50)
    asg, level = build_asg(trace), find_level("ser")
    made = shrink(asg, level, Parts.all_of(asg, np.arange(asg.transactions)))
    assert made.minimal and len(made.core.transactions) == 50 and len(made.core.reads) == 50
    assert 50 <= asked < 75


def test_of_a_large_core_those_who_only_wrote_are_tried() -> None:
    """In each of 25 sessions one writes and then one misses what the next session wrote. Aside of it some wrote the
    same keys, and nobody needs them."""
    n = 25
    steps = [(txn(f"s{i}", put(f"x{i}", 1)), txn(f"s{i}", get(f"x{(i + 1) % n}", Absent))) for i in range(n)]
    aside = [txn(f"a{i}", put(f"x{i}", 2)) for i in range(20)]
    trace = history(*(one for pair in steps for one in pair), *aside)
    asg, level = build_asg(trace), find_level("strong-session-ser")
    made = shrink(asg, level, Parts.all_of(asg, np.arange(asg.transactions)))
    assert made.minimal and made.core.transactions == tuple(range(2 * n)) and len(made.core.reads) == n


def test_without_time_a_core_is_not_said_to_be_minimal() -> None:
    asg, level = build_asg(ring(60)), find_level("ser")
    everything = Parts(np.arange(asg.transactions), np.arange(len(asg.read_key)), np.zeros(0, np.int64))
    made = shrink(asg, level, everything, seconds=0.0)
    assert not made.minimal
    parts = Parts(np.array(made.core.transactions), np.arange(len(asg.read_key)), np.zeros(0, np.int64))
    assert refuted(asg, level, parts) is not None


@settings(max_examples=examples(100))
@given(traces(), st.sampled_from(LEVELS))
def test_what_no_order_can_explain_needs_no_search(trace: Trace, level: Level) -> None:
    asg = build_asg(trace)
    broken = first_broken(asg)
    if broken is not None:
        made = shrink(asg, level, broken)
        assert made.minimal
        assert len(made.core.reads) >= 1
        assert lower(made.asg, level).graph.transactions == made.asg.transactions


@settings(max_examples=examples(150))
@given(traces(), st.sampled_from(LEVELS))
def test_who_may_go_is_asked_as_who_goes(trace: Trace, level: Level) -> None:
    """The cheap question and the one that it saves have the same answer, of each read and each transaction."""
    asg = build_asg(trace)
    everything = Parts(np.arange(asg.transactions), np.arange(len(asg.read_key)), np.zeros(0, np.int64))
    parts = refuted(asg, level, everything)
    if parts is None:
        return
    may_go = core._MayGo(asg, level)
    for read in parts.reads.tolist():
        goes = refuted(asg, level, core._without_reads(parts, {read})) is not None
        assert may_go.without_read(parts, read, None) == goes
    for txn_ in parts.transactions.tolist():
        goes = refuted(asg, level, core._without_transactions(parts, {txn_})) is not None
        assert may_go.without_transaction(parts, txn_, None) == goes

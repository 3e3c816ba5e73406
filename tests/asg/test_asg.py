"""The ASG: who may have written what was read, whatever the level.

Small traces whose candidates a person can list. What operations mean (own reads, ranges, iterators) is compared
with the reference's reading of them, which was written apart, on random traces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.histories import (
    Absent,
    Unbounded,
    delete,
    end,
    failed,
    get,
    history,
    iterator,
    put,
    scan,
    step,
    txn,
)
from support.strategies import traces

from boomslang.asg import ASG, build_asg
from boomslang.asg.graph import (
    IN,
    INITIAL,
    ITEM,
    MAYBE,
    NONE,
    OUT,
    PREDICATE,
    PRESENT,
    SEVERAL,
    linked,
    suppose,
)
from boomslang.solve.brute import finals_of, reads_of
from boomslang.trace import ABSENT, Outcome, Trace


def asg_of(*txns: Any, initial: Any = None) -> ASG:
    return build_asg(history(*txns, initial=initial))


def reads(asg: ASG) -> list[tuple[int, Any, Any, str]]:
    """(transaction, key, what it saw, item or range) of every read of others' values."""
    names = {ABSENT: "absent", PRESENT: "present"}
    return [
        (int(t), asg.trace.keys[asg.trace_key(int(k))], names.get(int(v)) or asg.trace.values[int(v)], kind)
        for t, k, v, kind in zip(
            asg.read_txn,
            asg.read_key,
            asg.read_value,
            ["range" if kind == PREDICATE else "item" for kind in asg.read_kind],
            strict=True,
        )
    ]


def internal(asg: ASG) -> list[tuple[int, int]]:
    """(transaction, operation) of every read against the transaction's own writes."""
    return [(int(t), int(o)) for t, o in zip(asg.internal[0], asg.internal[1], strict=True)]


# --- candidates -------------------------------------------------------------------------------------------


def test_final_writes_of_others_are_candidates() -> None:
    asg = asg_of(
        txn("A", put("x", 1)),
        txn("B", put("x", 2), put("x", 1)),  # 2 is intermediate
        txn("C", put("x", 1), put("x", 2)),  # 1 is intermediate
        txn("D", put("x", 1), outcome="aborted"),
        txn("E", put("x", 1), outcome="unknown"),
        txn("F", get("x", 1), put("x", 1)),  # not from itself
        initial={"x": 1},
    )
    assert asg.candidates(0) == ([0, 1, 4], True)
    assert asg.read_writer.tolist() == [SEVERAL]
    assert asg.state.tolist() == [IN, IN, IN, OUT, MAYBE, IN]
    assert [asg.trace.values[v] for v in asg.intermediate[2]] == [1, 2]


def test_absent_was_written_by_deletes_and_by_nobody() -> None:
    asg = asg_of(
        txn("A", delete("x")),
        txn("B", delete("x", True)),
        txn("C", delete("x", False)),  # changed nothing
        txn("D", put("x", 1), delete("x")),
        txn("E", delete("x"), put("x", 2)),
        txn("F", get("x", Absent)),
    )
    assert asg.candidates(2) == ([0, 1, 3], True)
    assert reads(asg) == [(1, "x", "present", "item"), (2, "x", "absent", "item"), (5, "x", "absent", "item")]
    assert asg.candidates(0) == ([4], False)  # something was there: only E left something


def test_values_of_different_types_differ() -> None:
    asg = asg_of(
        txn("A", put("x", 1)), txn("B", put("x", 1.0)), txn("C", put("x", True)), txn("D", put("x", "1")),
        txn("E", put("x", None)), txn("R", get("x", 1), get("x", 1.0), get("x", True), get("x", "1"), get("x", None)),
    )  # fmt: skip
    assert asg.read_writer.tolist() == [0, 1, 2, 3, 4]


def test_one_candidate_is_a_known_edge() -> None:
    asg = asg_of(txn("A", put("x", 1)), txn("B", get("x", 1), get("y", Absent)))
    assert asg.read_writer.tolist() == [0, INITIAL]


def test_a_read_shows_that_its_only_writer_committed_and_its_writer_and_so_on() -> None:
    asg = asg_of(
        txn("A", put("x", 1), outcome="unknown"),
        txn("B", get("x", 1), put("y", 1), outcome="unknown"),
        txn("C", get("y", 1)),
        txn("D", get("x", 1), put("z", 1), outcome="unknown"),
    )
    assert asg.state.tolist() == [IN, IN, IN, MAYBE]
    assert asg.forced_by.tolist() == [0, 1, -1, -1]  # the read that shows it
    assert asg.outcome.tolist() == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.COMMITTED, Outcome.UNKNOWN]


def test_one_that_contradicts_itself_did_not_commit() -> None:
    asg = asg_of(txn("A", put("x", 1), get("x", 2), outcome="unknown"), txn("B", get("x", 1)))
    assert asg.state.tolist() == [OUT, IN]
    assert asg.orphans.tolist() == [0]
    assert asg.broken.tolist() == []


# --- orphans ----------------------------------------------------------------------------------------------


def test_reads_that_nobody_can_have_written_are_orphans() -> None:
    asg = asg_of(
        txn("A", put("x", 1), put("x", 2)),
        txn("B", put("x", 3), outcome="aborted"),
        txn("C", get("x", 1), get("x", 2), get("x", 3), get("x", 4), get("x", 5), put("x", 5)),
    )
    assert asg.orphans.tolist() == [0, 2, 3, 4]  # intermediate, aborted, thin air, its own future
    assert asg.read_writer.tolist() == [NONE, 0, NONE, NONE, NONE]


def test_orphans_of_transactions_in_doubt_do_not_count() -> None:
    asg = asg_of(txn("A", get("x", 7), outcome="unknown"), txn("B", get("x", 7), outcome="aborted"))
    assert asg.orphans.tolist() == []
    assert asg.state.tolist() == [MAYBE, OUT]


def test_an_unknown_initial_value_is_fixed_by_the_first_read_that_nobody_else_explains() -> None:
    asg = asg_of(
        txn("A", get("x", 1)), txn("B", get("x", 2)), txn("C", get("y", 1), put("y", 1)), initial="unknown"
    )
    assert asg.orphans.tolist() == [1]
    assert asg.initial_by.tolist() == [0, 2]
    assert [asg.trace.values[v] for v in asg.initial] == [1, 1]


def test_a_delete_that_found_something_fixes_no_initial_value() -> None:
    asg = asg_of(txn("A", delete("x", True)), txn("B", delete("y", False)), initial="unknown")
    assert asg.orphans.tolist() == []
    assert asg.initial_by.tolist() == [-1, 1]
    assert asg.candidates(0) == ([], True)


# --- own reads --------------------------------------------------------------------------------------------


def test_reads_of_ones_own_writes_are_no_reads() -> None:
    asg = asg_of(
        txn(
            "A",
            put("x", 1), get("x", 1), put("x", 2), get("x", 2), delete("x", True), get("x", Absent),
            delete("x", False), put("x", 3), scan("x", "x0", {"x": 3}), iterator(1, "x", "x0"), step(1, "x", 3), end(1),
        )
    )  # fmt: skip
    assert reads(asg) == []
    assert internal(asg) == []


def test_one_must_see_ones_own_writes() -> None:
    asg = asg_of(
        txn("A", put("x", 1), get("x", 2)),
        txn("B", put("x", 1), get("x", Absent)),
        txn("C", put("x", 1), delete("x", False)),
        txn("D", delete("x"), delete("x", True)),
        txn("E", put("x", 1), scan("x", "x0", {})),
        txn("F", put("x", 1), iterator(1, "x", "x0"), end(1)),
        txn("G", put("x", 1), failed(get("x", 2))),
        txn("H", get("x", 2), put("x", 1), outcome="aborted"),
    )
    assert internal(asg) == [(0, 1), (1, 3), (2, 5), (3, 7), (4, 9), (5, 12)]
    assert asg.broken.tolist() == [0, 1, 2, 3, 4, 5]
    assert reads(asg) == []


def test_an_iterator_may_or_may_not_show_what_came_after_its_opening() -> None:
    asg = asg_of(
        txn("A", iterator(1), put("x", 1), put("x", 2), step(1, "x", 1), end(1)),
        txn("B", iterator(1), put("x", 1), end(1)),  # read as absent, from somebody else
        txn("C", put("x", 1), iterator(1), put("x", 2), step(1, "x", 1), end(1)),
        txn("D", put("x", 1), iterator(1), put("x", 2), end(1)),  # one or the other had to show
        txn("E", put("x", 1), put("x", 2), iterator(1), put("x", 3), step(1, "x", 1), end(1)),
        txn("F", iterator(1), delete("x"), end(1)),
    )
    assert reads(asg) == [(1, "x", "absent", "range")]
    assert [t for t, _ in internal(asg)] == [3, 4]


# --- ranges -----------------------------------------------------------------------------------------------


def test_a_scan_reads_all_keys_of_its_range_that_occur_anywhere() -> None:
    asg = asg_of(
        txn("A", scan("b", "d", {"c": 1})),
        txn("B", put("a", 0), put("b", 0), put("d", 0), outcome="aborted"),
        initial={"bb": 0},
    )
    assert sorted(reads(asg)) == [
        (0, "b", "absent", "range"),
        (0, "bb", "absent", "range"),
        (0, "c", 1, "item"),
    ]


@pytest.mark.parametrize(
    ("low", "high", "covered"),
    [
        (Unbounded, Unbounded, [1, 2, 10, "10", "a"]),
        (2, Unbounded, [2, 10]),  # a bound limits the range to keys of its type
        (Unbounded, 10, [1, 2]),
        (Unbounded, "a", ["10"]),
        ("2", Unbounded, ["2", "a"]),  # a bound is a key that occurs
        (5, 5, []),
    ],
)
def test_keys_order_within_their_type(low: Any, high: Any, covered: list[Any]) -> None:
    asg = asg_of(
        txn("A", put(1, 0), put(2, 0), put(10, 0), put("10", 0), put("a", 0)),
        txn("B", scan(low, high, {})),
        txn("C", iterator(1, low, high), end(1)),
    )
    for t in (1, 2):
        mine = [(key, kind) for by, key, _, kind in reads(asg) if by == t]
        assert mine == [(key, "range") for key in covered]


def test_an_iterator_saw_what_it_passed_and_nothing_beyond() -> None:
    asg = asg_of(
        txn("A", *(put(k, 0) for k in "abcdef"), outcome="aborted"),
        txn("B", iterator(1, "b", "f"), step(1, "c", 1), step(1, "d", 1)),
        txn("C", iterator(1, "b", "f"), step(1, "c", 1), end(1)),
        txn("D", iterator(1), iterator(2), step(2, "a", 1), step(1, "b", 1), failed(step(1, "d", 1)), end(2)),
    )
    seen = [(t, key, kind) for t, key, _, kind in reads(asg)]
    assert seen == [
        (1, "b", "range"), (1, "c", "item"), (1, "d", "item"),
        (2, "b", "range"), (2, "c", "item"), (2, "d", "range"), (2, "e", "range"),
        (3, "a", "item"), (3, "a", "range"), (3, "b", "item"), *((3, k, "range") for k in "bcdef"),
    ]  # fmt: skip


@settings(max_examples=examples(300))
@given(traces())
def test_operations_mean_what_the_reference_says(trace: Trace) -> None:
    asg = build_asg(trace)
    alive = [t for t in range(len(trace)) if trace.txn_outcome[t] != Outcome.ABORTED]
    expected = [r for t in alive for r in reads_of(trace, t)]
    external = {(r.txn, r.row, r.key, r.value, r.item) for r in expected if not r.internal}
    columns = (asg.read_txn, asg.read_op, asg.read_key, asg.read_value, asg.read_kind == ITEM)
    assert {tuple(int(x) for x in row) for row in zip(*columns, strict=True)} == external
    mine = zip(asg.internal[0], asg.internal[1], asg.internal[2], asg.internal[3], strict=True)
    assert {tuple(int(x) for x in row) for row in mine} == {
        (r.txn, r.row, r.key, r.value) for r in expected if r.internal
    }
    finals = {(t, k, v) for t in range(len(trace)) for k, v in finals_of(trace, t).items()}
    writes = zip(asg.write_txn, asg.write_key, asg.write_value, strict=True)
    assert {tuple(int(x) for x in row) for row in writes} == finals


# --- order ------------------------------------------------------------------------------------------------


def reach(asg: ASG, edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """The closure of edges, between transactions only."""
    nodes = {n for edge in edges for n in edge}
    after: dict[int, set[int]] = {n: {b for a, b in edges if a == n} for n in nodes}
    for _ in nodes:
        after = {n: out.union(*(after[m] for m in out)) for n, out in after.items()}
    return {(a, b) for a in nodes for b in after[a] if max(a, b) < asg.transactions}


@settings(max_examples=examples(200))
@given(traces())
def test_session_order_and_time_are_what_they_should_be(trace: Trace) -> None:
    """Few edges say the same as all of them."""
    asg = build_asg(trace)
    n = len(trace)
    committed = [t for t in range(n) if trace.txn_outcome[t] == Outcome.COMMITTED]
    targets = [t for t in range(n) if asg.state[t] != OUT]
    session = {
        (a, b) for a in committed for b in targets if a < b and trace.txn_session[a] == trace.txn_session[b]
    }
    sources, ends = asg.session_edges()
    assert reach(asg, list(zip(sources.tolist(), ends.tolist(), strict=True))) == session
    timed = trace.has_times
    returned = {
        (a, b)
        for a in committed
        for b in targets
        if timed and trace.txn_clock[a] == trace.txn_clock[b] and trace.txn_end[a] < trace.txn_begin[b]
    }
    lines, helpers = asg.time_edges()
    edges: list[tuple[int, int]] = []
    for starts, enters, chain, reached, leaves in lines:
        edges += zip(starts.tolist(), (enters + n).tolist(), strict=True)
        edges += zip((chain[:-1] + n).tolist(), (chain[1:] + n).tolist(), strict=True)
        edges += zip((leaves + n).tolist(), reached.tolist(), strict=True)
    assert reach(asg, edges) == returned
    assert helpers <= n and len(edges) <= 3 * n


# --- parts ------------------------------------------------------------------------------------------------


def test_a_part_keeps_transactions_reads_and_all_candidates() -> None:
    asg = asg_of(
        txn("A", put("x", 1), put("y", 1)),
        txn("A", put("x", 1)),
        txn("A", get("x", 1), get("y", 1)),
        txn("A", get("y", 1), put("z", 1)),
        txn("B", put("x", 1), outcome="aborted"),
    )
    part = asg.restrict(np.array([2]), np.array([0]))
    assert part.txn_of.tolist() == [0, 1, 2, 4]  # T3 could be placed last
    assert part.state.tolist() == [MAYBE, MAYBE, IN, MAYBE]  # even the aborted one may now have committed
    assert reads(part) == [(2, "x", 1, "item")]
    assert part.candidates(0) == ([0, 1, 3], False)
    assert part.session_edges()[0].tolist() == []  # those that were not kept have no session


def test_what_reads_fixed_must_be_fixed_again_in_a_part() -> None:
    asg = asg_of(txn("A", get("x", 1)), txn("B", delete("x", True)), txn("C", put("x", 2)), initial="unknown")
    part = asg.restrict(np.array([1]), np.array([1]))
    assert part.initial.tolist() == [-3]
    assert part.candidates(0) == ([1], True)
    whole = asg.restrict(np.array([0, 1]), np.array([0, 1]))
    assert [whole.trace.values[v] for v in whole.initial] == [1]


def test_a_part_of_a_part_is_a_part() -> None:
    asg = asg_of(*(txn("A", put(f"k{i}", i), get(f"k{max(i - 1, 0)}", max(i - 1, 0))) for i in range(1, 6)))
    once = asg.restrict(np.array([1, 2, 3]), np.array([1, 2, 3]))
    twice = once.restrict(np.flatnonzero(np.isin(once.txn_of, [2, 3])), np.array([1, 2]))
    straight = asg.restrict(np.array([2, 3]), np.array([2, 3]))
    assert twice.txn_of.tolist() == straight.txn_of.tolist() == [1, 2, 3]
    assert reads(twice) == reads(straight)
    assert twice.session_edges()[0].tolist() == straight.session_edges()[0].tolist() == [1]


def test_internal_reads_are_kept_on_request() -> None:
    asg = asg_of(txn("A", put("x", 1), get("x", 2)), txn("B", get("x", 1)))
    assert asg.restrict(np.array([0]), np.array([], np.int64)).broken.tolist() == []
    part = asg.restrict(np.array([0]), np.array([], np.int64), np.array([0]))
    assert part.broken.tolist() == [0]
    unkept = asg.restrict(np.array([1]), np.array([0]), np.array([0]))
    assert unkept.broken.tolist() == []
    assert unkept.state.tolist() == [IN, IN]  # nobody says any more that T0 contradicts itself


@settings(max_examples=examples(100))
@given(traces(), st.randoms(use_true_random=False))
def test_the_whole_is_a_part(trace: Trace, rng: Any) -> None:
    asg = build_asg(trace)
    everything = asg.restrict(
        np.arange(asg.transactions), np.arange(len(asg.read_key)), np.arange(len(asg.internal[0]))
    )
    assert reads(everything) == reads(asg)
    assert everything.state.tolist() == asg.state.tolist()
    assert everything.orphans.tolist() == asg.orphans.tolist()
    assert everything.read_writer.tolist() == asg.read_writer.tolist()


def test_what_is_known_of_writers_stays_when_candidates_are_found_anew() -> None:
    """A window that goes forward says which writer comes first (stream/window.py). Supposing an outcome must not drop
    that; a part of the trace, in which a refutation must not rest on it, does."""
    asg = asg_of(
        txn("A", put("x", 1)),
        txn("B", put("x", 2)),
        txn("C", put("x", 3), outcome="unknown"),
        txn("D", get("x", 3)),
    )
    known = replace(
        asg, list_from=np.array([1], np.int32), list_to=np.array([0], np.int32), list_read=np.array([-1])
    )
    for found in (linked(known), suppose(known, [2], committed=True), suppose(known, [2], committed=False)):
        assert (found.list_from.tolist(), found.list_to.tolist(), found.list_read.tolist()) == (
            [1],
            [0],
            [-1],
        )
    assert not len(known.restrict(np.array([0, 1]), np.zeros(0, np.int64)).list_from)

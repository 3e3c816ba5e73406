"""The replayer of witnesses: good ones pass, each kind of bad one is told what is wrong with it, and on tiny
traces some order replays exactly if the level holds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, permutations, product
from typing import Any

import numpy as np
import pytest
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
from support.strategies import Mix, generate

from boomslang.certify.certificate import Witness
from boomslang.certify.replay import ReplayError, replay
from boomslang.solve.brute import PRESENT, Read, brute, finals_of, reads_of
from boomslang.trace import ABSENT, Initial, Outcome, Trace


def witness(level: str, order: list[int], **more: Any) -> Witness:
    return Witness(level, 2 if level.endswith("snapshot-isolation") else 1, np.array(order, np.int64), **more)


def points(*names: str) -> list[int]:
    """B0 C0 ... -> the points' numbers."""
    return [2 * int(name[1:]) + (name[0] == "C") for name in names]


def reads(*claims: tuple[int, int, int]) -> dict[str, Any]:
    """(operation, key, writer) of every read, for the levels that want it."""
    columns = np.array(claims, np.int64).reshape(-1, 3).T
    return {"read_op": columns[0], "read_key": columns[1].astype(np.int32), "read_writer": columns[2]}


def refused(trace: Trace, claim: Witness, why: str) -> None:
    with pytest.raises(ReplayError, match=why):
        replay(trace, claim)


# --- the order --------------------------------------------------------------------------------------------


def three() -> Trace:
    """One committed, one aborted, one unknown."""
    return history(
        txn("A", put("x", 1)),
        txn("B", put("x", 2), outcome="aborted"),
        txn("C", put("x", 3), outcome="unknown"),
    )


def test_committed_ones_are_ordered_and_unknown_ones_may_be() -> None:
    replay(three(), witness("serializable", [0]))
    replay(three(), witness("serializable", [2, 0]))
    replay(three(), witness("snapshot-isolation", points("B0", "C0", "B2", "C2")))


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ([], "transaction 1 committed, but is not in the order"),
        ([0, 1], "transaction 2 aborted, but is in the order"),
        ([0, 2, 0], "transaction 1 is in the order twice"),
        ([0, 3], "order is not a list of whole numbers from 0 to 2"),
        ([0, -1], "order is not a list"),
    ],
)
def test_a_wrong_order_is_refused(order: list[int], why: str) -> None:
    refused(three(), witness("serializable", order), why)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (points("C0", "B0"), "commits before it begins"),
        (points("B0"), "only one of its points"),
        (points("B0", "C0", "C2"), "only one of its points"),
        (points("B0", "C0", "C0"), "in the order twice"),
        (points("B0", "C0", "B1", "C1"), "aborted"),
        (points("B0", "B2", "C0", "C2"), "writes a key that another, overlapping one writes"),
    ],
)
def test_a_wrong_order_of_points_is_refused(order: list[int], why: str) -> None:
    refused(three(), witness("snapshot-isolation", order), why)


def test_the_level_and_its_points_must_be_known() -> None:
    refused(three(), witness("seriouslizable", [0]), "no level 'seriouslizable'")
    refused(three(), witness("strong-session-strong-serializable", [0]), "no level")
    refused(three(), replace(witness("serializable", [0]), points=2), "2 point")
    refused(three(), replace(witness("snapshot-isolation", points("B0", "C0")), points=1), "1 point")


# --- sessions and times -----------------------------------------------------------------------------------


def test_a_session_keeps_its_order_past_unknown_and_aborted_ones() -> None:
    trace = history(
        txn("A", put("x", 1)),
        txn("A", put("x", 2), outcome="unknown"),
        txn("A", put("x", 3), outcome="aborted"),
        txn("A", put("x", 4)),
        txn("B", put("x", 5)),
    )
    ordered = "strong-session-serializable"
    replay(trace, witness(ordered, [4, 0, 3]))
    replay(trace, witness(ordered, [0, 4, 1, 3]))
    replay(trace, witness(ordered, [0, 3, 4, 1]))  # nothing need follow an unknown one
    replay(trace, witness("serializable", [3, 0, 4]))
    refused(
        trace, witness(ordered, [3, 0, 4]), "transaction 4 is placed before an earlier one of its session"
    )
    refused(trace, witness(ordered, [1, 0, 3, 4]), "transaction 2 is placed before an earlier one")


def test_under_snapshot_isolation_a_session_begins_after_it_committed() -> None:
    trace = history(txn("A", put("x", 1)), txn("A", put("y", 1)))
    replay(trace, witness("strong-session-snapshot-isolation", points("B0", "C0", "B1", "C1")))
    refused(
        trace,
        witness("strong-session-snapshot-isolation", points("B0", "B1", "C0", "C1")),
        "earlier one of its session",
    )
    replay(trace, witness("snapshot-isolation", points("B0", "B1", "C0", "C1")))


def test_transactions_without_a_session_are_in_none() -> None:
    trace = history(txn(None, put("x", 1)), txn(None, put("x", 2)))
    replay(trace, witness("strong-session-serializable", [1, 0]))


@pytest.mark.parametrize(
    ("second", "clock", "outcome", "reorders"),
    [
        ((11, 20), "", "committed", False),
        ((10, 20), "", "committed", True),
        ((11, 20), "other", "committed", True),
    ],
)
def test_time_is_strict_and_of_one_clock(
    second: tuple[int, int], clock: str, outcome: str, reorders: bool
) -> None:
    trace = history(txn("A", put("x", 1), time=(0, 10)), txn("B", put("x", 2), time=second, clock=clock))
    backwards = [
        witness("strict-serializable", [1, 0]),
        witness("strong-snapshot-isolation", points("B1", "C1", "B0", "C0")),
    ]
    for claim in backwards:
        if reorders:
            replay(trace, claim)
        else:
            refused(
                trace, claim, "transaction 1 is placed after one that was invoked only when it had returned"
            )
    replay(trace, witness("strict-serializable", [0, 1]))
    replay(trace, witness("serializable", [1, 0]))


def test_time_enters_unknown_transactions_and_never_leaves_them() -> None:
    trace = history(
        txn("A", put("x", 1), time=(0, 10)), txn("B", put("x", 2), time=(11, 12), outcome="unknown")
    )
    refused(trace, witness("strict-serializable", [1, 0]), "returned")
    replay(trace, witness("strict-serializable", [0, 1]))
    trace = history(
        txn("A", put("x", 1), time=(0, 10), outcome="unknown"), txn("B", put("x", 2), time=(11, 12))
    )
    replay(trace, witness("strict-serializable", [1, 0]))


def test_under_snapshot_isolation_times_order_commits_before_begins() -> None:
    trace = history(txn("A", put("x", 1), time=(0, 10)), txn("B", put("y", 2), time=(11, 12)))
    refused(trace, witness("strong-snapshot-isolation", points("B0", "B1", "C0", "C1")), "returned")


# --- reads: the last version before -------------------------------------------------------------------------


def test_a_read_sees_the_last_writer_before_it() -> None:
    trace = history(
        txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 2)), txn("D", get("x", Absent))
    )
    replay(trace, witness("serializable", [3, 0, 1, 2]))
    refused(
        trace,
        witness("serializable", [3, 1, 0, 2]),
        r"transaction 3 sees what the version .* \(operation 8\)",
    )
    refused(trace, witness("serializable", [0, 1, 2, 3]), "transaction 4 sees what")


def test_a_snapshot_is_taken_at_begin() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", get("x", Absent), put("y", 1)))
    replay(trace, witness("snapshot-isolation", points("B1", "B0", "C0", "C1")))
    refused(trace, witness("snapshot-isolation", points("B0", "C0", "B1", "C1")), "transaction 2 sees what")


def test_only_the_last_write_of_a_transaction_is_a_version() -> None:
    trace = history(txn("A", put("x", 1), put("x", 2)), txn("B", get("x", 1)))
    refused(trace, witness("serializable", [0, 1]), "sees what")
    refused(trace, witness("read-committed", [0, 1], **reads((2, 0, 0))), "sees what")


def test_the_initial_state_is_read_where_nothing_was_written() -> None:
    trace = history(txn("A", get("x", 7), get("y", Absent)), initial={"x": 7})
    replay(trace, witness("serializable", [0]))
    refused(trace, witness("serializable", [0], initial=[(0, 0)]), "initial value that is known")
    trace = history(txn("A", get("x", 7), get("y", Absent)), initial="unknown")
    replay(trace, witness("serializable", [0], initial=[(0, 0)]))
    refused(trace, witness("serializable", [0]), "sees what")
    refused(trace, witness("serializable", [0], initial=[(0, 0), (1, 0)]), "sees what")
    refused(trace, witness("serializable", [0], initial=[(0, 0), (0, 0)]), "chooses one twice")
    refused(trace, witness("serializable", [0], initial=[(9, 0)]), "initial is not a list")
    refused(trace, witness("serializable", [0], initial=[(0, 9)]), "initial is not a list")


def test_a_delete_tells_that_something_was_there() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", delete("x", True)), txn("C", delete("x", False)))
    replay(trace, witness("serializable", [0, 1, 2]))
    replay(trace, witness("serializable", [2, 0, 1]))
    refused(trace, witness("serializable", [1, 0, 2]), "transaction 2 sees")
    refused(trace, witness("serializable", [0, 2, 1]), "transaction 3 sees")
    blind = history(txn("A", put("x", 1)), txn("B", delete("x")), txn("C", get("x", Absent)))
    replay(blind, witness("serializable", [0, 1, 2]))
    replay(blind, witness("serializable", [1, 2, 0]))


def test_a_delete_of_nothing_writes_nothing() -> None:
    trace = history(txn("A", delete("x", False)), txn("B", get("x", Absent), delete("x", False)))
    replay(trace, witness("snapshot-isolation", points("B0", "B1", "C0", "C1")))


def test_an_initial_value_that_only_a_delete_saw_needs_no_name() -> None:
    trace = history(txn("A", delete("x", True)), initial="unknown")
    replay(trace, witness("serializable", [0], initial=[(0, len(trace.values))]))
    refused(trace, witness("serializable", [0]), "sees what")


def test_failed_operations_say_nothing() -> None:
    trace = history(
        txn("A", failed(put("x", 1)), failed(get("x", 5)), get("x", Absent), failed(scan("a", "z", {})))
    )
    replay(trace, witness("serializable", [0]))


# --- own writes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ops", "fine"),
    [
        ((put("x", 1), get("x", 1)), True),
        ((put("x", 1), get("x", 0)), False),
        ((put("x", 1), delete("x", True), get("x", Absent)), True),
        ((put("x", 1), delete("x", False)), False),
        ((delete("x"), delete("x", False)), True),
        ((delete("x"), delete("x", True)), False),
        ((delete("x", True), get("x", 0)), False),
        ((put("x", 1), put("x", 2), scan("a", "z", {"x": 2})), True),
        ((put("x", 1), put("x", 2), scan("a", "z", {"x": 1})), False),
        ((put("x", 1), scan("a", "z", {})), False),
        ((delete("x"), scan("a", "z", {})), True),
        ((get("x", 0), put("x", 1)), True),
        ((put("x", 1), iterator(0), step(0, "x", 1)), True),
        ((put("x", 1), iterator(0), step(0, "x", 0)), False),
        ((put("x", 1), iterator(0), put("x", 2), put("x", 3), step(0, "x", 1)), True),
        ((put("x", 1), iterator(0), put("x", 2), put("x", 3), step(0, "x", 2)), True),
        ((put("x", 1), iterator(0), put("x", 2), put("x", 3), step(0, "x", 3)), True),
        ((put("x", 1), iterator(0), put("x", 2), put("x", 3), step(0, "x", 0)), False),
        ((put("x", 2), put("x", 1), iterator(0), put("x", 3), step(0, "x", 2)), False),
        ((iterator(0), put("x", 2), step(0, "x", 0)), True),  # the state before
        ((iterator(0), put("x", 2), step(0, "x", 2)), True),
        ((iterator(0), put("x", 2), step(0, "x", 3)), False),
        ((iterator(0), delete("x"), end(0)), True),
        ((iterator(0), step(0, "x", 0), put("x", 2), end(0)), True),
    ],
)
def test_own_writes_must_show_and_may_while_an_iterator_is_open(ops: Any, fine: bool) -> None:
    trace = history(txn("A", *ops), initial={"x": 0})
    claim = witness("serializable", [0])
    if fine:
        replay(trace, claim)
    else:
        refused(trace, claim, "does not see its own write|sees what")
    assert brute(trace, "serializable") == fine


# --- ranges -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ops", "fine"),
    [
        ((scan("a", "d", {"a": 1, "c": 3}),), True),
        ((scan("a", "d", {"a": 1}),), False),  # c is missing
        ((scan("a", "c", {"a": 1}),), True),  # the upper bound is excluded
        ((scan("b", "d", {"c": 3}),), True),
        ((scan("a", "d", {"a": 1, "b": 1, "c": 3}),), False),
        ((scan(Unbounded, Unbounded, {"a": 1, "c": 3, 7: 7}),), True),
        ((scan(Unbounded, Unbounded, {"a": 1, "c": 3}),), False),
        ((scan("a", Unbounded, {"a": 1, "c": 3}),), True),  # keys order within their type
        ((scan(Unbounded, "z", {"a": 1, "c": 3}),), True),
        ((scan(0, Unbounded, {7: 7}),), True),
        ((scan(Unbounded, 9, {7: 7}),), True),
        ((scan(Unbounded, 9, {}),), False),
        ((scan("c", "c", {}),), True),
        ((iterator(0, "a", "d"), step(0, "a", 1)), True),  # beyond it nothing was seen
        ((iterator(0, "a", "d"), step(0, "c", 3)), False),  # it skipped a
        ((iterator(0, "a", "d"), end(0)), False),
        ((iterator(0, "a", "d"), step(0, "a", 1), step(0, "c", 3), end(0)), True),
        ((iterator(0, "a", "d"), step(0, "a", 1), end(0)), False),
        ((iterator(0, "d", Unbounded), end(0)), True),
        (
            (iterator(0, "b"), iterator(1, "a"), step(0, "c", 3), step(1, "a", 1), end(0), step(1, "c", 3)),
            True,
        ),
        ((iterator(0, "b"), iterator(1, "a"), step(0, "c", 3), step(1, "a", 1), end(0), end(1)), False),
        ((iterator(0, "a"), failed(step(0, None, None)), step(0, "a", 1), step(0, "c", 3)), True),
    ],
)
def test_a_range_covers_the_keys_it_did_not_return(
    ops: Any, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = history(txn("A", *ops), txn("B", get("b", Absent)), initial={"a": 1, "c": 3, 7: 7})
    for chunk in (1, 2, 1 << 20):
        monkeypatch.setattr("boomslang.certify.replay.CHUNK", chunk)
        if fine:
            replay(trace, witness("serializable", [0, 1]))
        else:
            refused(trace, witness("serializable", [0, 1]), "sees what")
    assert brute(trace, "serializable") == fine


# --- below snapshot isolation -------------------------------------------------------------------------------


def lost_update() -> Trace:
    return history(
        txn("A", get("x", 0), put("x", 1)),
        txn("B", get("x", 0), put("x", 2)),
        txn("C", get("x", 2)),
        initial={"x": 0},
    )


def test_read_committed_wants_a_writer_before_each_read() -> None:
    trace = lost_update()
    told = reads((0, 0, -1), (2, 0, -1), (4, 0, 1))
    replay(trace, witness("read-committed", [0, 1, 2], **told))
    replay(trace, witness("read-committed", [0, 1, 2], version_order={0: np.array([0, 1])}, **told))
    replay(trace, witness("read-committed", [1, 2, 0], **told))
    refused(
        trace,
        witness("read-committed", [0, 2, 1], **told),
        "transaction 3 reads from one that left no version",
    )
    refused(
        trace, witness("read-committed", [0, 1, 2], **reads((0, 0, -1), (2, 0, -1))), "read without a writer"
    )
    refused(
        trace, witness("read-committed", [0, 1, 2], **reads((0, 0, -1), (2, 0, -1), (4, 0, 0))), "sees what"
    )
    refused(
        trace,
        witness("read-committed", [0, 1, 2], **reads((0, 0, 0), (2, 0, -1), (4, 0, 1))),
        "left no version",
    )
    refused(
        trace,
        witness("read-committed", [0, 1, 2], **reads((0, 0, -1), (2, 0, 2), (4, 0, 1))),
        "left no version",
    )
    refused(
        trace,
        witness("read-committed", [0, 1, 2], **reads(*[(0, 0, -1)] * 2, (2, 0, -1), (4, 0, 1))),
        "twice",
    )
    refused(
        trace,
        witness("read-committed", [0, 1, 2], **reads((0, 0, -1), (1, 0, 1), (2, 0, -1), (4, 0, 1))),
        "no read",
    )
    for wrong in [(5, 0, 1), (4, 1, 1), (4, 0, 3), (4, 0, -2), (-1, 0, 0)]:
        bad = reads((0, 0, -1), (2, 0, -1), wrong)
        refused(trace, witness("read-committed", [0, 1, 2], **bad), "is not a list of whole numbers")
    uneven = told | {"read_writer": told["read_writer"][:2]}
    refused(trace, witness("read-committed", [0, 1, 2], **uneven), "differ in length")
    uneven = told | {"read_key": told["read_key"][:1]}
    refused(trace, witness("read-committed", [0, 1, 2], **uneven), "differ in length")


def test_read_committed_does_not_read_from_those_outside_the_order() -> None:
    trace = history(txn("A", put("x", 1), outcome="unknown"), txn("B", get("x", 1)), txn("C", put("y", 1)))
    replay(trace, witness("read-committed", [2, 0, 1], **reads((1, 0, 0))))
    refused(trace, witness("read-committed", [2, 1], **reads((1, 0, 0))), "left no version")
    refused(trace, witness("read-committed", [2, 0, 1], **reads((1, 0, 2))), "left no version")


def test_repeatable_read_wants_item_reads_to_see_the_last_version() -> None:
    trace = lost_update()
    told = reads((0, 0, -1), (2, 0, -1), (4, 0, 1)) | {"version_order": {0: np.array([0, 1])}}
    refused(trace, witness("repeatable-read", [0, 1, 2], **told), "not the last before it")
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 2)))
    told = reads((2, 0, 1)) | {"version_order": {0: np.array([0, 1])}}
    replay(trace, witness("repeatable-read", [0, 1, 2], **told))
    refused(trace, witness("repeatable-read", [1, 0, 2], **told), "version orders are not")
    for wrong in ({}, {0: [0]}, {0: [0, 1, 1]}, {0: [1, 0]}, {0: [0, 2]}):
        orders = {key: np.array(order) for key, order in wrong.items()}
        refused(
            trace,
            witness("repeatable-read", [0, 1, 2], **told | {"version_order": orders}),
            "version orders are",
        )
    for odd in ({0: [0, 9]}, {7: [0]}, {"x": [0]}):
        with pytest.raises(ReplayError):
            replay(trace, witness("repeatable-read", [0, 1, 2], **told | {"version_order": odd}))


def test_repeatable_read_lets_absent_keys_of_a_scan_be_stale() -> None:
    trace = history(txn("A", put("b", 1), put("c", 1)), txn("B", scan("a", "d", {"c": 1})))
    key = {trace.keys[k]: k for k in range(len(trace.keys))}
    told = [(2, key["a"], -1), (2, key["b"], -1), (2, key["c"], 0)]
    replay(trace, witness("repeatable-read", [0, 1], **reads(*told)))
    refused(trace, witness("serializable", [0, 1]), "sees what")
    trace = history(txn("A", put("b", 1), put("c", 1)), txn("B", get("b", Absent), get("c", 1)))
    refused(
        trace, witness("repeatable-read", [0, 1], **reads((2, 0, -1), (3, 1, 0))), "not the last before it"
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"order": None},
        {"order": [0.5]},
        {"order": ["a"]},
        {"order": [[0], [1, 2]]},
        {"order": [2**70]},
        {"initial": 3},
        {"initial": [1]},
        {"level": None},
        {"level": "read-committed", "read_op": None},
        {"level": "read-committed", "version_order": 3},
        {"level": "read-committed", "version_order": {0: None}},
    ],
)
def test_a_malformed_witness_is_refused_and_never_crashes(broken: dict[str, Any]) -> None:
    with pytest.raises(ReplayError):
        replay(three(), replace(witness("serializable", [0]), **broken))


def test_traces_with_nothing_in_them_replay() -> None:
    empty = history()
    for level in ("serializable", "snapshot-isolation", "strong-session-serializable", "strict-serializable"):
        replay(empty, witness(level, []))
    replay(history(txn("A")), witness("read-committed", [0]))
    replay(history(txn("A", scan(Unbounded, Unbounded, {}))), witness("serializable", [0]))


# --- some order replays exactly if the level holds ----------------------------------------------------------

SMALL = Mix(transactions=(2, 3), keys=(1, 2), sessions=(1, 3))
LEVELS = [
    prefix + base
    for base in (
        "read-committed",
        "repeatable-read",
        "serializable",
        "strict-serializable",
        "snapshot-isolation",
    )
    for prefix in ("", "strong-session-")
] + ["strong-snapshot-isolation"]


def every_witness(trace: Trace, level: str) -> Iterator[Witness]:
    """All there are, but for writers that cannot matter."""
    two = level.endswith("snapshot-isolation")
    sure = [t for t in range(len(trace)) if trace.txn_outcome[t] == Outcome.COMMITTED]
    unsure = [t for t in range(len(trace)) if trace.txn_outcome[t] == Outcome.UNKNOWN]
    for lucky in chain.from_iterable(combinations(unsure, k) for k in range(len(unsure) + 1)):
        members = sorted([*sure, *lucky])
        outside = [r for t in members for r in reads_of(trace, t) if not r.internal]
        orders = permutations([p for t in members for p in (2 * t, 2 * t + 1)] if two else members)
        for order in orders:
            if any(order.index(p) > order.index(p + 1) for p in order if two and p % 2 == 0):
                continue
            for initial in every_initial(trace, outside):
                yield from complete(trace, level, list(order), initial, outside)


def every_initial(trace: Trace, outside: list[Read]) -> Iterator[list[tuple[int, int]]]:
    if trace.initial_mode != Initial.UNKNOWN:
        yield []
        return
    keys = sorted({r.key for r in outside})
    fresh = len(trace.values)
    options = [
        {ABSENT} | {fresh if r.value == PRESENT else r.value for r in outside if r.key == k} for k in keys
    ]
    for values in product(*options):
        yield [(k, v) for k, v in zip(keys, values, strict=True) if v != ABSENT]


def complete(
    trace: Trace, level: str, order: list[int], initial: list[tuple[int, int]], outside: list[Read]
) -> Iterator[Witness]:
    """The witness of this order, with each read's writer where the level wants it."""
    if "re" not in level.removeprefix("strong-session-")[:2]:  # not read committed, not repeatable read
        yield witness(level, order, initial=initial)
        return
    finals = {t: finals_of(trace, t) for t in order}
    start = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)) | dict(initial)
    told = []
    for r in outside:
        before = [-1, *(t for t in order[: order.index(r.txn)] if r.key in finals[t])]
        if r.item and "repeatable" in level:
            before = before[-1:]
        left = {w: start.get(r.key, ABSENT) if w < 0 else finals[w][r.key] for w in before}
        fits = [w for w in before if (left[w] != ABSENT if r.value == PRESENT else left[w] == r.value)]
        told.append((r.row, r.key, fits[0] if fits else -1))
    writers = {k: np.array([t for t in order if k in finals[t]]) for k in range(len(trace.keys))}
    several = {k: ts for k, ts in writers.items() if len(ts) > 1}
    yield witness(level, order, initial=initial, version_order=several, **reads(*told))


def replays(trace: Trace, claim: Witness) -> bool:
    try:
        replay(trace, claim)
    except ReplayError:
        return False
    return True


@pytest.mark.parametrize("level", LEVELS)
def test_some_order_replays_exactly_if_the_level_holds(level: str) -> None:
    for seed in range(examples(150)):
        trace = generate(random.Random(seed), SMALL)
        assert any(replays(trace, claim) for claim in every_witness(trace, level)) == brute(trace, level), (
            seed
        )


def test_a_damaged_witness_never_crashes_the_replayer() -> None:
    rng = random.Random(0)
    refusals = 0
    for seed in range(300):
        trace = generate(random.Random(seed), SMALL)
        claim = next((c for c in every_witness(trace, rng.choice(LEVELS)) if replays(trace, c)), None)
        if claim is None:
            continue
        for column in ("order", "read_op", "read_key", "read_writer"):
            damaged = getattr(claim, column).copy()
            for _ in range(rng.randint(1, 3) if len(damaged) else 0):
                damaged[rng.randrange(len(damaged))] = rng.choice([-2, -1, 0, 1, 2, 3, 5, 1 << 30])
            if rng.random() < 0.3:
                damaged = damaged[: rng.randint(0, len(damaged))]
            refusals += not replays(trace, replace(claim, **{column: damaged}))
    assert refusals > 100

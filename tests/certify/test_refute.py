"""Refuting cores with Z3: what a core says and does not say, which parts are to spare, and kind errors."""

from __future__ import annotations

import sys

import pytest
from support.histories import Absent, end, get, history, iterator, put, scan, step, txn

from boomslang.certify.certificate import Core
from boomslang.certify.refute import CoreError, MissingSolver, minimal, refute
from boomslang.trace import Trace


def lost_update() -> Trace:
    """A lost update on x between A and B, with things around it that do not matter."""
    return history(
        txn("A", get("x", 0), put("x", 1), get("y", Absent)),
        txn("B", get("x", 0), put("x", 2)),
        txn("C", put("y", 5)),
        txn("D", get("y", 5)),
        initial={"x": 0},
    )


CORE = Core("serializable", (0, 1), ((0, 0), (3, 0)))


def test_a_core_is_refuted_without_the_rest_of_the_trace() -> None:
    assert refute(lost_update(), CORE)
    assert minimal(lost_update(), CORE) == []


def test_a_core_that_breaks_nothing_is_not_refuted() -> None:
    assert not refute(lost_update(), Core("read-committed", CORE.transactions, CORE.reads))
    assert not refute(lost_update(), Core("serializable", (), ()))


def test_spare_parts_are_found() -> None:
    fat = Core("serializable", (0, 1, 2, 3), ((0, 0), (2, 1), (3, 0), (6, 1)))
    assert refute(lost_update(), fat)
    assert minimal(lost_update(), fat) == [2, 3, (2, 1), (6, 1)]


def test_candidates_come_from_the_whole_trace() -> None:
    trace = history(
        txn("A", put("x", 1), outcome="aborted"),
        txn("B", get("x", 1)),
        txn("C", put("x", 1), outcome="unknown"),
    )
    assert not refute(trace, Core("read-committed", (0, 1), ((1, 0),)))
    trace = history(txn("A", put("x", 1), outcome="aborted"), txn("B", get("x", 1)))
    core = Core("read-committed", (0, 1), ((1, 0),))
    assert refute(trace, core)
    assert minimal(trace, core) == []  # without A nobody knows that A aborted
    assert not refute(trace, Core("read-committed", (1,), ((1, 0),)))


def test_a_violated_read_of_ones_own_write_is_a_core() -> None:
    trace = history(txn("A", put("x", 1), get("x", 0)), initial={"x": 0})
    core = Core("read-committed", (0,), ((1, 0),))
    assert refute(trace, core)
    assert minimal(trace, core) == []


def test_reads_of_absent_keys_are_named_by_operation_and_key() -> None:
    trace = history(
        txn("A", iterator(1), step(1, "a", 0), step(1, "c", 1), end(1)),
        txn("B", put("b", 1), put("c", 1)),
        initial={"a": 0},
    )
    key = {trace.keys[k]: k for k in range(len(trace.keys))}
    core = Core("serializable", (0,), ((2, key["b"]), (2, key["c"])))
    assert refute(trace, core)
    assert minimal(trace, core) == []
    with pytest.raises(CoreError, match="operation 1 of the core does not read 'b'"):
        refute(trace, Core("serializable", (0,), ((1, key["b"]),)))
    with pytest.raises(CoreError, match="operation 3 of the core does not read 'a'"):
        refute(trace, Core("serializable", (0,), ((3, key["a"]),)))


def test_nonsense_is_an_error_and_never_a_refutation() -> None:
    trace = history(txn("A", put("x", 1), scan("a", "b", {})), txn("B", get("x", 1)))
    for core in (
        Core("serializable", (7,), ()),
        Core("serializable", (-1,), ()),
        Core("serializable", (0,), ((9, 0),)),
        Core("serializable", (0,), ((0, 9),)),
        Core("serializable", (0,), ((0, -1),)),
        Core("serializable", (0,), ((0, 0),)),  # a put reads nothing
        Core("serializable", (0,), ((1, 0),)),  # outside the range
        Core("sanity", (0,), ()),
    ):
        with pytest.raises(CoreError):
            refute(trace, core)


def test_without_z3_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(
        MissingSolver, match=r"refuting a core needs Z3: pip install 'boomslang-checker\[z3\]'"
    ):
        refute(lost_update(), CORE)

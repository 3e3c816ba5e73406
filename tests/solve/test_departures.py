"""A state of several keys is left only as often as it comes about: what that decides, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest
from support.histories import delete, get, history, put, txn
from support.repeated import JOINT

from boomslang import Checker, Trace
from boomslang.asg.graph import build_asg
from boomslang.certify.proof import TooFewArrivals
from boomslang.certify.proved import fault_of_proof
from boomslang.levels import LEVELS, find_level
from boomslang.solve.departures import too_few_arrivals

ON, OFF = True, False


def turn(me: str, seen: str, time: int, **more: Any) -> Any:
    """Sees who is on call (capital letters), and goes off or comes on."""
    look = [get(who.lower(), who.isupper()) for who in seen]
    return txn(f"s{time % 3}", *look, put(me, me not in "".join(w.lower() for w in seen if w.isupper())),
               time=(time, time + 15), **more)  # fmt: skip


def day(*turns: tuple[str, str], initial: Any = "given") -> Trace:
    made = [turn(me, seen, 10 * n) for n, (me, seen) in enumerate(turns)]
    return history(*made, initial={"a": ON, "b": ON, "c": ON} if initial == "given" else initial)


# a and b go off, both having seen all three on call; they come back one by one, and c goes off.
SKEW = [("a", "ABC"), ("b", "ABC"), ("a", "abC"), ("b", "AbC"), ("c", "ABC")]


def proof_of(trace: Trace, level: str = "ser") -> TooFewArrivals | None:
    proof = too_few_arrivals(build_asg(trace), find_level(level))
    assert proof is None or not fault_of_proof(trace, find_level(level).name, proof)
    return proof


def test_a_write_skew_that_no_key_shows_alone() -> None:
    trace = day(*SKEW)
    proof = proof_of(trace)
    assert proof is not None and len(proof.departures) == 3 and not proof.later
    verdict = Checker(trace).check("ser")
    assert verdict.invalid and verdict.stats["decided by"] in ("counting departures", "reachable states")
    assert verdict.counterexample is not None and verdict.counterexample.anomaly is not None
    assert verdict.counterexample.anomaly.name == "write skew"
    assert Checker(trace).check("si").valid


def test_the_levels_at_which_it_says_something() -> None:
    trace = day(*SKEW)
    found = {level.name for level in LEVELS if too_few_arrivals(build_asg(trace), level) is not None}
    serial = {level.name for level in JOINT if level.points == 1}
    assert found == serial and "repeatable-read" in found and "snapshot-isolation" not in found


def test_at_snapshot_isolation_whoever_wrote_all_that_it_saw() -> None:
    swap = txn(None, get("x", 1), get("y", 2), put("x", 2), put("y", 1))
    halves = [
        txn(None, put("x", 1), put("y", 1)),
        txn(None, put("x", 2), put("y", 2)),
    ]  # each value came back
    trace = history(swap, swap, *halves, initial={"x": 1, "y": 2})
    assert proof_of(trace, "si") is not None and Checker(trace).check("si").invalid
    both = txn(None, put("x", 1), put("y", 2))
    assert proof_of(history(swap, swap, both, initial={"x": 1, "y": 2}), "si") is None


@pytest.mark.parametrize(
    "more",
    [
        txn(None, put("a", ON)),
        txn(None, put("a", ON), outcome="unknown"),
        txn(None, get("b", ON), put("a", ON)),
        txn(None, get("a", OFF), put("a", ON)),
    ],
)
def test_who_may_have_brought_it_about_counts(more: Any) -> None:
    made = [turn(me, seen, 10 * n) for n, (me, seen) in enumerate(SKEW)]
    assert proof_of(history(*made, more, initial={"a": ON, "b": ON, "c": ON})) is None


@pytest.mark.parametrize(
    "more",
    [
        txn(None, put("a", ON), outcome="aborted"),
        txn(None, get("b", OFF), put("a", ON)),
        txn(None, get("a", ON), put("a", ON)),
        txn(None, put("a", ON), put("b", OFF)),
        txn(None, get("a", ON), get("b", ON)),
    ],
)
def test_who_cannot_does_not(more: Any) -> None:
    made = [turn(me, seen, 10 * n) for n, (me, seen) in enumerate(SKEW)]
    assert proof_of(history(*made, more, initial={"a": ON, "b": ON, "c": ON})) is not None


def test_an_unknown_first_state_is_one_more() -> None:
    twice = [("a", "AB"), ("b", "AB")]
    assert proof_of(day(*twice, initial={"a": ON, "b": ON})) is not None
    assert proof_of(day(*twice, initial="unknown")) is not None
    assert proof_of(day(twice[0], initial="unknown")) is None
    assert proof_of(day(*twice, ("b", "Ab"), initial={"a": ON, "b": OFF})) is not None


def test_by_the_time_they_had_returned() -> None:
    """Later the state came about once more, but both had returned before that one began."""
    rows = [turn("a", "AB", 0), turn("b", "AB", 5), turn("a", "ab", 100), turn("b", "Ab", 150)]
    trace = history(*rows, initial={"a": ON, "b": ON})
    assert proof_of(trace) is None
    proof = proof_of(trace, "sser")
    assert proof is not None and proof.later == (3,) and proof.departures == (0, 1)
    assert proof_of(trace, "ser within 129") is not None and proof_of(trace, "ser within 130") is None


def test_a_delete_that_found_something_saw_no_value() -> None:
    gone = txn(None, get("b", 1), delete("a", True))
    trace = history(gone, gone, txn(None, put("a", 1)), initial={"a": 1, "b": 1})
    assert proof_of(trace) is None


def test_repeatable_read_does_not_ask_what_a_range_did_not_hold() -> None:
    from support.histories import Unbounded, scan

    come = [txn(None, scan(Unbounded, Unbounded, {}), put(key, 1)) for key in "ab"]
    trace = history(*come)
    assert proof_of(trace) is not None and proof_of(trace, "rr") is None
    assert Checker(trace).check("rr").valid

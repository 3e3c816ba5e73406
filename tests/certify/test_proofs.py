"""Proofs by counting and by states: genuine ones are believed, forged ones are not, whatever is forged.

A proof that is believed must be true. On a trace that is invalid anyway every belief is; so the random tests below show
genuine proofs of one trace to the verifier of *another*: the same, but for one read, write, outcome, time or initial
value, or asked at another level. If it still believes, brute force must say that it may.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.histories import Absent, Unbounded, append, delete, get, history, list_, put, scan, txn
from support.repeated import LAWFUL, random_repeated, random_together, refutations, weakest

from boomslang.certify.proof import (
    OTHER,
    UNNAMED,
    Proof,
    StuckSessions,
    TooFewArrivals,
    TooFewVersions,
    UnreachableState,
    proof_of,
)
from boomslang.certify.proved import fault_of_proof
from boomslang.levels import LEVELS
from boomslang.solve.brute import brute
from boomslang.trace import NO_TIME, Flag, Initial, Kind, Outcome, Trace

HUGE = 10**40


def take(key: Any = "x", seen: Any = 5, left: Any = 4, **more: Any) -> Any:
    return txn(None, get(key, seen), put(key, left), **more)


def fault(trace: Trace, proof: Proof, level: str = "serializable") -> str:
    return fault_of_proof(trace, level, proof)


# --- a count


def stock() -> tuple[Trace, TooFewVersions]:
    """x was 5 twice, and three took it from 5."""
    rows = [take(), take(), take(), take(seen=4, left=5), txn(None, get("x", 5)), txn(None, put("y", 5))]
    trace = history(*rows, take(outcome="unknown"), take(outcome="aborted"), initial={"x": 5})
    return trace, TooFewVersions(0, ((0, 0), (1, 2), (2, 4)))


def test_a_count() -> None:
    trace, proof = stock()
    assert fault(trace, proof) == ""
    assert proof_of(proof.to_json()) == proof


@pytest.mark.parametrize(
    ("readers", "why"),
    [
        (((0, 0), (1, 2)), "there are versions enough"),
        ((), "there are versions enough"),
        (((0, 0), (1, 2), (1, 2)), "transaction 1 is counted twice"),
        (((0, 0), (1, 2), (2, 2)), "operation 2 is none of transaction 2"),
        (((0, 0), (1, 2), (4, 8)), "did not write the key"),
        (((0, 0), (1, 2), (5, 9)), "did not write the key"),
        (((0, 0), (1, 2), (6, 10)), "did not commit"),
        (((0, 0), (1, 2), (7, 12)), "did not commit"),
        (((0, 0), (1, 2), (2, 5)), "says nothing of the version"),  # its own write
        (((0, 0), (1, 2), (3, 6)), "there are versions enough"),  # which saw another value
        (((0, 0), (1, 2), (-6, 4)), "is none of transaction -6"),
        (((0, 0), (1, 2), (8, 14)), "is none of transaction 8"),
        (((0, 0), (1, 2), (HUGE, 4)), "is none of transaction"),
        (((0, 0), (1, 2), (2, -HUGE)), "is none of transaction 2"),
        (((0, 0), (1, 2), (2, HUGE)), "is none of transaction 2"),
    ],
)
def test_forged_readers(readers: tuple[tuple[int, int], ...], why: str) -> None:
    trace, proof = stock()
    assert why in fault(trace, replace(proof, readers=readers))


@pytest.mark.parametrize("key", [1, 2, -1, HUGE, -HUGE])
def test_a_forged_key_of_a_count(key: int) -> None:
    trace, proof = stock()
    assert fault(trace, replace(proof, key=key))


def timed() -> tuple[Trace, TooFewVersions]:
    """Two took x from 5 before anybody else made it 5."""
    rows = [txn(None, *take().ops, time=(i, i + 1)) for i in range(2)]
    rows += [txn(None, put("x", 5), time=(2, 9)), txn(None, put("x", 5), time=(8, 9))]
    return history(*rows, initial={"x": 5}), TooFewVersions(0, ((0, 0), (1, 2)), (2, 3))


def test_versions_that_came_too_late() -> None:
    rows = [txn(None, *take().ops, time=(i, i + 1)) for i in range(2)]
    trace = history(
        *rows, txn(None, put("x", 5), time=(3, 9)), txn(None, put("x", 5), time=(8, 9)), initial={"x": 5}
    )
    proof = TooFewVersions(0, ((0, 0), (1, 2)), (2, 3))
    for level in ("strict-serializable", "strong-snapshot-isolation", "forward-consistent-view"):
        assert fault(trace, proof, level) == ""
        assert "versions enough" in fault(trace, replace(proof, later=()), level)
        assert "versions enough" in fault(trace, replace(proof, later=(3,)), level)
        assert "versions enough" in fault(trace, replace(proof, later=(3, 3)), level)
        for wrong in (0, 1, -1, 4, HUGE, -HUGE):
            assert f"transaction {wrong} did not begin after" in fault(
                trace, replace(proof, later=(2, 3, wrong)), level
            )
    for level in ("serializable", "strong-session-serializable", "snapshot-isolation", "consistent-view"):
        assert "did not begin after" in fault(trace, proof, level)


def test_a_version_that_began_just_then_is_not_too_late() -> None:
    trace, proof = timed()
    assert "transaction 2 did not begin after" in fault(trace, proof, "strict-serializable")


def test_times_of_different_clocks_or_none_say_nothing() -> None:
    rows = [txn(None, *take().ops, time=(i, i + 1), clock="a") for i in range(2)]
    late = txn(None, put("x", 5), time=(8, 9), clock="a")
    proof = TooFewVersions(0, ((0, 0), (1, 2)), (2,))
    one = history(*rows, late, initial={"x": 5})
    assert fault(one, proof, "strict-serializable") == ""
    assert "did not begin" in fault(
        history(*rows, replace(late, clock="b"), initial={"x": 5}), proof, "strict-serializable"
    )
    for column in ("txn_begin", "txn_end"):
        lost = replace(one, **{column: np.full(3, NO_TIME)})
        assert "did not begin" in fault(lost, proof, "strict-serializable")


def test_a_bound_in_the_levels_name() -> None:
    rows = [txn(None, *take().ops, time=(i, i + 1)) for i in range(2)]
    trace = history(*rows, txn(None, put("x", 5), time=(8, 9)), initial={"x": 5})
    proof = TooFewVersions(0, ((0, 0), (1, 2)), (2,))
    assert (
        fault(trace, proof, "serializable-within-5") == fault(trace, proof, "consistent-view-within-0") == ""
    )
    assert "did not begin" in fault(trace, proof, "serializable-within-6")
    assert "did not begin" in fault(trace, proof, f"serializable-within-{HUGE}")
    for level in (
        "strict-serializable-within-5",
        "read-committed-within-5",
        "serializable-within--5",
        "serializable-within-x",
    ):
        assert "there is no level" in fault(trace, proof, level)


def test_a_range_counts_where_it_says_something() -> None:
    fill = txn(None, scan(Unbounded, Unbounded, {}), put("x", 5))
    trace, proof = history(fill, fill), TooFewVersions(0, ((0, 0), (1, 2)))
    assert fault(trace, proof) == fault(trace, proof, "consistent-view") == ""
    for level in ("repeatable-read", "cursor-stability", "strong-session-repeatable-read"):
        assert "says nothing of the version" in fault(trace, proof, level)


def test_deletes_in_a_count() -> None:
    gone = txn(None, delete("x", True))
    trace = history(gone, gone, txn(None, delete("x")), txn(None, delete("x", False)), initial={"x": 5})
    assert fault(trace, TooFewVersions(0, ((0, 0), (1, 1)))) == ""
    assert "says nothing" in fault(trace, TooFewVersions(0, ((0, 0), (2, 2))))
    assert "did not write the key" in fault(trace, TooFewVersions(0, ((0, 0), (3, 3))))


# --- states


def doctors() -> tuple[Trace, UnreachableState]:
    """Who goes off has seen another on call; and then nobody is. Values: 1 is number 0, 0 is number 1."""
    a = txn(None, get("a", 1), get("b", 1), put("a", 0))
    b = txn(None, get("a", 1), get("b", 1), put("b", 0))
    nobody = txn(None, get("a", 0), get("b", 0))
    doubt = replace(nobody, outcome="unknown")
    trace = history(
        a, b, txn(None, put("a", 1)), nobody, doubt, txn(None, get("a", 0)), initial={"a": 1, "b": 1}
    )
    return trace, UnreachableState((0, 1), ((0, 0), (0, 1), (1, 0)), 3)


def test_a_set_of_states() -> None:
    trace, proof = doctors()
    assert fault(trace, proof) == ""
    assert proof_of(proof.to_json()) == proof
    assert (
        fault(trace, replace(proof, states=(*proof.states, (-1, 1)))) == ""
    )  # more than need be, and still closed


def test_one_value_and_all_others() -> None:
    """Two of three jobs are done or wait, which is the same to the proof; three values, told apart by one of them."""
    start = [
        txn(None, *(get(k, "run" if k == other else "wait") for k in "ab"), put(me, "run"))
        for me, other in (("a", ""), ("b", ""))
    ]
    end = [txn(None, get(k, "run"), put(k, "done")) for k in "ab"]
    both = txn(None, get("a", "run"), get("b", "run"))
    trace = history(*start, *end, both, initial={"a": "wait", "b": "wait"})
    run = list(trace.values).index("run")
    states = ((OTHER, OTHER), (OTHER, run), (run, OTHER))
    proof = UnreachableState((0, 1), states, 4, (run,))
    assert fault(trace, proof) == "" and proof_of(proof.to_json()) == proof
    assert "may have held" in fault(trace, replace(proof, apart=()))  # nobody says what another value is
    wait, done = list(trace.values).index("wait"), list(trace.values).index("done")
    for value in (wait, done, -1, OTHER, UNNAMED):
        assert fault(trace, replace(proof, apart=(value,)))
    for missing in states:
        assert fault(trace, replace(proof, states=tuple(s for s in states if s != missing)))
    assert "is among the states" in fault(trace, replace(proof, states=(*states, (run, run))))
    blind = history(*start, *end, both, txn(None, put("a", "run")), initial={"a": "wait", "b": "wait"})
    assert "transaction 5 leads" in fault(blind, proof)


@pytest.mark.parametrize(
    ("states", "why"),
    [
        (((0, 0), (0, 1)), "leads from [0, 0] to [1, 0]"),
        (((0, 1), (1, 0)), "the keys may have held [0, 0] at first"),
        ((), "may have held [0, 0]"),
        (((0, 0), (0, 1), (1, 0), (1, 1)), "what transaction 3 saw is among the states"),
        (((0, 0), (0, 1), (1, 0), ()), "more or fewer values than there are keys"),
        (((0, 0), (0, 1), (1, 0), (1,)), "more or fewer values than there are keys"),
        (((0, 0), (0, 1), (1, 0), (1, 0, 0)), "more or fewer values than there are keys"),
        (((HUGE, 0), (0, 1), (1, 0)), "may have held [0, 0]"),
    ],
)
def test_forged_states(states: tuple[tuple[int, ...], ...], why: str) -> None:
    trace, proof = doctors()
    assert why in fault(trace, replace(proof, states=states))


@pytest.mark.parametrize(
    ("transaction", "why"),
    [
        (0, "is among the states"),
        (2, "is among the states"),  # it read nothing
        (4, "none that committed"),
        (5, "is among the states"),
        (6, "none that committed"),
        (-3, "none that committed"),
        (HUGE, "none that committed"),
    ],
)
def test_another_transaction_is_named(transaction: int, why: str) -> None:
    trace, proof = doctors()
    assert why in fault(trace, replace(proof, transaction=transaction))


@pytest.mark.parametrize("keys", [(), (0,), (0, 0), (1, 1), (0, 1, 1), (0, 2), (0, -1), (HUGE, 1)])
def test_forged_keys(keys: tuple[int, ...]) -> None:
    trace, proof = doctors()
    assert fault(trace, replace(proof, keys=keys))


def test_keys_in_another_order_are_other_states() -> None:
    a = txn(None, get("a", 1), put("b", 0))
    never = txn(None, put("a", 0), outcome="aborted")
    rows = [a, txn(None, get("a", 1), get("b", 0)), txn(None, get("a", 0), get("b", 1)), never]
    trace = history(*rows, initial={"a": 1, "b": 1})
    states = ((0, 0), (0, 1))
    assert fault(trace, UnreachableState((0, 1), states, 2)) == ""
    assert fault(trace, UnreachableState((1, 0), states, 2))
    assert fault(trace, UnreachableState((1, 0), ((0, 0), (1, 0)), 2)) == ""


def test_at_snapshot_isolation_only_keys_that_are_overwritten_are_guards() -> None:
    trace, proof = doctors()
    assert "leads from" in fault(trace, proof, "snapshot-isolation")
    assert fault(trace, proof, "repeatable-read") == fault(trace, proof, "strict-serializable") == ""


def test_where_each_key_is_alone_a_proof_is_of_one_key() -> None:
    trace, proof = doctors()
    for level in (
        "consistent-view",
        "forward-consistent-view",
        "cursor-stability",
        "strong-session-consistent-view",
    ):
        assert "expected different ones, and one alone at this level" in fault(trace, proof, level)


def test_an_unknown_initial_value_may_be_anything() -> None:
    rows = [txn(None, put("x", 1)), txn(None, put("x", 2)), txn(None, get("x", 1), get("x", 2))]
    trace = history(*rows, initial="unknown")
    states = ((UNNAMED,), (-1,), (0,), (1,))
    assert fault(trace, UnreachableState((0,), states, 2)) == ""
    for missing in states:
        assert fault(trace, UnreachableState((0,), tuple(s for s in states if s != missing), 2))


def test_what_was_seen_of_an_unknown_initial_value_may_have_been_it() -> None:
    states = ((UNNAMED,), (-1,))
    seen = history(txn(None, get("x", 7)), initial="unknown")
    assert "may have held [0] at first" in fault(seen, UnreachableState((0,), states, 0))
    needed = [txn(None, get("x", 7), put("x", 3), outcome="unknown"), txn(None, get("x", 3))]
    assert "may have held [0] at first" in fault(
        history(*needed, initial="unknown"), UnreachableState((0,), states, 1)
    )


def test_lists_are_in_no_proof() -> None:
    trace = history(
        txn(None, append("l", 1)), txn(None, list_("l", ()), append("l", 2)), txn(None, list_("l", (2,)))
    )
    assert "holds a list" in fault(trace, UnreachableState((0,), ((-1,),), 2))
    assert "holds a list" in fault(trace, TooFewVersions(0, ((1, 1),)))


@pytest.mark.parametrize("proof", [stock()[1], doctors()[1]])
def test_levels_of_which_neither_law_holds(proof: Proof) -> None:
    trace = stock()[0] if isinstance(proof, TooFewVersions) else doctors()[0]
    lawful = {level.name for level in LAWFUL}
    for name in [
        "prefix",
        "nonsense",
        "",
        "serializable-within-",
        *(x.name for x in LEVELS if x.name not in lawful),
    ]:
        assert fault(trace, proof, name), name


# --- departures


def both_off() -> tuple[Trace, TooFewArrivals]:
    """Two saw both on call and went off; it was so at first only. Somebody who had seen one on call came on."""

    def off(who: str, **more: Any) -> Any:
        return txn(None, get("a", 1), get("b", 1), put(who, 0), **more)

    rows = [off("a"), off("b"), txn(None, get("a", 0), get("b", 0), put("a", 1)), txn(None, put("c", 1))]
    trace = history(*rows, off("a", outcome="aborted"), initial={"a": 1, "b": 1})
    on = trace.op_value[0]
    return trace, TooFewArrivals((0, 1), (int(on), int(on)), (0, 1))


def test_departures() -> None:
    trace, proof = both_off()
    assert fault(trace, proof) == fault(trace, proof, "repeatable-read") == ""
    assert proof_of(proof.to_json()) == proof
    assert "nothing follows" in fault(trace, proof, "consistent-view")
    assert "did not see all of the state" in fault(trace, proof, "snapshot-isolation")  # nobody wrote both


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"departures": (0,)}, "it came about often enough"),
        ({"departures": (0, 1, 1)}, "counts a transaction twice"),
        ({"departures": (0, 1, 9)}, "or one that there is not"),
        ({"departures": (0, 1, 2)}, "transaction 2 did not commit, or did not see"),
        ({"departures": (0, 1, 4)}, "transaction 4 did not commit"),
        ({"state": (-2, 0)}, "no value"),
        ({"state": (0,)}, "a value for each"),
        ({"keys": (0, 0)}, "expected different keys"),
        ({"keys": (0, 7)}, "not in the trace"),
        ({"later": (2,)}, "transaction 2 did not begin after"),
    ],
)
def test_departures_that_are_forged(changes: dict[str, Any], why: str) -> None:
    trace, proof = both_off()
    assert why in fault(trace, replace(proof, **changes))


@pytest.mark.parametrize(
    "more",
    [
        txn(None, put("a", 1)),
        txn(None, put("a", 1), outcome="unknown"),
        txn(None, get("a", 0), put("a", 1)),
        txn(None, get("b", 1), put("a", 1)),
        txn(None, put("a", 1), put("b", 1)),
    ],
)
def test_one_more_who_may_have_come_is_enough(more: Any) -> None:
    _, proof = both_off()
    off = [txn(None, get("a", 1), get("b", 1), put(who, 0)) for who in "ab"]
    assert "often enough" in fault(history(*off, more, initial={"a": 1, "b": 1}), proof)
    assert "often enough" in fault(history(*off, initial="unknown"), replace(proof, departures=(0,)))


# --- sessions


def waiting_for_each_other(times: bool = False) -> tuple[Trace, StuckSessions]:
    """Two took the only 2. In between, the second one's session would have to bring it back."""

    def took(session: str, seen: int, at: int) -> Any:
        when = {"time": (at, at + 10)} if times else {}
        return txn(session, get("x", seen), put("x", (seen - 1) % 3), **when)

    rows = [took("a", 2, 0), took("b", 2, 20), took("a", 1, 40), took("b", 0, 60)]
    return history(*rows, took("c", 2, 80), initial={"x": 2}), StuckSessions(5, 2, (1, 4))


def test_sessions() -> None:
    trace, proof = waiting_for_each_other()
    level = "strong-session-serializable"
    assert fault(trace, proof, level) == ""
    assert proof_of(proof.to_json()) == proof
    for name in ("serializable", "strong-session-snapshot-isolation", "strong-session-repeatable-read"):
        assert "nothing follows" in fault(trace, proof, name)
    timed, _ = waiting_for_each_other(times=True)
    assert fault(timed, proof, f"{level}-within-1000") == ""
    # Within 5 nobody may go first but T0, and then nobody but T1.
    assert fault(timed, StuckSessions(2, 1, (1, 2, 4)), f"{level}-within-5") == ""
    assert "transactions find a place" in fault(timed, proof, f"{level}-within-5")
    assert "no level" in fault(timed, proof, "strong-session-causal-within-5")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"frontiers": 4}, "more than 4 frontiers"),
        ({"frontiers": 6}, "5 frontiers"),
        ({"frontiers": 0}, "more than 0 frontiers"),
        ({"frontiers": -1}, "more than -1 frontiers"),
        ({"most": 3}, "2 transactions find a place"),
        ({"most": 1}, "2 transactions find a place"),
        ({"waiting": (1,)}, "others wait"),
        ({"waiting": (1, 4, 4)}, "others wait"),
        ({"waiting": (1, 9)}, "others wait"),
    ],
)
def test_sessions_that_are_forged(changes: dict[str, Any], why: str) -> None:
    trace, proof = waiting_for_each_other()
    assert why in fault(trace, replace(proof, **changes), "strong-session-serializable")


def test_sessions_that_can_go_on_or_may() -> None:
    rows = [txn("a", get("x", 2), put("x", 1)), txn("b", get("x", 2), put("x", 1))]
    back, level = txn("c", get("x", 1), put("x", 2)), "strong-session-serializable"
    proof = StuckSessions(1000, 1, (1,))
    assert "come to their end" in fault(history(*rows, back, initial={"x": 2}), proof, level)
    doubt = replace(back, outcome="unknown")
    assert "unknown outcome" in fault(history(*rows, doubt, initial={"x": 2}), proof, level)
    assert "at first is unknown" in fault(history(*rows, initial="unknown"), proof, level)
    timed = [replace(row, begin=i, end=i + 1) for i, row in enumerate(rows)]
    bounded = f"{level}-within-9"
    assert "no times" in fault(history(timed[0], rows[1], initial={"x": 2}), proof, bounded)
    clock = replace(timed[1], clock="other")
    assert "several clocks" in fault(history(timed[0], clock, initial={"x": 2}), proof, bounded)


# --- from a file


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "counting",
        {},
        {"kind": None},
        {"kind": []},
        {"kind": "counting"},
        {"kind": "counting", "key": "0", "readers": [], "later": []},
        {"kind": "counting", "key": True, "readers": [], "later": []},
        {"kind": "counting", "key": 0.0, "readers": [], "later": []},
        {"kind": "counting", "key": 0, "readers": [[0]], "later": []},
        {"kind": "counting", "key": 0, "readers": [[0, 1, 2]], "later": []},
        {"kind": "counting", "key": 0, "readers": ["01"], "later": []},
        {"kind": "counting", "key": 0, "readers": [0], "later": []},
        {"kind": "counting", "key": 0, "readers": 0, "later": []},
        {"kind": "counting", "key": 0, "readers": [], "later": "12"},
        {"kind": "counting", "key": 0, "readers": [], "later": {"1": 2}},
        {"kind": "counting", "key": 0, "readers": [], "later": [1.5]},
        {"kind": "states", "keys": 0, "states": [], "transaction": 0},
        {"kind": "departures", "keys": [0], "state": 0, "departures": [], "later": []},
        {"kind": "departures", "keys": [0], "state": [0], "departures": [[0]], "later": []},
        {"kind": "departures", "keys": [0], "state": [0], "departures": [0]},
        {"kind": "sessions", "frontiers": 1, "most": 1},
        {"kind": "sessions", "frontiers": "1", "most": 1, "waiting": []},
        {"kind": "sessions", "frontiers": 1, "most": 1, "waiting": 2},
        {"kind": "states", "keys": [0], "states": ["0"], "transaction": 0},
        {"kind": "states", "keys": [0], "states": [[float("nan")]], "transaction": 0},
        {"kind": "states", "keys": [0], "states": [[None]], "transaction": 0},
        {"kind": "states", "keys": [0], "states": [[0]], "transaction": None},
        {"kind": "states", "keys": [0], "states": [[0]]},
    ],
)
def test_what_is_no_proof(data: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        proof_of(data)


# --- at random


def forged(rng: random.Random, trace: Trace, proof: Proof) -> Iterator[Proof]:
    """The proof, with one thing of it changed."""
    txns, rows = len(trace), len(trace.op_kind)
    if isinstance(proof, TooFewVersions):
        for i in range(len(proof.readers)):
            yield replace(proof, readers=proof.readers[:i] + proof.readers[i + 1 :])
        yield replace(proof, readers=(*proof.readers, proof.readers[0]))
        yield replace(proof, readers=(*proof.readers, (rng.randrange(txns), rng.randrange(rows))))
        yield replace(proof, key=rng.randrange(-1, len(trace.keys) + 1))
        yield replace(proof, later=(*proof.later, rng.randrange(-1, txns + 1)))
        yield replace(proof, later=proof.later[1:])
        return
    if isinstance(proof, TooFewArrivals):
        for i in range(len(proof.departures)):
            yield replace(proof, departures=proof.departures[:i] + proof.departures[i + 1 :])
        yield replace(proof, departures=(*proof.departures, proof.departures[0]))
        yield replace(proof, departures=(*proof.departures, rng.randrange(-1, txns + 1)))
        yield replace(proof, later=(*proof.later, rng.randrange(-1, txns + 1)))
        yield replace(proof, later=proof.later[1:])
        yield replace(proof, keys=proof.keys[::-1])
        yield replace(proof, keys=proof.keys[:1], state=proof.state[:1])
        yield replace(proof, state=proof.state[:1])
        changed = [*proof.state]
        changed[rng.randrange(len(changed))] = rng.choice((UNNAMED, -2, -1, *range(len(trace.values))))
        yield replace(proof, state=tuple(changed))
        return
    for i in range(len(proof.states)):
        yield replace(proof, states=proof.states[:i] + proof.states[i + 1 :])
        changed = [*proof.states[i]]
        changed[rng.randrange(len(changed))] = rng.choice((UNNAMED, -2, -1, *range(len(trace.values))))
        yield replace(proof, states=(*proof.states[:i], tuple(changed), *proof.states[i + 1 :]))
        yield replace(proof, states=(*proof.states, tuple(changed)))
    yield replace(proof, apart=(rng.randrange(-1, len(trace.values)),))
    yield replace(proof, transaction=rng.randrange(-1, txns + 1))
    yield replace(proof, keys=proof.keys[::-1])
    yield replace(proof, keys=proof.keys[:1], states=tuple(state[:1] for state in proof.states))


def other_traces(rng: random.Random, trace: Trace) -> Iterator[Trace]:
    """Traces of the same shape in which one thing is different."""
    values, rows = len(trace.values), np.flatnonzero(np.isin(trace.op_kind, (Kind.GET, Kind.PUT)))
    for row in rows.tolist():
        column = trace.op_value.copy()
        column[row] = rng.randrange(-1 if trace.op_kind[row] == Kind.GET else 0, values)
        yield replace(trace, op_value=column)
    for row in np.flatnonzero(trace.op_kind == Kind.DELETE).tolist():
        flags = trace.op_flags.copy()
        flags[row] = rng.choice((Flag.FOUND, Flag.NOTHING, 0))
        yield replace(trace, op_flags=flags)
    for t in range(len(trace)):
        outcome = trace.txn_outcome.copy()
        outcome[t] = rng.choice([o for o in Outcome if o != outcome[t]])
        yield replace(trace, txn_outcome=outcome)
        for name in ("txn_begin", "txn_end"):
            times = getattr(trace, name).copy()
            times[t] = rng.choice((NO_TIME, times[t] - 3 if times[t] != NO_TIME else 3))
            yield replace(trace, **{name: times})
    nothing = np.zeros(0, np.int32)
    yield replace(trace, initial_mode=Initial.UNKNOWN, initial_key=nothing, initial_value=nothing)
    for i in range(len(trace.initial_key)):
        at_first = trace.initial_value.copy()
        at_first[i] = rng.randrange(values)
        yield replace(trace, initial_value=at_first)
    yield replace(trace, op_ctx=None)


def examined(seed: int, trace: Trace) -> Counter[str]:
    rng, found = random.Random(seed), Counter[str]()
    made = list(refutations(trace))
    few = {level.name for level in weakest(list({level.name: level for level, _, _ in made}.values()))}
    broken: dict[tuple[int, str], bool] = {}

    def believed(other: Trace, level: str, proof: Proof) -> None:
        """If the verifier believes it, it is true."""
        if fault_of_proof(other, level, proof):
            found["refused"] += 1
            return
        found["believed"] += 1
        asked = (id(other), level)
        if asked not in broken:
            broken[asked] = not brute(other, level)
        assert broken[asked], f"{seed}: {proof} is believed at {level}"

    for level, _, proof in made:
        if level.name not in few:
            continue
        assert proof_of(proof.to_json()) == proof
        for false in forged(rng, trace, proof):
            believed(trace, level.name, false)
        for other in LEVELS:
            if not other.needs_sessions:
                believed(trace, other.name, proof)
    others = list(other_traces(rng, trace)) if made else []
    for level, _, proof in made:
        for other_trace in others if level.name in few else ():
            believed(other_trace, level.name, proof)
    return found


def test_what_is_believed_is_true() -> None:
    found: Counter[str] = Counter()
    for seed in range(2_000, 2_060):
        found += examined(seed, random_repeated(seed)[1])
    assert found["refused"] > 150 and found["believed"] > 150, found


def test_what_is_believed_of_departures_is_true() -> None:
    found: Counter[str] = Counter()
    for seed in range(12):
        found += examined(seed, random_together(seed))
    assert found["refused"] > 50 and found["believed"] > 50, found


@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_what_is_believed_is_true_of_many(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(50_000 + 1_000 * part, 51_000 + 1_000 * part):
        found += examined(seed, random_repeated(seed)[1]) + examined(seed, random_together(seed))
    assert found["refused"] > 1_000 and found["believed"] > 1_000, found


def test_no_state_can_be_left_out_of_what_was_found() -> None:
    """What the pass finds is just what can be reached, so without any of it the set is not closed."""
    tried = 0
    for seed in range(300):
        _, trace = random_repeated(seed)
        for level, _, proof in refutations(
            trace, [level for level in LAWFUL if level.short in ("ser", "si", "rr")]
        ):
            if isinstance(proof, UnreachableState) and trace.initial_mode != Initial.UNKNOWN:
                for i in range(len(proof.states)):
                    tried += 1
                    less = replace(proof, states=proof.states[:i] + proof.states[i + 1 :])
                    assert fault_of_proof(trace, level.name, less), f"{seed}: {less}"
    assert tried > 30


def test_absent_is_told_from_any_value() -> None:
    """A delete that found something leads from no state in which nothing was there."""
    gone = txn(None, delete("x", True), put("x", 3), outcome="unknown")
    trace = history(gone, txn(None, get("x", 3)), txn(None, delete("x")), txn(None, get("x", Absent)))
    assert fault(trace, UnreachableState((0,), ((-1,),), 1)) == ""
    assert "leads from" in fault(history(*_with_a_put(gone)), UnreachableState((0,), ((-1,), (1,)), 1))


def _with_a_put(gone: Any) -> list[Any]:
    return [gone, txn(None, get("x", 3)), txn(None, delete("x")), txn(None, put("x", 4))]

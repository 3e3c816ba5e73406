"""Reachable states: each trap of design section 11 in a trace of a few lines, the one that is refuted beside its
neighbour that is not. Brute force has the last word on both."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.effort import examples
from support.histories import (
    Absent,
    Unbounded,
    append,
    by_cursor,
    delete,
    end,
    get,
    history,
    iterator,
    list_,
    put,
    scan,
    step,
    txn,
)
from support.repeated import JOINT, LAWFUL, core_of, random_repeated, random_together

from boomslang import check
from boomslang.asg.graph import build_asg
from boomslang.certify.proof import UNNAMED, UnreachableState
from boomslang.certify.proved import fault_of_proof
from boomslang.explain.parts import first_broken
from boomslang.levels import find_level
from boomslang.levels.laws import State, state_law
from boomslang.solve import states
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.solution import Limits
from boomslang.solve.states import unreachable_state
from boomslang.trace import Trace

EVERY = {level.short for level in LAWFUL}
SERIAL = {level.short for level in LAWFUL if state_law(level) is State.SERIAL}
SNAPSHOT = {level.short for level in LAWFUL if state_law(level) is State.SNAPSHOT}
ITEMS = {"rr", "strong-session-rr"}
"""The levels at which several keys are a state, but only what a range returned counts."""
CURSORS = {"cs", "strong-session-cs"}

ON = {"a": 1, "b": 1}
"""Two doctors on call."""
A_OFF = txn(None, get("a", 1), get("b", 1), put("a", 0))
B_OFF = txn(None, get("a", 1), get("b", 1), put("b", 0))
BACK = txn(None, put("a", 1))
NOBODY = txn(None, get("a", 0), get("b", 0))


def refuting(trace: Trace) -> set[str]:
    """The levels at which states refute the trace; brute force and the verifier agree, and the core suffices."""
    asg, found = build_asg(trace), set()
    for level in LAWFUL:
        proof, _ = unreachable_state(asg, level, Limits())
        if proof is not None:
            assert not fault_of_proof(trace, level.name, proof)
            assert not brute(trace, level.name)
            core = core_of(asg, level, proof)
            assert not brute_core(trace, level.name, core.transactions, core.reads)
            found.add(level.short)
    return found


def proof_of(trace: Trace, level: str = "ser") -> UnreachableState | None:
    return unreachable_state(build_asg(trace), find_level(level), Limits())[0]


def test_which_law_holds_where() -> None:
    assert {"ser", "sser", "strong-session-ser", "rr"} <= SERIAL and {
        "si",
        "strong-si",
        "strong-session-si",
    } == SNAPSHOT
    assert {level.short for level in LAWFUL if state_law(level) is State.ONE_KEY} >= {"pl-2+", "pl-fcv", "cs"}
    for name in ("prefix", "causal", "ra", "rc", "rc-be", "ru"):
        assert state_law(find_level(name)) is None
        assert unreachable_state(
            build_asg(history(A_OFF, B_OFF, NOBODY, initial=ON)), find_level(name), Limits()
        ) == (None, {})


def test_keys_of_which_not_all_writers_are_there() -> None:
    """Whoever wrote such a key may have left it in another state."""
    asg, level = build_asg(history(A_OFF, B_OFF, BACK, NOBODY, initial=ON)), find_level("ser")
    for among, refuted in (([True, True], True), ([True, False], False), ([False, True], False)):
        proof, _ = unreachable_state(asg, level, Limits(), np.array(among))
        assert (proof is not None) == refuted


def test_nobody_is_on_call() -> None:
    assert refuting(history(A_OFF, B_OFF, BACK, NOBODY, initial=ON)) == SERIAL
    assert refuting(history(A_OFF, txn(None, get("b", 1), put("b", 0)), BACK, NOBODY, initial=ON)) == set()
    assert refuting(history(A_OFF, B_OFF, BACK, txn(None, get("a", 0), get("b", 1)), initial=ON)) == set()


def test_the_proof_holds_all_states_and_the_one_who_saw_another() -> None:
    proof = proof_of(history(A_OFF, B_OFF, BACK, NOBODY, initial=ON))
    assert proof is not None and proof.keys == (0, 1) and proof.transaction == 3
    assert len(proof.states) == 3


def test_a_snapshot_need_not_be_as_it_was_but_for_what_is_overwritten() -> None:
    """Write skew is allowed at snapshot isolation; to take from a state that is gone is not."""
    assert not refuting(history(A_OFF, B_OFF, NOBODY, initial=ON)) & SNAPSHOT
    both = [
        txn(None, get("a", 1), get("b", 1), put("a", 0), put("b", 0)),
        txn(None, put("a", 1), put("b", 1)),
    ]
    half = txn(None, get("a", 1), get("b", 0))
    assert refuting(history(*both, half, initial=ON)) == SERIAL | SNAPSHOT
    assert refuting(history(*both, half, txn(None, put("b", 0)), initial=ON)) == set()


def test_of_one_key_alone_it_holds_wherever_lost_updates_are_forbidden() -> None:
    up = [txn(None, get("x", 0), put("x", 1)), txn(None, get("x", 1), put("x", 2)), txn(None, put("x", 1))]
    three = txn(None, get("x", 2), put("x", 3))
    assert refuting(history(*up, three, txn(None, get("x", 3)), initial={"x": 0})) == set()
    never = txn(None, get("x", 4), put("x", 3), outcome="unknown")
    assert refuting(history(*up, never, txn(None, get("x", 3)), initial={"x": 0})) == EVERY


def test_one_in_doubt_may_have_happened_but_demands_nothing() -> None:
    doubt: Any = {"outcome": "unknown"}
    off = txn(None, put("b", 0), **doubt)
    assert refuting(history(A_OFF, B_OFF, off, BACK, NOBODY, initial=ON)) == set()
    assert refuting(history(A_OFF, B_OFF, BACK, txn(None, *NOBODY.ops, **doubt), initial=ON)) == set()
    guarded = txn(None, *A_OFF.ops, **doubt), txn(None, *B_OFF.ops, **doubt)
    assert refuting(history(*guarded, BACK, NOBODY, initial=ON)) == SERIAL


def test_an_aborted_one_never_happened_and_is_part_of_the_core() -> None:
    off = txn(None, put("a", 0), outcome="aborted")
    trace = history(A_OFF, B_OFF, BACK, NOBODY, off, initial=ON)
    assert refuting(trace) == SERIAL
    proof, asg = proof_of(trace), build_asg(trace)
    assert proof is not None
    assert 4 in core_of(asg, find_level("ser"), proof).transactions


def test_two_reads_of_one_key_that_differ() -> None:
    """Who saw both did not happen, or the trace is wrong; the core holds both reads."""
    twice = txn(None, get("x", 1), get("x", 2), put("x", 3), outcome="unknown")
    makes = [txn(None, put("x", 2)), txn(None, put("x", 1))]
    assert refuting(history(*makes, twice, txn(None, get("x", 3)), initial={"x": 1})) == EVERY
    found = txn(None, get("x", 2), delete("x", True), put("x", 3), outcome="unknown")
    assert refuting(history(*makes, found, txn(None, get("x", 3)), initial={"x": 1})) == set()
    looked = txn(None, get("x", 1), get("x", 2))
    assert refuting(history(*makes, looked, initial={"x": 1})) == SERIAL | SNAPSHOT


def test_a_read_of_some_value_and_of_one() -> None:
    gone = txn(None, delete("x", True), put("x", 3), outcome="unknown")
    assert refuting(history(gone, txn(None, get("x", 3)), initial={"x": 1})) == set()
    assert refuting(history(gone, txn(None, get("x", 3)), txn(None, delete("x")))) == EVERY
    seen = txn(None, iterator(1), delete("x", True), step(1, "x", 2), put("x", 3), outcome="unknown")
    assert refuting(history(seen, txn(None, get("x", 3)), initial={"x": 1})) == EVERY
    nothing = txn(None, delete("x", False), put("x", 3), outcome="unknown")
    assert refuting(history(nothing, txn(None, get("x", 3)), initial={"x": 1})) == EVERY


def test_own_writes_are_no_guards() -> None:
    own = txn(None, put("a", 0), get("a", 0), put("b", 0))
    assert refuting(history(own, NOBODY, initial=ON)) == set()
    open_one = txn(None, get("b", 1), iterator(1), put("a", 0), step(1, "a", 0), put("b", 0))
    assert refuting(history(open_one, NOBODY, initial=ON)) == set()


def test_intermediate_writes_are_no_states() -> None:
    passing = txn(None, put("a", 0), put("b", 0), put("b", 1))
    assert refuting(history(passing, B_OFF, BACK, NOBODY, initial=ON)) == SERIAL


def test_ranges_are_guards_but_at_repeatable_read_only_what_they_returned() -> None:
    here: Any = {"a": 1, "b": 1}
    a_off = txn(None, scan(Unbounded, Unbounded, here), put("a", 0))
    assert refuting(history(a_off, B_OFF, BACK, NOBODY, initial=ON)) == SERIAL
    fill_a = txn(None, scan(Unbounded, Unbounded, {}), put("a", 1))
    fill_b = txn(None, scan(Unbounded, Unbounded, {}), put("b", 1))
    both = txn(None, get("a", 1), get("b", 1))
    assert refuting(history(fill_a, fill_b, both)) == SERIAL - ITEMS
    looked = txn(None, get("a", Absent), get("b", Absent), put("a", 1))
    assert refuting(history(looked, fill_b, both)) == SERIAL - ITEMS
    by_steps = txn(None, iterator(1), end(1), put("b", 1))
    assert refuting(history(fill_a, by_steps, both)) == SERIAL - ITEMS
    assert refuting(history(fill_a, txn(None, scan("c", Unbounded, {}), put("b", 1)), both)) == set()


def test_what_a_range_did_not_hold_must_have_been_so_once() -> None:
    keep = [
        txn(None, get("a", 1), put("a", 0), put("b", 1)),
        txn(None, get("b", 1), put("a", 1), put("b", 0)),
    ]
    gone = txn(None, scan(Unbounded, Unbounded, {"b": 1}))
    assert (
        refuting(history(*keep, gone, txn(None, delete("a"), outcome="aborted"), initial=ON)) == EVERY - ITEMS
    )
    assert refuting(history(*keep, gone, txn(None, delete("a")), initial=ON)) == set()


def test_types_of_keys_are_apart() -> None:
    """A range with a bound says nothing of keys of another type."""
    rows = [
        txn(None, scan(1, Unbounded, {1: 1, 2: 1}), put(1, 0)),
        txn(None, get(1, 1), get(2, 1), put(2, 0)),
    ]
    nobody = txn(None, get(1, 0), get(2, 0))
    assert refuting(history(*rows, nobody, txn(None, put("1", 0)), initial={1: 1, 2: 1, "1": 1})) == SERIAL
    assert refuting(history(rows[0], txn(None, scan("1", Unbounded, {"1": 1}), put(2, 0)), nobody,
                            initial={1: 1, 2: 1, "1": 1})) == set()  # fmt: skip


def test_marked_reads_are_the_only_guards_at_cursor_stability() -> None:
    marked = txn(None, get("x", 4), by_cursor(get("y", 1)), put("x", 3), put("y", 2), outcome="unknown")
    trace = history(marked, txn(None, get("x", 3)), initial={"x": 1, "y": 1})
    assert refuting(trace) == EVERY - CURSORS
    moved = txn(None, by_cursor(get("x", 4)), put("x", 3), outcome="unknown")
    assert refuting(history(moved, txn(None, get("x", 3)), initial={"x": 1})) == EVERY


# --- what was there at first


def test_an_unknown_initial_value_is_any_value() -> None:
    assert refuting(history(A_OFF, B_OFF, BACK, NOBODY, initial="unknown")) == set()
    looked = txn(None, get("x", 1), get("x", 2))
    makes = [txn(None, put("x", 2)), txn(None, put("x", 1)), txn(None, put("x", 1))]
    trace = history(*makes, looked, initial="unknown")
    assert refuting(trace) == SERIAL | SNAPSHOT
    proof = proof_of(trace)
    assert proof is not None and {(UNNAMED,), (-1,)} < set(proof.states)


def test_what_only_one_in_doubt_saw_does_not_matter_at_first() -> None:
    looked = txn(None, get("x", 1), get("x", 2))
    makes = [txn(None, put("x", 2)), txn(None, put("x", 1)), txn(None, put("x", 1))]
    doubt = txn(None, get("x", 7), outcome="unknown")
    assert refuting(history(*makes, looked, doubt, initial="unknown")) == SERIAL | SNAPSHOT


def test_a_key_that_is_absent_at_first() -> None:
    insert = txn(None, get("x", Absent), put("x", 1))
    only = txn(None, get("x", 1), put("x", 2), outcome="unknown")
    assert refuting(history(insert, only, txn(None, get("x", 2)))) == set()
    assert (
        refuting(
            history(txn(None, get("x", 2), put("x", 1), outcome="unknown"), only, txn(None, get("x", 1)))
        )
        == EVERY
    )


# --- lists


def test_keys_that_hold_lists_are_in_no_group() -> None:
    """Those that are only appended to as well: the verifier would refuse them."""
    doubt: Any = {"outcome": "unknown"}
    rows = [txn(None, *A_OFF.ops, append("l", 5), **doubt), txn(None, *B_OFF.ops, append("l", 6), **doubt)]
    wide = txn(None, *NOBODY.ops, get("z", 1))
    trace = history(*rows, wide, initial={**ON, "z": 1})
    assert refuting(trace) == SERIAL
    assert refuting(history(*rows, wide, txn(None, list_("l", (5,))), initial={**ON, "z": 1})) == SERIAL


# --- bounds, parts and checks


def _doctors(many: int) -> Trace:
    """Each goes off if somebody else is on call; and then nobody is."""
    names = [f"d{i}" for i in range(many)]
    on: Any = dict.fromkeys(names, 1)
    rows = []
    for i, name in enumerate(names):
        other = names[(i + 1) % many]
        rows += [txn(None, get(name, 1), get(other, 1), put(name, 0)), txn(None, put(name, 1))]
    return history(*rows, txn(None, *(get(name, 0) for name in names)), initial=on)


def test_a_group_is_grown_to_what_one_transaction_saw() -> None:
    """Of three doctors, no two keys are enough."""
    proof = proof_of(_doctors(3))
    assert proof is not None and len(proof.keys) == 3 and len(proof.states) == 7
    assert not fault_of_proof(_doctors(3), "serializable", proof)


@pytest.mark.parametrize("bound", ["MOST_STATES", "MOST_KEYS", "MOST_GROUPS", "STEPS"])
def test_bounds_are_kept(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert proof_of(_doctors(3)) is not None
    monkeypatch.setattr(
        states, bound, {"MOST_STATES": 6, "MOST_KEYS": 2, "MOST_GROUPS": 0, "STEPS": 0}[bound]
    )
    monkeypatch.setattr(states, "STEPS_PER_OPERATION", 0 if bound == "STEPS" else 10)
    monkeypatch.setattr(states, "MOST_KEYS_APART", 2)
    assert proof_of(_doctors(3)) is None


def test_more_keys_than_a_group_may_have() -> None:
    assert (proof := proof_of(_doctors(8))) is not None and not proof.apart
    assert (proof := proof_of(_doctors(9))) is not None and proof.apart  # one value of two, or the other
    assert proof_of(_doctors(13)) is None


def test_scans_of_many_keys_leave_steps_for_others() -> None:
    """A key costs what was done with it, not all that was done by those who read it."""
    many: Any = {k: k % 3 for k in range(2_000)}
    rows = [txn(None, scan(0, Unbounded, many), put(i, i % 3)) for i in range(10)]
    proof = proof_of(history(*rows, A_OFF, B_OFF, NOBODY, initial={**many, **ON}))
    assert proof is not None and len(proof.keys) == 2


def test_parts_of_a_trace_are_told_in_the_traces_numbers() -> None:
    trace = history(txn(None, put("0", 1)), A_OFF, B_OFF, NOBODY, initial={"0": 1, **ON})
    asg = build_asg(trace)
    part = asg.restrict(np.arange(1, 4), np.arange(len(asg.read_key)))
    assert part.key_of is not None and part.keys < asg.keys
    proof, _ = unreachable_state(part, find_level("ser"), Limits())
    assert proof is not None and proof.transaction == 3 and [trace.keys[k] for k in proof.keys] == ["a", "b"]
    assert not fault_of_proof(trace, "serializable", proof)


def test_a_check_uses_it_where_values_repeat_and_tells_it_in_a_sentence() -> None:
    rows = [A_OFF, B_OFF, BACK, txn(None, put("b", 1))] * 3
    verdict = check(history(*rows, NOBODY, NOBODY, initial=ON), "ser")
    assert verdict.invalid and verdict.stats["decided by"] == "reachable states"
    assert verdict.stats["key_states"] == 3
    found = verdict.counterexample
    assert found is not None and isinstance(found.core.proof, UnreachableState)
    story = "\n".join(found.lines())
    assert "(and one more) saw 'a' and 'b' both 0, which no serial order can reach" in story
    assert "each of the six transactions that made one of them 0 had seen the other 1" in story
    assert check(history(*rows, initial=ON), "ser").valid


# --- one value, or another


def queue(rng: random.Random, n: int, *, twice: bool) -> Trace:
    """Twelve jobs that wait, run or are done, at most three at a time; if `twice`, two are once started at once."""
    jobs = [f"j{i:02}" for i in range(12)]
    state: dict[str, Any] = dict.fromkeys(jobs, "waiting")
    made: list[Any] = []

    def overview() -> list[Any]:
        return [get(job, state[job]) for job in jobs]

    for _ in range(n):
        running = [job for job in jobs if state[job] == "running"]
        waiting = [job for job in jobs if state[job] == "waiting"]
        if len(running) < 3 and waiting:
            many = 2 if twice and len(running) == 2 else 1
            started = rng.sample(waiting, min(many, len(waiting)))
            made += [txn(None, *overview(), put(job, "running")) for job in started]
            state.update(dict.fromkeys(started, "running"))
        elif running:
            job = rng.choice(running)
            made.append(txn(None, get(job, "running"), put(job, "done")))
            state[job] = "done"
        made.append(txn(None, *overview()))
        if done := [job for job in jobs if state[job] == "done"]:
            job = rng.choice(done)
            made.append(txn(None, get(job, "done"), put(job, "waiting")))
            state[job] = "waiting"
    return history(*made, initial=dict.fromkeys(jobs, "waiting"))


def test_too_many_states_are_looked_at_by_one_value() -> None:
    for seed in range(2):
        proof = proof_of(trace := queue(random.Random(seed), 600, twice=True))
        assert proof is not None and len(proof.apart) == 1 and len(proof.keys) == 12
        assert not fault_of_proof(trace, "serializable", proof)
        assert proof_of(queue(random.Random(seed), 600, twice=False)) is None


def test_one_value_and_the_others_on_random_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """With groups of several keys ruled out, but for those that tell one value apart; brute force agrees."""
    monkeypatch.setattr(states, "MOST_KEYS", 1)
    found = 0
    for seed in range(examples(400)):
        trace = random_together(seed) if seed % 2 else random_repeated(seed)[1]
        asg = build_asg(trace)
        if first_broken(asg) is not None:
            continue
        for level in JOINT:
            proof, _ = unreachable_state(asg, level, Limits())
            if proof is None or not proof.apart:
                continue
            found += 1
            assert not fault_of_proof(trace, level.name, proof), seed
            assert not brute(trace, level.name), f"{seed} at {level.name}"
            core = core_of(asg, level, proof)
            assert not brute_core(trace, level.name, core.transactions, core.reads), f"{seed}: too small"
    assert found > 10


def test_values_that_hardly_come_again_are_not_told_apart() -> None:
    """Of keys with many values each, only a value that came back may be what a rule is about."""

    def written(values: int, again: int) -> list[int]:
        return [*range(values), *[0] * (again - 1)]

    def common(values: int, again: int) -> list[object]:
        trace = history(
            *(
                txn(f"{key}{n}", put(key, value))
                for key in "xyz"
                for n, value in enumerate(written(values, again))
            )
        )
        return [trace.values[value] for value in states._common(build_asg(trace))]

    assert 0 in common(3, 1)  # few values: each may be one
    assert 0 in common(40, 2) and len(common(40, 2)) == 1
    assert common(40, 1) == []

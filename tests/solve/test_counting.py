"""Counting: each trap of design section 11 in a trace of a few lines, the one that is refuted beside its neighbour that
is not. Brute force has the last word on both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.histories import (
    Absent,
    Unbounded,
    append,
    by_cursor,
    delete,
    end,
    failed,
    get,
    history,
    iterator,
    list_,
    put,
    scan,
    step,
    txn,
)
from support.repeated import LAWFUL

from boomslang import check
from boomslang.asg.graph import build_asg, suppose
from boomslang.certify.proof import TooFewVersions
from boomslang.certify.proved import fault_of_proof
from boomslang.explain.rest import Rest
from boomslang.ir.model import IR
from boomslang.levels import find_level
from boomslang.levels.laws import forbids_lost_updates
from boomslang.solve import strategy
from boomslang.solve.brute import brute
from boomslang.solve.counting import too_few_versions
from boomslang.solve.repeated import refute_repeated
from boomslang.solve.solution import Limits, Solution
from boomslang.trace import Trace

EVERY = {level.short for level in LAWFUL}
RANGES = {name for name in EVERY if not name.endswith(("rr", "cs"))}
"""The levels at which keys count that a range was seen not to hold."""
REAL_TIME = {"sser", "strong-session-sser", "strong-si", "pl-fcv"}
CURSORS = {"cs", "strong-session-cs"}


def take(key: Any = "x", seen: Any = 5, left: Any = 4, **more: Any) -> Any:
    """Reads a key and overwrites it."""
    return txn(None, get(key, seen), put(key, left), **more)


def refuting(trace: Trace) -> set[str]:
    """The levels at which counting refutes the trace; brute force and the verifier agree."""
    asg, found = build_asg(trace), set()
    for level in LAWFUL:
        proof = too_few_versions(asg, level)
        if proof is not None:
            assert not fault_of_proof(trace, level.name, proof)
            assert not brute(trace, level.name)
            found.add(level.short)
    return found


def test_the_levels_that_forbid_lost_updates() -> None:
    assert {"ser", "sser", "si", "strong-si", "rr", "cs", "pl-2+", "pl-fcv", "strong-session-pl-2+"} <= EVERY
    for name in ("prefix", "causal", "ra", "rc", "rc-be", "ru", "strong-session-prefix", "strong-session-rc"):
        assert not forbids_lost_updates(find_level(name))
        trace = history(take(), take(), initial={"x": 5})
        assert too_few_versions(build_asg(trace), find_level(name)) is None


def test_two_take_the_same_version() -> None:
    assert refuting(history(take(), take(), initial={"x": 5})) == EVERY
    assert refuting(history(take(), take(), txn(None, put("x", 5)), initial={"x": 5})) == set()
    assert (
        refuting(history(take(), txn(None, get("x", 5)), txn(None, get("x", 5)), initial={"x": 5})) == set()
    )


def test_the_fewest_readers_are_named() -> None:
    trace = history(
        *[take() for _ in range(5)], take("y"), take("y"), txn(None, put("x", 5)), initial={"x": 5, "y": 5}
    )
    proof = too_few_versions(build_asg(trace), find_level("ser"))
    assert proof == TooFewVersions(1, ((5, 10), (6, 12)))


def test_one_in_doubt_is_a_version_and_no_reader() -> None:
    doubt = {"outcome": "unknown"}
    assert refuting(history(take(), take(**doubt), initial={"x": 5})) == set()
    assert refuting(history(take(), take(), txn(None, put("x", 5), **doubt), initial={"x": 5})) == set()
    # A read shows that it committed; it is still left out, which is no error but modest.
    shown = history(take(), take(left=7, **doubt), txn(None, get("x", 7)), initial={"x": 5})
    assert refuting(shown) == set() and not brute(shown, "serializable")


def test_an_aborted_one_is_neither() -> None:
    gone = {"outcome": "aborted"}
    assert refuting(history(take(), take(**gone), initial={"x": 5})) == set()
    assert refuting(history(take(), take(), txn(None, put("x", 5), **gone), initial={"x": 5})) == EVERY


def test_an_intermediate_write_is_no_version() -> None:
    passing = txn(None, put("x", 5), put("x", 6))
    assert refuting(history(take(), take(), passing, initial={"x": 5})) == EVERY
    assert refuting(history(take(), take(), txn(None, put("x", 6), put("x", 5)), initial={"x": 5})) == set()


def test_a_failed_write_is_neither_a_version_nor_an_overwrite() -> None:
    assert refuting(history(take(), take(), txn(None, failed(put("x", 5))), initial={"x": 5})) == EVERY
    assert refuting(history(take(), txn(None, get("x", 5), failed(put("x", 4))), initial={"x": 5})) == set()


def test_a_transaction_counts_once() -> None:
    often = txn(None, get("x", 5), get("x", 5), put("x", 4))
    assert refuting(history(often, initial={"x": 5})) == set()
    assert refuting(history(often, take(), initial={"x": 5})) == EVERY


def test_reads_of_ones_own_writes_do_not_count() -> None:
    own = txn(None, put("x", 5), get("x", 5), put("x", 4))
    assert refuting(history(own, own, take(), initial={"x": 5})) == set()
    open_one = txn(None, iterator(1), put("x", 5), step(1, "x", 5), end(1), put("x", 4))
    assert refuting(history(take(), open_one, initial={"x": 5})) == set()
    # It was opened before the own write, and did not see that: then it saw another's.
    other = txn(None, iterator(1), put("x", 6), step(1, "x", 5), end(1))
    assert refuting(history(take(), other, initial={"x": 5})) == EVERY


def test_who_writes_again_what_it_saw() -> None:
    """Each of the versions is by one who saw it so before: nobody was the first."""
    same = take(left=5)
    assert refuting(history(same, same, initial={"x": 3})) == EVERY
    assert refuting(history(same, same, txn(None, put("x", 5)), initial={"x": 3})) == set()
    assert refuting(history(same, same, initial={"x": 5})) == set()
    assert refuting(history(same, same, initial="unknown")) == set()
    assert refuting(history(same, same, txn(None, put("x", 5), outcome="unknown"))) == set()


def test_an_unknown_initial_value_fits_any_value_once() -> None:
    assert refuting(history(take(), initial="unknown")) == set()
    assert refuting(history(take(), take(), initial="unknown")) == EVERY
    assert refuting(history(take(), take(), txn(None, put("x", 5)), initial="unknown")) == set()
    # One of two values may have been there at first, but not both.
    five, seven = take(seen=5, left=6), take(seen=7, left=6)
    assert refuting(history(five, seven, initial="unknown")) == EVERY
    assert refuting(history(five, seven, txn(None, put("x", 7)), initial="unknown")) == set()
    both = [five, five, seven, seven, txn(None, put("x", 5)), txn(None, put("x", 7))]
    proof = refuting_only(history(*both, initial="unknown"), "ser")
    assert proof is not None and [t for t, _ in proof.readers] == [0, 1, 2, 3]
    assert refuting_only(history(*both[1:], initial="unknown"), "ser") is None
    # Two keys have an initial value each.
    two = [take("x"), take("y"), take("x"), take("y"), txn(None, put("x", 5)), txn(None, put("y", 5))]
    assert refuting_only(history(*two, initial="unknown"), "ser") is None


def refuting_only(trace: Trace, level: str) -> TooFewVersions | None:
    """For traces that are too large for brute force."""
    proof = too_few_versions(build_asg(trace), find_level(level))
    assert proof is None or not fault_of_proof(trace, find_level(level).name, proof)
    return proof


def test_the_same_initial_value_in_two_keys_is_two_versions() -> None:
    assert refuting(history(take("x"), take("y"), initial={"x": 5, "y": 5})) == set()
    # 1, 1.0 and true are different values, and different keys.
    rows = [take("x", 1, 2), take("x", 1.0, 2), take("x", True, 2)]
    alike = history(*rows, txn(None, put("x", 1)), txn(None, put("x", 1.0)), initial={"x": True})
    assert refuting(alike) == set()
    assert refuting(history(take(1), take("1"), take(1), initial={1: 5, "1": 5})) == EVERY


def test_absent_is_a_value_like_any() -> None:
    insert = take(seen=Absent)
    assert refuting(history(insert, insert)) == EVERY
    assert refuting(history(insert, insert, txn(None, delete("x")))) == set()
    assert refuting(history(insert, insert, txn(None, delete("x", False)))) == EVERY  # that deleted nothing


def test_a_delete_that_found_something_takes_any_version_there_was() -> None:
    gone = txn(None, delete("x", True))
    assert refuting(history(gone, gone, initial={"x": 5})) == EVERY
    assert refuting(history(gone, gone, txn(None, put("x", 3)), initial={"x": 5})) == set()
    assert refuting(history(gone, take(), initial={"x": 5})) == set()  # it may have found what the other left
    assert refuting(history(gone, gone, txn(None, delete("x")), initial="unknown")) == EVERY
    assert (
        refuting(history(gone, txn(None, delete("x")), initial={"x": 5})) == set()
    )  # nobody said what that found
    assert refuting(history(gone, txn(None, delete("x", False)), initial={"x": 5})) == set()


def test_a_delete_and_those_who_took_what_was_there() -> None:
    gone, away = txn(None, delete("x", True)), txn(None, get("x", 5), delete("x"))
    assert refuting(history(gone, away, initial={"x": 5})) == EVERY
    assert refuting(history(gone, away, txn(None, put("x", 5)), initial={"x": 5})) == set()
    assert refuting(history(gone, away, initial="unknown")) == EVERY
    assert refuting(history(gone, txn(None, get("x", Absent), put("x", 5)), away)) == EVERY
    assert refuting(history(gone, txn(None, get("x", Absent), put("x", 5)))) == set()


def test_keys_that_a_range_did_not_return() -> None:
    fill = txn(None, scan(Unbounded, Unbounded, {}), put("x", 5))
    assert refuting(history(fill, fill)) == RANGES
    assert refuting(history(fill, fill, txn(None, delete("x")))) == set()
    by_steps = txn(None, iterator(1), end(1), put("x", 5))
    assert refuting(history(fill, by_steps)) == RANGES
    elsewhere = txn(None, scan("y", "z", {}), put("x", 5))
    assert refuting(history(fill, elsewhere)) == set()


def test_keys_that_a_range_returned_are_items() -> None:
    found = txn(None, scan(Unbounded, Unbounded, {"x": 5}), put("x", 4))
    assert refuting(history(found, found, initial={"x": 5})) == EVERY
    by_steps = txn(None, iterator(1), step(1, "x", 5), put("x", 4))
    assert refuting(history(found, by_steps, initial={"x": 5})) == EVERY


def test_at_cursor_stability_only_marked_reads_count_if_some_are() -> None:
    moved = txn(None, by_cursor(get("x", 5)), put("x", 4))
    assert refuting(history(moved, moved, initial={"x": 5})) == EVERY
    assert refuting(history(moved, take(), initial={"x": 5})) == EVERY - CURSORS
    elsewhere = txn(None, by_cursor(get("y", Absent)))
    assert refuting(history(take(), take(), elsewhere, initial={"x": 5})) == EVERY - CURSORS
    second = txn(None, get("x", 3), by_cursor(get("x", 5)), put("x", 4))
    assert refuting(history(second, moved, txn(None, put("x", 3)), initial={"x": 5})) >= CURSORS


def test_keys_that_hold_lists_are_left_to_others() -> None:
    rows = [txn(None, list_("l", ()), append("l", 1)), txn(None, list_("l", ()), append("l", 2))]
    assert refuting(history(*rows)) == set()
    assert refuting(history(*rows, take(), take(), initial={"x": 5})) == EVERY


# --- real time


def at(begin: int, returned: int, *ops: Any, **more: Any) -> Any:
    return txn(None, *ops, time=(begin, returned), **more)


OPS = (get("x", 5), put("x", 4))


def test_a_version_that_had_not_begun_cannot_have_been_read() -> None:
    early = [at(0, 1, *OPS), at(0, 2, *OPS)]
    assert refuting(history(*early, at(3, 4, put("x", 5)), initial={"x": 5})) == REAL_TIME
    assert refuting(history(*early, at(2, 4, put("x", 5)), initial={"x": 5})) == set()
    assert refuting(history(at(0, 1, *OPS), at(0, 5, *OPS), at(3, 4, put("x", 5)), initial={"x": 5})) == set()


def test_time_says_nothing_of_the_end_of_one_in_doubt_but_of_its_begin() -> None:
    early = [at(0, 1, *OPS), at(0, 2, *OPS)]
    doubt = at(3, 4, put("x", 5), outcome="unknown")
    assert refuting(history(*early, doubt, initial={"x": 5})) == REAL_TIME


def test_clocks_are_not_compared() -> None:
    rows = [at(0, 1, *OPS, clock="a"), at(0, 2, *OPS, clock="a"), at(3, 4, put("x", 5), clock="b")]
    assert refuting(history(*rows, initial={"x": 5})) == set()
    rows = [at(0, 1, *OPS, clock="a"), at(0, 2, *OPS, clock="b"), at(3, 4, put("x", 5), clock="a")]
    assert refuting(history(*rows, initial={"x": 5})) == set()
    rows = [at(0, 1, *OPS, clock="b"), at(0, 2, *OPS, clock="b"), at(3, 4, put("x", 5), clock="b")]
    assert refuting(history(*rows, txn(None, clock="a"), initial={"x": 5})) == REAL_TIME


@pytest.mark.parametrize("lost", ["txn_begin", "txn_end"])
def test_what_has_no_time_is_never_too_late(lost: str) -> None:
    trace = history(at(0, 1, *OPS), at(0, 2, *OPS), at(3, 4, put("x", 5)), initial={"x": 5})
    assert refuting(trace) == REAL_TIME
    column = getattr(trace, lost).copy()
    column[2 if lost == "txn_begin" else 1] = -(2**63)
    assert refuting(replace(trace, **{lost: column})) == set()


def test_the_first_moment_is_told_and_all_versions_after_it() -> None:
    rows = [at(i, i + 1, *OPS) for i in range(6)]
    rows += [at(0, 9, put("x", 5)), *(at(20 + i, 30, put("x", 5)) for i in range(5))]
    trace = history(*rows, take("y", 5), take("y", 5), txn(None, put("y", 5)), initial={"x": 5, "y": 5})
    proof = refuting_only(trace, "sser")
    readers = [t for t, _ in proof.readers] if proof else []
    assert proof is not None and readers == [0, 1, 2]
    assert [trace.txn_begin[t] for t in proof.later] == [20, 21, 22, 23, 24]
    assert refuting_only(trace, "ser") is None


def test_slack_lets_more_time_pass() -> None:
    trace = history(at(0, 1, *OPS), at(0, 2, *OPS), at(7, 8, put("x", 5)), initial={"x": 5})
    strict, asg = find_level("sser"), build_asg(trace)
    for slack, refuted in ((0, True), (4, True), (5, False), (2**62, False), (2**63, False), (10**40, False)):
        assert (too_few_versions(asg, replace(strict, slack=slack)) is not None) == refuted, slack


def test_what_was_taken_out_of_a_trace_has_no_time() -> None:
    trace = history(at(0, 1, *OPS), at(0, 2, *OPS), at(3, 4, put("x", 5)), initial={"x": 5})
    asg, none = build_asg(trace), np.zeros(0, np.int64)
    assert too_few_versions(asg, find_level("sser")) is not None
    rest = Rest(asg)
    rest.take_out(none, none, np.array([2]))
    assert too_few_versions(rest.asg, find_level("sser")) is None
    part = asg.restrict(np.array([0, 1]), np.arange(len(asg.read_key)))
    assert too_few_versions(part, find_level("sser")) is None


def test_parts_of_a_trace_are_counted_in_the_traces_numbers() -> None:
    trace = history(take("a"), txn(None, put("b", 1)), take("x"), take("x"), initial={"a": 5, "b": 5, "x": 5})
    asg = build_asg(trace)
    part = asg.restrict(np.array([2, 3]), np.flatnonzero(asg.read_key == 2))
    assert part.key_of is not None
    proof = too_few_versions(part, find_level("ser"))
    assert proof == too_few_versions(asg, find_level("ser")) == TooFewVersions(2, ((2, 3), (3, 5)))


def test_supposing_that_one_in_doubt_committed_changes_nothing() -> None:
    trace = history(take(), take(outcome="unknown"), initial={"x": 5})
    asg = suppose(build_asg(trace), [1], committed=True)
    assert too_few_versions(asg, find_level("ser")) is None


# --- in a check


def test_a_check_uses_it_where_values_repeat_and_tells_it_in_a_sentence() -> None:
    rows = [take(left=4) for _ in range(8)] + [take(seen=4, left=5) for _ in range(6)]
    verdict = check(history(*rows, initial={"x": 5}), "si")
    assert verdict.invalid and verdict.stats["decided by"] == "counting"
    found = verdict.counterexample
    assert found is not None and isinstance(found.core.proof, TooFewVersions)
    assert "'x' was 5 only seven times, its first value included, and eight transactions" in "\n".join(
        found.lines()
    )
    assert check(history(*rows[1:], initial={"x": 5}), "si").valid


def test_with_modules_neither_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a module splits, weakens or reads anew is not what was counted."""
    trace = history(take(), take(), take(), txn(None, put("x", 5)), initial={"x": 5})
    asked = []

    def refute(ir: IR, limits: Limits, looked_at: dict[str, int]) -> Solution | None:
        asked.append(ir)
        return refute_repeated(ir, limits, looked_at)

    monkeypatch.setattr(strategy, "refute_repeated", refute)
    # At MariaDB's repeatable read, a plain read and a write of one transaction see two states.
    assert check(trace, "ser", modules=["mariadb-repeatable-read"]).valid and not asked
    for module in ("session-order", "read-own-writes:policy=either", "mixed-isolation"):
        assert check(trace, "ser", modules=[module]).invalid
        # Whose fault it is was asked without the module, of the trace as it is.
        assert all(not ir.asg.modules for ir in asked)
    asked.clear()
    assert check(trace, "ser").invalid and asked


def test_what_a_count_shows_is_no_modules_fault() -> None:
    """And it is told as the count it is: a search would take for ever to refute it again."""
    rows = [take(left=4) for _ in range(18)] + [take(seen=4, left=5) for _ in range(16)]
    rows += [txn("s", put("y", 1)), txn("s", get("y", Absent))]
    verdict = check(history(*rows, initial={"x": 5}), "ser", modules=["session-order"])
    assert verdict.invalid and verdict.broken_by == () and verdict.rests_on == ()
    found = verdict.counterexample
    assert found is not None and isinstance(found.core.proof, TooFewVersions)

"""Laws: what must not change a verdict, what can change it in one direction only, which level implies which.

A law needs no oracle: whatever the right verdict of a trace is, that of the same trace with other names is
the same (Chen et al., "Metamorphic testing: a review of challenges and opportunities", ACM Computing Surveys
51, 2018). So these tests also see what an error shared by all the solvers would hide.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from anomalies import CASES
from fuzz import again, told
from histories import Absent, Op, Txn, Unbounded, end, failed, get, history, iterator, put, scan, step, txn
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DEFAULT, Mix, generate, traces

from boomslang import Checker
from boomslang.asg import build_asg
from boomslang.explain.core import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, Level, find_level, implies, maximal, minimal
from boomslang.solve.brute import brute
from boomslang.solve.strategy import solve
from boomslang.trace import Trace, typed

RNG = st.randoms(use_true_random=False)
BASES = [level for level in LEVELS if not (level.needs_sessions or level.needs_times)]


def verdicts(trace: Trace) -> dict[str, bool]:
    """level -> does it hold?"""
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return dict.fromkeys((level.name for level in LEVELS), False)
    found = {level.name: solve(lower(asg, level)).status for level in LEVELS}
    assert "unknown" not in found.values()
    return {name: status == "valid" for name, status in found.items()}


# --- telling a trace again, with changes ------------------------------------------------------------------


def with_ops(t: Txn, change: Callable[[Op], Iterable[Op]]) -> Txn:
    return replace(t, ops=tuple(new for op in t.ops for new in change(op)))


Renaming = Callable[[Any], Any]


def renamed(trace: Trace, key: Renaming = lambda k: k, value: Renaming = lambda v: v) -> Trace:
    def bound(k: Any) -> Any:
        return k if k is Unbounded else key(k)

    def operation(op: Op) -> Iterable[Op]:
        items = tuple((key(k), value(v)) for k, v in op.items)
        new_key = key(op.key) if op.kind in ("put", "get", "delete", "next") and not op.end else op.key
        new_value = (
            value(op.value) if op.kind in ("put", "get", "next") and op.value is not Absent else op.value
        )
        if op.failed:
            new_key, new_value = op.key, op.value
        yield replace(op, key=new_key, value=new_value, low=bound(op.low), high=bound(op.high), items=items)

    txns = [with_ops(t, operation) for t in told(trace)]
    return again(trace, txns, {key(k): value(v) for k, v in trace.initial()})


def same(one: Trace, two: Trace) -> None:
    assert verdicts(one) == verdicts(two)


def weaker(strong: Trace, weak: Trace, among: Iterable[Level] = LEVELS) -> None:
    """Whatever holds of the one holds of the other."""
    before, after = verdicts(strong), verdicts(weak)
    assert [x.name for x in among if before[x.name] and not after[x.name]] == []


@settings(max_examples=100)
@given(traces())
def test_a_trace_told_again_is_the_same(trace: Trace) -> None:
    same(trace, again(trace, told(trace)))


# --- the lattice ------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(traces())
def test_stronger_levels_imply_weaker_ones(trace: Trace) -> None:
    holds = verdicts(trace)
    for a, b in product(LEVELS, LEVELS):
        if implies(a, b) and holds[a.name]:
            assert holds[b.name], f"{a.name} holds and {b.name} does not"


def test_the_lattice_is_the_one_of_the_literature() -> None:
    chains = [
        "sser ser si rc", "ser rr rc", "strong-si si", "sser strong-si", "strong-session-sser sser",
        "strong-session-ser ser", "strong-session-si si", "strong-session-rr rr", "strong-session-rc rc",
        "strong-session-sser strong-session-ser strong-session-si strong-session-rc",
        "strong-session-ser strong-session-rr strong-session-rc",
    ]  # fmt: skip
    for chain in chains:
        names = chain.split()
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                assert implies(find_level(a), find_level(b)), (a, b)
                assert not implies(find_level(b), find_level(a)), (b, a)
    apart = [
        "si rr", "rr si", "strong-si ser", "strong-si strong-session-si", "strong-session-si strong-si",
        "sser strong-session-rc", "rr strong-session-rc", "strong-session-ser strong-si",
    ]  # fmt: skip
    for a, b in map(str.split, apart):
        assert not implies(find_level(a), find_level(b)), (a, b)


def forgetful_session() -> Trace:
    """A session that forgets its own past, which its clock is too coarse to show."""
    return history(txn("A", put("x", 1), time=(0, 10)), txn("A", get("x", Absent), time=(10, 20)))


def prescient_session() -> Trace:
    """A session that reads its own future, and again the clock cannot tell."""
    return history(txn("A", get("x", 1), time=(0, 10)), txn("A", put("x", 1), time=(10, 20)))


def stale_read() -> Trace:
    return history(txn("A", put("x", 1), time=(0, 10)), txn("B", get("x", Absent), time=(20, 30)))


@pytest.mark.parametrize("a", LEVELS, ids=lambda level: level.short)
def test_no_arrow_is_missing(a: Level) -> None:
    """Where the lattice says that `a` does not imply `b`, some trace satisfies `a` and not `b`."""
    examples = [case.build() for case in CASES] + [forgetful_session(), prescient_session(), stale_read()]
    left = [b for b in LEVELS if not implies(a, b)]
    for trace in examples:
        if left and brute(trace, a.name):
            left = [b for b in left if brute(trace, b.name)]
    assert [b.name for b in left] == []


# --- names ------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(traces(), RNG)
def test_names_of_sessions_do_not_matter(trace: Trace, rng: random.Random) -> None:
    names = [f"client {i}" for i in range(len(trace.sessions))]
    rng.shuffle(names)
    new = dict(zip(trace.sessions, names, strict=True))
    same(trace, again(trace, [replace(t, session=new[t.session or ""]) for t in told(trace)]))


@settings(max_examples=100)
@given(traces(), RNG)
def test_names_of_values_do_not_matter(trace: Trace, rng: random.Random) -> None:
    new: dict[object, Any] = {}

    def value(old: Any) -> Any:
        return new.setdefault(
            typed(old), rng.choice([len(new), f"v{len(new)}", bytes([len(new)]), float(len(new))])
        )

    same(trace, renamed(trace, value=value))


@settings(max_examples=100)
@given(traces())
def test_names_of_keys_do_not_matter_as_long_as_their_order_stays(trace: Trace) -> None:
    same(trace, renamed(trace, key=lambda k: f"key {k}" if isinstance(k, str) else 7 * k - 1000))


@settings(max_examples=100)
@given(traces(Mix(ranges=False)), RNG)
def test_without_ranges_not_even_the_order_of_keys_matters(trace: Trace, rng: random.Random) -> None:
    new = {typed(trace.keys[k]): k for k in range(len(trace.keys))}
    numbers = rng.sample(range(1000), len(new))
    same(trace, renamed(trace, key=lambda k: numbers[new[typed(k)]]))


@settings(max_examples=100)
@given(traces(), RNG)
def test_the_order_of_the_log_does_not_matter_between_sessions(trace: Trace, rng: random.Random) -> None:
    rest = told(trace)
    mixed = []
    while rest:
        t = rng.choice(rest)
        first = next(x for x in rest if x.session == t.session)
        rest.remove(first)
        mixed.append(first)
    same(trace, again(trace, mixed))


# --- what says nothing ------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(traces(), RNG, st.sampled_from(["committed", "aborted", "unknown"]), st.booleans())
def test_a_transaction_that_does_nothing_changes_nothing(
    trace: Trace, rng: random.Random, outcome: str, timed: bool
) -> None:
    txns = told(trace)
    i = rng.randint(0, len(txns))
    if timed and txns:  # in a session of its own, for its times would tie its session to others
        begin = rng.randint(0, 20)
        empty = txn("another", outcome=outcome, time=(begin, begin + rng.randint(0, 9)), clock=txns[0].clock)
    else:
        session = rng.choice([None, *(t.session for t in txns)])
        empty = replace(txn(session, outcome=outcome), clock=txns[0].clock if txns else "")
    same(trace, again(trace, [*txns[:i], empty, *txns[i:]]))


FRESH = ("nobody else writes this", "nor this")


@settings(max_examples=100)
@given(traces(), RNG, st.sampled_from(["aborted", "unknown"]))
def test_what_may_not_have_happened_and_nobody_saw_changes_nothing(
    trace: Trace, rng: random.Random, outcome: str
) -> None:
    txns = told(trace)
    key = rng.choice([trace.keys[k] for k in range(len(trace.keys))] or ["x"])
    ops = rng.sample([put(key, FRESH[0]), get(key, 1), put(key, FRESH[1]), failed(put(key, 1))], 4)
    i = rng.randint(0, len(txns))
    clock = txns[0].clock if txns else ""
    extra = replace(txn(rng.choice([None, "s0", "another"]), *ops, outcome=outcome), clock=clock)
    same(trace, again(trace, [*txns[:i], extra, *txns[i:]]))


@settings(max_examples=100)
@given(traces(), RNG)
def test_an_aborted_transaction_may_have_done_anything(trace: Trace, rng: random.Random) -> None:
    """Provided that none of its values was written by anybody else: else it would excuse a read of them."""
    txns = told(trace)
    aborted = [i for i, t in enumerate(txns) if t.outcome == "aborted"]
    if aborted:
        i = rng.choice(aborted)
        nonsense = with_ops(txns[i], lambda op: [op, get("x", 77)] if op.kind == "get" else [op])
        same(trace, again(trace, [*txns[:i], nonsense, *txns[i + 1 :]]))


def harmless(trace: Trace, change: Callable[[Op], Iterable[Op]], where: Callable[[Txn], bool] = bool) -> None:
    same(trace, again(trace, [with_ops(t, change) if where(t) else t for t in told(trace)]))


@settings(max_examples=100)
@given(traces())
def test_looking_twice_is_looking_once(trace: Trace) -> None:
    harmless(trace, lambda op: [op, op] if op.kind in ("get", "scan") else [op])


@settings(max_examples=100)
@given(traces())
def test_failed_operations_say_nothing(trace: Trace) -> None:
    harmless(trace, lambda op: [op, failed(op)] if op.kind in ("put", "get", "delete") else [op])
    harmless(trace, lambda op: [] if op.failed and op.kind != "commit" else [op])


@settings(max_examples=100)
@given(traces())
def test_a_scan_is_an_iterator_that_went_to_its_end(trace: Trace) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind != "scan" or op.failed:
            return [op]
        number = 1000 + id(op)
        return [iterator(number, op.low, op.high), *(step(number, k, v) for k, v in op.items), end(number)]

    harmless(trace, change)


@settings(max_examples=100)
@given(traces())
def test_a_scan_is_two_scans_of_its_halves(trace: Trace) -> None:
    ordered = sorted((trace.keys[k] for k in range(len(trace.keys))), key=lambda k: (isinstance(k, str), k))

    def change(op: Op) -> Iterable[Op]:
        alike = [k for k in ordered if type(k) is type(op.low if op.low is not Unbounded else op.high)]
        inside = [
            k for k in alike if (op.low is Unbounded or k >= op.low) and (op.high is Unbounded or k < op.high)
        ]
        if op.kind != "scan" or op.failed or not inside:
            return [op]
        middle = inside[len(inside) // 2]
        low, high = {k: v for k, v in op.items if k < middle}, {k: v for k, v in op.items if k >= middle}
        return [scan(op.low, middle, low), scan(middle, op.high, high)]

    harmless(trace, change)


@settings(max_examples=100)
@given(traces())
def test_a_get_is_a_scan_of_one_key_unless_phantoms_are_allowed(trace: Trace) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind != "get" or op.failed:
            return [op]
        after = op.key + "\0" if isinstance(op.key, str) else op.key + 1
        return [scan(op.key, after, {} if op.value is Absent else {op.key: op.value})]

    other = again(trace, [with_ops(t, change) for t in told(trace)])
    before, after = verdicts(trace), verdicts(other)
    for level in LEVELS:
        if level.items_see_last == level.predicates_see_last:
            assert before[level.name] == after[level.name], level.name
        else:  # repeatable read: absent keys of a scan are seen less sharply
            assert after[level.name] or not before[level.name], level.name


# --- what can only make it better -------------------------------------------------------------------------


@settings(max_examples=200)
@given(traces(), RNG)
def test_forgetting_a_read_breaks_nothing(trace: Trace, rng: random.Random) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind in ("get", "scan") and rng.random() < 0.3:
            return []
        if op.kind == "delete" and op.found and rng.random() < 0.3:
            return [replace(op, found=None)]
        return [op]

    weaker(trace, again(trace, [with_ops(t, change) for t in told(trace)]))


@settings(max_examples=200)
@given(traces(), RNG)
def test_forgetting_sessions_and_times_breaks_nothing(trace: Trace, rng: random.Random) -> None:
    def forget(i: int, t: Txn) -> Txn:
        what = rng.choice(["session", "time", "clock", "nothing"])
        if what == "session":
            return replace(t, session=rng.choice([None, f"alone {i}"]))
        if what == "time":
            return replace(t, begin=None, end=None)
        return replace(t, clock=f"clock {i}") if what == "clock" else t

    weaker(trace, again(trace, [forget(i, t) for i, t in enumerate(told(trace))]))


@settings(max_examples=200)
@given(traces(), RNG)
def test_forgetting_an_outcome_breaks_nothing(trace: Trace, rng: random.Random) -> None:
    """A transaction that is known to have committed, or to have aborted, is in no more traces that are valid
    than one of which nothing is known."""
    txns = [replace(t, outcome="unknown") if rng.random() < 0.5 else t for t in told(trace)]
    weaker(trace, again(trace, txns))


@settings(max_examples=200)
@given(traces(replace(DEFAULT, transactions=(1, 4))), RNG)
def test_an_unknown_transaction_committed_or_it_did_not(trace: Trace, rng: random.Random) -> None:
    """At levels without sessions and times a transaction in doubt is exactly the better of its two
    possibilities; with them it may be better than either, for its end is no return."""
    txns = told(trace)
    if not txns:
        return
    i = rng.randrange(len(txns))
    by_outcome = {}
    for outcome in ("committed", "aborted", "unknown"):
        changed = [*txns[:i], replace(txns[i], outcome=outcome), *txns[i + 1 :]]
        by_outcome[outcome] = verdicts(again(trace, changed))
    for level in LEVELS:
        yes, no, doubt = (by_outcome[o][level.name] for o in ("committed", "aborted", "unknown"))
        assert doubt or not (yes or no), level.name
        if level in BASES:
            assert doubt == (yes or no), level.name


@settings(max_examples=200)
@given(traces(replace(DEFAULT, initial=("given", "empty"))))
def test_an_unknown_initial_state_may_have_been_the_one_it_was(trace: Trace) -> None:
    weaker(trace, history(*told(trace), initial="unknown"))


@settings(max_examples=100)
@given(traces(replace(DEFAULT, initial=("given", "empty"))))
def test_an_initial_state_is_a_transaction_before_all_others(trace: Trace) -> None:
    """Loaded by one that returned before all began: levels with real time cannot tell. Those that do not know
    of the order may place it elsewhere."""
    txns = [replace(t, clock="one", begin=1 + (t.begin or 0), end=1 + (t.end or 0)) for t in told(trace)]
    known = history(*txns, initial=dict(trace.initial()))
    loader = txn("loader", *(put(k, v) for k, v in trace.initial()), time=(-1, 0), clock="one")
    loaded = history(loader, *txns)
    before, after = verdicts(known), verdicts(loaded)
    for level in LEVELS:
        assert after[level.name] or not before[level.name], level.name
        if level.needs_times:
            assert before[level.name] == after[level.name], level.name


# --- what sessions and times add --------------------------------------------------------------------------


@settings(max_examples=100)
@given(traces())
def test_sessions_of_one_transaction_add_nothing(trace: Trace) -> None:
    holds = verdicts(again(trace, [replace(t, session=f"alone {i}") for i, t in enumerate(told(trace))]))
    for level in LEVELS:
        if level.needs_sessions:
            assert holds[level.name] == holds[level.name.removeprefix("strong-session-")], level.name


@settings(max_examples=100)
@given(traces())
def test_without_times_strict_is_serializable(trace: Trace) -> None:
    holds = verdicts(again(trace, [replace(t, begin=None, end=None) for t in told(trace)]))
    assert holds["strict-serializable"] == holds["serializable"]
    assert holds["strong-session-strict-serializable"] == holds["strong-session-serializable"]
    assert holds["strong-snapshot-isolation"] == holds["snapshot-isolation"]


@settings(max_examples=100)
@given(traces(replace(DEFAULT, unknown=False)))
def test_one_after_the_other_in_one_session_or_in_time_is_one_after_the_other(trace: Trace) -> None:
    """If the order of all transactions is known, there is one snapshot and one serial order to try."""
    txns = [replace(t, outcome="committed" if t.outcome == "unknown" else t.outcome) for t in told(trace)]
    in_line = [replace(t, session="one", begin=10 * i, end=10 * i + 5, clock="") for i, t in enumerate(txns)]
    holds = verdicts(again(trace, in_line))
    assert (
        holds["strong-session-serializable"]
        == holds["strong-session-snapshot-isolation"]
        == holds["strict-serializable"]
        == holds["strong-snapshot-isolation"]
        == holds["strong-session-strict-serializable"]
    )
    if not any(op.kind in ("scan", "iterator") for t in txns for op in t.ops):
        assert holds["strong-session-repeatable-read"] == holds["strict-serializable"]


# --- two databases ----------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.integers(0, 2**32), RNG)
def test_two_databases_side_by_side_are_valid_if_both_are(one: int, two: int, rng: random.Random) -> None:
    """No key, session or clock in common: neither knows of the other."""
    mix = replace(DEFAULT, ranges=False, initial=("given", "empty"), times=("one clock",))
    left, right = (generate(random.Random(seed), mix) for seed in (one, two))
    right = renamed(right, key=lambda k: f"right {k}")
    here = [replace(t, clock="left") for t in told(left)]
    there = [replace(t, clock="right", session=f"right {t.session}") for t in told(right)]
    both: list[Txn] = []
    while here or there:
        both.append((here if here and (not there or rng.random() < 0.5) else there).pop(0))
    together = history(*both, initial=dict(left.initial()) | dict(right.initial()))
    a, b, ab = verdicts(left), verdicts(right), verdicts(together)
    assert ab == {name: a[name] and b[name] for name in a}


# --- the strongest levels that hold -----------------------------------------------------------------------


@settings(max_examples=100)
@given(traces())
def test_strongest_says_what_each_level_says(trace: Trace) -> None:
    checker = Checker(trace)
    found = checker.strongest()
    for name, verdict in found.items():
        assert verdict.status == checker.check(name).status != "unknown"
        assert verdict.invalid or verdict.witness is not None or verdict.reason.startswith("implied by ")
    held = [v.level for v in found.values() if v.valid]
    broken = [v.level for v in found.values() if v.invalid]
    for a in maximal(held):
        assert not any(implies(b, a) for b in held if b is not a)
    for b in minimal(broken):
        assert not any(implies(b, a) for a in broken if a is not b)
    assert not any(implies(a, b) for a in held for b in broken)

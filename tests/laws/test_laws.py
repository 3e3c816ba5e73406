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
from fuzz.traces import again, told
from hypothesis import given, settings
from hypothesis import strategies as st
from support.anomalies import CASES
from support.effort import examples
from support.histories import Absent, Op, Txn, Unbounded, end, failed, get, history, iterator, put, scan, txn
from support.histories import step as next_
from support.strategies import DEFAULT, Mix, generate, traces

from boomslang import Checker, Verdict
from boomslang.asg import build_asg
from boomslang.certify.certificate import Witness
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, Level, find_level, implies, maximal, minimal
from boomslang.solve.strategy import solve
from boomslang.solve.uncommitted import check_appends
from boomslang.trace import Trace, typed
from boomslang.verdict import vacuous

RNG = st.randoms(use_true_random=False)
BASES = [level for level in LEVELS if not (level.needs_sessions or level.needs_times)]


LISTS = replace(DEFAULT, lists=0.7, ranges=False, operations=(1, 4))
STEP = [3]  # at every how manyeth level a law is looked at


@pytest.fixture(
    params=[3, pytest.param(1, marks=pytest.mark.full)],
    ids=["a third of the levels", "all levels"],
    autouse=True,
    scope="module",
)
def step(request: pytest.FixtureRequest) -> None:
    """A law is looked at for a third of the levels on each trace, another third on the next one."""
    STEP[0] = request.param


def some(trace: Trace) -> tuple[Level, ...]:
    return LEVELS[len(trace.op_kind) % STEP[0] :: STEP[0]]


def verdicts(trace: Trace, levels: Iterable[Level] = LEVELS) -> dict[str, bool]:
    """level -> does it hold?"""
    asg = build_asg(trace)
    broken = first_broken(asg) is not None

    def holds(level: Level) -> bool:
        if not level.observes:
            return isinstance(check_appends(trace, level), Witness)
        if broken:
            return False
        status = solve(lower(asg, level)).status
        assert status != "unknown"
        return status == "valid"

    return {level.name: holds(level) for level in levels}


def named(trace: Trace, *names: str) -> dict[str, bool]:
    """The verdicts at these levels, under the names they are asked by."""
    found = verdicts(trace, [find_level(name) for name in names])
    return {name: found[find_level(name).name] for name in names}


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
    levels = some(one)
    assert verdicts(one, levels) == verdicts(two, levels)


def weaker(strong: Trace, weak: Trace) -> None:
    """Whatever holds of the one holds of the other."""
    levels = some(strong)
    before, after = verdicts(strong, levels), verdicts(weak, levels)
    assert [x.name for x in levels if before[x.name] and not after[x.name]] == []


def in_steps(whole: Trace, steps: Trace) -> None:
    """What was one operation is several. Only a level for which it matters what was read earlier in a transaction can
    tell, and to it the steps say more."""
    levels = some(whole)
    before, after = verdicts(whole, levels), verdicts(steps, levels)
    for level in levels:
        if level.once is not None and level.once.earlier:
            assert before[level.name] or not after[level.name], level.name
        else:
            assert before[level.name] == after[level.name], level.name


@settings(max_examples=examples(100))
@given(traces())
def test_a_trace_told_again_is_the_same(trace: Trace) -> None:
    same(trace, again(trace, told(trace)))


# --- the lattice ------------------------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(st.one_of(traces(), traces(), traces(LISTS)))
def test_stronger_levels_imply_weaker_ones(trace: Trace) -> None:
    """Every pair of levels, on every trace."""
    holds = verdicts(trace)
    for a, b in product(LEVELS, LEVELS):
        if implies(a, b) and holds[a.name]:
            assert holds[b.name], f"{a.name} holds and {b.name} does not"


def test_the_lattice_is_the_one_of_the_literature() -> None:
    chains = [
        "sser ser si rc", "ser rr rc", "strong-si si", "sser strong-si", "strong-session-sser sser",
        "strong-session-ser ser", "strong-session-si si", "strong-session-rr rr", "strong-session-rc rc",
        "strong-session-sser strong-session-ser strong-session-si strong-session-rc",
        "strong-session-ser strong-session-rr strong-session-rc", "rc ru", "si pl-2+ causal ra rc", "si prefix causal",
        "pl-2+ cs rc", "rr cs", "strong-si pl-fcv pl-2+", "sser pl-fcv", "strong-session-ra rc-be strong-session-rc",
    ]  # fmt: skip
    for chain in chains:
        names = chain.split()
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                assert implies(find_level(a), find_level(b)), (a, b)
                assert not implies(find_level(b), find_level(a)), (b, a)
    apart = [
        "si rr", "rr si", "strong-si ser", "strong-si strong-session-si", "strong-session-si strong-si",
        "sser strong-session-rc", "rr strong-session-rc", "strong-session-ser strong-si", "ser pl-fcv", "si pl-fcv",
        "rr ra", "ra cs", "cs ra", "prefix cs", "prefix pl-2+", "pl-2+ prefix", "ser rc-be", "rc-be ra",
    ]  # fmt: skip
    for a, b in map(str.split, apart):
        assert not implies(find_level(a), find_level(b)), (a, b)


# That no other arrow holds is shown by test_levels_apart.py.


# --- names ------------------------------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(traces(), RNG)
def test_names_of_sessions_do_not_matter(trace: Trace, rng: random.Random) -> None:
    names = [f"client {i}" for i in range(len(trace.sessions))]
    rng.shuffle(names)
    new = dict(zip(trace.sessions, names, strict=True))
    same(trace, again(trace, [replace(t, session=new[t.session or ""]) for t in told(trace)]))


@settings(max_examples=examples(100))
@given(traces(), RNG)
def test_names_of_values_do_not_matter(trace: Trace, rng: random.Random) -> None:
    new: dict[object, Any] = {}

    def value(old: Any) -> Any:
        return new.setdefault(
            typed(old), rng.choice([len(new), f"v{len(new)}", bytes([len(new)]), float(len(new))])
        )

    same(trace, renamed(trace, value=value))


@settings(max_examples=examples(100))
@given(traces())
def test_names_of_keys_do_not_matter_as_long_as_their_order_stays(trace: Trace) -> None:
    same(trace, renamed(trace, key=lambda k: f"key {k}" if isinstance(k, str) else 7 * k - 1000))


@settings(max_examples=examples(100))
@given(traces(Mix(ranges=False)), RNG)
def test_without_ranges_not_even_the_order_of_keys_matters(trace: Trace, rng: random.Random) -> None:
    new = {typed(trace.keys[k]): k for k in range(len(trace.keys))}
    numbers = rng.sample(range(1000), len(new))
    same(trace, renamed(trace, key=lambda k: numbers[new[typed(k)]]))


@settings(max_examples=examples(100))
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


@settings(max_examples=examples(100))
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


@settings(max_examples=examples(100))
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


@settings(max_examples=examples(100))
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


@settings(max_examples=examples(100))
@given(traces())
def test_looking_twice_is_looking_once(trace: Trace) -> None:
    """Two scans are not: what the second one sees of a key, the first one may have seen later than another."""
    harmless(trace, lambda op: [op, op] if op.kind == "get" else [op])
    twice = [with_ops(t, lambda op: [op, op] if op.kind == "scan" else [op]) for t in told(trace)]
    in_steps(trace, again(trace, twice))


@settings(max_examples=examples(100))
@given(traces())
def test_failed_operations_say_nothing(trace: Trace) -> None:
    harmless(trace, lambda op: [op, failed(op)] if op.kind in ("put", "get", "delete") else [op])
    harmless(trace, lambda op: [] if op.failed and op.kind != "commit" else [op])


@settings(max_examples=examples(100))
@given(traces())
def test_a_scan_is_an_iterator_that_went_to_its_end(trace: Trace) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind != "scan" or op.failed:
            return [op]
        number = 1000 + id(op)
        return [iterator(number, op.low, op.high), *(next_(number, k, v) for k, v in op.items), end(number)]

    in_steps(trace, again(trace, [with_ops(t, change) for t in told(trace)]))


@settings(max_examples=examples(100))
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

    in_steps(trace, again(trace, [with_ops(t, change) for t in told(trace)]))


@settings(max_examples=examples(100))
@given(traces())
def test_a_get_is_a_scan_of_one_key_unless_phantoms_are_allowed(trace: Trace) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind != "get" or op.failed:
            return [op]
        after = op.key + "\0" if isinstance(op.key, str) else op.key + 1
        return [scan(op.key, after, {} if op.value is Absent else {op.key: op.value})]

    other = again(trace, [with_ops(t, change) for t in told(trace)])
    levels = some(trace)
    before, after = verdicts(trace, levels), verdicts(other, levels)
    for level in levels:
        if level.items_see_last == level.predicates_see_last and not level.cursor:
            assert before[level.name] == after[level.name], level.name
        else:  # repeatable read, cursor stability: absent keys of a scan are seen less sharply
            assert after[level.name] or not before[level.name], level.name


# --- what can only make it better -------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(st.one_of(traces(), traces(LISTS)), RNG)
def test_forgetting_a_read_breaks_nothing(trace: Trace, rng: random.Random) -> None:
    def change(op: Op) -> Iterable[Op]:
        if op.kind in ("get", "scan", "list") and rng.random() < 0.3:
            return []
        if op.kind == "delete" and op.found and rng.random() < 0.3:
            return [replace(op, found=None)]
        return [op]

    weaker(trace, again(trace, [with_ops(t, change) for t in told(trace)]))


@settings(max_examples=examples(200))
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


@settings(max_examples=examples(200))
@given(traces(), RNG)
def test_forgetting_an_outcome_breaks_nothing(trace: Trace, rng: random.Random) -> None:
    """A transaction that is known to have committed, or to have aborted, is in no more traces that are valid
    than one of which nothing is known."""
    txns = [replace(t, outcome="unknown") if rng.random() < 0.5 else t for t in told(trace)]
    weaker(trace, again(trace, txns))


@settings(max_examples=examples(200))
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
        by_outcome[outcome] = verdicts(again(trace, changed), some(trace))
    for level in some(trace):
        yes, no, doubt = (by_outcome[o][level.name] for o in ("committed", "aborted", "unknown"))
        assert doubt or not (yes or no), level.name
        if level in BASES:
            assert doubt == (yes or no), level.name


@settings(max_examples=examples(200))
@given(traces(replace(DEFAULT, initial=("given", "empty"))))
def test_an_unknown_initial_state_may_have_been_the_one_it_was(trace: Trace) -> None:
    weaker(trace, history(*told(trace), initial="unknown"))


@settings(max_examples=examples(100))
@given(traces(replace(DEFAULT, initial=("given", "empty"))))
def test_an_initial_state_is_a_transaction_before_all_others(trace: Trace) -> None:
    """Loaded by one that returned before all began: levels with real time cannot tell. Those that do not know
    of the order may place it elsewhere."""
    txns = [replace(t, clock="one", begin=1 + (t.begin or 0), end=1 + (t.end or 0)) for t in told(trace)]
    known = history(*txns, initial=dict(trace.initial()))
    loader = txn("loader", *(put(k, v) for k, v in trace.initial()), time=(-1, 0), clock="one")
    loaded = history(loader, *txns)
    levels = some(trace)
    before, after = verdicts(known, levels), verdicts(loaded, levels)
    for level in levels:
        assert after[level.name] or not before[level.name], level.name
        if level.needs_times:
            assert before[level.name] == after[level.name], level.name


# --- what sessions and times add --------------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(traces())
def test_sessions_of_one_transaction_add_nothing(trace: Trace) -> None:
    holds = verdicts(again(trace, [replace(t, session=f"alone {i}") for i, t in enumerate(told(trace))]))
    for level in LEVELS:
        if level.name.startswith("strong-session-"):
            assert holds[level.name] == holds[level.name.removeprefix("strong-session-")], level.name


@settings(max_examples=examples(100))
@given(traces())
def test_without_times_strong_levels_are_plain_ones(trace: Trace) -> None:
    timeless = again(trace, [replace(t, begin=None, end=None) for t in told(trace)])
    pairs = {"sser": "ser", "strong-session-sser": "strong-session-ser", "strong-si": "si", "pl-fcv": "pl-2+"}
    holds = named(timeless, *pairs, *pairs.values())
    for strong, plain in pairs.items():
        assert holds[strong] == holds[plain], strong


@settings(max_examples=examples(100))
@given(traces(replace(DEFAULT, unknown=False)))
def test_one_after_the_other_in_one_session_or_in_time_is_one_after_the_other(trace: Trace) -> None:
    """If the order of all transactions is known, there is one snapshot and one serial order to try."""
    txns = [replace(t, outcome="committed" if t.outcome == "unknown" else t.outcome) for t in told(trace)]
    in_line = [replace(t, session="one", begin=10 * i, end=10 * i + 5, clock="") for i, t in enumerate(txns)]
    in_session = ("ser", "si", "prefix", "pl-2+", "causal", "ra", "sser")
    names = [*(f"strong-session-{name}" for name in in_session), "sser", "strong-si", "pl-fcv"]
    if not any(op.kind in ("scan", "iterator") for t in txns for op in t.ops):
        names.append("strong-session-rr")
    holds = named(again(trace, in_line), *names)
    assert len(set(holds.values())) == 1, holds


# --- two databases ----------------------------------------------------------------------------------------


@settings(max_examples=examples(100))
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
    levels = some(together)
    a, b, ab = (verdicts(trace, levels) for trace in (left, right, together))
    assert ab == {name: a[name] and b[name] for name in a}


# --- the strongest levels that hold -----------------------------------------------------------------------


@settings(max_examples=examples(100))
@given(traces())
def test_strongest_says_what_each_level_says(trace: Trace) -> None:
    checker = Checker(trace)
    found = checker.strongest()
    for name, verdict in found.items():
        assert verdict.status != "unknown" or verdict.reason == vacuous(trace)
        if not verdict.reason or verdict.reason == vacuous(trace):
            continue
        assert verdict.status == checker.check(name).status
        assert verdict.reason.startswith("implied by " if verdict.valid else "it implies ")
    held = [v.level for v in found.values() if v.valid]
    broken = [v.level for v in found.values() if v.invalid]
    for a in maximal(held):
        assert not any(implies(b, a) for b in held if b is not a)
        assert found[a.name].witness is not None
    for b in minimal(broken):
        assert not any(implies(b, a) for a in broken if a is not b)
        assert found[b.name].counterexample is not None
    assert not any(implies(a, b) for a in held for b in broken)


def test_strongest_asks_few_levels() -> None:
    """A level that holds or is broken settles others, and those are not asked."""
    asked: list[str] = []

    class Counting(Checker):
        def check(self, level: str | Level) -> Verdict:
            asked.append(find_level(level).name)
            return super().check(level)

    for case in CASES:
        asked.clear()
        trace = case.build()
        found = Counting(trace).strongest()
        assert {name: verdict.valid for name, verdict in found.items()} == {
            name: valid for name, valid in case.verdicts.items() if name in found
        }
        assert len(asked) == len(set(asked)) <= (10 if case.breaks else 1), (case.name, asked)

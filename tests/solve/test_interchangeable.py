"""Transactions that nothing tells apart, in one order: the same verdicts, and cores that are cores."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from support.histories import Absent, Op, Txn, delete, get, history, put, scan, txn
from support.walks import even_inventory

from boomslang.asg.graph import ASG, OUT, build_asg
from boomslang.certify.replay import replay
from boomslang.explain.core import complete
from boomslang.explain.parts import Parts
from boomslang.ir.lower import lower
from boomslang.levels import bounded
from boomslang.levels.catalog import find_level
from boomslang.levels.level import Level
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.interchangeable import classes_of, ranked, with_all_reads
from boomslang.solve.native import solve_native
from boomslang.solve.parts import refuted_part
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.strategy import solve
from boomslang.trace import Trace

LEVELS = (
    "serializable",
    "snapshot-isolation",
    "prefix",
    "repeatable-read",
    "consistent-view",
    "cursor-stability",
    "causal",
)

IN_TIME = ("serializable", "snapshot-isolation")


def twins(rng: random.Random) -> Trace:
    """A few transactions, most of them several times."""
    values, keys = 2, rng.randint(1, 2)
    kinds = []
    for _ in range(2):
        ops = [get(f"k{k}", rng.randrange(values)) for k in range(keys) if rng.random() < 0.8]
        kinds.append(
            [*ops, *(put(f"k{k}", rng.randrange(values)) for k in range(keys) if rng.random() < 0.6)]
        )
    outcomes = ("committed", "committed", "committed", "unknown")
    return history(
        *(txn(f"s{i}", *rng.choice(kinds), outcome=rng.choice(outcomes)) for i in range(rng.randint(3, 5))),
        initial={f"k{k}": 0 for k in range(keys)},
    )


def timed_twins(rng: random.Random, *, aside: bool = False) -> Trace:
    """The same at times that overlap much, of one clock or two, some without; they delete and scan as well, and begin
    with values that are also written. `aside`: and each writes a key of its own."""
    keys = [f"k{k}" for k in range(rng.randint(1, 2))]

    def operation(key: str) -> Op:
        seen = rng.choice((0, 1, Absent))
        return rng.choice(
            (
                get(key, seen),
                get(key, rng.randrange(2)),
                put(key, rng.randrange(2)),
                put(key, rng.randrange(2)),
                delete(key, rng.choice((True, False, None))),
                scan("k", "l", {key: 0} if rng.random() < 0.5 else {}),
            )
        )

    kinds = [[operation(key) for key in keys for _ in range(rng.randint(1, 2))] for _ in range(2)]
    if rng.random() < 0.7:  # to and fro: then it matters who was in between
        kinds = [[get("k0", 0), put("k0", 1)], [get("k0", 1), put("k0", 0)]]
        kinds += [[get("k0", rng.randrange(2))]] if rng.random() < 0.3 else []
    outcomes = ("committed", "committed", "committed", "committed", "unknown")
    clocks = ("one",) if rng.random() < 0.8 else ("one", "two")

    def own(i: int) -> list[Op]:
        return [put(f"own{i}", 1)] if aside else []

    def one(i: int) -> Txn:
        begin = rng.randrange(12)
        time = None if rng.random() < 0.1 else (begin, begin + rng.randint(1, 12))
        return txn(
            f"s{i}",
            *rng.choice(kinds),
            *own(i),
            outcome=rng.choice(outcomes),
            time=time,
            clock=rng.choice(clocks),
        )

    return history(*(one(i) for i in range(rng.randint(3, 6))), initial=dict.fromkeys(keys, 0))


def agree_on(trace: Trace, level: Level, what: str) -> bool | None:
    """Does the level hold, as the engine with ranks and brute force say? None: nothing is alike."""
    asg = build_asg(trace)
    ir = lower(asg, level)
    if len(asg.orphans) or len(asg.broken) or (alike := ranked(ir)) is None:
        return None
    holds = brute(trace, level.name)
    for hints in (False, True):
        found = with_all_reads(asg, alike[1], solve_native(alike[0], Limits(), hints=hints))
        assert found.status == ("valid" if holds else "invalid"), what
        if holds:
            replay(trace, witness(ir, found))
        else:
            assert not brute_core(trace, level.name, *completed(asg, found)), what
    return holds


def completed(asg: ASG, found: Solution) -> tuple[list[int], list[tuple[int, int]]]:
    """The transactions and reads of a core, with those that show who contradicts itself and cannot have committed."""
    assert found.core_transactions is not None and found.core_reads is not None
    parts = complete(asg, Parts(found.core_transactions, found.core_reads, np.zeros(0, np.int64)))
    reads = [(int(asg.read_op[r]), int(asg.read_key[r])) for r in parts.reads]
    reads += [(int(asg.internal[1][i]), int(asg.internal[2][i])) for i in parts.internal]
    return parts.transactions.tolist(), reads


def agree(seeds: range) -> None:
    both: Counter[bool | None] = Counter()
    for seed in seeds:
        level = LEVELS[seed % len(LEVELS)]
        both[agree_on(twins(random.Random(seed)), find_level(level), f"seed {seed} at {level}")] += 1
    assert min(both[True], both[False]) > len(seeds) // 20, "hardly any valid, or hardly any invalid ones"


def agree_in_time(seeds: range) -> None:
    both: Counter[bool | None] = Counter()
    for seed in seeds:
        plain = find_level(IN_TIME[seed % len(IN_TIME)])
        level = bounded(plain, (0, 0, 1, 3)[seed // len(IN_TIME) % 4])
        both[agree_on(timed_twins(random.Random(seed)), level, f"seed {seed} at {level.name}")] += 1
    assert min(both[True], both[False]) > len(seeds) // 50, both


def test_the_same_verdicts_and_real_cores() -> None:
    agree(range(120))


@pytest.mark.full
def test_the_same_verdicts_and_real_cores_at_length() -> None:
    agree(range(120, 3_000))


def test_the_same_verdicts_and_real_cores_in_time() -> None:
    agree_in_time(range(300))


@pytest.mark.full
def test_the_same_verdicts_and_real_cores_in_time_at_length() -> None:
    agree_in_time(range(300, 4_000))


def agree_on_parts(seeds: range) -> None:
    """Asked for the reads of one key alone, where what is written elsewhere tells nobody apart."""
    both: Counter[bool] = Counter()
    for seed in seeds:
        trace = timed_twins(random.Random(seed), aside=True)
        level = bounded(find_level("serializable"), (0, 0, 1, 3)[seed % 4])
        asg = build_asg(trace)
        key = np.array([0], np.int64)
        reads = np.flatnonzero((asg.read_key == 0) & (asg.state != OUT)[asg.read_txn])
        here = np.union1d(asg.read_txn[reads], asg.write_txn[asg.write_key == 0]).astype(np.int64)
        if len(asg.orphans) or len(asg.broken) or not len(reads):
            continue
        internal = np.flatnonzero(np.isin(asg.internal[0], here))
        shown = [(int(asg.internal[1][i]), int(asg.internal[2][i])) for i in internal]
        named = [(int(asg.read_op[r]), int(asg.read_key[r])) for r in reads]
        found = refuted_part(lower(asg, level), here, reads, Limits(), alike=key)
        holds = brute_core(trace, level.name, here.tolist(), named + shown)
        assert (found is None) == holds, f"seed {seed} at {level.name}"
        both[holds] += 1
        if found is not None:
            assert not brute_core(trace, level.name, *completed(asg, found)), f"seed {seed}: too small"
    assert min(both[True], both[False]) > len(seeds) // 50, both


def test_parts_in_which_more_are_alike() -> None:
    agree_on_parts(range(120))


@pytest.mark.full
def test_parts_in_which_more_are_alike_at_length() -> None:
    agree_on_parts(range(120, 4_000))


def test_what_is_written_elsewhere_tells_nobody_apart_in_a_part() -> None:
    trace = history(
        txn("A", put("x", 1), put("y", 1)), txn("B", put("x", 1), put("z", 1)), txn("C", put("x", 2))
    )
    asg = build_asg(trace)
    assert (classes_of(asg) == -1).all()
    classes = classes_of(asg, np.array([list(trace.keys).index("x")], np.int64))
    assert classes[0] == classes[1] >= 0 and classes[2] == -1


def test_what_tells_transactions_apart() -> None:
    alike = txn("A", get("x", 0), put("x", 1)), txn("B", get("x", 0), put("x", 1))
    others = (
        txn("C", get("x", 0), put("x", 1), outcome="unknown"),
        txn("D", get("x", 0), put("x", 2)),
        txn("E", get("x", 1), put("x", 1)),
        txn("F", get("x", 0)),
        txn("G", put("x", 1)),
    )
    trace = history(*alike, *others, initial={"x": 0})
    classes = classes_of(build_asg(trace))
    assert classes[0] == classes[1] >= 0
    assert (classes[2:] == -1).all()


def test_sessions_tell_them_apart() -> None:
    trace = history(txn("A", put("x", 1), time=(0, 1)), txn("A", put("x", 1), time=(2, 3)))
    assert ranked(lower(build_asg(trace), find_level("strong-session-serializable"))) is None
    assert ranked(lower(build_asg(trace), find_level("serializable"))) is not None


def test_in_time_the_one_that_was_invoked_and_returned_first_is_first() -> None:
    """But not if it was under way around the other, on another clock, or at no time; nor at a level of paths."""

    def pairs(level: Level, *times: tuple[int, int] | None, clocks: tuple[str, ...] = ()) -> int:
        named = clocks or ("",) * len(times)
        trace = history(
            *(txn(f"s{i}", put("x", 1), time=t, clock=named[i]) for i, t in enumerate(times)),
            txn("z", get("x", 1)),
        )
        made = ranked(lower(build_asg(trace), level))
        return 0 if made is None else len(made[0].graph.chunks[-1][0])

    strict, near = find_level("strict-serializable"), bounded(find_level("snapshot-isolation"), 100)
    for level in (strict, near):
        assert pairs(level, (0, 5), (2, 7)) == 1
        assert pairs(level, (0, 5), (2, 7), (2, 7)) == 2
        assert pairs(level, (0, 9), (2, 7)) == 0
        assert pairs(level, (0, 9), (2, 7), (3, 10)) == 1
        assert pairs(level, (0, 5), None) == 0
        assert pairs(level, (0, 5), (2, 7), clocks=("one", "two")) == 0
    assert pairs(bounded(find_level("consistent-view"), 100), (0, 5), (2, 7)) == 0


def test_few_conflicts_where_the_others_arrangements_would_all_have_to_be_refuted() -> None:
    """One more order took the stock from a value than there were: pigeons and holes, and all pigeons alike."""
    trace = even_inventory(random.Random(0), 60, uneven=True)
    ir = lower(build_asg(trace), find_level("serializable"))
    alike = ranked(ir)
    assert alike is not None
    assert solve_native(alike[0], Limits(conflicts=1_000), hints=False).status == "invalid"
    assert solve(ir).status == "invalid"

"""Transactions that nothing tells apart, in one order: the same verdicts, and cores that are cores."""

from __future__ import annotations

import random

import pytest
from support.histories import get, history, put, txn
from support.walks import even_inventory

from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.ir.lower import lower
from boomslang.levels.catalog import find_level
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.interchangeable import classes_of, ranked, with_all_reads
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, witness
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


def agree(seeds: range) -> None:
    both = [0, 0]
    for seed in seeds:
        trace, level = twins(random.Random(seed)), LEVELS[seed % len(LEVELS)]
        asg = build_asg(trace)
        ir = lower(asg, find_level(level))
        if len(asg.orphans) or len(asg.broken) or (alike := ranked(ir)) is None:
            continue
        found = with_all_reads(asg, alike[1], solve_native(alike[0], Limits(), hints=False))
        holds = brute(trace, level)
        assert found.status == ("valid" if holds else "invalid"), f"seed {seed} at {level}"
        both[holds] += 1
        if holds:
            replay(trace, witness(ir, found))
        else:
            assert found.core_transactions is not None and found.core_reads is not None
            reads = [(int(asg.read_op[r]), int(asg.read_key[r])) for r in found.core_reads]
            assert not brute_core(trace, level, found.core_transactions.tolist(), reads), (
                f"seed {seed} at {level}"
            )
    assert min(both) > len(seeds) // 20, "hardly any valid, or hardly any invalid ones"


def test_the_same_verdicts_and_real_cores() -> None:
    agree(range(120))


@pytest.mark.full
def test_the_same_verdicts_and_real_cores_at_length() -> None:
    agree(range(120, 3_000))


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


@pytest.mark.parametrize("level", ["strong-session-serializable", "strict-serializable"])
def test_sessions_and_times_tell_them_apart(level: str) -> None:
    trace = history(txn("A", put("x", 1), time=(0, 1)), txn("A", put("x", 1), time=(2, 3)))
    assert ranked(lower(build_asg(trace), find_level(level))) is None
    assert ranked(lower(build_asg(trace), find_level("serializable"))) is not None


def test_few_conflicts_where_the_others_arrangements_would_all_have_to_be_refuted() -> None:
    """One more order took the stock from a value than there were: pigeons and holes, and all pigeons alike."""
    trace = even_inventory(random.Random(0), 60, uneven=True)
    ir = lower(build_asg(trace), find_level("serializable"))
    alike = ranked(ir)
    assert alike is not None
    assert solve_native(alike[0], Limits(conflicts=1_000), hints=False).status == "invalid"
    assert solve(ir).status == "invalid"

"""Transactions that take the places of others like them: an order close to the clock."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.histories import get, history, put, txn
from support.repeated import random_repeated, random_together

from boomslang import Trace
from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.explain.parts import first_broken
from boomslang.ir.lower import lower
from boomslang.levels import find_level
from boomslang.solve import stand_ins
from boomslang.solve.brute import brute
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.stand_ins import solve_stand_ins
from boomslang.solve.strategy import solve

STEP, LONG = 10, 8


@pytest.fixture(autouse=True)
def however_few_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_ins, "MOST_KINDS", 1.0)


def stand_in(trace: Trace, level: str) -> Solution | None:
    """What is found, replayed by somebody who knows nothing of it."""
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return None
    ir = lower(asg, find_level(level))
    found = solve_stand_ins(ir, Limits())
    if found is not None:
        assert found.status == "valid"
        replay(trace, witness(ir, found))
    return found


def taken_twice(rng: random.Random, n: int, *, top: int = 3, items: int = 2) -> Trace:
    """Stocks that are filled up at 0, one order after the other; one version is taken twice, in the middle, and its
    value is the last of all, so that the counts come out even. Some look at all stocks."""
    state = {f"item{i}": top for i in range(items)}
    initial, made, twice = dict(state), [], ""

    def order(key: str, seen: int, begin: int) -> None:
        state[key] = seen - 1 if seen else top
        session = f"s{rng.randrange(4)}-{len(made)}"
        made.append(txn(session, get(key, seen), put(key, state[key]), time=(begin, begin + LONG)))

    lost = 0
    while len(made) < n or state[twice] != lost:
        begin = STEP * len(made)
        if rng.random() < 0.15:
            looks = [get(k, v) for k, v in state.items()]
            made.append(txn(f"look{len(made)}", *looks, time=(begin, begin + LONG)))
            continue
        key = rng.choice(sorted(state))
        seen = state[key]
        order(key, seen, begin)
        if not twice and len(made) > n // 2:
            twice, lost = key, seen
            order(key, seen, begin + 1)
    return history(*made, initial=initial)


@pytest.mark.parametrize("level", ["ser", "si", "pl-2+"])
def test_an_order_close_to_the_clock(level: str) -> None:
    for seed in range(4):
        trace = taken_twice(random.Random(seed), 300)
        gap = longest_wait(trace)
        ir = lower(build_asg(trace), find_level(f"{level}-within-{gap}"))
        found = solve(ir, Limits(seconds=60))
        assert found.status == "valid" and found.decided_by in ("stand-ins", "trails of values")
        assert stand_in(trace, f"{level}-within-{gap}") is not None
        # No order is as close as one transaction.
        ir = lower(build_asg(trace), find_level(f"{level}-within-{LONG}"))
        assert solve(ir, Limits(seconds=60)).status == "invalid"


def longest_wait(trace: Trace) -> int:
    """The longest time between two transactions that read and wrote the same."""
    last: dict[Any, int] = {}
    longest = 0
    for t in range(len(trace)):
        did = tuple((op.kind, op.key, op.value) for op in trace.transaction(t).operations)
        longest = max(longest, int(trace.txn_begin[t]) - last.get(did, 1 << 40))
        last[did] = int(trace.txn_end[t])
    return longest


def test_it_finds_orders_and_only_orders() -> None:
    found = 0
    for seed in range(150):
        rng = random.Random(seed)
        for trace in (random_together(seed), random_repeated(seed)[1]):
            level = rng.choice(("ser", "si", "pl-2+", "strong-session-ser", "rc"))
            level += f"-within-{rng.randint(1, 6)}" if level != "rc" and rng.random() < 0.7 else ""
            if stand_in(trace, level) is not None:
                found += 1
                assert brute(trace, find_level(level).name), f"{seed} at {level}"
    assert found > 20


def test_a_snapshot_of_earlier() -> None:
    """Who waits to the end may have looked before, where only the commit is late."""
    trace = history(
        txn("a", get("x", 0), get("y", 0), put("x", 1), time=(0, 10)),
        txn("b", get("x", 0), get("y", 0), put("y", 1), time=(20, 30)),
        initial={"x": 0, "y": 0},
    )
    assert stand_in(trace, "si") is not None
    assert stand_in(trace, "ser") is None

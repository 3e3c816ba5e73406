"""A sweep along the clock finds an order in real time wherever there is one, and only there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.histories import delete, get, history, put, txn
from support.repeated import random_together

from boomslang import Trace
from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.explain.parts import first_broken
from boomslang.ir.lower import lower
from boomslang.levels import find_level
from boomslang.solve.brute import brute
from boomslang.solve.solution import Limits, witness
from boomslang.solve.sweep import sweep
from boomslang.trace import Initial

STRICT = ("sser", "strong-si", "strong-session-sser")


def database(
    rng: random.Random, n: int, *, wrong: float = 0.0, snapshots: bool = True, lost: float = 0.1
) -> Trace:
    """What clients saw of a database: at snapshot isolation with transactions that overlap, else one by one."""
    state: dict[str, int] = {"x": 0, "y": 0}
    made: list[Any] = []
    for i in range(0, n, 2):
        new: dict[str, int] = {}
        for key in rng.sample("xy", 2):  # two that see the same, and write different keys or none
            seen = {k: rng.randint(0, 1) if rng.random() < wrong else v for k, v in state.items()}
            change = {key: rng.randint(0, 1)} if rng.random() < 0.7 else {}
            if not snapshots:
                state |= change
            begin = 10 * i + rng.randint(0, 3)
            ops = [*(get(k, v) for k, v in seen.items()), *(put(k, v) for k, v in change.items())]
            outcome = "unknown" if rng.random() < lost else "committed"
            made.append(txn(f"{key}{i}", *ops, time=(begin, begin + rng.randint(4, 14)), outcome=outcome))
            new |= change
        state |= new
    return history(*made, initial={"x": 0, "y": 0})


def found(trace: Trace, level: str) -> bool | None:
    """Was an order found? It is replayed. None: it says nothing of such a trace."""
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return None
    ir = lower(asg, find_level(level))
    solution = sweep(ir, Limits())
    if solution is not None:
        replay(trace, witness(ir, solution))
    return solution is not None


@pytest.mark.parametrize("level", STRICT)
def test_it_agrees_with_brute_force(level: str) -> None:
    told: list[bool] = []
    for seed in range(60):
        rng = random.Random(seed)
        trace = random_together(seed) if seed % 2 else database(rng, 6, wrong=0.1, snapshots=seed % 4 == 0)
        if trace.initial_mode == Initial.UNKNOWN or (answer := found(trace, level)) is None:
            continue
        holds = brute(trace, find_level(level).name)
        assert holds or not answer, seed
        # One of unknown outcome whom no read shows is left out, so only what all committed in is complete.
        if (trace.txn_outcome != 2).all():
            assert answer == holds, seed
        told.append(answer)
    assert told.count(True) > 5 and told.count(False) > 5


def test_a_long_one() -> None:
    assert found(database(random.Random(1), 600, lost=0.0), "strong-si")
    assert not found(database(random.Random(1), 600, lost=0.0, wrong=0.05), "strong-si")


def test_a_delete_that_found_something() -> None:
    gone = txn("a", delete("x", True), time=(0, 1))
    again = txn("b", delete("x", True), time=(2, 3))
    back = txn("c", put("x", 1), time=(0, 5))
    assert found(history(gone, again, back, initial={"x": 1}), "sser")
    assert not found(history(gone, again, initial={"x": 1}), "sser")


def test_what_it_says_nothing_of() -> None:
    twice = [txn(name, get("x", n), put("x", n), time=(n, n)) for n, name in enumerate("ab")]
    assert not found(history(*twice, initial="unknown"), "sser")
    untimed = history(txn(None, put("x", 1)), txn(None, get("x", 1)))
    assert found(untimed, "ser") is False

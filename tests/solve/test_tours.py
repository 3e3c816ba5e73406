"""Tours of states: an order wherever there is one, if everybody who writes has seen everything."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.histories import get, history, put, txn

from boomslang import Checker, Trace
from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.solve.brute import brute
from boomslang.solve.tours import tour

PLAIN = ("ser", "si", "pl-2+", "rr", "causal", "rc")


def seeing_all(rng: random.Random, n: int, *, wrong: float) -> Trace:
    """Transactions that see both keys and write some, most as a serial run has it; then shuffled."""
    state = {"x": 0, "y": 0}
    made: list[Any] = []
    for _ in range(n):
        seen = {k: rng.randint(0, 1) if rng.random() < wrong else v for k, v in state.items()}
        new = {k: rng.randint(0, 1) for k in rng.choice(("x", "y", "xy", ""))}
        some = seen if new else {k: v for k, v in seen.items() if rng.random() < 0.7}
        made.append(txn(None, *(get(k, v) for k, v in some.items()), *(put(k, v) for k, v in new.items())))
        state |= new
    rng.shuffle(made)
    return history(*made, initial=rng.choice(({"x": 0, "y": 0}, {"x": 0, "y": 0}, "unknown")))


@pytest.mark.parametrize("part", range(4))
def test_there_is_a_tour_just_where_it_is_serializable(part: int) -> None:
    found = []
    for seed in range(40 * part, 40 * part + 40):
        rng = random.Random(seed)
        trace = seeing_all(rng, 6, wrong=rng.choice((0.0, 0.0, 0.15)))
        asg = build_asg(trace)
        if len(asg.orphans):
            continue
        order = tour(asg)
        found.append(order is not None)
        assert (order is not None) == brute(trace, "serializable"), seed
        if order is not None:
            assert sorted(order) == list(range(len(trace)))
    assert True in found and False in found


@pytest.mark.parametrize("level", PLAIN)
def test_it_is_replayed_at_each_level(level: str) -> None:
    trace = seeing_all(random.Random(5), 300, wrong=0.0)
    verdict = Checker(trace).check(level)
    assert verdict.valid and verdict.witness is not None
    replay(trace, verdict.witness)


def test_where_it_does_not_apply() -> None:
    blind = history(txn(None, put("x", 1)), txn(None, get("x", 1)))
    assert tour(build_asg(blind)) is None
    sessions = history(
        txn("s", get("x", 1), put("x", 0)), txn("s", get("x", 0), put("x", 1)), initial={"x": 0}
    )
    assert tour(build_asg(sessions)) == [1, 0]
    assert Checker(sessions).check("ser").valid and Checker(sessions).check("strong-session-ser").invalid

"""How far sessions can come decides, either way, wherever it applies; and brute force agrees."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from support.histories import Unbounded, append, delete, get, history, list_, put, scan, txn

from boomslang import Trace, check
from boomslang.asg.graph import build_asg
from boomslang.certify.proof import StuckSessions
from boomslang.certify.proved import fault_of_proof
from boomslang.certify.replay import replay
from boomslang.explain.parts import first_broken
from boomslang.ir.lower import lower
from boomslang.levels import LEVELS, find_level
from boomslang.solve import frontiers
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.frontiers import solve_frontiers
from boomslang.solve.solution import Limits, Solution, witness

LEVEL, STRICT = "strong-session-serializable", "strong-session-strict-serializable"


def asked(trace: Trace, level: str = LEVEL) -> Solution | None:
    """What is found: an order that somebody else replays, or a proof that somebody else believes."""
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return None
    ir = lower(asg, find_level(level))
    solution = solve_frontiers(ir, Limits())
    if solution is None:
        return None
    if solution.status == "valid":
        replay(trace, witness(ir, solution))
        return solution
    assert solution.status == "invalid" and isinstance(solution.proof, StuckSessions)
    assert fault_of_proof(trace, level, solution.proof) == ""
    return solution


def counters(rng: random.Random) -> Trace:
    """Clients take one from a stock that is filled up at 0, delete and look; now and then one sees what is not so."""
    state: dict[str, Any] = {"x": 2, "y": 1}
    made, now, free = [], 0, [0, 0, 0]
    for _ in range(rng.randint(3, 6)):
        key, luck = rng.choice("xy"), rng.random()
        seen = state.get(key, 2) if rng.random() < 0.5 else rng.randint(0, 2)
        ops = [get(key, seen), put(key, seen - 1 if seen else 2)]
        change: dict[str, Any] = {key: ops[1].value}
        if luck < 0.1:
            ops, change = [delete(key, True), put(key, 2)], {key: 2}
        elif luck < 0.25:
            ops, change = [scan(Unbounded, Unbounded, dict(state))], {}
        elif luck < 0.4:
            ops, change = [get(k, v) for k, v in state.items()], {}
        session = rng.randrange(3)
        now += rng.randint(0, 6)
        begin = max(now, free[session])
        free[session] = begin + rng.randint(0, 8)
        outcome = "aborted" if rng.random() < 0.1 else "committed"
        if outcome == "committed":
            state |= change
        made.append(txn(f"s{session}", *ops, time=(begin, free[session]), outcome=outcome))
    return history(*made, initial={"x": 2, "y": 1})


def examined(seeds: range) -> dict[str, int]:
    found = {"valid": 0, "invalid": 0}
    for seed in seeds:
        rng = random.Random(seed)
        trace = counters(rng)
        for level in (LEVEL, STRICT, f"{LEVEL}-within-{rng.randint(0, 12)}"):
            solution = asked(trace, level)
            if solution is None:
                continue
            holds = brute(trace, level)
            assert solution.status == ("valid" if holds else "invalid"), f"{seed} at {level}"
            found[solution.status] += 1
            if not holds:
                assert solution.core_transactions is not None and solution.core_reads is not None
                asg = build_asg(trace)
                reads = [(int(asg.read_op[r]), int(asg.read_key[r])) for r in solution.core_reads.tolist()]
                core = tuple(solution.core_transactions.tolist())
                assert not brute_core(trace, level, core, tuple(reads)), f"{seed} at {level}: too small"
    return found


def test_brute_force_agrees() -> None:
    found = examined(range(150))
    assert found["valid"] > 100 and found["invalid"] > 30


@pytest.mark.full
def test_brute_force_agrees_for_long() -> None:
    found = examined(range(10_000, 16_000))
    assert min(found.values()) > 1_000


def stuck(apart: int = 100) -> Trace:
    """Two took the stock from 2 to 1, and it was 2 once more at the end. The second of them may have gone there, but
    for what its session did in between."""
    at = iter(range(0, 10 * apart, apart))

    def took(session: str, seen: int) -> Any:
        begin = next(at)
        return txn(session, get("x", seen), put("x", seen - 1 if seen else 2), time=(begin, begin + 10))

    return history(took("a", 2), took("b", 2), took("a", 1), took("b", 0), initial={"x": 2})


def test_sessions_that_wait_for_each_other() -> None:
    trace = stuck()
    solution = asked(trace)
    assert solution is not None and isinstance(solution.proof, StuckSessions)
    # After T0 and T2 only T3 would do, but T1 is before it in its session.
    assert (solution.proof.most, solution.proof.waiting) == (2, (1,))
    assert check(trace, "ser").status == "valid"
    verdict = check(trace, "strong-session-ser")
    assert verdict.status == "invalid"


def test_it_stops_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontiers, "MOST_FRONTIERS", 1)
    assert asked(stuck()) is None


@pytest.mark.parametrize("level", [x.name for x in LEVELS if x.name not in (LEVEL, STRICT)])
def test_other_levels_need_more_than_sessions(level: str) -> None:
    asg = build_asg(stuck())
    ir = lower(asg, find_level(level))
    assert solve_frontiers(ir, Limits()) is None


def test_where_it_does_not_apply() -> None:
    rows = [txn("a", get("x", 2), put("x", 1)), txn("b", get("x", 2), put("x", 1))]
    assert asked(history(*rows, initial={"x": 2})) is not None
    assert asked(history(*rows, txn("c", put("x", 2), outcome="unknown"), initial={"x": 2})) is None
    assert asked(history(*rows, initial="unknown")) is None
    assert asked(history(*rows, txn("c", append("l", 1), list_("l", (1,))), initial={"x": 2})) is None
    bounded = f"{LEVEL}-within-5"
    timed = [replace(row, begin=5 * i, end=5 * i + 3) for i, row in enumerate(rows)]
    assert asked(history(*timed, initial={"x": 2}), bounded) is not None
    assert asked(history(timed[0], rows[1], initial={"x": 2}), bounded) is None
    elsewhere = txn("c", get("x", 1), time=(0, 5), clock="other")
    assert asked(history(*timed, elsewhere, initial={"x": 2}), bounded) is None

"""Parts that grow around a clash: what they refute is refuted, by few reads."""

from __future__ import annotations

import random

import numpy as np
from support.effort import examples
from support.histories import Txn, get, history, put, txn
from support.repeated import random_repeated, random_together

from boomslang import Trace
from boomslang.asg.graph import build_asg
from boomslang.explain.core import complete
from boomslang.explain.parts import Parts, first_broken
from boomslang.ir.lower import lower
from boomslang.levels import find_level
from boomslang.solve.brute import brute, brute_core
from boomslang.solve.grown import refute_grown
from boomslang.solve.solution import Limits, Solution

LEVELS = ("ser", "si", "sser", "strong-si", "strong-session-ser", "rr", "ser-within-3", "si-within-2")


def grown(trace: Trace, level: str, seeds: list[int]) -> Solution | None:
    asg = build_asg(trace)
    every, keys = np.ones(asg.transactions, bool), np.arange(asg.keys)
    found = refute_grown(lower(asg, find_level(level)), seeds, keys, every, Limits(conflicts=5_000))
    assert found is None or found.status == "invalid"
    return found


def test_what_is_refuted_is_refuted_by_its_core() -> None:
    found = 0
    for seed in range(examples(400)):
        rng = random.Random(seed)
        trace = random_together(seed) if seed % 3 else random_repeated(seed)[1]
        asg = build_asg(trace)
        if first_broken(asg) is not None or asg.transactions < 2:
            continue
        level = rng.choice(LEVELS)
        solution = grown(trace, level, rng.sample(range(asg.transactions), 2))
        if solution is None:
            continue
        found += 1
        name = find_level(level).name
        assert not brute(trace, name), f"{seed} at {level}"
        parts = complete(asg, Parts.used_by(asg, solution))
        reads = [(int(asg.read_op[r]), asg.trace_key(int(asg.read_key[r]))) for r in parts.reads]
        core = tuple(asg.txn_of[parts.transactions].tolist())
        assert not brute_core(trace, name, core, tuple(reads)), f"{seed} at {level}: too small"
    assert found > 10


def counters(n: int, *, lost: bool) -> Trace:
    """Each adds one to one of two counters and looks at both; if `lost`, two in the middle added to the same."""
    state, made = {"x": 0, "y": 0}, list[Txn]()
    for i in range(n):
        key = "xy"[i % 2]
        seen = [get("x", state["x"]), get("y", state["y"])]
        for _ in range(2 if lost and i == n // 2 else 1):
            made.append(txn(f"s{len(made) % 4}", *seen, put(key, state[key] + 1), time=(10 * i, 10 * i + 8)))
        state[key] += 1
    return history(*made, initial={"x": 0, "y": 0})


def test_few_reads_of_many_are_enough() -> None:
    solution = grown(counters(300, lost=True), "ser-within-40", [150, 151])
    assert solution is not None and solution.core_reads is not None
    assert len(solution.core_reads) < 12
    assert grown(counters(300, lost=False), "ser-within-40", [150, 151]) is None

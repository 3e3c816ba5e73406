"""Wrong answers of the past: each was found by comparing opinions, and must not come back.

A move inside a window of the order may change what readers to the right of it see, if another writer is now the last
one in the window. The engine once asked only who the last one was, and not whether its transaction is in at all: behind
one of unknown outcome that is left out, the change went unnoticed, and an order was accepted that explains nothing.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from support.histories import Absent, delete, get, history, put, txn
from support.strategies import DEFAULT, generate

import boomslang
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.ir import lower
from boomslang.levels import LEVELS, find_level
from boomslang.solve.native import solve_native
from boomslang.solve.solution import witness
from boomslang.solve.z3_solver import solve_z3
from boomslang.trace import Trace


def behind_one_that_is_not_in() -> Trace:
    return history(
        txn("a", put("k1", "v"), outcome="unknown"),
        txn("s1", delete("k1")),
        txn("s5", get("k1", "v"), put("k10", "u")),
        txn("s2", put("k10", "u"), get("k", Absent)),
        txn("s0", get("k10", "v"), put("k", "u")),
        txn("s4", put("k10", "u")),
        txn("s4", put("k", "u")),
        txn("s1", put("k", "u"), get("k10", "v")),
        txn("s5", put("k", "u"), get("k1", Absent), get("k10", "u")),
        txn("s0", get("k1", Absent)),
        txn("b", put("k1", "v"), put("k10", "u"), outcome="unknown"),
        txn("s3", put("k1", "v"), put("k10", "v"), get("k", "u")),
        initial="unknown",
    )


@pytest.mark.parametrize("level", ["strong-session-rr", "strong-session-ser", "rr", "si"])
def test_a_move_behind_one_that_is_not_in(level: str) -> None:
    trace = behind_one_that_is_not_in()
    native, z3 = boomslang.check(trace, level), boomslang.check(trace, level, solver="z3")
    assert native.status == z3.status
    if native.witness is not None:
        replay(trace, native.witness)


MIXES = (
    replace(
        DEFAULT,
        stores=("reordered", "snapshot", "stale", "loose"),
        values=("two", "three"),
        initial=("unknown",),
        transactions=(10, 30),
        sessions=(2, 8),
        planted=(0, 0, 1),
    ),
    replace(DEFAULT, transactions=(10, 40), sessions=(1, 8), keys=(1, 3), planted=(0, 0, 1)),
)


@pytest.mark.parametrize("seed", range(60))
def test_the_bookkeeping_misses_nothing(seed: int) -> None:
    """What the last replay of an order finds, the incremental one should have; and saturation changes no verdict."""
    mix = MIXES[seed % len(MIXES)]
    graphs = (build_asg(generate(random.Random(seed + 1000 * again), mix)) for again in range(100))
    asg = next(g for g in graphs if not len(g.orphans) and not len(g.broken))
    for level in LEVELS:
        ir = lower(asg, level)
        plain, saturated = solve_native(ir), solve_native(ir, saturate=True)
        assert plain.status == saturated.status != "unknown"
        for solution in (plain, saturated):
            assert solution.stats["missed"] == 0
            if solution.status == "valid":
                replay(asg.trace, witness(ir, solution))


def test_z3_agrees_on_one_of_them() -> None:
    asg = build_asg(behind_one_that_is_not_in())
    ir = lower(asg, find_level("strong-session-rr"))
    assert solve_native(ir).status == solve_z3(ir).status == "invalid"

"""Wrong answers of the past: each was found by comparing opinions, and must not come back.

A move inside a window of the order may change what readers to the right of it see, if another writer is now the last
one in the window. The engine once asked only who the last one was, and not whether its transaction is in at all: behind
one of unknown outcome that is left out, the change went unnoticed, and an order was accepted that explains nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from fuzz.traces import examine
from support.effort import examples
from support.histories import Absent, append, delete, get, history, list_, put, txn
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


@pytest.mark.parametrize("seed", range(examples(125)))
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


# --- about cores and lists -------------------------------------------------------------------------------------


def committed_for_two_reasons() -> Trace:
    """D's reads show that B committed, one of them only because B's own read shows what l held at first: a core
    must not use the one to show the other."""
    return history(
        txn("A", get("k", Absent), put("l", 3)),
        txn("B", put("k", 7), get("l", 2), put("l", 8), outcome="unknown"),
        txn("C", get("k", 7), put("k", 11), outcome="unknown"),
        txn("D", get("k", 11), get("l", 8)),
        initial="unknown",
    )


def session_order_past_one_that_was_read_from() -> Trace:
    """D misses A's x, and A is before it in its session. That B, in between, was also read from hides nothing."""
    return history(
        txn("S", put("x", 1)),
        txn("S", put("y", 1)),
        txn("S", put("z", 1)),
        txn("S", get("y", 1), get("x", Absent)),
    )


def one_list_shows_both_orders() -> Trace:
    """B's list alone is a dirty write; A's shows one half of it again."""
    return history(
        txn("A", append("x", 1), list_("x", [3, 1])),
        txn("B", list_("x", [1, 3, 1])),
        txn("C", append("x", 3)),
    )


def one_in_between() -> Trace:
    """B's element stands between A's and C's, and C's list has A's once more: A and C say it all."""
    return history(
        txn("B", append("x", 1)), txn("A", append("x", 4)), txn("C", append("x", 5), list_("x", [4, 1, 5, 4]))
    )


def one_in_between_in_two_lists() -> Trace:
    """The same without an element that comes twice."""
    return history(
        txn("A", append("x", 1)),
        txn("B", append("x", 2)),
        txn("C", append("x", 3)),
        txn("D", list_("x", [1, 2, 3])),
        txn("E", list_("x", [3, 1])),
    )


@pytest.mark.parametrize(
    "trace",
    [
        one_list_shows_both_orders,
        one_in_between,
        one_in_between_in_two_lists,
        committed_for_two_reasons,
        session_order_past_one_that_was_read_from,
    ],
)
def test_what_was_wrong_once(trace: Callable[[], Trace]) -> None:
    examine(trace())

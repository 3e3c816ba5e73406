"""The weak levels without a search agree with the search, with brute force and with what their proofs say."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from fuzz.traces import random_trace
from support.weak_histories import weak_history

from boomslang.asg import build_asg
from boomslang.asg.graph import ASG
from boomslang.certify.replay import replay
from boomslang.explain.core import Parts, complete, first_broken, refuted
from boomslang.ir import lower
from boomslang.ir.model import ambiguous_reads
from boomslang.levels import Level, find_level
from boomslang.solve.brute import brute
from boomslang.solve.forced import CHEAPER, CLOCKS, MASKS, solve_forced
from boomslang.solve.likely import refute_known, solve_likely
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, Solution, witness
from boomslang.solve.strategy import solve
from boomslang.trace import Trace

LEVELS = [
    find_level(name)
    for name in (
        "rc",
        "strong-session-rc",
        "rc-be",
        "ra",
        "strong-session-ra",
        "causal",
        "strong-session-causal",
    )
]


def proven(trace: Trace, asg: ASG, level: Level, found: Solution) -> None:
    """A witness replays; a core is refuted by the search, which knows nothing of how it was found."""
    if found.status == "valid":
        replay(trace, witness(lower(asg, level), found))
        return
    assert found.core_transactions is not None and found.core_reads is not None
    parts = Parts(found.core_transactions, found.core_reads, np.zeros(0, np.int64))
    assert refuted(asg, level, complete(asg, parts)) is not None


def compared(
    trace: Trace, met: Counter[tuple[str, str]], way: int = CHEAPER, levels: list[Level] = LEVELS
) -> None:
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return
    for level in levels:
        ir = lower(asg, level)
        found = solve_forced(ir, way=way)
        met[level.short, "not of the kind" if found is None else found.status] += 1
        if found is None:
            continue
        assert found.status == solve_native(ir).status, level.short
        proven(trace, asg, level, found)


def enough(met: Counter[tuple[str, str]], least: int) -> None:
    for level in LEVELS:
        for status in ("valid", "invalid"):
            assert met[level.short, status] >= least, (level.short, status, met)


@pytest.mark.parametrize("way", [CHEAPER, CLOCKS])
def test_small(way: int) -> None:
    met: Counter[tuple[str, str]] = Counter()
    for seed in range(50):
        rng = random.Random(seed)
        compared(weak_history(rng, rng.randint(3, 12), odd=rng.choice((0.05, 0.2, 0.5))), met, way)
    enough(met, 3)


def test_lists() -> None:
    met: Counter[tuple[str, str]] = Counter()
    for seed in range(40):
        rng = random.Random(seed)
        compared(weak_history(rng, rng.randint(3, 10), lists=True, keys=3, odd=0.15), met)
    assert met["causal", "valid"] > 10 and met["strong-session-causal", "invalid"] > 10


@pytest.mark.parametrize("way", [MASKS, CLOCKS])
def test_causal_far(way: int) -> None:
    """Long enough for several blocks and groups; many sessions, so that much is missed and little of it visible."""
    met: Counter[tuple[str, str]] = Counter()
    levels = [level for level in LEVELS if "causal" in level.short]
    for seed in range(8):
        rng = random.Random(seed)
        size = rng.choice((60, 200, 700))
        trace = weak_history(
            rng,
            size,
            keys=20,
            sessions=rng.choice((2, 40, 100)),
            lag=rng.choice((0, 5)),
            odd=rng.choice((0.0, 0.5 / size)),
            stray=0.0,
            shuffled=0.2,
        )
        compared(trace, met, way, levels)
    assert met["causal", "valid"] > 2 and met["strong-session-causal", "invalid"] > 2


def test_without_sessions() -> None:
    met: Counter[tuple[str, str]] = Counter()
    for seed in range(30):
        rng = random.Random(seed)
        compared(weak_history(rng, rng.randint(3, 30), session_less=True, lag=4, odd=0.1), met)
    assert met["causal", "valid"] >= 10 and met["causal", "invalid"] >= 10


def test_brute_force() -> None:
    for seed in range(80):
        rng = random.Random(seed)
        trace = weak_history(
            rng, rng.randint(2, 5), keys=3, sessions=2, odd=0.4, unknown=0.3, lists=seed % 3 == 0
        )
        asg = build_asg(trace)
        if first_broken(asg) is not None:
            continue
        for level in LEVELS:
            found = solve_forced(lower(asg, level))
            assert found is None or (found.status == "valid") == brute(trace, level.name), (seed, level.short)


def test_values_that_repeat() -> None:
    """Known reads refute only what is invalid, likely writers find only orders that replay."""
    met: Counter[str] = Counter()
    for seed in range(60):
        mix = ("few-values", "crowd-of-twins", "long-sessions", "unknown", "lists-in-doubt", "ranges")[
            seed % 6
        ]
        trace = random_trace(seed, mix)
        asg = build_asg(trace)
        if first_broken(asg) is not None or not ambiguous_reads(asg):
            continue
        for level in [*LEVELS, find_level("pl-2+"), find_level("strong-session-pl-2+")]:
            ir = lower(asg, level)
            refutation, order = refute_known(ir, Limits()), solve_likely(ir, Limits())
            met["asked"] += 1
            for found in (refutation, order):
                if found is not None:
                    met[found.status] += 1
                    assert found.status == ("invalid" if found is refutation else "valid")
                    assert found.status == solve_native(ir).status, (seed, level.short)
                    proven(trace, asg, level, found)
    assert met["valid"] > met["asked"] / 3 and met["invalid"] > 5, met


def test_strategy_takes_it() -> None:
    trace = weak_history(random.Random(1), 30, odd=0.0, unknown=0.0)
    for level in LEVELS:
        assert solve(lower(build_asg(trace), level)).decided_by == "what the reads force"

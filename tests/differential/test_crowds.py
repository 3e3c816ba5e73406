"""Traces that are more than brute force can take: the engine and Z3 agree, and every answer's certificate is put to
those who did not give it. And the engine says the same however it gets there."""

from __future__ import annotations

from collections import Counter

import pytest
from fuzz.traces import a_third, random_trace
from support.opinions import LARGE_MIXES, run
from support.unexplained import Unexplained

from boomslang.solve import strategy


@pytest.mark.parametrize("mix", LARGE_MIXES)
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 12), marks=pytest.mark.full)])
def test_all_opinions_agree_on_more_than_brute_force_can_take(mix: str, seeds: range) -> None:
    run(mix, seeds, every_nth_to_z3=5)


@pytest.mark.parametrize("mix", LARGE_MIXES)
@pytest.mark.parametrize("seeds", [range(100, 110), pytest.param(range(100, 115), marks=pytest.mark.full)])
def test_the_strategy_of_the_engine_changes_no_verdict(
    mix: str, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With next to no patience all its steps are taken: real time, hints, saturation, neighbours, the whole."""
    expected = {}
    for seed in seeds:
        checker = Unexplained(random_trace(seed, mix))
        for level in a_third(seed):
            expected[seed, level.name] = checker.check(level).status
    for patience in ("SOON", "EAGER", "FIRST", "BLIND", "LONG"):
        monkeypatch.setattr(strategy, f"{patience}_CONFLICTS", 1)
    monkeypatch.setattr(strategy, "NEIGHBOURS", (3, 5))
    ways = Counter()
    for seed in seeds:
        checker = Unexplained(random_trace(seed, mix))
        for level in a_third(seed):
            verdict = checker.check(level)
            assert verdict.status == expected[seed, level.name], (seed, mix, level.name)
            ways[verdict.stats.get("decided by")] += 1
    assert ways["neighbours"] and ways["direct"], ways

"""Whether a part of a trace is refuted is what shrinking a core asks all the time: all opinions agree on that too."""

from __future__ import annotations

import random

import pytest
from fuzz.traces import MIXES, SMALL, Wrong, a_third, examine_part, random_trace
from support.opinions import SMALL_MIXES


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("share", [0.25, pytest.param(1, marks=pytest.mark.full)])
def test_all_opinions_agree_on_parts_of_a_trace(mix: str, share: float) -> None:
    """Nobody replays the answers, so they are compared."""
    for seed in range(round(share * (25 if mix in SMALL_MIXES else 8))):
        trace = random_trace(seed, mix)
        small = len(trace) <= SMALL
        try:
            examine_part(trace, random.Random(seed), small, by_z3=not small, levels=a_third(seed))
        except Wrong as wrong:
            pytest.fail(f"a part of random_trace({seed}, {mix!r}): {wrong}")

"""Many random traces, each put to everybody (fuzz/traces.py says to whom), and the verdicts counted."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pytest
from fuzz.traces import MIXES, SMALL, Wrong, a_third, examine, random_trace

from boomslang import Level, Trace
from support.unexplained import Unexplained

SMALL_MIXES = [name for name, mix in MIXES.items() if mix.transactions[1] <= SMALL]
LARGE_MIXES = [name for name in MIXES if name not in SMALL_MIXES]
"""More than brute force can take."""


def run(
    mix: str,
    seeds: Iterable[int],
    every_nth_to_z3: int,
    levels: Callable[[int], Sequence[Level]] = a_third,
    all_of_first: int = sys.maxsize,
) -> Counter[tuple[str, str]]:
    """Examines one trace a seed; the verdicts by level. After the first so many, and beside those for Z3, only traces
    that have something new: a verdict of the engine that one of the levels has not had yet."""
    found: Counter[tuple[str, str]] = Counter()
    for number, seed in enumerate(seeds):
        trace = random_trace(seed, mix)
        z3 = seed % every_nth_to_z3 == 0
        if number >= all_of_first and not z3 and not new(trace, levels(seed), found):
            continue
        try:
            small = len(trace) <= SMALL
            asked = levels(seed)
            found.update(examine(trace, small, by_z3=z3, refuted_by_z3=z3 or not small, levels=asked).items())
        except Wrong as wrong:
            pytest.fail(f"random_trace({seed}, {mix!r}): {wrong}")
    return found


def new(trace: Trace, levels: Sequence[Level], found: Counter[tuple[str, str]]) -> bool:
    """Would this trace add a verdict at one of the levels?"""
    checker = Unexplained(trace)
    return any(
        not found[level.name, "invalid" if checker.check(level).invalid else "valid"] for level in levels
    )

"""A trace that goes by gets the answer of the whole: windows of a few lines that go forward, against the whole trace.

The whole is the yardstick (brute force and the other solvers have had their say on it: test_differential.py). Every
order that was taken is put together and replayed by the program that knows nothing of windows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.traces import MIXES
from simulate import PLANTS, History, generate
from support.effort import examples, in_turn
from support.listed import listed_traces
from support.streams import (
    KINDS,
    RECORDED,
    goes_by,
    random_traces,
    simulated_traces,
    some_levels,
    verify_in_lines,
    verify_refutation,
    whole_witness,
)
from support.unheard import unheard_traces

from boomslang import Trace, check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import Level, find_level
from boomslang.solve.brute import brute

LONGEST = 20.0
"""Seconds for the whole, at most: some traces that break a level, and whose values repeat, would take hours."""

FEW = 40
"""Transactions of a core that Z3 is asked about."""


def compare_file(
    path: Path,
    trace: Trace,
    level: Level,
    draw: random.Random,
    seen: Counter[str],
    sizes: tuple[int, ...] = (8_000, 20_000),
) -> None:
    expected = check(trace, level, window=0, timeout=LONGEST).status
    if expected == "unknown":  # nothing committed, or it takes too long where values repeat
        return
    size, tail = draw.choice(sizes), draw.choice((0, 1, 3, 8))
    kept = draw.choice((2, 8, 10**6))
    found, verdict, forward, taken = goes_by(path, level, size=size, tail=tail, kept=kept)
    about = level.name, size, tail, kept
    many = "several" if forward is not None and forward.counted.windows > 1 else "one"
    if found in ("no", "stuck"):
        seen[found] += 1
        assert found == "no" or kept < 10**6, about
        return
    assert found == expected, about
    seen[f"{found} in {many}"] += 1
    if found == "valid":
        replay(trace, whole_witness(trace, level, taken))
        if forward is not None:
            verify_in_lines(path, level, taken, forward.counted.operations, size=size)
    else:
        assert verdict is not None and verdict.counterexample is not None
        if in_turn(seen.total(), 4) and len(verdict.counterexample.core.transactions) <= FEW:
            verify_refutation(path, verdict, size=size)


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix != "clocks"])  # several clocks do not go by
def test_going_by_agrees_with_the_whole(mix: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in random_traces(mix, range(examples(25)), tmp_path):
        for level in some_levels(trace, draw, 3):
            compare_file(path, trace, level, draw, seen, (200, 400, 1000, 3000))
    assert seen.total(), seen


Traces = Callable[..., Iterable[tuple[Path, Trace, random.Random]]]


def opinions(traces: Traces, seeds: range, folder: Path, *, small: bool) -> Counter[str]:
    """What the whole says of such traces, and brute force of a small one."""
    seen: Counter[str] = Counter()
    for path, trace, draw in traces(seeds, folder, small=small):
        for level in some_levels(trace, draw, 3):
            if small:
                expected = check(trace, level, window=0)
                assert expected.status == "unknown" or expected.valid == brute(trace, level.name)
            compare_file(path, trace, level, draw, seen, (150, 300, 600, 1500))
    return seen


@pytest.mark.parametrize("small", [False, True])
def test_scans_of_what_nobody_knows_agree_with_the_whole(small: bool, tmp_path: Path) -> None:
    seen = opinions(unheard_traces, range(examples(50)), tmp_path, small=small)
    assert seen["valid in several"] > 3 * (seen["no"] + seen["stuck"]) and seen["invalid in several"], seen


@pytest.mark.full
@pytest.mark.parametrize("some", range(10))
def test_more_scans_of_what_nobody_knows(some: int, tmp_path: Path) -> None:
    first = 1000 * (some + 1)
    opinions(unheard_traces, range(first, first + 150), tmp_path, small=False)
    opinions(unheard_traces, range(first, first + 100), tmp_path, small=True)


@pytest.mark.parametrize("small", [False, True])
def test_lists_beside_scans_agree_with_the_whole(small: bool, tmp_path: Path) -> None:
    seen = opinions(listed_traces, range(examples(60)), tmp_path, small=small)
    assert seen["valid in several"] > 2 * (seen["no"] + seen["stuck"]), seen
    assert small or seen["invalid in several"], seen


@pytest.mark.full
@pytest.mark.parametrize("some", range(6))
def test_more_lists_beside_scans(some: int, tmp_path: Path) -> None:
    first = 1000 * (some + 1)
    opinions(listed_traces, range(first, first + 150), tmp_path, small=False)
    opinions(listed_traces, range(first, first + 100), tmp_path, small=True)


SIMULATED = History(transactions=200, sessions=6, keys=20, operations=5)


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("promised", ["ser", "si", "rc"])
def test_what_clients_wrote_between_each_other(
    promised: str, kind: str, recorded: str, tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in simulated_traces(
        SIMULATED, promised, kind, recorded, range(examples(5)), tmp_path
    ):
        for level in some_levels(trace, draw, 2):
            compare_file(path, trace, level, draw, seen)
    assert seen.total() > seen["no"] + seen["stuck"], seen
    if promised == "ser":
        assert seen["valid in several"] + seen["invalid in several"] + seen["stuck"], seen


@pytest.mark.parametrize("plant", [plant for plant in PLANTS if plant != "none"])
def test_what_is_planted_is_found_as_it_goes_by(plant: str, tmp_path: Path) -> None:
    history = replace(SIMULATED, transactions=600, keys=200, times=True, plant=plant, plant_at=0.7)
    path = tmp_path / "trace.jsonl"
    generate(history, path)
    trace = read_trace(path)
    for short in ("ser", "sser", "si", "strong-si"):
        expected = check(trace, short, window=0).status
        found, *_ = goes_by(path, find_level(short), size=10_000, tail=30)
        assert found == expected, (plant, short)

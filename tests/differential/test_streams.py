"""A trace that goes by gets the answer of the whole: windows of a few lines that go forward, against the whole trace.

The whole is the yardstick (brute force and the other solvers have had their say on it: test_differential.py). Every
order that was taken is put together and replayed by the program that knows nothing of windows.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz.traces import MIXES
from simulate import PLANTS, History, generate
from support.effort import examples
from support.streams import (
    KINDS,
    RECORDED,
    goes_by,
    random_traces,
    simulated_traces,
    some_levels,
    whole_witness,
)

from boomslang import Trace, check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import Level, find_level


def compare_file(
    path: Path,
    trace: Trace,
    level: Level,
    draw: random.Random,
    seen: Counter[str],
    sizes: tuple[int, ...] = (8_000, 20_000),
) -> None:
    expected = check(trace, level, window=0).status
    size, tail = draw.choice(sizes), draw.choice((0, 1, 3, 8))
    kept = draw.choice((2, 8, 10**6))
    found, verdict, forward, taken = goes_by(path, level, size=size, tail=tail, kept=kept)
    about = level.name, size, tail, kept
    many = "several" if forward is not None and forward.counted.windows > 1 else "one"
    if found in ("no", "stuck"):
        seen[found] += 1
        assert found == "no" or kept < 10**6, about
        return
    if expected == "unknown":  # nothing committed, or it takes too long
        return
    assert found == expected, about
    seen[f"{found} in {many}"] += 1
    if found == "valid":
        replay(trace, whole_witness(trace, level, taken))
    else:
        assert verdict is not None and verdict.counterexample is not None


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix != "clocks"])  # several clocks do not go by
def test_going_by_agrees_with_the_whole(mix: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in random_traces(mix, range(examples(25)), tmp_path):
        for level in some_levels(trace, draw, 3):
            compare_file(path, trace, level, draw, seen, (200, 400, 1000, 3000))
    assert seen.total(), seen


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

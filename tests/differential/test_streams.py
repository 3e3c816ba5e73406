"""A trace that goes by gets the answer of the whole: windows of a few lines that go forward, against the whole trace.

The whole is the yardstick (brute force and the other solvers have had their say on it: test_differential.py). Every
order that was taken is put together and replayed by the program that knows nothing of windows.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz.traces import MIXES, random_trace
from simulate import PLANTS, History, generate
from support.effort import examples
from support.streams import goes_by, whole_witness

from boomslang import Trace, check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import LEVELS, Level, find_level
from boomslang.levels.needs import lacks
from boomslang.trace import write_trace
from boomslang.windows.worth import fits_windows

CUT = [level for level in LEVELS if fits_windows(level)]


def compare(trace: Trace, folder: Path, levels: list[Level], draw: random.Random, seen: Counter[str]) -> None:
    path = folder / "trace.jsonl"
    path.unlink(missing_ok=True)
    if len(trace.clocks) > 1:
        return
    write_trace(trace, path)
    trace = read_trace(path)
    for level in levels:
        if not lacks(level, trace):
            compare_file(path, trace, level, draw, seen, (200, 400, 1000, 3000))


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
    for seed in range(examples(25)):
        draw = random.Random(seed)
        compare(random_trace(seed, mix), tmp_path, draw.sample(CUT, 3), draw, seen)
    assert seen.total(), seen


SIMULATED = History(transactions=200, sessions=6, keys=20, operations=5)
"""Lines of several sessions between each other, as clients write them."""


@pytest.mark.parametrize("recorded", ["one log", "one log with times", "a file a session"])
@pytest.mark.parametrize("kind", ["registers", "values repeat", "scans and deletes", "answers lost"])
@pytest.mark.parametrize("promised", ["ser", "si", "rc"])
def test_what_clients_wrote_between_each_other(
    promised: str, kind: str, recorded: str, tmp_path: Path
) -> None:
    more: dict[str, Any] = {
        "registers": {},
        "values repeat": {"values": 6, "rmw": 0.2, "writes": 0.3},
        "scans and deletes": {"scans": 0.1, "iterators": 0.1, "deletes": 0.1, "writes": 0.3, "span": 5},
        "answers lost": {"unknown": 0.1},
    }[kind]
    seen: Counter[str] = Counter()
    for seed in range(examples(5)):
        history = replace(SIMULATED, level=promised, times=recorded != "one log", **more)
        history = replace(history, folder=recorded == "a file a session", seed=seed + 1)
        path = tmp_path / (f"trace{seed}" if history.folder else f"trace{seed}.jsonl")
        generate(history, path)
        trace, draw = read_trace(path), random.Random(seed)
        levels = [level for level in CUT if not lacks(level, trace)]
        for level in draw.sample(levels, 2):
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

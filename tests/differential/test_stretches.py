"""Stretches of one trace, decided apart from each other, get the answer of the whole; and their orders, one after the
other, are replayed by the program that knows nothing of stretches.

Workers are this process, but everything that goes to a task and comes from it is packed and unpacked as on its way to
another machine. A real cluster is in tests/workers/test_ray_cluster.py.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from fuzz.traces import MIXES
from simulate import PLANTS, History, generate
from support.effort import examples
from support.streams import (
    CUT,
    KINDS,
    RECORDED,
    bytes_of,
    random_traces,
    simulated_traces,
    some_levels,
    verify_in_lines,
    whole_witness,
)
from support.unheard import unheard_traces
from support.work import Here

from boomslang import Trace, check, read_trace
from boomslang.certify.replay import replay
from boomslang.levels import Level, find_level
from boomslang.stream.taken import Taken
from boomslang.stream.window import places
from boomslang.stretches.check import Cost, OnOneMachine, Sizes, check_in_stretches
from boomslang.stretches.seam import Cut, Seam, seam
from boomslang.stretches.slices import NotSliced, SlicedBlocks
from boomslang.trace.model import Outcome

FULL = pytest.mark.full
LONGEST = 20.0
"""Seconds for the whole, at most: some traces that break a level, and whose values repeat, would take hours."""


def compare(
    path: Path, trace: Trace, level: Level, sizes: Sizes, seen: Counter[str]
) -> tuple[Cost, str] | None:
    expected = check(trace, level, window=0, timeout=LONGEST).status
    if expected == "unknown":  # nothing committed, or it takes too long where values repeat
        return None
    taken: list[Taken] = []
    try:
        found, cost = check_in_stretches(path, level, Here(), take=taken.append, sizes=sizes)
    except (NotSliced, OnOneMachine) as why:
        seen["on one machine"] += 1
        return None if isinstance(why, NotSliced) else (Cost(), "on one machine")
    assert found.status == expected, (level.name, sizes, cost)
    seen[f"{found.status} in {'several' if cost.seams else 'one'}"] += 1
    if found.status == "valid":
        replay(trace, whole_witness(trace, level, taken))
        verify_in_lines(path, level, taken, found.counted.operations)
    else:
        assert found.verdict is not None and found.verdict.counterexample is not None
    return cost, found.status


def small(path: Path, draw: random.Random) -> Sizes:
    """Slices of a few lines."""
    size = path.stat().st_size // draw.choice((2, 3, 5))
    return Sizes(max(150, size), draw.choice((150, 400)), draw.choice((0, 1, 3)), 100)


def middling(path: Path, draw: random.Random) -> Sizes:
    total = bytes_of(path)
    return Sizes(total // draw.choice((3, 5)), total // draw.choice((20, 40)), draw.choice((3, 10)), 500)


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix != "clocks"])
def test_stretches_of_a_few_lines_agree_with_the_whole(mix: str, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in random_traces(mix, range(examples(12)), tmp_path):
        sizes = small(path, draw)
        for level in some_levels(trace, draw, 2):
            compare(path, trace, level, sizes, seen)
    assert seen.total(), seen


def test_scans_of_what_nobody_knows_agree_with_the_whole(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in unheard_traces(range(examples(40)), tmp_path):
        for level in some_levels(trace, draw, 2):
            compare(path, trace, level, small(path, draw), seen)
    assert seen["valid in several"], seen


SIMULATED = History(transactions=300, sessions=6, keys=20, operations=5)


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("promised", ["si", pytest.param("ser", marks=FULL), pytest.param("rc", marks=FULL)])
def test_what_clients_wrote_between_each_other(
    promised: str, kind: str, recorded: str, tmp_path: Path
) -> None:
    seen: Counter[str] = Counter()
    for path, trace, draw in simulated_traces(
        SIMULATED, promised, kind, recorded, range(examples(3)), tmp_path
    ):
        sizes = middling(path, draw)
        for level in some_levels(trace, draw, 2):
            compare(path, trace, level, sizes, seen)
    assert seen.total(), seen


def misled(task: Cut, draw: random.Random) -> Seam | None:
    """A seam that lies: transactions of its window are on the other side or cross it, keys hold what they do not."""
    found = seam(task)
    if found is None:
        return None
    standing = found.standing
    blocks = SlicedBlocks(task.trace, task.at, found.at, task.line, goes_on=True, smallest=1 << 20)
    blocks.forget_initial()
    held = [a + b for a, b in zip(task.standing.held, blocks.more(1 << 30), strict=True)]
    block = blocks.parsed([a + b for a, b in zip(held, standing.held, strict=True)])
    place = places(block)
    right = np.isin(place, places(blocks.parsed(standing.held)))
    pinned = np.isin(place, list(standing.pins))
    whole = (block.trace.txn_outcome == Outcome.COMMITTED) & ~pinned
    changed = whole & np.array([draw.random() < 0.2 for _ in place], bool)
    right ^= changed
    if find_level(task.level).points == 2:
        crossing = whole & np.array([draw.random() < 0.1 for _ in place], bool)
        right |= crossing
        pinned |= crossing
    pins = {int(p): standing.pins.get(int(p), standing.points - 1) for p in place[pinned]}
    live = dict(standing.live)
    for key in draw.sample(sorted(live), min(len(live), 2)):
        live[key] = live[draw.choice(sorted(live))] if draw.random() < 0.8 else (None, -1, -1)
    lied = replace(
        standing,
        live=live,
        held=block.lines_of(right),
        pins=pins,
        pinned_lines=[lines.number for lines in block.lines_of(pinned)],
        lost=standing.lost if draw.random() < 0.7 else {},
    )
    return replace(found, standing=lied)


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.parametrize(
    "kind", [kind if kind == "registers" else pytest.param(kind, marks=FULL) for kind in KINDS]
)
def test_seams_that_lie_cost_time_and_nothing_else(
    kind: str, recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()
    like = replace(SIMULATED, transactions=150)
    for path, trace, draw in simulated_traces(like, "si", kind, recorded, range(examples(5)), tmp_path):
        monkeypatch.setattr("boomslang.stretches.check.seam", partial(misled, draw=draw))
        for level in some_levels(trace, draw, 3):
            compare(path, trace, level, middling(path, draw), seen)
    assert seen.total() > seen["on one machine"], seen


@pytest.mark.parametrize(
    "plant",
    [
        plant if plant == "lost-update" else pytest.param(plant, marks=FULL)
        for plant in PLANTS
        if plant != "none"
    ],
)
def test_what_is_planted_is_found_in_a_stretch(plant: str, tmp_path: Path) -> None:
    history = replace(SIMULATED, transactions=600, keys=200, times=True, plant=plant, plant_at=0.7)
    path = tmp_path / "trace.jsonl"
    generate(history, path)
    trace, seen = read_trace(path), Counter[str]()
    total = path.stat().st_size
    for level in CUT:
        if level.short in ("ser", "sser", "si", "strong-si"):
            compare(path, trace, level, Sizes(total // 4, total // 20, 20, 1000), seen)
    assert seen.total() > seen["on one machine"], seen


@pytest.mark.parametrize(
    ("promised", "level", "folder"),
    [
        ("ser", "ser", True),
        ("si", "strong-session-si", False),
        pytest.param("ser", "ser", False, marks=FULL),
        pytest.param("si", "strong-session-si", True, marks=FULL),
    ],
)
def test_most_stretches_fit_at_once(promised: str, level: str, folder: bool, tmp_path: Path) -> None:
    """What a database with a few clients does is decided by the stretches, and seldom twice."""
    history = replace(
        SIMULATED,
        transactions=3000,
        keys=500,
        sessions=8,
        times=True,
        folder=folder,
        level=promised,
    )
    path = tmp_path / ("trace" if folder else "trace.jsonl")
    generate(history, path)
    total = bytes_of(path)
    found = compare(
        path, read_trace(path), find_level(level), Sizes(total // 5, total // 40, 40, 1000), Counter()
    )
    assert found is not None and found[1] == "valid"
    cost = found[0]
    assert cost.slices == 5 and cost.seams >= 3 and cost.stretches <= 8, cost

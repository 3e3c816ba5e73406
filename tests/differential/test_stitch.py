"""An order that is replayed in parts is judged as one that is replayed from its first point to its last.

The yardstick is that second way, written down plainly. Orders come from the engine (they explain the trace), from the
rank (they mostly do not), and from either with points exchanged, moved, left out or there twice.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.effort import examples

from boomslang.asg.graph import build_asg
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.ir.model import IR, Dependency
from boomslang.levels import LEVELS
from boomslang.levels.level import Point
from boomslang.levels.needs import lacks
from boomslang.solve.solution import Limits
from boomslang.solve.strategy import solve
from boomslang.trace.model import NO_TIME, Outcome
from boomslang.windows import _windows
from boomslang.windows.rank import ranked_points
from boomslang.windows.solve import _made
from boomslang.windows.worth import fits_windows

WALKED = [level for level in LEVELS if fits_windows(level)]
ABSENT, PRESENT, UNKNOWN = -1, -2, -3
IN, OUT = 0, 2


def plainly(ir: IR, order: list[int], initial: dict[int, int]) -> bool:
    """From the first point to the last."""
    asg, points, trace = ir.asg, ir.graph.points, ir.asg.trace
    at = {point: i for i, point in enumerate(order)}
    if len(at) != len(order):
        return False
    for t in range(asg.transactions):
        begin, commit = at.get(t * points), at.get(t * points + points - 1)
        if (begin is None) != (commit is None) or (begin is not None and begin > (commit or 0)):
            return False
        if (asg.state[t] == IN and begin is None) or (asg.state[t] == OUT and begin is not None):
            return False
    edges = [ir.list_order()]
    edges += [(a, b) for a, b, kind in ir.graph.chunks if kind is not Dependency.RT]
    for sources, targets in edges:
        for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
            if a in at and b in at and at[a] > at[b]:
                return False
    overlap = points == 2 and ir.level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT)
    real_time = ir.level.has(Dependency.RT)
    store = {k: initial.get(k, ABSENT) if v == UNKNOWN else v for k, v in enumerate(asg.initial.tolist())}
    written: dict[int, int] = {}
    begun: list[tuple[int, int]] = []  # clock, time
    for i, point in enumerate(order):
        t = point // points
        if point % points == 0:
            for r in range(asg.read_start[t], asg.read_start[t + 1]):
                value, pattern = store[int(asg.read_key[r])], asg.read_value[r]
                if value == ABSENT if pattern == PRESENT else value != pattern:
                    return False
            if trace.txn_begin[asg.txn_of[t]] != NO_TIME:
                begun.append((trace.txn_clock[asg.txn_of[t]], trace.txn_begin[asg.txn_of[t]]))
        if point % points == points - 1:
            for w in np.flatnonzero(asg.write_txn == t):
                key = int(np.searchsorted(asg.key_start, w, "right")) - 1
                if overlap and written.get(key, -1) > at[t * points]:
                    return False
                store[key], written[key] = asg.write_value[w], i
            end, clock = trace.txn_end[asg.txn_of[t]], trace.txn_clock[asg.txn_of[t]]
            returned = asg.outcome[t] == Outcome.COMMITTED and asg.ordered[t] and end != NO_TIME
            if real_time and returned and any(c == clock and time > end for c, time in begun):
                return False
    return True


def disturbed(order: list[int], draw: random.Random) -> list[int]:
    order = list(order)
    if len(order) > 1:
        a, b = draw.randrange(len(order)), draw.randrange(len(order))
        match draw.randrange(7):
            case 0:
                order[a], order[b] = order[b], order[a]
            case 1:
                order.insert(b, order.pop(a))
            case 2:
                order.pop(a)
            case 3:
                order[a] = order[b]
            case 4:
                order.insert(a, order[b])
            case 5:
                at = draw.randrange(len(order) - 1)
                order[at : at + 2] = order[at : at + 2][::-1]
    return order


@pytest.mark.parametrize("mix", MIXES)
def test_parts_judge_as_the_whole_does(mix: str) -> None:
    judged: Counter[bool] = Counter()
    for seed in range(7000, 7008 + examples(20)):
        draw, trace = random.Random(seed), random_trace(seed, mix)
        asg = build_asg(trace)
        if first_broken(asg) is not None:
            continue
        for level in draw.sample(WALKED, 2):
            if lacks(level, trace):
                continue
            ir = lower(asg, level)
            if (ranked := ranked_points(ir, Limits())) is None:
                continue
            windows = _made(ir, ranked, False, 1)
            found = solve(ir, Limits(window=0))
            chosen: dict[int, int] = {}
            orders = [ranked.points.tolist()]
            if found.status == "valid":
                chosen = {
                    k: v
                    for k, (v, before) in enumerate(
                        zip(found.initial.tolist(), asg.initial.tolist(), strict=True)
                    )
                    if before == UNKNOWN and v >= ABSENT
                }
                orders += 4 * [found.order.tolist()]
            for order in orders:
                tried = disturbed(order, draw)
                expected = plainly(ir, tried, chosen)
                judged[expected] += 1
                for jobs in (1, 2, 3, 7):
                    told = windows.explains(tried, list(chosen.items()), jobs)
                    assert told == expected, (mix, seed, level.name, jobs, tried)
    assert judged[True] and judged[False], judged


@pytest.mark.parametrize("points", [1, 2])
def test_turns_are_the_same_in_parts(points: int) -> None:
    draw = np.random.default_rng(3)
    for _ in range(examples(200)):
        txns = int(draw.integers(1, 60))
        begins = draw.integers(0, 30, txns)
        ends = begins + draw.integers(0, 8, txns)
        for column in (begins, ends):
            column[draw.random(txns) < 0.1] = NO_TIME
        state = draw.choice(np.array([0, 0, 0, 1, 2], np.uint8), txns)
        whole = _windows.in_turn(begins, ends, state, points)
        for jobs in (2, 3, 8):
            parts = _windows.in_turn(begins, ends, state, points, jobs, 1)
            assert [a.tolist() for a in parts] == [a.tolist() for a in whole]

"""One pass through a trace changes no answer: what it calls valid is valid, with an order that replays.

The whole is the yardstick, and the program that replays knows nothing of walks. A walk that finds no order says
nothing, so what is counted, too, is how often it finds one: of traces that a database could have made, nearly always.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from fuzz.traces import MIXES, random_trace
from support.effort import examples
from support.histories import Absent, Op, Txn, get, history, put, txn

from boomslang import Trace, check
from boomslang.asg.graph import build_asg
from boomslang.certify.replay import replay
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, Level, find_level
from boomslang.levels.needs import lacks
from boomslang.solve.brute import brute
from boomslang.solve.solution import Limits, witness
from boomslang.solve.strategy import solve
from boomslang.windows.solve import WALK_STRETCH, walk_through
from boomslang.windows.worth import fits_windows

WALKED = [level for level in LEVELS if fits_windows(level)]
SMALL = [name for name in MIXES if not name.startswith("crowd")]


def walked(trace: Trace, level: Level, jobs: int = 1, stretch: int = WALK_STRETCH) -> str:
    """How the walk came by an order (which is replayed); nothing, if it found none."""
    ir = lower(build_asg(trace), level)
    found, did = walk_through(ir, Limits(jobs=jobs), in_time=jobs == 1, stretch=stretch)
    if found is None:
        return ""
    assert found.status == "valid"
    replay(trace, witness(ir, found))
    how = "mended" if did["windows: marks"] else "straight"
    return f"{how}, in stretches" if did["windows: stretches"] > 1 else how


@pytest.mark.parametrize("mix", MIXES)
def test_what_a_walk_finds_the_whole_finds(mix: str) -> None:
    for seed in range(2000, 2000 + examples(60)):
        draw, trace = random.Random(seed), random_trace(seed, mix)
        asg = build_asg(trace)
        if first_broken(asg) is not None:
            continue
        for level in draw.sample(WALKED, 3):
            if lacks(level, trace):
                continue
            expected = solve(lower(asg, level), Limits(window=0)).status
            how = walked(trace, level, draw.choice((1, 2, 4)), draw.choice((1, 5, 40)))
            assert not how or expected == "valid", (mix, seed, level.name)


@pytest.mark.parametrize("mix", SMALL)
def test_what_a_walk_finds_brute_force_finds(mix: str) -> None:
    for seed in range(3000, 3000 + examples(30)):
        trace = random_trace(seed, mix)
        if first_broken(build_asg(trace)) is not None:
            continue
        level = random.Random(seed).choice([level for level in WALKED if not lacks(level, trace)])
        if walked(trace, level):
            assert brute(trace, level.name), (mix, seed, level.name)


def as_a_database_would(seed: int, transactions: int, **how: Any) -> Trace:
    return history(*side_by_side(seed, transactions, **how))


def side_by_side(
    seed: int,
    transactions: int,
    *,
    snapshot: bool,
    late: int = 0,
    keys: int = 40,
    sessions: int = 8,
    values: int = 10**9,
) -> list[Txn]:
    """Clients side by side; each transaction reads and writes in one moment of its time, or reads where it began and
    loses against whoever wrote a key of its own meanwhile. `late`: answers may take so long that others overtake
    them. `values`: so many there are."""
    draw = random.Random(seed)
    free = [0] * sessions
    moments: list[tuple[int, int, int, int]] = []  # snapshot, commit, begin, end
    plans: list[tuple[int, list[int], list[int]]] = []
    for _ in range(transactions):
        s = min(range(sessions), key=free.__getitem__)
        begin = free[s] + draw.randint(1, 4)
        first = begin + draw.randint(1, 3 + late)
        commit = first + (draw.randint(1, 40) if snapshot else 0)
        end = commit + draw.randint(1, 3 + late)
        free[s] = end
        moments.append((first, commit, begin, end))
        plans.append(
            (s, draw.sample(range(keys), draw.randint(0, 3)), draw.sample(range(keys), draw.randint(0, 2)))
        )
    happens = sorted(
        [(m[0], 2 * n) for n, m in enumerate(moments)] + [(m[1], 2 * n + 1) for n, m in enumerate(moments)]
    )
    state: dict[int, int] = {}
    written: dict[int, int] = {}
    saw: dict[int, list[Op]] = {}
    made: list[Txn] = []
    for at, (_, point) in enumerate(happens):
        n = point // 2
        s, reads, writes = plans[n]
        if point % 2 == 0:
            saw[n] = [get(k, state.get(k, Absent)) for k in reads]
            moments[n] = (at, *moments[n][1:])
            continue
        if snapshot and any(written.get(k, -1) > moments[n][0] for k in writes):
            continue  # first committer wins; the loser is not in the trace
        for k in writes:
            state[k], written[k] = (10 * n + k % 10) % values, at
        puts = [put(k, state[k]) for k in writes]
        made.append(txn(f"s{s}", *saw[n], *puts, time=(moments[n][2], moments[n][3])))
    made.sort(key=lambda t: t.begin or 0)
    return made


def with_a_stale_read(txns: list[Txn], places: range, draw: random.Random) -> list[Txn]:
    """One of these transactions has read an older value of a key."""
    found = []
    for n in places:
        for at, op in enumerate(txns[n].ops):
            older = [
                o for t in txns[max(0, n - 60) : n - 5] for o in t.ops if o.kind == "put" and o.key == op.key
            ]
            if op.kind == "get" and len(older) > 1 and older[-2].value != op.value:
                found.append((n, at, older[-2].value))
    n, at, value = draw.choice(found)
    ops = list(txns[n].ops)
    ops[at] = replace(ops[at], value=value)
    return [*txns[:n], replace(txns[n], ops=tuple(ops)), *txns[n + 1 :]]


@pytest.mark.parametrize("short", ["ser", "sser", "si", "strong-si", "prefix", "strong-session-ser"])
def test_a_serializable_database_is_walked_through(short: str) -> None:
    how: Counter[str] = Counter()
    for seed in range(examples(12)):
        trace = as_a_database_would(seed, 400, snapshot=False, late=seed % 4)
        how[walked(trace, find_level(short), 1 + seed % 2)] += 1
    assert how["straight"] > how["mended"] + how[""], how


@pytest.mark.parametrize("short", ["ser", "sser", "si", "strong-si", "prefix", "strong-session-ser"])
def test_threads_that_walk_through_a_stretch_each_find_an_order_of_the_whole(short: str) -> None:
    how: Counter[str] = Counter()
    for seed in range(examples(6)):
        trace = as_a_database_would(seed, 1_600, snapshot=False, late=seed % 4, keys=(40, 400)[seed % 2])
        how[walked(trace, find_level(short), 2 + seed % 3, 500)] += 1
    assert how["straight, in stretches"] + how["mended, in stretches"] > 0.8 * how.total(), how


def test_a_stale_read_where_one_thread_takes_over_from_another_is_seen() -> None:
    invalid = 0
    for seed in range(examples(15)):
        made = side_by_side(seed, 600, snapshot=False)
        trace = history(*with_a_stale_read(made, range(290, 320), random.Random(seed)))
        for short in ("sser", "strong-si", "ser"):
            level = find_level(short)
            expected = solve(lower(build_asg(trace), level), Limits(window=0)).status
            invalid += expected == "invalid"
            assert not walked(trace, level, 2, 100) or expected == "valid", (seed, short)
    assert invalid > examples(15)


@pytest.mark.parametrize("short", ["si", "strong-si", "prefix"])
def test_a_database_of_snapshots_is_walked_through(short: str) -> None:
    how: Counter[str] = Counter()
    for seed in range(examples(12)):
        how[walked(as_a_database_would(seed, 400, snapshot=True), find_level(short))] += 1
    assert how["straight"] + how["mended"] > how[""], how


@pytest.mark.parametrize("short", ["ser", "sser", "si", "strong-si", "prefix"])
def test_where_a_walk_does_not_go_on_the_engine_mends_it(short: str) -> None:
    """Values that repeat say too little of who was read."""
    how: Counter[str] = Counter()
    for seed in range(examples(24)):
        trace = as_a_database_would(seed, 300, snapshot=False, late=3, values=40 + 20 * (seed % 3))
        how[walked(trace, find_level(short), 1 + seed % 2)] += 1
    assert how["mended"], how


def test_a_long_trace_is_walked_through_without_windows() -> None:
    trace = as_a_database_would(1, 9_000, snapshot=False, late=2, keys=1_000)
    for level in ("ser", "si"):
        verdict = check(trace, level)
        assert verdict.status == "valid"
        assert verdict.stats["windows: walked"] == 9_000 and verdict.stats["windows: windows"] == 0
        assert verdict.witness is not None
        replay(trace, verdict.witness)


def test_a_blind_write_that_nobody_read_may_have_come_first() -> None:
    """By the clock it came last; everybody reads the other one afterwards."""
    readers = [txn("r", get("x", 1), time=(100 + 10 * n, 105 + 10 * n)) for n in range(5)]
    trace = history(txn("a", put("x", 1), time=(0, 20)), txn("b", put("x", 2), time=(5, 30)), *readers)
    for level in WALKED:
        assert walked(trace, level), level.name


def test_an_invalid_trace_is_never_walked_through() -> None:
    skew = [
        txn("a", get("x", Absent), put("y", 1), time=(0, 20)),
        txn("b", get("y", Absent), put("x", 1), time=(5, 30)),
    ]
    trace = history(*skew)
    for level in WALKED:
        assert bool(walked(trace, level)) == (check(trace, level.name, window=0).status == "valid"), (
            level.name
        )

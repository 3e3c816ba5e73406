"""Windows change no answer: traces that are cut into windows of two transactions and more, against the whole.

`Limits.window` forces windows on traces of any size. Brute force and the other solvers have had their say on the whole
(test_differential.py); here the whole is the yardstick, and every witness is replayed by the program that knows no
windows. What must not happen at all is a *misfit*: windows that hold each on its own, and not together.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.effort import examples
from support.histories import Absent, Op, Txn, delete, get, history, put, txn

from boomslang import Trace, check
from boomslang.asg.graph import OUT, build_asg
from boomslang.certify.refute import refute
from boomslang.certify.replay import replay
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, Level, find_level
from boomslang.levels.needs import lacks
from boomslang.solve.brute import brute
from boomslang.solve.solution import Limits, witness
from boomslang.solve.strategy import solve
from boomslang.trace import LimitReached
from boomslang.trace._reader import Reader
from boomslang.trace.model import NO_TIME
from boomslang.trace.reader import Limits as ReadingLimits
from boomslang.trace.reader import finish
from boomslang.windows._windows import in_turn
from boomslang.windows.solve import solve_in_windows
from boomslang.windows.worth import fits_windows

CUT = [level for level in LEVELS if fits_windows(level)]
SMALL = [name for name in MIXES if not name.startswith("crowd")]
CROWDS = [name for name in MIXES if name.startswith("crowd")]


def test_the_levels_that_are_asked_in_windows() -> None:
    assert {level.short for level in CUT} == {
        "ser", "sser", "si", "strong-si", "prefix",
        "strong-session-ser", "strong-session-sser", "strong-session-si", "strong-session-prefix",
    }  # fmt: skip


def compare(
    trace: Trace, levels: Iterable[Level], sizes: Iterable[int], seen: Counter[str], draw: random.Random
) -> None:
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return
    for level in levels:
        if lacks(level, trace):
            continue
        expected = solve(lower(asg, level), Limits(window=0)).status
        for size in sizes:
            ir = lower(asg, level)
            jobs, in_time = draw.choice((1, 1, 2)), draw.random() < 0.5
            found, did = solve_in_windows(ir, Limits(window=size, jobs=jobs), in_time=in_time)
            about = level.name, size, jobs, in_time
            assert not did.get("windows: misfits"), about
            if found is None:
                seen["left to the whole"] += 1
                continue
            assert found.status == expected, about
            seen[f"{found.status} in {'several' if did['windows: windows'] > 1 else 'one'}"] += 1
            if found.status == "valid":
                replay(trace, witness(ir, found))


@pytest.mark.parametrize("mix", MIXES)
def test_windows_agree_with_the_whole(mix: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(examples(60)):
        draw = random.Random(seed)
        compare(random_trace(seed, mix), draw.sample(CUT, 3), (2, draw.randint(3, 9)), seen, draw)
    assert seen["valid in one"] + seen["valid in several"], seen


def test_both_answers_come_out_of_several_windows() -> None:
    seen: Counter[str] = Counter()
    for mix in CROWDS:
        for seed in range(500, 500 + examples(40)):
            draw = random.Random(seed)
            compare(random_trace(seed, mix), draw.sample(CUT, 3), (2, 4), seen, draw)
    assert seen["valid in several"] > 20 and seen["invalid in several"] > 5, seen


def test_a_read_of_somebody_who_was_left_out_is_left_to_the_whole() -> None:
    """A transaction of unknown outcome that ranks behind its only reader stands in no window: the one window that is
    left in the end then demands what nothing leaves, and may not be taken for an answer."""
    asg = build_asg(random_trace(531, "crowd-in-doubt"))
    for short in ("sser", "strong-session-si"):
        ir = lower(asg, find_level(short))
        found, did = solve_in_windows(ir, Limits(window=2, jobs=1))
        assert found is None and "windows: misfits" not in did and did["windows: windows"] <= 1
        assert solve(ir, Limits(window=0)).status == "valid"


@pytest.mark.parametrize("mix", SMALL)
def test_windows_agree_with_brute_force(mix: str) -> None:
    for seed in range(1000, 1000 + examples(30)):
        trace = random_trace(seed, mix)
        asg = build_asg(trace)
        if first_broken(asg) is not None:
            continue
        level = random.Random(seed).choice([level for level in CUT if not lacks(level, trace)])
        found, _ = solve_in_windows(lower(asg, level), Limits(window=2, jobs=1))
        if found is not None:
            assert (found.status == "valid") == brute(trace, level.name), (mix, seed, level.name)


def timed(at: int, *ops: Op, session: str = "a", lasts: int = 9) -> Txn:
    return txn(session, *ops, time=(at, at + lasts))


def among_others(transactions: int, *planted: Txn) -> Trace:
    """These, among transactions one after the other, each of which reads a key and writes another."""
    draw, state, rows = random.Random(1), {}, list(planted)
    for t in range(transactions):
        read, written = draw.sample(range(12), 2)
        rows.append(
            timed(10 * t, get(read, state.get(read, Absent)), put(written, t), session=f"other {t % 4}")
        )
        state[written] = t
    return history(*sorted(rows, key=lambda row: row.begin or 0))


@pytest.mark.parametrize("apart", [10, 50, 400, 1500])
@pytest.mark.parametrize("level", ["serializable", "snapshot-isolation", "strict-serializable"])
def test_a_lost_update_whose_parts_are_in_other_windows(apart: int, level: str) -> None:
    """Two read the same version of a key, far apart, and both overwrite it: across one, two and many cuts."""
    trace = among_others(
        200,
        timed(200, get("account", Absent), put("account", "a")),
        timed(200 + apart, get("account", Absent), put("account", "b"), session="b"),
    )
    for size in (2, 7, 50):
        verdict = check(trace, level, window=size, jobs=2)
        assert verdict.invalid, size
        assert verdict.counterexample is not None
        assert len(verdict.counterexample.core.transactions) == 2
        refute(trace, verdict.counterexample.core)


@pytest.mark.parametrize("apart", [10, 300, 1500])
def test_a_stale_read_that_reaches_far_back(apart: int) -> None:
    """It reads what was overwritten long ago: serializable, by an order far from the rank, and not strictly so."""
    trace = among_others(
        200,
        timed(100, put("news", "old")),
        timed(150, put("news", "new"), session="b"),
        timed(160 + apart, get("news", "old"), session="c"),
    )
    for size in (2, 10, 50):
        for level, holds in (("ser", True), ("si", True), ("sser", False), ("strong-si", False)):
            assert check(trace, level, window=size).valid == holds, (size, level)


@pytest.mark.parametrize("lasts", [15, 300, 1500])
def test_a_transaction_that_spans_many_windows(lasts: int) -> None:
    """A snapshot is read at its begin and written at its commit; nobody else may write its key between."""
    long = timed(200, get("own", Absent), put("own", "mine"), lasts=lasts)
    other = timed(205 + lasts // 2, get("own", Absent), put("own", "other"), session="b", lasts=2)
    alone, both = among_others(200, long), among_others(200, long, other)
    for size in (2, 6, 50):
        verdict = check(alone, "strong-si", window=size)
        assert verdict.valid and verdict.witness is not None
        replay(alone, verdict.witness)
        assert check(both, "strong-si", window=size).invalid


def test_two_long_ones_that_write_the_same_key_blindly() -> None:
    """They overlap in time, which says nothing of their begins and commits: one is before the other."""
    trace = among_others(
        100,
        timed(100, put("own", "a"), lasts=700),
        timed(300, put("own", "b"), session="b", lasts=400),
    )
    for size in (2, 5, 30):
        verdict = check(trace, "strong-si", window=size)
        assert verdict.valid and verdict.witness is not None
        replay(trace, verdict.witness)


def test_found_deletes_demand_any_value_across_windows() -> None:
    made = []
    for n in range(60):
        made.append(timed(20 * n, put("k", n), lasts=5))
        made.append(timed(20 * n + 6, delete("k", found=True), lasts=3))
    trace = history(*made)
    for level in CUT:
        for size in (2, 3, 7):
            found, did = solve_in_windows(lower(build_asg(trace), level), Limits(window=size, jobs=1))
            assert found is not None and found.status == "valid", (level.name, size)
            assert not did.get("windows: misfits")


def test_a_limit_is_an_unknown_answer_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an exception: what was kept of the time is for saying what is known all the same."""

    def too_long(*_: object) -> None:
        raise LimitReached("time")

    monkeypatch.setattr(sys.modules["boomslang.windows.solve"], "ranked_points", too_long)
    verdict = check(among_others(20), "ser", window=5)
    assert (verdict.status, verdict.reason) == ("unknown", "the time limit was reached")


def test_the_number_of_jobs_changes_no_witness() -> None:
    trace = among_others(300)
    made = [check(trace, "ser", window=10, jobs=jobs).witness for jobs in (1, 2, 2)]
    assert made[0] is not None and len(made[0].order) == 300
    assert all(w is not None and np.array_equal(made[0].order, w.order) for w in made)


def serial_history(transactions: int, sessions: int) -> Trace:
    """One transaction after the other, each in one of the sessions by turns: eight operations on 400 keys."""
    draw = random.Random(transactions)
    lines, state = ['{"boomslang":1}'], [0] * 400
    for t in range(transactions):
        name = f'"session":"s{t % sessions}","txn":{t}'
        lines.append(f'{{{name},"op":"begin","invoke":{20 * t},"return":{20 * t + 1}}}')
        for i in range(8):
            key, at = draw.randrange(400), f'"invoke":{20 * t + i + 1},"return":{20 * t + i + 2}'
            if i % 2 == 0:
                state[key] = 8 * t + i + 1
                lines.append(f'{{{name},"op":"put","key":{key},"value":{state[key]},{at}}}')
            elif state[key]:
                lines.append(f'{{{name},"op":"get","key":{key},"value":{state[key]},{at}}}')
            else:
                lines.append(f'{{{name},"op":"get","key":{key},"absent":true,{at}}}')
        lines.append(f'{{{name},"op":"commit","invoke":{20 * t + 10},"return":{20 * t + 15}}}')
    reader = Reader()
    reader.begin_file("", None)
    reader.feed("\n".join([*lines, ""]).encode())
    reader.end_file()
    return finish(reader, ReadingLimits())


def test_the_number_of_jobs_changes_no_witness_of_a_long_trace() -> None:
    """So many writes that all threads share in putting them in order, and many more windows than are made ahead."""
    trace = serial_history(30_000, 7)
    for level in ("ser", "si"):
        made = [check(trace, level, window=150, jobs=jobs) for jobs in (1, 2, 3)]
        orders = [verdict.witness.order for verdict in made if verdict.witness is not None]
        assert len(orders) == 3 and len(orders[0]) == 30_000 * (2 if level == "si" else 1)
        assert all(np.array_equal(orders[0], order) for order in orders)
        assert all(verdict.stats["windows: windows"] > 100 for verdict in made)


def test_begins_and_commits_are_put_in_turn() -> None:
    """As one stable sort of both would have them: at one time a begin before its own commit, and else as they stand."""
    draw = np.random.default_rng(3)
    for _ in range(300):
        count, latest = int(draw.integers(0, 60)), int(draw.integers(1, 90))
        ends = draw.integers(0, latest, count)
        if draw.random() < 0.5:
            ends = np.sort(ends)
        begins = np.minimum(draw.integers(0, latest, count), ends)
        inside = np.sort(draw.choice(3 * count + 1, count, replace=False)).astype(np.int64)
        points = np.stack([2 * inside, 2 * inside + 1], axis=1).ravel()
        wanted = points[np.argsort(np.stack([begins, ends], axis=1).ravel(), kind="stable")]
        state = np.full(3 * count + 1, OUT, np.uint8)
        state[inside] = 0
        all_begins, all_ends = draw.integers(0, latest, (2, len(state)))
        all_begins[inside], all_ends[inside] = begins, ends
        # Whoever has no times of its own, stands where the other one is.
        all_begins[inside[begins == ends]] = draw.choice((NO_TIME, latest))
        found, after = in_turn(all_begins, all_ends, state, 2, 2)
        assert np.array_equal(found, wanted)
        only, same = in_turn(all_begins, all_ends, state, 1)
        assert np.array_equal(only, wanted[wanted % 2 == 1] // 2) and np.array_equal(after, same)
        place = np.full(6 * count + 2, -1)
        place[wanted] = np.arange(2 * count)
        for t in inside.tolist():
            before = [p // 2 for p in wanted[: place[2 * t]].tolist() if p % 2 == 1]
            assert after[t] == (before[-1] if before else -1)

"""All violations are listed: each is one on its own, none twice, and without one read of each the trace is valid."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.anomalies import CASES, Case
from support.histories import Txn, append, delete, get, history, list_, put, txn
from support.planted import PLANTS, Plant

from boomslang import LEVELS, Checker, Level, Trace, TraceBuilder, read_trace
from boomslang.asg import ASG, build_asg
from boomslang.certify.refute import refute
from boomslang.explain.all_violations import Violations, all_violations, in_batches
from boomslang.explain.core import breaks
from boomslang.explain.known import clashes
from boomslang.explain.rest import Rest
from boomslang.levels import find_level
from boomslang.solve.solution import Limits


def listed(trace: Trace, level: str | Level, *modules: str, told: int = 0) -> Violations:
    checker = Checker(trace, modules=modules)
    first = checker.check(level).counterexample
    assert first is not None
    return all_violations(checker.asg, find_level(level), first, Limits(), told=told)


def examine(made: Violations, trace: Trace, *, by_z3: bool = True) -> None:
    """Each is a violation on its own, and none is listed twice."""
    sets = [tuple(sorted({*v.found.core.transactions, *v.found.candidates})) for v in made.found]
    assert len(set(sets)) == len(sets)
    for one in made.found if by_z3 else ():
        assert refute(trace, one.core), one.text


def counts(made: Violations) -> dict[str, int]:
    return {name: len(group) for (_, name), group in made.groups.items()}


@pytest.mark.parametrize("case", [case for case in CASES if case.breaks], ids=lambda case: case.name)
def test_every_textbook_case_at_every_level_that_it_breaks(case: Case) -> None:
    trace = case.build()
    for level in case.breaks:
        made = listed(trace, level)
        examine(made, trace)
        assert made.complete and made.found


def random_histories(mix: str, seeds: range) -> None:
    """The list is empty if the level holds; what is known never shows more than the engine refutes."""
    for seed in seeds:
        trace = random_trace(seed, mix)
        checker = Checker(trace)
        for level in LEVELS[seed % 8 :: 8]:
            verdict = checker.check(level)
            if level.observes:
                each_is_refuted(checker.asg, level, verdict.valid)
            if verdict.counterexample is None:
                continue
            made = all_violations(checker.asg, level, verdict.counterexample, Limits(), told=seed % 3)
            examine(made, trace, by_z3=seed % 4 == 0 and len(trace) < 20)
            assert made.complete or made.reason


def each_is_refuted(asg: ASG, level: Level, holds: bool) -> None:
    found = [clash.parts for clash in clashes(asg, level, Limits()).found]
    assert not (holds and found)
    for small, inside in in_batches(asg, found):
        assert breaks(small.restrict(inside.transactions, inside.reads, inside.internal), level)


@pytest.mark.parametrize("mix", MIXES)
def test_random_histories(mix: str) -> None:
    random_histories(mix, range(9_000, 9_000 + (8 if len(random_trace(9_000, mix)) < 20 else 1)))


@pytest.mark.full
@pytest.mark.parametrize("mix", MIXES)
def test_many_more_random_histories(mix: str) -> None:
    random_histories(mix, range(10_000, 10_200 if len(random_trace(9_000, mix)) < 20 else 10_010))


def copies(what: Plant, many: int) -> Trace:
    """The script of a plant on many sets of keys."""
    transactions = []
    for n in range(many):
        for i, role in enumerate(what.script):
            begin, end = (100 * n + i, 100 * n + i) if what.in_a_row else (100 * n, 100 * n + 9)
            ops = tuple(
                op.__class__(**{**vars(op), "key": f"{op.key}.{n}", "low": f"{op.low}.{n}", "high": f"{op.high}.{n}",
                                "items": tuple((f"{k}.{n}", v) for k, v in op.items)})
                for op in role.ops
            )  # fmt: skip
            transactions.append(Txn(f"{role.session}{n}", ops, role.outcome, begin, end))
    return history(*transactions)


@pytest.mark.parametrize("what", PLANTS, ids=lambda p: p.name)
def test_each_of_many_copies_is_listed_once(what: Plant) -> None:
    trace = copies(what, 5)
    for level in what.levels:
        made = listed(trace, level)
        examine(made, trace, by_z3=False)
        assert made.complete
        if "phantom" not in what.name:  # their ranges hold each other's keys
            assert sum(counts(made).values()) == 5, (level, [v.text for v in made.found])
            assert counts(made).get(what.anomaly, 0) >= 1


def test_updates_that_were_lost_are_counted_one_by_one() -> None:
    five = [txn(s, get("x", 0), put("x", n)) for n, s in enumerate("abcde", 1)]
    for level in ("si", "ser", "pl-2+", "cs", "rr"):
        made = listed(history(*five, initial={"x": 0}), level)
        assert counts(made) == {"lost update": 4} and made.complete, level


def test_lists_deletes_and_unknown_outcomes() -> None:
    trace = history(
        txn("a", append("l", 1), append("m", 1)),
        txn("b", append("l", 2), append("m", 2)),
        txn("c", list_("l", [1, 2]), list_("m", [2, 1])),
        txn("d", put("x", 1), outcome="unknown"),
        txn("e", get("x", 1), get("y", 7)),
        txn("f", delete("z", True)),
        txn("g", put("q", 1), outcome="aborted"),
        txn("h", get("q", 1), get("q", 1)),
    )
    made = listed(trace, "ser")
    examine(made, trace)
    assert made.complete
    assert counts(made) == {"read from nowhere": 2, "aborted read": 1, "dirty write": 1}


def test_read_uncommitted_too() -> None:
    trace = copies(next(p for p in PLANTS if p.name == "dirty write"), 3)
    made = listed(trace, "ru")
    examine(made, trace)
    assert made.complete and counts(made) == {"dirty write": 3}


def test_those_that_are_told_have_a_story() -> None:
    trace = copies(PLANTS[0], 5)
    made = listed(trace, "si", told=2)
    stories = [v.found for v in made.found if v.found.minimal]
    assert len(stories) == 3
    assert all(len(list(s.lines())) > 4 for s in stories)


def with_timestamps(rng: np.random.Generator, many: int) -> tuple[Trace, int]:
    """A history of snapshots with timestamps, and how many of its reads miss what was committed before them."""
    state: list[dict[int, int]] = [{}]
    builder, stale, value = TraceBuilder(), 0, 0
    for i in range(many):
        seen = state[max(0, len(state) - 1 - int(rng.integers(0, 3)))]
        keys = [int(k) for k in rng.choice(8, 3, replace=False)]
        with builder.transaction(session=f"s{i % 4}", ctx={"start": 2 * i, "commit": 2 * i + 1}) as t:
            for key in keys[:2]:
                if key in seen:
                    t.get(key, seen[key])
                    stale += seen[key] != state[-1][key]
            value += 1
            t.put(keys[2], value)
        state.append({**state[-1], keys[2]: value})
    return builder.build(), stale


def test_with_commit_timestamps_every_stale_read_is_listed() -> None:
    """As TimeKiller counts them, but that no two are of the same transactions."""
    trace, stale = with_timestamps(np.random.default_rng(1), 100)
    made = listed(trace, "ser", "commit-timestamps")
    assert made.complete
    assert 0.9 * stale <= len(made.found) <= stale + 1  # the first breaks the level without them
    examine(made, trace, by_z3=False)


def test_modules_that_say_more_than_edges() -> None:
    trace = history(
        *(txn("a", put("x", n)) for n in (1, 2)),
        *(txn("b", get("x", n)) for n in (1, 2, 1)),
    )
    made = listed(trace, "rc", "monotonic-reads")
    assert made.complete and made.found


def test_without_nothing_nothing_changes() -> None:
    asg = build_asg(copies(PLANTS[5], 1))
    rest = Rest(asg)
    nothing = np.zeros(0, np.int64)
    rest.take_out(nothing, nothing, nothing)
    assert rest.asg.read_writer.tolist() == asg.read_writer.tolist()
    assert rest.asg.state.tolist() == asg.state.tolist()


def test_timekillers_own_format(tmp_path: Path) -> None:
    txns = [
        {"tid": i, "sid": i, "sts": {"p": 2 * i, "l": 0}, "cts": {"p": 2 * i + 1, "l": 0}, "ops": ops}
        for i, ops in enumerate(
            (
                [{"t": "w", "k": 1, "v": 5}],
                [{"t": "w", "k": 1, "v": 6}],
                [{"t": "r", "k": 1, "v": 5}],
                [{"t": "r", "k": 1, "v": None}],
                [{"t": "r", "k": 1, "v": 6}],
            ),
            1,
        )
    ]
    path = tmp_path / "history.json"
    path.write_text(json.dumps(txns))
    made = listed(read_trace(path), "ser", "commit-timestamps")
    assert made.complete and counts(made) == {"stale read": 2}

"""Problems as columns: line by line what the passes for objects make, and the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from fuzz.traces import MIXES, random_trace
from support.effort import examples
from support.histories import append, get, history, list_, put, txn

from boomslang.asg import build_asg
from boomslang.explain.parts import first_broken
from boomslang.ir import IR, lower
from boomslang.levels import LEVELS, find_level
from boomslang.modules import find_modules
from boomslang.modules.module import prepare
from boomslang.passes import Problem, expand, merge, print_problem, prioritize, prune
from boomslang.passes.columns import Rows
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.windows import ColumnWindows
from boomslang.passes.problem import expand_objects
from boomslang.passes.segments import _Objects
from boomslang.solve.clock import Clock
from boomslang.trace import TraceBuilder

WAYS: list[tuple[Callable[[Problem], Problem], ...]] = [
    (prune,),
    (merge,),
    (prioritize,),
    (prune, merge, prioritize),
]


def in_columns(seeds: range) -> Iterator[tuple[str, IR, Problem]]:
    """Random traces at the levels at which they can be written as columns."""
    for seed in seeds:
        for mix in MIXES:
            asg = build_asg(random_trace(seed, mix))
            if first_broken(asg) is not None:
                continue
            for n, level in enumerate(LEVELS):
                if level.observes and (n + seed) % 3 == 0:
                    made = expand(ir := lower(asg, level))
                    if Columns.of(made) is not None:
                        yield f"{mix} {seed} {level.name}", ir, made


def same(one: Problem, two: Problem, what: str) -> None:
    assert list(print_problem(one)) == list(print_problem(two)), what
    assert one.refuted == two.refuted, what


def test_the_same_lines_as_objects() -> None:
    compared = 0
    for what, ir, columns in in_columns(range(examples(10))):
        objects = expand_objects(ir, Clock())
        same(columns, objects, what)
        assert dict(columns.fixed) == dict(objects.fixed), what
        compared += 1
        for way in WAYS:
            one, two = columns, objects
            for step in way:
                one, two = step(one), step(two)
                same(one, two, f"{what} {step.__name__}")
                if one.refuted:
                    break
    assert compared > 20


def test_the_same_windows_as_objects() -> None:
    for what, ir, columns in in_columns(range(1)):
        place = np.arange(ir.asg.transactions)
        made = Columns.of(columns)
        assert made is not None
        one, two = ColumnWindows(made, place), _Objects(expand_objects(ir, Clock()), place, Clock())
        for first in range(0, len(place), 2):
            inside = frozenset(range(first, min(first + 4, len(place))))
            same(one.window(first, first + 3, inside), two.window(first, first + 3, inside), what)


def test_what_is_written_as_columns() -> None:
    """What has a shape of its own stays objects; repeated values and lists do not."""
    plain = history(txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1)))
    lists = history(txn("A", append("x", 1)), txn("B", append("x", 2)), txn("C", list_("x", [1, 2])))
    doubtful = history(txn("A", put("x", 1), outcome="unknown"), txn("B", put("x", 2)))

    def columns(trace: object, level: str) -> bool:
        return Columns.of(expand(lower(build_asg(trace), find_level(level)))) is not None  # type: ignore[arg-type]

    assert columns(plain, "ser") and columns(plain, "si") and columns(lists, "strong-session-ser")
    assert not columns(doubtful, "ser") and not columns(plain, "causal")


def test_a_known_version_order_leaves_no_superposition() -> None:
    """Lists that show all appends, or hints that place all versions: nothing is left to choose, before any pass."""
    lists = history(txn("A", append("x", 1)), txn("B", append("x", 2)), txn("C", list_("x", [1, 2])))
    for level in ("ser", "si", "causal", "strong-session-ser"):
        ir = lower(build_asg(lists), find_level(level))
        assert not [s for s in expand(ir).superpositions if "wrote" in s.why], level
        assert not expand_objects(ir, Clock()).superpositions, level
    told = TraceBuilder()
    for version in (1, 2):
        with told.transaction() as t:
            t.put("x", version, ctx={"version": version})
    asg = prepare(build_asg(told.build()), find_modules(["version-order"]))
    assert not expand(lower(asg, find_level("ser"))).superpositions
    part = history(txn("A", append("x", 1)), txn("B", append("x", 2)), txn("C", list_("x", [1])))
    assert not expand(lower(build_asg(part), find_level("ser"))).superpositions, (
        "what was not read comes later"
    )
    unread = history(txn("A", append("x", 1)), txn("B", append("x", 2)))
    assert len(expand(lower(build_asg(unread), find_level("ser"))).superpositions) == 1


def test_rows() -> None:
    rows = Rows.of_lengths(np.array([2, 0, 1]), np.array([7, 8, 9], np.int32))
    assert rows.owner.tolist() == [0, 0, 2]
    assert rows.where(np.array([False, True, True])).cells.tolist() == [9]
    assert rows.take(np.array([2, 0])).cells.tolist() == [9, 7, 8]
    assert rows.only(np.array([False, True, True])).start.tolist() == [0, 1, 1, 2]
    assert rows.with_(rows).lengths.tolist() == [2, 0, 1, 2, 0, 1]


@pytest.mark.full
def test_ten_thousand_transactions() -> None:
    """The paper's size goes through every pass; of 400,000 superpositions few are left."""
    import random

    rng, state, number = random.Random(1), dict[int, int](), 0
    txns = []
    for i in range(10_000):
        ops = []
        for key in rng.sample(range(2_000), 8):
            if rng.random() < 0.5:
                number += 1
                state[key] = number
                ops.append(put(key, number))
            elif key in state:
                ops.append(get(key, state[key]))
        txns.append(txn(f"S{i % 32}", *ops))
    made = expand(lower(build_asg(history(*txns)), find_level("strong-session-ser")))
    assert len(made.superpositions) > 300_000
    smaller = prioritize(merge(prune(made)))
    assert not smaller.refuted and len(smaller.superpositions) < len(made.superpositions) / 10
    assert len(smaller.advice) > 0

"""What a hunt varies, and that it spends its time where near misses are."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from support.memory_store import Memory
from support.paths import ROOT

from boomslang import TraceBuilder
from boomslang.run import Variations, Varied, run
from boomslang.run.near_misses import NearMisses, near_misses
from boomslang.run.runner import Plan
from boomslang.trace import Absent, Trace, read_trace
from boomslang.workloads import find_workload

# --- near misses


def history(*transactions: tuple[int, int, str], values: str = "") -> Trace:
    """Transactions as (begin, end, operations): "x" reads x as it was initially, "x=" writes it."""
    builder = TraceBuilder(initial=dict.fromkeys("xyz", 0))
    for number, (begin, end, steps) in enumerate(transactions):
        with builder.transaction(session=str(number), begin=begin, end=end) as t:
            for step in steps.split():
                if step.endswith("="):
                    t.put(step[0], values or f"{number}")
                else:
                    t.get(step, 0)
    return builder.build()


def test_near_misses_at_births_are_told_apart() -> None:
    """Write skew of two that look for what is not there, and of two that overwrite what is."""
    builder = TraceBuilder(initial={"x": 0, "y": 0})
    for number, (mine, other) in enumerate((("x", "y"), ("y", "x"), ("new", "newer"), ("newer", "new"))):
        begin = 100 * (number // 2)
        with builder.transaction(session=str(number), begin=begin, end=begin + 10) as t:
            t.get(other, 0 if other in "xy" else Absent)
            t.put(mine, f"{number}")
    assert near_misses(builder.build()) == NearMisses(overwritten=4, dangerous=4, births=2)


def test_versions_that_a_reader_passed_over_are_counted() -> None:
    """x was overwritten twice while the first was at work; y twice, but the second time when nobody read any more."""
    twice = [(0, 50, "x"), (1, 10, "x="), (11, 20, "x="), (100, 120, "y"), (101, 130, "y="), (131, 140, "y=")]
    assert near_misses(history(*twice)) == NearMisses(overwritten=2, dangerous=0, births=0, passed=1)


@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        ([(0, 10, "x y="), (1, 11, "y x=")], NearMisses(2, 2)),  # write skew
        ([(0, 10, "x"), (11, 20, "x=")], NearMisses(0, 0)),  # one after the other
        ([(0, 10, "x"), (5, 20, "x=")], NearMisses(1, 0)),
        ([(0, 10, "x"), (5, 20, "x= y"), (6, 30, "y=")], NearMisses(2, 1)),  # a pivot, and no cycle
        ([(0, 10, "x x="), (5, 9, "y")], NearMisses(0, 0)),  # its own write
        ([(0, 10, "x x="), (5, 9, "x")], NearMisses(1, 0)),
    ],
)
def test_near_misses_of_small_histories(
    transactions: list[tuple[int, int, str]], expected: NearMisses
) -> None:
    assert near_misses(history(*transactions)) == expected
    assert near_misses(history(*transactions, values="7")) == expected, "whatever the values are"


def test_a_trace_without_times_has_none_that_are_known() -> None:
    assert near_misses(read_trace(ROOT / "docs/findings/duckdb-update-delete.jsonl")).dangerous == 0


def test_more_contention_comes_nearer(tmp_path: Path) -> None:
    def run_with(keys: int) -> int:
        workload = find_workload("blindw").with_settings(keys=keys, sessions=4, seed=1)
        store = Memory()
        ran = run(Plan(store, workload, store.level("broken"), txns=200), tmp_path / str(keys))
        return near_misses(read_trace(ran.folder)).overwritten

    assert run_with(10) > run_with(1000)


# --- variation


def test_half_of_the_runs_start_from_where_near_misses_were() -> None:
    row = Variations(find_workload("list-append"), {}, seed=1)
    made: list[Varied] = []
    for number, varied in enumerate(islice(row, 200)):
        made.append(varied)
        settings = varied.workload.settings
        row.learn(number, 100 if settings.appends == 3 and settings.keys == 2 else 0, 1.0)
    late = made[100:]
    led = [varied for varied in late if varied.parent is not None]
    assert 30 < len(led) < 70
    for varied in led:
        assert varied.parent is not None
        before, after = made[varied.parent].to_json(), varied.to_json()
        differ = [name for name in before if before[name] != after[name]]
        assert set(differ) - {"seed", "started_from"} == set(differ[:1]) - {"seed", "started_from"}, (
            "one thing"
        )
    near = [varied for varied in late if varied.workload.settings.appends == 3]
    assert len(near) > len(late) / 3, "more than chance would draw"
    assert {varied.workload.settings.appends for varied in late} == {2, 3, 8, 32}, "nothing is given up"


def test_without_near_misses_every_run_is_drawn_anew() -> None:
    row = Variations(find_workload("list-append"), {}, seed=1)
    for number, varied in enumerate(islice(row, 30)):
        assert varied.parent is None
        row.learn(number, 0, 1.0)


def test_options_of_the_database_are_drawn_too() -> None:
    options = {"index": ("btree", "hash"), "rows": ("narrow", "wide")}
    row = Variations(find_workload("bank"), {}, seed=1, options=options)
    made = list(islice(row, 20))
    assert made[0].options == {"index": "btree", "rows": "narrow"}, "first as it is"
    assert {(m.options["index"], m.options["rows"]) for m in made} == {
        (index, rows) for index in options["index"] for rows in options["rows"]
    }


def test_what_happens_around_the_load_is_drawn_for_one_run_in_four() -> None:
    around = {"fault": ("kill-client=2", "cut=4"), "others_at": ("serializable",)}
    row = Variations(find_workload("bank"), {}, seed=1, around=around)
    made = list(islice(row, 400))
    assert made[0].around == {"fault": "", "others_at": ""}, "first as it is"
    for name, values in around.items():
        told = [varied.around[name] for varied in made]
        assert set(told) == {"", *values} and 60 < sum(map(bool, told)) < 140


def test_each_kind_of_near_miss_leads_to_runs_of_its_own() -> None:
    """Lists that are born are rare where dangerous moments are many: neither may have all the runs."""
    row = Variations(find_workload("list-append"), {}, seed=1)
    made: list[Varied] = []
    for number, varied in enumerate(islice(row, 400)):
        made.append(varied)
        short = varied.workload.settings.appends == 2
        row.learn(number, 2 if short else 200, 1.0, kinds={"births": 2 if short else 0})
    led = [varied for varied in made[200:] if varied.parent is not None]
    born = [varied for varied in led if varied.workload.settings.appends == 2]
    assert 0.3 < len(born) / len(led) < 0.7


def test_lists_get_about_as_many_appends_as_are_asked_for(tmp_path: Path) -> None:
    for appends in (3, 32):
        store = Memory()
        workload = find_workload("list-append").with_settings(appends=appends, sessions=4, seed=2)
        ran = run(
            Plan(store, workload, store.level("serializable"), txns=400, retries=9), tmp_path / str(appends)
        )
        trace = read_trace(ran.folder)
        each = (trace.op_kind == 9).sum() / len(trace.keys)
        assert appends / 2 < each < appends * 2

"""What happened when, counted by hand; and the page that shows it: all of it there, nothing taken for HTML."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from support import strategies
from support.commands import command
from support.effort import examples
from support.report_samples import JOKES, jokes, transfers
from test_report import Parsed

from boomslang.activity import TRANSACTION, Activity, doubling
from boomslang.asg import build_asg
from boomslang.report.plots import number
from boomslang.report.stats_page import stats_page
from boomslang.statistics import Statistics
from boomslang.trace import Trace, TraceBuilder, write_trace


def page_of(trace: Trace, path: str = "t") -> str:
    return stats_page(path, Statistics(build_asg(trace)), Activity(trace))


def three() -> Trace:
    """From 0 to 100: one commits, one aborts after a get that failed, one has no times."""
    b = TraceBuilder(initial={"x": 0}, unit="ms")
    with b.transaction(session="a", begin=0) as t:
        t.get("x", 0, invoke=1, return_=4)
        t.put("x", 1, invoke=5, return_=25)
        t.commit(invoke=30, return_=50)
    with b.transaction(session="b", begin=10) as t:
        t.get("x", 0, invoke=12, return_=13)
        t.abort(invoke=90, return_=100)
    with b.transaction(session="c") as t:
        t.put("y", 7)
    return b.build()


def test_kinds_by_hand() -> None:
    whole, put, get = Activity(three()).kinds
    assert (whole.kind, whole.operations, whole.aborted, whole.unknown) == (TRANSACTION, 3, 1, 0)
    assert whole.latency is not None and put.latency is not None and get.latency is not None
    assert (whole.latency.count, whole.latency.median, whole.latency.most) == (2, 50, 90)
    assert (put.kind, put.operations, put.transactions, put.aborted) == ("put", 2, 2, 0)
    assert (put.latency.count, put.latency.median) == (1, 20)
    assert (get.kind, get.operations, get.transactions, get.aborted) == ("get", 2, 2, 1)
    assert (get.latency.count, get.latency.median, get.latency.ninety_nine) == (2, 1, 3)


def test_curves_by_hand() -> None:
    activity = Activity(three())
    (curves,) = activity.curves
    assert (curves.first, curves.ticks, curves.transactions, activity.seconds) == (0, 100, 2, 0.1)
    assert len(curves.committed) == 10 and curves.committed[5] == sum(curves.committed) == 1
    assert curves.aborted[9] == sum(curves.aborted) == 1 and sum(curves.unknown) == 0
    assert curves.at_once == [1, 2, 2, 2, 2, 1, 1, 1, 1, 1]
    assert curves.median[5] == 50 and curves.ninety_nine[9] == 90 and curves.median[0] is None


@settings(max_examples=examples(60))
@given(strategies.traces())
def test_all_transactions_are_in_the_curves_and_kinds(trace: Trace) -> None:
    activity = Activity(trace)
    for curves in activity.curves:
        assert sum(map(sum, (curves.committed, curves.aborted, curves.unknown))) == curves.transactions
        assert all(n >= 0 for n in curves.at_once)
    whole, *kinds = activity.kinds
    assert sum(kind.operations for kind in kinds) == len(trace.op_kind)
    lengths = [t.end - t.begin for t in trace.transactions() if t.begin is not None and t.end is not None]
    assert (whole.latency is None) == (not lengths)
    if whole.latency is not None:
        assert whole.latency.median == statistics.median_low(lengths) and whole.latency.most == max(lengths)
    for kind in kinds:
        mine = [
            t for t in trace.transactions() if any(o.kind.name.lower() == kind.kind for o in t.operations)
        ]
        assert kind.transactions == len(mine)
        assert kind.aborted == sum(t.outcome.name == "ABORTED" for t in mine)


def test_times_further_apart_than_a_number_can_say() -> None:
    b = TraceBuilder()
    for begin, end in ((-(2**63) + 1, -(2**63) + 2), (2**63 - 3, 2**63 - 1)):
        with b.transaction(begin=begin) as t:
            t.put("x", begin)
            t.commit(return_=end)
    (curves,) = Activity(b.build()).curves
    assert curves.committed[0] == curves.committed[-1] == 1 and curves.ticks > 1.8e19


def test_a_number_is_never_a_power_of_ten() -> None:
    values = (0, 0.125, 77.476, 999.96, 1138.6, 10_904.2, 1_234_567.8)
    assert [number(v) for v in values] == ["0", "0.125", "77.48", "1,000", "1,139", "10,904", "1,234,568"]


def test_doubling() -> None:
    assert doubling([0, 1, 1, 2, 3, 4, 5, 8, 9]) == [
        ("1", 2),
        ("2", 1),
        ("3 to 4", 2),
        ("5 to 8", 2),
        ("9 to 16", 1),
    ]
    assert doubling([]) == []


def test_the_page_has_it_all() -> None:
    page = Parsed(page_of(transfers()))
    assert page.open == [] and page.comments == []
    words = " ".join(text for _, text in page.texts)
    pictures = ("Transactions in a piece", "Under way at once", "Length of transactions", "Hottest keys")
    tables = (
        "By kind of operation",
        "whole transaction",
        "'account/7'",
        "the initial state",
        "serializable",
        "'auditor'",
    )
    for said in (*pictures, *tables):
        assert said in words, said
    tags = [tag for tag, _ in page.elements]
    assert tags.count("figure") == 3 and "script" not in tags


def test_without_times_it_says_so() -> None:
    assert "has no times" in page_of(jokes()) and "<figure" not in page_of(jokes())


def test_nothing_is_taken_for_html() -> None:
    fooled, plain = Parsed(page_of(jokes(), JOKES[1])), Parsed(page_of(transfers()))
    assert fooled.open == [] and fooled.comments == []
    allowed = {tag for tag, _ in plain.elements} | {"p"}
    assert {tag for tag, _ in fooled.elements} <= allowed
    assert not [a for _, a in fooled.elements if {"src", "style", "onload", "onerror"} & set(a)]
    assert JOKES[1] in "".join(fooled.text("title"))
    policy = next(str(a["content"]) for _, a in plain.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def test_the_command(tmp_path: Path) -> None:
    write_trace(three(), tmp_path / "t.jsonl")
    ran = command("stats", tmp_path / "t.jsonl", "--report", tmp_path / "s.html")
    assert ran.code == 0 and ran.out.endswith(f"report: {tmp_path / 's.html'}\n")
    assert "<!doctype html>" in (tmp_path / "s.html").read_text(encoding="utf-8")
    ran = command("stats", tmp_path / "t.jsonl", "--report", tmp_path / "no" / "s.html")
    assert ran.code == 254 and "cannot write the report: there is no folder" in ran.err
    ran = command("stats", tmp_path / "t.jsonl", "--report", tmp_path / "t.jsonl")
    assert ran.code == 254 and "it is the trace" in ran.err


@pytest.mark.parametrize("outcome", ["aborted", "unknown"])
def test_a_trace_in_which_nothing_committed(outcome: str) -> None:
    b = TraceBuilder()
    with b.transaction(begin=1) as t:
        t.put("x", 1)
        if outcome == "aborted":
            t.abort(return_=5)
    assert "By kind of operation" in page_of(b.build())
    assert "0 transactions" in page_of(TraceBuilder().build())

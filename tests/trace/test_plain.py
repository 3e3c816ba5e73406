"""A history in numbers: every verdict stays, each read names one write, and what is not clear is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.commands import command
from support.effort import examples
from support.foreign import operations
from support.strategies import Mix, traces

import boomslang
from boomslang.cli import exit_codes
from boomslang.trace import Absent, Trace, TraceBuilder, read_trace, write_trace
from boomslang.trace.formats.plain import plain
from boomslang.trace.model import Initial, Kind

REGISTERS = Mix(
    ranges=False,
    deletes=False,
    errors=False,
    unknown=False,
    initial=("empty", "given"),
    values=("unique", "two"),
)
LEVELS = ("rc", "ra", "causal", "pl-2+", "si", "ser", "strong-session-si", "strong-session-ser", "sser")
plain_enough: Counter[str] = Counter()


@settings(max_examples=examples(200), deadline=None)
@given(traces(REGISTERS).filter(len))
def one_history(trace: Trace) -> None:
    numbered, lost = plain(trace)
    if any(loss.fatal for loss in lost):
        assert numbered is trace
        plain_enough["refused"] += 1
        return
    puts = numbered.op_value[numbered.op_kind == Kind.PUT]
    assert len(set(puts.tolist())) == len(puts) and numbered.initial_mode == Initial.EMPTY
    if not len(numbered):
        return
    for level in LEVELS:
        verdict = boomslang.check(trace, level).status
        plain_enough[verdict] += 1
        assert boomslang.check(numbered, level).status == verdict, level


def test_every_verdict_stays() -> None:
    plain_enough.clear()
    one_history()
    assert min(plain_enough[word] for word in ("valid", "invalid", "refused")) > 10, plain_enough


def test_in_numbers(tmp_path: Path) -> None:
    b = TraceBuilder({"b": "old"})
    with b.transaction("one") as t:
        t.put("b", "new")
        t.put("a", "same")
    with b.transaction("two", outcome="aborted") as t:
        t.put("c", "gone")
    with b.transaction("two") as t:
        t.get("b", "old")
        t.get("a", "same")
        t.get("c", Absent)
        t.put("c", "same")
        t.put("c", "same")
    numbered, lost = plain(b.build())
    assert [(loss.what, loss.fatal, loss.minor) for loss in lost] == [
        ("1 transaction that aborted", False, False),
        ("the names of keys and values: they are numbers", False, True),
    ]
    assert operations(numbered) == [
        [("put", 2, 4), ("put", 1, 5)],
        [("get", 2, Absent), ("get", 1, 5), ("get", 3, Absent), ("put", 3, 6), ("put", 3, 7)],
    ]


def test_reads_of_what_the_transaction_wrote_last_are_left_out() -> None:
    b = TraceBuilder({"x": "first"})
    with b.transaction("one") as t:
        t.get("x", "first")
        t.put("x", "second")
        t.get("x", "second")
        t.get("y", Absent)
        t.put("x", "third")
        t.get("x", "third")
        t.get("x", "second")  # its own, but not the last: that is a violation, and stays
    with b.transaction("two") as t:
        t.get("x", "third")
        t.put("y", "new")
    with b.transaction("two") as t:
        t.get("y", "new")
    numbered, lost = plain(b.build())
    assert "2 reads of what their transaction wrote last" in [loss.what for loss in lost]
    assert operations(numbered) == [
        [("get", 1, Absent), ("put", 1, 3), ("get", 2, Absent), ("put", 1, 4), ("get", 1, 3)],
        [("get", 1, 4), ("put", 2, 5)],
        [("get", 2, 5)],
    ]


@pytest.mark.parametrize("format", ["text", "cobra", "viper", "dbcop-json", "dbcop-bincode"])
def test_strings_are_converted_for_every_checker_of_registers(format: str, tmp_path: Path) -> None:
    b = TraceBuilder({"x": "first"})
    with b.transaction("client/1") as t:
        t.get("x", "first")
        t.put("x", "second")
    with b.transaction("client/2") as t:
        t.get("x", "second")
        t.get("y", Absent)
    source = tmp_path / "trace.jsonl"
    write_trace(b.build(), source)
    done = command("convert", source, tmp_path / "plain", "--to", format, "--plain", "--lossy")
    assert done.code == exit_codes.VALID, done
    told = [ops for ops in operations(read_trace(tmp_path / "plain")) if ops]
    assert [("get", 1, Absent), ("put", 1, 3)] in told and [("get", 1, 3), ("get", 2, Absent)] in told


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("unknown", "1 transaction with an unknown outcome"),
        ("scan", "1 operation other than a put or a get"),
        ("missed", "1 read that misses a row of the initial state"),
        ("thin air", "1 read of a value that nobody committed"),
        ("aborted", "1 read of a value that nobody committed"),
        ("twice", "1 read of a value that was written more than once"),
        ("loaded too", "1 read of a value that was written more than once"),
    ],
)
def test_what_is_not_clear_is_refused(what: str, words: str) -> None:
    b = TraceBuilder({"k": 1})
    with b.transaction("a", outcome={"unknown": "unknown", "aborted": "aborted"}.get(what, "committed")) as t:
        t.put("k", 1 if what == "loaded too" else 2)
        if what == "twice":
            t.put("k", 2)
    with b.transaction("b") as t:
        if what == "scan":
            t.scan("a", "z", [("k", 1)])
        elif what == "missed":
            t.get("k", Absent)
        elif what != "unknown":
            t.get("k", {"thin air": 9, "loaded too": 1}.get(what, 2))
    trace = b.build()
    same, lost = plain(trace)
    assert same is trace and [(loss.what, loss.fatal) for loss in lost] == [(words, True)]

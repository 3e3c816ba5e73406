"""`boomslang cat`: the right transactions, in words and as a trace of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from support import strategies
from support.commands import EVIL, command, evil_trace, printable, program
from support.effort import examples
from support.paths import ROOT
from support.whole_traces import story

from boomslang.cli import exit_codes
from boomslang.cli.commands.cat import describe
from boomslang.trace import Absent, Trace, TraceBuilder, read_trace, write_trace

SKEW = ROOT / "examples" / "write-skew.jsonl"


def numbers(out: str) -> list[int]:
    """Of the transactions that were shown."""
    return [int(line.split()[0][1:]) for line in out.splitlines() if line.startswith("T")]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    b = TraceBuilder()
    with b.transaction("a", name="first", begin=1, end=9, ctx={"note": "hé"}) as t:
        t.put("x", 1, invoke=2, return_=3)
        t.get("y", Absent)
        t.failed("put", error="disk full", key="x", value=2)
    with b.transaction("b", outcome="aborted") as t:
        t.delete(5, True)
        t.delete("5", False)
        t.delete("z")
    with b.transaction("a", outcome="unknown") as t:
        t.scan("m", "n", [("mm", 4)])
        t.scan("o", None, [])
        it = t.iterator()
        it.next("mm", 4)
        it.end()
    with b.transaction(name=77) as t:
        t.append("list", 1)
        t.list("list", [1])
        t.put(b"\x00", None)
    path = tmp_path / "t.jsonl"
    write_trace(b.build(), path)
    return path


def test_all_in_words(trace: Path) -> None:
    ran = command("cat", trace)
    assert ran.code == exit_codes.VALID and ran.err == ""
    assert ran.out.splitlines() == [
        f"T0  session 'a'  transaction 'first'  committed  1..9  {trace}:2",
        '    ctx {"note": "hé"}',
        f"    put 'x' = 1  2..3  {trace}:3",
        f"    get 'y' -> absent  {trace}:4",
        f"    put 'x' = 2  failed: 'disk full'  {trace}:5",
        "",
        f"T1  session 'b'  transaction 1  aborted  {trace}:7",
        f"    delete 5 -> found  {trace}:8",
        f"    delete '5' -> nothing  {trace}:9",
        f"    delete 'z'  {trace}:10",
        "",
        f"T2  session 'a'  transaction 2  unknown  {trace}:12",
        f"    scan ['m', 'n') -> 'mm' = 4  {trace}:13",
        f"    scan ['o', ...) -> nothing  {trace}:14",
        f"    iterator 2 over everything  {trace}:15",
        f"    next of iterator 2 -> 'mm' = 4  {trace}:16",
        f"    next of iterator 2 -> end  {trace}:17",
        "",
        f"T3  transaction 77  committed  {trace}:18",
        f"    append 'list' + 1  {trace}:19",
        f"    list 'list' -> [1]  {trace}:20",
        f"    put b'\\x00' = None  {trace}:21",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--txn", "2"], [2]),
        (["--txn", "T2"], [2]),
        (["--txn", "0,2"], [0, 2]),
        (["--txn", "1..3"], [1, 2, 3]),
        (["--txn", "T1..T2", "--txn", "0"], [0, 1, 2]),
        (["--name", "first"], [0]),
        (["--name", "77"], [3]),
        (["--name", "77", "--name", "1"], [1, 3]),
        (["--name", "nobody"], []),
        (["--session", "a"], [0, 2]),
        (["--session", "a", "--txn", "1..3"], [2]),
        (["--key", "x"], [0, 2]),  # a scan from 'o' on, and an iterator over everything, looked at it too
        (["--key", "mm"], [2]),
        (["--key", "5"], [1, 2]),
        (["--key", '"5"'], [1, 2]),
        (["--key", "list"], [3]),  # a range says nothing of a list
        (["--key", '{"bytes": "00"}'], [2, 3]),
        (["--key", "nowhere"], []),
        (["--limit", "1"], [0]),
        (["--limit", "0"], []),
    ],
)
def test_choices(trace: Path, words: list[str], expected: list[int]) -> None:
    ran = command("cat", trace, *words)
    assert ran.code == exit_codes.VALID and numbers(ran.out) == expected


def test_what_is_left_out_is_said(trace: Path) -> None:
    assert command("cat", trace, "--limit", 1).out.endswith("... and 3 more (--limit)\n")
    assert "no transaction of the trace is like that" in command("cat", trace, "--name", "nobody").out


def test_a_person_is_not_shown_a_million(tmp_path: Path) -> None:
    b = TraceBuilder()
    for n in range(60):
        with b.transaction("a") as t:
            t.put("x", n)
    path = tmp_path / "t.jsonl"
    write_trace(b.build(), path)
    ran = command("cat", path)
    assert len(numbers(ran.out)) == 50 and ran.out.endswith("... and 10 more (--limit)\n")
    assert len(command("cat", path, "--json").out.splitlines()) == 1 + 60 * 3


@settings(max_examples=examples(60))
@given(strategies.traces(strategies.Mix(times=("none", "one clock"))))
def test_json_lines_are_a_trace_of_the_same(tmp_path_factory: Any, trace: Trace) -> None:
    folder = tmp_path_factory.mktemp("cat")
    write_trace(trace, folder / "t.jsonl")
    ran = command("cat", folder / "t.jsonl", "--json")
    assert ran.out.isascii()
    (folder / "u.jsonl").write_text(ran.out)
    assert story(read_trace(folder / "u.jsonl")) == story(trace)
    for t in trace.transactions():
        assert list(describe(t))


def test_part_of_a_trace_as_json_lines(trace: Path, tmp_path: Path) -> None:
    ran = command("cat", trace, "--txn", "0,3", "--json")
    part = tmp_path / "part.jsonl"
    part.write_text(ran.out)
    whole, read = read_trace(trace), read_trace(part)
    assert [t.name for t in read.transactions()] == ["first", 77]
    told = story(whole)[-1]
    assert story(read)[-1] == _renumbered([told[0], told[3]])


def _renumbered(told: list[Any]) -> list[Any]:
    """Transactions count from 0 in a trace of their own."""
    return [[("int", n), *rest[1:]] for n, rest in enumerate(told)]


def test_several_clocks_are_no_one_file(tmp_path: Path) -> None:
    for n in (1, 2):
        (tmp_path / f"c{n}.jsonl").write_text(
            f'{{"boomslang": 1, "clock": "h{n}"}}\n{{"op": "begin", "invoke": 1}}\n{{"op": "commit"}}\n'
        )
    ran = command("cat", tmp_path, "--json")
    assert ran.code == exit_codes.USAGE and "2 clocks ('h1', 'h2')" in ran.err
    assert command("cat", tmp_path, "--json", "--session", "c1").code == exit_codes.VALID


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--txn", "4"], "the trace has T0 to T3"),
        (["--txn", "2..1"], "the trace has T0 to T3"),
        (["--txn", "x"], "expected a number"),
        (["--txn", ""], "expected a number"),
        (["--txn", "9" * 30], "expected a number"),
        (["--session", "c"], "the trace has no session 'c'; it has 'a', 'b'"),
        (["--limit", "-1"], "expected a number"),
        (["--format", "nonsense"], "nonsense"),
    ],
)
def test_wrong_use(trace: Path, words: list[str], message: str) -> None:
    ran = command("cat", trace, *words)
    assert ran.code == exit_codes.USAGE and message in ran.err and ran.out == ""


def test_hostile_values_are_spelled_out(tmp_path: Path) -> None:
    path = evil_trace(tmp_path / "evil.jsonl")
    assert printable(command("cat", path).out)
    b = TraceBuilder()
    with b.transaction("\x9b31m\x7f", name=EVIL, ctx={EVIL: EVIL}) as t:
        t.put(EVIL, "\x9b\u202e\U0001f40d")
    write_trace(b.build(), tmp_path / "t.jsonl")
    assert printable(command("cat", tmp_path / "t.jsonl").out)
    ran = command("cat", tmp_path / "t.jsonl", "--json")
    assert ran.out.isascii() and printable(ran.out)
    assert json.loads(ran.out.splitlines()[2])["value"] == "\x9b\u202e\U0001f40d"


def test_the_program_itself() -> None:
    ran = program("cat", SKEW, "--txn", "2")
    assert ran.code == exit_codes.VALID and ran.err == "" and numbers(ran.out) == [2]

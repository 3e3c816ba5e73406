"""`boomslang stats`: its figures are right, counted by hand and, where they stand for what would be written out, by
writing it out."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from support import strategies
from support.commands import EVIL, command, evil_trace, printable
from support.effort import examples
from support.histories import get, history, put, txn
from support.paths import ROOT

import boomslang
from boomslang.asg import build_asg
from boomslang.asg.graph import IN, OUT, SEVERAL
from boomslang.cli import exit_codes
from boomslang.ir import lower
from boomslang.ir.expression import Edge, Implies, Superposition
from boomslang.levels import LEVELS, find_level
from boomslang.levels.level import Dependency
from boomslang.recording_advice import advice
from boomslang.statistics import HOTTEST, Statistics
from boomslang.trace import Trace, TraceBuilder, write_trace
from boomslang.trace.model import ABSENT

SKEW = ROOT / "examples" / "write-skew.jsonl"
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((Path(boomslang.__file__).parent / "cli" / "stats.schema.json").read_text())
)
LISTS = strategies.Mix(lists=0.5, ranges=False)


@settings(max_examples=examples(150))
@given(strategies.traces() | strategies.traces(LISTS))
def test_superpositions_are_counted_as_the_ir_would_expand_them(trace: Trace) -> None:
    made = Statistics(build_asg(trace))
    for level, superpositions, anti_dependencies in made.by_level:
        expanded = list(lower(made.asg, level).expand())
        assert superpositions == sum(isinstance(x, Superposition) for x in expanded), level.name
        brought = sum(
            isinstance(x, Implies)
            and isinstance(x.conclusion, Edge)
            and x.conclusion.kind in (Dependency.RW, Dependency.PRW)
            for x in expanded
        )
        assert anti_dependencies == brought, level.name
    assert [level for level, _, _ in made.by_level] == list(LEVELS)


@settings(max_examples=examples(60))
@given(strategies.traces() | strategies.traces(LISTS))
def test_the_reads_add_up(trace: Trace) -> None:
    made = Statistics(build_asg(trace))
    for reads in (made.items, made.absences):
        assert reads.total == reads.known + reads.initial + reads.ambiguous + reads.unexplained
    assert sum(made.outcomes.values()) == len(trace)
    assert sum(made.operations.values()) + sum(made.failures.values()) == len(trace.op_kind)


@settings(max_examples=100)
@given(strategies.traces())
def test_ambiguity_is_counted_as_the_candidates_would_be_listed(trace: Trace) -> None:
    made = Statistics(build_asg(trace))
    asg, found = made.asg, made.ambiguity
    listed = {
        read.read: len(read.candidates)
        for read in lower(asg, find_level("ser")).read_froms()
        if asg.read_writer[read.read] == SEVERAL and asg.state[asg.read_txn[read.read]] == IN
    }
    counts = sorted(listed.values())
    assert found.reads == len(counts) == made.items.ambiguous + made.absences.ambiguous
    if counts:
        assert (found.median, found.most) == (statistics.median(counts), counts[-1])
    keys = Counter(trace.keys[asg.read_key[read]] for read in listed)
    assert (
        sorted((k.reads for k in found.keys), reverse=True) == sorted(keys.values(), reverse=True)[:HOTTEST]
    )
    for told in found.keys:
        rows = [r for r in range(len(asg.write_txn)) if trace.keys[asg.write_key[r]] == told.key]
        live = [r for r in rows if asg.state[asg.write_txn[r]] != OUT]
        assert told.reads == keys[told.key] and told.writers == len(live)
        assert told.values == len({int(asg.write_value[r]) for r in live} - {ABSENT})


def repeating(*, version: bool = False, times: bool = True, initial: str = "empty") -> Trace:
    """Two write the same, and one reads it."""
    b = TraceBuilder(initial=initial)
    for n, session in enumerate(("a", "b", "c")):
        with b.transaction(session, **({"begin": 10 * n, "end": 10 * n + 5} if times else {})) as t:
            if session == "c":
                t.get("x", 1, ctx={"version": 1} if version else None)
            else:
                t.put("x", 1)
    return b.build()


def two_clocks() -> Trace:
    one, other = ({"time": (0, 5), "clock": clock} for clock in ("host", "other"))
    return history(
        txn("a", put("x", 1), **one), txn("b", put("x", 1), **other), txn("c", get("x", 1), **other)
    )


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (repeating(times=False), ["times", "versions"]),
        (repeating(), ["versions"]),
        (two_clocks(), ["one-clock", "versions"]),
        (repeating(version=True), ["version-sets"]),
        (repeating(initial="unknown"), ["versions", "initial"]),
    ],
)
def test_what_would_help(trace: Trace, expected: list[str]) -> None:
    made = Statistics(build_asg(trace))
    assert made.ambiguity.reads == 1 and [piece.add for piece in advice(made)] == expected


def test_no_advice_where_every_value_names_its_writer(tmp_path: Path) -> None:
    ran = command("stats", SKEW)
    assert "what would help" not in ran.out and "ambiguous reads" not in ran.out
    data = json.loads(command("stats", SKEW, "--json").out)
    SCHEMA.validate(data)
    assert data["advice"] == [] and data["ambiguity"]["reads"] == 0


def busy() -> TraceBuilder:
    """Two writers of x = 1; a read of it; an unknown transaction that a read shows to have committed."""
    b = TraceBuilder(clock="host")
    with b.transaction("a", begin=0, end=10) as t:
        t.put("x", 1)
        t.put("z", 5)
    with b.transaction("b", begin=1, end=41) as t:
        t.put("x", 1)
    with b.transaction("c", begin=50, end=60) as t:
        t.get("x", 1)
        t.get("nothing", boomslang.trace.Absent)
        t.get("y", 3)
        t.failed("put", error="full", key="x", value=9)
    with b.transaction("d", outcome="unknown") as t:
        t.put("y", 3)
    with b.transaction("a", outcome="aborted") as t:
        t.put("x", 4)
    with b.transaction("c") as t:
        t.get("z", 77)
    return b


def test_a_small_trace_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(busy().build(), path)
    ran = command("stats", path, "--json")
    assert ran.code == exit_codes.VALID and ran.err == ""
    data = json.loads(ran.out)
    SCHEMA.validate(data)
    assert data["transactions"] == {
        "total": 6, "committed": 4, "aborted": 1, "unknown": 1, "shown_to_have_committed": 1,
    }  # fmt: skip
    assert data["operations"] == {
        "total": 10, "by_kind": {"put": 5, "get": 4}, "failed": 1, "failed_by_kind": {"put": 1},
    }  # fmt: skip
    assert (data["sessions"], data["keys"], data["values"]) == (4, 4, 6)
    assert data["reads"]["items"] == {
        "total": 4, "known": 1, "initial": 1, "ambiguous": 1, "unexplained": 1,
    }  # fmt: skip
    assert data["ambiguity"] == {
        "reads": 1, "share": 0.25, "candidates": {"median": 2.0, "max": 2},
        "keys": [{"key": "x", "reads": 1, "writers": 2, "values": 1}],
    }  # fmt: skip
    assert [piece["add"] for piece in data["advice"]] == ["times", "versions"]
    assert data["contention"]["writers"] == {"median": 1.0, "max": 2}
    assert data["contention"]["hottest"][0] == {"key": "x", "operations": 5, "share": 0.5, "writers": 2}
    assert data["superpositions"]["version_order_pairs"] == 1
    # The read of x has two candidates, that of z has none: neither is settled by the trace.
    assert data["superpositions"]["read_lineages"] == 2
    assert data["clocks"] == [{"clock": "host", "transactions": 3, "first": 0, "last": 60}]
    assert data["longest"]["operations"] == {"transaction": 2, "where": f"{path}:9", "length": 4}
    assert data["longest"]["time"] == {"transaction": 1, "where": f"{path}:6", "length": 40}


def test_the_table(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_trace(busy().build(), path)
    ran = command("stats", path)
    assert ran.code == exit_codes.VALID
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert lines[0] == str(path)
    for line in (
        "transactions 6 (4 committed, 1 aborted, 1 unknown)",
        "1 of the unknown are shown to have committed, by reads",
        "operations 10 (5 put, 4 get)",
        "failed operations 1 (1 put)",
        "writers of a key 1 in the median, 2 at most",
        "hottest keys 'x': 5 operations (50.0%), 2 writers",
        "several candidates 1",
        "no candidate 1: nobody wrote what they saw",
        "several candidates 1 (25.0% of all reads)",
        "candidates of one 2 in the median, 2 at most",
        "most repeated 'x': 1 read, 2 writers of 1 value",
        "times record invoke and return everywhere: 3 transactions lack them",
        "in all 3 (1 pairs of writers of a key, 2 open reads)",
        "clock 'host' 0 to 60: 60 units, 3 transactions",
    ):
        assert line in lines, ran.out


def test_lists_are_counted(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("a") as t:
        t.append("l", 1)
    with b.transaction("b") as t:
        t.append("l", 2)
        t.list("l", [1, 2])
    path = tmp_path / "t.jsonl"
    write_trace(b.build(), path)
    data = json.loads(command("stats", path, "--json").out)
    SCHEMA.validate(data)
    assert data["lists"] == 1 and data["operations"]["by_kind"] == {"append": 2, "list": 1}
    assert data["contention"]["writers"] == {"median": 2.0, "max": 2}


def test_a_trace_of_nothing_much(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"boomslang": 1}\n')
    assert command("stats", path).code == exit_codes.VALID
    data = json.loads(command("stats", path, "--json").out)
    SCHEMA.validate(data)
    assert data["longest"] == {"operations": None, "time": None} and data["clocks"] == []


def test_times_at_the_ends_of_what_can_be_said(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("a", begin=-(2**63) + 1, end=2**63 - 1) as t:
        t.put("x", 1)
    path = tmp_path / "t.jsonl"
    write_trace(b.build(), path)
    assert json.loads(command("stats", path, "--json").out)["longest"]["time"]["length"] == 2**64 - 2


def test_bytes_and_hostile_keys(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("a") as t:
        t.put(b"\x00\xff", 1)
        t.put(EVIL, 2)
    path = tmp_path / "t.jsonl"
    write_trace(b.build(), path)
    assert printable(command("stats", path).out)
    data = json.loads(command("stats", path, "--json").out)
    SCHEMA.validate(data)
    assert {"bytes": "00ff"} in [hot["key"] for hot in data["contention"]["hottest"]]
    assert printable(command("stats", evil_trace(tmp_path / "evil.jsonl")).out)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


@pytest.mark.parametrize(
    "words", [["stats"], ["stats", "nowhere.jsonl"], ["stats", str(SKEW), "--format", "x"]]
)
def test_wrong_use(words: list[str]) -> None:
    ran = command(*words)
    assert ran.code == exit_codes.USAGE and ran.out == "" and "Traceback" not in ran.err


def test_a_bound_of_a_range_is_no_key_that_was_absent() -> None:
    skew = boomslang.read_trace(ROOT / "examples/write-skew.jsonl")
    assert Statistics(build_asg(skew)).absences.total == 0

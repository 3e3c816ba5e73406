"""dbcop's histories in JSON: every rule by hand, and what was written read back. None are public."""

from __future__ import annotations

import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.document_histories import check_damage, histories, order, parse, sample, seen, told, well_formed
from support.effort import examples

from boomslang.trace import Absent, Initial, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats.dbcop_json import FORMAT


def txn(*events: tuple[str, Any, Any], committed: Any = True) -> dict[str, Any]:
    named = [{kind: {"variable": variable, "version": version}} for kind, variable, version in events]
    return {"events": named, "committed": committed}


def read(folder: Path, history: Any) -> Trace:
    return parse(FORMAT, json.dumps(history, indent=1), folder)


SESSIONS = [
    [txn(("Write", 0, 1), ("Read", 1, None), ("Read", 2, 0)), txn(("Read", 0, 1), committed=False)],
    [],
    [txn(("Read", 3, 0), ("Write", 3, 0), ("Read", 0, 7)), txn(("Write", 4, 4), committed=False)],
]


@pytest.mark.parametrize("wrapped", [False, True])
def test_both_shapes(wrapped: bool, tmp_path: Path) -> None:
    more = {"params": {"id": 0, "n_node": [3]}, "info": "x", "start": "2024", "data": SESSIONS, "end": None}
    trace = read(tmp_path, more if wrapped else SESSIONS)
    assert seen(trace) == [
        ("1", "committed", [("put", 0, 1), ("get", 1, Absent), ("get", 2, Absent)]),
        ("1", "aborted", [("get", 0, 1)]),
        ("3", "committed", [("get", 3, 0), ("put", 3, 0), ("get", 0, 7)]),  # 0 is written to 3; 7 to nothing
        ("3", "aborted", [("put", 4, 4)]),
    ]
    assert [t.name for t in trace.transactions()] == [1, 2, 1, 2]
    assert trace.initial_mode == Initial.EMPTY and not trace.has_times
    assert trace.transaction(0).where.endswith(":3" if not wrapped else ":12")


def test_recognising() -> None:
    for text in (
        json.dumps(SESSIONS),
        json.dumps({"params": 1, "data": SESSIONS}),
        '\n[\n[ {"events" : [ {"Re',
    ):
        assert FORMAT.recognise(sample(text)), text
    for text in (
        "[]",
        "[[]]",
        '[{"events": []}]',
        '{"events": []}',
        '[{"type":"ok","value":[]}]',
        '{"op":"begin"}',
    ):
        assert not FORMAT.recognise(sample(text)), text


BAD: list[tuple[Any, int, str]] = [
    (3, 1, "found 3; expected an array of sessions"),
    ({"info": 1}, 1, 'an object without the field "data"'),
    ({"data": 3}, 1, "found 3; expected an array of sessions"),
    ([3], 1, "found 3; expected a session"),
    ([[3]], 1, "found 3; expected a transaction"),
    ([[{"events": []}]], 1, 'a transaction without the field "committed"'),
    ([[{"committed": True}]], 1, 'a transaction without the field "events"'),
    ([[txn(committed=1)]], 1, "found 1; expected true or false"),
    ([[{"events": 1}]], 1, "expected an array of events"),
    ([[{"events": [1]}]], 1, "expected an event"),
    ([[{"events": [{}]}]], 1, "an empty event"),
    ([[txn(("Scan", 1, 1))]], 1, 'found "Scan"; expected "Read" or "Write"'),
    ([[{"events": [{"Read": 1}]}]], 1, "expected the variable and the version as an object"),
    ([[{"events": [{"Read": {"variable": 1}}]}]], 1, 'an event without the field "version"'),
    ([[{"events": [{"Read": {"version": 1}}]}]], 1, 'an event without the field "variable"'),
    ([[{"events": [{"Read": {"variable": 1, "version": 1}, "x": 1}]}]], 1, "a second field in an event"),
    ([[txn(("Write", 1, None))]], 1, "a write of the version null"),
    ([[txn(("Write", 1, "x"))]], 1, 'found "x"; expected a version'),
    ([[txn(("Write", [], 1))]], 1, "an array as a variable"),
    ([[txn(("Write", 1, 1))], [txn(("Write", 1, 1), committed=False)]], 1, "a second write of version 1"),
    ([], 0, "found no transaction"),
    ({"data": [[]]}, 0, "found no transaction"),
]


@pytest.mark.parametrize(("history", "line", "words"), BAD)
def test_mistakes(history: Any, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        parse(FORMAT, json.dumps(history), tmp_path)
    assert words in str(caught.value) and caught.value.line == line
    assert all(word in str(caught.value) for word in ("found ", "; expected ", "; fix: "))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[{"events":[],"events":[]}]]', 'the field "events" twice'),
        ('{"data":[],"data":[]}', 'the field "data" twice'),
        ("[[]] 1", "1 after the end of the history"),
        ('[[{"events":[],"committed":true}', "the end of the file"),
        ("", "the end of the file"),
    ],
)
def test_mistakes_of_spelling(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=words):
        parse(FORMAT, text, tmp_path)


@settings(max_examples=examples(200), deadline=None)
@given(
    histories(
        st.integers(0, 9),
        st.integers(0, 99),
        sessions=(None, "1", "2", "bob"),
        outcomes=("committed", "committed", "aborted"),
        lists=False,
    )
)
def test_what_was_written_is_read_back(trace: Trace) -> None:
    lost = FORMAT.losses(trace)
    if [loss for loss in lost if loss.fatal]:
        assert all("nobody wrote" in x.what or "had before" in x.what for x in lost if x.fatal)
        return
    assert FORMAT.write is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        FORMAT.write(trace, path)
        assert FORMAT.recognise(sample(path.read_bytes()))
        again = FORMAT.read(path, lambda: None)
        before, after = told(trace), told(again)
        assert {m: what[1:] for m, what in before.items()} == {m: what[1:] for m, what in after.items()}
        assert order(again) == (order(trace)[0], set())
        assert FORMAT.losses(again) == []
        FORMAT.write(again, Path(folder) / "again")
        assert (Path(folder) / "again").read_bytes() == path.read_bytes()


def test_gaps_between_sessions_survive(tmp_path: Path) -> None:
    trace = read(tmp_path, SESSIONS)
    assert FORMAT.losses(trace) == [] and FORMAT.write is not None
    FORMAT.write(trace, tmp_path / "again")
    assert seen(FORMAT.read(tmp_path / "again", lambda: None)) == seen(trace)


def test_what_is_lost() -> None:
    b = TraceBuilder()
    with b.transaction("a", name=5, begin=1, end=2, ctx={"k": 1}) as t:
        t.append(1, 2)
        t.list(1, [2])
    assert [(loss.what, loss.fatal) for loss in FORMAT.losses(b.build())] == [
        ("1 append", False),
        ("1 list read", False),
        ("1 transaction's times", False),
        ("1 transaction's hints", False),
        ("1 session's name", False),
        ("1 transaction's name", False),
    ]


def test_what_must_not_be_written() -> None:
    b = TraceBuilder()
    with b.transaction("1") as t:
        t.put(1, 2)
        t.put(1, 2)
        t.put("x", -4)
        t.get(5, 0)
    b.transaction("1").unknown()
    assert [loss.what for loss in FORMAT.losses(b.build()) if loss.fatal] == [
        "1 transaction whose outcome is unknown: it would have to be committed or aborted",
        "1 key that is no integer, in dbcop histories in JSON",
        "1 value below 0 or beyond 64 bits, in dbcop histories in JSON",
        "1 read of a 0 that nobody wrote: it would be read as the initial state",
        "1 write of a value that its key has had before: versions differ",
    ]


def test_damage(tmp_path: Path) -> None:
    check_damage(FORMAT, json.dumps({"info": "é", "data": SESSIONS}).encode(), tmp_path, 2000, well_formed)


def test_dbcop_s_command_reads_what_is_written(tmp_path: Path) -> None:
    """It wants an object with these fields, and numbers of 64 bits in it; the times as RFC 3339 has them."""
    b = TraceBuilder()
    with b.transaction("1") as t:
        t.put(7, 2**64 - 1)
        t.get(8, Absent)
    with b.transaction("3", outcome="aborted") as t:
        t.put(7, 1)
    path = tmp_path / "h.json"
    assert FORMAT.write is not None
    FORMAT.write(b.build(), path)
    data = json.loads(path.read_text())
    assert data["params"] == {"id": 0, "n_node": 3, "n_variable": 2, "n_transaction": 1, "n_event": 2}
    assert isinstance(data["info"], str)
    for when in ("start", "end"):
        datetime.fromisoformat(data[when].replace("Z", "+00:00"))
    first = [{"Write": {"variable": 7, "version": 2**64 - 1}}, {"Read": {"variable": 8, "version": None}}]
    assert data["data"] == [
        [{"events": first, "committed": True}],
        [],
        [{"events": [{"Write": {"variable": 7, "version": 1}}], "committed": False}],
    ]
    again = read_trace(path)
    path.write_text(json.dumps(data["data"]))  # without the rest, as we used to write it
    assert seen(read_trace(path)) == seen(again)
    for key, value in ((-1, 1), (2**64, 1), (1, 2**64), (1, -1)):
        b = TraceBuilder()
        with b.transaction("1") as t:
            t.put(key, value)
        assert [loss.what for loss in FORMAT.losses(b.build()) if loss.fatal] == [
            f"1 {'value' if key == 1 else 'key'} below 0 or beyond 64 bits, in dbcop histories in JSON"
        ]


def test_compact_events(tmp_path: Path) -> None:
    long = [[txn(("Write", 1, 2), ("Read", 1, 2), ("Read", 3, None))]]
    short = [[{"events": [["w", 1, 2], ["r", 1, 2], ["r", 3, None]], "committed": True}]]
    assert seen(read(tmp_path, short)) == seen(read(tmp_path, long))
    for event in (
        [],
        ["w"],
        ["w", 1],
        ["x", 1, 2],
        ["w", 1, None],
        ["r", 1, 2, 3],
        ["r", 1, "a"],
        ["r", [], 1],
    ):
        with pytest.raises(TraceError, match=r"expected .*fix: "):
            read(tmp_path, [[{"events": [event], "committed": True}]])

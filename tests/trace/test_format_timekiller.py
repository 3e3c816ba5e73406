"""TimeKiller's histories: every rule by hand, the public ones, and what was written read back."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.document_histories import (
    check_damage,
    corpus,
    histories,
    order,
    parse,
    sample,
    seen,
    told,
    well_formed,
)
from support.effort import examples

from boomslang.trace import Absent, Kind, Outcome, Trace, TraceBuilder, TraceError
from boomslang.trace.formats.timekiller import FORMAT


def txn(tid: Any, sid: Any, start: Any, commit: Any, *ops: Any, **more: Any) -> dict[str, Any]:
    """Timestamps as (p, l); operations as (t, k, v), or (t, k) where there is no value."""
    stamps = [{"p": p, "l": n} for p, n in (start, commit)]
    named = [dict(zip("tkv", op, strict=False)) for op in ops]
    return {"tid": tid, "sid": sid, "sts": stamps[0], "cts": stamps[1], "ops": named, **more}


def read(folder: Path, *txns: Any) -> Trace:
    return parse(FORMAT, json.dumps(txns, indent=2), folder)


def test_a_history_of_registers(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        txn(
            7,
            3,
            ("10", 0),
            ("12", 0),
            ("w", 1, 5),
            ("r", 2, None),
            ("r", 3),
            ("read", 4, []),
            ("r", 5, 0),
            rtts=9,
        ),
        txn(8, 4, (11, 0), (15, 0), ("write", 5, 6), ("r", 1, 5), ("r", 6, 0), ("w", 6, 0)),
    )
    assert seen(trace) == [
        (
            "3",
            "committed",
            [("put", 1, 5), ("get", 2, Absent), ("get", 3, Absent), ("get", 4, Absent), ("get", 5, Absent)],
        ),
        ("4", "committed", [("put", 5, 6), ("get", 1, 5), ("get", 6, 0), ("put", 6, 0)]),  # 0 is written to 6
    ]
    t = trace.transaction(0)
    assert (t.name, t.begin, t.end, t.clock) == (7, 10, 12, "database timestamps")
    assert t.ctx == {"sts": [10, 0], "cts": [12, 0]} and t.where.endswith("history:2")


def test_a_history_of_lists(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        txn(1, 1, (1, 0), (2, 0), ("a", 1, 5), ("r", 1, [5]), ("r", 2, []), ("r", 3, None)),
        txn(2, 1, (3, 0), (4, 0), ("append", 1, 0), ("r", 1, [5, 0])),
    )
    assert seen(trace) == [
        ("1", "committed", [("append", 1, 5), ("list", 1, [5]), ("list", 2, []), ("list", 3, [])]),
        ("1", "committed", [("append", 1, 0), ("list", 1, [5, 0])]),
    ]


def test_logical_parts_make_the_times_places(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        txn(1, 1, (100, 0), (100, 2)),
        txn(2, 2, (100, 1), (200, 0)),
        txn(3, 1, (100, 2), (100, 2)),
    )
    assert [(t.begin, t.end) for t in trace.transactions()] == [(0, 2), (1, 3), (2, 2)]
    assert trace.transaction(1).ctx == {"sts": [100, 1], "cts": [200, 0]}


def test_time_may_run_backwards_in_a_session(tmp_path: Path) -> None:
    trace = read(tmp_path, txn(1, 1, (10, 0), (12, 0)), txn(2, 1, (3, 0), (4, 0)))
    assert [(t.name, t.begin) for t in trace.transactions()] == [(1, 10), (2, 3)]


def without(field: str) -> dict[str, Any]:
    return {k: v for k, v in txn(1, 1, (1, 0), (2, 0)).items() if k != field}


BAD: list[tuple[Any, int, str]] = [
    ({}, 1, "found an object; expected an array of transactions"),
    ([3], 1, "found 3; expected a transaction as an object"),
    *(([without(name)], 1, f'without the field "{name}"') for name in ("tid", "sid", "sts", "cts", "ops")),
    ([txn(None, 1, (1, 0), (2, 0))], 1, 'null as "tid"'),
    ([txn(1, [], (1, 0), (2, 0))], 1, 'an array as "sid"'),
    ([txn(1, 1, (2, 0), (1, 0))], 1, "the commit timestamp [1, 0] before the start timestamp [2, 0]"),
    ([txn(1, 1, (1, 5), (1, 4))], 1, "the commit timestamp [1, 4] before the start timestamp [1, 5]"),
    ([txn(1, 1, ("x", 0), (1, 0))], 1, '"x" as a part of a timestamp'),
    ([txn(1, 1, ("", 0), (1, 0))], 1, '"" as a part of a timestamp'),
    ([txn(1, 1, (1.5, 0), (2, 0))], 1, "1.5 as a part of a timestamp"),
    ([txn(1, 1, (2**63, 0), (2**63, 0))], 1, "as a part of a timestamp"),
    ([without("sts") | {"sts": {"l": 1}}], 1, 'a timestamp without "p"'),
    ([without("sts") | {"sts": 1}], 1, "expected a timestamp"),
    ([without("ops") | {"ops": 1}], 1, "expected an array of operations"),
    ([without("ops") | {"ops": [1]}], 1, "expected an operation"),
    ([txn(1, 1, (1, 0), (2, 0), ("x", 1, 1))], 1, '"x" as "t"'),
    ([without("ops") | {"ops": [{"k": 1, "v": 1}]}], 1, 'an operation without "t"'),
    ([without("ops") | {"ops": [{"t": "r", "v": 1}]}], 1, 'an operation without "k"'),
    ([txn(1, 1, (1, 0), (2, 0), ("w", 1))], 1, "a write without a value"),
    ([txn(1, 1, (1, 0), (2, 0), ("w", 1, None))], 1, "a write without a value"),
    ([txn(1, 1, (1, 0), (2, 0), ("a", 1, [1]))], 1, "a list as what was written"),
    ([txn(1, 1, (1, 0), (2, 0), ("r", [1], 1))], 1, "an array as a key"),
    ([txn(1, 1, (1, 0), (2, 0), ("r", 1, [[1]]))], 1, "an array as an element of a list"),
    ([txn(1, 1, (1, 0), (2, 0)), txn(1, 1, (3, 0), (4, 0))], 1, "a second begin of transaction 1"),
    ([txn(1, 1, (1, 0), (2, 0), ("a", 1, 1), ("w", 1, 1))], 1, "which holds a list"),
    ([], 0, "found no transaction"),
]  # fmt: skip


@pytest.mark.parametrize(("history", "line", "words"), BAD)
def test_mistakes(history: Any, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        parse(FORMAT, json.dumps(history), tmp_path)
    assert words in str(caught.value) and caught.value.line == line
    assert all(word in str(caught.value) for word in ("found ", "; expected ", "; fix: "))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"tid":1,"tid":2}]', 'the field "tid" twice'),
        ('[{"ops":[{"t":"r","k":1,"k":2}]}]', 'the field "k" twice'),
        ("[] []", "after the end of the array"),
        ("[", "the end of the file"),
        ("\n\n", "the end of the file; expected an array"),
    ],
)
def test_mistakes_of_spelling(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=words.replace("[", "\\[")):
        parse(FORMAT, text, tmp_path)


def test_recognising() -> None:
    assert FORMAT.recognise(sample(json.dumps([txn(1, 1, (1, 0), (2, 0), ("r", 1, 1))], indent=4)))
    for text in (
        "[]",
        '[{"ops": []}]',
        '{"ops": [], "sts": {}}',
        '[{"type":"ok","value":[]}]',
        '[[{"events":[]}]]',
    ):
        assert not FORMAT.recognise(sample(text)), text


@pytest.mark.parametrize("name", ["kv", "list"])
def test_public_histories(name: str, tmp_path: Path) -> None:
    path = corpus(f"timekiller/format-{name}.json")
    trace = FORMAT.read(path, lambda: None)
    txns = json.loads(path.read_text())
    assert len(trace) == len(txns) and (trace.txn_outcome == Outcome.COMMITTED).all()
    sessions = Counter(str(t["sid"]) for t in txns)
    assert Counter(trace.sessions[s] for s in trace.txn_session) == sessions
    assert [(t.name, t.begin, t.end) for t in trace.transactions()] == [
        (t["tid"], int(t["sts"]["p"]), int(t["cts"]["p"])) for t in txns
    ]
    zeros = {o["k"] for t in txns for o in t["ops"] if o["t"] == "w" and o["v"] == 0}
    expected = []
    for o in (o for t in txns for o in t["ops"]):
        if isinstance(o["v"], list):
            expected.append((Kind.LIST, o["k"], Absent, tuple(o["v"])))
        else:
            initial = o["t"] == "r" and o["v"] == 0 and o["k"] not in zeros
            kind = {"r": Kind.GET, "w": Kind.PUT, "a": Kind.APPEND}[o["t"]]
            expected.append((kind, o["k"], Absent if initial else o["v"], ()))
    ops = [o for t in trace.transactions() for o in t.operations]
    assert [(o.kind, o.key, o.value, o.elements) for o in ops] == expected
    with path.open("rb") as file:
        assert FORMAT.recognise(sample(file.read(1 << 16)))
    assert FORMAT.losses(trace) == [] and FORMAT.write is not None
    FORMAT.write(trace, tmp_path / "again")
    again = FORMAT.read(tmp_path / "again", lambda: None)
    assert seen(again) == seen(trace)
    assert [vars(t) | {"operations": 0, "where": 0} for t in again.transactions()] == [
        vars(t) | {"operations": 0, "where": 0} for t in trace.transactions()
    ]


# --- writing and reading back ---


@settings(max_examples=examples(200), deadline=None)
@given(
    histories(st.integers(), st.integers(), outcomes=("committed", "committed", "aborted"), times=("all",))
)
def test_what_was_written_is_read_back(trace: Trace) -> None:
    lost = FORMAT.losses(trace)
    if fatal := [loss.what for loss in lost if loss.fatal]:
        assert all("of a 0 that nobody wrote" in what or "no transaction is left" in what for what in fatal)
        return
    assert FORMAT.write is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        FORMAT.write(trace, path)
        again = FORMAT.read(path, lambda: None)
        before = {mark: what for mark, what in told(trace).items() if what[1] == Outcome.COMMITTED}
        after = told(again)
        assert {mark: what[1:] for mark, what in after.items()} == {m: what[1:] for m, what in before.items()}
        for then, now in zip(order(trace), order(again), strict=True):
            assert {(a, b) for a, b in then if a in before and b in before} == now
        assert {t.operations[0].value: (t.begin, t.end) for t in again.transactions()} == {
            t.operations[0].value: (t.begin, t.end)
            for t in trace.transactions()
            if t.outcome == Outcome.COMMITTED
        }
        assert FORMAT.losses(again) == []


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    )
)
def test_timestamps_survive(stamps: list[tuple[int, int, int, int]]) -> None:
    txns = [txn(n, 1, *sorted([(a, b), (c, d)])) for n, (a, b, c, d) in enumerate(stamps)]
    with tempfile.TemporaryDirectory() as folder:
        trace = read(Path(folder), *txns)
        assert FORMAT.losses(trace) == [] and FORMAT.write is not None
        FORMAT.write(trace, path := Path(folder) / "again")
        written = json.loads(path.read_text())
        assert [(t["sts"], t["cts"]) for t in written] == [(t["sts"], t["cts"]) for t in txns]


def test_what_is_lost() -> None:
    b = TraceBuilder(clock="host/1")
    with b.transaction("a", name="t", begin=1, end=2, ctx={"k": 1}) as t:
        t.delete(1)
    b.transaction("b", begin=1, end=3, outcome="aborted").abort()
    assert [(loss.what, loss.fatal) for loss in FORMAT.losses(b.build())] == [
        ("1 aborted transaction", False),
        ("1 delete", False),
        ("1 transaction's name", False),
        ("2 sessions' names", False),
        ("that the times are the clients': in this format they are the database's own timestamps", False),
        ("1 transaction's hints", False),
    ]


def test_what_must_not_be_written() -> None:
    b = TraceBuilder()
    with b.transaction("1") as t:
        t.put("x", 1.5)
        t.get(1, 0)
    b.transaction("1").unknown()
    assert [loss.what for loss in FORMAT.losses(b.build()) if loss.fatal] == [
        "1 transaction whose outcome is unknown: it would have to be committed or aborted",
        "1 key that is no integer, in TimeKiller histories in JSON",
        "1 value that is no integer, in TimeKiller histories in JSON",
        "1 read of a 0 that nobody wrote: it would be read as the initial state",
        "1 transaction without a begin or an end time, which this format must have",
    ]


def test_damage(tmp_path: Path) -> None:
    history = [
        txn(1, 1, ("1", 0), (2, 1), ("a", 1, 5), ("r", 1, [5])),
        txn(2, "x", (3, 0), (4, 0), ("w", 2, -6), ("r", 2, None)),
    ]
    check_damage(FORMAT, json.dumps(history).encode(), tmp_path, 2000, well_formed)

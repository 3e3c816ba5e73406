"""Text of PolySI, Plume and IsoVista: by hand, the public file, and all sorts of wrong ones."""

from __future__ import annotations

import gzip
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import HISTORIES, damage, histories, operations, story, survives

from boomslang.trace import Absent, Kind, Outcome, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import recognise, text


def trace_of(content: str | bytes, folder: Path) -> Trace:
    path = folder / "history.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, format="text")


def test_by_hand(tmp_path: Path) -> None:
    trace = trace_of("w(1,5,1,1)\nr(2,0,1,1)\nr(1,5,2,7)\n\nw(2,6,1,3)\r\nr(1,0,2,7)", tmp_path)
    assert [(t.session, t.name, t.outcome) for t in trace.transactions()] == [
        ("1", 1, Outcome.COMMITTED),
        ("2", 7, Outcome.COMMITTED),
        ("1", 3, Outcome.COMMITTED),
    ]
    assert operations(trace) == [
        [("put", 1, 5), ("get", 2, Absent)],
        [("get", 1, 5), ("get", 1, Absent)],
        [("put", 2, 6)],
    ]
    assert trace.operation(3).where == f"{tmp_path}/history.txt:6"
    assert trace.initial_mode.name == "EMPTY" and trace.txn_end_line.tolist() == [2, 6, 5]


def test_a_0_that_somebody_writes_is_a_value(tmp_path: Path) -> None:
    trace = trace_of("w(1,0,0,0)\nr(1,0,1,1)\nr(2,0,1,1)\n", tmp_path)
    assert operations(trace) == [[("put", 1, 0)], [("get", 1, 0), ("get", 2, Absent)]]
    aborted = trace_of("w(1,0,0,-1)\nr(1,0,1,1)\n", tmp_path)
    assert operations(aborted) == [[("put", 1, 0)], [("get", 1, 0)]]


def test_aborted_lines(tmp_path: Path) -> None:
    """Neighbours in a session are one transaction, whatever other sessions do between them."""
    lines = ["w(1,1,1,-1)", "w(1,2,2,-1)", "w(1,3,1,-1)", "w(1,4,1,9)", "w(1,5,1,-1)"]
    trace = trace_of("\n".join(lines), tmp_path)
    assert [(t.session, t.name, t.outcome.name) for t in trace.transactions()] == [
        ("1", None, "ABORTED"),
        ("2", None, "ABORTED"),
        ("1", 9, "COMMITTED"),
        ("1", None, "ABORTED"),
    ]
    assert [[value for _, _, value in ops] for ops in operations(trace)] == [[1, 3], [2], [4], [5]]


def test_large_numbers_and_leading_zeros(tmp_path: Path) -> None:
    trace = trace_of("w(007,123456789012345678901234567890,00,010)\n", tmp_path)
    assert operations(trace) == [[("put", 7, 123456789012345678901234567890)]]
    assert (trace.transaction(0).name, trace.transaction(0).session) == (10, "0")


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("w(1,2,3,4)\nx(1,2,3,4)", 2, "found 'x' at column 1; expected r or w"),
        ("w 1,2,3,4)", 1, "found ' ' at column 2; expected '('"),
        ("w(,2,3,4)", 1, "expected the key"),
        ("w(1;2,3,4)", 1, "expected ',' after the key"),
        ("w(1,-2,3,4)", 1, "found '-' at column 5; expected the value"),
        ("w(1,2 ,3,4)", 1, "expected ',' after the value"),
        ("w(1,2,a,4)", 1, "expected the session"),
        ("w(1,2,3)", 1, "expected ',' after the session"),
        ("w(1,2,3,x)", 1, "expected the transaction"),
        ("w(1,2,3,-2)", 1, "expected a transaction's id, or -1"),
        ("w(1,2,3,4", 1, "found the end of the line at column 10; expected ')'"),
        ("w(1,2,3,4)w(1,2,3,4)", 1, "expected the end of the line"),
        ("w(1,2,3,4)\n\n\x00", 3, "found byte 0x00 at column 1"),
        ("w(1,1,1,1)\nw(1,2,1,2)\nw(1,3,1,1)", 3, "found transaction 1 again, which began on line 1"),
        ("w(1,1,1,1)\nw(1,2,2,1)", 2, "found transaction 1 in session 2; on line 1 it is in session 1"),
        ("\n \n", 0, "found no transaction in it"),
    ],
)  # fmt: skip
def test_mistakes(content: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of(content, tmp_path)
    assert words in str(caught.value) and caught.value.line == line
    assert caught.value.file == str(tmp_path / "history.txt") and "; fix: " in str(caught.value)


@settings(max_examples=examples(200), deadline=None)
@given(histories(keys=st.integers(0, 5), values=st.integers(1, 9) | st.just(2**70), global_names=True))
def test_what_was_written_is_read_again(trace: Trace) -> None:
    lost = {loss.what for loss in text.losses(trace)}
    assert not {what for what in lost if "aborted" not in what}, lost
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.txt.gz"
        text.write(trace, path)
        assert recognise(path) is text.FORMAT and gzip.decompress(path.read_bytes())
        again = read_trace(path)
    if not any("where one aborted" in what for what in lost):
        aborted = (trace.txn_outcome == Outcome.ABORTED).any()
        assert story(again, names=not aborted) == story(trace, names=not aborted)


def test_losses(tmp_path: Path) -> None:
    b = TraceBuilder({1: 5})
    with b.transaction("alice", name="first", begin=1, end=2, ctx={"a": 1}) as t:
        t.put(1, 0)
        t.get(1, Absent)
        t.get(2, 0)
        t.delete(3)
        t.scan(1, 9, [])
        t.iterator().end()
        t.append(7, 1)
        t.failed("put", key=1, error="no")
        t.put("x", 1.5)
    with b.transaction(None, outcome="unknown"):
        pass
    with b.transaction("alice", outcome="aborted"):
        pass
    with b.transaction("alice") as t:
        t.get(4, 0)
    whats = {loss.what: loss.fatal for loss in text.losses(b.build())}
    assert {what for what, fatal in whats.items() if fatal} == {
        "1 transaction with an unknown outcome",
        "that the initial state is unknown",
        "1 key other than whole numbers from 0",
        "1 value other than whole numbers from 0",
        "1 read of an absent key, which would look like a read of the 0 it also had",
        "2 reads of a 0 that nobody wrote, which would look like one of an absent key",
    } - {"that the initial state is unknown"}
    assert {what for what, fatal in whats.items() if not fatal} == {
        "1 delete",
        "1 scan",
        "1 iterator with all steps",
        "1 operation on lists",
        "1 operation that failed",
        "1 transaction without operations that it could say",
        "the times of 1 transaction",
        "hints (ctx)",
        "the initial state: 1 key would be written by a transaction of its own",
        "the names of sessions: they are numbered",
        "the names of transactions: they are numbered",
        "the names of aborted transactions",
    }
    assert any(
        "initial state is unknown" in loss.what for loss in text.losses(TraceBuilder("unknown").build())
    )


def test_a_given_initial_state_becomes_a_transaction(tmp_path: Path) -> None:
    b = TraceBuilder({1: 5, 2: 6})
    with b.transaction("3", name=8) as t:
        t.get(1, 5)
    text.write(b.build(), tmp_path / "h.txt")
    assert (tmp_path / "h.txt").read_text() == "w(1,5,4,9)\nw(2,6,4,9)\nr(1,5,3,8)\n"


def test_damage(tmp_path: Path) -> None:
    content = b"w(1,5,1,1)\nr(2,0,1,1)\nr(1,5,2,2)\nw(1,6,1,-1)\nw(1,7,1,3)\n"
    good, bad = survives(lambda data: trace_of(data, tmp_path), damage(content, 1, 1500))
    assert good > 50 and bad > 500


def test_the_public_file() -> None:
    path = HISTORIES / "polysi/violations/galera/galera.txt"
    if not path.exists():
        pytest.skip("the corpus of public histories is not here")
    lines = [re.fullmatch(r"([rw])\((\d+),(\d+),(\d+),(\d+)\)", line) for line in path.read_text().split()]
    fields = [line.groups() for line in lines if line]
    trace = read_trace(path)
    assert recognise(path) is text.FORMAT and len(lines) == len(fields) == len(trace.op_kind)
    assert len(trace) == len({f[4] for f in fields}) and len(trace.sessions) == len({f[3] for f in fields})
    assert int((trace.op_kind == Kind.PUT).sum()) == sum(f[0] == "w" for f in fields)
    rows = sorted(trace.op_line.tolist())
    assert rows == list(range(1, len(fields) + 1))
    for op in map(trace.operation, range(len(fields))):
        kind, key, value, *_ = fields[int(op.where.rsplit(":")[-1]) - 1]
        assert (op.kind == Kind.PUT) == (kind == "w") and op.key == int(key)
        assert op.value == (Absent if value == "0" else int(value))

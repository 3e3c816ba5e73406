"""AWDIT's test format: by hand, the public files, and all sorts of wrong ones."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import HISTORIES, damage, histories, operations, story, survives

from boomslang.trace import Absent, Outcome, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import awdit, recognise


def trace_of(content: str | bytes, folder: Path) -> Trace:
    path = folder / "history.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, format="awdit")


def test_by_hand(tmp_path: Path) -> None:
    trace = trace_of("w 0 0\nw 1\t0\n=====\nw 0 1\n-\nr 0 1\n  r 1 7  \n\n---\n---\n==\n==\nr 5 5", tmp_path)
    assert [(t.session, t.name, t.outcome.name) for t in trace.transactions()] == [
        ("1", 1, "COMMITTED"),
        ("2", 1, "COMMITTED"),
        ("2", 2, "COMMITTED"),
        ("4", 1, "COMMITTED"),
    ]
    assert operations(trace) == [
        [("put", 0, 0), ("put", 1, 0)],
        [("put", 0, 1)],
        [("get", 0, 1), ("get", 1, 7)],
        [("get", 5, 5)],
    ]
    assert trace.operation(4).where == f"{tmp_path}/history.txt:7"


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("w 0 0\nx 1 1", 2, "found 'x' at column 1; expected r or w"),
        ("w0 0", 1, "found '0' at column 2; expected a space"),
        ("w 0", 1, "found the end of the line at column 4; expected a space"),
        ("w a 0", 1, "expected the key"),
        ("w 0 -1", 1, "expected the value"),
        ("w 0 1 2", 1, "expected the end of the line"),
        ("w 0 1\n--=", 2, "expected nothing else on a line of - or ="),
        ("=====\n", 0, "found no transaction"),
    ],
)
def test_mistakes(content: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of(content, tmp_path)
    assert words in str(caught.value) and caught.value.line == line


@settings(max_examples=examples(200), deadline=None)
@given(histories(keys=st.integers(0, 5), values=st.integers(1, 9), aborted=False, absent=False))
def test_what_was_written_is_read_again(trace: Trace) -> None:
    assert not awdit.losses(trace)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.txt"
        awdit.write(trace, path)
        assert recognise(path) is awdit.FORMAT
        assert story(read_trace(path)) == story(trace)


def test_absent_becomes_a_0_that_somebody_writes(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("1", name=1) as t:
        t.get(7, Absent)
        t.put(7, 1)
    trace = b.build()
    assert [loss.what for loss in awdit.losses(trace)] == [
        "1 read of an absent key: a transaction of its own would write 0 first"
    ]
    awdit.write(trace, tmp_path / "h")
    assert (tmp_path / "h").read_text() == "r 7 0\nw 7 1\n=====\nw 7 0\n"


def test_damage(tmp_path: Path) -> None:
    content = b"w 0 0\nw 1 0\n=====\nw 0 1\n-----\nr 0 1\nr 1 0\n"
    good, bad = survives(lambda data: trace_of(data, tmp_path), damage(content, 2, 1500))
    assert good > 50 and bad > 300


PUBLIC = sorted((HISTORIES / "awdit").glob("**/*.txt"))


@pytest.mark.skipif(not PUBLIC, reason="the corpus of public histories is not here")
@pytest.mark.parametrize("path", PUBLIC, ids=lambda path: str(path.relative_to(HISTORIES)))
def test_public_files(path: Path) -> None:
    sessions = [
        [[line.split() for line in block.split("\n") if line] for block in re.split("-+", session)]
        for session in re.split("=+", path.read_text())
    ]
    expected = [
        [("get" if op == "r" else "put", int(k), int(v)) for op, k, v in block]
        for session in sessions
        for block in session
        if block
    ]
    trace = read_trace(path)
    assert recognise(path) is awdit.FORMAT and operations(trace) == expected
    assert (trace.txn_outcome == Outcome.COMMITTED).all() and not trace.warnings
    assert len(trace.sessions) == sum(any(session) for session in sessions)

"""dbcop's .hist text: by hand, as its documentation has it, and all sorts of wrong ones."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import damage, histories, operations, story, survives

from boomslang.trace import Absent, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import dbcop_hist, recognise


def trace_of(content: str | bytes, folder: Path) -> Trace:
    path = folder / "history.hist"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, format="dbcop-hist")


def test_by_hand(tmp_path: Path) -> None:
    content = (
        "// two sessions\n[x:=1 y:=2] [y==2  x:=3]!// why\n\n---\n// other\n"
        "[ x==1 _a9==? z==0 ][y==0 y:=0]  \n-\n[x==9]"
    )
    trace = trace_of(content, tmp_path)
    assert [(t.session, t.name, t.outcome.name) for t in trace.transactions()] == [
        ("1", 1, "COMMITTED"),
        ("1", 2, "ABORTED"),
        ("2", 1, "COMMITTED"),
        ("2", 2, "COMMITTED"),
        ("3", 1, "COMMITTED"),
    ]
    assert operations(trace) == [
        [("put", "x", 1), ("put", "y", 2)],
        [("get", "y", 2), ("put", "x", 3)],
        [("get", "x", 1), ("get", "_a9", Absent), ("get", "z", Absent)],
        [("get", "y", 0), ("put", "y", 0)],
        [("get", "x", 9)],
    ]
    assert trace.operation(3).where == f"{tmp_path}/history.hist:2"


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("[x:=1]\nx:=1", 2, "found 'x' at column 1; expected '[' of a transaction"),
        ("[]", 1, "found ']' at column 2; expected a variable"),
        ("[1:=2]", 1, "expected a variable"),
        ("[x=1]", 1, "expected a second '='"),
        ("[x:1]", 1, "expected '=' after ':'"),
        ("[x]", 1, "expected := of a write or == of a read"),
        ("[x:=?]", 1, "expected the version, a whole number"),
        ("[x==-1]", 1, "expected the version, a whole number or ?"),
        ("[x==1", 1, "found the end of the line at column 6; expected a space or ']'"),
        ("[x==1,y==2]", 1, "expected a space or ']'"),
        ("[x==1 \ny==2]", 1, "found the end of the line at column 6; expected a space or ']'"),
        ("--- [x==1]", 1, "expected nothing else on a line of -"),
        ("[x:=1]\n[x:=1]!", 2, "found a second write of version 1 of variable 'x'"),
        ("// nothing\n---\n", 0, "found no transaction"),
    ],
)
def test_mistakes(content: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of(content, tmp_path)
    assert words in str(caught.value) and caught.value.line == line


@settings(max_examples=examples(200), deadline=None)
@given(histories(keys=st.sampled_from(["x", "y", "_z1"]), values=st.integers(1, 50) | st.just(2**64 - 1)))
def test_what_was_written_is_read_again(trace: Trace) -> None:
    lost = [loss.what for loss in dbcop_hist.losses(trace)]
    puts = [op for ops in operations(trace) for op in ops if op[0] == "put"]
    assert bool(lost) == (len(set(puts)) < len(puts)) and all("versions differ" in what for what in lost)
    if lost:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h.hist"
        dbcop_hist.write(trace, path)
        assert recognise(path) is dbcop_hist.FORMAT
        assert story(read_trace(path)) == story(trace)


def test_what_it_cannot_say() -> None:
    b = TraceBuilder()
    with b.transaction("1", name=1) as t:
        t.put("a b", -1)
        t.put(1, 2**64)
        t.get("x", 0)
    assert {loss.what for loss in dbcop_hist.losses(b.build()) if loss.fatal} == {
        "2 keys other than names of letters, digits and _",
        f"2 values other than whole numbers from 0 to {2**64 - 1}",
        "1 read of a 0 that nobody wrote, which would look like one of an absent key",
    }


def test_damage(tmp_path: Path) -> None:
    content = b"// c\n[x:=1 y==2] [z==?]!\n---\n[x==1 y==0]\n"
    good, bad = survives(lambda data: trace_of(data, tmp_path), damage(content, 3, 1500))
    assert good > 50 and bad > 300

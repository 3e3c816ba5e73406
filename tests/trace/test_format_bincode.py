"""dbcop's binary histories: by hand, the public files, and all sorts of wrong ones."""

from __future__ import annotations

import gzip
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import HISTORIES, damage, histories, operations, story, survives

from boomslang.trace import Absent, Initial, Outcome, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import dbcop_bincode, recognise

Event = tuple[str, int, int, bool]


def packed(sessions: list[list[tuple[list[Event], bool]]]) -> bytes:
    def string(text: str) -> bytes:
        return struct.pack("<Q", len(text.encode())) + text.encode()

    out = (
        struct.pack("<5Q", 1, 2, 3, 4, 5)
        + string("CockroachDB")
        + string("2019-01-01T00:00:00Z")
        + string("")
    )
    out += struct.pack("<Q", len(sessions))
    for session in sessions:
        out += struct.pack("<Q", len(session))
        for events, success in session:
            out += struct.pack("<Q", len(events))
            for kind, variable, value, done in events:
                out += struct.pack("<BQQB", kind == "w", variable, value, done)
            out += bytes([success])
    return out


def trace_of(content: bytes, folder: Path, name: str = "dbcop-bincode") -> Trace:
    path = folder / "history.bincode"
    path.write_bytes(content)
    return read_trace(path, format=name)


SMALL = packed(
    [
        [([("w", 1, 5, True), ("r", 2, 0, True)], True), ([("w", 2, 6, True), ("r", 3, 0, False)], True)],
        [],
        [([("r", 1, 5, True), ("w", 1, 7, False)], False), ([], True)],
    ]
)


def test_by_hand(tmp_path: Path) -> None:
    trace = trace_of(SMALL, tmp_path)
    assert [(t.session, t.name, t.outcome.name) for t in trace.transactions()] == [
        ("1", 1, "COMMITTED"),
        ("1", 2, "UNKNOWN"),
        ("3", 1, "ABORTED"),
        ("3", 2, "COMMITTED"),
    ]
    assert operations(trace) == [
        [("put", 1, 5), ("get", 2, Absent)],
        [("put", 2, 6), ("get failed", 3, Absent)],
        [("get", 1, 5), ("put failed", 1, Absent)],
        [],
    ]
    assert trace.initial_mode == Initial.EMPTY
    assert trace.operation(2).where == f"{tmp_path}/history.bincode:5"  # the fifth record
    [warning] = trace.warnings
    assert "1 of 3 transactions" in warning and "read as unknown" in warning
    assert "--format dbcop-bincode-committed" in warning


def test_partial_transactions_as_committed(tmp_path: Path) -> None:
    trace = trace_of(SMALL, tmp_path, "dbcop-bincode-committed")
    assert [t.outcome.name for t in trace.transactions()] == [
        "COMMITTED",
        "COMMITTED",
        "ABORTED",
        "COMMITTED",
    ]
    assert "read as committed" in trace.warnings[0]


def test_a_0_that_somebody_writes(tmp_path: Path) -> None:
    """Such a key starts as 0 too: both may be what a read of 0 saw."""
    content = packed(
        [[([("w", 1, 0, True), ("w", 2, 0, True)], True)], [([("r", 1, 0, True), ("r", 3, 0, True)], True)]]
    )
    trace = trace_of(content, tmp_path)
    assert operations(trace)[1] == [("get", 1, 0), ("get", 3, Absent)]
    assert trace.initial_mode == Initial.GIVEN and trace.initial() == [(1, 0)]
    assert not dbcop_bincode.losses(trace)
    dbcop_bincode.write(trace, tmp_path / "again")
    assert story(read_trace(tmp_path / "again")) == story(trace)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (SMALL[:-1], f"the end of the file at byte {len(SMALL) - 1}; expected the rest of success"),
        (SMALL + b"\0\0", f"2 bytes after the last session, from byte {len(SMALL)}"),
        (
            SMALL.replace(struct.pack("<BQQB", 1, 1, 5, 1), struct.pack("<BQQB", 2, 1, 5, 1)),
            'byte 2 as "write"',
        ),
        (SMALL[:90] + b"\xff" * 8 + SMALL[98:], "as the number of"),
        (SMALL[:40] + b"\xff" * 8, "18446744073709551615 as the number of info at byte 40"),
        (b"", "the end of the file at byte 0"),
        (packed([]), "found no transaction"),
        (packed([[], []]), "found no transaction"),
    ],
)
def test_mistakes(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of(content, tmp_path)
    assert words in str(caught.value) and "; fix: " in str(caught.value)


@settings(max_examples=examples(200), deadline=None)
@given(
    histories(
        keys=st.integers(0, 5) | st.just(2**64 - 1),
        values=st.integers(1, 9) | st.just(2**64 - 1),
        failed=True,
        empty=True,
    )
)
def test_what_was_written_is_read_again(trace: Trace) -> None:
    assert not dbcop_bincode.losses(trace)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.bincode.gz"
        dbcop_bincode.write(trace, path)
        assert recognise(path) is dbcop_bincode.FORMAT and gzip.decompress(path.read_bytes())
        again = read_trace(path)
        assert story(again) == story(trace) and not again.warnings


def test_what_it_cannot_say() -> None:
    b = TraceBuilder({1: 0, 2: 7})
    with b.transaction("1", name=1) as t:
        t.put(1, -1)
        t.put("x", 1)
        t.failed("put", key=1, value=3, error="busy")
        t.put(3, 0)
        t.get(3, 0)
    with b.transaction("1", name=2, outcome="unknown") as t:
        t.get(1, 1)
    with b.transaction("1", name=3, outcome="unknown") as t:
        t.failed("get", key=1, value=3, error="busy")
    whats = {loss.what: loss.fatal for loss in dbcop_bincode.losses(b.build())}
    assert whats == {
        "1 operation that failed": False,
        "the initial state: 1 key would be written by a transaction of its own": False,
        f"1 key other than whole numbers from 0 to {2**64 - 1}": True,
        f"1 value other than whole numbers from 0 to {2**64 - 1}": True,
        "the names of sessions: they are numbered": False,
        "1 transaction with an unknown outcome": True,
        "the values of operations that failed": False,
        "what failed operations said": False,
        "that 1 key did not start as 0": False,
        "that 1 key started as 0 and not as absent": False,
    }


def test_damage(tmp_path: Path) -> None:
    good, bad = survives(lambda data: trace_of(data, tmp_path), damage(SMALL, 4, 1000))
    assert good > 500 and bad > 500


def unpacked(data: bytes) -> list[list[tuple[list[Event], bool]]]:
    at = 40
    for _ in range(3):
        at += 8 + int.from_bytes(data[at : at + 8], "little")

    def number() -> int:
        nonlocal at
        at += 8
        return int.from_bytes(data[at - 8 : at], "little")

    sessions: list[Any] = []
    for _ in range(number()):
        sessions.append([])
        for _ in range(number()):
            n = number()
            events = [
                ("rw"[w], k, v, bool(s)) for w, k, v, s in struct.iter_unpack("<BQQB", data[at : at + 18 * n])
            ]
            at += 18 * n + 1
            sessions[-1].append((events, bool(data[at - 1])))
    assert at == len(data)
    return sessions


PUBLIC = sorted(HISTORIES.glob("**/*.bincode"))[::6]


@pytest.mark.skipif(not PUBLIC, reason="the corpus of public histories is not here")
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=[pytest.mark.full] if p.stat().st_size > 120_000 else []) for p in PUBLIC],
    ids=lambda path: str(path.parent.relative_to(HISTORIES)),
)
def test_public_files(path: Path) -> None:
    sessions = unpacked(path.read_bytes())
    written = {
        (k, v) for s in sessions for events, _ in s for kind, k, v, done in events if kind == "w" and done
    }
    expected, outcomes = [], []
    for session in sessions:
        for events, success in session:
            whole = all(done for *_, done in events)
            outcomes.append(
                Outcome.ABORTED if not success else Outcome.COMMITTED if whole else Outcome.UNKNOWN
            )
            expected.append(
                [
                    ({"r": "get", "w": "put"}[kind] + ("" if done else " failed"), k,
                     Absent if not done or (v == 0 and (k, 0) not in written) else v)
                    for kind, k, v, done in events
                ]
            )  # fmt: skip
    trace = read_trace(path)
    assert recognise(path) is dbcop_bincode.FORMAT
    assert operations(trace) == expected and trace.txn_outcome.tolist() == outcomes
    assert bool(trace.warnings) == (Outcome.UNKNOWN in outcomes)
    with tempfile.TemporaryDirectory() as folder:
        assert not dbcop_bincode.losses(trace)
        dbcop_bincode.write(trace, Path(folder) / "again")
        assert story(read_trace(Path(folder) / "again")) == story(trace)

"""Cobra's binary logs: made here by hand, and the public ones where they are at hand."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support.paths import CORPUS

from boomslang.trace import Absent, Initial, Kind, Outcome, TraceError, read_trace, write_trace

LOADED, MISSING, DELETED, UNIVERSAL = 0xBEBEEBEE, 0xDEADBEEF, 0xABCDEFAB, 0xABDDEFEE


def record(tag: str, *numbers: int) -> bytes:
    return tag.encode() + b"".join(struct.pack(">q", n) for n in numbers)


def test_a_log_by_hand(tmp_path: Path) -> None:
    (tmp_path / "T10.log").write_bytes(
        record("S", 7) + record("R", LOADED, LOADED, -5, 99) + record("R", MISSING, MISSING, 6, 0)
        + record("W", 1001, -5, 55) + record("C", 7) + record("S", 8) + record("W", DELETED, 6, 0)
        + record("A", 8)
    )  # fmt: skip
    (tmp_path / "T2.log").write_bytes(
        record("S", 9)
        + record("R", 7, 1001, -5, 55)
        + record("R", 8, DELETED, 6, 0)
        + record("C", 9)
        + record("S", 10)
    )
    (tmp_path / "T2.debug").write_text("ignored")
    trace = read_trace(tmp_path)
    assert [(t.session, t.name, t.outcome) for t in trace.transactions()] == [
        ("T2", 9, Outcome.COMMITTED),
        ("T2", 10, Outcome.UNKNOWN),
        ("T10", 7, Outcome.COMMITTED),
        ("T10", 8, Outcome.ABORTED),
    ]
    seen = [[(o.kind, o.key, o.value) for o in t.operations] for t in trace.transactions()]
    assert seen == [
        [(Kind.GET, -5, 1001), (Kind.GET, 6, Absent)],
        [],
        [(Kind.GET, -5, Absent), (Kind.GET, 6, Absent), (Kind.PUT, -5, 1001)],
        [(Kind.DELETE, 6, Absent)],
    ]
    assert trace.initial_mode == Initial.EMPTY
    assert trace.operation(0).where == f"{tmp_path / 'T2.log'}:2"
    write_trace(trace, tmp_path / "as.jsonl")
    again = read_trace(tmp_path / "as.jsonl")
    assert [[(o.kind, o.key, o.value) for o in t.operations] for t in again.transactions()] == seen


def test_the_universal_dialect_has_values_that_repeat(tmp_path: Path) -> None:
    (tmp_path / "T1.log").write_bytes(
        record("S", 1) + record("W", UNIVERSAL, 5, 77) + record("W", UNIVERSAL, 6, 77) + record("C", 1)
        + record("S", 2) + record("R", UNIVERSAL, UNIVERSAL, 5, 77) + record("R", LOADED, LOADED, 8, 3)
        + record("C", 2)
    )  # fmt: skip
    trace = read_trace(tmp_path)
    assert [o.value for t in trace.transactions() for o in t.operations] == [77, 77, 77, Absent]


@pytest.mark.parametrize(
    ("log", "line", "words"),
    [
        (record("S", 1) + record("C", 1) + b"X", 3, "found byte 0x58 as a record's tag"),
        (record("S", 1) + record("S", 2), 2, "a second start"),
        (record("S", 1) + record("C", 1) + record("C", 1), 3, "record C outside a transaction"),
        (record("S", 1) + record("C", 1) + record("W", 1, 2, 3), 3, "record W outside a transaction"),
        (
            record("S", 1) + record("W", 1, 2, 3) + record("C", 2),
            3,
            "the end of transaction 2; expected that of transaction 1",
        ),
    ],
)
def test_mistakes(log: bytes, line: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "T1.log").write_bytes(log)
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path)
    assert caught.value.line == line and words in str(caught.value)


def test_a_torn_record_is_dropped_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "T1.log").write_bytes(record("S", 1) + record("W", 1, 2, 3) + record("C", 1)[:-1])
    trace = read_trace(tmp_path)
    assert trace.txn_outcome.tolist() == [Outcome.UNKNOWN] and len(trace.warnings) == 1


def test_other_logs_are_not_taken_for_cobra(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("Started the server\n")
    with pytest.raises(TraceError, match="a folder without traces"):
        read_trace(tmp_path)


# transactions and operations as the corpus' own notes or the logs' sizes give them
KNOWN = {
    "cobra/one-shot-10k/rubis-10000": 9358,
    "cobra/ser-violation/cock-G2": 446,
    "cobra/ser-violation/cock-blog": 21,
    "veristrong/fig5/tpcc-1k": 1760,
}


@pytest.mark.parametrize("name", KNOWN)
def test_public_histories(name: str) -> None:
    folder = CORPUS / "histories" / name
    if not folder.is_dir():
        pytest.skip("the corpus of public histories is not here")
    trace = read_trace(folder)
    assert len(trace) == KNOWN[name] and not trace.warnings
    sizes = {"S": 9, "C": 9, "W": 25, "R": 33}
    writes = int((trace.op_kind == Kind.PUT).sum())
    total = (
        len(trace) * (sizes["S"] + sizes["C"])
        + writes * sizes["W"]
        + (len(trace.op_kind) - writes) * sizes["R"]
    )
    assert total == sum(f.stat().st_size for f in folder.glob("*.log"))
    assert (trace.txn_outcome == Outcome.COMMITTED).all()
    assert (np.diff(trace.key_rank) == 1).all()

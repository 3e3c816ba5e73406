"""Cobra's logs as they are written, damaged or not; how they are read is in test_trace_cobra.py."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import HISTORIES, damage, histories, operations, story, survives

from boomslang.trace import Absent, Trace, TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import cobra, recognise

UNIVERSAL = 0xABDDEFEE


def ids_of(folder: Path) -> set[int]:
    """All write ids of writes."""
    found = set()
    for log in folder.glob("*.log"):
        data, at = log.read_bytes(), 0
        while at < len(data):
            if data[at : at + 1] == b"W":
                found.add(struct.unpack_from(">q", data, at + 1)[0])
            at += {b"S": 9, b"C": 9, b"A": 9, b"W": 25, b"R": 33}[data[at : at + 1]]
    return found


@settings(max_examples=examples(200), deadline=None)
@given(
    histories(
        keys=st.integers(15, 20) | st.just(-(2**63)),  # none is also a value: see below
        values=st.integers(-9, 9) | st.sampled_from([2**63 - 1, 0xDEADBEEF, UNIVERSAL]),
        aborted=False,
        unknown=True,
        empty=True,
        global_names=True,
    )
)
def test_what_was_written_is_read_again(trace: Trace) -> None:
    assert not cobra.losses(trace)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs"
        cobra.write(trace, path)
        assert recognise(path) is cobra.FORMAT
        assert story(read_trace(path)) == story(trace)
        puts = [o[2] for ops in operations(trace) for o in ops if o[0] == "put"]
        if len(set(puts)) < len(puts):
            assert ids_of(path) == {UNIVERSAL}


def test_a_read_names_its_writer(tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("T1", name=7) as t:
        t.put(1, 100)
        t.delete(2)
    with b.transaction("T2", name=8) as t:
        t.get(1, 100)
        t.get(1, 999)
        t.get(2, Absent)
    cobra.write(b.build(), tmp_path / "logs")
    assert (tmp_path / "logs" / "T2.log").read_bytes() == b"".join(
        [
            b"S" + struct.pack(">q", 8),
            b"R" + struct.pack(">qqqq", 7, 100, 1, 100),
            b"R" + struct.pack(">qqqq", 0, 999, 1, 999),
            b"R" + struct.pack(">qqqq", 0xDEADBEEF, 0xDEADBEEF, 2, 0),
            b"C" + struct.pack(">q", 8),
        ]
    )
    assert operations(read_trace(tmp_path / "logs"))[0] == [("put", 1, 100), ("delete", 2, None)]


def test_what_cobra_itself_would_mistake(tmp_path: Path) -> None:
    """Aborts, which its logs do not have; a key whose first version would have the id of a write; ids that mean
    something else; and a writer that is none, which must be no transaction."""
    b = TraceBuilder()
    with b.transaction("T1", name=0) as t:
        t.put(7, 5)
        t.get(5, Absent)
        t.get(6, 8)
    with b.transaction("T1", name=0xBEBEEBEE) as t:
        t.get(7, 5)
    with b.transaction("T2", name=2, outcome="aborted") as t:
        t.put(6, 9)
    trace = b.build()
    assert {loss.what: (loss.fatal, loss.minor) for loss in cobra.losses(trace)} == {
        "1 transaction that aborted": (False, False),
        "1 key whose number is also that of a write: another is taken": (False, False),
        "the names of transactions: they are numbered": (False, True),
    }
    cobra.write(trace, tmp_path / "logs")
    assert [log.name for log in (tmp_path / "logs").iterdir()] == ["T1.log"]
    assert (tmp_path / "logs" / "T1.log").read_bytes() == b"".join(
        [
            b"S" + struct.pack(">q", 1),
            b"W" + struct.pack(">qqq", 5, 7, 5),
            b"R" + struct.pack(">qqqq", 0xDEADBEEF, 0xDEADBEEF, 1, 0),
            b"R" + struct.pack(">qqqq", 0, 8, 6, 8),
            b"C" + struct.pack(">q", 1),
            b"S" + struct.pack(">q", 2),
            b"R" + struct.pack(">qqqq", 1, 5, 7, 5),
            b"C" + struct.pack(">q", 2),
        ]
    )


def test_what_it_cannot_say() -> None:
    b = TraceBuilder({5: 6})
    with b.transaction("a/b", name="x", outcome="unknown", begin=1) as t:
        t.put("k", 2**63)
        t.delete(1, found=True)
    with b.transaction("a/b", name="y") as t:
        t.scan(1, 2, [])
    assert {loss.what: loss.fatal for loss in cobra.losses(b.build())} == {
        "1 scan": False,
        "the times of 1 transaction": False,
        "the initial state: 1 key would be written by a transaction of its own": False,
        f"1 key other than whole numbers from {-(2**63)} to {2**63 - 1}": True,
        f"1 value other than whole numbers from {-(2**63)} to {2**63 - 1}": True,
        "the names of sessions, which are no names of files: they are numbered": False,
        "1 transaction with an unknown outcome that another of its session follows": True,
        "whether 1 delete found something": False,
        "the names of transactions: they are numbered": False,
    }


def test_an_initial_state_becomes_a_session(tmp_path: Path) -> None:
    b = TraceBuilder({5: 6})
    with b.transaction("S1", name=2**63 - 1) as t:
        t.get(5, 6)
    cobra.write(b.build(), tmp_path / "logs")
    again = read_trace(tmp_path / "logs")
    assert again.sessions == ["S1", "S2"] and operations(again) == [[("get", 5, 6)], [("put", 5, 6)]]


def test_damage(tmp_path: Path) -> None:
    log = b"".join(
        [
            b"S" + struct.pack(">q", 1),
            b"W" + struct.pack(">qqq", 100, 1, 5),
            b"R" + struct.pack(">qqqq", 1, 100, 1, 5),
            b"C" + struct.pack(">q", 1),
            b"S" + struct.pack(">q", 2),
            b"A" + struct.pack(">q", 2),
        ]
    )

    def read(data: bytes) -> Trace:
        (tmp_path / "T1.log").write_bytes(data)
        return read_trace(tmp_path, format="cobra")

    good, bad = survives(read, damage(log, 6, 1000))
    assert good > 100 and bad > 100


def test_a_folder_of_empty_logs(tmp_path: Path) -> None:
    (tmp_path / "T1.log").touch()
    with pytest.raises(TraceError, match="found no transaction"):
        read_trace(tmp_path, format="cobra")


@pytest.mark.parametrize("name", ["cobra/ser-violation/cock-G2", "veristrong/fig5/tpcc-1k"])
def test_public_histories_survive(name: str, tmp_path: Path) -> None:
    if not (HISTORIES / name).is_dir():
        pytest.skip("the corpus of public histories is not here")
    trace = read_trace(HISTORIES / name)
    assert not cobra.losses(trace)
    cobra.write(trace, tmp_path / "again")
    assert story(read_trace(tmp_path / "again")) == story(trace)
    assert (ids_of(tmp_path / "again") == {UNIVERSAL}) == name.startswith("veristrong")

"""Notes on a whole trace: in the header's `ctx`, the same in all files, kept as they are, and written by a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.written import written

from boomslang.cli.main import main
from boomslang.errors import UsageError
from boomslang.record import Tracer
from boomslang.trace import TraceError, read_trace

NOTES = {"database": "PostgreSQL 12.3", "faults": "at 1s cut node2 for 2s", "settings": {"a": ["b", None, 1]}}


def recorded(folder: Path) -> Path:
    tracer = Tracer(folder, ctx=NOTES)
    with tracer.session("a") as session:
        session.log("begin")
        session.log("put", ["x", 1])
        session.log("commit")
    return folder


@pytest.mark.parametrize("format", ["jsonl", "arrow", "parquet"])
def test_notes_are_recorded_written_and_read_again(tmp_path: Path, format: str) -> None:
    trace = read_trace(recorded(tmp_path / "t"))
    assert json.loads(trace.notes) == NOTES
    target = written(trace, tmp_path, format)
    assert json.loads(read_trace(target).notes) == NOTES


def test_without_notes_there_are_none(tmp_path: Path) -> None:
    Tracer(tmp_path / "t")
    assert read_trace(tmp_path / "t").notes == ""


def test_files_must_agree(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"boomslang":1,"ctx":{"faults":"none"}}\n')
    (tmp_path / "b.jsonl").write_text('{"boomslang":1,"ctx":{"faults":"some"}}\n')
    with pytest.raises(TraceError, match='notes in "ctx" that differ from those of an earlier file'):
        read_trace(tmp_path)
    (tmp_path / "b.jsonl").write_text('{"boomslang":1}\n')
    assert json.loads(read_trace(tmp_path).notes) == {"faults": "none"}


@pytest.mark.parametrize("wrong", ["1", '"text"', "[1]", "null", '{"a":1,"a":2}'])
def test_what_is_no_object_is_refused(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"boomslang":1,"ctx":{wrong}}}\n')
    with pytest.raises(TraceError, match=r"a\.jsonl:1"):
        read_trace(tmp_path / "a.jsonl")


def test_a_table_with_other_notes_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from boomslang.trace.formats.columnar import to_table

    table = to_table(read_trace(recorded(tmp_path / "t")))
    strange = table.replace_schema_metadata({**table.schema.metadata, b"boomslang-ctx": b"[1]"})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, strange.schema) as out:
        out.write_table(strange)
    with pytest.raises(TraceError, match="a ctx that is no JSON object"):
        read_trace(tmp_path / "t.arrow")


def test_notes_that_json_cannot_say_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a ctx that JSON cannot say"):
        Tracer(tmp_path / "t", ctx={"a": object()})


def test_a_run_says_what_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--db", "sqlite", "--workload", "blindw", "--txns", "20", "--fault", "kill-client=1"]
    assert main([*words, "--out", str(tmp_path / "t")]) == 0
    told = json.loads(read_trace(tmp_path / "t").notes)
    assert told["database"].startswith("SQLite") and told["workload"] == "blindw"
    assert told["faults"] == "kill-client=1"
    capsys.readouterr()
    assert main(["stats", str(tmp_path / "t")]) == 0
    assert "kill-client=1" in capsys.readouterr().out

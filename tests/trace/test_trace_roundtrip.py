"""What is written can be read again, and is the same; and the schema describes it."""

from __future__ import annotations

import gzip
import json
import tempfile
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.paths import ROOT
from support.whole_traces import story, traces

from boomslang.trace import Trace, TraceError, read_trace, write_trace

SCHEMA = json.loads((files("boomslang.trace") / "schema.json").read_text())


@settings(max_examples=examples(150), deadline=None)
@given(traces(), st.sampled_from(["t.jsonl", "t.jsonl.gz", "folder"]))
def test_reading_what_was_written_gives_the_same(trace: Trace, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_trace(trace, path)
        again = read_trace(path)
        assert story(again) == story(trace)
        lines = [line for f in ([path] if path.is_file() else sorted(path.iterdir())) for line in _lines(f)]
        validator = jsonschema.Draft202012Validator(SCHEMA)
        for line in lines:
            validator.validate(json.loads(line))
        # Once more: by now the text is settled.
        other = Path(folder) / "again.jsonl"
        write_trace(again, other)
        if path.is_file():
            assert _lines(other) == lines


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().removesuffix("\n").split("\n")


def test_several_clocks_need_a_folder(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for n in (1, 2, 10):
        (source / f"c{n}.jsonl").write_text(
            f'{{"boomslang":1,"clock":"host{n}"}}\n{{"op":"begin","invoke":{100 - n}}}\n'
            f'{{"op":"put","key":1,"value":{n}}}\n'
            '{"op":"commit","error":"lost"}\n{"op":"commit"}\n'
        )
    trace = read_trace(source)
    with pytest.raises(ValueError, match="3 clocks"):
        write_trace(trace, tmp_path / "out.jsonl")
    write_trace(trace, tmp_path / "out")
    assert story(read_trace(tmp_path / "out")) == story(trace)
    with pytest.raises(ValueError, match="expected an empty one"):
        write_trace(trace, tmp_path / "out")


def test_retried_and_failed_begins_survive(tmp_path: Path) -> None:
    source = tmp_path / "t.jsonl"
    source.write_text(
        '{"session":"a","txn":1,"op":"begin","error":"busy","invoke":1}\n{"session":"a","txn":1,"op":"begin","invoke":2,"ctx":{"n":1}}\n'
        '{"session":"a","op":"commit","ctx":{"m":2}}\n{"session":"a","op":"begin","error":"busy","invoke":5}\n'
        '{"session":"a","op":"get","key":1,"absent":true}\n{"session":"a","op":"commit","ctx":{"k":3}}\n'
    )
    trace = read_trace(source)
    write_trace(trace, tmp_path / "again.jsonl")
    assert story(read_trace(tmp_path / "again.jsonl")) == story(trace)
    assert [t.ctx for t in trace.transactions()] == [{"n": 1, "m": 2}, {"k": 3}]


BAD = [
    '{"op":"put","txn":1,"key":1}',
    '{"op":"put","txn":1,"key":[1],"value":1}',
    '{"op":"pit","txn":1}',
    "3",
    "{}",
    '{"op":"get","txn":1,"key":1,"value":1,"absent":true}',
    '{"op":"get","txn":1,"key":1}',
    '{"op":"get","txn":1,"key":1,"absent":false}',
    '{"op":"begin","txn":1.5}',
    '{"op":"begin","txn":1,"foo":1}',
    '{"boomslang":2}',
    '{"boomslang":1,"initial":"full"}',
    '{"op":"scan","txn":1,"items":[[1]]}',
    '{"op":"next","txn":1,"id":1}',
    '{"op":"next","txn":1,"id":1,"key":1,"value":1,"end":true}',
    '{"op":"put","txn":1,"key":1,"value":{"bytes":"0"}}',
    '{"op":"delete","txn":1,"key":1,"found":1}',
    '{"op":"commit","txn":1,"ctx":1}',
]


@pytest.mark.parametrize("line", BAD)
def test_the_schema_refuses_what_the_reader_refuses(line: str, tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))
    path = tmp_path / "t.jsonl"
    path.write_text('{"op":"begin","txn":1}\n{"op":"iterator","txn":1,"id":1}\n' + line + "\n")
    with pytest.raises(TraceError):
        read_trace(path)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for example in (ROOT / "examples").glob("*.jsonl"):
        for line in example.read_text().splitlines():
            jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))

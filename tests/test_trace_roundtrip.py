"""What is written can be read again, and is the same; and the schema describes it."""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boomslang.trace import Trace, TraceBuilder, TraceError, read_trace, typed, write_trace

SCHEMA = json.loads((files("boomslang.trace") / "schema.json").read_text())

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, text, st.binary(max_size=4))
bounds = st.one_of(st.integers(-5, 5), text, st.binary(max_size=2))
hints = st.none() | st.dictionaries(
    text, st.recursive(scalars.filter(lambda x: not isinstance(x, bytes)), st.lists, max_leaves=3), max_size=2
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    initial: Any = draw(
        st.sampled_from([None, "unknown", []])
        | st.lists(st.tuples(scalars, scalars), max_size=3, unique_by=lambda kv: typed(kv[0]))
    )
    b = TraceBuilder(initial, clock=draw(st.sampled_from(["", "host/1"])))
    timed = draw(st.booleans())
    clock = 0

    def tick() -> int | None:
        nonlocal clock
        clock += draw(st.integers(0, 3))
        return clock if timed and draw(st.booleans()) else None

    def extra() -> dict[str, Any]:
        return {"invoke": tick(), "return_": tick(), "ctx": draw(hints)}

    for n in range(draw(st.integers(0, 4))):
        session = draw(st.sampled_from([None, "a", "b", "é"]))
        name = f"{draw(text)}/{n}" if draw(st.booleans()) else None
        t = b.transaction(session, name=name, begin=tick(), ctx=draw(hints))
        for _ in range(draw(st.integers(0, 4))):
            match draw(st.integers(0, 6)):
                case 0:
                    t.put(draw(scalars), draw(scalars), **extra())
                case 1:
                    t.get(draw(scalars), draw(scalars), **extra())
                case 2:
                    t.delete(draw(scalars), draw(st.sampled_from([None, True, False])), **extra())
                case 3:
                    t.failed(
                        draw(st.sampled_from(["put", "get", "delete", "next", "commit", "abort"])),
                        error=draw(text),
                        **extra(),
                    )
                case 4:
                    t.failed(
                        "scan",
                        lo=draw(bounds),
                        hi=draw(bounds),
                        items=[(draw(scalars), draw(scalars))],
                        error="e",
                        **extra(),
                    )
                case 5:
                    t.scan(
                        None,
                        None,
                        draw(
                            st.lists(
                                st.tuples(scalars, scalars), max_size=3, unique_by=lambda kv: typed(kv[0])
                            )
                        ),
                        **extra(),
                    )
                case _:
                    keys = sorted(set(draw(st.lists(st.integers(-9, 9), max_size=3))))
                    it = t.iterator(
                        draw(st.sampled_from([None, -9])), draw(st.sampled_from([None, 10])), **extra()
                    )
                    for key in keys:
                        it.next(key, draw(scalars), **extra())
                    if draw(st.booleans()):
                        it.end(**extra())
        match draw(st.integers(0, 2)):
            case 0:
                t.commit(return_=tick(), ctx=draw(st.just(None) | st.just({"the end": 1})))
            case 1:
                t.abort(return_=tick())
            case _:
                t.unknown()
    return b.build()


def story(trace: Trace) -> Any:
    """All that a trace says, without where it said it and how its ranges are numbered."""

    def plain(x: Any) -> Any:
        return [plain(y) for y in x] if isinstance(x, list | tuple) else typed(x)

    told = []
    for t in trace.transactions():
        ranges: dict[int, int] = {}
        ops = []
        for o in t.operations:
            ranges.setdefault(o.iterator, len(ranges))
            o = replace(o, index=0, where="", iterator=ranges[o.iterator])
            ops.append([plain(v) for k, v in vars(o).items() if k != "ctx"] + [json.dumps(o.ctx)])
        told.append(
            [(plain(v)) for k, v in vars(replace(t, operations=(), where="", ctx=None)).items()]
            + [json.dumps(t.ctx), ops]
        )
    return trace.initial_mode, plain(trace.initial()), told


@settings(max_examples=150, deadline=None)
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
    for example in (Path(__file__).parent.parent / "examples").glob("*.jsonl"):
        for line in example.read_text().splitlines():
            jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))

"""The unit of a trace's times: said in the header, the same in all files, and kept by what keeps times."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written import written

from boomslang.trace import TraceBuilder, TraceError, read_trace
from boomslang.trace.formats import find

UNITS = ("ns", "us", "ms", "s")
BEGIN, COMMIT = '{"txn":1,"op":"begin","invoke":1}\n', '{"txn":1,"op":"commit","return":2}\n'


def folder(tmp_path: Path, **headers: str) -> Path:
    for name, header in headers.items():
        (tmp_path / f"{name}.jsonl").write_text(header + "\n" + BEGIN + COMMIT)
    return tmp_path


@pytest.mark.parametrize("unit", UNITS)
def test_a_header_says_the_unit(tmp_path: Path, unit: str) -> None:
    assert read_trace(folder(tmp_path, a=f'{{"unit":"{unit}","boomslang":1}}')).unit == unit


def test_nobody_need_say_it(tmp_path: Path) -> None:
    assert read_trace(folder(tmp_path, a='{"boomslang":1}')).unit == ""
    assert TraceBuilder().build().unit == ""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('"min"', '"min" as "unit"; expected "ns", "us", "ms" or "s"'),
        ('""', '"" as "unit"'),
        ("7", "expected a string"),
    ],
)
def test_other_units_are_refused(tmp_path: Path, value: str, found: str) -> None:
    with pytest.raises(TraceError) as error:
        read_trace(folder(tmp_path, a=f'{{"boomslang":1,"unit":{value}}}'))
    assert found in str(error.value) and "a.jsonl:1:" in str(error.value)


def test_no_operation_has_one(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="unit"):
        read_trace(folder(tmp_path, a='{"session":"b","txn":1,"op":"begin","unit":"ns"}'))


def test_files_agree_or_leave_it_to_one(tmp_path: Path) -> None:
    said, silent = '{"boomslang":1,"clock":"c","unit":"ms"}', '{"boomslang":1}'
    (tmp_path / "one").mkdir()
    assert read_trace(folder(tmp_path / "one", a=silent, b=said, c=said)).unit == "ms"
    (tmp_path / "two").mkdir()
    with pytest.raises(
        TraceError, match="found times in ns where an earlier file has them in ms; expected one unit"
    ):
        read_trace(folder(tmp_path / "two", a=said, b='{"boomslang":1,"clock":"d","unit":"ns"}'))


@pytest.mark.parametrize("unit", ["", *UNITS])
@pytest.mark.parametrize("format", ["jsonl", "arrow", "parquet"])
def test_it_is_written_and_read_again(tmp_path: Path, unit: str, format: str) -> None:
    b = TraceBuilder({"x": 0}, clock="c", unit=unit)
    with b.transaction("a", begin=1, end=2) as t:
        t.put("x", 1)
    trace = b.build()
    assert trace.unit == unit
    target = written(trace, tmp_path, format)
    assert read_trace(target).unit == unit


def test_a_table_with_another_unit_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from boomslang.trace.formats.columnar import to_table

    table = to_table(TraceBuilder(unit="ns").build())
    strange = table.replace_schema_metadata({**table.schema.metadata, b"boomslang-unit": b"weeks"})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, strange.schema) as out:
        out.write_table(strange)
    with pytest.raises(TraceError, match="found times in 'weeks'; expected a unit: ns, us, ms, s, or none"):
        read_trace(tmp_path / "t.arrow")


@pytest.mark.parametrize("format", ["jepsen-edn", "viper", "timekiller"])
def test_formats_that_keep_the_times_say_that_they_lose_the_unit(format: str) -> None:
    said = []
    for unit in ("", "ms"):
        b = TraceBuilder(unit=unit)
        with b.transaction("1", begin=1, end=2) as t:
            t.put(1, 1)
        said.append([loss for loss in find(format).losses(b.build()) if "in ms" in loss.what])
    assert not said[0] and [loss.minor for loss in said[1]] == [True]

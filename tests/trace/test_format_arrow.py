"""Arrow and Parquet: what is written comes back, column by column; what is damaged or written to do harm is refused,
and never believed."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.commands import command
from support.effort import examples
from support.paths import ROOT
from support.whole_traces import story
from support.whole_traces import traces as all_traces

import boomslang
from boomslang.asg import build_asg
from boomslang.cli import exit_codes
from boomslang.trace import Absent, Flag, Initial, Kind, Trace, TraceBuilder, TraceError, read_trace, rules
from boomslang.trace._reader import alike, integers
from boomslang.trace.close_times import CloseTimes
from boomslang.trace.formats import columnar, find, recognise
from boomslang.trace.formats import parquet as parquet_format
from boomslang.trace.formats.columnar import to_rows, to_table
from boomslang.trace.rules import check_rules
from boomslang.trace.scalars import BOOL, FLOAT, INT, STR, Scalars

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
FORMATS = ("arrow", "parquet")
SKEW = ROOT / "examples" / "write-skew.jsonl"
LISTS = strategies.Mix(lists=0.5, ranges=False)


def written(trace: Trace, path: Path, name: str) -> Path:
    write = find(name).write
    assert write is not None
    write(trace, path)
    return path


def same_columns(a: Trace, b: Trace) -> None:
    for field in fields(Trace):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, Scalars):
            assert list(map(repr, x)) == list(map(repr, y)), field.name
        elif isinstance(x, np.ndarray | CloseTimes):
            assert x.dtype == y.dtype and np.array_equal(x, y), field.name
        else:
            assert x == y, field.name


# --- there and back


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=examples(80))
@given(trace=st.one_of(strategies.traces(), strategies.traces(LISTS), all_traces()))
def test_what_was_written_comes_back(name: str, trace: Trace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(trace, Path(folder) / "t", name)
        assert recognise(path).name == name
        again = read_trace(path)
        same_columns(trace, again)
        assert story(trace) == story(again)


@pytest.mark.parametrize("name", FORMATS)
def test_verdicts_are_the_same(name: str, tmp_path: Path) -> None:
    trace = read_trace(written(read_trace(SKEW), tmp_path / "t", name))
    assert boomslang.check(trace, "ser").status == "invalid"
    assert boomslang.check(trace, "si").valid
    assert trace.where(0) == f"{SKEW}:2", "it still knows where it came from"


@pytest.mark.parametrize("name", FORMATS)
def test_a_packed_file(name: str, tmp_path: Path) -> None:
    trace = read_trace(SKEW)
    path = written(trace, tmp_path / "t", name)
    packed = tmp_path / "t.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    same_columns(read_trace(packed), trace)


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_many_rows_are_one_trace(piece: int, tmp_path: Path) -> None:
    trace = read_trace(SKEW)
    table = to_table(trace, piece)
    assert table.num_rows > 1
    path = tmp_path / "t.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write_batch(batch)
    same_columns(read_trace(path), trace)


@settings(max_examples=examples(40))
@given(trace=st.one_of(strategies.traces(), strategies.traces(LISTS)), piece=st.integers(1, 9))
def test_a_parquet_file_of_many_pieces(trace: Trace, piece: int) -> None:
    """In groups of a few rows, and the items of lists are looked at block by block."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_format, "ROWS", piece)
        patch.setattr(rules, "BLOCK", 2)
        same_columns(read_trace(written(trace, Path(folder) / "t", "parquet")), trace)


# --- Parquet in lists, as it was written before


def in_lists(trace: Trace, path: Path, piece: int = 1 << 20) -> Path:
    parquet.write_table(to_table(trace, piece), str(path), row_group_size=1)
    return path


@settings(max_examples=examples(40))
@given(trace=st.one_of(strategies.traces(), strategies.traces(LISTS)), piece=st.integers(1, 9))
def test_a_parquet_file_of_many_lists(trace: Trace, piece: int) -> None:
    """Long columns are put together piece by piece."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "SHORT", 0)
        same_columns(read_trace(in_lists(trace, Path(folder) / "t", piece)), trace)


def test_a_parquet_file_with_more_than_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_lists(read_trace(SKEW), tmp_path / "t")
    monkeypatch.setattr(columnar, "SHORT", 0)
    lengths = parquet_format._lengths
    monkeypatch.setattr(parquet_format, "_lengths", lambda data: lengths(data) | {"op_key": 1})
    with pytest.raises(TraceError, match="more entries in the column op_key than the file says"):
        read_trace(path)


def test_a_file_with_smaller_lists_and_strings(tmp_path: Path) -> None:
    """As other tools may write it."""
    trace = read_trace(SKEW)
    table = to_table(trace)
    small = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    types = [pa.list_(small.get(f.type.value_type, f.type.value_type)) for f in table.schema]
    schema = pa.schema(list(zip(table.schema.names, types, strict=True)), table.schema.metadata)
    save(tmp_path / "t.arrow", table.cast(schema))
    same_columns(read_trace(tmp_path / "t.arrow"), trace)


# --- Parquet in rows


def in_rows(table: Any, path: Path) -> Path:
    parquet.write_table(table, str(path))
    return path


def test_other_tools_read_the_columns(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    trace = good()
    path = written(trace, tmp_path / "t.parquet", "parquet")
    for name in ("txn_session", "op_key", "op_kind", "op_invoke", "item_value"):
        rows = duckdb.sql(f"SELECT {name} FROM '{path}' WHERE {name} IS NOT NULL").fetchall()
        assert [row[0] for row in rows] == getattr(trace, name).tolist(), name


def test_rows_of_other_types_and_sizes(tmp_path: Path) -> None:
    """As other tools may write them again."""
    trace = good()
    table = to_rows(trace)
    small = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary(), pa.int32(): pa.int64()}
    types = [(f.name, small.get(f.type, f.type)) for f in table.schema]
    again = table.cast(pa.schema(types, table.schema.metadata))
    same_columns(read_trace(in_rows(again, tmp_path / "t")), trace)


def lengths(table: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    said = json.loads(table.schema.metadata[columnar.LENGTHS])
    said = change(said)
    return table.replace_schema_metadata(
        {**table.schema.metadata, columnar.LENGTHS: json.dumps(said).encode()}
    )


def test_rows_that_lie_about_their_lengths(tmp_path: Path) -> None:
    table, path = to_rows(good()), tmp_path / "t"
    for change, words in (
        (
            lambda said: said | {"txn_session": 3},
            "a null in the column txn_session; expected none before its end",
        ),
        (lambda said: said | {"txn_session": 1}, "txn_session"),
        (lambda said: said | {"op_key": 1 << 30}, "lengths of other columns than there are"),
        (lambda said: {name: n for name, n in said.items() if name != "op_key"}, "lengths of other columns"),
        (lambda said: said | {"op_key": -1}, "does not say how long"),
        (lambda said: said | {"op_key": True}, "does not say how long"),
        (lambda said: said | {"op_key": 1.0}, "does not say how long"),
        (lambda said: [], "does not say how long"),
        (lambda said: {}, "lengths of other columns"),
    ):
        refused(in_rows(lengths(table, change), path), words)


def test_rows_that_are_no_trace(tmp_path: Path) -> None:
    table, path = to_rows(good()), tmp_path / "t"
    at = table.schema.get_field_index("op_key")
    long = table.num_rows
    for column, words in (
        (pa.array([[1]] * long), "the type list.* of the column op_key"),
        (pa.array(["x"] * long), "damaged"),
        (pa.array([2**40] * long), "damaged"),
        (pa.array([None] * long, pa.int32()), "a null in the column op_key"),
        (pa.array([-1] + [None] * (long - 1), pa.int32()), "a null in the column op_key"),
    ):
        refused(in_rows(table.set_column(at, "op_key", column), path), words)
    refused(in_rows(table.drop_columns(["op_key"]), path), "no column op_key")
    refused(in_rows(table.append_column("more", pa.array([1] * long)), path), "unknown column 'more'")
    metadata = {**table.schema.metadata, b"boomslang": b"3"}
    refused(in_rows(table.replace_schema_metadata(metadata), path), "version '3'")
    del metadata[columnar.LENGTHS]
    refused(in_rows(table.replace_schema_metadata(metadata), path), "version '3'")


def test_rows_that_claim_to_be_huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their lengths, or by a group of nothing but nulls, which takes no room in the file."""
    table = to_rows(good())
    data = in_rows(lengths(table, lambda said: said | {"op_key": 1 << 39}), tmp_path / "t").read_bytes()
    assert parquet_format.entries(data) > 1 << 39
    refused(tmp_path / "t", "entries in all; expected no more than fit")
    nulls = pa.nulls(1 << 20, pa.int32())
    many = pa.table({"a": nulls}).replace_schema_metadata({columnar.LENGTHS: b'{"a": 1}'})
    data = in_rows(many, tmp_path / "u").read_bytes()
    assert parquet_format.entries(data) == 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(parquet_format, "ENTRY", 1 + memory // len(nulls))
    refused(tmp_path / "u", "entries in all; expected no more than fit")


# --- tables


@given(numbers=st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))))
def test_numbers_that_are_there_twice(numbers: list[int]) -> None:
    expected = [i for i, n in enumerate(numbers) if numbers.count(n) > 1]
    assert alike(np.array(numbers, np.int64)).tolist() == expected


def test_numbers_that_are_chosen_to_collide() -> None:
    """All of them belong to one place of the table, so they are sorted in the end."""
    back = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    numbers = (np.arange(3_000, dtype=np.uint64) * np.uint64(back)).view(np.int64)
    assert alike(numbers).tolist() == []
    assert alike(np.concatenate((numbers, numbers[7:9]))).tolist() == [7, 8, 3000, 3001]


@given(numbers=st.lists(st.one_of(st.integers(), st.integers(-(10**18), 10**18))), digits=st.integers(1, 18))
def test_integers_of_a_table(numbers: list[int], digits: int) -> None:
    table = one(INT, *(str(n).encode() for n in numbers))
    found = integers(table.offset, table.data, digits)
    assert found is not None
    assert found.tolist() == [n if len(str(n)) <= digits else 0 for n in numbers]


# --- what is no trace of ours


def save(path: Path, table: Any) -> Path:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path


def refused(path: Path, words: str) -> None:
    with pytest.raises(TraceError, match=words) as caught:
        read_trace(path)
    assert caught.value.file == str(path) and "fix: " in caught.value.message


def test_other_tables_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    refused(save(path, pa.table({"a": [1]})), "a table that is no trace")
    table = to_table(read_trace(SKEW))
    refused(save(path, table.replace_schema_metadata({b"boomslang": b"2"})), "version '2'")
    refused(save(path, table.drop_columns(["op_key"])), "no column op_key")
    refused(save(path, table.append_column("more", pa.array([[1]]))), "unknown column 'more'")
    two = pa.Table.from_arrays([*table.columns, table.column("op_key")], [*table.schema.names, "op_key"])
    refused(save(path, two.replace_schema_metadata(table.schema.metadata)), "two columns of one name")
    for column, words in (
        (pa.array([None], pa.large_list(pa.int32())), "a null"),
        (pa.array([[None] * 6], pa.large_list(pa.int32())), "a null"),
        (pa.array([7], pa.int32()), "the type int32"),
        (pa.array([["x"]]), "damaged"),
        (pa.array([[2**40]]), "damaged"),
    ):
        at = table.schema.get_field_index("op_key")
        refused(save(path, table.set_column(at, "op_key", column)), words)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_ends_early(name: str, tmp_path: Path) -> None:
    data = written(read_trace(SKEW), tmp_path / "t", name).read_bytes()
    path = tmp_path / "torn"
    for size in [*range(9, 64, 5), *range(64, len(data), 211), len(data) - 1]:
        path.write_bytes(data[:size])
        refused(path, "damaged")


@pytest.mark.parametrize("name", FORMATS)
def test_flipped_bits_are_refused_or_harmless(name: str, tmp_path: Path) -> None:
    dice = random.Random(name)
    path = tmp_path / "t"
    for _ in range(examples(50)):
        data = written(strategies.generate(dice), path, name).read_bytes()
        path.unlink()
        for _ in range(20):
            flipped = bytearray(data)
            for _ in range(dice.choice([1, 1, 2, 5])):
                at = dice.randrange(len(data))
                flipped[at] = dice.choice([flipped[at] ^ 1 << dice.randrange(8), 0, 255])
            path.write_bytes(flipped)
            try:
                trace = find(name).read(path, lambda: None)
            except TraceError:
                pass
            else:
                build_asg(trace)  # native code, which believes the columns
                assert len(list(trace.transactions())) == len(trace)
            path.unlink()


def test_a_parquet_file_that_claims_to_be_huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(read_trace(SKEW), tmp_path / "t.parquet", "parquet")
    monkeypatch.setattr("boomslang.trace.formats.parquet.ENTRY", 1 << 60)
    refused(path, "entries in all; expected no more than fit")


@pytest.mark.parametrize("name", FORMATS)
def test_without_the_library_it_is_told_how_to_get_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(read_trace(SKEW), tmp_path / "t", name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for words in (["check", path, "--level", "ser"], ["convert", SKEW, tmp_path / f"new.{name}"]):
        ran = command(*words)
        assert ran.code == exit_codes.USAGE and "pip install 'boomslang-checker[arrow]'" in ran.err
        assert len(ran.err.splitlines()) == 1
    assert not (tmp_path / f"new.{name}").exists()


# --- columns that lie: each is one change of a good trace


def good() -> Trace:
    b = TraceBuilder({"x": 0}, clock="c")
    with b.transaction("a", begin=1, end=9, ctx={"n": 1}) as t:
        t.put("x", 1, invoke=2, return_=3, ctx={"m": 2})
        t.get("y", Absent)
        t.delete("y", False)
        t.scan("a", "z", [("x", 1), ("y", 7)])
        it = t.iterator("a", "z")
        it.next("x", 1)
        it.next("y", 7)
        it.end()
        t.failed("put", error="full")
    with b.transaction("b") as t:
        t.append("l", 5)
        t.append("l", 6)
        t.list("l", [5, 6])
        t.put(12, 2.5)
        t.put(True, None)
        t.put(b"b", -7)
    return b.build()


def changed(column: str, row: int, value: Any) -> Callable[[Trace], Trace]:
    def change(trace: Trace) -> Trace:
        new = getattr(trace, column).copy()
        new[row] = value
        return replace(trace, **{column: new})

    return change


def longer(column: str) -> Callable[[Trace], Trace]:
    def change(trace: Trace) -> Trace:
        old = getattr(trace, column)
        return replace(trace, **{column: np.append(old, old[-1:])})

    return change


LIES: dict[str, Callable[[Trace], Trace]] = {
    **{
        f"{column} is {value}": changed(column, 0, value)
        for column, values in {
            "txn_session": (-2, 2, 2**31 - 1), "txn_outcome": (3, 255), "txn_name": (-1, 99), "txn_file": (-1, 1),
            "txn_clock": (-1, 1), "txn_ctx": (-2, 99), "txn_ops": (1, -1), "op_kind": (11, 255),
            "op_flags": (1, 2, 4, 8, 16, 128), "op_key": (-1, -2, 99), "op_value": (-1, -2, 99),
            "op_range": (0, -2, 99),
            "op_ctx": (99, -2), "op_error": (0, 99, -2), "range_lo": (99, -2), "range_hi": (99, -2),
            "range_items": (1, -1), "item_key": (-1, 99), "item_value": (-1, 99), "initial_key": (-1, 99),
            "initial_value": (-1, 99), "key_rank": (-1, 99, 3), "txn_end": (0,),
        }.items()
        for value in values
    },
    **{
        f"{column} is too long": longer(column)
        for column in (
            "txn_session", "txn_outcome", "txn_file", "txn_begin_line", "txn_end", "txn_ops", "op_flags", "op_key",
            "op_line", "op_invoke", "op_error", "range_hi", "range_items", "item_value", "initial_value", "key_rank",
        )
    },
    "operations beyond the end": changed("txn_ops", 2, 99),
    "operations that decrease": changed("txn_ops", 1, 99),
    "items that decrease": changed("range_items", 1, 99),
    "a scan without its range": changed("op_range", 3, -1),
    "two that open one range": changed("op_range", 4, 0),
    "a scan's bounds the wrong way round": lambda t: replace(t, range_lo=t.range_hi, range_hi=t.range_lo),
    "a scan that returns a key twice": changed("item_key", 1, 0),
    "a next of a scan": changed("op_range", 5, 0),
    "a next of no iterator": changed("op_range", 5, -1),
    "an iterator that goes backwards": lambda t: changed("op_key", 5, 1)(changed("op_key", 6, 0)(t)),
    "a next after the end": lambda t: changed("op_flags", 5, Flag.END)(changed("op_key", 5, -1)(t)),
    "an element of another key": changed("item_key", 2, 0),
    "an element appended twice": changed("op_value", 10, int(good().op_value[9])),
    "a list key that is put": changed("op_kind", 9, Kind.PUT),
    "a begin that succeeded": changed("op_kind", 12, Kind.BEGIN),
    "lists and an unknown initial state": lambda t: replace(
        t, initial_mode=Initial.UNKNOWN, initial_key=t.initial_key[:0], initial_value=t.initial_value[:0]
    ),
    "initial values of an empty database": lambda t: replace(t, initial_mode=Initial.EMPTY),
    "two initial values of a key": lambda t: replace(
        t, initial_key=np.repeat(t.initial_key, 2), initial_value=np.repeat(t.initial_value, 2)
    ),
    "two transactions of one name": lambda t: changed("txn_session", 1, 0)(
        changed("txn_name", 1, int(t.txn_name[0]))(t)
    ),
    "neither session nor name": lambda t: changed("txn_session", 0, -1)(
        replace(t, names=Scalars.of([None, *list(t.names)[1:]]), txn_name=np.zeros(2, np.int32))
    ),
    "no sessions": lambda t: replace(t, sessions=[]),
    "one session twice": lambda t: replace(t, sessions=["a", "a"]),
    "a key twice": lambda t: replace(t, keys=Scalars.of(["x", "x", *list(t.keys)[2:]])),
    "a value twice": lambda t: replace(t, values=Scalars.of([0, 0, *list(t.values)[2:]])),
    "a name that is a float": lambda t: replace(t, names=Scalars.of([1.5, 2.5])),
    "a hint that is no object": lambda t: replace(t, texts=Scalars.of(['["n"]', *list(t.texts)[1:]])),
    "a hint that is no JSON": lambda t: replace(t, texts=Scalars.of(["{", *list(t.texts)[1:]])),
    "a hint with a field twice": lambda t: replace(t, texts=Scalars.of(['{"a":1,"a":2}', *list(t.texts)[1:]])),
    "a deep hint": lambda t: replace(t, texts=Scalars.of(['{"a":' * 9999 + "1" + "}" * 9999, *list(t.texts)[1:]])),
}  # fmt: skip


def test_the_good_trace_is_good(tmp_path: Path) -> None:
    check_rules(good(), "")
    same_columns(read_trace(written(good(), tmp_path / "t", "arrow")), good())


@pytest.mark.parametrize("name", LIES)
def test_columns_that_lie_are_refused(name: str, tmp_path: Path) -> None:
    try:
        path = written(LIES[name](good()), tmp_path / "t.arrow", "arrow")
    except ValueError:
        pytest.skip("cannot even be written")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert "; expected " in caught.value.message and "; fix: " in caught.value.message


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
def test_an_element_of_another_key_is_found_in_any_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "BLOCK", block)
    lie = LIES["an element of another key"](good())
    with pytest.raises(TraceError, match=r"an element of a list of another key \(row 2\)"):
        check_rules(lie, "")


def one(type: int, *contents: bytes) -> Scalars:
    offset = np.concatenate(([0], np.cumsum([len(c) for c in contents]))).astype(np.int64)
    data = np.frombuffer(b"".join(contents), np.uint8)
    return Scalars(np.full(len(contents), type, np.uint8), offset, data)


@pytest.mark.parametrize(
    ("type", "content"),
    [
        (6, b""), (255, b""), (0, b"x"), (BOOL, b""), (BOOL, b"\2"), (BOOL, b"\0\0"), (STR, b"\xff"),
        (STR, b"\xed\xa0\x80"), (INT, b""), (INT, b"-"), (INT, b"-0"), (INT, b"01"), (INT, b"+1"), (INT, b" 1"),
        (INT, b"1 "), (INT, b"1.0"), (INT, b"1e3"), (INT, b"0x1"), (INT, b"0" * 30), (INT, b"-0" + b"1" * 30),
        (INT, b"1" * 30 + b"\n"), (INT, b"1" * 20 + b"x"), (INT, "１".encode()), (FLOAT, b"1234567"),
        (FLOAT, np.array([np.nan]).tobytes()), (FLOAT, np.array([np.inf]).tobytes()),
        (FLOAT, np.array([-0.0]).tobytes()),
    ],
)  # fmt: skip
def test_scalars_that_are_none_are_refused(type: int, content: bytes, tmp_path: Path) -> None:
    b = TraceBuilder()
    with b.transaction("a") as t:
        t.put("x", 1)
    for table in ("keys", "values"):
        path = written(replace(b.build(), **{table: one(type, content)}), tmp_path / table, "arrow")
        with pytest.raises(TraceError):
            read_trace(path)


def test_the_order_of_keys_must_be_theirs(tmp_path: Path) -> None:
    keys: list[Any] = [
        True, False, -(10**30), -(10**29), -5, 0, 3, 10, 10**29, 10**30, -1.5, 0.0, 2.5, "", "a", "aa", "b", "é",
        b"", b"\0", b"\xff", None,
    ]  # fmt: skip
    random.Random(3).shuffle(keys)
    b = TraceBuilder()
    with b.transaction("a") as t:
        for key in keys:
            t.put(key, 1)
    trace = b.build()
    same_columns(read_trace(written(trace, tmp_path / "t", "arrow")), trace)
    by_rank = np.argsort(trace.key_rank)
    for i in range(len(keys) - 1):
        rank = trace.key_rank.copy()
        rank[by_rank[i]], rank[by_rank[i + 1]] = i + 1, i
        with pytest.raises(TraceError, match="key_rank"):
            read_trace(written(replace(trace, key_rank=rank), tmp_path / f"t{i}", "arrow"))


def test_values_that_differ_in_the_middle_only(tmp_path: Path) -> None:
    """They look alike at first sight, and must not be taken for one."""
    b = TraceBuilder()
    with b.transaction("a") as t:
        for n in range(50):
            t.put("x", f"the same start{n:05}the same end")
    trace = b.build()
    same_columns(read_trace(written(trace, tmp_path / "t", "arrow")), trace)
    values = [*list(trace.values)[:-1], trace.values[0]]
    with pytest.raises(TraceError, match="twice among the values"):
        read_trace(written(replace(trace, values=Scalars.of(values)), tmp_path / "u", "arrow"))

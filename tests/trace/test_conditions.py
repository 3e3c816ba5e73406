"""Selects in traces: the convention for rows, the language of conditions, what is refused, and round trips."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.random_selects import random_selects

from boomslang.trace import Kind, TraceBuilder, TraceError, read_trace, row_key, write_trace
from boomslang.trace.conditions import FALSE, TRUE, UNKNOWN, ConditionError, in_words, parse, truth
from boomslang.trace.rows import parse_row_key

SCHEMA = json.loads((files("boomslang.trace") / "schema.json").read_text())
A, B = {"column": "a"}, {"column": "b"}


@pytest.mark.parametrize(
    ("table", "key", "column", "text"),
    [
        ("doctors", [1], "on_call", "doctors[1].on_call"),
        ("doctors", [1], None, "doctors[1]"),
        ("order items", [3, 7], "qty.x", "order items[3,7].qty.x"),
        ("users", ['a"b]'], "ü", 'users["a\\"b]"].ü'),
        ("t", [b"\x00\xff", True], None, 't[{"bytes":"00ff"},true]'),
        ("t", ["é\n"], "[0]", 't["é\\n"].[0]'),
    ],
)
def test_row_keys_have_one_spelling(table: str, key: list[Any], column: str | None, text: str) -> None:
    assert row_key(table, key, column) == text
    assert parse_row_key(text) == (table, tuple(key), column)


@pytest.mark.parametrize(
    "text", ["t", "[1]", "t[1", "t[ 1]", "t[1].", "t[1]x", "t[]", "t[1.0]", "t[null]", "t[01]", "t[[1]]"]
)
def test_what_is_no_row_key(text: str) -> None:
    assert parse_row_key(text) is None


@pytest.mark.parametrize("part", [None, 1.5])
def test_primary_keys_are_not_null_and_no_floats(part: Any) -> None:
    with pytest.raises(TypeError, match="in a primary key"):
        row_key("t", [part])


@pytest.mark.parametrize(
    ("condition", "row", "expected"),
    [
        (True, {}, TRUE),
        (["=", A, 1], {"a": 1.0}, TRUE),
        (["=", A, 1], {"a": None}, UNKNOWN),
        (["=", A, None], {"a": None}, UNKNOWN),
        (["!=", A, "x"], {"a": "y"}, TRUE),
        (["<", A, 2**53 + 1], {"a": float(2**53)}, TRUE),
        ([">", A, "Z"], {"a": "a"}, TRUE),
        ([">", A, "\uffff"], {"a": "\U00010000"}, TRUE),  # by UTF-8 bytes, not by UTF-16
        (["<", A, {"bytes": "ff"}], {"a": b"\x00"}, TRUE),
        (["<", A, True], {"a": False}, TRUE),
        (["in", A, [1, None]], {"a": 1}, TRUE),
        (["in", A, [1, None]], {"a": 2}, UNKNOWN),
        (["in", A, [1, 3]], {"a": 2}, FALSE),
        (["in", A, []], {"a": None}, FALSE),
        (["in", A, [B, 7]], {"a": 2, "b": 2}, TRUE),
        (["between", A, 1, 3], {"a": 3}, TRUE),
        (["between", A, 1, None], {"a": 0}, FALSE),
        (["between", A, 1, None], {"a": 2}, UNKNOWN),
        (["is-null", A], {"a": None}, TRUE),
        (["not", ["=", A, 1]], {"a": None}, UNKNOWN),
        (["or", ["=", A, 1], ["=", B, 1]], {"a": None, "b": 1}, TRUE),
        (["and", ["=", A, 1], ["=", B, 1]], {"a": None, "b": 2}, FALSE),
        (["=", A, B], {"a": 2, "b": 2}, TRUE),
        (["=", {"key": 0}, 5], {}, TRUE),
        (["like", A, "a_c%"], {"a": "abcdef"}, TRUE),
        (["like", A, "a_c%"], {"a": "ac"}, FALSE),
        (["like", A, "a\\%"], {"a": "a%"}, TRUE),
        (["like", A, "a\\%"], {"a": "ab"}, FALSE),
        (["like", A, "%é_"], {"a": "xxé\U0001f600"}, TRUE),
        (["like", A, "A%"], {"a": "abc"}, FALSE),
        (["like", A, "%"], {"a": None}, UNKNOWN),
    ],
)
def test_conditions_have_three_values(condition: Any, row: dict[str, Any], expected: int) -> None:
    parsed = parse(json.dumps(["t", condition]))
    assert truth(parsed.tree, row, (5,)) == expected
    assert isinstance(in_words(parsed), str)


def test_a_pattern_never_takes_long() -> None:
    pattern = "%a" * 60 + "b"
    assert truth(parse(json.dumps(["t", ["like", A, pattern]])).tree, {"a": "a" * 5000}, ()) == FALSE


@pytest.mark.parametrize("row", [{"a": "1"}, {"a": True}, {"a": b"1"}])
def test_values_of_two_types_are_not_compared(row: dict[str, Any]) -> None:
    with pytest.raises(ConditionError, match="values of one type"):
        truth(parse(json.dumps(["t", ["=", A, 1]])).tree, row, ())


def deep(levels: int) -> Any:
    return ["=", A, 1] if not levels else ["not", deep(levels - 1)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (False, "false in a condition"),
        ("a = 1", "in a condition"),
        ([], "in a condition"),
        (["==", A, 1], '"==" in a condition'),
        (["=", A], "2 operands"),
        (["not", True, True], "one condition"),
        (["and"], "conditions"),
        (["=", {"column": 1}, 1], "in a condition"),
        (["=", {"column": "a", "x": 1}, 1], "in a condition"),
        (["=", {"key": -1}, 1], "in a condition"),
        (["=", {"bytes": "0"}, 1], "in a condition"),
        (["in", A, 1], "in a condition"),
        (["like", A, 1], "a string as the pattern"),
        (["like", A, "a\\"], "does not end with"),
        (["=", A, [1]], "in a condition"),
        (deep(20), "16 deep"),
        (["or", *[["=", A, 1]] * 300], "at most 200"),
        (["and", *[["=", {"column": str(n)}, 1] for n in range(9)]], "at most 8"),
        (["=", A, "\ud800"], "no JSON"),
    ],
)
def test_what_is_no_condition_is_refused(condition: Any, found: str) -> None:
    with pytest.raises(ConditionError, match=found.replace("(", r"\(")):
        parse(json.dumps(["t", condition]))


def lines(*select: dict[str, Any], initial: Any = "empty") -> str:
    head = {"boomslang": 1, "initial": initial}
    made = [
        {"txn": 1, "op": "begin"},
        *({"txn": 1, "op": "select", **s} for s in select),
        {"txn": 1, "op": "commit"},
    ]
    return "\n".join(json.dumps(x) for x in (head, *made)) + "\n"


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ({"items": []}, "no field table"),
        ({"table": "t"}, "no field items"),
        ({"table": 1, "items": []}, 'as "table"'),
        ({"table": "t[", "items": []}, "as a table"),
        ({"table": "t", "items": [["u[1]", True]]}, "expected rows of that table"),
        ({"table": "t", "items": [["t[1].a", 1]]}, "and not the row itself"),
        ({"table": "t", "items": [["t[1 ]", True]]}, "begins like a row"),
        ({"table": "t", "items": [["t[1]", True], ["t[1]", True]]}, "twice"),
        (
            {"table": "t", "where": ["=", {"key": 1}, 1], "items": [["t[1]", True]]},
            "part 1 of the primary key",
        ),
        ({"table": "t", "where": ["nor", A, 1], "items": []}, "one of = !="),
        ({"table": "t", "items": [], "from": 1}, "unknown in"),
    ],
)
def test_selects_that_are_refused(tmp_path: Path, select: dict[str, Any], found: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(select))
    with pytest.raises(TraceError) as error:
        read_trace(path)
    assert found in str(error.value) and "fix:" in str(error.value)


def test_values_of_two_types_are_an_error_that_names_the_line() -> None:
    from boomslang import check

    b = TraceBuilder(initial={"t[1]": True, "t[1].a": "x"})
    with b.transaction() as t:
        t.select("t", ["=", A, 1])
    with pytest.raises(
        TraceError, match=r"operation 2: found a condition that compares a string with a number"
    ):
        check(b.build(), "serializable")


def test_a_select_that_failed_says_nothing() -> None:
    from boomslang import check

    b = TraceBuilder(initial={"t[1]": True, "t[1].a": 1})
    with b.transaction() as t:
        t.failed("select", error="timeout", table="t", where=["=", A, 1])
        t.failed("select", error="timeout")
        t.get("t[1].a", 1)
    trace = b.build()
    assert trace.operation(1).asked is None and trace.operation(0).asked is not None
    assert check(trace, "serializable").valid


@pytest.mark.parametrize("seed", range(12))
def test_round_trips(tmp_path: Path, seed: int) -> None:
    trace = random_selects(seed)
    path = tmp_path / "t.jsonl"
    write_trace(trace, path)
    for line in path.read_text().splitlines():
        jsonschema.validate(json.loads(line), SCHEMA)
    assert_same(read_trace(path), trace)


def assert_same(a: Any, b: Any) -> None:
    for x, y in zip(a.transactions(), b.transactions(), strict=True):
        for p, q in zip(x.operations, y.operations, strict=True):
            assert (p.kind, p.items, p.key, p.value) == (q.kind, q.items, q.key, q.value)
            assert (p.asked is None) == (q.asked is None)
            if p.asked is not None and q.asked is not None:
                assert json.loads(p.asked) == json.loads(q.asked)


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_round_trips_in_columns(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pyarrow")
    from boomslang.trace.formats import find

    for seed in range(6):
        trace = random_selects(seed)
        path = tmp_path / f"{seed}.{suffix}"
        find(suffix).write(trace, path)  # type: ignore[misc]
        assert_same(read_trace(path), trace)


def test_sessions_that_interleave_keep_their_conditions(tmp_path: Path) -> None:
    """Operations are put in order of their transactions when the file has been read: so must what they asked."""
    path = tmp_path / "t.jsonl"
    rows = [{"boomslang": 1}]
    for n in range(3):
        rows.append({"session": f"s{n}", "txn": 1, "op": "begin"})
    for k in range(4):
        for n in range(3):
            rows.append(
                {"session": f"s{n}", "op": "select", "table": "t", "where": ["=", A, 10 * n + k], "items": []}
            )
    rows += [{"session": f"s{n}", "op": "commit"} for n in range(3)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    trace = read_trace(path)
    for n in range(3):
        wanted = [json.loads(o.asked or "")[1][2] for o in trace.transaction(n).operations]
        assert wanted == [10 * n + k for k in range(4)]
    assert (np.asarray(trace.op_kind) == Kind.SELECT).all()

"""What the reader makes of good input: types, order, sessions, files, times, torn ends, limits."""

from __future__ import annotations

import gzip
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

from boomslang.trace import (
    ABSENT,
    NO_TIME,
    Absent,
    Flag,
    Initial,
    Kind,
    LimitReached,
    Outcome,
    Trace,
    Unbounded,
    read_trace,
    same,
    typed,
)


def read(tmp_path: Path, *lines: str) -> Trace:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    return read_trace(path)


def test_a_small_history(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"boomslang":1,"clock":"h/b","initial":{"items":[["x",0]]}}',
        '{"session":"c1","txn":7,"op":"begin","invoke":1,"return":2,"ctx":{"why": "test"}}',
        '{"session":"c1","op":"get","key":"x","value":0,"invoke":3,"return":4}',
        '{"session":"c1","op":"get","key":"y","absent":true}',
        '{"session":"c1","op":"put","key":"x","value":1,"ctx":{"hint":[1,2]}}',
        '{"session":"c1","op":"delete","key":"x","found":true}',
        '{"session":"c1","op":"delete","key":"z","found":false}',
        '{"session":"c1","op":"delete","key":"z"}',
        '{"session":"c1","op":"put","key":"q","error":"disk full"}',
        '{"session":"c1","op":"scan","from":"a","items":[["b",2],["a",1]]}',
        '{"session":"c1","op":"iterator","id":"i","to":"m"}',
        '{"session":"c1","op":"next","id":"i","key":"b","value":2}',
        '{"session":"c1","op":"next","id":"i","end":true}',
        '{"session":"c1","txn":7,"op":"commit","invoke":8,"return":9,"ctx":{"at":3}}',
    )
    [t] = trace.transactions()
    assert (t.name, t.session, t.outcome, t.begin, t.end, t.clock) == (
        7,
        "c1",
        Outcome.COMMITTED,
        1,
        9,
        "h/b",
    )
    assert t.ctx == {"why": "test", "at": 3}
    assert t.where.endswith("t.jsonl:2")
    ops = t.operations
    assert [o.kind for o in ops] == [
        Kind.GET, Kind.GET, Kind.PUT, Kind.DELETE, Kind.DELETE, Kind.DELETE,
        Kind.PUT, Kind.SCAN, Kind.ITERATOR, Kind.NEXT, Kind.NEXT,
    ]  # fmt: skip
    assert (ops[0].value, ops[0].invoke, ops[0].return_, ops[1].value) == (0, 3, 4, Absent)
    assert ops[2].ctx == {"hint": [1, 2]}
    assert [o.found for o in ops[3:6]] == [True, False, None]
    assert (ops[6].error, ops[6].value) == ("disk full", Absent)
    assert (ops[7].lo, ops[7].hi, ops[7].items) == ("a", Unbounded, (("b", 2), ("a", 1)))
    assert (ops[8].lo, ops[8].hi) == (Unbounded, "m")
    assert ops[8].iterator == ops[9].iterator == ops[10].iterator
    assert (ops[9].key, ops[9].value, ops[9].end, ops[10].end) == ("b", 2, False, True)
    assert ops[3].where.endswith("t.jsonl:6")
    assert trace.operation(3) == ops[3]
    assert trace.initial_mode == Initial.GIVEN
    assert trace.initial() == [("x", 0)]
    assert trace.has_times and trace.has_sessions


def test_columns_have_the_documented_types(tmp_path: Path) -> None:
    trace = read(tmp_path, '{"txn":1,"op":"begin"}', '{"txn":1,"op":"put","key":1,"value":2}')
    expected = {
        "key_rank": "int64", "txn_session": "int32", "txn_outcome": "uint8", "txn_name": "int32",
        "txn_file": "int32", "txn_begin_line": "uint32", "txn_end_line": "uint32", "txn_begin": "int64",
        "txn_end": "int64", "txn_clock": "int32", "txn_ops": "int64", "op_kind": "uint8", "op_flags": "uint8",
        "op_key": "int32", "op_value": "int32", "op_range": "int32", "op_line": "uint32", "range_lo": "int32",
        "range_hi": "int32", "range_items": "int64", "item_key": "int32", "item_value": "int32",
        "initial_key": "int32", "initial_value": "int32",
    }  # fmt: skip
    assert {name: str(getattr(trace, name).dtype) for name in expected} == expected
    assert all(getattr(trace, c) is None for c in ("op_invoke", "op_return", "op_ctx", "op_error", "txn_ctx"))
    assert trace.txn_session[0] == -1 and trace.txn_begin[0] == NO_TIME and trace.txn_end_line[0] == 0
    assert trace.txn_outcome[0] == Outcome.UNKNOWN
    assert not trace.has_times and not trace.has_sessions


def test_values_compare_by_type_and_content(tmp_path: Path) -> None:
    values = [
        "1",
        "1.0",
        "true",
        '"1"',
        "null",
        "false",
        "0",
        '""',
        '{"bytes":"31"}',
        '{"bytes":""}',
        "10",
        "1e1",
    ]
    again = [
        "1",
        "1.00",
        "true",
        '"\\u0031"',
        "null",
        "false",
        "-0",
        '""',
        '{"bytes":"31"}',
        '{"bytes": ""}',
        "10",
        "10.0",
    ]
    lines = [f'{{"txn":1,"op":"put","key":0,"value":{v}}}' for v in values + again]
    trace = read(tmp_path, '{"txn":1,"op":"begin"}', *lines)
    n = len(values)
    assert trace.op_value.tolist() == [*range(n), *range(n)]
    expected = [1, 1.0, True, "1", None, False, 0, "", b"1", b"", 10, 10.0]
    assert [typed(v) for v in trace.values] == [typed(v) for v in expected]


def test_zero_and_minus_zero_are_one_float(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"txn":1,"op":"begin"}',
        *(f'{{"txn":1,"op":"put","key":0,"value":{v}}}' for v in ("0.0", "-0.0", "-0e5")),
    )
    assert trace.op_value.tolist() == [0, 0, 0]


def test_same_tells_types_apart() -> None:
    five = [1, 1.0, True, "1", None, Absent, b"1"]
    assert all(same(a, b) == (i == j) for i, a in enumerate(five) for j, b in enumerate(five))
    assert len({typed(x) for x in five}) == len(five)


def test_integers_of_any_size(tmp_path: Path) -> None:
    numbers = [2**63, -(2**64), 10**400, -(10**5000) + 7]
    trace = read(
        tmp_path,
        '{"txn":1,"op":"begin"}',
        *(f'{{"txn":1,"op":"put","key":{_text(n)},"value":0}}' for n in numbers),
    )
    assert list(trace.keys) == numbers


def _text(n: int) -> str:
    import sys

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return str(n)
    finally:
        sys.set_int_max_str_digits(limit)


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    raw = '{"txn":1,"op":"begin"}\n'
    raw += '{"txn":1,"op":"put","key":"\\ud83d\\ude00\\u00e9\\n\\"\\/","value":"😀é\\u0000"}\r\n'
    path.write_text(raw, newline="")
    [put] = read_trace(path).transaction(0).operations
    assert (put.key, put.value) == ('😀é\n"/', "😀é\0")


def test_keys_are_ranked_by_type_then_within_it(tmp_path: Path) -> None:
    order = ["null", "false", "true", "-100000000000000000000", "-3", "0", "9", "10", "123456789012345678",
             "99999999999999999999",
             "-1.5", "0.0", "2.5", "1e300", '""', '"Z"', '"a"', '"aaaaaaaab"', '"aaaaaaaac"', '"ab"',
             '"é"', '"\uffff"', '"😀"',
             '{"bytes":""}', '{"bytes":"00"}', '{"bytes":"0000"}', '{"bytes":"ff"}']  # fmt: skip
    shuffled = np.random.default_rng(3).permutation(len(order))
    lines = [f'{{"txn":1,"op":"put","key":{order[i]},"value":0}}' for i in shuffled]
    trace = read(tmp_path, '{"txn":1,"op":"begin"}', *lines)
    assert trace.key_rank[trace.op_key].tolist() == shuffled.tolist()


def test_interleaved_transactions_are_regrouped(tmp_path: Path) -> None:
    text = []
    for n in range(4):
        text += [f'{{"session":"s{s}","txn":{n},"op":"begin"}}' for s in range(5)]
        for i in range(6):
            text += [
                f'{{"session":"s{s}","op":"put","key":{i},"value":"{s}/{n}/{i}",'
                f'"invoke":{n * 10 + i},"error":"e{s}","ctx":{{"i":{i}}}}}'
                for s in range(5)
            ]
        text += [f'{{"session":"s{s}","op":"commit"}}' for s in range(5)]
    trace = read(tmp_path, *text)
    assert [(t.session, t.name) for t in trace.transactions()] == [
        (f"s{s}", n) for n in range(4) for s in range(5)
    ]
    for t in trace.transactions():
        assert [o.value for o in t.operations] == [f"{t.session[1:]}/{t.name}/{i}" for i in range(6)]  # type: ignore[index]
        assert [o.invoke for o in t.operations] == [t.name * 10 + i for i in range(6)]  # type: ignore[operator]
        assert {o.error for o in t.operations} == {f"e{t.session[1:]}"}  # type: ignore[index]
        assert [o.ctx for o in t.operations] == [{"i": i} for i in range(6)]
    assert trace.owner(0) == 0 and trace.owner(119) == 19


def test_a_session_may_leave_a_transaction_which_then_is_unknown(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"session":"a","txn":1,"op":"begin"}',
        '{"session":"a","txn":2,"op":"begin"}',
        '{"session":"a","op":"abort"}',
        '{"session":"a","op":"begin"}',
        '{"session":"a","op":"commit"}',
        '{"session":"a","op":"begin"}',
        '{"session":"a","op":"commit","error":"timeout"}',
    )
    assert trace.txn_outcome.tolist() == [
        Outcome.UNKNOWN,
        Outcome.ABORTED,
        Outcome.COMMITTED,
        Outcome.UNKNOWN,
    ]
    assert [t.name for t in trace.transactions()] == [1, 2, None, None]
    [failed] = trace.transaction(3).operations
    assert (failed.kind, failed.error) == (Kind.COMMIT, "timeout")


def test_ids_are_scoped_to_their_session(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        *(f'{{"session":{s},"txn":{t},"op":"begin"}}' for s in ('"a"', '"b"', "null") for t in (1, '"1"')),
    )
    assert [(t.session, t.name) for t in trace.transactions()] == [
        ("a", 1), ("a", "1"), ("b", 1), ("b", "1"), (None, 1), (None, "1"),
    ]  # fmt: skip


def test_a_begin_that_failed_may_be_tried_again(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"session":"a","txn":1,"op":"begin","invoke":1,"error":"busy"}',
        '{"session":"a","txn":1,"op":"begin","invoke":2}',
        '{"session":"a","txn":1,"op":"commit"}',
        '{"session":"a","op":"begin","error":"busy"}',
        '{"session":"a","op":"begin","error":"busy"}',
    )
    assert [t.outcome for t in trace.transactions()] == [Outcome.COMMITTED, Outcome.UNKNOWN]
    assert trace.txn_begin.tolist() == [2, NO_TIME]
    assert [len(t.operations) for t in trace.transactions()] == [1, 2]
    assert set(trace.op_kind.tolist()) == {Kind.BEGIN}
    assert set(trace.op_flags.tolist()) == {Flag.ERROR}


def test_failed_operations_may_lack_everything(tmp_path: Path) -> None:
    ops = ("put", "get", "delete", "scan", "iterator", "next", "commit", "abort")
    trace = read(
        tmp_path,
        '{"txn":1,"op":"begin"}',
        *(f'{{"txn":1,"op":"{op}","error":""}}' for op in ops),
        '{"txn":1,"op":"scan","from":9,"to":1,"items":[["x",1]],"error":"bad range"}',
    )
    assert (trace.op_flags == Flag.ERROR).all()
    assert trace.op_value.tolist() == [ABSENT] * 9
    assert trace.transaction(0).operations[8].items == (("x", 1),)


def test_scans_may_come_in_any_order_and_unbounded_ones_mix_types(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"txn":1,"op":"begin"}',
        '{"txn":1,"op":"scan","items":[["b",1],[3,1],["a",1]]}',
        '{"txn":1,"op":"scan","from":null,"to":5,"items":[[-3,1]]}',
        '{"txn":1,"op":"scan","from":5,"to":5,"items":[]}',
        '{"txn":1,"op":"iterator","id":1}',
        '{"txn":1,"op":"next","id":1,"key":7,"value":1}',
        '{"txn":1,"op":"next","id":1,"key":"A","value":1}',
    )
    assert len(trace.item_key) == 4
    assert trace.range_items.tolist() == [0, 3, 4, 4, 4]


def test_a_loading_transaction_is_the_initial_state(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        '{"txn":"load","op":"begin","initial":true}',
        '{"session":"a","txn":1,"op":"begin"}',
        '{"txn":"load","op":"put","key":"x","value":1}',
        '{"txn":"load","op":"put","key":"y","value":1}',
        '{"txn":"load","op":"put","key":"x","value":2}',
        '{"txn":"load","op":"commit"}',
        '{"session":"a","txn":1,"op":"commit"}',
    )
    assert len(trace) == 1 and len(trace.op_kind) == 0
    assert trace.initial_mode == Initial.GIVEN
    assert trace.initial() == [("x", 2), ("y", 1)]


def test_initial_states(tmp_path: Path) -> None:
    begin = '{"txn":1,"op":"begin"}'
    assert read(tmp_path, begin).initial_mode == Initial.EMPTY
    assert read(tmp_path, '{"boomslang":1,"initial":"empty"}', begin).initial_mode == Initial.EMPTY
    assert read(tmp_path, '{"boomslang":1,"initial":"unknown"}', begin).initial_mode == Initial.UNKNOWN
    assert read(tmp_path, '{"boomslang":1,"initial":{"items":[]}}', begin).initial_mode == Initial.GIVEN


def test_blank_lines_count_but_say_nothing(tmp_path: Path) -> None:
    trace = read(tmp_path, "", '  {"txn":1,"op":"begin"}  ', "\t", '{ "txn" : 1 , "op" : "commit" }')
    assert (trace.txn_begin_line[0], trace.txn_end_line[0]) == (2, 4)


# --- ends of files ---


@pytest.mark.parametrize("cut", range(1, 38))
def test_a_torn_last_line_is_dropped_with_a_warning(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    commit = '{"session":"a","txn":1,"op":"commit"}'
    path.write_text('{"session":"a","txn":1,"op":"begin"}\n' + commit[:cut])
    trace = read_trace(path)
    if cut == len(commit):
        assert trace.txn_outcome.tolist() == [Outcome.COMMITTED] and trace.warnings == []
    else:
        assert trace.txn_outcome.tolist() == [Outcome.UNKNOWN]
        assert trace.warnings == [
            f"{path}:2: the last line is torn and was dropped; its transaction is unknown unless it had ended"
        ]
    assert len(trace.keys) == 0


def test_a_torn_line_leaves_no_keys_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"txn":1,"op":"begin"}\n{"txn":1,"op":"put","key":"ghost","value":"ghost"')
    trace = read_trace(path)
    assert len(trace.keys) == len(trace.values) == len(trace.op_kind) == 0


def test_lines_across_blocks(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        file.write('{"txn":1,"op":"begin"}\n')
        for i in range(60_000):
            file.write(f'{{"txn":1,"op":"put","key":{i},"value":"{"v" * (i % 200)}{i}"}}\n')
    trace = read_trace(path)
    assert len(trace.keys) == len(trace.values) == 60_000
    assert trace.values[59_999] == "v" * (59_999 % 200) + "59999"


def test_a_long_line(tmp_path: Path) -> None:
    trace = read(
        tmp_path, '{"txn":1,"op":"begin"}', f'{{"txn":1,"op":"put","key":1,"value":"{"é" * 4_000_000}"}}'
    )
    assert trace.values[0] == "é" * 4_000_000


# --- gzip and folders ---


def test_gzip_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "whatever"
    begin, commit = b'{"txn":1,"op":"begin"}\n', b'{"txn":1,"op":"commit"}\n'
    path.write_bytes(gzip.compress(begin) + gzip.compress(commit))  # two members, as appending writers make
    assert read_trace(path).txn_outcome.tolist() == [Outcome.COMMITTED]
    assert read_trace(path).warnings == []


def test_gzip_that_ends_early_is_a_torn_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    text = '{"txn":1,"op":"begin"}\n' + "".join(
        f'{{"txn":1,"op":"put","key":{i},"value":{i * i}}}\n' for i in range(5000)
    )
    path.write_bytes(gzip.compress(text.encode())[:-3000])
    trace = read_trace(path)
    assert 0 < len(trace.op_kind) < 5000
    assert any("ends early" in warning for warning in trace.warnings)


def test_a_folder_has_one_file_a_session(tmp_path: Path) -> None:
    for n in (10, 2, 1):
        (tmp_path / f"c{n}.jsonl").write_text(
            f'{{"boomslang":1,"clock":"h{n}"}}\n{{"txn":1,"op":"begin"}}\n{{"op":"put","key":{n},"value":0}}\n'
        )
    (tmp_path / "c3.jsonl.gz").write_bytes(
        gzip.compress(
            b'{"session":"named","txn":1,"op":"begin"}\n{"session":"named","op":"put","key":1,"value":'
        )
    )
    (tmp_path / "c4.jsonl").touch()
    (tmp_path / "notes.txt").write_text("not a trace")
    trace = read_trace(tmp_path)
    assert [t.session for t in trace.transactions()] == ["c1", "c2", "named", "c10"]
    assert trace.sessions == ["c1", "c2", "named", "c10"]
    assert [t.clock for t in trace.transactions()] == ["h1", "h2", "", "h10"]
    assert [Path(f).name for f in trace.files] == [
        "c1.jsonl",
        "c2.jsonl",
        "c3.jsonl.gz",
        "c4.jsonl",
        "c10.jsonl",
    ]
    assert [Path(t.where).name for t in trace.transactions()] == [
        "c1.jsonl:2",
        "c2.jsonl:2",
        "c3.jsonl.gz:1",
        "c10.jsonl:2",
    ]
    assert len(trace.warnings) == 2


def test_times_may_run_backwards_where_the_clock_is_another(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(
        '{"boomslang":1,"clock":"a"}\n{"session":"s","txn":1,"op":"begin","invoke":100}\n'
    )
    (tmp_path / "2.jsonl").write_text(
        '{"boomslang":1,"clock":"b"}\n{"session":"s","txn":2,"op":"begin","invoke":5}\n'
    )
    assert read_trace(tmp_path).txn_begin.tolist() == [100, 5]


# --- limits ---


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        file.write('{"txn":1,"op":"begin"}\n')
        for i in range(400_000):
            file.write(f'{{"txn":1,"op":"put","key":{i % 1000},"value":{i}}}\n')
    return path


def test_the_deadline_is_kept(large: Path) -> None:
    with pytest.raises(LimitReached, match="time limit") as caught:
        read_trace(large, deadline=time.monotonic())
    assert "time limit" in caught.value.reason


def test_the_memory_limit_is_kept(large: Path) -> None:
    with pytest.raises(LimitReached, match="memory limit of 1 MB"):
        read_trace(large, memory=1)


def test_progress_is_told(large: Path) -> None:
    seen: list[tuple[int, int]] = []
    read_trace(large, progress=lambda done, total: seen.append((done, total)))
    size = large.stat().st_size
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C stops the reader at once, also where the input never ends."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    stop = threading.Event()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            file.write(b'{"txn":1,"op":"begin"}\n')
            try:
                while not stop.is_set():
                    file.write(b'{"txn":1,"op":"put","key":1,"value":1}\n' * 1000)
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=write)
    writer.start()
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read_trace(pipe)
    finally:
        stop.set()
        writer.join()
    assert time.monotonic() - start < 1


def test_examples() -> None:
    examples = ROOT / "examples"
    for name in ("valid", "write-skew"):
        trace = read_trace(examples / f"{name}.jsonl")
        assert len(trace) == 3 and not trace.warnings

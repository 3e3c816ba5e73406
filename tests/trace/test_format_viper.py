"""Viper's JSON logs: by hand, the public folders and their Cobra twins, and all sorts of wrong ones."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples
from support.foreign import HISTORIES, damage, histories, operations, story, survives

from boomslang.trace import (
    ABSENT,
    Absent,
    Initial,
    Outcome,
    Trace,
    TraceBuilder,
    TraceError,
    Unbounded,
    read_trace,
)
from boomslang.trace.formats import cobra, recognise, viper


def trace_of(folder: Path, **logs: Any) -> Trace:
    """Each log: lines as JSON values, or bytes."""
    for old in folder.glob("*.log"):
        old.unlink()
    for name, lines in logs.items():
        content = lines if isinstance(lines, bytes) else "".join(json.dumps(x) + "\n" for x in lines).encode()
        (folder / f"{name}.log").write_bytes(content)
    return read_trace(folder, format="viper")


def txn(*mops: Any, **fields: Any) -> dict[str, Any]:
    return {"value": list(mops), **fields}


def test_reads_and_writes(tmp_path: Path) -> None:
    """A value that nobody wrote is the initial one, and in such a history that is absent."""
    trace = trace_of(
        tmp_path,
        J10=[txn(["r", 1, 99, False], ["w", 1, -5, True]), txn(["r", 2, 0, False])],
        J9=[txn(["r", 1, -5, False], ["w", "k", 7, False]), txn()],
    )
    assert [(t.session, t.name, t.outcome) for t in trace.transactions()] == [
        ("J9", 1, Outcome.COMMITTED),
        ("J9", 2, Outcome.COMMITTED),
        ("J10", 1, Outcome.COMMITTED),
        ("J10", 2, Outcome.COMMITTED),
    ]
    assert operations(trace) == [
        [("get", 1, -5), ("put failed", "k", Absent)],
        [],
        [("get", 1, Absent), ("put", 1, -5)],
        [("get", 2, Absent)],
    ]
    assert trace.initial_mode == Initial.EMPTY and recognise(tmp_path) is viper.FORMAT
    assert trace.operation(3).where == f"{tmp_path}/J10.log:1"


def test_two_values_that_nobody_wrote_are_thin_air(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, J1=[txn(["r", 1, 98, False], ["r", 1, 99, False], ["r", 1, 0, False])])
    assert operations(trace) == [[("get", 1, 98), ("get", 1, 99), ("get", 1, Absent)]]


def test_a_0_that_somebody_writes_is_a_value(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, J1=[txn(["w", 1, 0, True]), txn(["r", 1, 0, False])])
    assert operations(trace) == [[("put", 1, 0)], [("get", 1, 0)]]


MOPS = [
    (["i", 1, 5, 0, False, True], [("get", 1, Absent), ("put", 1, 5)]),
    (["i", 1, 5, 77, True, True], [("get", 1, Absent), ("put", 1, 5)]),
    (["i", 1, 5, 77, False, False], [("get", 1, 77), ("put failed", 1, Absent)]),
    (["d", 1, 8, 77, False, True], [("get", 1, 77), ("delete", 1, True)]),
    (["d", 1, 8, 77, True, True], [("delete", 1, False)]),
    (["d", 1, 8, 0, False, False], [("delete", 1, False)]),
    (["d", 1, 8, 77, False, False], [("get", 1, 77), ("delete failed", 1, Absent)]),
    (["r", 1, 77, True], [("get", 1, Absent)]),
    (["r", 1, None, False], [("get", 1, Absent)]),
    (["range", 1, 4, [{"id": 1, "sk": 1, "val": 77}], [{"id": 2, "sk": 2, "val": 9}]], [("scan", 1, 5, ((1, 77),))]),
    (["range", "nil", 4, [], []], [("scan", Unbounded, 5, ())]),
    (["range", -9, "nil", [], []], [("scan", -9, Unbounded, ())]),
    (["range", "a", "b", [{"val": 77, "id": "b"}], [], True], [("scan", "a", "b\0", (("b", 77),))]),
    (["i", 1, 5, 0, False, True, True, "w"], [("get", 1, Absent), ("put", 1, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("mop", "expected"), MOPS)
def test_each_operation(mop: list[Any], expected: Any, tmp_path: Path) -> None:
    other = ["d", 9, 10, 0, True, True]  # presence matters, so that unwritten values stay
    trace = trace_of(tmp_path, J1=[txn(mop, other)])
    assert operations(trace) == [[*expected, ("delete", 9, False)]]
    seen = {o[1] for o in expected if o[2:] == (77,)} | {
        k for o in expected if o[0] == "scan" for k, _ in o[3]
    }
    assert trace.initial() == [(k, 77) for k in seen]


@pytest.mark.parametrize(
    ("mop", "expected"),
    [
        ({"opType": "r", "key": 1, "value": 5, "isDead": False}, ("get", 1, 5)),
        ({"opType": "r", "key": 1, "value": 5, "isDead": True, "reqTS": 1, "resTS": 2}, ("get", 1, Absent)),
        ({"opType": "w", "key": "k", "value": 5, "succ": True}, ("put", "k", 5)),
        ({"opType": "d", "key": 1, "succ": False}, ("delete", 1, False)),
        ({"opType": "d", "key": 1, "value": 3, "readValue": 0, "isDead": False, "succ": True}, ("delete", 1, False)),
        (
            {"opType": "range", "key1": -(2**63), "key2": 7, "liveKVs": [{"id": 1, "val": 5}], "deadKVs": []},
            ("scan", Unbounded, 8, ((1, 5),)),
        ),
        (
            {"opType": "range", "key1": 1, "key2": 2**63 - 1, "liveKVs": [], "deadKVs": [{"id": 2, "val": 8}]},
            ("scan", 1, Unbounded, ()),
        ),
    ],
)  # fmt: skip
def test_each_object(mop: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        J1=[txn({"opType": "w", "key": 1, "value": 5}, mop, {"opType": "d", "key": 9, "succ": False})],
    )
    assert operations(trace)[0][1] == expected


def test_with_deletes_the_unwritten_values_are_the_initial_state(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        J1=[txn(["d", 1, 100, 50, False, True]), txn(["r", 1, 100, True])],
        J2=[txn(["range", "nil", "nil", [{"id": 2, "sk": 2, "val": 60}], []], ["r", 1, 50, False])],
    )
    assert trace.initial_mode == Initial.GIVEN and trace.initial() == [(1, 50), (2, 60)]
    assert operations(trace)[0] == [("get", 1, 50), ("delete", 1, True)]
    assert operations(trace)[1] == [("get", 1, Absent)]


@pytest.mark.parametrize(
    "mops",
    [
        [["w", 1, 50, True], ["w", 2, 0, True]],
        [
            [
                "range",
                "nil",
                "nil",
                [{"id": 1, "sk": 1, "val": 50}, {"id": 2, "sk": 2, "val": 0}],
                [{"id": 3, "val": 4}],
            ]
        ],
    ],
)
def test_an_initial_transaction(mops: list[Any], tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        J0=[txn(*mops, isInitial=True, isFinal=False)],
        J1=[txn(["r", 1, 50, False], ["r", 2, 0, False], ["r", 3, 9, False])],
        J2=[txn(["range", "nil", "nil", [], []], isInitial=False, isFinal=True)],
    )
    assert trace.initial_mode == Initial.GIVEN and trace.initial() == [(1, 50), (2, 0)]
    assert operations(trace)[0] == [("get", 1, 50), ("get", 2, 0), ("get", 3, 9)]
    assert trace.sessions == ["J1", "J2"]
    assert [t.ctx for t in trace.transactions()] == [None, {"isFinal": True}]


def test_times(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        J1=[
            txn(["w", 1, 5, True], preBeginTS=10, postBeginTS=11, preCommitTS=12, postCommitTS=13),
            {"postCommitTS": 20, "value": [], "preBeginTS": -1},
        ],
    )
    assert [(t.begin, t.end) for t in trace.transactions()] == [(10, 13), (None, 20)]


def test_isovistas_dialect(tmp_path: Path) -> None:
    """There the fourth field says whether the transaction committed."""
    logs = {
        "J24": [txn(["w", 1, 0, True], ["w", 2, 0, True])],
        "J25": [txn(["r", 1, 0, True], ["w", 1, 7, True]), txn(["r", 1, 7, False], ["w", 1, 8, False])],
    }
    trace = trace_of(tmp_path, **logs)
    assert [t.outcome.name for t in trace.transactions()] == ["COMMITTED", "COMMITTED", "ABORTED"]
    assert operations(trace)[1:] == [[("get", 1, 0), ("put", 1, 7)], [("get", 1, 7), ("put", 1, 8)]]
    assert "IsoVista" in trace.warnings[0]
    logs["J26"] = [txn(["d", 1, 9, 7, False, True])]  # Viper's after all
    trace = trace_of(tmp_path, **logs)
    assert operations(trace)[1] == [("get", 1, Absent), ("put", 1, 7)] and not trace.warnings


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"value": [["r", 1, 5]]}', "expected ',' and isDead"),
        ('{"value": [["r", 1]]}', "expected ',' and the value"),
        ('{"value": [["r", 1, 5, 1]]}', "expected true or false"),
        ('{"value": [["w", [1], 5, true]]}', "expected the key: a number or a string"),
        ('{"value": [["x", 1, 5, true]]}', 'found the operation "x"; expected r, w, i, d or range'),
        ('{"value": [["i", 1, 5, true]]}', "expected ',' and isDead"),
        ('{"value": [[]]}', "expected the operation's name in double quotes"),
        ('{"value": [5]}', "expected '[' or '{' of an operation"),
        ('{"value": {}}', "expected '[' of the operations"),
        ('{"value": [["range", 1, 2, [{"id": 1}], []]]}', "found a row without id or val"),
        ('{"value": [["range", 1, 2, [{"id": 3, "val": 1}], []]]}', "found the key 3 returned by a scan"),
        ('{"value": [["range", 1.5, 2.5, [], []]]}', "expected a whole number or a string"),
        ('{"value": [["range", 5, 1, [], []]]}', "found a range from 5 down to 2"),
        ('{"value": [{"key": 1}]}', "found an operation without opType"),
        ('{"value": [{"opType": "w", "key": 1}]}', "without value"),
        ('{"value": [{"opType": "d", "key": 1}]}', "without readValue or succ"),
        ('{"value": [{"opType": "range", "key1": 1, "key2": 2}]}', "without liveKVs"),
        ('{"value": [], "value": []}', 'the field "value" twice'),
        ('{"value": [{"opType": "w", "key": 1, "key": 2}]}', 'the field "key" twice'),
        ('{"val": []}', 'no field "value"'),
        ('{"value": [], "preBeginTS": "x"}', "expected a time"),
        ('{"value": [], "preBeginTS": 99999999999999999999}', "expected a time"),
        ('{"value": [], "isFinal": 1}', "expected true or false"),
        ('{"value": [["r", 1, 5, false]], "isInitial": true}', 'the operation "r" in the initial transaction'),
        ('{"value": [["r", 1, 5, false]', "the end of the line"),
        ('{"value": [], "x": ' + "[" * 99, "nesting deeper than 64"),
        ('{"value": []} x', "expected the end of the line"),
        ("[]", "expected '{' of a transaction"),
        ('{"value": [], "preBeginTS": 1}', "found invoke 1 before 50"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n", " \r\n"])
def test_mistakes(line: str, words: str, end: str, tmp_path: Path) -> None:
    good = '{"value": [["w", 1, 5, true]], "preBeginTS": 50}\n\n'
    with pytest.raises(TraceError) as caught:
        trace_of(tmp_path, J1=(good + line + end).encode())
    assert words in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "J1.log"), 3)


def test_nothing(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"without \*\.log files"):
        trace_of(tmp_path)
    with pytest.raises(TraceError, match="found no transaction"):
        trace_of(tmp_path, J1=b"\n", J2=b"")


@settings(max_examples=examples(250), deadline=None)
@given(
    histories(
        keys=st.integers(-5, 5) | st.sampled_from(["x", 'q"é']),
        values=st.integers(-9, -1) | st.just(2**63 - 1),
        aborted=False,
        deletes=True,
        scans=True,
        times=True,
        empty=True,
        given=True,
    )
)
def test_what_was_written_is_read_again(trace: Trace) -> None:
    assert all(loss.minor and "begin with J" in loss.what for loss in viper.losses(trace))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs"
        viper.write(trace, path)
        assert recognise(path) is viper.FORMAT
        assert all(log.name.startswith("J") for log in path.iterdir()), "Viper opens no others"
        again, before = story(read_trace(path)), story(trace)
        named = {name if str(name).startswith("J") else f"J{name}": told for name, told in before[2].items()}
        # A given state without keys is an empty one.
        assert again[1:] == (before[1], named) and (again[0] == before[0] or not trace.initial())


def test_sessions_that_would_share_a_file_are_numbered(tmp_path: Path) -> None:
    b = TraceBuilder({1: 9})
    for session in ("J1", "1", "initial"):
        with b.transaction(session) as t:
            t.put(session, 1)
    viper.write(b.build(), tmp_path / "logs")
    assert sorted(log.name for log in (tmp_path / "logs").iterdir()) == [
        "J1.log",
        "J2.log",
        "J3.log",
        "Jinitial.log",
    ]
    assert len(read_trace(tmp_path / "logs")) == 3


def test_what_it_cannot_say() -> None:
    b = TraceBuilder(clock="host")
    with b.transaction("a/b", name=1, begin=-1) as t:
        t.put(1, 2**63)
        t.put(b"k", "text")
        t.put(1.5, 0)
        t.get(1.5, Absent)
        t.delete(1)
        t.delete(1, found=True)
        t.scan("a", "b", [])
    assert {loss.what: loss.fatal for loss in viper.losses(b.build())} == {
        "2 keys other than strings and 64-bit numbers": True,
        "2 values other than 64-bit numbers": True,
        "2 deletes without the value that was deleted": True,
        "1 scan with bounds that cannot be written": True,
        "the name of the clock": False,
        "times that are -1, which means that there is none": False,
        "1 read of an absent key, which would look like a read of the 0 it also had": True,
        "the names of sessions: they begin with J, as Viper looks for no others": False,
        "the names of sessions, which are no names of files: they are numbered": False,
    }


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(ValueError, match="expected an empty one"):
        viper.write(trace_of(tmp_path, J1=[txn(["w", 1, 1, True])]), tmp_path)


def test_damage(tmp_path: Path) -> None:
    content = (
        b'{"value": [["r", 1, 9, false], ["w", "k\\u00e9", -5, true]], "preBeginTS": 1, "postCommitTS": 2}\n'
        b'{"value": [["d", 1, 8, 9, false, true], ["range", 1, 4, [{"id": 1, "sk": 1, "val": 7}], []]]}'
    )
    good, bad = survives(lambda data: trace_of(tmp_path, J1=data), damage(content, 5, 1500))
    assert good > 100 and bad > 500


@pytest.mark.parametrize("size", ["1000", "2000"])
def test_the_two_forms_of_one_run_are_one_trace(size: str) -> None:
    """Up to the names of sessions, keys and values, which are hashes in Cobra's logs."""
    folder = HISTORIES / "veristrong/fig11/si/viper" / size
    if not folder.is_dir():
        pytest.skip("the corpus of public histories is not here")
    assert recognise(folder / "json") is viper.FORMAT and recognise(folder / "log") is cobra.FORMAT
    a, b = read_trace(folder / "json"), read_trace(folder / "log")
    assert [name[1:] for name in a.sessions] == [name[1:] for name in b.sessions]
    for name in ("txn_session", "txn_outcome", "txn_ops", "op_kind", "op_flags"):
        assert (getattr(a, name) == getattr(b, name)).all(), name
    assert a.initial_mode == b.initial_mode == Initial.EMPTY and not a.warnings
    for x, y in ((a.op_key, b.op_key), (a.op_value, b.op_value)):
        assert ((x == ABSENT) == (y == ABSENT)).all()
        pairs = np.unique(np.stack([x, y]), axis=1)
        assert len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == pairs.shape[1]
    lines = [json.loads(line) for f in (folder / "json").glob("*.log") for line in f.read_text().splitlines()]
    mops = [mop for line in lines for mop in line["value"]]
    written = {(k, v) for op, k, v, _ in mops if op == "w"}
    assert len(a) == len(lines) and len(a.op_kind) == len(mops)
    assert int((a.op_value == ABSENT).sum()) == sum(
        op == "r" and (k, v) not in written for op, k, v, _ in mops
    )

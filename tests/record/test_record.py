"""What a session writes is what happened, whatever the database raises: checked against a store made of a dict."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boomslang import UsageError, check
from boomslang.databases.database import Aborted, Connection, Failed, Lost
from boomslang.record import Recorded, RecordingFailed, Session, Tracer
from boomslang.trace import Outcome, read_trace


class Dict(Connection):
    """A store that does as it is told; `fails` holds what the next call of a method raises."""

    def __init__(self, held: dict[str, str] | None = None) -> None:
        self.held = held if held is not None else {}
        self.fails: dict[str, BaseException] = {}
        self.calls: list[str] = []

    def _called(self, name: str) -> None:
        self.calls.append(name)
        error = self.fails.pop(name, None)
        if error is not None:
            raise error

    def begin(self, level: str) -> None:
        self._called("begin")

    def get(self, key: str) -> str | None:
        self._called("get")
        return self.held.get(key)

    def get_for_update(self, key: str) -> str | None:
        self._called("get_for_update")
        return self.held.get(key)

    def put(self, key: str, value: str) -> None:
        self._called("put")
        self.held[key] = value

    def delete(self, key: str) -> bool | None:
        self._called("delete")
        return self.held.pop(key, None) is not None

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        self._called("scan")
        return sorted(
            (k, v) for k, v in self.held.items() if (lo is None or lo <= k) and (hi is None or k < hi)
        )

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        self._called("iterator")
        return self._pairs(lo, hi)

    def _pairs(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        for pair in self.scan(lo, hi):
            self._called("next")
            yield pair

    def commit(self) -> None:
        self._called("commit")

    def abort(self) -> None:
        self._called("abort")

    def close(self) -> None:
        self._called("close")


class Appending(Dict):
    def append(self, key: str, element: str) -> None:
        self._called("append")
        self.held[key] = f"{self.held[key]},{element}" if key in self.held else element


def lines(session: Session) -> list[dict[str, Any]]:
    """The records of a session, without the header and the times."""
    records = [json.loads(line) for line in session.path.read_text().splitlines()[1:]]
    return [
        {name: field for name, field in record.items() if name not in ("invoke", "return")}
        for record in records
    ]


def ops(session: Session) -> list[str]:
    """The operations; those that failed with a !."""
    return [line["op"] + "!" * ("error" in line) for line in lines(session)]


def outcomes(folder: Path) -> list[Outcome]:
    trace = read_trace(folder)
    assert not trace.warnings
    return [Outcome(outcome) for outcome in trace.txn_outcome]


def recorded(folder: Path, store: Dict | None = None) -> tuple[Recorded, Dict, Session]:
    store = store if store is not None else Dict()
    session = Tracer(folder).session("c")
    return Recorded(store, session), store, session


def test_every_operation_is_recorded_with_its_result(tmp_path: Path) -> None:
    c, _, session = recorded(tmp_path)
    c.begin("any", ctx={"level": "serializable"})
    c.put("b", "1")
    c.put("a", 'q"\n\\é\U0001f40d')
    assert c.get("a") == 'q"\n\\é\U0001f40d' and c.get("z") is None
    assert c.get_for_update("b", ctx={"why": "lock"}) == "1"
    assert c.scan("a", None) == [("a", 'q"\n\\é\U0001f40d'), ("b", "1")]
    assert c.delete("b") is True and c.delete("b") is False
    taken = c.iterator(None, "z")
    assert next(taken)[0] == "a"
    assert list(taken) == []
    c.commit()
    assert [
        (line.pop("op"), line) for line in lines(session)
    ] == [
        ("begin", {"txn": 1, "ctx": {"level": "serializable"}}),
        ("put", {"key": "b", "value": "1"}),
        ("put", {"key": "a", "value": 'q"\n\\é\U0001f40d'}),
        ("get", {"key": "a", "value": 'q"\n\\é\U0001f40d'}),
        ("get", {"key": "z", "absent": True}),
        ("get", {"key": "b", "value": "1", "ctx": {"lock": "update", "why": "lock"}}),
        ("scan", {"from": "a", "items": [["a", 'q"\n\\é\U0001f40d'], ["b", "1"]]}),
        ("delete", {"key": "b", "found": True}),
        ("delete", {"key": "b", "found": False}),
        ("iterator", {"id": 1, "to": "z"}),
        ("next", {"id": 1, "key": "a", "value": 'q"\n\\é\U0001f40d'}),
        ("next", {"id": 1, "end": True}),
        ("commit", {}),
    ]  # fmt: skip
    trace = read_trace(tmp_path)
    assert not trace.warnings and trace.sessions == ["c"] and check(trace, level="sser").valid


def test_times_enclose_the_call_and_the_clock_is_named(tmp_path: Path) -> None:
    import time

    c, _, session = recorded(tmp_path)
    before = time.monotonic_ns()
    c.begin("any")
    c.put("x", "1")
    c.commit()
    after = time.monotonic_ns()
    header, *records = [json.loads(line) for line in session.path.read_text().splitlines()]
    times = [time for record in records for time in (record["invoke"], record["return"])]
    assert times == sorted(times) and before <= times[0] and times[-1] <= after
    assert header["clock"] == read_trace(tmp_path).clocks[0] and "/" in header["clock"]
    assert header["unit"] == read_trace(tmp_path).unit == "ns"


@pytest.mark.parametrize("appending", [False, True])
def test_lists(tmp_path: Path, appending: bool) -> None:
    c, store, session = recorded(tmp_path, Appending() if appending else Dict())
    c.begin("any")
    c.append("l", "1")
    c.append("l", "2")
    assert c.list("l") == ["1", "2"] and c.list("m") == []
    c.commit()
    assert store.held == {"l": "1,2"}
    reads = [] if appending else ["list"]
    assert ops(session) == ["begin", *reads, "append", *reads, "append", "list", "list", "commit"]
    assert lines(session)[-3]["elements"] == ["1", "2"]
    assert check(read_trace(tmp_path), level="ser").valid
    c.begin("any")
    with pytest.raises(UsageError, match="comma"):
        c.append("l", "3,4")


# --- outcomes


@pytest.mark.parametrize("op", ["get", "put", "delete", "scan", "commit"])
@pytest.mark.parametrize(
    ("error", "then"),
    [
        (Aborted("serialization failure"), Outcome.ABORTED),
        (Failed("no"), Outcome.UNKNOWN),
        (Lost("gone"), None),
        (KeyboardInterrupt(), Outcome.UNKNOWN),
    ],
    ids=["aborted", "failed", "lost", "interrupted"],
)
def test_what_a_failure_makes_of_a_transaction(
    tmp_path: Path, op: str, error: BaseException, then: Outcome | None
) -> None:
    c, store, session = recorded(tmp_path)
    c.begin("any")
    c.put("x", "1")
    store.fails[op] = error
    arguments = {"get": ("k",), "put": ("k", "v"), "delete": ("k",), "scan": (None, None), "commit": ()}
    with pytest.raises(type(error)):
        getattr(c, op)(*arguments[op])
    if then is None:  # a lost connection: only a commit that was sent may have happened
        then = Outcome.UNKNOWN if op == "commit" else Outcome.ABORTED
    assert outcomes(tmp_path) == [then]
    assert [line["op"] for line in lines(session) if "error" in line] == [op]


def test_a_failed_operation_leaves_the_transaction_open(tmp_path: Path) -> None:
    c, store, session = recorded(tmp_path)
    c.begin("any")
    store.fails["put"] = Failed("duplicate key")
    with pytest.raises(Failed):
        c.put("x", "1")
    c.put("x", "2")
    store.fails["commit"] = Failed("busy")
    with pytest.raises(Failed):
        c.commit()
    c.commit()
    assert ops(session) == ["begin", "put!", "put", "commit!", "commit"]
    assert outcomes(tmp_path) == [Outcome.COMMITTED]


def test_a_commit_that_failed_can_be_rolled_back_and_a_lost_one_cannot(tmp_path: Path) -> None:
    c, store, _ = recorded(tmp_path)
    for error in (Failed("busy"), Lost("gone")):
        c.begin("any")
        c.put("x", "1")
        store.fails["commit"] = error
        with pytest.raises(type(error)):
            c.commit()
        c.abort()
    c.begin("any")
    store.fails["abort"] = Lost("gone")
    with pytest.raises(Lost):
        c.abort()
    assert outcomes(tmp_path) == [Outcome.ABORTED, Outcome.UNKNOWN, Outcome.ABORTED]


def test_a_begin_that_failed_is_no_transaction(tmp_path: Path) -> None:
    c, store, session = recorded(tmp_path)
    for error in (Lost("gone"), Failed("no"), Aborted("no")):
        store.fails["begin"] = error
        with pytest.raises(type(error)):
            c.begin("any")
        with pytest.raises(UsageError, match="begin first"):
            c.get("x")
    c.begin("any")
    c.commit()
    assert ops(session) == ["begin", "commit"] and outcomes(tmp_path) == [Outcome.COMMITTED]


def test_what_may_or_may_not_have_been_written_is_not_committed(tmp_path: Path) -> None:
    c, store, session = recorded(tmp_path)
    c.begin("any")
    store.fails["put"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        c.put("x", "1")
    with pytest.raises(RecordingFailed, match="KeyboardInterrupt"):
        c.commit()
    assert "commit" not in store.calls
    c.abort()
    c.begin("any")
    c.commit()
    assert ops(session) == ["begin", "put!", "abort", "begin", "commit"]


def test_an_iterator_stays_in_its_transaction(tmp_path: Path) -> None:
    c, store, session = recorded(tmp_path, Dict({"a": "1", "b": "2"}))
    c.begin("any")
    taken = c.iterator(None, None)
    next(taken)
    c.put("c", "3")  # between two steps
    store.fails["next"] = Aborted("deadlock")
    with pytest.raises(Aborted):
        next(taken)
    assert ops(session) == ["begin", "iterator", "next", "put", "next!", "abort"]
    c.begin("any")
    old = c.iterator(None, None)
    c.commit()
    c.begin("any")
    with pytest.raises(UsageError, match="earlier transaction"):
        next(old)
    c.commit()
    assert outcomes(tmp_path) == [Outcome.ABORTED, Outcome.COMMITTED, Outcome.COMMITTED]


# --- sessions and tracers


def test_an_unknown_initial_state_and_a_given_one(tmp_path: Path) -> None:
    for name, initial in (("given", {"x": "1", 2: None}), ("unknown", "unknown"), ("empty", "empty")):
        session = Tracer(tmp_path / name, initial=initial).session("a")
        session.log("begin")
        session.log("get", ("x",), "1")
        session.log("commit")
        trace = read_trace(tmp_path / name)
        assert check(trace, level="ser").status == ("invalid" if name == "empty" else "valid")
        assert trace.initial_mode.name.lower() == name
    with pytest.raises(UsageError, match="'empty', 'unknown'"):
        Tracer(tmp_path / "other", initial="full")


def test_a_trace_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "something").touch()
    with pytest.raises(UsageError, match=r"found files.*Tracer\.join"):
        Tracer(tmp_path)
    with pytest.raises(UsageError, match="no trace to join"):
        Tracer.join(tmp_path)
    with pytest.raises(RecordingFailed, match="cannot begin a trace"):
        Tracer(tmp_path / "something" / "below")


def test_names_of_sessions(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path)
    tracer.session("a b.c-1")
    for again in (tracer, Tracer.join(tmp_path), pickle.loads(pickle.dumps(tracer))):
        with pytest.raises(UsageError, match="already"):
            again.session("a b.c-1")
    for name in ("", "../x", "a/b", ".hidden", "x" * 300, "initial\n"):
        with pytest.raises(UsageError, match="name"):
            tracer.session(name)
    assert tracer.session().name != tracer.session().name != Tracer.join(tmp_path).session().name


def test_what_a_trace_cannot_say_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    c, store, session = recorded(tmp_path)
    c.begin("any")
    for value in ("\ud800", float("nan"), object(), 1 + 2j):
        with pytest.raises(UsageError):
            c.put("x", value)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ctx"):
        c.put("x", "1", ctx={"not": object()})
    assert store.held == {}
    store.held["x"] = "\ud800"  # a database may return anything
    with pytest.raises(UsageError, match="half a character"):
        c.get("x")
    c.commit()
    assert ops(session) == ["begin", "get!", "commit"] and outcomes(tmp_path) == [Outcome.COMMITTED]


def test_scalars_come_back_as_they_are(tmp_path: Path) -> None:
    values = [
        "",
        "\x00\x1f\x7f\u2028",
        0,
        -(2**70),
        2**63,
        10**5000,
        1.5,
        -0.0,
        True,
        False,
        None,
        b"\x00\xff",
    ]
    session = Tracer(tmp_path).session("s")
    session.log("begin")
    for n, value in enumerate(values):
        session.log("put", (n, value))
    session.log("commit")
    trace = read_trace(tmp_path)
    found = [trace.values[i] for i in trace.op_value]
    assert [(type(v), v) for v in found] == [(type(v), v) for v in values]


def test_a_session_is_for_one_at_a_time(tmp_path: Path) -> None:
    session = Tracer(tmp_path).session("s")
    session.log_input("begin")
    refused: list[BaseException] = []

    def other() -> None:
        try:
            session.log_input("begin")
        except UsageError as error:
            refused.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert "under way" in str(refused[0])
    session.log_output()
    session.log_input("commit")
    session.log_output()
    session.close()
    with pytest.raises(UsageError, match="closed"):
        session.log_input("begin")
    assert outcomes(tmp_path) == [Outcome.COMMITTED]


@pytest.mark.parametrize(
    ("op", "args", "match"),
    [("comit", (), "expected one of"), ("put", ("x",), "expected 2"), ("get", ("x",), "begin first")],
)
def test_wrong_use(tmp_path: Path, op: str, args: tuple[str, ...], match: str) -> None:
    session = Tracer(tmp_path).session("s")
    with pytest.raises(UsageError, match=match):
        session.log_input(op, args)
    session.log("begin")  # and it can be used


def test_a_savepoint_that_is_rolled_back_never_was(tmp_path: Path) -> None:
    session = Tracer(tmp_path).session("s")
    session.log("begin")
    session.log("put", ("x", 1))
    session.hold()
    session.log("put", ("x", 2))
    session.hold()
    session.log("put", ("y", 1))
    session.let_go()
    session.forget()
    session.hold()
    session.log("put", ("z", 1))
    assert ops(session) == ["begin", "put"]
    session.log("commit")  # ends the savepoint too
    session.log("begin")
    session.hold()
    session.log("put", ("x", 3))
    session.log("abort")
    assert [(line["op"], line.get("key")) for line in lines(session)[1:]] == [
        ("put", "x"),
        ("put", "z"),
        ("commit", None),
        ("begin", None),
        ("abort", None),
    ]


def test_every_line_is_one_of_the_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    import boomslang.trace

    schema = json.loads((Path(boomslang.trace.__file__).parent / "schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    c, store, session = recorded(tmp_path, Appending({"a": "1"}))
    c.begin("any", ctx={"x": 1})
    c.put("x", "1")
    c.get("x")
    c.get("y")
    c.delete("x")
    c.scan("a", None)
    list(c.iterator(None, "z"))
    c.append("l", "1")
    c.list("l")
    store.fails["put"] = Failed("no")
    with pytest.raises(Failed):
        c.put("x", "2")
    store.fails["commit"] = Lost("gone")
    with pytest.raises(Lost):
        c.commit()
    c.begin("any")
    c.abort()
    for file in (session.path, tmp_path / "initial.jsonl"):
        for line in file.read_text().splitlines():
            validator.validate(json.loads(line))

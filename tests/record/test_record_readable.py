"""Whatever the recorder accepts, the reader accepts, and reads as what it was.

Hypothesis plays an application that does anything at all with a session: keys, values, hints and results of every
kind, operations in every order, savepoints, times of its own. Each call is refused with a `UsageError`, or is in the
trace; and the trace can be read.
"""

from __future__ import annotations

import enum
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import examples

from boomslang import UsageError, check, read_trace
from boomslang.record import Tracer, trace_connection
from boomslang.record.rules import RecordingWarning
from boomslang.record.session import Session
from boomslang.record.statements import put, scan
from boomslang.trace import Absent, Trace, Unbounded

MB = 1 << 20


class Colour(enum.IntEnum):
    RED = 1


# --- what is too long


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Tracer(tmp_path / "trace").session("a")
    session.log("begin")
    return session


def read(session: Session) -> Trace:
    return read_trace(session.path.parent)


def test_a_value_that_no_line_can_hold_is_not_sent(session: Session) -> None:
    for op, args in (
        ("put", ("x", "v" * 70 * MB)),
        ("get", ("k" * 70 * MB,)),
        ("append", ("x", b"v" * 35 * MB)),
    ):
        with pytest.raises(
            UsageError, match=r"found a \w+ of 70 MB; expected less than 64 MB.*nothing was sent"
        ):
            session.log_input(op, args)
    with pytest.raises(UsageError, match="found a put of 70 MB"):
        session.check("put", ("x", "v" * 70 * MB))
    with pytest.raises(UsageError, match="found a put of 65 MB"):
        session.log("put", ("x", 1), ctx={"note": "v" * 65 * MB})
    session.log("put", ("x", "v" * 60 * MB))
    session.log("commit")
    (t,) = read(session).transactions()
    assert [len(str(o.value)) for o in t.operations] == [60 * MB]


def test_a_result_that_no_line_can_hold_is_left_out_and_told(session: Session) -> None:
    session.log("put", ("x", "1"))
    for op, args, result in (
        ("get", ("y",), "v" * 70 * MB),
        ("scan", (None, None), [("y", "v" * 70 * MB)]),
        ("list", ("l",), ["v" * 70 * MB]),
    ):
        session.log_input(op, args)
        with pytest.warns(RecordingWarning, match=f"a {op} returned 70 MB.*not in the trace"):
            session.log_output(result)
        with pytest.warns(RecordingWarning, match=f"a {op} returned 70 MB"):
            session.log(op, args, result)
    assert session.errors == 0  # nothing failed, so the commit is not in doubt
    session.log("commit")
    (t,) = read(session).transactions()
    assert [o.kind.name for o in t.operations if o.error is None] == ["PUT"]
    assert all("not recorded: a " in o.error for o in t.operations[1:] if o.error)
    assert check(read(session), "serializable").valid


def test_a_step_that_is_left_out_ends_what_its_iterator_tells(session: Session) -> None:
    """The key that was not recorded must not count as passed over."""
    session.log("put", ("b", 1))
    session.log("iterator", (None, None))
    session.log("next", (1,), ("a", 0))
    with pytest.warns(RecordingWarning, match="a next returned 70 MB"):
        session.log("next", (1,), ("b", "v" * 70 * MB))
    session.log("next", (1,), ("c", 0))
    session.log("next", (1,), None)
    session.log("next", (1,), None)
    session.log("commit")
    (t,) = read(session).transactions()
    assert [(o.kind.name, o.key) for o in t.operations if o.error is None] == [
        ("PUT", "b"),
        ("ITERATOR", Absent),
        ("NEXT", "a"),
    ]


def test_errors_are_cut(session: Session) -> None:
    session.log_input("put", ("x", 1))
    session.log_error("the server quotes the statement: " + "v" * 70 * MB)
    session.log("put", ("x", 1), error="v" * 70 * MB)
    assert all(len(o.error or "") < 3000 for o in read(session).transaction(0).operations)


def test_an_initial_state_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found an initial state of 70 MB"):
        Tracer(tmp_path / "a", initial={"x": "v" * 70 * MB})
    with pytest.raises(UsageError, match="a key twice in the initial state"):
        Tracer(tmp_path / "b", initial=[("x", 1), ("x", 1)])
    with pytest.raises(UsageError, match="half a character"):
        Tracer(tmp_path / "c", clock="\ud800").session("a")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c"]
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["initial.jsonl"]


def test_lists_start_empty(tmp_path: Path) -> None:
    for name, initial in (("a", "unknown"), ("b", {"x": 0, b"x": 1}), ("c", "empty")):
        tracer = Tracer(tmp_path / name, initial=initial)
        for session in (tracer.session("a"), Tracer.join(tmp_path / name).session("b")):
            session.log("begin")
            for op, args in (("append", ("x", session.name)), ("list", (b"x",))):
                if name == "c":
                    session.log(op, args, [])
                    continue
                with pytest.raises(UsageError, match="expected lists that start empty"):
                    session.log_input(op, args)
            if name == "b":
                session.log("append", ("y", session.name))
            session.log("commit")
        assert len(read_trace(tmp_path / name)) == 2


# --- iterators, ranges, times, hints


def test_next_wants_the_number_of_an_open_iterator(session: Session) -> None:
    for number in (1, 0, "1", None, 1.0, True):
        with pytest.raises(UsageError, match=r"found next of iterator .*none is open.*the first is 1"):
            session.log_input("next", (number,))
    session.log("iterator", ("a", "m"))
    assert session.iterators == 1
    session.log_input("iterator", (None, None))
    session.log_error("no memory")
    with pytest.raises(UsageError, match=r"\(1\): the first is 1"):
        session.log_input("next", (2,))
    session.log("next", (1,), ("b", 1))
    for wrong in (("a", 1), ("b", 2), ("m", 1), (1, 1)):
        session.log("iterator", ("a", "m"))
        number = session.iterators
        session.log("next", (number,), ("b", 1))
        session.log_input("next", (number,))
        with pytest.raises(UsageError, match="found the key"):
            session.log_output(wrong)
        session.log("next", (number,), ("c", 1))  # which tells nothing any more
    session.log("commit")
    session.log("begin")
    with pytest.raises(UsageError, match="none is open"):
        session.log_input("next", (1,))
    session.log("iterator", (None, None))
    session.log("next", (1,), None)
    with pytest.raises(UsageError, match="not at its end"):
        session.log_input("next", (1,))
    read(session)


def test_what_a_rollback_takes_back_of_an_iterator(session: Session) -> None:
    session.log("iterator", (None, None))
    session.log("next", (1,), ("a", 1))
    session.hold()
    session.log("next", (1,), ("b", 1))
    session.log("iterator", (None, None))
    session.forget()
    session.log("next", (1,), ("c", 1))  # nobody may think that it passed over b
    session.log("next", (2,), ("a", 1))
    session.log("commit")
    good = [o for o in read(session).transaction(0).operations if o.error is None]
    assert [(o.kind.name, o.key) for o in good] == [("ITERATOR", Absent), ("NEXT", "a")]


def test_scans_that_cannot_be(session: Session) -> None:
    for lo, hi in ((1, "a"), (2, 1), (b"a", "a"), ("b", "a"), (1.5, 1), (1.0, 1)):
        with pytest.raises(UsageError, match="found a range from"):
            session.log_input("scan", (lo, hi))
    for items in ([("a", 1), ("a", 1)], [("z", 1)], [(1, 1)], [("a", 1, 2)], None, 5):
        session.log_input("scan", ("a", "m"))
        with pytest.raises(UsageError):
            session.log_output(items)
    session.log("scan", (1, 2.5), [(1, 0), (1.5, 0), (1.0, 0), (2, 0)])
    read(session)


def test_times_of_ones_own(session: Session) -> None:
    far = 10**18  # a clock that is not ours
    session.log("put", ("x", 1), invoke=far, returned=far + 1)
    session.log("put", ("x", 1), invoke=far + 1)
    for invoke, returned in (
        (far, None),
        (None, 5),
        (far + 9, far + 8),
        (2**63, None),
        (1.5, None),
        (True, None),
    ):
        with pytest.raises(UsageError, match="time"):
            session.log("put", ("x", 1), invoke=invoke, returned=returned)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="run forwards"):
        session.log_input("put", ("x", 1))
    session.log("commit", returned=far + 9)
    assert len(read(session).transaction(0).operations) == 2


def test_hints_that_a_reader_would_refuse(session: Session) -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    for ctx in ({1: 1, "1": 2}, {"a": {None: 1, "null": 2}}, {"a": deep}, {"a": float("nan")}, {"a": b""}):
        with pytest.raises(UsageError, match="ctx"):
            session.log("put", ("x", 1), ctx=ctx)
    session.log("commit")
    session.log("begin", ctx={"a": 1})
    with pytest.raises(UsageError, match="found the hint 'a' of the begin again"):
        session.log_input("commit", (), {"a": 1})
    session.log("commit", ctx={"b": 1})
    assert read(session).transaction(1).ctx == {"a": 1, "b": 1}


def test_a_number_by_another_name(session: Session) -> None:
    session.log("put", (Colour.RED, Colour.RED))
    (o,) = read(session).transaction(0).operations
    assert (o.key, o.value) == (1, 1)


# --- scans of SQL statements


@pytest.mark.parametrize(
    ("text", "entry", "parameters"),
    [
        ("SELECT k, v FROM kv WHERE k >= ? AND k < ?", scan, ("a", "c")),
        ("SELECT k, v FROM kv WHERE k >= ? AND k < ?", lambda: scan(lo=0), ("a", "c")),
        ("SELECT k, v FROM kv WHERE k >= :lo AND v = :v", lambda: scan(lo="lo"), {"lo": "a", "v": 1}),
        ("SELECT k, v FROM kv WHERE k >= 'b'", scan, ()),
        ("SELECT k, v FROM kv ORDER BY k LIMIT 1", scan, ()),
        ("SELECT k, v FROM kv WHERE k >= ? LIMIT 1", lambda: scan(lo=0), ("a",)),
        ("SELECT k, v FROM (SELECT ? AS one, k, v FROM kv)", scan, (1,)),
    ],
)
def test_a_scan_that_leaves_keys_out_is_refused(
    text: str, entry: Any, parameters: Any, tmp_path: Path
) -> None:
    """It would say of keys that it did not look at that they are absent."""
    inner = sqlite3.connect(tmp_path / "db")
    inner.execute("CREATE TABLE kv (k TEXT PRIMARY KEY, v)")
    tracer = Tracer(tmp_path / "trace")
    insert = "INSERT INTO kv VALUES (?, ?)"
    with pytest.raises(UsageError, match=r"counts as\s+absent.*all_keys=True"):
        c = trace_connection(inner, tracer, {text: entry(), insert: put()}, session="a")
        c.execute(insert, ("x", 1))
        c.execute(text, parameters)


def test_a_scan_whose_other_parameters_are_harmless(tmp_path: Path) -> None:
    inner = sqlite3.connect(tmp_path / "db")
    inner.execute("CREATE TABLE kv (k TEXT PRIMARY KEY, v)")
    inner.execute("INSERT INTO kv VALUES ('b', 1)")
    inner.commit()
    some = "SELECT k, v FROM kv WHERE k >= ? AND ? = 1 LIMIT 1000"
    literal = "SELECT k, v FROM kv WHERE k >= 'a'"
    statements = {some: scan(lo=0, all_keys=True), literal: scan(lo=lambda p: "a")}
    c = trace_connection(inner, Tracer(tmp_path / "trace", initial={"b": 1}), statements, session="a")
    assert c.execute(some, ("a", 1)).fetchall() == [("b", 1)]
    assert c.execute(literal).fetchall() == [("b", 1)]
    c.commit()
    assert check(read_trace(tmp_path / "trace"), "serializable").valid


# --- anything at all

scalars: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | st.text(max_size=4)
    | st.binary(max_size=4) | st.sampled_from(["a", "b", "c", -0.0, Colour.RED, "\ud800", "\0\x7f\u2028"])
    | st.builds(lambda: 10**5000) | st.builds(object) | st.just(bytearray(b"x")) | st.just(1 + 2j)
)  # fmt: skip
few: st.SearchStrategy[Any] = st.sampled_from(["a", "b", "c", "d"]) | scalars
hints = st.none() | st.dictionaries(
    st.text(max_size=3) | st.integers(0, 1) | st.booleans(),
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=1), inner)
    ),
    max_size=2,
)
times = st.none() | st.integers(0, 50) | st.sampled_from([2**63, -(2**63), 2**70, True, 1.5])
pairs = st.lists(st.tuples(few, scalars), max_size=3)
results: st.SearchStrategy[Any] = (
    st.none() | st.just(Absent) | few | pairs | st.tuples(few, scalars) | st.lists(scalars, max_size=3)
)
OPS = (
    "begin",
    "commit",
    "abort",
    "put",
    "get",
    "delete",
    "scan",
    "iterator",
    "next",
    "append",
    "list",
    "nonsense",
)
bounds = few | st.just(Unbounded)


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    made: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 12))):
        op = draw(
            st.sampled_from(("begin", "commit", "put", "get", "scan", "iterator", "next", "next", *OPS))
        )
        if op in ("append", "list"):  # lists have keys of their own, and number their elements
            args: tuple[Any, ...] = ("list",) if op == "list" else ("list", len(made))
        elif op in ("scan", "iterator"):
            args = (draw(bounds), draw(bounds))
        elif op == "next":
            args = (draw(st.integers(0, 2) | scalars),)
        else:
            args = tuple(draw(few) for _ in range({"put": 2, "get": 1, "delete": 1}.get(op, 0)))
        if draw(st.integers(0, 30)) == 0:
            args = (*args, draw(scalars))
        how = draw(
            st.sampled_from(
                ["log", "output", "output", "output", "error", "aborted", "hold", "let go", "forget"]
            )
        )
        result = draw(st.lists(scalars, max_size=2)) if op == "list" else draw(results)
        if op in ("scan", "get", "next") and draw(st.booleans()):
            result = {
                "scan": [("b", 1)],
                "get": 1,
                "next": draw(st.sampled_from([("a", 1), ("b", 1), None])),
            }[op]
        made.append((how, op, args, draw(hints), result, draw(times), draw(times)))
    return made


def play(session: Session, call: tuple[Any, ...]) -> None:
    how, op, args, ctx, result, invoke, returned = call
    if how in ("hold", "let go", "forget"):
        if not session.in_transaction:
            return
        if how == "hold":
            session.hold()
        elif session._held:
            session.let_go() if how == "let go" else session.forget()
        return
    if how == "log":
        session.log(op, args, result, ctx=ctx, invoke=invoke, returned=returned)
        return
    session.log_input(op, args, ctx)
    if how == "output":
        session.log_output(result)
    else:
        session.log_error("no \ud800 luck", aborted=how == "aborted" and op != "begin")


@settings(max_examples=examples(100))
@given(st.lists(calls(), min_size=1, max_size=2), st.none() | st.text(max_size=3), st.none() | pairs)
def test_what_the_recorder_accepts_the_reader_accepts(
    tmp_path_factory: pytest.TempPathFactory,
    clients: list[list[tuple[Any, ...]]],
    name: str | None,
    initial: Any,
) -> None:
    folder = tmp_path_factory.mktemp("trace") / "trace"
    try:
        tracer = Tracer(folder, initial="empty" if initial is None else initial, clock=name)
    except UsageError:
        tracer = Tracer(folder, clock=None if name is None else "c")
    committed = 0
    for client in clients:
        try:
            session = tracer.session(name)
        except UsageError:
            session = Tracer.join(folder).session()
        for how, op, args, *rest in client:
            if op == "append":  # that an element is appended once, no session can know of the others
                args = ("list", f"{session.name}/{args[1]}", *args[2:])
            call = how, op, args, *rest
            before = session.transaction, session.in_transaction
            try:
                play(session, call)
            except UsageError:
                continue
            committed += before[1] and call[1] == "commit" and call[0] in ("output", "log")
        session.close()
    trace = read_trace(folder)
    assert sum(t.outcome.name == "COMMITTED" for t in trace.transactions()) == committed
    list(trace.transactions())


def test_times_of_ones_own_are_in_a_unit_of_ones_own(tmp_path: Path) -> None:
    for n, unit in enumerate(("ms", "", "s")):
        tracer = pickle.loads(pickle.dumps(Tracer(tmp_path / str(n), unit=unit)))
        joined = Tracer.join(tmp_path / str(n), unit=unit)
        for name, made in (("a", tracer), ("b", joined)):
            session = made.session(name)
            session.log("begin", invoke=5)
            session.log("commit", returned=9)
        assert read_trace(tmp_path / str(n)).unit == unit
    with pytest.raises(UsageError, match="found unit='minutes'; expected one of ns, us, ms, s"):
        Tracer(tmp_path / "x", unit="minutes")

"""Functions that are operations, and transactions seen from outside: what is recorded of them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from boomslang import UsageError, check
from boomslang.databases.database import Aborted
from boomslang.record import RecordingFailed, Tracer
from boomslang.trace import Outcome, read_trace


class Refused(Exception):
    """A serialization failure, as drivers of PostgreSQL raise it."""

    sqlstate = "40001"


class Wrapped(Exception):
    """As SQLAlchemy wraps it."""

    def __init__(self) -> None:
        super().__init__("wrapped")
        self.orig = Refused()


class App:
    """An application with its own functions for its data."""

    def __init__(self, folder: Path) -> None:
        self.tracer = tracer = Tracer(folder)
        self.held: dict[str, Any] = {}
        self.fails: BaseException | None = None
        for name in ("begin", "commit", "abort", "read", "write", "remove", "everything", "add", "all_of"):
            op = {"read": "get", "write": "put", "remove": "delete", "everything": "scan", "add": "append"}
            op["all_of"] = "list"
            names = {"value": "what"} if name in ("write", "add") else {}
            setattr(self, name, tracer.traced(op.get(name, name), **names)(getattr(self, name)))

    def _fail(self) -> None:
        error, self.fails = self.fails, None
        if error is not None:
            raise error

    def begin(self) -> None:
        self._fail()

    commit = abort = begin

    def read(self, key: str) -> Any:
        self._fail()
        return self.held.get(key)

    def write(self, key: str, what: Any = 7) -> None:
        self._fail()
        self.held[key] = what

    def remove(self, key: str) -> bool:
        self._fail()
        return self.held.pop(key, None) is not None

    def everything(self, lo: str | None = None, hi: str | None = None) -> dict[str, Any]:
        return dict(self.held)

    def add(self, key: str, what: Any) -> None:
        self.held.setdefault(key, []).append(what)

    def all_of(self, key: str) -> Any:
        return self.held.get(key)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    yield App(tmp_path / "trace")


def recorded(app: App) -> list[str]:
    lines = app.tracer.current().path.read_text().splitlines()[1:]
    return [json.loads(line)["op"] + ("!" if '"error"' in line else "") for line in lines]


def outcomes(app: App) -> list[str]:
    trace = read_trace(app.tracer.folder)
    assert not trace.warnings and check(trace, level="sser").valid
    return [Outcome(outcome).name.lower() for outcome in trace.txn_outcome]


def test_functions_in_a_transaction(app: App) -> None:
    with app.tracer.transaction(ctx={"why": "test"}):
        app.write("x", what=1)
        app.write("y")
        assert app.read(key="x") == 1 and app.read("z") is None
        assert app.remove("y") is True and app.remove("y") is False
        assert app.everything() == {"x": 1}
    with app.tracer.transaction():
        app.add("l", 1)
        assert app.all_of("l") == [1] and app.all_of("m") is None
    ops = ["put", "put", "get", "get", "delete", "delete", "scan"]
    assert recorded(app) == ["begin", *ops, "commit", "begin", "append", "list", "list", "commit"]
    assert outcomes(app) == ["committed", "committed"]


def test_functions_alone(app: App) -> None:
    app.write("x", 1)
    assert app.read("x") == 1
    app.remove("x")
    app.remove("x")
    app.fails = Refused()
    with pytest.raises(Refused):
        app.write("x", 2)
    assert outcomes(app) == ["committed", "committed", "committed", "aborted", "committed", "aborted"]
    app.fails = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        app.write("x", 2)
    app.fails = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        app.read("x")
    assert outcomes(app)[-2:] == ["unknown", "aborted"]


@pytest.mark.parametrize(
    ("error", "aborts", "outcome"),
    [
        (Refused(), (), "aborted"),
        (Wrapped(), (), "aborted"),
        (Aborted("deadlock"), (), "aborted"),
        (ZeroDivisionError(), (ArithmeticError,), "aborted"),
        (ZeroDivisionError(), (), "unknown"),
        (KeyboardInterrupt(), (), "unknown"),
    ],
)
def test_leaving_a_transaction_with_an_exception(
    app: App, error: BaseException, aborts: tuple[type[BaseException], ...], outcome: str
) -> None:
    with pytest.raises(type(error)), app.tracer.transaction(aborts=aborts):
        app.write("x", 1)
        raise error
    with app.tracer.transaction():
        pass
    assert outcomes(app) == [outcome, "committed"]


def test_after_a_failure_inside_only_the_application_knows(app: App) -> None:
    for said in (None, "committed", "aborted"):
        with app.tracer.transaction() as t:
            app.fails = ValueError("no")
            with pytest.raises(ValueError, match="no"):
                app.write("x", 1)
            if said:
                getattr(t, said)()
    assert outcomes(app) == ["unknown", "committed", "aborted"]


def test_functions_that_begin_and_end(app: App) -> None:
    for end, error in (
        ("commit", None),
        ("abort", None),
        ("commit", Refused()),
        ("commit", OSError()),
        ("abort", OSError()),
    ):
        app.begin()
        app.write("x", 1)
        app.fails = error
        if error is None:
            getattr(app, end)()
        else:
            with pytest.raises(type(error)):
                getattr(app, end)()
            app.abort()  # as applications do, and it says nothing new
    app.begin()
    app.fails = ValueError()
    with pytest.raises(ValueError):
        app.read("x")
    app.commit()  # which may have been answered with a rollback
    app.fails = OSError()
    with pytest.raises(OSError):
        app.begin()
    assert outcomes(app) == ["committed", "aborted", "aborted", "unknown", "aborted", "unknown"]
    with pytest.raises(UsageError, match="begin first"):
        app.commit()


def test_wrong_use(app: App, tmp_path: Path) -> None:
    tracer = app.tracer
    with pytest.raises(UsageError, match="one of put"):
        tracer.traced("read")
    with pytest.raises(UsageError, match="found value for get"):
        tracer.traced("get", value="v")
    with pytest.raises(UsageError, match=r"no parameter 'key' of .*lambda"):
        tracer.traced("get")(lambda k: k)
    with tracer.transaction(), pytest.raises(UsageError, match="one at a time"), tracer.transaction():
        pass
    with pytest.raises(RecordingFailed, match="no room"), tracer.transaction() as t:
        t.session.fail("no room")
        app.write("x", 1)
    assert app.held == {}
    with pytest.raises(RecordingFailed, match="no room"), Tracer(tmp_path / "other").transaction() as t:
        t.session.fail("no room")  # and the application did not notice


def test_every_thread_has_its_session(app: App) -> None:
    sessions = [app.tracer.current()]
    thread = threading.Thread(target=lambda: sessions.append(app.tracer.current()))
    thread.start()
    thread.join()
    assert sessions[0] is app.tracer.current() is not sessions[1]
    own = app.tracer.session("own")
    with app.tracer.using(own):
        app.write("x", 1)
    assert "put" in own.path.read_text() and app.tracer.current() is sessions[0]


def test_a_task_inside_of_a_transaction_has_to_say_whether_it_takes_part(app: App) -> None:
    async def read(session: Any) -> Any:
        if session is None:
            return app.read("x")
        with app.tracer.using(session):
            return app.read("x")

    async def main() -> None:
        async with app.tracer.transaction() as t:
            with pytest.raises(UsageError, match="takes part"):
                await asyncio.create_task(read(None))
            assert await asyncio.create_task(read(t.session)) is None
        assert await asyncio.create_task(read(None)) is None

    asyncio.run(main())
    assert outcomes(app) == ["committed", "committed"]
    assert len(read_trace(app.tracer.folder).sessions) == 2

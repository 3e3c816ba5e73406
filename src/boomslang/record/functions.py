"""Record an application's own data access functions: it says which of them is which operation.

    @tracer.traced("get", key="account")
    def balance(connection, account): ...

    @tracer.traced("put", key="account", value="amount")
    def set_balance(connection, account, amount): ...

    with tracer.transaction():              # around the transaction of the database
        with connection.transaction(): ...

A thread or task has a session of its own, made when it first needs one (or given, `with tracer.using(session)`). A
function that is called outside of a transaction is one by itself.

A context manager cannot see whether what it encloses was committed. If it is left without an exception it was, unless
one of the functions failed inside: then, and after an exception that is not known to mean an abort, the outcome is
unknown. That is never wrong, only less sharp; `aborts=` names exceptions that mean an abort, and `t.aborted()` and
`t.committed()` say it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from boomslang.errors import UsageError
from boomslang.record import session as sessions
from boomslang.record.autocommit import Single
from boomslang.record.outcomes import certainly_aborted, refused_commit
from boomslang.record.session import RecordingFailed, Session
from boomslang.trace.scalars import Absent

Function = TypeVar("Function", bound=Callable[..., Any])
Parameters = tuple[str, ...]

NAMES: Mapping[str, Parameters] = {
    "put": ("key", "value"),
    "append": ("key", "value"),
    "get": ("key",),
    "delete": ("key",),
    "list": ("key",),
    "scan": ("lo", "hi"),
    "begin": (),
    "commit": (),
    "abort": (),
}
"""The operations a function can be, and what has to be known of its parameters."""


class Current:
    """The session of whoever is running: a thread, or a task."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._held: ContextVar[tuple[object, int, Session] | None] = ContextVar("session", default=None)

    def session(self) -> Session:
        held = self._held.get()
        owner = _runner()
        if held is not None:
            holder, forks, session = held
            if forks == sessions.forks():
                if holder is owner:
                    return session
                if session.in_transaction:
                    raise UsageError(
                        f"found a thread or task that was started inside a transaction of session {session.name!r}; "
                        "nobody can tell whether it takes part; fix: `with tracer.using(session)` in it"
                    )
        session = self._make()
        self._held.set((owner, sessions.forks(), session))
        return session

    @contextmanager
    def using(self, session: Session) -> Iterator[Session]:
        token = self._held.set((_runner(), sessions.forks(), session))
        try:
            yield session
        finally:
            self._held.reset(token)


def _runner() -> object:
    """The running task, or else the thread."""
    asyncio = sys.modules.get("asyncio")  # which takes long to import, and has no tasks where it was not
    if asyncio is None:
        return threading.current_thread()
    try:
        return asyncio.current_task() or threading.current_thread()
    except RuntimeError:
        return threading.current_thread()


class Scope:
    """A transaction, as `tracer.transaction()` sees it from outside: `with`, `async with`."""

    def __init__(
        self,
        current: Callable[[], Session],
        aborts: tuple[type[BaseException], ...],
        ctx: Mapping[str, Any] | None,
    ) -> None:
        self._current = current
        self._aborts = aborts
        self._ctx = ctx
        self._said: str | None = None

    @property
    def session(self) -> Session:
        return self._session

    def committed(self) -> None:
        """The database said so."""
        self._said = "commit"

    def aborted(self) -> None:
        """It was rolled back, and leaving the `with` will commit nothing."""
        self._said = "abort"

    def __enter__(self) -> Scope:
        self._session = self._current()
        if self._session.in_transaction:
            raise UsageError(
                f"found a transaction inside one of session {self._session.name!r}; expected one at a time"
            )
        self._session.log_input("begin", (), self._ctx)
        self._session.log_output()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        session = self._session
        if session.failed is not None and error is None:
            raise RecordingFailed(session.failed)
        if session.failed is not None or not session.in_transaction:
            return
        said = self._said
        if said is None and error is not None and self._means_abort(error):
            said = "abort"
        elif said is None and error is None and not session.errors:
            said = "commit"
        session.log_input(said or "commit")
        if said is not None:
            session.log_output()
        else:
            why = repr(error) if error is not None else "an operation failed, and nobody said how it ended"
            session.log_error(f"unknown: {why}")
            session.leave()

    def _means_abort(self, error: BaseException) -> bool:
        return isinstance(error, self._aborts) or certainly_aborted(error)

    async def __aenter__(self) -> Scope:
        return self.__enter__()

    async def __aexit__(self, *left: Any) -> None:
        self.__exit__(*left)


class _Call:
    """One call of a function that is an operation."""

    def __init__(self, session: Session, op: str, args: list[Any], ctx: Any, absent: object) -> None:
        self._session = session
        self._op = op
        self._absent = absent
        self._single: Single | None = None
        self._recorded = True
        if op == "abort" and not session.in_transaction:
            self._recorded = False  # after a commit that failed: it is over, and recorded as what it was
        elif session.in_transaction or op in ("begin", "commit"):
            session.log_input(op, args, ctx)
        else:
            self._single = Single(session, op, args, ctx)

    def done(self, result: Any) -> None:
        if not self._recorded:
            return
        if self._single is not None:
            self._single.done(self._seen(result))
        elif self._op == "commit" and self._session.errors:
            self._session.log_error(
                "unknown: an operation failed before, and the commit may have been a rollback"
            )
            self._session.leave()
        else:
            self._session.log_output(self._seen(result))

    def failed(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}"
        if not self._recorded:
            return
        if self._single is not None:
            self._single.failed(text, aborted=refused_commit(error))
        elif self._op == "commit":
            refused = refused_commit(error)
            self._session.log_error(text, aborted=refused)
            if not refused:
                self._session.leave()
        elif self._op == "abort":
            self._session.log_output()  # nobody asked it to commit
        else:
            self._session.log_error(text)

    def _seen(self, result: Any) -> Any:
        """What the function returned, as the result of its operation."""
        if self._op == "get":
            return Absent if result is self._absent or result is Absent else result
        if self._op == "scan":
            return result.items() if isinstance(result, Mapping) else result
        if self._op == "list":
            return () if result is None else result
        if self._op == "delete":
            return result if isinstance(result, bool) else None
        return None


def traced(
    current: Callable[[], Session], op: str, names: Mapping[str, str], absent: object, ctx: Any
) -> Callable[[Function], Function]:
    """See `Tracer.traced`."""
    if op not in NAMES:
        raise UsageError(f"found the operation {op!r}; expected one of {', '.join(NAMES)}")
    wrong = set(names) - set(NAMES[op])
    if wrong:
        raise UsageError(
            f"found {', '.join(sorted(wrong))} for {op}; expected {' and '.join(NAMES[op]) or 'none'}"
        )
    wanted = [names.get(name, name) for name in NAMES[op]]

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        for name in wanted:
            if name not in signature.parameters:
                raise UsageError(
                    f"found no parameter {name!r} of {function.__qualname__}; expected {op}'s "
                    f"{' and '.join(NAMES[op])}; fix: say which they are: traced({op!r}, key='...')"
                )

        def arguments(args: Any, kwargs: Any) -> list[Any]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return [bound.arguments[name] for name in wanted]

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def asynchronous(*args: Any, **kwargs: Any) -> Any:
                call = _Call(current(), op, arguments(args, kwargs), ctx, absent)
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    call.failed(error)
                    raise
                call.done(result)
                return result

            return cast(Function, asynchronous)

        @functools.wraps(function)
        def synchronous(*args: Any, **kwargs: Any) -> Any:
            call = _Call(current(), op, arguments(args, kwargs), ctx, absent)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                call.failed(error)
                raise
            call.done(result)
            return result

        return cast(Function, synchronous)

    return decorate

"""A connection that records what it does: the same methods, and each call becomes a record of its session.

    connection = Recorded(database.connect(), tracer.session("c1"))
    connection.begin("serializable")
    connection.put("x", "1")
    connection.commit()

What an adapter raises (see `databases.database`) says what is recorded: after `Aborted` the transaction's end, after
`Failed` an operation that observed and changed nothing. `Lost` before the commit was sent is an abort, since nobody
asked the database to commit; from the commit itself it leaves the outcome unknown. Anything else that is raised in
the middle of an operation leaves open what it did, so from then on the transaction can only be aborted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from boomslang.databases.database import Aborted, Connection, Failed, Lost
from boomslang.errors import UsageError
from boomslang.record.session import RecordingFailed, Session
from boomslang.trace.scalars import Absent

Ctx = Mapping[str, Any] | None

LOCKING: Mapping[str, Any] = {"lock": "update"}
"""The hint of a locking read, as the module mariadb-repeatable-read looks for it."""


class Recorded(Connection):
    """`connection`, recorded in `session`. Each method takes `ctx`, hints for the checker."""

    def __init__(self, connection: Connection, session: Session) -> None:
        self.connection = connection
        self.session = session
        self._doubt: str | None = None
        """What of this transaction we do not know whether it happened."""
        self._committing = False
        """A commit was sent, and nobody knows what became of it."""
        self._appends = type(connection).append is not Connection.append
        self._locks = type(connection).get_for_update is not Connection.get_for_update

    def begin(self, level: str, *, ctx: Ctx = None) -> None:
        self.session.log_input("begin", (), ctx)
        try:
            self.connection.begin(level)
        except BaseException as error:
            self._failed("begin", error)
        self._doubt, self._committing = None, False
        self.session.log_output()

    def get(self, key: str, *, ctx: Ctx = None) -> str | None:
        self.session.log_input("get", (key,), ctx)
        try:
            value = self.connection.get(key)
        except BaseException as error:
            self._failed("get", error)
        self.session.log_output(Absent if value is None else value)
        return value

    def get_for_update(self, key: str, *, ctx: Ctx = None) -> str | None:
        self.session.log_input("get", (key,), LOCKING if ctx is None else {**LOCKING, **ctx})
        try:
            value = self.connection.get_for_update(key)
        except BaseException as error:
            self._failed("get", error)
        self.session.log_output(Absent if value is None else value)
        return value

    def put(self, key: str, value: str, *, ctx: Ctx = None) -> None:
        self.session.log_input("put", (key, value), ctx)
        try:
            self.connection.put(key, value)
        except BaseException as error:
            self._failed("put", error)
        self.session.log_output()

    def delete(self, key: str, *, ctx: Ctx = None) -> bool | None:
        self.session.log_input("delete", (key,), ctx)
        try:
            found = self.connection.delete(key)
        except BaseException as error:
            self._failed("delete", error)
        self.session.log_output(found)
        return found

    def scan(self, lo: str | None, hi: str | None, *, ctx: Ctx = None) -> list[tuple[str, str]]:
        self.session.log_input("scan", (lo, hi), ctx)
        try:
            pairs = self.connection.scan(lo, hi)
        except BaseException as error:
            self._failed("scan", error)
        self.session.log_output(pairs)
        return pairs

    def iterator(self, lo: str | None, hi: str | None, *, ctx: Ctx = None) -> Iterator[tuple[str, str]]:
        self.session.log_input("iterator", (lo, hi), ctx)
        try:
            pairs = self.connection.iterator(lo, hi)
        except BaseException as error:
            self._failed("iterator", error)
        self.session.log_output()
        return self._taken(pairs, self.session.transaction, self.session.iterators)

    def _taken(
        self, pairs: Iterator[tuple[str, str]], transaction: int, number: int
    ) -> Iterator[tuple[str, str]]:
        """The pairs, each recorded as it is taken."""
        try:
            while True:
                if self.session.transaction != transaction:
                    raise UsageError("found an iterator of an earlier transaction; expected one of this one")
                self.session.log_input("next", (number,))
                try:
                    pair = next(pairs, None)
                except BaseException as error:
                    self._failed("next", error)
                self.session.log_output(pair)
                if pair is None:
                    return
                yield pair
        finally:
            close = getattr(pairs, "close", None)
            if close is not None:
                close()

    def append(self, key: str, element: str, *, ctx: Ctx = None) -> None:
        """Append to the list at a key, by one statement or, where there is none, by reading and writing.

        What is read is locked where it can be: else two might read the same list and one of them overwrite the
        other's element, which a weak level allows, and no list of appends can tell.
        """
        if "," in element or not element:
            raise UsageError(f"found the list element {element!r}; expected some text without a comma")
        held = None if self._appends else self._list(key, ctx, lock=self._locks)
        self.session.log_input("append", (key, element), ctx)
        try:
            if self._appends:
                self.connection.append(key, element)
            else:
                self.connection.put(key, element if held is None else f"{held},{element}")
        except BaseException as error:
            self._failed("append", error)
        self.session.log_output()

    def list(self, key: str, *, ctx: Ctx = None) -> list[str]:
        """The elements of the list at a key."""
        held = self._list(key, ctx)
        return [] if held is None else held.split(",")

    def _list(self, key: str, ctx: Ctx, *, lock: bool = False) -> str | None:
        self.session.log_input("list", (key,), {**LOCKING, **(ctx or {})} if lock else ctx)
        try:
            held = self.connection.get_for_update(key) if lock else self.connection.get(key)
        except BaseException as error:
            self._failed("list", error)
        self.session.log_output(() if held is None else held.split(","))
        return held

    def commit(self, *, ctx: Ctx = None) -> None:
        if self._doubt is not None:
            raise RecordingFailed(
                f"nobody knows whether an operation happened ({self._doubt}); expected abort"
            )
        self.session.log_input("commit", (), ctx)
        try:
            self.connection.commit()
        except BaseException as error:
            self._failed("commit", error)
        self.session.log_output()

    def abort(self, *, ctx: Ctx = None) -> None:
        """Roll back. Where recording has failed, or the transaction is over, only the database hears of it."""
        if self.session.failed is not None or not self.session.in_transaction:
            self.connection.abort()
            return
        self.session.log_input("abort", (), ctx)
        try:
            self.connection.abort()
        except BaseException as error:
            self._aborted(str(error))
            raise
        self._aborted("after a commit whose outcome is unknown")

    def _aborted(self, why_unknown: str) -> None:
        """However `abort` ended: what was never asked to commit has not committed."""
        if self._committing:
            self.session.log_error(why_unknown)
        else:
            self.session.log_output()

    def close(self) -> None:
        """Let go of the connection. The session stays, for another connection or to be closed."""
        self.connection.close()

    def _failed(self, op: str, error: BaseException) -> NoReturn:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, Aborted):
            self.session.log_error(text, aborted=True)
        elif isinstance(error, Failed | UsageError):
            self.session.log_error(text)
        elif op == "commit":
            self._committing = True
            self.session.log_error(text)
        else:
            if not isinstance(error, Lost):
                self._doubt = text
            self.session.log_error(text, aborted=isinstance(error, Lost))
        raise error

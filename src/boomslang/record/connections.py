"""A connection of a DB-API driver that records itself: psycopg, PyMySQL, sqlite3, or any other of PEP 249.

    connection = trace_connection(psycopg.connect(...), tracer)

What its statements read and write is found out from their SQL (record/sql/), or told by a table of statements. It has
the methods of the connection it stands for, and gives out cursors that do the same. What it does not know how to
record it refuses, rather than let it pass in silence; `.connection` is the connection itself, for what touches
nothing that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from boomslang.errors import UsageError
from boomslang.record.conversation import Conversation
from boomslang.record.drivers import Asyncpg, Driver, DuckDB, Psycopg, driver_of, duckdb_counts_rows
from boomslang.record.session import Session
from boomslang.record.statements import Change, Statement, Table
from boomslang.record.step import Step
from boomslang.record.tracer import Tracer

if TYPE_CHECKING:
    from boomslang.record.sql.understanding import Understanding

HARMLESS = frozenset(
    (
        *("cancel", "cancel_safe", "fileno", "get_autocommit", "mogrify", "setinputsizes", "setoutputsize"),
        *("set_isolation_level", "set_read_only", "set_deferrable", "escape", "literal", "create_function"),
        *("create_collation", "nextset", "is_closed", "is_in_transaction", "get_settings", "get_server_pid"),
        *("get_server_version", "row_factory", "cursor_factory", "add_notice_handler", "set_type_codec"),
        *(
            "create_aggregate",
            "create_window_function",
            "getlimit",
            "setlimit",
            "interrupt",
            "set_trace_callback",
        ),
        *(
            "get_proto_info",
            "get_host_info",
            "get_server_info",
            "character_set_name",
            "set_charset",
            "thread_id",
        ),
        *("show_warnings", "get_transaction_status", "get_backend_pid", "warning_count", "query_timeout"),
        *("set_authorizer", "enable_load_extension", "load_extension", "set_client_encoding", "isolation"),
    )
)
"""Methods that neither read nor write what is in the database, and end no transaction."""
MODES = ("autocommit", "isolation_level")
"""Attributes that, when they are set, may end a transaction."""


def trace_connection(
    connection: Any,
    tracer: Tracer,
    statements: Mapping[str, Statement] | None = None,
    *,
    session: Session | str | None = None,
    key: Change | None = None,
    value: Change | None = None,
    understand: bool | None = None,
) -> Any:
    """The connection, recorded: each connection is a session of its own, named if `session` names it.

    Its statements are understood from their SQL; what is not is counted, and left out. With a table of `statements`,
    which says what SQL text is which operation (see `boomslang.record.statements`), only these are let through;
    `understand=True`: and the others are understood as without a table.

    For a table, `key` and `value` are
    functions that make keys and values comparable, if they are not: what is written as 10 and comes back as
    Decimal("10.00") would be two values, and value=int makes them one.
    """
    from boomslang.record.async_connections import AsyncpgConnection, PsycopgConnection

    table = Table(statements or {})
    driver = driver_of(connection)
    known = None
    if understand or (statements is None and understand is None):
        known = _understanding(tracer, driver, connection)
    if driver.in_transaction(connection):
        raise UsageError(
            "found a connection with a transaction that is open already; expected none, or its begin is not recorded; "
            "fix: commit or roll back before trace_connection"
        )
    if not isinstance(session, Session):
        session = tracer.session(session)
    talk = Conversation(connection, driver, session, table, key, value, known)
    if isinstance(driver, Asyncpg):
        return AsyncpgConnection(connection, talk)
    if isinstance(driver, Psycopg) and hasattr(connection, "__aenter__"):
        return PsycopgConnection(connection, talk)
    learn(talk, "", None)
    if isinstance(driver, DuckDB):
        again = partial(
            trace_connection,
            tracer=tracer,
            statements=statements,
            key=key,
            value=value,
            understand=understand,
        )
        return DuckDBConnection(connection, talk, again)
    return TracedConnection(connection, talk)


def _understanding(tracer: Tracer, driver: Driver, connection: Any) -> Understanding:
    from boomslang.record.sql.understanding import understanding

    if driver.dialect is None:
        raise UsageError(
            f"found a connection of {type(connection).__module__}, whose SQL is not known; expected psycopg, asyncpg, "
            "PyMySQL, mysqlclient, sqlite3 or DuckDB; fix: give trace_connection a table of statements"
        )
    return understanding(tracer, driver.dialect)


def learn(talk: Conversation, text: str, parameters: Any) -> None:
    """Ask the database what must be known to understand this statement."""
    if talk.understanding is None:
        return
    if not talk.understanding.stale and talk.identified and talk.questions(text, parameters) is None:
        return
    from boomslang.record.sql.understanding import drive

    with talk.understanding.lock:
        questions = talk.questions(text, parameters)
        if questions is None:
            return
        cursor = talk.driver.plain_cursor(talk.connection)

        def ask(query: str) -> Any:
            cursor.execute(query)
            return cursor.fetchall()

        try:
            drive(questions, ask)
        finally:
            cursor.close()
            if not talk.open and not talk.driver.autocommits(talk.connection, "SELECT 1"):
                talk.connection.rollback()


def text_of_query(query: Any, connection: Any) -> str:
    if isinstance(query, str):
        return query
    if isinstance(query, bytes):
        return query.decode(errors="replace")
    if hasattr(query, "as_string"):  # psycopg.sql
        return str(query.as_string(connection))
    return str(query)


def answered(cursor: Any) -> bool:
    """Does psycopg's cursor hold an answer to what it executed? (It lets go of the one before.)"""
    return getattr(cursor, "pgresult", None) is not None


class Stand:
    """What stands for another object: its attributes, but only those of its methods that are known to be harmless."""

    _own = ("connection", "_talk", "_cursor", "_rows", "_at", "_count", "_again", "_hides")

    def __init__(self, connection: Any, talk: Conversation) -> None:
        self.connection = connection
        self._talk = talk

    @property
    def session(self) -> Session:
        """Where it is recorded."""
        return self._talk.session

    def _object(self) -> Any:
        return self.connection

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._object(), name)
        if not callable(found) or isinstance(found, type) or name in HARMLESS:
            return found

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise UsageError(
                f"found a call of {name}, which cannot be recorded; fix: use execute, or, if it touches nothing that "
                f"is recorded, call .connection.{name}"
            )

        return refuse

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For those who ask what it is: what it stands for."""
        return type(self._object())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own or name == "autocommit":
            object.__setattr__(self, name, value)
            return
        if name in MODES:
            self._talk.refuse_inside(f"a change of {name}")
        setattr(self._object(), name, value)


class TracedConnection(Stand):
    """See `trace_connection`."""

    def cursor(self, *args: Any, **kwargs: Any) -> TracedCursor:
        return TracedCursor(self.connection, self._talk, self.connection.cursor(*args, **kwargs))

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        """psycopg's and sqlite3's short way."""
        if not hasattr(self.connection, "execute"):
            raise AttributeError("execute")
        return self.cursor().execute(query, *args, **kwargs)

    def begin(self, *args: Any) -> None:
        """PyMySQL's."""
        self._make(self._talk.begin(), lambda: self.connection.begin(*args))

    def ping(self, *args: Any, **kwargs: Any) -> Any:
        """PyMySQL's, which connects again if it must, and then the transaction is gone."""
        self._talk.refuse_inside("a ping")
        return self.connection.ping(*args, **kwargs)

    def commit(self) -> None:
        self._make(self._talk.commit(), self.connection.commit)

    def rollback(self) -> None:
        self._make(self._talk.rollback(), self.connection.rollback)

    @property
    def autocommit(self) -> Any:
        """An attribute of most drivers; of PyMySQL and mysqlclient a method."""
        found = self.connection.autocommit
        if not callable(found):
            return found

        def change(value: Any) -> Any:
            now = getattr(self.connection, "get_autocommit", lambda: None)()
            if now is not None and bool(now) == bool(value):
                return found(value)
            if value:  # that commits
                return self._make(self._talk.commit(), lambda: found(value))
            self._talk.refuse_inside("a change of autocommit")
            return found(value)

        return change

    @autocommit.setter
    def autocommit(self, value: Any) -> None:
        if value != self.connection.autocommit:
            self._talk.refuse_inside("a change of autocommit")
        self.connection.autocommit = value

    def terminate(self) -> None:
        """SQLAlchemy's, of asyncio drivers: close without asking."""
        try:
            self.connection.terminate()
        finally:
            self._talk.closed()

    def close(self) -> None:
        try:
            self.connection.close()
        finally:
            self._talk.closed()

    @contextmanager
    def transaction(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """psycopg's block: a transaction, or a savepoint inside of one."""
        block = self.connection.transaction(*args, **kwargs)
        enter, leave = steps_of_block(self._talk)
        inner = self._make(enter, block.__enter__)
        try:
            yield inner
            end = leave(not inner.force_rollback)
        except BaseException as error:
            left = (type(error), error, error.__traceback__)
            if not self._make(leave(False), lambda: block.__exit__(*left)):
                raise
        else:
            self._make(end, lambda: block.__exit__(None, None, None))

    def _make(self, step: Step, call: Any) -> Any:
        try:
            result = call()
        except BaseException as error:
            step.failed(error)
            raise
        step.done()
        return result

    def __enter__(self) -> TracedConnection:
        if not self._talk.driver.leaving:
            raise UsageError(
                "found `with` over a connection of a driver that is not known; expected commit and rollback"
            )
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """As the driver does it; but a transaction whose commit was not let through is rolled back."""
        leaving = self._talk.driver.leaving
        if "commit" in leaving and error is None:
            try:
                self.commit()
            except BaseException:
                if self._talk.open:
                    self.rollback()
                raise
        elif "commit" in leaving:
            with suppress(Exception):
                self.rollback()
        if "close" in leaving and not getattr(self.connection, "_pool", None):
            self.close()


class TracedCursor(Stand):
    """A cursor that records what it executes. Rows that were recorded are kept, and given out as the cursor would."""

    def __init__(self, connection: Any, talk: Conversation, cursor: Any) -> None:
        super().__init__(connection, talk)
        self._cursor = cursor
        self._rows: Any = None
        self._at = 0
        self._count: int | None = None
        """Of executemany, all together; and of a statement with RETURNING that the application did not write."""
        self._hides = False
        """There was such a RETURNING, and for the application no rows."""

    @property
    def rowcount(self) -> Any:
        return self._cursor.rowcount if self._count is None else self._count

    def _object(self) -> Any:
        return self._cursor

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and not name.startswith("__"):  # its driver's own affairs
            return getattr(self._cursor, name)
        found = super().__getattr__(name)
        return None if self._hides and name in self._talk.driver.of_rows else found

    def execute(self, query: Any, parameters: Any = None, *args: Any, **kwargs: Any) -> Any:
        text = text_of_query(query, self.connection)
        learn(self._talk, text, parameters)
        step = self._talk.statement(text, parameters, adds=not isinstance(query, bytes))
        self._rows = self._count = None
        self._hides = False
        if step.sends is not None:
            return self._execute_returning(step, parameters, args, kwargs)
        given = () if parameters is None else (parameters,)
        sent = returns = False
        try:
            result = self._cursor.execute(query, *given, *args, **kwargs)
            sent = True
            # sqlite3 has neither counted nor committed what a write with RETURNING did before its last row is taken.
            returns = (
                not step.wants_rows and step.counts and getattr(self._cursor, "description", None) is not None
            )
            # A list or a tuple, as the driver has it: some look for the one of theirs that is empty.
            rows = self._cursor.fetchall() if step.wants_rows or returns else []
        except BaseException as error:
            step.failed(error, sent=sent or answered(self._cursor))
            raise
        last = getattr(self._cursor, "lastrowid", None)
        step.done(rows, self._changed(rows) if returns else self._cursor.rowcount, last)
        if step.wants_rows or returns:
            self._rows, self._at = rows, 0
        return self if result is self._cursor else result

    def _execute_returning(self, step: Step, parameters: Any, args: Any, kwargs: Any) -> Any:
        """With a RETURNING that the application did not write, and whose rows it does not see."""
        driver, sent = self._talk.driver, False
        given = () if parameters is None else (parameters,)
        try:
            with driver.plain_rows(self._cursor):
                result = self._cursor.execute(step.sends, *given, *args, **kwargs)
                sent = True
                rows = self._cursor.fetchall()
        except BaseException as error:
            step.failed(error, sent=sent or answered(self._cursor))
            raise
        last = getattr(self._cursor, "lastrowid", None)
        driver.hide_rows(self._cursor)
        self._hides, self._count = True, len(rows)
        step.done(rows, len(rows), last)
        return self if result is self._cursor else result

    def _changed(self, rows: Any) -> int:
        """How many rows a write has changed that returned these."""
        return len(rows)

    def executemany(self, query: Any, every: Iterable[Any]) -> None:
        """One after the other: how many rows each one changed is part of what happened."""
        count = 0
        for parameters in every:
            self.execute(query, parameters)
            count = -1 if count < 0 or self.rowcount < 0 else count + self.rowcount
        self._count = count

    def fetchone(self) -> Any:
        if self._hides:
            self._talk.driver.nothing_to_fetch(self._cursor)
        if self._rows is None:
            return self._cursor.fetchone()
        row = self._rows[self._at] if self._at < len(self._rows) else None
        self._at += 1
        return row

    def fetchmany(self, size: int | None = None) -> Any:
        if self._hides:
            self._talk.driver.nothing_to_fetch(self._cursor)
        if self._rows is None:
            return self._cursor.fetchmany() if size is None else self._cursor.fetchmany(size)
        end = self._at + (self._cursor.arraysize if size is None else size)
        rows, self._at = self._rows[self._at : end], end
        return rows

    def fetchall(self) -> Any:
        if self._hides:
            self._talk.driver.nothing_to_fetch(self._cursor)
        if self._rows is None:
            return self._cursor.fetchall()
        rows, self._at = self._rows[self._at :], len(self._rows)
        return rows

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    def close(self) -> None:
        self._cursor.close()

    def __enter__(self) -> TracedCursor:
        self._cursor.__enter__()
        return self

    def __exit__(self, *left: Any) -> None:
        self._cursor.__exit__(*left)


class DuckDBConnection(TracedCursor):
    """DuckDB's connection, which is its own cursor; another cursor is another connection, and a session of its own."""

    def __init__(self, connection: Any, talk: Conversation, again: Callable[[Any], Any]) -> None:
        super().__init__(connection, talk, connection)
        self._again = again

    def cursor(self) -> Any:
        return self._again(self.connection.cursor())

    duplicate = cursor

    def _execute_returning(self, step: Step, parameters: Any, args: Any, kwargs: Any) -> Any:
        """DuckDB answers a write with a row that says how many rows it changed: so does what is asked here then, in
        whichever of DuckDB's ways the application takes it."""
        sent = False
        given = () if parameters is None else (parameters,)
        try:
            self._cursor.execute(step.sends, *given, *args, **kwargs)
            sent = True
            rows = self._cursor.fetchall()
            self._cursor.execute(f'SELECT {len(rows)}::BIGINT AS "Count"')
        except BaseException as error:
            step.failed(error, sent=sent)
            raise
        self._count = len(rows) if duckdb_counts_rows() else -1
        step.done(rows, len(rows))
        return self

    def _changed(self, rows: Any) -> int:
        return int(rows[0][0]) if len(rows) == 1 and len(rows[0]) == 1 else -1

    def begin(self) -> DuckDBConnection:
        self._send(self._talk.begin(), self.connection.begin)
        return self

    def commit(self) -> DuckDBConnection:
        self._send(self._talk.commit(), self.connection.commit)
        return self

    def rollback(self) -> DuckDBConnection:
        self._send(self._talk.rollback(), self.connection.rollback)
        return self

    def _send(self, step: Step, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            step.failed(error)
            raise
        step.done()

    def close(self) -> None:
        try:
            self.connection.close()
        finally:
            self._talk.closed()

    def __enter__(self) -> DuckDBConnection:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def steps_of_block(talk: Conversation) -> tuple[Step, Any]:
    """A block of psycopg or asyncpg: the step that enters it, and what makes the step that leaves it, which is asked
    whether it was a success."""
    if not talk.open:
        return talk.begin(), lambda success: talk.commit() if success else talk.rollback()
    name = f"block {len(talk.savepoints)}"  # no name that SQL text can say

    def leave(success: bool) -> Step:
        if not talk.open:  # the connection was lost, and with it the transaction
            return talk.nothing()
        return talk.savepoint("release" if success else "undo", name)

    return talk.savepoint("savepoint", name), leave

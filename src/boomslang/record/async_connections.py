"""The same for asyncio: connections of asyncpg, and of psycopg's AsyncConnection.

What is recorded, and when, is `conversation.py`'s; here is only how these two are called.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from boomslang.record.connections import Stand, answered, steps_of_block, text_of_query
from boomslang.record.conversation import Conversation
from boomslang.record.step import Step


async def _make(step: Step, call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        result = await call()
    except BaseException as error:
        step.failed(error)
        raise
    step.done()
    return result


async def _learn(
    talk: Conversation, text: str, parameters: Any, ask: Callable[[str], Awaitable[Any]]
) -> None:
    """Ask the database what must be known to understand this statement."""
    questions = talk.questions(text, parameters)
    if questions is None:
        return
    from boomslang.record.sql.understanding import A_MOMENT, WAIT, plain

    try:
        query = next(questions)
        while True:
            if query == WAIT:
                await asyncio.sleep(A_MOMENT)
            query = questions.send([plain(row) or () for row in await ask(query)] if query != WAIT else [])
    except StopIteration:
        return


class PsycopgConnection(Stand):
    """psycopg.AsyncConnection, recorded."""

    def cursor(self, *args: Any, **kwargs: Any) -> PsycopgCursor:
        return PsycopgCursor(self.connection, self._talk, self.connection.cursor(*args, **kwargs))

    async def execute(self, query: Any, parameters: Any = None, **kwargs: Any) -> PsycopgCursor:
        return await self.cursor().execute(query, parameters, **kwargs)

    async def _ask(self, query: str) -> Any:
        async with self._talk.driver.plain_cursor(self.connection) as cursor:
            await cursor.execute(query)
            rows = await cursor.fetchall()
        if not self._talk.open and not self.connection.autocommit:
            await self.connection.rollback()
        return rows

    async def commit(self) -> None:
        await _make(self._talk.commit(), self.connection.commit)

    async def rollback(self) -> None:
        await _make(self._talk.rollback(), self.connection.rollback)

    async def close(self) -> None:
        try:
            await self.connection.close()
        finally:
            self._talk.closed()

    async def set_autocommit(self, value: bool) -> None:
        self._talk.refuse_inside("a change of autocommit")
        await self.connection.set_autocommit(value)

    @asynccontextmanager
    async def transaction(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """A transaction, or a savepoint inside of one."""
        block = self.connection.transaction(*args, **kwargs)
        await _learn(self._talk, "BEGIN", None, self._ask)
        enter, leave = steps_of_block(self._talk)
        inner = await _make(enter, block.__aenter__)
        try:
            yield inner
            end = leave(not inner.force_rollback)
        except BaseException as error:
            left = (type(error), error, error.__traceback__)
            if not await _make(leave(False), lambda: block.__aexit__(*left)):
                raise
        else:
            await _make(end, lambda: block.__aexit__(None, None, None))

    async def __aenter__(self) -> PsycopgConnection:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        try:
            if error is None:
                await self.commit()
            else:
                with suppress(Exception):
                    await self.rollback()
        finally:
            await self.close()


class PsycopgCursor(Stand):
    """psycopg.AsyncCursor, recorded. Its rows are all there after execute, so they can be taken twice."""

    def __init__(self, connection: Any, talk: Conversation, cursor: Any) -> None:
        super().__init__(connection, talk)
        self._cursor = cursor
        self._hides = False
        """RETURNING was added to the last statement: for the application there are no rows."""

    def _object(self) -> Any:
        return self._cursor

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return None if self._hides and name in self._talk.driver.of_rows else found

    async def execute(self, query: Any, parameters: Any = None, **kwargs: Any) -> PsycopgCursor:
        text = text_of_query(query, self.connection)
        await _learn(self._talk, text, parameters, PsycopgConnection(self.connection, self._talk)._ask)
        step = self._talk.statement(text, parameters, adds=not isinstance(query, bytes))
        self._hides = False
        if step.sends is not None:
            return await self._execute_returning(step, parameters, kwargs)
        try:
            await self._cursor.execute(query, parameters, **kwargs)
            rows = await self._cursor.fetchall() if step.wants_rows else []
            if rows:
                await self._cursor.scroll(0, mode="absolute")
        except BaseException as error:
            step.failed(error, sent=answered(self._cursor))
            raise
        step.done(rows, self._cursor.rowcount)
        return self

    async def _execute_returning(self, step: Step, parameters: Any, kwargs: Any) -> PsycopgCursor:
        """With a RETURNING that the application did not write, and whose rows it does not see."""
        driver = self._talk.driver
        try:
            with driver.plain_rows(self._cursor):
                await self._cursor.execute(step.sends, parameters, **kwargs)
                rows = await self._cursor.fetchall()
        except BaseException as error:
            step.failed(error, sent=answered(self._cursor))
            raise
        self._hides = True
        step.done(rows, len(rows))
        return self

    async def executemany(self, query: Any, every: Iterable[Any]) -> None:
        for parameters in every:
            await self.execute(query, parameters)

    async def fetchone(self) -> Any:
        self._there_are_rows()
        return await self._cursor.fetchone()

    async def fetchmany(self, size: int = 0) -> Any:
        self._there_are_rows()
        return await self._cursor.fetchmany(size)

    async def fetchall(self) -> Any:
        self._there_are_rows()
        return await self._cursor.fetchall()

    def _there_are_rows(self) -> None:
        if self._hides:
            self._talk.driver.nothing_to_fetch(self._cursor)

    async def __aiter__(self) -> AsyncIterator[Any]:
        self._there_are_rows()
        async for row in self._cursor:
            yield row

    async def close(self) -> None:
        await self._cursor.close()

    async def __aenter__(self) -> PsycopgCursor:
        await self._cursor.__aenter__()
        return self

    async def __aexit__(self, *left: Any) -> None:
        await self._cursor.__aexit__(*left)


class AsyncpgConnection(Stand):
    """asyncpg's connection, or one of its pool's, recorded."""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> Any:
        _, status = await self._run(query, args, timeout)
        return status

    async def executemany(self, query: str, every: Iterable[Any], *, timeout: float | None = None) -> None:
        for args in every:
            await self._run(query, args, timeout)

    async def fetch(self, query: str, *args: Any, timeout: float | None = None) -> Any:
        rows, _ = await self._run(query, args, timeout, fetch=True)
        return rows

    async def fetchrow(self, query: str, *args: Any, timeout: float | None = None) -> Any:
        rows = await self.fetch(query, *args, timeout=timeout)
        return rows[0] if rows else None

    async def fetchval(self, query: str, *args: Any, column: int = 0, timeout: float | None = None) -> Any:
        rows = await self.fetch(query, *args, timeout=timeout)
        return rows[0][column] if rows else None

    async def _run(
        self, query: str, args: Any, timeout: float | None, fetch: bool = False
    ) -> tuple[list[Any], Any]:
        """The rows and the status. Of these asyncpg gives one; if one is recorded and the other asked for, a prepared
        statement has both."""
        await _learn(self._talk, query, args, self.connection.fetch)
        step = self._talk.statement(query, args, adds=True)
        rows: list[Any] = []
        status: Any = ""
        recorded_by_count = not step.wants_rows and step.counts
        both = recorded_by_count if fetch else step.wants_rows
        try:
            if both or step.sends is not None:
                prepared = await self.connection.prepare(step.sends or query, timeout=timeout)
                rows = await prepared.fetch(*args, timeout=timeout)
                status = prepared.get_statusmsg()
                count = _count(status)
            elif fetch:
                rows = await self.connection.fetch(query, *args, timeout=timeout)
                count = len(rows)
            else:
                status = await self.connection.execute(query, *args, timeout=timeout)
                count = _count(status)
        except BaseException as error:
            step.failed(error)
            raise
        step.done(rows, count)
        return ([] if step.sends is not None else rows), status

    def transaction(self, **options: Any) -> AsyncpgTransaction:
        return AsyncpgTransaction(self._talk, self.connection.transaction(**options))

    async def close(self, **options: Any) -> None:
        try:
            await self.connection.close(**options)
        finally:
            self._talk.closed()


def _count(status: Any) -> int:
    """How many rows a status speaks of: "INSERT 0 1"."""
    last = str(status).rpartition(" ")[2]
    return int(last) if last.isdigit() else -1


class AsyncpgTransaction:
    """asyncpg's block: a transaction, or a savepoint inside of one."""

    def __init__(self, talk: Conversation, block: Any) -> None:
        self._talk = talk
        self._block = block

    async def start(self) -> None:
        await _learn(self._talk, "BEGIN", None, self._talk.connection.fetch)
        enter, self._leave = steps_of_block(self._talk)
        await _make(enter, self._block.start)

    async def commit(self) -> None:
        await _make(self._leave(True), self._block.commit)

    async def rollback(self) -> None:
        await _make(self._leave(False), self._block.rollback)

    async def __aenter__(self) -> AsyncpgTransaction:
        await self.start()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if error is not None:
            await self.rollback()
            return
        try:
            end = self._leave(True)
        except BaseException:  # it must not be committed
            await self.rollback()
            raise
        await _make(end, self._block.commit)

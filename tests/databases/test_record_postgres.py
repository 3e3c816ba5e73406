"""Recorded connections of psycopg and asyncpg, on a PostgreSQL that is started for it: what PostgreSQL does with a
transaction is what the trace says, above all when it does something else than it was asked to."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.recorded_sql import outcomes, recorded, server, started

from boomslang import UsageError, check
from boomslang.record import RecordingFailed, Tracer, trace_connection
from boomslang.record.statements import delete, get, ignore, put, scan
from boomslang.trace import read_trace

psycopg = pytest.importorskip("psycopg")
asyncpg = pytest.importorskip("asyncpg")

GET, PUT, SET = (
    "SELECT v FROM kv WHERE k = %s",
    "INSERT INTO kv VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
    "UPDATE kv SET v = %s WHERE k = %s",
)
STATEMENTS = {
    GET: get(),
    PUT: put(),
    f"{PUT} RETURNING k": put(),
    SET: put(key=1, value=0, none_means_absent=True),
    "INSERT INTO kv VALUES (%s, %s)": put(),
    "INSERT INTO later VALUES (%s)": ignore(),
    "UPDATE kv SET v = v + 1 WHERE k = %s RETURNING v": put(returned=0),
    "DELETE FROM kv WHERE k = %s": delete(),
    "SELECT k, v FROM kv ORDER BY k": scan(),
    "SELECT nonsense": ignore(),
    "SELECT pg_sleep(%s)": ignore(),
}
NUMBERED = {
    text.replace("%s", "$1", 1).replace("%s", "$2"): statement for text, statement in STATEMENTS.items()
}
AGET, APUT, ASET = (text.replace("%s", "$1", 1).replace("%s", "$2") for text in (GET, PUT, SET))


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    with server("postgres") as address:
        yield address


@pytest.fixture
def tracer(dsn: str, tmp_path: Path) -> Tracer:
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS kv, later")
        c.execute('CREATE TABLE kv (k TEXT COLLATE "C" PRIMARY KEY, v INTEGER)')
        c.execute("CREATE TABLE later (n INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    return Tracer(tmp_path / "trace")


Connect = Callable[..., Any]


@pytest.fixture
def connect(dsn: str, tracer: Tracer) -> Iterator[Connect]:
    made = []

    def make(name: str = "a", level: int = 4, **options: Any) -> Any:
        inner = psycopg.connect(dsn, **options)
        inner.isolation_level = level  # 4 is serializable, 3 repeatable read
        made.append(inner)
        return trace_connection(inner, tracer, STATEMENTS, session=name)

    yield make
    for inner in made:
        inner.close()


def end(dsn: str, connection: Any) -> None:
    """The server ends this connection."""
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))


# --- names


def test_a_role_that_looks_for_tables_elsewhere_accuses_nobody(dsn: str, tracer: Tracer) -> None:
    """`kv` of one role is not `kv` of the other: told as one table, the two would contradict each other."""
    pytest.importorskip("sqlglot")
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("DROP SCHEMA IF EXISTS elsewhere CASCADE")
        c.execute("CREATE SCHEMA elsewhere")
        c.execute('CREATE TABLE elsewhere.kv (k TEXT COLLATE "C" PRIMARY KEY, v INTEGER)')
        c.execute("DROP ROLE IF EXISTS stranger")
        c.execute("CREATE ROLE stranger SUPERUSER LOGIN PASSWORD 'secret'")
        c.execute("ALTER ROLE stranger SET search_path = elsewhere")
        c.execute("INSERT INTO kv VALUES ('x', 1)")
        c.execute("INSERT INTO elsewhere.kv VALUES ('x', 7)")
    for role, value in ((None, 1), ("stranger", 7), (None, 1)):
        options = {} if role is None else {"user": role, "password": "secret"}
        with psycopg.connect(dsn, autocommit=True, **options) as plain:
            told = trace_connection(plain, tracer)
            assert told.execute(GET, ("x",)).fetchall() == [(value,)]
    verdict = check(read_trace(tracer.folder), level="strict serializable")
    assert verdict.valid, "the stranger's read is left out"
    assert any("left out" in note for note in verdict.notes), verdict.notes


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_role_that_may_not_read_everything(dsn: str, tmp_path: Path, autocommit: bool) -> None:
    """What it may not read is left out, and neither the recorder nor the application stumbles over it."""
    pytest.importorskip("sqlglot")
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("DROP SCHEMA IF EXISTS hidden CASCADE")
        c.execute("CREATE SCHEMA hidden")
        c.execute("CREATE TABLE hidden.away (id INT PRIMARY KEY)")
        c.execute("DROP TABLE IF EXISTS shown, written")
        for table in ("shown", "written"):
            c.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
        c.execute(
            "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'humble') THEN "
            "CREATE ROLE humble LOGIN PASSWORD 'secret'; END IF; END $$"
        )
        c.execute("GRANT SELECT, INSERT ON shown TO humble")
        c.execute("GRANT INSERT ON written TO humble")
    with psycopg.connect(dsn, autocommit=autocommit, user="humble", password="secret") as plain:
        told = trace_connection(plain, Tracer(tmp_path / "humble"))
        told.execute("INSERT INTO shown VALUES (1, 1)")
        told.execute("INSERT INTO written VALUES (1, 1)")
        assert told.execute("SELECT n FROM shown WHERE id = 1").fetchall() == [(1,)]
        told.commit()
    verdict = check(read_trace(tmp_path / "humble"), level="strict serializable")
    assert verdict.valid
    assert "left out: written (a table that the user who was recorded first may not read)" in verdict.notes[0]


# --- psycopg


ENDLESS = "INSERT INTO kv VALUES (%s, %s) RETURNING v, 'infinity'::timestamp"


def test_a_write_whose_answer_cannot_be_read_is_not_committed(dsn: str, tracer: Tracer) -> None:
    """The driver fails, the statement did not: what it wrote would be missing in the trace."""

    def wrong(cursor: Any) -> Any:
        if cursor.description is not None:
            raise TypeError("no such rows")
        return psycopg.rows.tuple_row(cursor)

    for name, options, error in (("a", {}, psycopg.DataError), ("b", {"row_factory": wrong}, TypeError)):
        with psycopg.connect(dsn) as inner:
            c = trace_connection(inner, tracer, {ENDLESS: put(returned=0)}, session=name)
            with pytest.raises(error):
                c.cursor(**options).execute(ENDLESS, ("x", 1))
            with pytest.raises(RecordingFailed, match=error.__name__):
                c.commit()
            c.rollback()
        assert recorded(c)[-1] == "abort"

    async def task() -> list[str]:
        async with await psycopg.AsyncConnection.connect(dsn) as inner:
            c = trace_connection(inner, tracer, {ENDLESS: put(returned=0)}, session="c")
            with pytest.raises(psycopg.DataError):
                await c.execute(ENDLESS, ("x", 1))
            with pytest.raises(RecordingFailed, match="DataError"):
                await c.commit()
            await c.rollback()
            return recorded(c)

    assert asyncio.run(task())[-1] == "abort"
    assert outcomes(tracer.folder) == ["aborted"] * 3


def test_commit_and_rollback(connect: Connect, tracer: Tracer) -> None:
    c = connect()
    c.execute(PUT, ("x", 1))
    assert c.execute(GET, ("x",)).fetchone() == (1,)
    c.commit()
    with c.cursor() as cursor:
        cursor.execute("UPDATE kv SET v = v + 1 WHERE k = %s RETURNING v", ("x",))
        assert cursor.fetchone() == (2,)
        cursor.execute("DELETE FROM kv WHERE k = %s", ("y",))
    c.rollback()
    c.commit()  # nothing to commit
    with c:
        assert c.execute("SELECT k, v FROM kv ORDER BY k").fetchall() == [("x", 1)]
    assert c.closed
    assert recorded(c) == [
        *("begin", "put x=1", "get x=1", "commit"),
        *("begin", "put x=2", "delete y=False", "abort"),
        *("begin", "scan [['x', 1]]", "commit"),
    ]
    assert outcomes(tracer.folder, "sser") == ["committed", "aborted", "committed"]


def test_blocks_and_blocks_inside_of_them(connect: Connect, tracer: Tracer) -> None:
    c = connect(autocommit=True)
    with c.transaction():
        c.execute(PUT, ("x", 1))
        with pytest.raises(ZeroDivisionError), c.transaction():
            c.execute(SET, (2, "x"))
            _ = 1 / 0
        with c.transaction():
            c.execute(PUT, ("y", 1))
        with c.transaction() as inner:
            c.execute(PUT, ("z", 1))
            raise psycopg.Rollback(inner)
    with c.transaction(force_rollback=True):
        c.execute(SET, (3, "x"))
    with pytest.raises(ZeroDivisionError), c.transaction():
        c.execute(SET, (4, "x"))
        _ = 1 / 0
    assert c.execute("SELECT k, v FROM kv ORDER BY k").fetchall() == [("x", 1), ("y", 1)]
    assert recorded(c) == [
        *("begin", "put x=1", "put y=1", "commit"),
        *("begin", "put x=3", "abort", "begin", "put x=4", "abort"),
        *("begin", "scan [['x', 1], ['y', 1]]", "commit"),
    ]
    assert outcomes(tracer.folder, "sser") == ["committed", "aborted", "aborted", "committed"]


def test_a_commit_that_is_answered_with_rollback(connect: Connect, tracer: Tracer) -> None:
    c = connect()
    for error in ("SELECT nonsense", "SELECT nonsense"):
        c.execute(PUT, ("x", 1))
        with pytest.raises(psycopg.Error):
            c.execute(error)
        c.commit()  # no exception
    with c.transaction():
        c.execute(PUT, ("x", 1))
        with pytest.raises(psycopg.Error):
            c.execute("INSERT INTO kv VALUES (%s, %s)", ("x", 2))
    assert c.execute(GET, ("x",)).fetchone() is None
    c.commit()
    assert outcomes(tracer.folder) == ["aborted", "aborted", "aborted", "committed"]


def test_savepoints_whose_names_differ_in_case(connect: Connect, tracer: Tracer) -> None:
    """Two to PostgreSQL, one to others: whatever "A" then undoes, it must not be taken for the other."""
    c = connect()
    c.execute('SAVEPOINT "A"')
    c.execute(PUT, ("x", 1))
    with pytest.raises(UsageError, match="differs in case"):
        c.execute("SAVEPOINT a")
    c.execute('SAVEPOINT "A"')
    c.execute(PUT, ("y", 1))
    c.execute('ROLLBACK TO "A"')
    c.execute('RELEASE "A"')
    c.commit()
    assert recorded(c) == ["begin", "put x=1", "commit"]
    assert connect("b").execute("SELECT k, v FROM kv ORDER BY k").fetchall() == [("x", 1)]


def test_an_error_inside_of_a_savepoint_is_forgotten_with_it(connect: Connect, tracer: Tracer) -> None:
    c = connect()
    c.execute(PUT, ("x", 1))
    with pytest.raises(psycopg.Error), c.transaction():
        c.execute("INSERT INTO kv VALUES (%s, %s)", ("x", 2))
    c.commit()
    assert recorded(c) == ["begin", "put x=1", "commit"]
    d = connect("d")
    assert d.execute(GET, ("x",)).fetchone() == (1,)
    d.commit()
    assert outcomes(tracer.folder) == ["committed", "committed"]


def test_serialization_failures_are_aborts(connect: Connect, tracer: Tracer) -> None:
    a, b = connect("a"), connect("b")
    for c, own, other in ((a, "x", "y"), (b, "y", "x")):
        c.execute(GET, (other,))
        c.execute(PUT, (own, 1))
    a.commit()
    with pytest.raises(psycopg.errors.SerializationFailure):
        b.commit()
    b.rollback()
    for c in (a, b):
        c.execute(GET, ("x",))
    a.execute(SET, (2, "x"))
    a.commit()
    with pytest.raises(psycopg.errors.SerializationFailure):
        b.execute(SET, (3, "x"))
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        b.execute(GET, ("x",))
    b.rollback()
    assert recorded(b) == [
        *("begin", "get x=absent", "put y=1", "commit!", "abort"),
        *("begin", "get x=1", "put! x=3", "get! x=", "abort"),
    ]
    assert outcomes(tracer.folder) == ["committed", "committed", "aborted", "aborted"]


def test_a_constraint_that_refuses_the_commit(connect: Connect, tracer: Tracer) -> None:
    c = connect()
    for _ in range(2):
        c.execute("INSERT INTO later VALUES (%s)", (1,))
    c.execute(PUT, ("x", 1))
    with pytest.raises(psycopg.errors.UniqueViolation):
        c.commit()
    assert recorded(c) == ["begin", "put x=1", "commit!", "abort"]
    assert outcomes(tracer.folder) == ["aborted"]


def test_a_connection_that_is_lost(connect: Connect, tracer: Tracer, dsn: str) -> None:
    a, b, c = (connect(name) for name in "abc")
    for one in (a, b, c):
        one.execute(PUT, (one.session.name, 1))
    end(dsn, a)
    with pytest.raises(psycopg.OperationalError):
        a.execute(GET, ("a",))
    end(dsn, b)
    with pytest.raises(psycopg.OperationalError):
        b.commit()
    with c.transaction():
        end(dsn, c)
        with pytest.raises(psycopg.OperationalError):
            c.execute(GET, ("c",))
    # ... whose end psycopg does not even send, and says nothing
    assert recorded(a) == ["begin", "put a=1", "get! a=", "abort"]
    assert recorded(b) == ["begin", "put b=1", "commit!"]
    assert recorded(c)[-1] == "abort"
    with connect("d") as d:
        assert d.execute("SELECT k, v FROM kv ORDER BY k").fetchall() == []
    assert sorted(outcomes(tracer.folder)) == ["aborted", "aborted", "committed", "unknown"]


def test_autocommit(connect: Connect, tracer: Tracer) -> None:
    c = connect(autocommit=True)
    c.execute(PUT, ("x", 1))
    c.execute(SET, (1, "y"))
    assert c.execute(GET, ("x",)).fetchone() == (1,)
    with pytest.raises(psycopg.errors.UniqueViolation):
        c.execute("INSERT INTO kv VALUES (%s, %s)", ("x", 2))
    c.autocommit = False
    c.execute(SET, (3, "x"))
    with pytest.raises(UsageError, match="autocommit"):
        c.autocommit = True
    c.commit()
    assert recorded(c) == [
        *("begin", "put x=1", "commit"),
        *("begin", "put y=1", "abort", "begin", "get y=absent", "commit"),
        *("begin", "get x=1", "commit", "begin", "put x=2", "abort"),
        *("begin", "put x=3", "commit"),
    ]
    assert "unknown" not in outcomes(tracer.folder, "sser")


def test_a_setting_begins_a_transaction_too(connect: Connect, tracer: Tracer) -> None:
    c = connect()
    c.execute("SET LOCAL statement_timeout = 1000")
    with c.transaction():  # which is a savepoint by now
        c.execute(PUT, ("x", 1))
    assert "commit" not in recorded(c)
    c.rollback()
    c.execute("SHOW statement_timeout")
    c.commit()
    assert recorded(c) == ["begin", "put x=1", "abort", "begin", "commit"]
    c.connection.execute("SELECT 1")
    with pytest.raises(UsageError, match="open already"):
        trace_connection(c.connection, tracer, STATEMENTS)


def test_what_cannot_be_recorded_is_refused(connect: Connect) -> None:
    c = connect()
    for refused in (
        c.pipeline,
        lambda: c.cursor().copy("COPY kv FROM STDIN"),
        lambda: c.cursor().stream(GET, ("x",)),
    ):
        with pytest.raises(UsageError, match="cannot be recorded"):
            refused()
    with pytest.raises(UsageError, match="not in the table"):
        c.execute("TRUNCATE kv")


@pytest.mark.parametrize("level", [3, 4])
def test_write_skew(connect: Connect, tracer: Tracer, level: int) -> None:
    """What PostgreSQL allows at repeatable read, and not at serializable, is in the trace."""
    a, b = connect("a", level), connect("b", level)
    for c, own, other in ((a, "x", "y"), (b, "y", "x")):
        assert c.execute(GET, (other,)).fetchone() is None
        c.execute(PUT, (own, 1))
    a.commit()
    if level == 4:
        with pytest.raises(psycopg.errors.SerializationFailure):
            b.commit()
    else:
        b.commit()
    trace = read_trace(tracer.folder)
    assert check(trace, level="si").valid and check(trace, level="ser").valid == (level == 4)


# --- asyncio


async def psycopg_client(dsn: str, tracer: Tracer, name: str) -> tuple[Any, Any, Any]:
    """A connection, and how it reads and writes."""
    inner = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    await inner.set_isolation_level(psycopg.IsolationLevel.SERIALIZABLE)
    c = trace_connection(inner, tracer, STATEMENTS, session=name)

    async def read(key: str) -> int | None:
        row = await (await c.execute(GET, (key,))).fetchone()
        return None if row is None else int(row[0])

    async def write(key: str, value: int) -> None:
        await c.execute(PUT, (key, value))

    return c, read, write


async def asyncpg_client(dsn: str, tracer: Tracer, name: str) -> tuple[Any, Any, Any]:
    inner = await asyncpg.connect(dsn)
    await inner.execute("SET default_transaction_isolation = 'serializable'")
    c = trace_connection(inner, tracer, NUMBERED, session=name)

    async def read(key: str) -> int | None:
        value: int | None = await c.fetchval(AGET, key)
        return value

    async def write(key: str, value: int) -> None:
        await c.execute(APUT, key, value)

    return c, read, write


Client = Callable[[str, Tracer, str], Awaitable[tuple[Any, Any, Any]]]
CLIENTS = pytest.mark.parametrize("client", [psycopg_client, asyncpg_client], ids=["psycopg", "asyncpg"])


@CLIENTS
def test_tasks(client: Client, dsn: str, tracer: Tracer) -> None:
    """Clients that count together, and try again when the database says so."""

    async def count(n: int) -> int:
        c, read, write = await client(dsn, tracer, f"c{n}")
        done = tries = 0
        while done < 10:
            tries += 1
            try:
                async with c.transaction():
                    await write("x", (await read("x") or 0) + 1)
                done += 1
            except (
                psycopg.errors.SerializationFailure,
                asyncpg.SerializationError,
                asyncpg.DeadlockDetectedError,
            ):
                pass
        await c.close()
        return tries

    async def main() -> int:
        tries = sum(await asyncio.gather(*(count(n) for n in range(3))))
        c, read, _ = await client(dsn, tracer, "last")
        assert await read("x") == 30
        await c.close()
        return tries

    tries = asyncio.run(main())
    ends = outcomes(tracer.folder, "sser")
    assert ends.count("committed") == 31 and ends.count("aborted") == tries - 30 and len(ends) == tries + 1


@CLIENTS
def test_how_a_block_ends(client: Client, dsn: str, tracer: Tracer) -> None:
    async def main() -> list[str]:
        c, read, write = await client(dsn, tracer, "a")
        with pytest.raises(ZeroDivisionError):
            async with c.transaction():
                await write("x", 1)
                _ = 1 / 0
        async with c.transaction():
            await write("x", 2)
            with pytest.raises(ZeroDivisionError):
                async with c.transaction():
                    await write("x", 3)
                    _ = 1 / 0
            async with c.transaction():
                await write("y", 4)
        async with c.transaction():
            await write("x", 5)
            with pytest.raises((psycopg.Error, asyncpg.PostgresError)):
                await c.execute("SELECT nonsense")
        # ... which PostgreSQL ends with a rollback
        assert await read("x") == 2 and await read("y") == 4 and await read("z") is None
        await c.close()
        return recorded(c)

    assert asyncio.run(main()) == [
        *("begin", "put x=1", "abort"),
        *("begin", "put x=2", "put y=4", "commit"),
        *("begin", "put x=5", "abort"),
        *("begin", "get x=2", "commit", "begin", "get y=4", "commit", "begin", "get z=absent", "commit"),
    ]
    assert "unknown" not in outcomes(tracer.folder, "sser")


@CLIENTS
def test_a_connection_that_is_lost_to_a_task(client: Client, dsn: str, tracer: Tracer) -> None:
    async def main() -> list[list[str]]:
        found = []
        for name, at_commit in (("statement", False), ("commit", True)):
            c, read, write = await client(dsn, tracer, name)
            inner = c.connection
            pid = inner.get_server_pid() if hasattr(inner, "get_server_pid") else inner.info.backend_pid
            with pytest.raises((psycopg.OperationalError, asyncpg.PostgresError, asyncpg.InterfaceError)):
                async with c.transaction():
                    await write(name, 1)
                    with psycopg.connect(dsn, autocommit=True) as other:
                        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
                    if not at_commit:
                        await read(name)
            found.append(recorded(c))
            await c.close()
        return found

    statement, commit = asyncio.run(main())
    assert statement[:2] == ["begin", "put statement=1"] and statement[-1] == "abort"
    assert commit[:2] == ["begin", "put commit=1"] and commit[-1] in ("commit!", "abort")
    assert set(outcomes(tracer.folder)) <= {"aborted", "unknown"}


def test_asyncpg_in_all_its_ways(dsn: str, tracer: Tracer) -> None:
    async def main() -> list[str]:
        async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool, pool.acquire() as inner:
            c = trace_connection(inner, tracer, NUMBERED)
            await c.executemany(APUT, [("x", 1), ("y", 2)])
            block = c.transaction(isolation="serializable")
            await block.start()
            assert await c.fetch("SELECT k, v FROM kv ORDER BY k") == [("x", 1), ("y", 2)]
            assert await c.fetchrow(AGET, "x") == (1,) and await c.fetchrow(AGET, "z") is None
            assert await c.fetchval("UPDATE kv SET v = v + 1 WHERE k = $1 RETURNING v", "x") == 2
            assert await c.execute("DELETE FROM kv WHERE k = $1", "y") == "DELETE 1"
            assert await c.fetch(ASET, 1, "nowhere") == []
            assert await c.fetchval(f"{APUT} RETURNING k", "w", 3) == "w"
            await block.commit()
            for refused in (
                lambda: c.cursor(AGET, "x"),
                lambda: c.prepare(AGET),
                lambda: c.copy_to_table("kv"),
            ):
                with pytest.raises(UsageError, match="cannot be recorded"):
                    refused()
            return recorded(c)

    assert asyncio.run(main())[6:] == [
        *("begin", "scan [['x', 1], ['y', 2]]", "get x=1", "get z=absent", "put x=2", "delete y=True"),
        *("get nowhere=absent", "put w=3", "commit"),
    ]
    assert outcomes(tracer.folder) == ["committed"] * 3


def test_a_statement_that_was_cancelled(dsn: str, tracer: Tracer) -> None:
    """Whether it happened is not known, so it is not committed."""

    async def main() -> list[str]:
        c, _, write = await asyncpg_client(dsn, tracer, "a")
        with pytest.raises(RecordingFailed, match="TimeoutError"):
            async with c.transaction():
                await write("x", 1)
                with pytest.raises(TimeoutError):
                    await c.execute("SELECT pg_sleep($1)", 5, timeout=0.05)
        await c.close()
        return recorded(c)

    assert asyncio.run(main()) == ["begin", "put x=1", "abort"]
    assert outcomes(tracer.folder) == ["aborted"]


def test_a_setting_that_fails_dooms_the_transaction(dsn: str, tracer: Tracer) -> None:
    """PostgreSQL answers the COMMIT that follows with ROLLBACK, and asyncpg does not tell."""

    async def main() -> list[str]:
        c, _, write = await asyncpg_client(dsn, tracer, "a")
        async with c.transaction():
            await write("x", 1)
            with pytest.raises(asyncpg.PostgresError):
                await c.execute("SET nonsense = 1")
        assert await c.fetchrow(AGET, "x") is None
        await c.close()
        return recorded(c)

    assert asyncio.run(main())[:3] == ["begin", "put x=1", "abort"]
    assert outcomes(tracer.folder) == ["aborted", "committed"]


# --- the server itself


def test_a_server_that_is_killed(tmp_path: Path) -> None:
    """Clients go on when it is back. What it had confirmed is there; what it had not, nobody knows."""
    tracer = Tracer(tmp_path / "trace")
    over = threading.Event()
    progress = [0] * 3

    def client(n: int) -> None:
        names = itertools.count()
        while not over.is_set():
            try:
                inner = psycopg.connect(running.dsn)
            except psycopg.OperationalError:
                time.sleep(0.05)
                continue
            inner.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            c = trace_connection(inner, tracer, STATEMENTS, session=f"c{n}-{next(names)}")
            try:
                while not over.is_set():
                    key, other = f"k{progress[n] % 5}", f"k{(progress[n] + n) % 5}"
                    refused = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
                    with suppress(*refused), c.transaction():
                        c.execute(GET, (other,))
                        c.execute(PUT, (key, 3 * progress[n] + n))
                    progress[n] += 1
            except psycopg.OperationalError:
                pass
            finally:
                c.close()

    def wait_for(more: int) -> None:
        goal = [count + more for count in progress]
        end = time.monotonic() + 30
        while any(count < wanted for count, wanted in zip(progress, goal, strict=True)):
            assert time.monotonic() < end, "the clients do not get on"
            time.sleep(0.01)

    with started("postgres") as running:
        with psycopg.connect(running.dsn) as c:
            c.execute('CREATE TABLE kv (k TEXT COLLATE "C" PRIMARY KEY, v INTEGER)')
        threads = [threading.Thread(target=client, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                wait_for(20)
                running.kill()
                running.start()
            wait_for(20)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        inner = psycopg.connect(running.dsn)
        inner.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        with trace_connection(inner, tracer, STATEMENTS, session="last") as c:
            c.execute("SELECT k, v FROM kv ORDER BY k")
    ends = outcomes(tracer.folder, "ser")
    assert ends.count("committed") > 60
    assert len(read_trace(tracer.folder).sessions) >= 9

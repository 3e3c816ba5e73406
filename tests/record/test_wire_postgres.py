"""The proxy of PostgreSQL's protocol with Python's clients: what it writes is what the Python recorder writes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.recorded_sql import started
from support.wire import (
    PROGRAM,
    prepare,
    proxied,
    reference,
    run_with_psycopg,
    told,
    unknown_ahead,
    with_literals,
)

from boomslang import check, read_trace
from boomslang.databases.servers import start_server
from boomslang.record.wire.postgres.messages import message
from boomslang.trace import Outcome


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


def through(server: Any, port: int) -> str:
    return str(server.dsn).replace(f":{server.port}/", f":{port}/")


def address(server: Any) -> str:
    return f"postgres://127.0.0.1:{server.port}"


@pytest.mark.parametrize("how", ["extended", "prepared", "binary", "literals"])
def test_every_statement_as_the_python_recorder_has_it(server: Any, tmp_path: Path, how: str) -> None:
    program = PROGRAM
    if how == "literals":
        program = [{**one, "sql": with_literals(one), "args": []} for one in PROGRAM]
    expected = reference(server.dsn, tmp_path / "python", PROGRAM, literals=how == "literals")
    prepare(server.dsn)
    with proxied(address(server), tmp_path / "wire") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as connection:
            options: dict[str, Any] = {"prepare": how == "prepared"} if how != "literals" else {}
            if how == "binary":
                options = {"binary": True}
            run_with_psycopg(connection, program, **options)
        assert not wrong
    assert told(tmp_path / "wire") == expected
    assert len(expected) > 150
    assert not read_trace(tmp_path / "wire").warnings
    assert unknown_ahead(tmp_path / "wire") == 0


def test_asyncpg(server: Any, tmp_path: Path) -> None:
    """It prepares each statement, asks for the types, and sends and reads binary."""
    asyncpg = pytest.importorskip("asyncpg")
    expected = reference(server.dsn, tmp_path / "python", PROGRAM)
    prepare(server.dsn)

    async def work(port: int) -> None:
        connection = await asyncpg.connect(through(server, port))
        for one in PROGRAM:
            try:
                await connection.fetch(one["sql"], *one["args"])
            except asyncpg.PostgresError:
                assert one["fails"], one
        await connection.close()

    with proxied(address(server), tmp_path / "wire") as (port, wrong):
        asyncio.run(work(port))
        assert not wrong
    assert told(tmp_path / "wire") == expected


def test_psql(server: Any, tmp_path: Path) -> None:
    psql = server.program.binary.with_name("psql")
    if not psql.exists():
        pytest.skip("no psql beside the server")
    expected = reference(server.dsn, tmp_path / "python", PROGRAM, literals=True)
    prepare(server.dsn)
    script = "".join(f"{with_literals(one)};\n" for one in PROGRAM)
    with proxied(address(server), tmp_path / "wire") as (port, wrong):
        subprocess.run(
            [psql, "-X", "-q", through(server, port)], input=script, text=True, capture_output=True, check=True,
            env=server.environment(),
        )  # fmt: skip
        assert not wrong
    assert told(tmp_path / "wire") == expected


def records(folder: Path) -> list[str]:
    """Operations in short, of all sessions: "put t[1].n=5", "commit!" of an unknown end."""
    found = []
    for record in told(folder):
        value = record.get("value", record.get("items", ""))
        failed = "!" if record.get("error") else ""
        found.append(
            f"{record['op']}{failed} {record.get('key', record.get('table', ''))}={value}".rstrip("= ")
        )
    return [one for one in found if "items[" not in one and "orders[" not in one]


@pytest.fixture
def cells(server: Any) -> str:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for name in ("cells", "items", "orders", "noted", "later"):
            connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
        connection.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
    return "cells"


def ops(folder: Path) -> list[str]:
    return [one for one in records(folder) if not one.startswith(("begin", "commit"))]


def test_a_pipeline_is_one_transaction(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            with c.pipeline():
                for n in range(3):
                    c.execute("INSERT INTO cells VALUES (%s, %s)", (n, n * 10))
            with c.pipeline() as pipeline:
                c.execute("UPDATE cells SET n = 7 WHERE id = 1")
                pipeline.sync()
                c.execute("SELECT n FROM cells WHERE id = 1")
        assert not wrong
    assert records(tmp_path / "t") == [
        "begin", "put cells[0]=True", "put cells[0].n=0", "put cells[1]=True", "put cells[1].n=10",
        "put cells[2]=True", "put cells[2].n=20", "commit",
        "begin", "get cells[1]=True", "put cells[1].n=7", "commit",
        "begin", "get cells[1]=True", "get cells[1].n=7", "commit",
    ]  # fmt: skip
    assert unknown_ahead(tmp_path / "t") == 0


def test_an_error_in_a_pipeline_undoes_it_and_skips_the_rest(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            with pytest.raises(psycopg.errors.DivisionByZero), c.pipeline():
                c.execute("INSERT INTO cells VALUES (1, 1)")
                c.execute("INSERT INTO cells VALUES (2, 1 / 0)")
                c.execute("INSERT INTO cells VALUES (3, 1)")
            with pytest.raises(psycopg.errors.DivisionByZero), c.pipeline():
                c.execute("BEGIN")
                c.execute("INSERT INTO cells VALUES (4, 1)")
                c.execute("SELECT 1 / 0")
                c.execute("COMMIT")
            c.execute("ROLLBACK")
            assert c.execute("SELECT id FROM cells").fetchall() == []
        assert not wrong
    assert records(tmp_path / "t") == [
        "begin", "put cells[1]=True", "put cells[1].n=1", "put!", "abort",
        "begin", "put cells[4]=True", "put cells[4].n=1", "abort",
        "begin", "select cells=[]", "commit",
    ]  # fmt: skip


def test_a_text_of_several_statements(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            c.execute("INSERT INTO cells VALUES (1, 1); /* ; */ UPDATE cells SET n = 2 WHERE id = 1 -- ;")
            c.execute("BEGIN; UPDATE cells SET n = 3 WHERE id = 1; COMMIT; SELECT n FROM cells WHERE id = 1")
            c.execute("UPDATE cells SET n = 4 WHERE id = 1; BEGIN; UPDATE cells SET n = 5 WHERE id = 1")
            c.execute("ROLLBACK")
            with pytest.raises(psycopg.errors.UniqueViolation):
                c.execute("UPDATE cells SET n = 6 WHERE id = 1; INSERT INTO cells VALUES (1, 1); SELECT 1")
        assert not wrong
    assert [one for one in records(tmp_path / "t") if not one.startswith("get cells[1]=")] == [
        "begin", "put cells[1]=True", "put cells[1].n=1", "put cells[1].n=2", "commit",
        "begin", "put cells[1].n=3", "commit",
        "begin", "get cells[1].n=3", "commit",
        "begin", "put cells[1].n=4", "put cells[1].n=5", "abort",
        "begin", "put cells[1].n=6", "put!", "abort",
    ]  # fmt: skip


def test_rows_in_pieces(server: Any, cells: str, tmp_path: Path) -> None:
    """A portal that is fetched to its end is a read like any other; one with statements in between is left out."""
    asyncpg = pytest.importorskip("asyncpg")

    async def work(port: int) -> None:
        c = await asyncpg.connect(through(server, port))
        await c.execute("INSERT INTO cells SELECT 1, 1 UNION SELECT 2, 2 UNION SELECT 3, 3")
        async with c.transaction():
            assert len([row async for row in c.cursor("SELECT id FROM cells", prefetch=1)]) == 3
        async with c.transaction():
            async for row in c.cursor("SELECT id, n FROM cells ORDER BY id", prefetch=1):
                await c.execute("UPDATE cells SET n = $1 WHERE id = $2", row["n"] + 10, row["id"])
        await c.close()

    with proxied(address(server), tmp_path / "t") as (port, wrong):
        asyncio.run(work(port))
        assert not wrong
    found = records(tmp_path / "t")
    assert sum(one.startswith("select") for one in found) == 1
    assert [one for one in found if one.startswith("put cells")] == [
        f"put cells[{n}].n={n + 10}" for n in (1, 2, 3)
    ]
    verdict = check(read_trace(tmp_path / "t"), "ser")
    assert verdict.valid or verdict.unknown


def test_copy_taints(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            with c.cursor().copy("COPY cells FROM STDIN") as copy:
                for n in range(5000):
                    copy.write_row((n, n))
            with c.cursor().copy("COPY cells TO STDOUT") as copy:
                assert len(list(copy.rows())) == 5000
            with (
                pytest.raises(psycopg.errors.UniqueViolation),
                c.cursor().copy("COPY cells FROM STDIN") as copy,
            ):
                copy.write_row((1, 1))
            assert c.execute("SELECT n FROM cells WHERE id = 17").fetchall() == [(17,)]
        assert not wrong
    trace = read_trace(tmp_path / "t")
    assert trace.coverage is not None and "cells" in trace.coverage.tainted
    assert check(trace, "ser").status != "invalid"


def test_a_cancel_request_is_forwarded(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            threading.Timer(0.3, c.cancel_safe).start()
            with pytest.raises(psycopg.errors.QueryCanceled):
                c.execute("SELECT pg_sleep(30)")
            c.execute("INSERT INTO cells VALUES (1, 1)")
        assert not wrong
    assert "put cells[1].n=1" in records(tmp_path / "t")


def test_a_function_call(server: Any, cells: str, tmp_path: Path) -> None:
    """libpq's PQfn, by hand: it may do anything, so everything is tainted."""
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            c.execute("SELECT 1")
            sock = socket.socket(fileno=os.dup(c.fileno()))
            sock.setblocking(True)
            body = struct.pack("!ihhhi4sh", 1397, 1, 1, 1, 4, struct.pack("!i", -5), 1)  # int4abs
            sock.sendall(message(b"F", body))
            found = b""
            while not found.endswith(b"I"):
                found += sock.recv(1000)
            assert found[:1] == b"V" and found[9:13] == struct.pack("!i", 5)
            sock.close()
        assert not wrong
    trace = read_trace(tmp_path / "t")
    assert trace.coverage is not None and "*" in trace.coverage.tainted


def test_notices_and_notifications_in_between(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            said: list[str] = []
            c.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
            c.execute("LISTEN here")
            c.execute("NOTIFY here, 'hello'")
            c.execute("SET TimeZone = 'Asia/Tokyo'")
            c.execute("ROLLBACK")  # a warning: there is none
            c.execute("INSERT INTO cells VALUES (1, 1)")
            assert [note.payload for note in c.notifies(timeout=5, stop_after=1)] == ["hello"]
            assert len(said) == 1
        assert not wrong
    assert ops(tmp_path / "t") == ["put cells[1]=True", "put cells[1].n=1"]


def test_passwords_are_not_written_down(server: Any, cells: str, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            c.execute("DROP ROLE IF EXISTS somebody")
            c.execute("CREATE ROLE somebody LOGIN PASSWORD 'hush hush'")
            c.execute("ALTER ROLE somebody WITH ENCRYPTED PASSWORD 'hush again'")
        with psycopg.connect(
            f"postgresql://somebody:hush%20again@127.0.0.1:{port}/postgres", autocommit=True
        ) as c:
            c.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"postgresql://somebody:wrong@127.0.0.1:{port}/postgres")
        assert not wrong
    written = "".join(path.read_text() for path in (tmp_path / "t").iterdir())
    assert "hush" not in written and server.password not in written and "ROLE somebody" in written


def test_commit_and_chain_and_prepared_transactions(server: Any, cells: str, tmp_path: Path) -> None:
    """Ends that are not spelled as usual are known by what the server answers."""
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with psycopg.connect(through(server, port), autocommit=True) as c:
            c.execute("/* from here */ BEGIN /* on */")
            c.execute("INSERT INTO cells VALUES (1, 1)")
            c.execute("COMMIT AND CHAIN")
            c.execute("INSERT INTO cells VALUES (2, 1)")
            c.execute("ROLLBACK AND CHAIN")
            c.execute("INSERT INTO cells VALUES (3, 1)")
            c.execute("COMMIT /* done */")
        assert not wrong
    outcomes = [Outcome(o).name.lower() for o in read_trace(tmp_path / "t").txn_outcome]
    assert outcomes == ["committed", "unknown", "committed"]


def slow_commits(dsn: str) -> None:
    """Each commit of an insert takes a while: a trigger that is deferred to it sleeps."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON cells DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION dawdle()"
        )


def end(dsn: str, pid: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchall():
            pass


def test_a_lost_connection(server: Any, cells: str, tmp_path: Path) -> None:
    """What was not sent to be committed is aborted; what was is unknown."""
    slow_commits(server.dsn)
    with proxied(address(server), tmp_path / "t") as (port, _):
        for commits in (False, True):
            c = psycopg.connect(through(server, port), autocommit=True)
            pid = c.info.backend_pid
            c.execute("BEGIN")
            c.execute("INSERT INTO cells VALUES (1, 1)")
            if commits:
                threading.Timer(0.3, end, (server.dsn, pid)).start()
            else:
                end(server.dsn, pid)
            with pytest.raises(psycopg.OperationalError):
                c.execute("COMMIT" if commits else "SELECT 1")
            c.close()
    outcomes = [Outcome(o).name.lower() for o in read_trace(tmp_path / "t").txn_outcome]
    assert outcomes == ["aborted", "unknown"]


def test_a_lost_connection_in_a_pipeline(server: Any, cells: str, tmp_path: Path) -> None:
    """The commit was sent before the answers were there."""
    slow_commits(server.dsn)
    with proxied(address(server), tmp_path / "t") as (port, _):
        c = psycopg.connect(through(server, port), autocommit=True)
        threading.Timer(0.3, end, (server.dsn, c.info.backend_pid)).start()
        with pytest.raises(psycopg.OperationalError), c.pipeline():
            c.execute("BEGIN")
            c.execute("INSERT INTO cells VALUES (1, 1)")
            c.execute("COMMIT")
        c.close()
    trace = read_trace(tmp_path / "t")
    assert "unknown" in [Outcome(o).name.lower() for o in trace.txn_outcome]
    assert trace.coverage is not None and trace.coverage.tainted


def test_what_cannot_be_forwarded_is_said(server: Any, tmp_path: Path) -> None:
    with proxied(address(server), tmp_path / "t") as (port, wrong):
        with pytest.raises(psycopg.OperationalError, match="server does not support SSL"):
            psycopg.connect(through(server, port) + "?sslmode=require")
        with pytest.raises(psycopg.OperationalError, match="replication, which is not recorded"):
            psycopg.connect(through(server, port) + "?replication=database")
    assert len(wrong) == 1
    with proxied("postgres://127.0.0.1:1", tmp_path / "nobody") as (port, wrong):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(through(server, port))
        assert "cannot reach the server" in wrong[0]


@pytest.fixture
def tls_server() -> Iterator[Any]:
    """With a certificate of its own. Not every PostgreSQL is built to have one."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not systems:
        pytest.skip("no PostgreSQL of the system's: pip's speaks no TLS")
    with start_server("postgres", binaries=systems[-1].parent) as running:
        key, certificate = running.data / "server.key", running.data / "server.crt"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )  # fmt: skip
        owner = running.data.stat()
        for path in (key, certificate):
            os.chown(path, owner.st_uid, owner.st_gid)
            path.chmod(0o600)
        with psycopg.connect(running.dsn, autocommit=True) as c:
            c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
            c.execute("ALTER SYSTEM SET ssl = on")
            c.execute("SELECT pg_reload_conf()")
        while True:
            with psycopg.connect(running.dsn, autocommit=True) as c:
                if c.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone() == (
                    True,
                ):
                    break
        yield running


@pytest.mark.full
def test_tls_towards_the_server(tls_server: Any, tmp_path: Path) -> None:
    """SCRAM with channel binding, which the server offers then, is not for a client that speaks no TLS."""
    server = tls_server
    roots = tmp_path / "roots.crt"
    roots.write_bytes((server.data / "server.crt").read_bytes())
    for mode in ("require", f"verify-full&sslrootcert={roots}"):
        folder = tmp_path / mode[:7]
        with proxied(f"{address(server)}?sslmode={mode}", folder) as (port, wrong):
            with psycopg.connect(through(server, port), autocommit=True) as c:
                found = c.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
                assert found == (True,)
                c.execute("INSERT INTO cells VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = 1")
            assert not wrong
        assert any("cells[1]" in one for one in records(folder))
    with proxied(f"{address(server)}?sslmode=verify-full", tmp_path / "untrusted") as (port, wrong):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(through(server, port))
        assert "no TLS with the server" in wrong[0]

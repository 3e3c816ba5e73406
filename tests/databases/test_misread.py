"""No statement is misread: what one client sends after the other is strictly serializable, by every recorder's word."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from support.misreadable import CASES, Case
from support.recorded_sql import address, started
from support.wire import proxied

from boomslang import Tracer, check, read_trace
from boomslang.record import trace_connection
from boomslang.record.wire.proxy import Address

Open = Callable[[], Any]
CLEAN = {
    "postgres": ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public"],
    "mariadb": ["DROP DATABASE misread", "CREATE DATABASE misread", "USE misread"],
}


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    with started("postgres") as postgres, started("mariadb") as mariadb:
        with pytest.importorskip("pymysql").connect(**address(mariadb.dsn), autocommit=True) as connection:
            connection.cursor().execute("CREATE DATABASE misread")
        yield {"postgres": postgres.dsn, "mariadb": mariadb.dsn.rpartition("/")[0] + "/misread"}


def opening(kind: str, urls: dict[str, str], tmp_path: Path) -> tuple[Open, tuple[type[BaseException], ...]]:
    """How to connect, in autocommit mode, and what may go wrong."""
    if kind == "sqlite":
        file = tmp_path / "misread.db"
        return lambda: sqlite3.connect(file, isolation_level=None), (sqlite3.Error, OverflowError)
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        shared = duckdb.connect(str(tmp_path / "misread.duckdb"))
        return shared.cursor, (duckdb.Error,)
    if kind == "postgres":
        psycopg = pytest.importorskip("psycopg")
        return lambda: psycopg.connect(urls[kind], autocommit=True), (psycopg.Error,)
    pymysql = pytest.importorskip("pymysql")
    return lambda: pymysql.connect(**address(urls[kind]), autocommit=True), (pymysql.Error,)


def prepared(kind: str, connection: Any, case: Case) -> None:
    cursor = connection.cursor() if kind != "duckdb" else connection
    for text in (*CLEAN.get(kind, ["PRAGMA foreign_keys = ON"] if kind == "sqlite" else []), *case.setup):
        cursor.execute(text)


def send(connection: Any, statement: Any, errors: tuple[type[BaseException], ...]) -> None:
    text, *given = (statement,) if isinstance(statement, str) else statement
    with suppress(*errors):
        cursor = connection.cursor()
        cursor.execute(text.removeprefix("b:"), *given)
        if cursor.description:
            cursor.fetchall()
        cursor.close()


def play(case: Case, clients: list[Any], errors: tuple[type[BaseException], ...]) -> None:
    for statement in case.statements:
        text = statement if isinstance(statement, str) else statement[0]
        send(clients[text.startswith("b:")], statement, errors)
    for client in clients:
        client.close()


def judge(folder: Path, *, silent: bool) -> None:
    trace = read_trace(folder)
    verdict = check(trace, level="strict serializable")
    assert verdict.valid, verdict
    assert trace.coverage is not None
    assert silent == (trace.coverage.reads_told == 0), verdict.notes


def named(*kinds: str) -> list[Any]:
    return [
        pytest.param(kind, case, id=f"{kind}: {case.name}")
        for kind in kinds
        for case in CASES
        if kind in case.on()
    ]


@pytest.mark.parametrize(("kind", "case"), named("sqlite", "duckdb", "postgres", "mariadb"))
def test_by_a_recorder(kind: str, case: Case, urls: dict[str, str], tmp_path: Path) -> None:
    connect, errors = opening(kind, urls, tmp_path)
    tracer = Tracer(tmp_path / "trace")
    first = connect()
    prepared(kind, first, case)
    play(case, [trace_connection(first, tracer), trace_connection(connect(), tracer)], errors)
    judge(tracer.folder, silent=case.silent)


@contextmanager
def through_a_proxy(kind: str, url: str, folder: Path) -> Iterator[Open]:
    """Connections that go through it; nothing may go wrong there."""
    scheme, _, rest = url.partition("://")
    host = rest.rpartition("@")[2].partition("/")[0]
    server = Address.parse(f"{'postgres' if kind == 'postgres' else 'mysql'}://{host}")
    with proxied(server, folder) as (port, wrong):
        there = f"{scheme}://{rest.replace(host, f'127.0.0.1:{port}', 1)}"
        yield opening(kind, {kind: there}, folder)[0]
    assert wrong == []


@pytest.mark.full
@pytest.mark.parametrize(("kind", "case"), named("postgres", "mariadb"))
def test_by_the_proxy(kind: str, case: Case, urls: dict[str, str], tmp_path: Path) -> None:
    connect, errors = opening(kind, urls, tmp_path)
    with connect() as plain:
        prepared(kind, plain, case)
    with through_a_proxy(kind, urls[kind], tmp_path / "trace") as through:
        play(case, [through(), through()], errors)
    judge(tmp_path / "trace", silent=case.silent if case.on_the_wire is None else case.on_the_wire)

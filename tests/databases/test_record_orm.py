"""Applications that nobody here wrote the SQL of, on SQLite, PostgreSQL and MariaDB: recorded by one line, valid where
the database promises it, and the anomaly found and named where it does not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("sqlglot")
sqlalchemy = pytest.importorskip("sqlalchemy")
pytest.importorskip("django")

from sqlalchemy import select  # noqa: E402
from sqlalchemy.orm import Session  # noqa: E402
from support.commands import environment  # noqa: E402
from support.paths import ROOT  # noqa: E402
from support.random_sql import SCHEMAS, TABLES, play  # noqa: E402
from support.recorded_sql import address, started  # noqa: E402
from support.replays import replayed, written  # noqa: E402
from support.seen_by_application import SCHEMA, seen  # noqa: E402
from support.sqlalchemy_shop import (  # noqa: E402
    Doctor,
    Item,
    clear,
    engine_of,
    furnish,
    run,
    two_at_a_time,
)

from boomslang import Tracer, check, read_trace  # noqa: E402
from boomslang.cli.main import main  # noqa: E402
from boomslang.record import trace_connection, trace_engine  # noqa: E402
from boomslang.trace import Outcome  # noqa: E402

RC, RR, SER = "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"
PROMISES = {
    ("postgres", RC): "rc",
    ("postgres", RR): "si",
    ("postgres", SER): "ser",
    ("mariadb", RC): "rc",
    ("mariadb", RR): "rc",
    ("mariadb", SER): "ser",
    ("sqlite", SER): "sser",
}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Any]]:
    with started("postgres") as postgres, started("mariadb") as mariadb:
        yield {"postgres": postgres, "mariadb": mariadb}


@pytest.fixture
def urls(servers: dict[str, Any], tmp_path: Path) -> dict[str, str]:
    return {
        "postgres": servers["postgres"].dsn,
        "mariadb": servers["mariadb"].dsn.replace("mariadb:", "mysql:", 1),
        "sqlite": f"sqlite:///{tmp_path}/shop.db",
    }


def for_sqlalchemy(url: str) -> str:
    return url.replace("postgresql:", "postgresql+psycopg:", 1).replace("mysql:", "mysql+pymysql:", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "trace"


def opened(url: str, level: str, folder: Path) -> Any:
    """The shop's engine, recorded, and its tables."""
    clear(for_sqlalchemy(url))
    engine = engine_of(for_sqlalchemy(url), level)
    trace_engine(engine, Tracer(folder))
    furnish(engine)
    return engine


def some(cases: Iterable[tuple[Any, ...]], *quick: int) -> list[Any]:
    """Those at these places; the others are for `make test-full`."""
    return [pytest.param(*case, marks=() if n in quick else pytest.mark.full) for n, case in enumerate(cases)]


@pytest.mark.parametrize(("kind", "level"), some(PROMISES, 2, 3, 6))
def test_sqlalchemy_keeps_what_the_database_promises(
    urls: dict[str, str], folder: Path, kind: str, level: str
) -> None:
    engine = opened(urls[kind], level, folder)
    assert run(engine, clients=3, each=25)
    engine.dispose()
    trace = read_trace(folder)
    verdict = check(trace, level=PROMISES[kind, level])
    assert verdict.valid, verdict
    if (kind, level) == ("mariadb", RR):
        assert check(trace, level="si", modules=["mariadb-repeatable-read"]).valid
    assert trace.coverage is not None
    executed, out, _ = trace.coverage.writes
    assert executed and not out


@pytest.mark.parametrize(("kind", "level"), some(PROMISES, 1, 6))
def test_django_keeps_what_the_database_promises(
    urls: dict[str, str], folder: Path, kind: str, level: str
) -> None:
    django(urls[kind], level, folder, "3", "20")
    trace = read_trace(folder)
    verdict = check(trace, level=PROMISES[kind, level])
    assert verdict.valid, verdict
    if (kind, level) == ("mariadb", RR):
        assert check(trace, level="si", modules=["mariadb-repeatable-read"]).valid
    assert trace.coverage is not None
    executed, out, _ = trace.coverage.writes
    assert executed and not out


def django(url: str, level: str, folder: Path, *words: str, seconds: float = 300) -> None:
    """Django is one to a process."""
    made = {**environment(), "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-m", "support.django_shop", url, level, str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=made, timeout=seconds)
    assert done.returncode == 0, done.stderr


def go_home_together(engine: Any) -> int:
    """Three doctors are on call; two clients send all of them home, each leaving somebody, as far as it knows."""

    def look(session: Session) -> Any:
        return [d.name for d in session.scalars(select(Doctor).where(Doctor.on_call).order_by(Doctor.name))]

    def leave(session: Session, told: Any) -> None:
        number, on_call = told
        for name in on_call[:1] if number == 0 else on_call[1:]:
            session.get_one(Doctor, name).on_call = False

    return two_at_a_time(engine, look, leave)


def sell_together(engine: Any) -> int:
    def look(session: Session) -> Any:
        # Held: what nobody holds the session forgets, and looks at again, perhaps after the other has sold.
        session.info["item"] = session.get_one(Item, 1)
        return session.info["item"].stock

    def sell(session: Session, told: Any) -> None:
        number, stock = told
        session.get_one(Item, 1).stock = stock - 1 - number

    return two_at_a_time(engine, look, sell)


ANOMALIES = [
    ("postgres", RC, sell_together, "si", "lost update"),
    ("postgres", RR, go_home_together, "ser", None),
    ("mariadb", RC, sell_together, "si", "lost update"),
    ("mariadb", RC, go_home_together, "ser", None),
]


@pytest.mark.parametrize(("kind", "level", "script", "broken", "name"), some(ANOMALIES, 1, 2))
def test_anomalies_that_sqlalchemy_meets_are_found_named_and_replayed(
    urls: dict[str, str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    level: str,
    script: Any,
    broken: str,
    name: str | None,
) -> None:
    engine = opened(urls[kind], level, folder)
    assert script(engine) == 2
    engine.dispose()
    trace = read_trace(folder)
    verdict = check(trace, level=broken)
    assert verdict.invalid and verdict.counterexample is not None
    if name is not None:
        assert verdict.counterexample.anomaly.name == name
    assert check(trace, level=PROMISES[kind, level]).valid
    assert main(["advise", str(folder), "--level", broken]) == 1
    advice = capsys.readouterr().out
    assert (
        f"at {level.lower()}" in advice
        and "UPDATE" in advice
        and (name is None or f"1 x {name}: A with A" in advice)
    )
    it_happens_again(urls[kind], folder, capsys, broken, level)


def it_happens_again(
    url: str, folder: Path, capsys: pytest.CaptureFixture[str], broken: str, level: str
) -> None:
    """At the level at which it was recorded, and not at serializable."""
    program = written(folder, folder.parent / "replay.py", capsys, "--level", broken)
    code, said = replayed(program, url)
    assert code == 254 and "exist" in said, "tables that are there are nobody's to replace"
    clear(for_sqlalchemy(url))
    code, said = replayed(program, url)
    assert code == 1 and f"at {level.lower()}" in said and "HAPPENED AGAIN" in said, said
    code, said = replayed(program, url, "--level", "serializable")
    assert code == 0 and "was refused" in said, said


@pytest.mark.parametrize(
    ("kind", "level", "script", "broken"),
    some(
        [
            ("postgres", RC, "last item", "si"),
            ("postgres", RR, "last doctor", "ser"),
            ("mariadb", RC, "last item", "si"),
            ("mariadb", RC, "last doctor", "ser"),
        ],
        0,
    ),
)
def test_anomalies_that_django_meets_are_found_and_replayed(
    urls: dict[str, str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    level: str,
    script: str,
    broken: str,
) -> None:
    django(urls[kind], level, folder, "2", "1", script)
    trace = read_trace(folder)
    assert check(trace, level=broken).invalid
    assert check(trace, level=PROMISES[kind, level]).valid
    if kind == "postgres":  # Django's tables begin with its name, and are left there
        program = written(folder, folder.parent / "replay.py", capsys, "--level", broken)
        code, said = replayed(program, other_database(urls[kind]))
        assert code == 1, said


def other_database(url: str) -> str:
    """An empty one, on the same server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS scratch")
        connection.execute("CREATE DATABASE scratch")
    return urlsplit(url)._replace(path="/scratch").geturl()


@pytest.mark.parametrize("script", [sell_together, go_home_together])
def test_serializable_lets_none_of_them_happen(urls: dict[str, str], folder: Path, script: Any) -> None:
    engine = opened(urls["postgres"], SER, folder)
    assert script(engine) < 2
    engine.dispose()
    assert check(read_trace(folder), level="ser").valid


SEEDS = [1, 6, *(pytest.param(seed, marks=pytest.mark.full) for seed in (*range(2, 6), *range(7, 40)))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_random_statements_of_one_client_break_nothing(
    urls: dict[str, str], folder: Path, kind: str, seed: int
) -> None:
    dialect = "mysql" if kind == "mariadb" else kind
    errors: tuple[type[BaseException], ...]
    if kind == "postgres":
        psycopg = pytest.importorskip("psycopg")
        connection, errors = psycopg.connect(urls[kind], autocommit=True), (psycopg.Error,)
    else:
        pymysql = pytest.importorskip("pymysql")
        flag = pymysql.constants.CLIENT.FOUND_ROWS if seed % 2 else 0
        connection = pymysql.connect(**address(urls[kind]), autocommit=True, client_flag=flag)
        errors = (pymysql.Error,)
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}{' CASCADE' if kind == 'postgres' else ''}")
    if kind == "postgres":
        cursor.execute("DROP FUNCTION IF EXISTS copied")
    for text in SCHEMAS[dialect]:
        cursor.execute(text)
    cursor.execute("INSERT INTO things (name, n) VALUES ('first', 1)")
    cursor.close()
    initial, adds = "unknown" if seed % 3 == 0 else "empty", seed % 4 > 1
    recorded = trace_connection(connection, Tracer(folder, initial=initial, add_returning=adds))
    play(recorded, dialect, seed, 50, errors, wild=adds and seed % 8 > 3)
    recorded.close()
    verdict = check(read_trace(folder), level="strict serializable")
    assert verdict.valid, verdict


@contextmanager
def cutting(url: str) -> Iterator[None]:
    """Every two seconds a connection is cut, in the middle of its transaction: one of several clients, so that the one
    that makes the tables, by itself, is left alone however long that takes."""
    import psycopg

    over = threading.Event()

    def cut() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not over.wait(2):
                with suppress(psycopg.Error):
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE '%transaction' "
                        "AND pid <> pg_backend_pid() AND (SELECT count(*) FROM pg_stat_activity WHERE backend_type = "
                        "'client backend') > 3 ORDER BY random() LIMIT 1"
                    )

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        yield
    finally:
        over.set()
        cutter.join()


@pytest.mark.full
@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_ten_thousands_of_transactions_of_django_break_nothing(
    urls: dict[str, str], folder: Path, kind: str
) -> None:
    began = time.monotonic()
    with cutting(urls["postgres"]) if kind == "postgres" else nullcontext():
        clients = "8" if kind == "postgres" else "4"
        django(urls[kind], SER, folder, clients, "2500", "", "5001", seconds=1500)
    trace = read_trace(folder)
    committed = int((trace.txn_outcome == Outcome.COMMITTED).sum())
    verdict = check(trace, level=PROMISES[kind, SER], timeout=1200)
    print(f"{kind}: {committed} committed of {len(trace)} in {time.monotonic() - began:.0f} s: {verdict}")
    assert committed > 5000 and verdict.valid, verdict


@pytest.mark.full
@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_ten_thousands_of_transactions_at_serializable_break_nothing(
    urls: dict[str, str], folder: Path, kind: str
) -> None:
    """With aborts, and (PostgreSQL) connections that are cut while their transactions are under way."""
    engine = opened(urls[kind], SER, folder)
    began = time.monotonic()
    with cutting(urls["postgres"]) if kind == "postgres" else nullcontext():
        committed = run(
            engine, clients=8 if kind == "postgres" else 4, each=2500, computes=True, commits=5001
        )
    engine.dispose()
    trace = read_trace(folder)
    verdict = check(trace, level=PROMISES[kind, SER], timeout=1200)
    print(f"{kind}: {committed} committed of {len(trace)} in {time.monotonic() - began:.0f} s: {verdict}")
    assert committed > 5000 and verdict.valid, verdict


def connected(kind: str, url: str) -> Any:
    """A plain connection in autocommit mode, and the table of support/seen_by_application.py."""
    connection: Any
    if kind == "postgres":
        connection = pytest.importorskip("psycopg").connect(url, autocommit=True)
    else:
        connection = pytest.importorskip("pymysql").connect(**address(url), autocommit=True)
    cursor = connection.cursor()
    for text in ("DROP TABLE IF EXISTS goods", *SCHEMA):
        cursor.execute(text)
    cursor.close()
    return connection


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_added_returning_is_not_seen(urls: dict[str, str], folder: Path, kind: str) -> None:
    plain = connected(kind, urls[kind])
    before = seen(plain, "%s")
    plain.close()
    recorded = trace_connection(connected(kind, urls[kind]), Tracer(folder, add_returning=True))
    assert seen(recorded, "%s") == before
    recorded.close()
    trace = read_trace(folder)
    assert check(trace, level="strict serializable").valid
    assert trace.coverage is not None
    executed, out, _ = trace.coverage.writes
    # MariaDB has no RETURNING of an UPDATE: 5 of these are by an expression over rows that it does not name.
    assert (executed, out) == (14, 0 if kind == "postgres" else 5)


def test_added_returning_is_not_seen_by_asyncio(urls: dict[str, str], folder: Path) -> None:
    """psycopg's and asyncpg's own ways to ask."""
    psycopg, asyncpg = pytest.importorskip("psycopg"), pytest.importorskip("asyncpg")
    connected("postgres", urls["postgres"]).close()
    tracer = Tracer(folder, add_returning=True)
    more = "UPDATE goods SET stock = stock + 1 WHERE name <> 'none'"

    async def work() -> None:
        first = await asyncpg.connect(urls["postgres"])
        recorded = trace_connection(first, tracer, session="asyncpg")
        assert await recorded.execute(more) == "UPDATE 3"
        assert await recorded.fetch(more) == []
        assert await recorded.fetchrow(more) is None
        assert await recorded.execute("DELETE FROM goods WHERE stock > $1", 99) == "DELETE 0"
        assert await recorded.execute("SELECT id FROM goods") == "SELECT 3"
        assert await recorded.execute("UPDATE goods SET stock = 1 WHERE id = 1 RETURNING id") == "UPDATE 1"
        assert len(await recorded.fetch("UPDATE goods SET stock = 1 WHERE id = 1 RETURNING id")) == 1
        await recorded.close()
        made = await psycopg.AsyncConnection.connect(
            urls["postgres"], autocommit=True, row_factory=psycopg.rows.scalar_row
        )
        other = trace_connection(made, tracer, session="psycopg")
        cursor = await other.execute(more)
        assert (cursor.rowcount, cursor.description, cursor.statusmessage) == (3, None, "UPDATE 3")
        with pytest.raises(psycopg.ProgrammingError, match="didn't produce"):
            await cursor.fetchall()
        await cursor.execute("SELECT stock FROM goods WHERE id = 1")
        assert await cursor.fetchall() == [2]
        await other.close()

    asyncio.run(work())
    trace = read_trace(folder)
    assert check(trace, level="strict serializable").valid
    assert trace.coverage is not None and trace.coverage.writes == (7, 0, 0) and trace.coverage.untold == 0


def at_repeatable_read(url: str, tracer: Tracer, session: str) -> Any:
    pymysql = pytest.importorskip("pymysql")
    connection = pymysql.connect(**address(url), autocommit=True)
    connection.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    return trace_connection(connection, tracer, session=session)


STORIES: dict[str, tuple[tuple[str, list[Any]], ...]] = {
    "a locking select sees the newest rows": (
        ("SELECT id FROM goods WHERE stock > 6", [(3,)]),
        ("B", []),
        ("SELECT id FROM goods WHERE stock > 6 FOR UPDATE", [(1,), (2,)]),
        ("SELECT id FROM goods WHERE stock > 6", [(3,)]),
    ),
    "an UPDATE by a condition finds the newest rows": (
        ("SELECT id, stock FROM goods WHERE id = 3", [(3, 7)]),
        ("B", []),
        ("UPDATE goods SET name = 'none' WHERE id = 3 AND stock = 7", []),
        ("SELECT id FROM goods WHERE stock > 6", [(3,)]),
    ),
    "a row that was written to is the newest one": (
        ("SELECT stock FROM goods WHERE id = 3", [(7,)]),
        ("B", []),
        ("UPDATE goods SET name = 'mine' WHERE id = 1", []),
        ("SELECT stock FROM goods WHERE id = 1", [(9,)]),
        ("SELECT stock FROM goods WHERE id = 2", [(6,)]),
        ("SELECT id FROM goods WHERE stock > 8", [(1,)]),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_what_mariadb_shows_at_repeatable_read(urls: dict[str, str], folder: Path, story: str) -> None:
    """Neither is snapshot isolation; with MariaDB's module each is what it promises. B sets the stock of all rows."""
    connected("mariadb", urls["mariadb"]).close()
    tracer = Tracer(folder)
    a, b = (at_repeatable_read(urls["mariadb"], tracer, name) for name in "AB")
    cursor = a.cursor()
    cursor.execute("BEGIN")
    for text, expected in STORIES[story]:
        if text == "B":
            b.begin()
            for item, stock in ((1, 9), (2, 9), (3, 0)):
                b.cursor().execute("UPDATE goods SET stock = %s WHERE id = %s", (stock, item))
            b.commit()
            continue
        cursor.execute(text)
        assert list(cursor.fetchall()) == expected, text
    cursor.execute("COMMIT")
    a.close()
    b.close()
    trace = read_trace(folder)
    assert check(trace, level="si").invalid
    assert check(trace, level="si", modules=["mariadb-repeatable-read"]).valid

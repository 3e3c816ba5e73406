"""PostgreSQL, the real one: each anomaly that a level allows, or its refusal; and what an error means."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.random_runs import LOCKED, MIX, run
from support.server_levels import POSTGRES, RC, RR, SER
from support.servers import (
    Later,
    appends,
    connected,
    deadlock,
    is_byte_for_byte,
    iterates,
    opened,
    outcome,
    scripts,
    see,
    survives_a_crash,
)

from boomslang import check, read_trace
from boomslang.databases import Aborted, Failed, Lost, find_database
from boomslang.databases.postgres import PostgresConnection, PostgreSQL
from boomslang.errors import UsageError
from boomslang.record import Recorded, Tracer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgreSQL]:
    for database in opened("postgres"):
        assert isinstance(database, PostgreSQL)
        yield database


@pytest.fixture
def two(postgres: PostgreSQL) -> Iterator[tuple[PostgresConnection, PostgresConnection]]:
    postgres.prepare({"x": "0", "y": "0"})
    a, b = postgres.connect(), postgres.connect()
    yield a, b
    a.close()
    b.close()


@pytest.mark.parametrize(("level", "name", "expected"), scripts(POSTGRES))
def test_what_a_level_allows(
    postgres: PostgreSQL, level: str, name: str, expected: str, tmp_path: Path
) -> None:
    see(postgres, name, level, expected, tmp_path)


def test_repeatable_read_is_snapshot_isolation_and_not_serializable(
    postgres: PostgreSQL, tmp_path: Path
) -> None:
    """Unscripted: a random load finds the write skew, too."""
    for seed in range(10):
        trace, _ = run(postgres, RR, tmp_path / str(seed), seed=seed, keys=4)
        assert check(trace, "si").valid
        if check(trace, "ser").invalid:
            return
    raise AssertionError("no write skew in ten runs")


@pytest.mark.parametrize("mix", [MIX, LOCKED], ids=["mixed", "locked"])
@pytest.mark.parametrize("level", [RC, SER])
def test_a_random_run_keeps_the_promise(
    postgres: PostgreSQL, level: str, mix: dict[str, int], tmp_path: Path
) -> None:
    trace, committed = run(postgres, level, tmp_path / "t", mix=mix, transactions=40)
    assert committed > 20
    assert check(trace, postgres.level(level).promises).valid


@pytest.mark.full
@pytest.mark.parametrize("level", [RC, RR, SER])
def test_long_random_runs_keep_the_promise(postgres: PostgreSQL, level: str, tmp_path: Path) -> None:
    for seed in range(6):
        trace, _ = run(
            postgres, level, tmp_path / str(seed), seed=seed, sessions=8, transactions=200, keys=10
        )
        assert check(trace, postgres.level(level).promises).valid, seed


def test_keys_are_bytes(postgres: PostgreSQL) -> None:
    is_byte_for_byte(postgres)


def test_iterators(postgres: PostgreSQL) -> None:
    iterates(postgres)


def test_appending(postgres: PostgreSQL) -> None:
    appends(postgres)


def test_what_was_is_gone_after_prepare(postgres: PostgreSQL) -> None:
    postgres.prepare({str(i): "old" for i in range(3000)})
    postgres.prepare({"x": "new"})
    with connected(postgres) as c:
        c.begin(RC)
        assert c.scan(None, None) == [("x", "new")]


def test_another_process_connects_by_itself(postgres: PostgreSQL) -> None:
    copy = pickle.loads(pickle.dumps(postgres))
    assert copy.server is None and copy.version() == postgres.version()
    copy.close()
    assert postgres.server is not None and postgres.server.running
    assert postgres.version().startswith("PostgreSQL ")


# --- what an error means


Two = tuple[PostgresConnection, PostgresConnection]


def test_a_commit_that_is_answered_with_rollback_is_an_abort(two: Two) -> None:
    a, b = two
    a.begin(RC)
    a.put("x", "1")
    assert outcome(a.run, "SELECT 1 / 0") is Failed
    assert outcome(a.get, "x") is Failed  # "current transaction is aborted"
    assert outcome(a.commit) is Aborted
    b.begin(RC)
    assert b.get("x") == "0"
    a.begin(RC)
    assert a.get("x") == "0"


def test_a_serialization_failure_of_a_statement_is_an_abort(two: Two) -> None:
    a, b = two
    for c in two:
        c.begin(RR)
        c.get("x")
    a.put("x", "1")
    a.commit()
    b.put("y", "2")
    with pytest.raises(Aborted, match=r"^40001: "):
        b.put("x", "2")
    b.begin(RR)  # the connection is ready for more
    assert b.scan(None, None) == [("x", "1"), ("y", "0")]


def test_a_serialization_failure_of_a_commit_is_an_abort(two: Two) -> None:
    a, b = two
    for c in two:
        c.begin(SER)
        c.scan(None, None)
    a.put("x", "1")
    b.put("y", "1")
    a.commit()
    with pytest.raises(Aborted, match=r"^40001: "):
        b.commit()
    b.begin(SER)
    assert b.get("y") == "0"


def test_the_victim_of_a_deadlock_has_aborted(two: Two) -> None:
    deadlock(*two, RC)


def test_a_constraint_that_is_looked_at_last_is_an_abort(postgres: PostgreSQL, two: Two) -> None:
    a, b = two
    a.run("DROP TABLE IF EXISTS late")
    a.run("CREATE TABLE late (n INT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    a.begin(RC)
    a.put("x", "1")
    a.run("INSERT INTO late VALUES (1), (1)")
    with pytest.raises(Aborted, match=r"^23505: "):
        a.commit()
    b.begin(RC)
    assert b.get("x") == "0"


def test_a_connection_that_is_cut_is_lost(two: Two) -> None:
    a, b = two
    a.begin(RC)
    a.put("x", "1")
    b.run(f"SELECT pg_terminate_backend({a.driver.info.backend_pid})")
    assert outcome(a.get, "x") is Lost
    assert outcome(a.get, "x") is Lost
    assert outcome(a.commit) is Lost
    assert outcome(a.abort) is Lost
    assert outcome(a.begin, RC) is Lost
    a.close()
    b.begin(RC)
    assert b.get("x") == "0"


def slow_commit(c: PostgresConnection) -> None:
    """Whoever inserts into `slow` commits for a minute."""
    c.run("DROP TABLE IF EXISTS slow")
    c.run("CREATE TABLE slow (n INT)")
    c.run(
        "CREATE OR REPLACE FUNCTION wait_a_minute() RETURNS trigger AS "
        "'BEGIN PERFORM pg_sleep(60); RETURN NULL; END' LANGUAGE plpgsql"
    )
    c.run(
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION wait_a_minute()"
    )


def committing(a: PostgresConnection, b: PostgresConnection) -> Later:
    slow_commit(b)
    a.begin(RC)
    a.put("x", "1")
    a.run("INSERT INTO slow VALUES (1)")
    late = Later(a.commit)
    end = time.monotonic() + 20
    while not b.run("SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'").fetchall():
        assert time.monotonic() < end
        time.sleep(0.01)
    return late


def test_a_connection_that_is_cut_while_it_commits_is_lost(two: Two) -> None:
    a, b = two
    late = committing(a, b)
    b.run(f"SELECT pg_terminate_backend({a.driver.info.backend_pid})")
    assert late.result() is Lost


def test_a_server_that_dies_while_it_commits_leaves_the_outcome_open(postgres: PostgreSQL, two: Two) -> None:
    a, b = two
    late = committing(a, b)
    assert postgres.server is not None
    postgres.server.kill()
    assert late.result() is Lost
    assert outcome(postgres.connect) is Lost
    postgres.server.restart()
    assert outcome(b.begin, RC) is Lost
    with connected(postgres) as c:
        c.begin(RC)
        assert c.get("x") == "0"


def test_a_value_that_cannot_be_stored_is_an_error_of_its_operation(two: Two) -> None:
    a, _ = two
    a.begin(RC)
    assert outcome(a.put, "x", "a\0b") is Failed
    assert a.get("x") == "0"
    a.commit()


def test_what_was_committed_survives_crashes(postgres: PostgreSQL, tmp_path: Path) -> None:
    survives_a_crash(postgres, tmp_path / "t")


# --- options


@pytest.mark.parametrize(
    "options",
    [
        "index=hash",
        "index=none",
        "unique=no&scan=bitmap",
        "unique=no&scan=seq",
        "index=hash&fillfactor=100&rows=wide",
    ],
)
def test_keys_that_are_not_unique(postgres: PostgreSQL, options: str, tmp_path: Path) -> None:
    """Serializable must keep two sessions from inserting a key all the same; the scripts go slowly enough for it to."""
    with find_database(f"{postgres.dsn}?{options}") as database:
        for name in ("insert if absent", "lost update", "delete lost to an update", "phantom write skew"):
            see(database, name, SER, "aborts", tmp_path / name)
        with pytest.raises(UsageError, match="not unique"):
            database.level(RR)
        database.prepare({})
        with connected(database) as c:
            c.begin(SER)
            c.put("k", "1")
            c.put("k", "2")
            c.append("k", "3")
            assert c.scan("k", "l") == [("k", "2,3")] and c.delete("k") and not c.delete("k")


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ("unique=no&scan=bitmap", "Bitmap Heap Scan"),
        ("index=hash&scan=index", "Index Scan"),
        ("scan=seq", "Seq Scan"),
    ],
)
def test_the_planner_is_left_one_way(postgres: PostgreSQL, options: str, plan: str) -> None:
    with find_database(f"{postgres.dsn}?{options}") as database:
        database.prepare({"x": "0"})
        with connected(database) as c:
            told = c.run("EXPLAIN SELECT v FROM boomslang_kv WHERE k = 'x'").fetchall()
        assert plan in str(told)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("postgres:?index=gin", "expected index= one of btree, hash, none"),
        ("postgres:?indx=hash", "found the option 'indx=hash' of PostgreSQL"),
        ("postgres:/nowhere", "found no PostgreSQL in /nowhere"),
        ("cockroachdb", "give the address of one that runs, as cockroachdb://"),
        ("yugabytedb:", "give the address"),
    ],
)
def test_what_cannot_be_is_said(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_database(spec)


def test_an_address_that_is_none_is_said() -> None:
    with find_database("postgresql://host:nonsense/?port=x") as database, pytest.raises((UsageError, Lost)):
        database.connect()


# --- those that speak its protocol: as far as that goes, without a server of theirs


@pytest.mark.parametrize("scheme", ["cockroachdb", "yugabytedb"])
def test_others_of_this_protocol(postgres: PostgreSQL, scheme: str, tmp_path: Path) -> None:
    with find_database(scheme + postgres.dsn.removeprefix("postgresql")) as database:
        assert database.name == scheme
        see(database, "write skew", SER, "aborts", tmp_path)
        trace, _ = run(database, SER, tmp_path / "t", transactions=15)
        assert check(trace, "ser").valid


def test_an_ambiguous_commit_is_unknown(postgres: PostgreSQL) -> None:
    """CockroachDB's 40003, from a trigger: "it may have happened", though it is of the class of aborts."""
    database = find_database("cockroachdb" + postgres.dsn.removeprefix("postgresql"))
    for state, expected in (("40003", Lost), ("40001", Aborted)):
        with connected(database) as c:
            c.run("DROP TABLE IF EXISTS doubtful")
            c.run("CREATE TABLE doubtful (n INT)")
            c.run(
                "CREATE OR REPLACE FUNCTION doubt() RETURNS trigger AS "
                f"'BEGIN RAISE SQLSTATE ''{state}''; END' LANGUAGE plpgsql"
            )
            c.run(
                "CREATE CONSTRAINT TRIGGER doubt AFTER INSERT ON doubtful DEFERRABLE INITIALLY DEFERRED "
                "FOR EACH ROW EXECUTE FUNCTION doubt()"
            )
            c.begin(SER)
            c.run("INSERT INTO doubtful VALUES (1)")
            assert outcome(c.commit) is expected


@pytest.mark.parametrize("operation", ["delete", "get_for_update"])
def test_read_committed_a_key_that_is_deleted_and_put_again_was_never_absent(
    postgres: PostgreSQL, operation: str, tmp_path: Path
) -> None:
    """Who waits for a row that is deleted does not see the one that takes its place."""
    postgres.prepare({"x": "0"})
    tracer = Tracer(tmp_path / "trace", initial={"x": "0"})
    with connected(postgres) as one, connected(postgres) as other:
        a, b = Recorded(one, tracer.session("a")), Recorded(other, tracer.session("b"))
        a.begin(RC)
        a.delete("x")
        a.put("x", "1")
        b.begin(RC)
        waiting = Later(getattr(b, operation), "x")
        time.sleep(0.2)
        a.commit()
        assert waiting.result() == {"delete": True, "get_for_update": "1"}[operation]
        b.commit()
    assert check(read_trace(tmp_path / "trace"), "rc").status == "valid"

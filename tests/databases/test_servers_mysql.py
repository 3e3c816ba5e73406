"""MariaDB and MySQL 5.6, the real ones: each anomaly that a level allows, or its refusal; and what an error means."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.interleavings import SCRIPTS, play, script
from support.random_runs import LOCKED, MIX, run
from support.server_levels import INNODB, RC, RR, RU, SER
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
from boomslang.databases.mysql import MySQL, MySQLConnection
from boomslang.databases.server_database import TABLE
from boomslang.databases.tidb import TiDBConnection
from boomslang.errors import UsageError
from boomslang.run import Plan
from boomslang.run import run as put_on
from boomslang.workloads import find_workload

LOCKING = "mariadb-repeatable-read"
SOME_LOCKED = {"get": 40, "scan": 20, "locked update": 40}
QUICK = {
    RU: {"dirty write", "aborted read", "intermediate read", "circular information flow"},
    RC: {
        "aborted read",
        "circular information flow",
        "non-repeatable read",
        "lost update",
        "locked update",
        "phantom",
    },
    RR: set(SCRIPTS) - {"aborted read", "intermediate read", "dirty append", "locked write skew"},
    SER: {"aborted read", "lost update", "insert if absent", "write skew", "phantom", "phantom write skew"},
}
QUICK_OLD = {
    RU: {"aborted read"},
    RC: {"aborted read", "read skew"},
    RR: {"read skew", "lost update", "read, then locking read", "phantom"},
    SER: {"lost update", "write skew"},
}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MySQL]:
    for database in opened("mariadb"):
        assert isinstance(database, MySQL)
        yield database


@pytest.fixture(scope="module")
def mysql() -> Iterator[MySQL]:
    for database in opened("mysql"):
        assert isinstance(database, MySQL)
        yield database


@pytest.fixture(params=["mariadb", "mysql"])
def either(request: pytest.FixtureRequest) -> MySQL:
    found: MySQL = request.getfixturevalue(request.param)
    return found


Two = tuple[MySQLConnection, MySQLConnection]


@pytest.fixture
def two(either: MySQL) -> Iterator[Two]:
    either.prepare({"x": "0", "y": "0"})
    a, b = either.connect(), either.connect()
    yield a, b
    a.close()
    b.close()


@pytest.mark.parametrize(("level", "name", "expected"), scripts(INNODB, QUICK))
def test_what_a_level_of_mariadb_allows(
    mariadb: MySQL, level: str, name: str, expected: str, tmp_path: Path
) -> None:
    see(mariadb, name, level, expected, tmp_path)


@pytest.mark.parametrize(("level", "name", "expected"), scripts(INNODB, QUICK_OLD))
def test_what_a_level_of_mysql_allows(
    mysql: MySQL, level: str, name: str, expected: str, tmp_path: Path
) -> None:
    see(mysql, name, level, expected, tmp_path)


def test_locking_reads_are_accepted_with_their_module_and_rejected_without(
    either: MySQL, tmp_path: Path
) -> None:
    played = see(either, "read, then locking read", RR, "happens", tmp_path)
    assert played.returned("A", "get") == ["0"] and played.returned("A", "get_for_update") == ["1"]
    for level in ("ra", "rr", "si", "ser"):
        assert not played.holds(level)
    for level in ("rr", "si"):
        assert played.holds(level, modules=[LOCKING])


def test_a_lost_update_is_what_repeatable_read_promises(either: MySQL, tmp_path: Path) -> None:
    played = see(either, "lost update", RR, "happens", tmp_path)
    assert played.outcomes == {"A": "committed", "B": "committed"}
    assert not played.holds("si") and not played.holds("rr") and not played.holds("cs")
    assert played.holds("prefix") and played.holds("si", modules=[LOCKING])


def test_a_random_load_finds_the_lost_update(mariadb: MySQL, tmp_path: Path) -> None:
    """Unscripted; and with its module the level keeps its promise."""
    for seed in range(10):
        trace, _ = run(mariadb, RR, tmp_path / str(seed), seed=seed, keys=4)
        assert check(trace, "si", modules=[LOCKING]).valid
        if check(trace, "cs").invalid:
            assert check(trace, "si").invalid
            return
    raise AssertionError("no lost update in ten runs")


@pytest.mark.parametrize("level", [RU, RC, SER])
def test_a_random_run_keeps_the_promise(mariadb: MySQL, level: str, tmp_path: Path) -> None:
    trace, committed = run(mariadb, level, tmp_path / "t", transactions=40)
    assert committed > 20
    assert check(trace, mariadb.level(level).promises).valid


def test_a_random_load_of_locking_reads_needs_their_module(either: MySQL, tmp_path: Path) -> None:
    for seed in range(10):
        trace, _ = run(either, RR, tmp_path / str(seed), seed=seed, mix=SOME_LOCKED, keys=4, transactions=40)
        assert check(trace, "si", modules=[LOCKING]).valid
        if check(trace, "si").invalid:
            return
    raise AssertionError("no locking read that saw more than the snapshot in ten runs")


def test_who_only_reads_with_locks_needs_no_module(mariadb: MySQL, tmp_path: Path) -> None:
    trace, committed = run(mariadb, RR, tmp_path / "t", mix=LOCKED, transactions=40)
    assert committed > 20 and check(trace, "ser").valid


@pytest.mark.full
@pytest.mark.parametrize("mix", [MIX, SOME_LOCKED, LOCKED], ids=["mixed", "some locked", "locked"])
@pytest.mark.parametrize("level", [RU, RC, RR, SER])
def test_long_random_runs_keep_the_promise(
    either: MySQL, level: str, mix: dict[str, int], tmp_path: Path
) -> None:
    offered = either.level(level)
    for seed in range(4):
        trace, _ = run(
            either, level, tmp_path / str(seed), seed=seed, mix=mix, sessions=8, transactions=150, keys=10
        )
        assert check(trace, offered.promises, modules=list(offered.modules)).valid, seed


def test_keys_are_bytes(either: MySQL) -> None:
    is_byte_for_byte(either)


def test_iterators(either: MySQL) -> None:
    iterates(either)


def test_appending(either: MySQL) -> None:
    appends(either)


def test_what_was_is_gone_after_prepare(mariadb: MySQL) -> None:
    mariadb.prepare({str(i): "old" for i in range(6000)})
    mariadb.prepare({"x": "new"})
    with connected(mariadb) as c:
        c.begin(RC)
        assert c.scan(None, None) == [("x", "new")]


def test_versions_are_told(mariadb: MySQL, mysql: MySQL) -> None:
    assert mariadb.version().startswith("MariaDB 1")
    assert mysql.version().startswith("MySQL 5.6.")


# --- who sets the value that another has just set (docs/findings/mariadb-same-value.md)

SAME_VALUE, OTHER_VALUE = (
    script(
        "own write not seen",
        f"A begin, A get x, B begin, B put x 5, B commit, A put x {value}, A get x, A commit",
        breaks="rc",
        allowed="ru",
    )
    for value in (5, 6)
)


@pytest.mark.parametrize("value", [5, 6])
@pytest.mark.parametrize(
    ("database", "options", "level", "reads", "ended"),
    [
        ("mariadb", "writes=update&snapshot_isolation=off", RR, ["0", "0"], "committed"),
        ("mariadb", "writes=upsert&snapshot_isolation=off", RR, ["0", "0"], "committed"),
        ("mariadb", "writes=replace&snapshot_isolation=off", RR, ["0", "0"], "committed"),
        ("mysql", "writes=upsert", RR, ["0", "0"], "committed"),
        # The same, and all is well: with the counter, below repeatable read, with conflicts refused, in MySQL 5.6
        ("mariadb", "snapshot_isolation=off", RR, ["0", "5"], "committed"),
        ("mariadb", "writes=update&snapshot_isolation=off", RC, ["0", "5"], "committed"),
        ("mariadb", "writes=update&snapshot_isolation=on", RR, ["0"], "aborted"),
        ("mysql", "", RR, ["0", "5"], "committed"),
        ("mysql", "writes=update", RR, ["0", "5"], "committed"),
        ("mysql", "writes=replace", RR, ["0", "5"], "committed"),
    ],
)  # fmt: skip
def test_a_put_of_the_value_that_is_there(
    database: str,
    options: str,
    level: str,
    reads: list[str],
    ended: str,
    value: int,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    """InnoDB makes no version of a row that stays as it is, and the snapshot goes on showing the old one."""
    served: MySQL = request.getfixturevalue(database)
    with find_database(f"{served.dsn}?{options}") as found:
        # Nobody waits: B is done before A writes.
        played = play(found, SAME_VALUE if value == 5 else OTHER_VALUE, level, tmp_path / "t", waits="")
    assert played.outcomes == {"A": ended, "B": "committed"}
    not_seen = reads == ["0", "0"] and value == 5
    assert played.happened == not_seen, str(played)
    expected = reads if value == 5 or ended == "aborted" else ["0", "6"]
    assert played.returned("A", "get") == expected
    offered = found.level(level)
    assert played.holds(offered.promises, modules=list(offered.modules)) != not_seen


def test_a_random_load_finds_it(mariadb: MySQL, tmp_path: Path) -> None:
    """Unscripted, at what the level promises. A third of these transactions do not see their own write."""
    for seed in range(10):
        with find_database(f"{mariadb.dsn}?writes=update&snapshot_isolation=off") as database:
            load = find_workload("same-value").with_settings(sessions=3, keys=3, seed=seed)
            put_on(Plan(database, load, database.level(RR), txns=60), tmp_path / str(seed))
        verdict = check(read_trace(tmp_path / str(seed)), "si", modules=[LOCKING])
        if verdict.invalid:
            assert verdict.counterexample is not None and verdict.counterexample.anomaly is not None
            assert verdict.counterexample.anomaly.name == "own write not seen"
            return
    raise AssertionError("nobody set what another had set in ten runs")


def test_an_option_that_an_older_server_does_not_have(mysql: MySQL) -> None:
    said = r"does not have: 1193: .*expected it to be left out"
    database = find_database("mariadb" + mysql.dsn.removeprefix("mysql") + "?snapshot_isolation=on")
    with database, pytest.raises(UsageError, match=said):
        database.connect()


# --- what an error means


def test_the_victim_of_a_deadlock_has_aborted(two: Two) -> None:
    deadlock(*two, RR)


def test_a_lock_that_takes_too_long_aborts_the_transaction(either: MySQL) -> None:
    """The server rolls back the statement only (1205); what was written before must not be committed later."""
    with find_database(f"{either.dsn}?lock_wait_timeout=1") as database:
        database.prepare({"x": "0", "y": "0"})
        with connected(database) as a, connected(database) as b:
            a.begin(RR)
            a.put("x", "a")
            b.begin(RR)
            b.put("y", "b")
            with pytest.raises(Aborted, match=r"^1205: "):
                b.put("x", "b")
            b.begin(RR)
            assert b.get("y") == "0"
            b.commit()
            a.commit()
            a.begin(RR)
            assert a.scan(None, None) == [("x", "a"), ("y", "0")]


def test_a_value_that_does_not_fit_is_an_error_of_its_operation(two: Two) -> None:
    a, b = two
    a.begin(RR)
    a.put("x", "1")
    assert outcome(a.put, "k" * 701, "v") is Failed
    assert outcome(a.run, "SELEC") is Failed
    a.commit()
    b.begin(RR)
    assert b.scan(None, None) == [("x", "1"), ("y", "0")]


def test_a_connection_that_is_cut_is_lost(two: Two) -> None:
    a, b = two
    a.begin(RR)
    a.put("x", "1")
    b.run(f"KILL {a.driver.thread_id()}")
    assert outcome(a.get, "x") is Lost
    for call in (a.commit, a.abort, lambda: a.begin(RR), lambda: a.scan(None, None)):
        assert outcome(call) is Lost
    a.close()
    b.begin(RR)
    assert b.get_for_update("x") == "0"


def test_a_connection_that_is_cut_while_it_waits_is_lost(two: Two) -> None:
    a, b = two
    b.begin(RR)
    b.put("x", "b")
    a.begin(RR)
    waiting = Later(a.put, "x", "a")
    time.sleep(0.1)
    b.run(f"KILL {a.driver.thread_id()}")
    assert waiting.result() is Lost
    b.commit()


def committing(a: MySQLConnection, b: MySQLConnection) -> Later:
    """A COMMIT that waits: nothing may be committed while all tables are locked for a backup."""
    a.begin(RR)
    a.put("x", "1")
    b.run("FLUSH TABLES WITH READ LOCK")
    late = Later(a.commit)
    asked = (
        f"SELECT 1 FROM information_schema.processlist WHERE id = {a.driver.thread_id()} AND info = 'COMMIT'"
    )
    end = time.monotonic() + 20
    while not b.run(asked).fetchall():
        assert time.monotonic() < end
        time.sleep(0.01)
    return late


def test_a_connection_that_is_cut_while_it_commits_is_lost(two: Two) -> None:
    a, b = two
    late = committing(a, b)
    b.run(f"KILL {a.driver.thread_id()}")
    b.run("UNLOCK TABLES")
    assert late.result() is Lost


def test_a_server_that_dies_while_it_commits_leaves_the_outcome_open(either: MySQL, two: Two) -> None:
    a, b = two
    late = committing(a, b)
    assert either.server is not None
    either.server.kill()
    assert late.result() is Lost
    assert outcome(either.connect) is Lost
    either.server.restart()
    assert outcome(b.begin, RR) is Lost
    with connected(either) as c:
        c.begin(RR)
        assert c.get("x") == "0"


def test_what_was_committed_survives_crashes(mariadb: MySQL, tmp_path: Path) -> None:
    survives_a_crash(mariadb, tmp_path / "t", crashes=1)


@pytest.mark.full
def test_what_mysql_committed_survives_crashes(mysql: MySQL, tmp_path: Path) -> None:
    survives_a_crash(mysql, tmp_path / "t")


# --- addresses


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mysql://host/", "names no database"),
        ("mysql://host:port/db", "cannot read the address of MySQL"),
        ("mysql://host/db?lock_wait_timeout=soon", "expected a number of seconds"),
        ("mariadb://host/db?nonsense=1", "found 'nonsense=1' in the address of MariaDB"),
        ("tidb", "give the address of one that runs, as tidb://"),
        ("mysql://host/db?writes=often", "expected writes= one of counted, update, upsert, replace"),
        ("mysql://host/db?snapshot_isolation=on", "found 'snapshot_isolation=on' in the address of MySQL"),
        ("mariadb:/nowhere", "found none of mariadbd, mysqld in /nowhere"),
    ],
)
def test_what_cannot_be_is_said(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_database(spec)


def test_nobody_at_the_address_is_lost() -> None:
    with find_database("mysql://user:secret@127.0.0.1:1/db") as database:
        assert outcome(database.connect) is Lost


# --- TiDB: as far as its protocol goes, without a server of its


def _as_mariadb(self: TiDBConnection, statement: str, *values: bytes) -> object:
    """TiDB's statements, but for the two that only TiDB has."""
    said = "START TRANSACTION" if statement.startswith("BEGIN ") else statement
    return MySQLConnection._send(self, said, *values)


def test_tidb_on_mariadb(mariadb: MySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TiDBConnection, "_send", _as_mariadb)
    with find_database("tidb" + mariadb.dsn.removeprefix("mariadb")) as database:
        trace, committed = run(database, RR, tmp_path / "t", transactions=15)
        assert committed and check(trace, "si", modules=[LOCKING]).valid
        iterates(database)


def test_tidb_writes_as_it_is_told(mariadb: MySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TiDBConnection, "_send", _as_mariadb)
    for writes, reads in (("counted", ["0", "5"]), ("update", ["0", "0"])):
        spec = f"tidb{mariadb.dsn.removeprefix('mariadb')}?writes={writes}"
        with find_database(spec) as database:
            played = play(database, SAME_VALUE, RR, tmp_path / writes, waits="")
        assert played.returned("A", "get") == reads


@pytest.mark.parametrize(
    ("code", "expected"), [(9007, Aborted), (8022, Aborted), (8002, Aborted), (1105, Lost), (9002, Lost)]
)
def test_what_a_commit_of_tidb_may_say(
    mariadb: MySQL, code: int, expected: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    pymysql = pytest.importorskip("pymysql")
    with connected(find_database("tidb" + mariadb.dsn.removeprefix("mariadb"))) as c:
        send = c._send

        def refusing(statement: str, *values: bytes) -> object:
            if statement == "COMMIT":
                raise pymysql.err.OperationalError(code, "said the server")
            return send(statement, *values)

        monkeypatch.setattr(c, "_send", refusing)
        assert outcome(c.commit) is expected


def test_tidb_begins_both_kinds(mariadb: MySQL, monkeypatch: pytest.MonkeyPatch) -> None:
    database = find_database("tidb" + mariadb.dsn.removeprefix("mariadb"))
    with connected(database) as c:
        sent: list[str] = []
        monkeypatch.setattr(c, "_send", lambda statement, *_: sent.append(statement))
        for level in database.levels:
            c.begin(level)
        assert sent == [
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "BEGIN PESSIMISTIC",
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "BEGIN PESSIMISTIC",
            "BEGIN OPTIMISTIC",
        ]


def test_a_key_that_tidb_deletes_keeps_its_row(mariadb: MySQL, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that inserts a key and deletes it again must leave a write for others to collide with."""
    monkeypatch.setattr(TiDBConnection, "_send", _as_mariadb)
    with find_database("tidb" + mariadb.dsn.removeprefix("mariadb")) as database:
        database.prepare({"a": "1"})
        with connected(database) as c:
            c.begin(RR)
            c.put("b", "2")
            assert c.delete("b") and not c.delete("b") and not c.delete("none")
            assert c.get("b") is None and c.get_for_update("b") is None
            assert c.scan(None, None) == list(c.iterator(None, None)) == [("a", "1")]
            c.commit()
            assert c.run(f"SELECT k, v FROM {TABLE} ORDER BY k").fetchall() == ((b"a", b"1"), (b"b", None))
            c.begin(RR)
            c.append("b", "3")
            c.append("b", "4")
            assert c.get("b") == "3,4" and c.scan("b", "c") == [("b", "3,4")]
            assert c.delete("b")
            c.put("b", "5")
            c.commit()
            assert c.get("b") == "5"
        database.prepare({"a": "1"})  # it is no other table the second time
        with connected(database) as c:
            assert c.scan(None, None) == [("a", "1")]

"""Recorded connections of PyMySQL, on a MariaDB started for it: its errors end more, or less, than one thinks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.recorded_sql import address, outcomes, recorded, server

from boomslang import UsageError, check
from boomslang.record import RecordingFailed, Tracer, trace_connection
from boomslang.record.statements import delete, get, ignore, put, scan
from boomslang.trace import read_trace

pymysql = pytest.importorskip("pymysql")

GET, LOCK, PUT, SET = (
    "SELECT v FROM kv WHERE k = %s",
    "SELECT v FROM kv WHERE k = %s FOR UPDATE",
    "INSERT INTO kv VALUES (%s, %s) ON DUPLICATE KEY UPDATE v = VALUES(v)",
    "UPDATE kv SET v = %s WHERE k = %s",
)
STATEMENTS = {
    GET: get(value="v"),
    LOCK: get(lock=True),
    PUT: put(one_row=False),
    SET: put(key=1, value=0),
    "INSERT INTO kv VALUES (%(k)s, %(v)s)": put(key="k", value="v"),
    "DELETE FROM kv WHERE k = %s": delete(),
    "SELECT k, v FROM kv": scan(),
    "CREATE OR REPLACE TABLE notes (n INT)": ignore(),
}


@pytest.fixture(scope="module")
def where() -> Iterator[dict[str, Any]]:
    with server("mariadb") as dsn:
        yield address(dsn)


Connect = Callable[..., Any]


@pytest.fixture
def connect(where: dict[str, Any], tmp_path: Path) -> Iterator[Connect]:
    with pymysql.connect(**where, autocommit=True) as c, c.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS kv")
        cursor.execute("CREATE TABLE kv (k VARCHAR(50) COLLATE utf8mb4_bin PRIMARY KEY, v INT) ENGINE InnoDB")
    tracer = Tracer(tmp_path / "trace")
    made = []

    def make(name: str = "a", **options: Any) -> Any:
        options.setdefault("cursorclass", pymysql.cursors.DictCursor)
        inner = pymysql.connect(**where, **options)
        with inner.cursor() as cursor:
            cursor.execute("SET SESSION innodb_lock_wait_timeout = 1")
        made.append(inner)
        return trace_connection(inner, tracer, STATEMENTS, session=name)

    yield make
    for inner in made:
        if inner.open:
            inner.close()


def do(connection: Any, query: str, *parameters: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters or None)
        return cursor.fetchall()


def test_operations(connect: Connect, tmp_path: Path) -> None:
    c = connect()
    do(c, PUT, "x", 1)
    do(c, PUT, "x", 2)  # counts as two rows
    do(c, SET, 2, "x")  # as none: the value is the same
    do(c, PUT, "x", 2)  # so does this
    do(c, SET, 2, "z")  # as none, too: there is no such row
    with c.cursor() as cursor:
        assert cursor.execute("INSERT INTO kv VALUES (%(k)s, %(v)s)", {"k": "y", "v": 5}) == 1
    c.commit()
    assert do(c, GET, "x") == [{"v": 2}] and do(c, LOCK, "z") == ()
    assert do(c, "SELECT k, v FROM kv") == [{"k": "x", "v": 2}, {"k": "y", "v": 5}]
    do(c, "DELETE FROM kv WHERE k = %s", "x")
    c.rollback()
    c.begin()
    do(c, GET, "x")
    c.close()
    assert recorded(c) == [
        *("begin", "put x=1", "put x=2", "put x=2", "put x=2", "put y=5", "commit"),
        *("begin", "get x=2", "get z=absent", "scan [['x', 2], ['y', 5]]", "delete x=True", "abort"),
        *("begin", "get x=2", "abort"),
    ]
    assert '"ctx":{"lock": "update"}' in c.session.path.read_text()
    assert outcomes(tmp_path / "trace") == ["committed", "aborted", "aborted"]


def test_autocommit(connect: Connect, tmp_path: Path) -> None:
    c = connect(autocommit=True)
    do(c, PUT, "x", 1)
    do(c, SET, 1, "x")
    do(c, SET, 1, "z")
    do(c, "DELETE FROM kv WHERE k = %s", "y")
    assert do(c, GET, "x") == [{"v": 1}]
    c.begin()
    do(c, SET, 2, "x")
    with pytest.raises(UsageError, match="begin inside"):  # which MariaDB takes for a commit
        c.begin()
    for implied in ("SET autocommit = 0", "CREATE TABLE other (n INT)"):
        with pytest.raises(UsageError, match="not in the table"):
            do(c, implied)
    with pytest.raises(UsageError, match="change of autocommit inside"):
        c.autocommit(False)
    with pytest.raises(UsageError, match="ping"):
        c.ping()
    c.commit()
    assert recorded(c) == [
        *("begin", "put x=1", "commit", "begin", "put x=1", "commit", "begin", "put z=1", "abort"),
        *("begin", "delete y=", "abort", "begin", "delete y=False", "commit"),
        *("begin", "get x=1", "commit", "begin", "put x=2", "commit"),
    ]
    assert "unknown" not in outcomes(tmp_path / "trace")


def test_a_duplicate_key_ends_only_its_statement(connect: Connect, tmp_path: Path) -> None:
    c = connect()
    do(c, PUT, "x", 1)
    with pytest.raises(pymysql.err.IntegrityError), c.cursor() as cursor:
        cursor.execute("INSERT INTO kv VALUES (%(k)s, %(v)s)", {"k": "x", "v": 5})
    do(c, PUT, "y", 1)
    c.commit()
    assert recorded(c) == ["begin", "put x=1", "put! x=5", "put y=1", "commit"]
    d = connect("d")
    assert len(do(d, "SELECT k, v FROM kv")) == 2
    d.commit()
    assert outcomes(tmp_path / "trace") == ["committed", "committed"]


def test_a_deadlock_ends_the_transaction_at_once(connect: Connect, tmp_path: Path) -> None:
    a, b = connect("a"), connect("b")
    do(a, PUT, "x", 0)
    do(a, PUT, "y", 0)
    a.commit()
    do(a, SET, 1, "x")
    do(b, SET, 2, "y")
    waiting = threading.Thread(target=lambda: failing(a, SET, 1, "y"))
    waiting.start()
    failing(b, SET, 2, "x")
    waiting.join()
    for c in (a, b):  # the victim's next statement begins another transaction
        do(c, PUT, c.session.name, 3)
        c.commit()
    ends = outcomes(tmp_path / "trace")
    assert ends.count("aborted") == 1 and ends.count("committed") == 3
    victim = a if "abort" in recorded(a) else b
    *_, failed, over, begin, _, commit = recorded(victim)
    assert failed.startswith("put!") and (over, begin, commit) == ("abort", "begin", "commit")


def failing(connection: Any, query: str, *parameters: Any) -> None:
    try:
        do(connection, query, *parameters)
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1213


def test_after_a_lock_was_not_had_in_time_only_a_rollback_is_certain(
    connect: Connect, tmp_path: Path
) -> None:
    a, b = connect("a"), connect("b")
    do(a, PUT, "x", 1)
    do(b, PUT, "y", 1)
    with pytest.raises(pymysql.err.OperationalError, match="1205"):
        do(b, PUT, "x", 2)
    with pytest.raises(RecordingFailed, match="1205"):
        b.commit()
    b.rollback()
    a.commit()
    assert recorded(b) == ["begin", "put y=1", "put! x=2", "abort"]
    assert outcomes(tmp_path / "trace") == ["committed", "aborted"]


def test_a_connection_that_is_lost(connect: Connect, where: dict[str, Any], tmp_path: Path) -> None:
    a, b = connect("a"), connect("b")
    do(a, PUT, "x", 1)
    do(b, PUT, "y", 1)
    with pymysql.connect(**where) as other, other.cursor() as cursor:
        for c in (a, b):
            cursor.execute(f"KILL CONNECTION {c.connection.thread_id()}")
    with pytest.raises(pymysql.err.OperationalError):
        do(a, GET, "x")
    with pytest.raises(pymysql.err.OperationalError):
        b.commit()
    assert recorded(a) == ["begin", "put x=1", "get! x=", "abort"]
    assert recorded(b) == ["begin", "put y=1", "commit!"]
    assert outcomes(tmp_path / "trace") == ["aborted", "unknown"]


def test_a_lost_update_at_repeatable_read(connect: Connect, tmp_path: Path) -> None:
    a, b = connect("a"), connect("b")
    for c in (a, b):
        with suppress(pymysql.err.OperationalError):  # older ones do not know it, and do the same
            do(c, "SET SESSION innodb_snapshot_isolation = OFF")
    do(a, PUT, "x", 0)
    a.commit()
    for c in (a, b):
        assert do(c, GET, "x") == [{"v": 0}]
    do(a, SET, 1, "x")
    a.commit()
    do(b, SET, 2, "x")
    b.commit()
    trace = read_trace(tmp_path / "trace")
    assert check(trace, level="si").status == "invalid" and check(trace, level="rc").valid


@pytest.mark.parametrize("flag", [0, pymysql.constants.CLIENT.FOUND_ROWS], ids=["changed", "found"])
@pytest.mark.parametrize("how", [SET, PUT], ids=["update", "upsert"])
def test_who_sets_the_value_that_is_there_does_not_see_it(
    connect: Connect, tmp_path: Path, how: str, flag: int
) -> None:
    """MariaDB changes nothing and goes on showing the snapshot: docs/findings/mariadb-same-value.md."""
    a, b = connect("a", client_flag=flag), connect("b", client_flag=flag)
    for c in (a, b):
        with suppress(pymysql.err.OperationalError):
            do(c, "SET SESSION innodb_snapshot_isolation = OFF")
    do(b, PUT, "x", 0)
    b.commit()
    assert do(a, GET, "x") == [{"v": 0}]
    do(b, SET, 5, "x")
    b.commit()
    do(a, how, *((5, "x") if how is SET else ("x", 5)))
    assert do(a, GET, "x") == [{"v": 0}]
    assert do(a, LOCK, "x") == [{"v": 5}]
    a.commit()
    assert recorded(a)[-5:] == ["get x=0", "put x=5", "get x=0", "get x=5", "commit"]
    trace = read_trace(tmp_path / "trace")
    for level, modules in (("rc", []), ("si", []), ("si", ["mariadb-repeatable-read"])):
        verdict = check(trace, level, modules=modules)
        assert verdict.invalid and verdict.counterexample is not None
        assert verdict.counterexample.anomaly is not None
        assert verdict.counterexample.anomaly.code == "internal"
    assert check(trace, "ru").valid


@pytest.mark.parametrize("flag", [0, pymysql.constants.CLIENT.FOUND_ROWS], ids=["changed", "found"])
def test_what_is_recorded_of_updates_that_change_nothing(connect: Connect, tmp_path: Path, flag: int) -> None:
    """One that found nothing read an absent key; one that may have kept what it found is no write."""
    inner = connect("unused", client_flag=flag).connection
    absent, greatest = (
        "UPDATE kv SET v = %s WHERE k = %s ",
        "UPDATE kv SET v = GREATEST(v, %s) WHERE k = %s",
    )
    statements = {absent: put(key=1, value=0, none_means_absent=True), PUT: put(one_row=False)}
    if not flag:
        statements[greatest] = put(key=1, value=0)
    c = trace_connection(inner, Tracer(tmp_path / "other"), statements, session="c")
    do(c, PUT, "x", 5)
    do(c, absent, 5, "x")
    do(c, absent, 5, "z")
    if not flag:
        do(c, greatest, 3, "x")
    c.commit()
    assert recorded(c) == ["begin", "put x=5", "put x=5", "get z=absent", "commit"]
    assert outcomes(tmp_path / "other") == ["committed"]


def test_a_table_that_is_made_commits_what_was_open(connect: Connect, tmp_path: Path) -> None:
    """So the rollback that follows undoes nothing, and must not be recorded as one that did."""
    c = connect()
    do(c, PUT, "x", 1)
    with pytest.raises(RecordingFailed, match="commit before it"):
        do(c, "CREATE OR REPLACE TABLE notes (n INT)")
    c.rollback()
    do(c, "CREATE OR REPLACE TABLE notes (n INT)")
    assert do(connect("b"), GET, "x") == [{"v": 1}]
    assert recorded(c)[:3] == ["begin", "put x=1", "commit!"]
    verdict = check(read_trace(tmp_path / "trace"), "ser")
    assert not verdict.invalid and "is known to have committed" in verdict.reason


def test_an_account_that_may_not_read_everything(where: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("sqlglot")
    with pymysql.connect(**where, autocommit=True) as c, c.cursor() as cursor:
        for text in (
            "CREATE OR REPLACE DATABASE humble",
            "CREATE TABLE humble.shown (id INT PRIMARY KEY, n INT)",
            "CREATE TABLE humble.written (id INT PRIMARY KEY, n INT)",
            "CREATE OR REPLACE USER humble@'%' IDENTIFIED BY 'secret'",
            "GRANT SELECT, INSERT ON humble.shown TO humble@'%'",
            "GRANT INSERT ON humble.written TO humble@'%'",
        ):
            cursor.execute(text)
    humble = {**where, "database": "humble", "user": "humble", "password": "secret"}
    with trace_connection(pymysql.connect(**humble, autocommit=True), Tracer(tmp_path / "humble")) as told:
        do(told, "INSERT INTO shown VALUES (1, 1)")
        do(told, "INSERT INTO written VALUES (1, 1)")
        assert do(told, "SELECT n FROM shown WHERE id = 1") == ((1,),)
    verdict = check(read_trace(tmp_path / "humble"), level="strict serializable")
    assert verdict.valid and "left out: written" in verdict.notes[0], verdict.notes

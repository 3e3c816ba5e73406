"""Settings of the database's own in its address: set, checked, written down, and what they change about a promise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.servers import server_or_skip

from boomslang import check, read_trace
from boomslang.databases import find_database
from boomslang.databases.settings import split_settings
from boomslang.errors import UsageError
from boomslang.run import Plan, run
from boomslang.workloads import find_workload


def test_settings_are_split_from_the_rest_of_an_address() -> None:
    said = "mariadb://u:p@h/d?set=innodb_snapshot_isolation=ON&writes=update&set=Lock_Wait_Timeout=5"
    rest, settings = split_settings(said)
    assert rest == "mariadb://u:p@h/d?writes=update"
    assert settings == {"innodb_snapshot_isolation": "ON", "lock_wait_timeout": "5"}
    assert split_settings("shop.db?journal=delete") == ("shop.db?journal=delete", {})
    for wrong in ("?set=x", "?set==1", "?set=a b=1", "?set=a=1&set=a=2"):
        with pytest.raises(UsageError, match="found set="):
            split_settings(wrong)


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("sqlite:?set=nonsense=1", "no such pragma"),
        ("sqlite:?set=synchronous=banana", "the pragma is 1 after it"),
        ("sqlite:?set=journal_mode=wal", "instead: journal="),
        ("duckdb:?set=nonsense=1", 'unrecognized configuration parameter "nonsense"'),
        ("duckdb:?set=memory_limit=lots", "Memory must have a number"),
        ("turso:?set=nonsense=1", "the pragma is nothing after it"),
        ("etcd://127.0.0.1:1?set=x=1", "takes no settings"),
    ],
)
def test_what_is_embedded_answers_too(spec: str, answer: str) -> None:
    with pytest.raises(UsageError, match=answer), find_database(spec) as database:
        database.prepare({})


def test_pragmas_are_in_force_on_each_connection(tmp_path: Path) -> None:
    with find_database(f"sqlite:{tmp_path / 'x.db'}?set=cache_size=-123&set=synchronous=FULL") as database:
        database.prepare({})
        connection: Any = database.connect()
        assert connection.ask("PRAGMA cache_size") == [(-123,)]
        assert connection.ask("PRAGMA synchronous") == [(2,)]
        connection.close()
    with find_database("duckdb:?set=memory_limit=300MB") as database:
        database.prepare({})
        connection = database.connect()
        assert connection.ask("SELECT current_setting('memory_limit')")[0][0] in ("286.1 MiB", "300.0 MB")
        connection.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server_or_skip("postgres") as server:
        yield server.dsn


@pytest.fixture(scope="module")
def mariadb() -> Iterator[str]:
    with server_or_skip("mariadb") as server:
        yield server.dsn


def asked(database: Any, statement: str) -> str:
    connection = database.connect()
    try:
        return str(connection.run(statement).fetchone()[0])
    finally:
        connection.close()


def test_postgresqls_settings(postgres: str, tmp_path: Path) -> None:
    spec = f"{postgres}?set=work_mem=5MB&set=default_transaction_isolation=repeatable+read"
    with find_database(spec) as database:
        assert asked(database, "SHOW work_mem") == "5MB"
        assert database.level(None).name == "repeatable read"  # as the setting says
        assert database.level("serializable").promises == "ser"  # what is said wins
        made = find_workload("blindw").with_settings(sessions=2, keys=5)
        run(Plan(database, made, database.level(None), 20), tmp_path / "t")
        about = json.loads((tmp_path / "t" / "run.json").read_text())
        assert about["settings"] == {
            "work_mem": "5MB",
            "default_transaction_isolation": "repeatable read",
        }
    for said, answer in (
        ("nonsense=1", '42704: unrecognized configuration parameter "nonsense"'),
        ("work_mem=lots", '22023: invalid value for parameter "work_mem"'),
        ("max_connections=7", "55P02: .*cannot be changed without restarting"),
        ("client_encoding=LATIN1", "relies on"),
    ):
        with pytest.raises(UsageError, match=answer), find_database(f"{postgres}?set={said}") as database:
            database.prepare({})


@pytest.mark.full
def test_mariadbs_settings_and_what_they_promise(mariadb: str, tmp_path: Path) -> None:
    with find_database(mariadb) as database:
        assert database.level("repeatable read").modules == ("mariadb-repeatable-read",)
    with find_database(f"{mariadb}?set=innodb_snapshot_isolation=ON") as database:
        level = database.level("repeatable read")
        assert (level.promises, level.modules) == ("si", ())
        assert database.level("serializable").promises == "ser"
        assert asked(database, "SELECT @@innodb_snapshot_isolation") == "1"
        made = find_workload("randombench").with_settings(sessions=4, keys=8, values=0)
        ran = run(Plan(database, made, level, 300), tmp_path / "t")
        assert ran.committed and check(read_trace(tmp_path / "t"), "si").valid
    with find_database(f"{mariadb}?set=transaction_isolation=READ-COMMITTED") as database:
        assert database.level(None).name == "read committed"
    for said, answer in (
        ("nonsense=1", "1193: Unknown system variable"),
        ("innodb_snapshot_isolation=MAYBE", "1231: "),
        ("innodb_purge_threads=2", "1229: .*GLOBAL variable"),
        ("sql_mode=ANSI", "relies on"),
    ):
        with pytest.raises(UsageError, match=answer), find_database(f"{mariadb}?set={said}") as database:
            database.prepare({})


@pytest.mark.full
def test_a_server_of_our_own_has_them_in_its_configuration() -> None:
    for kind in ("postgres", "mariadb"):
        with server_or_skip(kind):
            pass
    with find_database("postgres:?set=max_connections=77") as database:
        assert asked(database, "SHOW max_connections") == "77"
    with find_database("mariadb:?set=innodb_purge_threads=3") as database:
        assert asked(database, "SELECT @@innodb_purge_threads") == "3"
    for spec, answer in (
        ("postgres:?set=nonsense=1", "unrecognized configuration parameter"),
        ("mariadb:?set=innodb_purge_threads=banana", "Unknown suffix"),
        ("mariadb:?set=nonsense=1", "1193: Unknown system variable"),
    ):
        with pytest.raises(UsageError, match=answer), find_database(spec) as database:
            database.prepare({})

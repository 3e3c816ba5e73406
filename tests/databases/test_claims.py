"""A second run on the same tables is refused while the first one goes, and not once it is over, however that ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.servers import server_or_skip

from boomslang import check, read_trace
from boomslang.databases import find_database
from boomslang.databases.claims import Taken


def command(db: str, out: Path, *more: str) -> list[str]:
    words = [sys.executable, "-m", "boomslang", "run", "--db", db, "--workload", "blindw", "--sessions", "3"]
    return [*words, "--keys", "20", "--values", "0", "--out", str(out), *more]


def begun(db: str, out: Path) -> subprocess.Popen[str]:
    """A run without an end that has begun to commit."""
    started = subprocess.Popen(
        command(db, out, "--txns", "10000000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while not (out / "c1.jsonl").exists() or (out / "c1.jsonl").stat().st_size < 3000:
        assert started.poll() is None and time.monotonic() < end, started.communicate()
        time.sleep(0.02)
    return started


def second(db: str, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(db, out, "--txns", "150", "--check"), capture_output=True, text=True, check=False, timeout=120
    )


def two_runs(db: str, folder: Path, patience: float = 0.0) -> None:
    first = begun(db, folder / "first")
    try:
        refused = second(db, folder / "second")
        assert refused.returncode not in (0, 1, 2), refused.stdout
        assert "found another run of Boomslang on" in refused.stderr, refused.stderr
        assert not (folder / "second").exists()
        assert first.poll() is None  # which is not disturbed
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    end = time.monotonic() + patience
    while True:
        third = second(db, folder / f"third-{time.monotonic()}")
        if third.returncode == 0 or time.monotonic() > end:
            break
        time.sleep(0.5)
    assert third.returncode == 0, third.stdout + third.stderr  # and what it recorded is valid
    assert check(read_trace(folder / "first"), "rc").valid


def test_two_runs_on_a_file(tmp_path: Path) -> None:
    two_runs(f"sqlite:{tmp_path / 'x.db'}", tmp_path)
    assert not list(tmp_path.glob("*lock*"))


@pytest.mark.full
def test_two_runs_on_postgresql(tmp_path: Path) -> None:
    with server_or_skip("postgres") as server:
        two_runs(server.dsn, tmp_path)


@pytest.mark.full
def test_two_runs_on_mariadb(tmp_path: Path) -> None:
    with server_or_skip("mariadb") as server:
        two_runs(server.dsn, tmp_path)


@pytest.mark.full
def test_two_runs_on_etcd(tmp_path: Path) -> None:
    with server_or_skip("etcd") as server:
        two_runs(server.dsn, tmp_path, patience=30)  # the lease's time, and more on a busy machine


@pytest.mark.full
def test_two_runs_on_galera_through_other_nodes(tmp_path: Path) -> None:
    with server_or_skip("galera") as server:
        two_runs(server.dsn, tmp_path)
        scheme, _, rest = server.dsn.partition("@")
        hosts, _, name = rest.partition("/")
        turned = f"{scheme}@{','.join(reversed(hosts.split(',')))}/{name}"
        with (
            find_database(server.dsn) as one,
            find_database(turned) as other,
            one.claimed(),
            pytest.raises(Taken),
            other.claimed(),
        ):
            pass


def test_a_claim_is_shared_by_copies_and_ends_with_the_last(tmp_path: Path) -> None:
    with (
        find_database(f"sqlite:{tmp_path / 'x.db'}") as one,
        find_database(f"sqlite:{tmp_path / 'x.db'}") as two,
    ):

        def refuses() -> bool:
            try:
                with two.claimed():
                    return False
            except Taken:
                return True

        with one.claimed():
            with one.claimed():
                assert refuses()
            assert refuses()
        assert not refuses()


@pytest.mark.parametrize("kind", ["rocksdb", "slatedb", "duckdb", "turso"])
def test_what_lives_in_one_process_is_one_runs_alone(kind: str, tmp_path: Path) -> None:
    """Each in its own way: by a lock of its own, or by ours."""
    pytest.importorskip("pyrex" if kind == "rocksdb" else kind)
    place = f"{kind}:{tmp_path / 'place'}"
    script = (
        "import sys\nfrom boomslang.databases import find_database\n"
        "database = find_database(sys.argv[1])\n"
        "with database.claimed():\n    database.prepare({})\n"
    )
    database: Any = find_database(place)
    try:
        with database.claimed():
            database.prepare({"a": "1"})
            other = subprocess.run(
                [sys.executable, "-c", script, place], capture_output=True, text=True, check=False
            )
            assert other.returncode != 0, other.stdout
            connection = database.connect()
            connection.begin(database.default_level)
            assert connection.get("a") == "1"
            connection.put("b", "2")
            connection.commit()
            connection.close()
    finally:
        database.close()

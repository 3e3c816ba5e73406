"""`boomslang proxy` as a command: what it refuses before it does anything, how it ends, and what it leaves."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.commands import PROGRAM, Ran, command
from support.recorded_sql import started

from boomslang import check, read_trace

USAGE = 254


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["postgres://127.0.0.1:1"], "found no --out"),
        (["--out", "t"], "found no SERVER"),
        (["oracle://127.0.0.1:1", "--out", "t"], "expected one of postgres"),
        (["postgres://me:sesame@127.0.0.1:1", "--out", "t"], "found a name or a password"),
        (["postgres://127.0.0.1:1/shop", "--out", "t"], "found the database"),
        (["postgres://127.0.0.1:1", "--out", "t", "--listen", "0.0.0.0:0"], "--beyond-loopback"),
        (["mysql://127.0.0.1:1?sslmode=often", "--out", "t"], "found sslmode=often"),
        (["postgres://127.0.0.1:1", "--out", "t", "--watch"], "--watch is for --check"),
        (["postgres://127.0.0.1:1", "--out", "t", "--within", "1s"], "--within is for --check"),
        (["postgres://no-such-host.invalid:1", "--out", "t"], "expected one that has an address"),
        (["--recover", "t"], "found nothing to recover"),
        (["postgres://127.0.0.1:1", "--recover", "t"], "--recover DIR stands alone"),
    ],
)
def test_what_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command("proxy", *words)
    assert ran.code == USAGE and said in " ".join(ran.err.split()), ran.err
    assert "sesame" not in ran.err
    assert not any(tmp_path.iterdir()), "nothing is left of what did not begin"


def test_help_names_every_way_to_end() -> None:
    ran = subprocess.run([*PROGRAM, "proxy", "--help"], capture_output=True, text=True, check=True)
    for word in ("--listen", "--beyond-loopback", "--check", "--recover", "--watch"):
        assert word in ran.stdout


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = command("proxy", "postgres://127.0.0.1:1", "--listen", place, "--out", str(tmp_path / "t"))
    assert ran.code == USAGE and f"cannot listen on {place}" in " ".join(ran.err.split())
    assert not any(tmp_path.iterdir()), "the folder can be named again"


@contextmanager
def proxy(*words: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, and where it listens."""
    running = subprocess.Popen(
        [*PROGRAM, "proxy", *words, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "500"},
        **options,
    )
    try:
        assert running.stderr is not None
        found = re.search(r"listening on [\d.]+:(\d+)", running.stderr.readline())
        assert found is not None
        yield running, int(found[1])
    finally:
        running.kill()
        running.communicate()


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    with proxy(f"postgres://127.0.0.1:{nobody}", "--out", str(tmp_path / "t")) as (running, port):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            assert client.recv(10) == b""
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=30)
    assert running.returncode == 0 and "cannot reach the server" in err


def test_more_connections_than_files(tmp_path: Path) -> None:
    """What is missing is said, with its fix; and when there is room again, clients are taken again."""
    resource = pytest.importorskip("resource")
    with socket.create_server(("127.0.0.1", 0), backlog=100) as there:
        place = f"postgres://127.0.0.1:{there.getsockname()[1]}"

        def few() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

        with proxy(place, "--out", str(tmp_path / "t"), preexec_fn=few) as (running, port):
            clients = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(40)]
            assert running.stderr is not None
            said = running.stderr.readline()
            assert "too many open files" in said.lower() and "fix: raise the limit (ulimit -n)" in said
            for client in clients:
                client.close()
            there.settimeout(10)
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                ask = struct.pack("!ii", 8, 80877103)
                client.sendall(ask)
                assert client.recv(1) == b"N"
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=30)
    assert running.returncode == 0


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with started("postgres") as running:
        yield running


def is_told_unfinished(said: str) -> bool:
    words = " ".join(said.split())
    return "no read was checked: a proxy is still recording" in words and "proxy --recover FOLDER" in words


def asked_early(folder: Path) -> Ran:
    """What a check says while the proxy records, once it has written down a commit: that is a moment after it was
    forwarded, and before it a trace says nothing."""
    end = time.monotonic() + 30
    while (found := command("check", str(folder), "--level", "ser")).code == 2 and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_how_it_ends(server: Any, tmp_path: Path, how: signal.Signals) -> None:
    """Asked to end, it has recorded all that it forwarded, and checks it; killed, that can be had later."""
    psycopg = pytest.importorskip("psycopg")
    folder = tmp_path / "t"
    with psycopg.connect(server.dsn, autocommit=True) as c:
        c.execute("DROP TABLE IF EXISTS cells")
        c.execute("CREATE TABLE cells (id int PRIMARY KEY, n int)")
        c.execute("DROP ROLE IF EXISTS anybody")
        c.execute("CREATE ROLE anybody LOGIN SUPERUSER PASSWORD 'sesame open'")
    place = f"postgres://127.0.0.1:{server.port}"
    with proxy(place, "--out", str(folder), "--check", "ser") as (running, port):
        there = re.sub(r"//[^@]*@[^/]*/", f"//anybody:sesame%20open@127.0.0.1:{port}/", server.dsn)
        with psycopg.connect(there, autocommit=True) as c:
            for number in range(30):
                c.execute("INSERT INTO cells VALUES (%s, %s)", (number, number))
                c.execute("SELECT n FROM cells WHERE id = %s", (number,))
            early = asked_early(folder)
            assert early.code == 0 and is_told_unfinished(early.out)
            on_disk = b"".join(path.read_bytes() for path in folder.iterdir())
            running.send_signal(how)
            out, err = running.communicate(timeout=60)
    assert b"sesame" not in on_disk and "sesame" not in out + err
    if how is signal.SIGKILL:
        assert (folder / "wire.spool").exists()
        assert is_told_unfinished(command("check", str(folder), "--level", "ser").out)
        ran = command("proxy", "--recover", str(folder), "--check", "ser")
        assert ran.code == 0, ran.err
    else:
        assert running.returncode == 0 and "valid" in out.lower(), (out, err)
    assert not is_told_unfinished(command("check", str(folder), "--level", "ser").out)
    assert not (folder / "wire.spool").exists()
    trace = read_trace(folder)
    assert trace.coverage is not None
    assert trace.coverage.writes[0] >= 30 and trace.coverage.reads == (30, 0, 0)
    assert trace.coverage.untold == 0 and check(trace, "ser").valid

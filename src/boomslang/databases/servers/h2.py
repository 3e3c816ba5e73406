"""An H2 server: one jar from Maven's registry, which Java runs, and which speaks PostgreSQL's protocol on request.

The database is a file of its own in the server's folder. It is made by whoever connects first, with the password that
this one says; so the first to connect is the one who started it, before anybody is told the address.
"""

from __future__ import annotations

import importlib
import shutil
import socket
from pathlib import Path

from boomslang.databases.servers.maven import Artifact, artifact_folder, versions_there
from boomslang.databases.servers.packages import ServerMissing
from boomslang.databases.servers.server import HOST, Program, Server
from boomslang.databases.servers.versions import numbers
from boomslang.errors import UsageError

ARTIFACT = Artifact("com.h2database", "h2")
SINCE = "2"
"""Before it there was no snapshot isolation."""
JAR = "h2.jar"
MEMORY = "512m"


def find_h2(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    if binaries is not None:
        raise UsageError("found a folder for H2; expected a version, or nothing: it is one jar of Maven's")
    if shutil.which("java") is None:
        install = "apt install default-jre-headless"
        raise ServerMissing(f"H2 needs Java, and `java` is not installed ({install})", fix=install)
    chosen, folder = artifact_folder(ARTIFACT, version or SINCE, _keep, fetch=fetch)
    return Program(folder / JAR, chosen, str(ARTIFACT), home=folder)


def h2_versions() -> list[str]:
    """All that can be had, from old to new."""
    return sorted(versions_there(ARTIFACT), key=numbers)


def _keep(jar: Path, folder: Path) -> None:
    shutil.copy(jar, folder / JAR)


class H2Server(Server):
    title = "H2"

    @property
    def dsn(self) -> str:
        return f"h2://sa:{self.password}@{HOST}:{self.port}/boomslang"

    def initialise(self) -> None:
        pass

    def command(self) -> list[str]:
        java = shutil.which("java") or "java"
        words = [java, f"-Xmx{MEMORY}", "-cp", str(self.program.binary), "org.h2.tools.Server"]
        return [*words, "-pg", "-pgPort", str(self.port), "-ifNotExists", "-baseDir", str(self.data)]

    def ready(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        try:
            psycopg = importlib.import_module("psycopg")
        except ImportError:
            return True
        try:
            psycopg.connect("postgresql:" + self.dsn.partition(":")[2], connect_timeout=30).close()
        except psycopg.OperationalError:
            return False
        return True

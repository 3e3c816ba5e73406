"""Database servers that are started on the spot, for a run or a test: `start_server("postgres")`.

Each kind has a file that tells where its program may be found (or fetched) and how it is started; server.py has what is
the same for all. Where none can be had, `ServerMissing` says what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from boomslang.databases.servers.cluster import Cluster
from boomslang.databases.servers.etcd import EtcdCluster, find_etcd
from boomslang.databases.servers.galera import GaleraCluster, find_galera
from boomslang.databases.servers.h2 import H2Server, find_h2, h2_versions
from boomslang.databases.servers.mysql import (
    MariaDBServer,
    MySQLServer,
    find_mariadb,
    find_mysql,
    mariadb_versions,
)
from boomslang.databases.servers.packages import ServerMissing
from boomslang.databases.servers.postgresql import PostgreSQLServer, find_postgresql, postgresql_versions
from boomslang.databases.servers.postgresql_replica import ReplicatedPostgreSQL
from boomslang.databases.servers.server import Program, Server, ServerFailed
from boomslang.errors import UsageError, did_you_mean

Find = Callable[[str | None, Path | None, bool], Program]
"""Version, folder, and whether what is not here may be fetched."""

SERVERS: Mapping[str, tuple[Find, type[Server] | type[Cluster]]] = {
    "postgres": (find_postgresql, PostgreSQLServer),
    "mariadb": (find_mariadb, MariaDBServer),
    "mysql": (find_mysql, MySQLServer),
    "h2": (find_h2, H2Server),
    "etcd": (find_etcd, EtcdCluster),
    "galera": (find_galera, GaleraCluster),
    "postgres-replica": (find_postgresql, ReplicatedPostgreSQL),
}

VERSIONS: Mapping[str, Callable[[], list[str]]] = {
    "postgres": postgresql_versions,
    "mariadb": mariadb_versions,
    "h2": h2_versions,
}
"""All versions of a server that can be had, from old to new; those of whom there are many."""


def find_server(
    kind: str, *, version: str | None = None, binaries: Path | None = None, fetch: bool = True
) -> Program:
    """The program of a server; fetches it if need be."""
    if kind not in SERVERS:
        raise UsageError(
            f"found the unknown server {kind!r}{did_you_mean(kind, SERVERS)}; expected one of {', '.join(SERVERS)}"
        )
    return SERVERS[kind][0](version, binaries, fetch)


def start_server(
    kind: str,
    *,
    version: str | None = None,
    binaries: Path | None = None,
    port: int | None = None,
    durable: bool = False,
    more: Mapping[str, Any] | None = None,
) -> Server | Cluster:
    """A server of its own, up and empty. Close it."""
    program = find_server(kind, version=version, binaries=binaries)
    return SERVERS[kind][1](program, port=port, durable=durable, **(more or {}))


__all__ = [
    "SERVERS",
    "VERSIONS",
    "Cluster",
    "Program",
    "Server",
    "ServerFailed",
    "ServerMissing",
    "find_server",
    "start_server",
]

"""Real databases to record: adapters on one interface, and servers that are started on the spot.

`find_database("sqlite")` or `find_database("postgresql://...")` opens one. An adapter is imported only when it is asked
for, and its driver only then: the extras (`pip install '.[duckdb]'`) bring them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from boomslang.databases.database import (
    Aborted,
    Connection,
    Database,
    DatabaseError,
    DriverMissing,
    Failed,
    Lost,
    Offered,
)
from boomslang.errors import UsageError, did_you_mean

ADAPTERS: Mapping[str, str] = {
    "cockroachdb": "boomslang.databases.cockroachdb:CockroachDB",
    "duckdb": "boomslang.databases.duckdb:DuckDB",
    "etcd": "boomslang.databases.etcd:Etcd",
    "foundationdb": "boomslang.databases.foundationdb:FoundationDB",
    "galera": "boomslang.databases.galera:Galera",
    "h2": "boomslang.databases.h2:H2",
    "mariadb": "boomslang.databases.mariadb:MariaDB",
    "mysql": "boomslang.databases.mysql:MySQL",
    "postgres": "boomslang.databases.postgres:PostgreSQL",
    "postgres-replica": "boomslang.databases.postgres_replica:PostgreSQLWithReplica",
    "rocksdb": "boomslang.databases.rocksdb:RocksDB",
    "slatedb": "boomslang.databases.slatedb:SlateDB",
    "sqlite": "boomslang.databases.sqlite:SQLite",
    "sqlite-shared-cache": "boomslang.databases.sqlite:SQLiteSharedCache",
    "tidb": "boomslang.databases.tidb:TiDB",
    "tikv": "boomslang.databases.tikv:TiKV",
    "turso": "boomslang.databases.turso:Turso",
    "yugabytedb": "boomslang.databases.yugabytedb:YugabyteDB",
}
"""Name on the command line -> where its `Database` is. Called with what follows the name's colon, or nothing."""

SCHEMES: Mapping[str, str] = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "cockroachdb": "cockroachdb",
    "yugabytedb": "yugabytedb",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "etcd": "etcd",
    "galera": "galera",
    "h2": "h2",
    "postgres-replica": "postgres-replica",
    "tidb": "tidb",
    "tikv": "tikv",
}
"""Scheme of an address -> name of the adapter that takes the whole address."""


def find_database(spec: str) -> Database:
    """Opens a database: a name, a name and an argument (`sqlite:FILE`), or an address (`mysql://...`)."""
    name, colon, argument = spec.partition(":")
    if colon and argument.startswith("//") and name.lower() in SCHEMES:
        name, argument = SCHEMES[name.lower()], spec
    where = ADAPTERS.get(name.lower())
    if where is None:
        known = ", ".join(sorted(ADAPTERS))
        meant = did_you_mean(name.lower(), ADAPTERS)
        raise UsageError(
            f"found the unknown database {spec!r}{meant}; expected one of {known}, or an address"
        )
    module, _, attribute = where.partition(":")
    adapter = getattr(importlib.import_module(module), attribute)
    opened: Database = adapter(argument) if argument else adapter()
    return opened


__all__ = [
    "ADAPTERS",
    "SCHEMES",
    "Aborted",
    "Connection",
    "Database",
    "DatabaseError",
    "DriverMissing",
    "Failed",
    "Lost",
    "Offered",
    "find_database",
]

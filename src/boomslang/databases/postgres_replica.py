"""PostgreSQL with a streaming replica that half of the sessions read from.

`postgres-replica` starts both; `postgres-replica://user@primary,replica/db` is somebody's. Sessions are dealt out over
the two as over any nodes. One on the replica can only read: a transaction that writes fails there (25006) and is
aborted, so choose a load with transactions that only read (`blindw-rw`, `bank`). With `synchronous=yes` each commit
waits until the replica has applied it.

A replica has no serializable ("cannot use serializable mode in a hot standby"): it is asked for repeatable read then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from boomslang.databases.database import Aborted, Failed, Offered
from boomslang.databases.postgres import PostgresConnection, PostgreSQL
from boomslang.errors import UsageError

CATCH_UP = 60.0
"""Seconds in which the replica must have applied what was prepared on the primary."""
_CAVEATS = "postgresql.org/docs/current/hot-standby.html: eventually consistent with the primary"


class PostgreSQLWithReplica(PostgreSQL):
    name = "postgres-replica"
    title = "PostgreSQL with a replica"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read committed", "rc", note=_CAVEATS),
            Offered("repeatable read", "si", note=_CAVEATS),
            Offered(
                "serializable",
                "ser",
                note="of the primary; the replica has repeatable read at most (the same page)",
            ),
        )
    }
    default_level = "repeatable read"
    server_kind = "postgres-replica"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **PostgreSQL.options_known,
        "synchronous": ("no", "yes"),
    }

    def server_options(self) -> dict[str, Any]:
        return {"synchronous": self.options["synchronous"] == "yes"}

    def prepare(self, initial: Mapping[str, str]) -> None:
        """The table is made on the primary; a session on the replica must find it, with all that it holds initially."""
        super().prepare(initial)
        primary, *replicas = (self.connect_at(dsn) for dsn in self.dsns)
        try:
            written = primary.run("SELECT pg_current_wal_lsn()").fetchone()[0]
            end = time.monotonic() + CATCH_UP
            for replica in replicas:
                while not replica.run("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written).fetchone()[0]:
                    if time.monotonic() > end:
                        raise UsageError(f"a replica did not follow its primary within {CATCH_UP:.0f} s")
                    time.sleep(0.02)
        except (Aborted, Failed) as problem:
            raise UsageError(f"cannot tell whether the replica follows its primary: {problem}") from None
        finally:
            for connection in (primary, *replicas):
                connection.close()

    def connect_at(self, dsn: str) -> PostgresConnection:
        connection = super().connect_at(dsn)
        if dsn != self.dsn:
            connection.__class__ = ReplicaConnection
        return connection


class ReplicaConnection(PostgresConnection):
    def begin(self, level: str) -> None:
        super().begin("repeatable read" if level == "serializable" else level)

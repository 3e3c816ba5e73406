"""PostgreSQL with a streaming replica: a primary, and a copy of it that follows its log and can be read from.

`synchronous` has each commit wait until the replica has applied it (`synchronous_commit = remote_apply`). The replica
reaches the primary through a forwarder (forwarder.py), so that the two can be cut off from each other, whichever of
them is named; clients reach both all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from boomslang.databases.server_database import import_driver
from boomslang.databases.servers.cluster import Cluster
from boomslang.databases.servers.forwarder import Forwarder
from boomslang.databases.servers.postgresql import PostgreSQLServer
from boomslang.databases.servers.server import HOST, Program


class Primary(PostgreSQLServer):
    synchronous = False

    def command(self) -> list[str]:
        settings = {"wal_level": "replica", "max_wal_senders": 4, "hot_standby": "on"}
        if self.synchronous:
            settings |= {"synchronous_standby_names": "*", "synchronous_commit": "remote_apply"}
        return [
            *super().command(),
            *(word for pair in settings.items() for word in ("-c", f"{pair[0]}={pair[1]}")),
        ]

    def followers(self) -> int:
        """How many replicas follow its log at the moment; none if it does not answer."""
        psycopg = import_driver("psycopg", self.title, "postgres")
        with (
            suppress(psycopg.Error),
            psycopg.connect(self.dsn, connect_timeout=2, autocommit=True) as connection,
        ):
            asked = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
            return int(connection.execute(asked).fetchone()[0])
        return 0


class Replica(Primary):
    def __init__(self, program: Program, primary: Primary, door: int, **more: Any) -> None:
        self.primary, self.door = primary, door
        super().__init__(program, **more)

    def initialise(self) -> None:
        self.password = self.primary.password
        tool = self.program.binary.with_name("pg_basebackup")
        self.run(
            tool, "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d", self.primary.dsn_at(self.door)
        )

    def ready(self) -> bool:
        return self._takes_logins()


class ReplicatedPostgreSQL(Cluster):
    title = "PostgreSQL with a replica"
    clocks = True
    cuts = True
    forwarder: Forwarder | None = None

    def __init__(
        self,
        program: Program,
        *,
        port: int | None = None,
        durable: bool = False,
        synchronous: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(program)
        with self.coming_up():
            primary = Primary(program, port=port, durable=durable, settings=settings)
            self.nodes.append(primary)
            self.forwarder = Forwarder([primary.port], list)
            door = self.forwarder.ports[0]
            self.nodes.append(Replica(program, primary, door, durable=durable, settings=settings))
            if synchronous:  # only now, or nothing could be committed before there is a replica
                primary.synchronous = True
                primary.restart()

    @property
    def dsn(self) -> str:
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"postgresql://boomslang:{self.nodes[0].password}@{hosts}/postgres"

    def cut(self, node: int) -> None:
        if self.forwarder is not None:
            self.forwarder.cut(0)

    def join(self, node: int) -> None:
        if self.forwarder is not None:
            self.forwarder.join(0)

    def close(self) -> None:
        super().close()
        if self.forwarder is not None:
            self.forwarder.close()

    def healthy(self) -> bool:
        primary = self.nodes[0]
        assert isinstance(primary, Primary)
        return all(node.ready() for node in self.nodes) and primary.followers() == len(self.nodes) - 1

"""PostgreSQL with a streaming replica: a primary, and a copy of it that follows its log and can be read from.

`synchronous` has each commit wait until the replica has applied it (`synchronous_commit = remote_apply`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boomslang.databases.servers.cluster import Cluster
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


class Replica(Primary):
    def __init__(self, program: Program, primary: Primary, **more: Any) -> None:
        self.primary = primary
        super().__init__(program, **more)

    def initialise(self) -> None:
        self.password = self.primary.password
        tool = self.program.binary.with_name("pg_basebackup")
        self.run(tool, "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d", self.primary.dsn)

    def ready(self) -> bool:
        return self._takes_logins()


class ReplicatedPostgreSQL(Cluster):
    title = "PostgreSQL with a replica"
    clocks = True

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
            self.nodes.append(Replica(program, primary, durable=durable, settings=settings))
            if synchronous:  # only now, or nothing could be committed before there is a replica
                primary.synchronous = True
                primary.restart()

    @property
    def dsn(self) -> str:
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"postgresql://boomslang:{self.nodes[0].password}@{hosts}/postgres"

    def healthy(self) -> bool:
        return all(isinstance(node, Primary) and node.ready() for node in self.nodes)

"""A cluster of three MariaDB servers that replicate to each other with Galera, from the system's or Debian's packages.

The first node is made as any MariaDB is and begins the cluster; the others begin with an empty folder and get all of
its data by rsync (`skip` would leave them waiting for ever). To cut a node off Galera itself is told to stop listening
to the others (`gmcast.isolate`, an option of its provider that was made for tests).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from boomslang.databases.server_database import import_driver
from boomslang.databases.servers.cluster import Cluster
from boomslang.databases.servers.mysql import MariaDBServer, find_mariadb
from boomslang.databases.servers.packages import ServerMissing
from boomslang.databases.servers.server import HOST, Program, free_port

NODES = 3
PROVIDERS = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
INSTALL = "apt install mariadb-server galera-4 rsync"
TOOLS = ("rsync", "wsrep_sst_rsync", "my_print_defaults")


def find_galera(version: str | None, binaries: Path | None, fetch: bool) -> Program:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if not any(Path(place).exists() for place in PROVIDERS):
        missing.append("libgalera_smm.so")
    if missing:
        raise ServerMissing(
            f"a Galera cluster needs {', '.join(missing)}: {INSTALL}",
            fix=INSTALL,
        )
    return find_mariadb(version, binaries, fetch)


class GaleraNode(MariaDBServer):
    title = "MariaDB with Galera"

    def __init__(
        self, program: Program, number: int, ports: list[int], first: GaleraNode | None, **more: Any
    ) -> None:
        self.number, self.ports, self.first = number, ports, first
        self.transfers = (free_port(), free_port())
        self.was_up = False
        super().__init__(program, **more)

    def initialise(self) -> None:
        if self.first is None:
            super().initialise()
        else:
            self.password = self.first.password

    def start(self) -> None:
        super().start()
        self.was_up = True

    def command(self) -> list[str]:
        others = [port for n, port in enumerate(self.ports) if n != self.number]
        provider = next(place for place in PROVIDERS if Path(place).exists())
        options = {
            "gmcast.listen_addr": f"tcp://{HOST}:{self.ports[self.number]}",
            "ist.recv_addr": f"{HOST}:{self.transfers[0]}",
            "gcache.size": "64M",
            # Who is silent is noticed within a second or two, so that a run of a minute sees it.
            "evs.keepalive_period": "PT0.5S",
            "evs.suspect_timeout": "PT2S",
            "evs.inactive_timeout": "PT4S",
            "evs.inactive_check_period": "PT0.5S",
        }
        settings = {
            "wsrep-on": "ON",
            "wsrep-provider": provider,
            "wsrep-cluster-name": "boomslang",
            "wsrep-cluster-address": f"gcomm://{','.join(f'{HOST}:{port}' for port in others)}",
            "wsrep-node-name": f"node{self.number + 1}",
            "wsrep-node-address": HOST,
            "wsrep-node-incoming-address": f"{HOST}:{self.port}",
            "wsrep-sst-method": "rsync",
            "wsrep-sst-receive-address": f"{HOST}:{self.transfers[1]}",
            "wsrep-provider-options": ";".join(f"{name}={value}" for name, value in options.items()),
            "binlog-format": "ROW",
            "innodb-autoinc-lock-mode": 2,
        }
        begins = self.first is None and not self.was_up
        plain = [word for word in super().command() if begins or not word.startswith("--init-file")]
        return [
            *plain,
            *(f"--{name}={value}" for name, value in settings.items()),
            *["--wsrep-new-cluster"] * begins,
        ]

    def ready(self) -> bool:
        return super().ready() and self.status("wsrep_ready") == "ON"

    def status(self, name: str) -> str:
        """One of the server's status variables; empty if it does not answer."""
        rows = self.ask(f"SHOW GLOBAL STATUS LIKE '{name}'")
        return str(rows[0][1]) if rows else ""

    def ask(self, statement: str) -> Any:
        pymysql = import_driver("pymysql", self.title, "mysql")
        with suppress(pymysql.err.Error, OSError):
            connection = pymysql.connect(
                host=HOST, port=self.port, user="boomslang", password=self.password,
                connect_timeout=2, read_timeout=5, autocommit=True, init_command="SET wsrep_sync_wait = 0",
            )  # fmt: skip
            try:
                cursor = connection.cursor()
                cursor.execute(statement)
                return cursor.fetchall()
            finally:
                connection.close()
        return ()


class GaleraCluster(Cluster):
    title = "MariaDB with Galera"
    cuts = True
    clocks = True

    def __init__(
        self,
        program: Program,
        *,
        port: int | None = None,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(program)
        ports = [free_port() for _ in range(NODES)]
        with self.coming_up():
            for number in range(NODES):
                first = self.nodes[0] if self.nodes else None
                assert first is None or isinstance(first, GaleraNode)
                at = port if first is None else None
                made = GaleraNode(program, number, ports, first, port=at, durable=durable, settings=settings)
                self.nodes.append(made)

    @property
    def dsn(self) -> str:
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"galera://boomslang:{self.nodes[0].password}@{hosts}/test"

    def cut(self, node: int) -> None:
        self._isolate(node, 1)

    def join(self, node: int) -> None:
        self._isolate(node, 0)

    def _isolate(self, node: int, how: int) -> None:
        each = self.nodes[node]
        assert isinstance(each, GaleraNode)
        each.ask(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={how}'")

    def healthy(self) -> bool:
        states = [(node.status("wsrep_cluster_size"), node.status("wsrep_local_state_comment"))
                  for node in self.nodes if isinstance(node, GaleraNode)]  # fmt: skip
        return all(state == (str(NODES), "Synced") for state in states)

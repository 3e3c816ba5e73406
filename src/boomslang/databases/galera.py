"""MariaDB with Galera: a cluster each of whose nodes takes writes, and which lets the first of two win at commit.

`galera` starts three nodes for the run; `galera://user:password@a:3306,b:3306/db` is somebody's. On one node the levels
are InnoDB's. Between nodes only writes are compared, when a transaction commits: what it read is not, so nothing more
than snapshot isolation can come of it, at SERIALIZABLE too; and a node may be behind the others, so reads may be old,
unless `sync=1` (or the setting, `set=wsrep_sync_wait=1`) has each read wait for what was committed before it: then
repeatable read promises that no read is old (`strong-si`).

A node that has lost the others answers 1047 to everything: the connection is of no use until it is back, so it counts
as lost. A certification that failed is 1213, at COMMIT or before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.mariadb import MariaDB
from boomslang.databases.mysql import GONE, MySQLConnection

SYNC = "wsrep_sync_wait"
READS = 1
"""The bit of it that has reads, and the beginnings of transactions, wait."""
_MANUAL = "mariadb.com/docs/galera-cluster, known limitations"


class Galera(MariaDB):
    name = "galera"
    title = "MariaDB with Galera"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read uncommitted", "ru"),
            Offered("read committed", "rc"),
            Offered(
                "repeatable read",
                "si",
                ("mariadb-repeatable-read",),
                note=f"{_MANUAL}: on one node as InnoDB; between nodes the first to commit wins",
            ),
            Offered(
                "serializable", "ser", note="as the level is called; only writes are compared between nodes"
            ),
        )
    }
    server_kind = "galera"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **MariaDB.options_known,
        "sync": ("0", "1", "7"),
    }
    gone = GONE | {1047}

    def settings_of_options(self) -> dict[str, str]:
        sync = self.options["sync"]
        return {**super().settings_of_options(), **({} if sync == "0" else {SYNC: sync})}

    def lock_name(self, connection: MySQLConnection, number: int) -> bool:
        connection.run("SET SESSION wsrep_on = OFF")  # the lock is the node's own, and Galera would refuse it
        return super().lock_name(connection, number)

    def promised(self, offered: Offered) -> Offered:
        offered = super().promised(offered)
        waits = {**self.settings_of_options(), **self.settings}.get(SYNC, "0")
        if offered.promises != "si" or not (waits.isdecimal() and int(waits) & READS):
            return offered
        note = f"{offered.note}; {SYNC}={waits}: reads wait for what was committed before them"
        return replace(offered, promises="strong-si", note=note)

    def version(self) -> str:
        return f"{super().version()} with {len(self.dsns)} nodes"

"""TiDB: MySQL's protocol over a store of its own, with two kinds of transactions.

A pessimistic one locks as it goes and is like MySQL's: locking reads and writes see the newest state. An optimistic one
buffers its writes and learns at COMMIT whether another was first: that is snapshot isolation, and the errors that tell
(9007 and its kin, "can be retried") are aborts. When TiDB does not know the outcome it closes the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.mysql import CONFLICT, MySQL, MySQLConnection

_OPTIMISTIC = "optimistic "


class TiDB(MySQL):
    name = "tidb"
    title = "TiDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read committed", "rc", note="pessimistic"),
            Offered(
                "repeatable read",
                "si",
                ("mariadb-repeatable-read",),
                note="pessimistic: locking reads and writes see the newest state",
            ),
            Offered("optimistic repeatable read", "si", note="conflicts show at COMMIT"),
        )
    }
    default_level = "repeatable read"
    server_kind = None
    conflicts = CONFLICT | {8002, 8005, 8022, 8028, 9007}
    """Conflicts with other writers, with a locking read, and with a change of the table; and "can be retried"."""

    def connection(self, driver: Any) -> MySQLConnection:
        return TiDBConnection(driver, self.conflicts, self.options["writes"])

    def version(self) -> str:
        return f"TiDB {super().version().rpartition('TiDB-')[2]}"  # behind the MySQL that it says to be


class TiDBConnection(MySQLConnection):
    def begin(self, level: str) -> None:
        kind = "OPTIMISTIC" if level.startswith(_OPTIMISTIC) else "PESSIMISTIC"
        name = level.removeprefix(_OPTIMISTIC)
        if name != self._level:
            self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {name.upper()}")
            self._level = name
        self.run(f"BEGIN {kind}")

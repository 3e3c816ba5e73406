"""TiDB: MySQL's protocol over a store of its own, with two kinds of transactions.

A pessimistic one locks as it goes and is like MySQL's: locking reads and writes see the newest state. An optimistic one
buffers its writes and learns at COMMIT whether another was first: that is snapshot isolation, and the errors that tell
(9007 and its kin, "can be retried") are aborts. When TiDB does not know the outcome it closes the connection.

Deletes. TiDB's rules are about *rows*: a transaction that inserts a key and deletes it again has written no row, so
whoever writes the key at the same time is not refused. As a store of keys and values that would be a lost update, and
it is not what TiDB promises. So a delete sets the value to NULL, and a key keeps its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.mysql import CONFLICT, MySQL, MySQLConnection
from boomslang.databases.server_database import TABLE, making_table

APPEND = (
    f"INSERT INTO {TABLE} (k, v) VALUES (%s, %s) "
    "ON DUPLICATE KEY UPDATE v = CONCAT(IFNULL(CONCAT(v, ','), ''), VALUES(v)), n = n + 1"
)
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

    def prepare(self, initial: Mapping[str, str]) -> None:
        super().prepare(initial)
        with making_table(self.connect(), self.title) as connection:
            connection.run(f"ALTER TABLE {TABLE} MODIFY v LONGBLOB NULL")

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

    def _one(self, statement: str, key: str) -> str | None:
        row = self.run(statement, key.encode()).fetchone()
        return None if row is None or row[0] is None else row[0].decode()

    def append(self, key: str, element: str) -> None:
        self.run(APPEND, key.encode(), element.encode())

    def delete(self, key: str) -> bool:
        keep = f"UPDATE {TABLE} SET v = NULL, n = n + 1 WHERE k = %s AND v IS NOT NULL"
        return bool(self.run(keep, key.encode()).rowcount)

    def _page(self, bounds: list[tuple[str, str | None]], limit: int | None = None) -> list[tuple[str, str]]:
        given = [(sign, bound) for sign, bound in bounds if bound is not None]
        said = " AND ".join(["v IS NOT NULL", *(f"k {sign} %s" for sign, _ in given)])
        rows = self.run(
            f"SELECT k, v FROM {TABLE} WHERE {said} ORDER BY k" + (f" LIMIT {limit}" if limit else ""),
            *(bound.encode() for _, bound in given),
        ).fetchall()
        return [(key.decode(), value.decode()) for key, value in rows]

"""MariaDB: as MySQL in all that a client can see here.

From 11.6.2 on `innodb_snapshot_isolation` is on by default: at repeatable read, a write to what has changed since the
snapshot ends with 1020 and the transaction is rolled back: an abort, as any error that is not known is.
"""

from __future__ import annotations

from boomslang.databases.mysql import MySQL


class MariaDB(MySQL):
    name = "mariadb"
    title = "MariaDB"
    server_kind = "mariadb"

"""MariaDB: as MySQL in all that a client can see here.

From 11.6.2 on `innodb_snapshot_isolation` is on by default: at repeatable read, a write to what has changed since the
snapshot ends with 1020 and the transaction is rolled back: an abort, as any error that is not known is. The option
`snapshot_isolation` turns it on or off, whatever the version's default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from boomslang.databases.mysql import MySQL


class MariaDB(MySQL):
    name = "mariadb"
    title = "MariaDB"
    server_kind = "mariadb"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **MySQL.options_known,
        "snapshot_isolation": ("default", "off", "on"),
    }

    def settings(self) -> Iterator[str]:
        yield from super().settings()
        if (chosen := self.options["snapshot_isolation"]) != "default":
            yield f"innodb_snapshot_isolation = {chosen.upper()}"

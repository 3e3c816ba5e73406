"""MariaDB: as MySQL in all that a client can see here.

From 11.6.2 on `innodb_snapshot_isolation` is on by default: at repeatable read, a write to what has changed since the
snapshot ends with 1020 and the transaction is rolled back: an abort, as any error that is not known is. The option
`snapshot_isolation` turns it on or off, whatever the version's default, and so does the setting of that name. Where it
was turned on, repeatable read promises snapshot isolation without any exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.mysql import MySQL
from boomslang.databases.settings import is_on

SNAPSHOTS = "innodb_snapshot_isolation"


class MariaDB(MySQL):
    name = "mariadb"
    title = "MariaDB"
    server_kind = "mariadb"
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **MySQL.options_known,
        "snapshot_isolation": ("default", "off", "on"),
    }

    def settings_of_options(self) -> dict[str, str]:
        chosen = self.options["snapshot_isolation"]
        said = {} if chosen == "default" else {SNAPSHOTS: chosen.upper()}
        return {**super().settings_of_options(), **said}

    def promised(self, offered: Offered) -> Offered:
        if offered.name != "repeatable read":
            return offered
        if not is_on({**self.settings_of_options(), **self.settings}.get(SNAPSHOTS)):
            return offered
        return replace(offered, modules=(), note=f"{SNAPSHOTS}=ON: snapshot isolation, for writes too")

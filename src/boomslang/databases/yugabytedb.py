"""YugabyteDB (YSQL): PostgreSQL's protocol and, as far as a client can see, its rules for what an error means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.postgres import PostgreSQL


class YugabyteDB(PostgreSQL):
    name = "yugabytedb"
    title = "YugabyteDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read committed", "rc", note="where it is switched off, repeatable read"),
            Offered("repeatable read", "si"),
            Offered("serializable", "ser"),
        )
    }
    server_kind = None
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {}

"""CockroachDB: PostgreSQL's protocol, and rules of its own.

A transaction that lost to another ends with 40001, "restart transaction", at any statement and at COMMIT: an abort.
40003, "result is ambiguous", is what it says: unknown. Its strings are ordered by their bytes without being told to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from boomslang.databases.database import Offered
from boomslang.databases.postgres import PostgreSQL


class CockroachDB(PostgreSQL):
    name = "cockroachdb"
    title = "CockroachDB"
    levels: ClassVar[Mapping[str, Offered]] = {
        each.name: each
        for each in (
            Offered("read committed", "rc", note="since 23.2; where it is switched off, serializable"),
            Offered("serializable", "ser"),
        )
    }
    server_kind = None
    options_known: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    key_type = "TEXT"

"""How each database tells its schema. A catalog is a generator: it yields a query, is sent the rows, and returns a
`Schema`; so plain and asyncio connections share it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

from boomslang.record.sql.schema import Schema

Asking = Generator[str, Sequence[Sequence[Any]], Schema]

DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")


def catalog(dialect: str) -> Asking:
    read = importlib.import_module(f"boomslang.record.sql.catalogs.{dialect}").read
    return cast("Callable[[], Asking]", read)()

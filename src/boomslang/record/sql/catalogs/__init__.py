"""How each database tells its schema. A catalog is a generator: it yields a query, is sent the rows, and returns a
`Schema`; so plain and asyncio connections share it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, cast

from boomslang.record.sql.schema import Schema

Asking = Generator[str, Sequence[Sequence[Any]], Schema]

DIALECTS = ("postgres", "mysql", "sqlite", "duckdb")


def catalog(dialect: str) -> Asking:
    """Asks for the schema."""
    return cast("Callable[[], Asking]", _module(dialect).read)()


ODD_MODES = re.compile(
    r"ansi|no_backslash|pipes_as|high_not|empty_string|oracle|mssql|db2|postgresql|maxdb|=\s*@(?!@)|\bdefault\b",
    re.IGNORECASE,
)
"""In a SET sql_mode, or in its value: quotes, backslashes, signs or empty strings may mean something else."""
FAILS = "fails"
"""Another one: a trigger may end a statement and keep what it has done (SQLite's RAISE(FAIL))."""
STRANGE = "strange"
"""Among a schema's options: texts mean something else on the connection that it was read on."""


def identity(
    dialect: str,
) -> Generator[str, Sequence[Sequence[Any]], tuple[str, tuple[str, ...] | None, bool]]:
    """Asks which database this is; which schemas a name is looked for in (None: the same in every connection); and
    whether texts mean something else on this connection, by its settings or by temporary tables."""
    module = _module(dialect)
    rows = yield module.DATABASE
    path = module.path(rows) if hasattr(module, "path") else None
    return cast(str, module.database(rows)), path, bool(module.strange(rows))


def isolation(dialect: str) -> Generator[str, Sequence[Sequence[Any]], str | None]:
    """Asks for the connection's isolation level, in lower case; None: there is but one."""
    query = getattr(_module(dialect), "ISOLATION", None)
    if query is None:
        return None
    rows = yield query
    found = rows[0][-1] if rows and rows[0] else ""
    text = found.decode(errors="replace") if isinstance(found, bytes) else str(found)
    return text.lower().replace("-", " ")


def _module(dialect: str) -> Any:
    return importlib.import_module(f"boomslang.record.sql.catalogs.{dialect}")

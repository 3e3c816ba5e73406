"""A table of two columns is a key-value store: the statements of embedded SQL databases, the same for all of them.

What differs from one to the next is how transactions begin and end and what their errors mean; that is in the adapters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from boomslang.databases.database import Connection

TABLE = "boomslang"
DROP = f"DROP TABLE IF EXISTS {TABLE}"
LOAD = f"INSERT INTO {TABLE} VALUES (?, ?)"
GET = f"SELECT value FROM {TABLE} WHERE key = ?"
PUT = f"{LOAD} ON CONFLICT (key) DO UPDATE SET value = excluded.value"
APPEND = f"{LOAD} ON CONFLICT (key) DO UPDATE SET value = {TABLE}.value || ',' || excluded.value"
DELETE = f"DELETE FROM {TABLE} WHERE key = ? RETURNING key"


def select(lo: str | None, hi: str | None, after: str | None = None) -> tuple[str, list[str]]:
    """The statement that asks for a range in order of its keys, and what to put into it."""
    bounds = [("key >= ?", lo), ("key < ?", hi), ("key > ?", after)]
    asked = [(text, bound) for text, bound in bounds if bound is not None]
    where = f" WHERE {' AND '.join(text for text, _ in asked)}" if asked else ""
    return f"SELECT key, value FROM {TABLE}{where} ORDER BY key", [bound for _, bound in asked]


class SqlConnection(Connection):
    """A session that speaks SQL with `?` for parameters."""

    @abstractmethod
    def ask(self, sql: str, parameters: Sequence[str] = ()) -> list[Any]:
        """Runs a statement inside the transaction; all the rows it returns."""

    def get(self, key: str) -> str | None:
        rows = self.ask(GET, (key,))
        return rows[0][0] if rows else None

    def put(self, key: str, value: str) -> None:
        self.ask(PUT, (key, value))

    def append(self, key: str, element: str) -> None:
        self.ask(APPEND, (key, element))

    def delete(self, key: str) -> bool:
        return bool(self.ask(DELETE, (key,)))

    def scan(self, lo: str | None, hi: str | None) -> list[tuple[str, str]]:
        return [(key, value) for key, value in self.ask(*select(lo, hi))]

    def iterator(self, lo: str | None, hi: str | None) -> Iterator[tuple[str, str]]:
        """One statement a pair. For databases whose cursors do not outlive the next statement."""
        last: str | None = None
        while True:
            sql, parameters = select(lo, hi, last)
            rows = self.ask(f"{sql} LIMIT 1", parameters)
            if not rows:
                return
            last = rows[0][0]
            yield last, rows[0][1]

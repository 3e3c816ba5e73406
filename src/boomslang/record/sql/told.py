"""What one statement tells: operations of the trace, what it may have changed that nobody knows, and why it is not all.

A *taint* names what was written without it being known what: everything, a table, a column, or one cell. It goes into
the trace, and whoever reads the trace leaves out all reads of it (trace/coverage.py). A cell is enough where the row is
known.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from boomslang.record.sql.rows import Key, cell_key
from boomslang.record.sql.schema import Reach, Table
from boomslang.record.statements import Record


@dataclass(frozen=True)
class Answer:
    """What came back: all rows, how many were found (-1: nobody says, -2: changed none, and nobody knows how many
    were found), and the key that was generated last."""

    rows: list[tuple[Any, ...]]
    count: int
    last: Any = None


@dataclass
class Told:
    records: list[Record] = field(default_factory=list)
    taints: list[str] = field(default_factory=list)
    """Prefixes of keys: `*`, `orders[`, `orders[].total` for a column, or a whole key."""
    why: str | None = None
    """What is not recorded of it, and why."""
    partly: bool = False
    """But some of it is."""

    def taint(self, reaches: Collection[Reach]) -> None:
        if not reaches:
            return
        for reach in sorted(reaches, key=lambda one: (one.table, one.columns)):
            self.taints.extend(taints_of(reach))

    def unknown_cell(self, table: Table, key: Key, column: str) -> None:
        self.taints.append(cell_key(table, key, column))


def taints_of(reach: Reach) -> list[str]:
    if reach.table == "*":
        return ["*"]
    if not reach.columns:
        return [f"{reach.table}[]"]
    return [f"{reach.table}[].{column}" for column in reach.columns]


def left_out(why: str) -> Told:
    return Told(why=why)

"""What a recorder must know of a database's tables to understand statements: read by catalogs/ when recording starts.

A row is its primary key; each column of it is a key of the trace. What a column's type does to a value on its way in
and out is `kind` (labels.py has a rule for each). What the database does behind a statement's back is here too:
columns it computes, triggers, cascades. Where any of that cannot be foreseen, the column or the table is *silent*: it
is never recorded, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


class UnknownType:
    """A value that nobody can know from the statement."""

    def __repr__(self) -> str:
        return "Unknown"


Unknown = UnknownType()

EVERYTHING = "*"
"""In place of a table: all of them."""


@dataclass(frozen=True)
class Column:
    """A column. `exact`: what the database calls equal has one label (no case or accent is overlooked). `ordered`: and
    it orders as the trace does."""

    name: str
    kind: str
    exact: bool = True
    ordered: bool = True
    overlooks: frozenset[str] | None = None
    """Of a primary key that is not exact, what makes no other row: `case`, `blanks` at the end. None: nobody knows."""
    required: bool = False
    """It is never NULL: who writes NULL gets an error, or something else is written."""
    length: int | None = None
    """Characters of text, or bytes."""
    scale: int | None = None
    """Digits behind the point, of a decimal or of seconds."""
    range: tuple[int, int] | None = None
    members: frozenset[str] | None = None
    default: Any = None
    """What an INSERT that does not name it writes: a value, or Unknown."""
    generated: bool = False
    """Its default is a number that the database gives out, which drivers tell (lastrowid)."""
    silent: str | None = None
    """Why it is never recorded."""


@dataclass(frozen=True)
class Reach:
    """What a write may change elsewhere: a table, or some of its columns."""

    table: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    name: str
    """As in the trace's keys."""
    columns: Mapping[str, Column]
    """In the order of SELECT *."""
    key: tuple[str, ...]
    """The columns of the primary key."""
    other_unique: bool = False
    """Something beside the primary key is unique."""
    silent: str | None = None
    """Why nothing of it is recorded."""
    hides: bool = False
    """Rows may be there and not be shown (row security)."""
    triggered: frozenset[Reach] = frozenset()
    """What triggers may change when something is written; the table itself included."""
    on_delete: frozenset[Reach] = frozenset()
    """What cascades change when a row is deleted."""
    on_update: frozenset[Reach] = frozenset()
    """What they change when something is that others refer to."""
    referred_by: frozenset[str] = frozenset()
    """The tables that a TRUNCATE ... CASCADE empties with it."""
    runs: bool = False
    """A view that calls a function of somebody's: who reads it may write."""
    readable: bool = True
    """This user may read it."""
    positions: tuple[str, ...] | None = None
    """The columns that an INSERT without names gives, in order, if not all."""

    def column(self, name: str, quoted: bool = True) -> Column | None:
        """By its name, as databases look it up: exactly, else whatever the case."""
        found = self.columns.get(name)
        if found is not None:
            return found
        low = name.lower()
        return next((c for c in self.columns.values() if c.name.lower() == low), None)

    @property
    def told(self) -> list[Column]:
        """The columns that the trace has keys for."""
        return [c for c in self.columns.values() if c.silent is None and c.name not in self.key]


@dataclass
class Schema:
    """All tables of a database, and how names find them."""

    dialect: str
    database: str
    """Which one this is: a trace is of one database."""
    path: tuple[str, ...]
    """The namespaces in which a bare name is looked for, in this order."""
    home: str
    """The namespace that is not told in keys."""
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    routines: frozenset[str] = frozenset()
    """Functions that somebody has written, in lower case: they may do anything."""
    options: frozenset[str] = frozenset()
    """What else matters: see catalogs/."""

    def find(self, name: str, space: str = "", quoted: bool = True) -> Table | None:
        for where in (space,) if space else self.path:
            found = self.tables.get((where, name))
            if (
                found is None and self.dialect != "postgres"
            ):  # there names have their case once they are parsed
                low = (where.lower(), name.lower())
                found = next((t for (s, n), t in self.tables.items() if (s.lower(), n.lower()) == low), None)
            if found is not None:
                return found
        return None

    def full_name(self, space: str, name: str) -> str:
        """A table's name in keys; `[` would end it there."""
        told = name if space == self.home else f"{space}.{name}"
        return told.replace("[", "(")

    def add(self, space: str, name: str, columns: Mapping[str, Column], **parts: Any) -> None:
        """A column without a rule for its values is silent, and so is a table whose primary key has such a one."""
        from boomslang.record.sql.labels import RULES

        kept = {
            column.name: column
            if column.kind in RULES or column.silent
            else replace(column, silent=f"values {column.kind}")
            for column in columns.values()
        }
        table = Table(self.full_name(space, name), kept, **parts)
        odd = next((kept[part].silent for part in table.key if kept[part].silent), None)
        if odd is None and any(not kept[part].exact and kept[part].overlooks is None for part in table.key):
            odd = "a collation of which it is not known what it takes for equal"
        self.tables[space, name] = (
            replace(table, silent=f"a primary key with {odd}") if odd and not table.silent else table
        )


def all_reached(schema: Schema, first: Iterable[Reach]) -> frozenset[Reach]:
    """What cascades reach in the end: rows that go take others with them."""
    by_name = {table.name: table for table in schema.tables.values()}
    found: set[Reach] = set()
    ahead = list(first)
    while ahead:
        one = ahead.pop()
        if one in found:
            continue
        found.add(one)
        if one.table == EVERYTHING:
            return frozenset((one,))
        table = by_name.get(one.table)
        if table is not None:
            ahead.extend(table.triggered)
            keyed = any(name in table.key for name in one.columns)
            if keyed:  # a row whose primary key changes is another row
                ahead.append(Reach(one.table))
            if not one.columns:
                ahead.extend(table.on_delete)
            if keyed or not one.columns or table.other_unique:  # what others may refer to
                ahead.extend(table.on_update)
    return frozenset(found)

"""Which table's column a name in a statement is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from boomslang.record.sql.schema import Column, Schema, Table


@dataclass(frozen=True, eq=False)
class Source:
    """A table of a FROM, under the name it has there. `table`: None if it is not known."""

    alias: str
    table: Table | None
    optional: bool = False
    """An outer join may give a row without it."""


@dataclass(frozen=True, eq=False)
class Scope:
    sources: tuple[Source, ...]
    complete: bool = True
    """There is nothing else that a bare name could mean."""
    _found: dict[int, tuple[Any, tuple[Source, Column] | None]] = field(default_factory=dict, repr=False)
    """By the node's identity, and beside the node itself, which keeps its identity from being another's."""

    def find(self, node: Any) -> tuple[Source, Column] | None:
        """The column that a node names; None if that is not certain."""
        known = self._found.get(id(node))
        if known is None:
            known = self._found[id(node)] = (node, self._find(node))
        return known[1]

    def _find(self, node: Any) -> tuple[Source, Column] | None:
        from sqlglot import exp

        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        wanted = node.table
        if wanted:
            sources = [s for s in self.sources if s.alias.lower() == wanted.lower()]
        elif self.complete and all(s.table is not None for s in self.sources):
            sources = list(self.sources)
        else:
            return None
        found = [
            (source, column)
            for source in sources
            if source.table is not None and (column := source.table.column(node.name)) is not None
        ]
        return found[0] if len(found) == 1 else None


def table_of(node: Any, schema: Schema) -> Table | None:
    """The table that a node of the tree names."""
    if node.args.get("catalog"):
        return None
    return schema.find(node.name, node.db)


def alias_of(node: Any) -> str:
    return str(node.alias or node.name)


def only(node: Any, *names: str) -> bool:
    """Has a node no arguments but these? What else a parser may put there would change what it means."""
    for name, value in node.args.items():  # noqa: SIM110 - as a generator it takes twice as long
        if value and name not in names and name.rstrip("_") not in names:
            return False
    return True


def part(tree: Any, name: str) -> Any:
    """An argument of a node whose name Python reserves: sqlglot has changed how it spells these."""
    return tree.args.get(f"{name}_") or tree.args.get(name)

"""Statements by primary key, put into words at once.

Most of what applications send names one row by its primary key: SELECT ... WHERE id = ?, UPDATE ... SET n = ? WHERE
id = ?, DELETE. What these tell does not depend on much, so it is found out once for a text: which parameter is the
key, which are values, what the lines of the trace look like around them. A plan then turns parameters and an answer
into these lines, in a fraction of the time; whatever is not as it expects (a value that cannot be said, two rows, no
row of an UPDATE) it leaves to the long way (selects.py, writes.py), by returning None. The lines are the same, to the
letter: tests/record/test_sql_plans.py has both ways write a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from boomslang.record.json_text import quoted, text_of
from boomslang.record.sql.conditions import Parts, blank
from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.literals import constant
from boomslang.record.sql.rows import row_key
from boomslang.record.sql.schema import Column, Table, Unknown
from boomslang.record.sql.scope import Source, only
from boomslang.record.sql.text import Parsed

if TYPE_CHECKING:
    from boomslang.record.sql.selects import Select
    from boomslang.record.sql.writes import Delete, Update


class Line(NamedTuple):
    """A record as text: up to its key and value, what its ctx says beside the statement, and what follows."""

    head: str
    ctx: str
    tail: str


Plan = Callable[[Any, Any, int], list[Line] | None]
"""From parameters, rows and how many were found to the lines; None: the long way."""
Value = Callable[[Any], Any]
UPDATES = '"lock": "update"'


def _value(node: Any, made: Parsed) -> Value:
    """A constant of the statement, from its parameters."""
    from sqlglot import exp

    def any_kind(given: Any) -> Any:
        return constant(node, made.parameters(given))

    if not isinstance(node, exp.Placeholder) or not only(node, "this"):
        return any_kind
    place: Any = made.places[int(str(node.name)[1:])]

    def parameter(given: Any) -> Any:
        try:
            found = given[place]
        except (LookupError, TypeError):
            return Unknown
        return found if type(found) is int or type(found) is str else any_kind(given)

    return parameter


def _key_parts(parts: Parts, source: Source, made: Parsed) -> list[tuple[Column, Value]] | None:
    """Of each column of the primary key, in its order, what the WHERE says that it is; None if it says more or less."""
    table = source.table
    assert table is not None
    found: dict[str, Value] = {}
    for _, ways in parts:
        if len(ways) != 1:
            return None
        ((of, column, nodes, several),) = ways
        if several or of is not source or column.name not in table.key or column.name in found:
            return None
        found[column.name] = _value(nodes[0], made)
    if len(found) != len(table.key):
        return None
    return [(table.columns[name], found[name]) for name in table.key]


class Keyed:
    """The row that a statement names: its key in the trace, and those of its columns."""

    def __init__(self, table: Table, parts: Sequence[tuple[Column, Value]]) -> None:
        self._table, self._parts = table, parts

    def labels(self, given: Any) -> tuple[Any, ...] | None:
        made = []
        for column, value in self._parts:
            found = value(given)
            if found is Unknown or found is None or (type(found) is str and blank(column, found)):
                return None
            one = key_label(column, found)
            if one is Unknown:
                return None
            made.append(one)
        return tuple(made)

    def text(self, key: tuple[Any, ...]) -> str:
        """Of the row, without its last mark."""
        return quoted(row_key(self._table, key))[:-1]


def _suffix(column: Column) -> str:
    return quoted(f".{column.name}")[1:]


def plan_of_select(select: Select, made: Parsed) -> Plan | None:
    tree = select.tree
    if select.why is not None or not select.single or select.counts or select.skips or not select.plain:
        return None
    if any(tree.args.get(name) for name in ("limit", "offset", "fetch")):
        return None
    (source,) = select.known
    table = source.table
    assert table is not None
    parts = None if table.hides else _key_parts(select.parts, source, made)
    if parts is None:
        return None
    keyed, width = Keyed(table, parts), len(select.output.columns)
    returned = select.output.of(source)
    names = [column.name for _, column in returned]
    if len(set(names)) != len(names):
        return None
    keys = [select.output.at(source, name) for name in table.key]
    columns = [
        (place, column, _suffix(column))
        for place, column in returned
        if column.name not in table.key and column.silent is None
    ]
    ctx = "" if select.ctx is None else f'"lock": {quoted(select.ctx["lock"])}'

    def plan(given: Any, rows: Any, count: int) -> list[Line] | None:
        key = keyed.labels(given)
        if key is None or type(rows) is not list or len(rows) > 1:
            return None
        text = keyed.text(key)
        if not rows:
            return [Line(f'{{"op":"get","key":{text}"', ctx, ',"absent":true')]
        row = rows[0]
        if type(row) is not tuple or len(row) != width:
            return None
        for place, (part, _), mine in zip(keys, parts, key, strict=True):
            if place is not None and key_label(part, row[place]) != mine:
                return None
        lines = [Line(f'{{"op":"get","key":{text}"', ctx, ',"value":true')]
        for at, column, suffix in columns:
            value = label(column, row[at])
            if value is not Unknown:
                lines.append(Line(f'{{"op":"get","key":{text}{suffix}', ctx, f',"value":{text_of(value)}'))
        return lines

    return plan


def _of_change(change: Update | Delete, made: Parsed) -> Keyed | None:
    """If it changes the row that it names, and nothing else."""
    if change.table.silent is not None or not change.alone or change.limited or change.returns:
        return None
    parts = None if change.reached_behind else _key_parts(change.parts, change.source, made)
    return None if parts is None else Keyed(change.table, parts)


def plan_of_update(update: Update, made: Parsed) -> Plan | None:
    keyed = None if update.strange else _of_change(update, made)
    names = [column.name for column, _ in update.sets]
    if keyed is None or len(set(names)) != len(names) or any(c.silent is not None for c, _ in update.sets):
        return None
    sets = [(column, _value(node, made), _suffix(column)) for column, node in update.sets]

    def plan(given: Any, rows: Any, count: int) -> list[Line] | None:
        key = keyed.labels(given) if count == 1 else None
        if key is None:
            return None
        text = keyed.text(key)
        lines = [Line(f'{{"op":"get","key":{text}"', UPDATES, ',"value":true')]
        for column, value, suffix in sets:
            found = value(given)
            written = Unknown if found is Unknown else label(column, found)
            if written is Unknown:
                return None
            lines.append(Line(f'{{"op":"put","key":{text}{suffix},"value":{text_of(written)}', "", ""))
        return lines

    return plan


def plan_of_delete(delete: Delete, made: Parsed) -> Plan | None:
    keyed = _of_change(delete, made)
    if keyed is None:
        return None
    suffixes = ['"', *(_suffix(column) for column in delete.table.told)]

    def plan(given: Any, rows: Any, count: int) -> list[Line] | None:
        key = keyed.labels(given) if count == 1 else None
        if key is None:
            return None
        text = keyed.text(key)
        gone = [Line(f'{{"op":"delete","key":{text}{suffix}', "", "") for suffix in suffixes]
        return [Line(f'{{"op":"get","key":{text}"', UPDATES, ',"value":true'), *gone]

    return plan

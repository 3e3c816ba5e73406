"""INSERT and its kin: rows that are new, with each of their columns.

The primary key of a new row stands in the statement, comes back with RETURNING, or is the number that the driver tells
(lastrowid). A column that is not named gets its default; one whose default only the database knows is tainted in that
row. Where a conflict may have turned the insert into something else (ON CONFLICT, ON DUPLICATE KEY, IGNORE, REPLACE),
what is recorded is what holds either way. If RETURNING brought back the primary keys and all columns, these are the
rows, whatever made them: an INSERT ... SELECT, or a conflict of another column.
"""

from __future__ import annotations

from typing import Any

from boomslang.record.sql.conditions import Parameters
from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.literals import constant
from boomslang.record.sql.rows import Key, created, written
from boomslang.record.sql.schema import Column, Reach, Schema, Table, Unknown, all_reached
from boomslang.record.sql.scope import Scope, Source, part
from boomslang.record.sql.selects import Output, key_of
from boomslang.record.sql.told import Answer, Told

Row = dict[str, Any]
"""What a new row's columns hold, by their names: a Python value, or Unknown."""


class Insert:
    def __init__(self, tree: Any, table: Table, schema: Schema, replaces: bool = False) -> None:
        from sqlglot import exp

        self.tree, self.table, self.schema = tree, table, schema
        target = tree.this
        named = [node.name for node in target.expressions] if isinstance(target, exp.Schema) else None
        if named is None and table.positions is not None:
            named = list(table.positions)
        found = [table.column(name) for name in named] if named is not None else list(table.columns.values())
        self.named = None if any(column is None for column in found) else [c for c in found if c is not None]
        self.source = Source(table_name(tree), table)
        returning = tree.args.get("returning")
        self.returns = returning is not None
        self.output = Output(
            returning.expressions if returning is not None else [], Scope((self.source,), True)
        )
        self.conflict = tree.args.get("conflict")
        self.replaces = replaces or str(tree.args.get("alternative") or "").upper() == "REPLACE"
        self.ignores = (
            bool(tree.args.get("ignore"))
            or str(tree.args.get("alternative") or "").upper() == "IGNORE"
            or (self.conflict is not None and not self.conflict.expressions)
        )
        self.updates = self.conflict is not None and bool(self.conflict.expressions)
        self.moves = self.updates and any(self._moves(node) for node in self.conflict.expressions)
        """A conflict may make the row another one."""

    def _moves(self, node: Any) -> bool:
        """Does an assignment set a part of the primary key, or nobody knows what?"""
        from sqlglot import exp

        column = self.table.column(node.this.name) if isinstance(node, exp.EQ) and node.this.name else None
        return column is None or column.name in self.table.key

    def touched(self) -> set[Reach]:
        return {Reach(self.table.name), *self._behind()}

    def _behind(self) -> set[Reach]:
        gone = self.table.on_delete if self.replaces else ()
        changed = self.table.on_update if self.updates and (self.moves or self.table.other_unique) else ()
        return {*self.table.triggered, *gone, *changed}

    def told(self, parameters: Parameters, answer: Answer) -> Told:
        told = Told()
        if self.table.silent is not None:
            told.why = self.table.silent
            told.taint(all_reached(self.schema, self._behind()))
            return told
        if answer.count == 0 and not self.returns:
            if not self.updates:
                told.why, told.partly = "a conflict: which row was there is not recorded", True
                return told
        elif self.returns and not answer.rows:
            told.why, told.partly = "a conflict: which row was there is not recorded", True
            return told
        rows = self._rows(parameters)
        whole = None if self.moves else self._returned_whole(answer)
        if whole is not None:
            self._write_returned(whole, rows, told)
            return told
        keys = None if rows is None else self._keys(rows, answer)
        why = self._not_exact(rows, answer)
        if rows is None or keys is None or why is not None:
            told.taint(all_reached(self.schema, self.touched()))
            told.why = why or "new rows whose primary key is not known"
            return told
        for place, (row, key) in enumerate(zip(rows, keys, strict=True)):
            if key is not None:
                self._write(row, key, answer.rows[place] if self._in_order(answer, rows) else None, told)
        told.taint(all_reached(self.schema, self._behind()))
        return told

    # --- the rows

    def _rows(self, parameters: Parameters) -> list[Row] | None:
        """The new rows as the statement gives them; None if it does not."""
        from sqlglot import exp

        if self.tree.args.get("default"):
            return [{}]
        if self.named is None or part(self.tree, "with"):
            return None
        given = self.tree.expression
        lists: list[list[Any]] | None
        if isinstance(given, exp.Values):
            lists = [
                list(node.expressions) if isinstance(node, exp.Tuple) else [_unwrapped(node)]
                for node in given.expressions
            ]
        else:
            columns = _unnested(given, parameters)
            if columns is not None:
                return self._from_lists(columns)
            lists = _selected_values(given)
        if not lists or any(len(one) > len(self.named) for one in lists):
            return None
        rows: list[Row] = []
        for one in lists:
            row: Row = {}
            for column, node in zip(self.named, one, strict=False):
                if isinstance(node, exp.Var | exp.Column) and node.name.upper() == "DEFAULT":
                    continue
                row[column.name] = constant(node, parameters)
            rows.append(row)
        return rows

    def _from_lists(self, columns: list[list[Any]]) -> list[Row] | None:
        assert self.named is not None
        if len(columns) != len(self.named) or len({len(column) for column in columns}) != 1:
            return None
        names = [column.name for column in self.named]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)] or None

    def _keys(self, rows: list[Row], answer: Answer) -> list[Key | None] | None:
        """The primary key of each row; None for one that was not inserted."""
        given = [self._given(row) for row in rows]
        if all(key is not None for key in given):
            return list(given)
        if len(self.table.key) != 1 or any(key is not None for key in given):
            return None
        column = self.table.columns[self.table.key[0]]
        place = self.output.at(self.source, column.name)
        if place is not None and self.output.known and len(answer.rows) == len(rows):
            if any(len(row) != len(self.output.columns) for row in answer.rows):
                return None
            made = [key_label(column, row[place]) for row in answer.rows]
            if any(one is Unknown for one in made):
                return None
            if len(rows) > 1:
                # Numbers are given out in the order of the rows; they need not come back in it.
                if not column.generated or any(type(one) is not int for one in made):
                    return None
                made.sort()
            return [(one,) for one in made]
        tells = self.schema.dialect in ("mysql", "sqlite") and "LAST_INSERT_ID" not in self.tree.sql().upper()
        numbered = (
            tells
            and column.generated
            and (self.table.key[0] not in rows[0] or rows[0][self.table.key[0]] in (None, 0))
        )
        one = len(rows) == 1 and answer.count == 1 and not (self.ignores or self.updates)
        return [(answer.last,)] if numbered and one and type(answer.last) is int and answer.last > 0 else None

    def _given(self, row: Row) -> Key | None:
        key: list[Any] = []
        for name in self.table.key:
            column = self.table.columns[name]
            value = row.get(name, column.default if not column.generated else None)
            if value == 0 and column.generated and self.schema.dialect == "mysql":
                return None  # it means: the next number
            made = Unknown if value is Unknown else key_label(column, value)
            if made is Unknown:
                return None
            key.append(made)
        return tuple(key)

    def _returned_whole(self, answer: Answer) -> list[tuple[Key, tuple[Any, ...]]] | None:
        """The rows that came back, by their primary keys, if they came back with all that is recorded of them. REPLACE
        may have deleted others."""
        if not self.returns or not self.output.known or self.replaces:
            return None
        places = [("row", self.output.at(self.source, name)) for name in self.table.key]
        needed = [*(place for _, place in places), *(self._place(column) for column in self.table.told)]
        if any(place is None for place in needed):
            return None
        found: dict[Key, tuple[Any, ...]] = {}
        for row in answer.rows:
            key = key_of(row, places, self.table) if len(row) == len(self.output.columns) else None
            if key is None or key in found:
                return None
            found[key] = row
        return list(found.items())

    def _place(self, column: Column) -> int | None:
        return self.output.at(self.source, column.name)

    def _write_returned(
        self, found: list[tuple[Key, tuple[Any, ...]]], rows: list[Row] | None, told: Told
    ) -> None:
        for key, row in found:
            told.records.append(created(self.table, key))
            for column in self.table.told:
                place = self._place(column)
                made = Unknown if place is None else label(column, row[place])
                if made is Unknown:
                    told.unknown_cell(self.table, key, column.name)
                    told.why, told.partly = f"a value of {column.name} that only the database knows", True
                else:
                    told.records.append(written(self.table, key, column.name, made))
        if rows is None:
            told.why, told.partly = told.why or "what its new rows were made from is not recorded", True
        elif len(found) != len(rows):
            told.why, told.partly = told.why or "a conflict: which row was there is not recorded", True
        told.taint(all_reached(self.schema, self._behind()))

    def _in_order(self, answer: Answer, rows: list[Row]) -> bool:
        return self.returns and len(rows) == 1 and len(answer.rows) == 1

    # --- conflicts

    def _conflicts_by_key(self) -> bool:
        """ON CONFLICT (the primary key): a conflict of anything else is an error."""
        from sqlglot import exp

        nodes = [getattr(node, "this", None) for node in self.conflict.args.get("conflict_keys") or []]
        if self.conflict.args.get("index_predicate") or not all(isinstance(n, exp.Column) for n in nodes):
            return False
        found = [self.table.column(node.name) for node in nodes if node is not None]
        return sorted(column.name for column in found if column is not None) == sorted(self.table.key)

    def _not_exact(self, rows: list[Row] | None, answer: Answer) -> str | None:
        """Why it is not known what became of the rows."""
        count = len(answer.rows) if self.returns else answer.count
        if rows is None:
            return "new rows that the statement does not give"
        if self.ignores and count != len(rows):
            return "some of the rows were not inserted, and nobody knows which"
        if (self.replaces or (self.updates and not self._conflicts_by_key())) and self.table.other_unique:
            return "a conflict of another column than the primary key may have changed another row"
        if self.moves:
            return "a conflict may have changed a primary key"
        if self.updates and self.conflict.args.get("where") is not None:
            return "a conflict may have changed the row, or not"
        if not (self.updates or self.replaces) and count not in (len(rows), -1):
            return "some of the rows were not inserted, and nobody knows which"
        return None

    def _assigned(self) -> dict[str, Any] | None:
        """The columns that a conflict sets, and the new row's column that each is set to; None for what is computed."""
        from sqlglot import exp

        alias = self.tree.expression.alias if self.tree.expression is not None else ""
        found: dict[str, Any] = {}
        for node in self.conflict.expressions:
            column = self.table.column(node.this.name) if isinstance(node, exp.EQ) else None
            if column is None:
                return None
            value = node.expression
            source = None
            if isinstance(value, exp.Column) and value.table.lower() in (
                "excluded",
                alias.lower() or "excluded",
            ):
                source = self.table.column(value.name)
            elif (
                isinstance(value, exp.Anonymous | exp.Func)
                and value.name.upper() == "VALUES"
                and value.expressions
            ):
                source = self.table.column(value.expressions[0].name)
            found[column.name] = source
        return found

    # --- what is written

    def _write(self, row: Row, key: Key, returned: tuple[Any, ...] | None, told: Told) -> None:
        told.records.append(created(self.table, key))
        assigned = self._assigned() if self.updates else None
        for column in self.table.told:
            made = self._value(row, column)
            place = self.output.at(self.source, column.name) if returned is not None else None
            if place is not None and returned is not None:
                made = label(column, returned[place])
            elif self.updates:
                # Inserted, or updated: it is known only what both would have made of it.
                same = assigned is not None and assigned.get(column.name)
                if not same or same.name != column.name:
                    made = Unknown
            if made is Unknown:
                if column.name in row or self.updates:
                    told.unknown_cell(self.table, key, column.name)
                else:  # a default like now(): it is so in every row
                    told.taint([Reach(self.table.name, (column.name,))])
                told.why = told.why or f"a value of {column.name} that only the database knows"
                told.partly = True
            else:
                told.records.append(written(self.table, key, column.name, made))

    def _value(self, row: Row, column: Column) -> Any:
        value = row.get(column.name, column.default)
        return Unknown if value is Unknown else label(column, value)


def _unwrapped(node: Any) -> Any:
    from sqlglot import exp

    return node.this if isinstance(node, exp.Paren) else node


def _unnested(given: Any, parameters: Parameters) -> list[list[Any]] | None:
    """INSERT ... SELECT * FROM UNNEST(lists): a parameter for each column."""
    from sqlglot import exp

    if not isinstance(given, exp.Select) or [type(node) for node in given.expressions] != [exp.Star]:
        return None
    if any(
        value for name, value in given.args.items() if name not in ("expressions", "from", "from_", "kind")
    ):
        return None
    first = part(given, "from")
    if first is None or not isinstance(first.this, exp.Unnest) or first.this.args.get("alias"):
        return None
    columns: list[list[Any]] = []
    for node in first.this.expressions:
        while isinstance(node, exp.Cast | exp.Paren):
            if isinstance(node, exp.Cast) and not _plain_array(node.to):
                return None
            node = node.this
        value = parameters(str(node.name)) if isinstance(node, exp.Placeholder) else None
        if not isinstance(value, list | tuple):
            return None
        columns.append(list(value))
    return columns


def _plain_array(to: Any) -> bool:
    """A list of values that stay as they are, if the column takes them: the label of the column says."""
    inner = to.expressions[0] if to.expressions else None
    return inner is not None and not inner.expressions and inner.this.name in ARRAYS


ARRAYS = frozenset(
    (
        "VARCHAR",
        "TEXT",
        "SMALLINT",
        "INT",
        "BIGINT",
        "BOOLEAN",
        "DOUBLE",
        "DECIMAL",
        "TIMESTAMPTZ",
        "DATE",
        "UUID",
    )
)


def _selected_values(given: Any) -> list[list[Any]] | None:
    """INSERT ... SELECT p0::INT, p1 FROM (VALUES (...), (...)) AS v (p0, p1) ORDER BY n: rows all the same. Some
    libraries write it so to have the numbers given out in order."""
    from sqlglot import exp

    if not isinstance(given, exp.Select):
        return None
    known = {"expressions", "from", "from_", "order", "kind", "hint"}
    if any(value for name, value in given.args.items() if name not in known):
        return None
    first = part(given, "from")
    values = first.this if first is not None else None
    if isinstance(values, exp.Subquery | exp.Paren):
        values = values.this
    if not isinstance(values, exp.Values) or values.args.get("alias") is None:
        return None
    names = [node.name for node in values.args["alias"].args.get("columns") or []]
    lists: list[list[Any]] = []
    for node in values.expressions:
        if not isinstance(node, exp.Tuple) or len(node.expressions) != len(names):
            return None
        by_name = dict(zip(names, node.expressions, strict=True))
        one: list[Any] = []
        for wanted in given.expressions:
            inner = wanted.this if isinstance(wanted, exp.Cast) else wanted
            if not isinstance(inner, exp.Column) or inner.name not in by_name:
                return None
            value = by_name[inner.name]
            one.append(
                exp.Cast(this=value.copy(), to=wanted.to.copy()) if isinstance(wanted, exp.Cast) else value
            )
        lists.append(one)
    return lists


def table_name(tree: Any) -> str:
    from sqlglot import exp

    node = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    return str(node.alias or node.name)

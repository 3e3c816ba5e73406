"""UPDATE and DELETE: which rows they changed, from the WHERE and the row count or from RETURNING, and to what.

    UPDATE seats SET holder = 7, version = 4 WHERE id = 12 AND version = 3

changed one row: row 12 was there, its version was 3 (both read as the newest, as writes do: ctx.lock), and two columns
were written. Changed none: there was no such row with that version. Where the rows are not known but some were changed,
the columns are tainted; so is a cell whose new value only the database knows.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from boomslang.record.found_rows import NOBODY_KNOWS
from boomslang.record.sql.conditions import Parameters, Pins, Untold, columns_of, condition, equality, parts
from boomslang.record.sql.labels import label
from boomslang.record.sql.literals import constant
from boomslang.record.sql.rows import Key, matched, missing, read, removed, row_key, seen, written
from boomslang.record.sql.schema import Column, Reach, Schema, Table, Unknown, all_reached
from boomslang.record.sql.scope import Scope, Source, alias_of, only, part, table_of
from boomslang.record.sql.selects import Output, key_of, plain_table
from boomslang.record.sql.told import Answer, Told

LOCK = {"lock": "update"}
UNMATCHED = "rows that did not match are not recorded"


class Change:
    """What UPDATE and DELETE share: one table, a WHERE, and who the rows are."""

    def __init__(self, tree: Any, table: Table, schema: Schema) -> None:
        self.tree, self.table, self.schema = tree, table, schema
        self.source = Source(alias_of(tree.this), table)
        others = part(tree, "from") or tree.args.get("using") or tree.args.get("joins")
        self.alone = not others and plain_table(tree.this) and not part(tree, "with")
        self.scope = Scope((self.source,), self.alone)
        self.where = tree.args["where"].this if tree.args.get("where") else None
        self.parts = parts(self.where, self.scope)
        self.limited = bool(tree.args.get("limit"))
        returning = tree.args.get("returning")
        self.returns = returning is not None
        self.output = Output(returning.expressions if returning is not None else [], self.scope)

    def touched(self) -> set[Reach]:
        """What it changes if nobody knows more."""
        raise NotImplementedError

    def told(self, parameters: Parameters, answer: Answer) -> Told:
        told = Told()
        if self.table.silent is not None:
            told.why = self.table.silent
            told.taint(self.reached_behind)
            return told
        pins = Pins(self.parts, self.source, parameters)
        keys = self._changed(pins, answer)
        if keys is None:
            self._taint(pins, told)
            return told
        self._read(pins, keys, parameters, answer, told)
        for place, key in enumerate(keys):
            self._write(key, answer.rows[place] if self.returns else None, parameters, told)
        if keys or answer.count == NOBODY_KNOWS:
            told.taint(self.reached_behind)
        return told

    def _taint(self, pins: Pins, told: Told) -> None:
        """Nobody knows which rows were changed: any, or some of those that the WHERE names by their primary keys."""
        if pins.keys is None or not self.alone:
            told.taint(all_reached(self.schema, self.touched()))
            told.why = "a write of rows that are not known"
            return
        for key in pins.keys:
            self._unknown(key, told)
        told.taint(self.reached_behind)
        told.why = "a write of some of the rows that it names, and nobody knows which"

    def _unknown(self, key: Key, told: Told) -> None:
        """Of this row it is not known whether it was changed."""
        raise NotImplementedError

    @cached_property
    def reached_behind(self) -> frozenset[Reach]:
        return all_reached(self.schema, self._behind())

    def _behind(self) -> set[Reach]:
        """What a write changes beside what it says."""
        return set(self.table.triggered)

    def _changed(self, pins: Pins, answer: Answer) -> list[Key] | None:
        """The rows that were changed; None if that is not known."""
        if self.returns:
            if not self.output.known or any(len(row) != len(self.output.columns) for row in answer.rows):
                return None
            keys = [self._returned(row, pins) for row in answer.rows]
            known = [key for key in keys if key is not None]
            return known if len(known) == len(keys) and len(set(known)) == len(known) else None
        if answer.count == NOBODY_KNOWS:
            return []
        if answer.count == 0:
            return []
        if answer.count < 0 or pins.keys is None:
            return None
        return pins.keys if answer.count == len(pins.keys) else None

    def _returned(self, row: tuple[Any, ...], pins: Pins) -> Key | None:
        places: list[tuple[str, Any]] = []
        for number, name in enumerate(self.table.key):
            place = self.output.at(self.source, name)
            if place is not None:
                places.append(("row", place))
            elif pins.keys is not None and len(pins.keys) == 1:
                places.append(("value", pins.keys[0][number]))
            else:
                return None
        return key_of(row, places, self.table)

    def _read(self, pins: Pins, keys: list[Key], parameters: Parameters, answer: Answer, told: Told) -> None:
        """What its WHERE has seen."""
        if answer.count == NOBODY_KNOWS and not self.returns:
            told.why, told.partly = "how many rows were found is not known", True
            return
        if not self.alone or self.limited:
            told.records.extend(seen(self.table, key, LOCK) for key in keys)
            told.why, told.partly = UNMATCHED, True
            return
        if pins.keys is not None and not pins.rest:
            told.records.extend(seen(self.table, key, LOCK) for key in keys)
            if not self.table.hides:
                told.records.extend(missing(self.table, key, LOCK) for key in pins.keys if key not in keys)
            return
        if pins.keys is not None and keys:
            equal = [equality(node, self.scope, parameters) for node in pins.rest]
            labels = [one and label(one[1], one[2]) for one in equal]
            if all(one is not None and _comparable(one[1], self.table) for one in equal) and not any(
                made is Unknown for made in labels
            ):
                # Each part of the condition names the value that a column had.
                for key in keys:
                    told.records.append(seen(self.table, key, LOCK))
                    told.records.extend(
                        read(self.table, key, one[1].name, made, LOCK)
                        for one, made in zip(equal, labels, strict=True)
                        if one is not None
                    )
                if set(keys) == set(pins.keys):
                    return
        try:
            if self.table.hides:
                raise Untold(UNMATCHED)
            made = condition(self.where, self.table, self.scope, parameters)
            told.records[:] = [matched(self.table, made, keys, LOCK)]
        except Untold as why:
            if not told.records:
                told.records.extend(seen(self.table, key, LOCK) for key in keys)
            told.why = UNMATCHED if str(why) == UNMATCHED else f"{UNMATCHED} ({why})"
            told.partly = True

    def _write(self, key: Key, row: tuple[Any, ...] | None, parameters: Parameters, told: Told) -> None:
        raise NotImplementedError


def _comparable(column: Column, table: Table) -> bool:
    return column.exact and column.silent is None and column.name not in table.key


class Update(Change):
    def __init__(self, tree: Any, table: Table, schema: Schema) -> None:
        super().__init__(tree, table, schema)
        self.sets: list[tuple[Column, Any]] = []
        self.strange = False
        """It sets something that is no column of the table, or a part of the primary key."""
        self.moves = False
        """The latter."""
        from sqlglot import exp

        for node in tree.expressions:
            column = (
                self.table.column(node.this.name) if isinstance(node, exp.EQ) and node.this.name else None
            )
            if column is None or column.name in table.key:
                self.strange = True
                self.moves |= column is not None
            else:
                self.sets.append((column, node.expression))

    def touched(self) -> set[Reach]:
        if self.strange or not self.sets:
            return {Reach(self.table.name), *self._behind(), *self.table.on_delete}
        return {Reach(self.table.name, tuple(c.name for c, _ in self.sets)), *self._behind()}

    def _unknown(self, key: Key, told: Told) -> None:
        for column, _ in self.sets:
            if column.silent is None:
                told.unknown_cell(self.table, key, column.name)

    def _behind(self) -> set[Reach]:
        referred = self.strange or self.table.other_unique
        return {*self.table.triggered, *(self.table.on_update if referred else ())}

    def told(self, parameters: Parameters, answer: Answer) -> Told:
        if self.strange and answer.count != 0 and self.table.silent is None:
            told = Told(why="a primary key is changed" if self.moves else "it sets what is not a column")
            told.taint(all_reached(self.schema, self.touched()))
            return told
        return super().told(parameters, answer)

    def _write(self, key: Key, row: tuple[Any, ...] | None, parameters: Parameters, told: Told) -> None:
        named = [column.name for column, _ in self.sets]
        for column, node in self.sets:
            if column.silent is not None:
                continue
            place = self.output.at(self.source, column.name) if row is not None else None
            if place is not None and row is not None:
                made = label(column, row[place])
                before = _before(node, column, made, self.scope, parameters)
                if before is not None and named.count(column.name) == 1:
                    told.records.append(read(self.table, key, column.name, before, LOCK))
            else:
                made = constant(node, parameters)
                made = Unknown if made is Unknown else label(column, made)
            if made is Unknown or named.count(column.name) > 1:
                told.unknown_cell(self.table, key, column.name)
                told.why = told.why or f"a value of {column.name} that only the database knows"
                told.partly = True
            else:
                told.records.append(written(self.table, key, column.name, made))
        if row is not None:
            for place, column in self.output.of(self.source):
                if column.name in named or column.name in self.table.key or column.silent is not None:
                    continue
                made = label(column, row[place])
                if made is not Unknown:
                    told.records.append(read(self.table, key, column.name, made, LOCK))


def _before(node: Any, column: Column, made: Any, scope: Scope, parameters: Parameters) -> Any:
    """`n = n + 1` that made 6 has read 5. None where that does not follow."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    if not only(node, "this", "expression"):
        return None
    if column.kind != "integer" or type(made) is not int or not isinstance(node, exp.Add | exp.Sub):
        return None
    found = scope.find(node.this)
    by = constant(node.expression, parameters)
    if found is None or found[1] is not column or type(by) is not int:
        return None
    return made - by if isinstance(node, exp.Add) else made + by


class Delete(Change):
    def touched(self) -> set[Reach]:
        return {Reach(self.table.name), *self._behind()}

    def _unknown(self, key: Key, told: Told) -> None:
        told.taints.append(row_key(self.table, key))
        for column in self.table.told:
            told.unknown_cell(self.table, key, column.name)

    def _behind(self) -> set[Reach]:
        return {*self.table.triggered, *self.table.on_delete}

    def _write(self, key: Key, row: tuple[Any, ...] | None, parameters: Parameters, told: Told) -> None:
        if row is not None:
            for place, column in self.output.of(self.source):
                made = label(column, row[place])
                if column.name not in self.table.key and made is not Unknown:
                    told.records.append(read(self.table, key, column.name, made, LOCK))
        told.records.extend(removed(self.table, key))


def target_of(tree: Any, schema: Schema) -> Table | None:
    from sqlglot import exp

    node = tree.this
    node = node.this if isinstance(node, exp.Schema) else node
    return (
        table_of(node, schema)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
        else None
    )


__all__ = ["Delete", "Update", "columns_of", "target_of"]

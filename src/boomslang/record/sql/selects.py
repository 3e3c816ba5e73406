"""SELECT: the rows it returned were there, with these values; and where its condition can be said, no others matched.

A returned row is known by its primary key: among the returned columns, fixed by the WHERE, or equal to a column that
was returned (`o.item_id = i.id`). What was returned was read, whatever chose it: so joins, ORDER BY, LIMIT and
conditions of any kind do no harm to that. What was *not* returned says something only if the statement reads one table,
its whole condition can be said, and nothing else hid rows (LIMIT, SKIP LOCKED, row security).
"""

from __future__ import annotations

from typing import Any

from boomslang.record.sql.conditions import (
    Parameters,
    Pins,
    Untold,
    condition,
    conjuncts,
    equality,
    parts,
)
from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.literals import constant
from boomslang.record.sql.rows import Key, matched, missing, read, seen
from boomslang.record.sql.schema import Column, Schema, Table, Unknown
from boomslang.record.sql.scope import Scope, Source, alias_of, only, part, table_of
from boomslang.record.sql.told import Answer, Told, left_out

PARTLY = "rows that did not match are not recorded"


class Output:
    """The columns that a statement returns: each one of a source's, or something computed."""

    def __init__(self, expressions: list[Any], scope: Scope) -> None:
        from sqlglot import exp

        self.columns: list[tuple[Source, Column] | None] = []
        self.known = True
        """How many there are is."""
        self._at: dict[tuple[Source, str], int | None] = {}
        for node in expressions:
            if isinstance(node, exp.Alias):
                node = node.this
            star = node if isinstance(node, exp.Star) else getattr(node, "this", None)
            if isinstance(star, exp.Star) and isinstance(node, exp.Star | exp.Column):
                named = "" if isinstance(node, exp.Star) else node.table.lower()
                for source in scope.sources:
                    if named and source.alias.lower() != named:
                        continue
                    if source.table is None or star.args.get("except_") or star.args.get("replace"):
                        self.known = False
                        continue
                    self.columns.extend((source, column) for column in source.table.columns.values())
            else:
                self.columns.append(scope.find(node))

    def at(self, source: Source, name: str) -> int | None:
        if (source, name) not in self._at:
            places = (place for place, column in self.of(source) if column.name == name)
            self._at[source, name] = next(places, None)
        return self._at[source, name]

    def of(self, source: Source) -> list[tuple[int, Column]]:
        return [
            (place, found[1])
            for place, found in enumerate(self.columns)
            if found is not None and found[0] is source
        ]


class Select:
    """A SELECT of tables, ready for its parameters and its answer."""

    def __init__(self, tree: Any, schema: Schema) -> None:

        self.tree = tree
        self.why = _not_for_us(tree)
        """Why it tells nothing."""
        sources: list[Source] = []
        complete = self.why is None
        joins = tree.args.get("joins") or []
        if any(
            (join.kind or "").upper() not in ("", "INNER", "CROSS", "OUTER")
            or not only(join, "this", "on", "using", "side", "kind")
            for join in joins
        ):
            self.why = "a join of another kind"
        sides = {(join.side or "").upper() for join in joins}
        first = part(tree, "from")
        nodes = [first.this] if first is not None else []
        for node, join in [(n, None) for n in nodes] + [(j.this, j) for j in joins]:
            if plain_table(node):
                side = (join.side or "").upper() if join is not None else ""
                optional = side in ("LEFT", "FULL") or bool(sides & {"RIGHT", "FULL"})
                sources.append(Source(alias_of(node), table_of(node, schema), optional))
            else:
                complete = False
        self.scope = Scope(tuple(sources), complete)
        self.known = [s for s in sources if s.table is not None and s.table.silent is None]
        if self.why is None and not self.known:
            silent = [s.table.silent for s in sources if s.table is not None and s.table.silent]
            self.why = silent[0] if silent else "no table that is recorded"
        self.output = Output(tree.expressions, self.scope)
        if self.why is None and not self.output.known:
            self.why = "SELECT * of a table that is not known"
        self.plain = all(_is_plain(node) for node in tree.expressions) and not (
            tree.args.get("distinct") or tree.args.get("qualify")
        )
        """Nothing in it can make rows fewer."""
        self.single = len(sources) == 1 and complete and not joins and not sources[0].optional
        locks = tree.args.get("locks") or []
        self.ctx = (
            {"lock": "update" if any(x.args.get("update") for x in locks) else "share"} if locks else None
        )
        self.skips = any(x.args.get("wait") is False for x in locks)
        self.where = tree.args["where"].this if tree.args.get("where") else None
        self.parts = parts(self.where, self.scope)
        self.counts = self.single and _is_count(tree)
        if self.why is None and not self.counts and _aggregates(tree):
            self.why = "an aggregate"

    def told(self, parameters: Parameters, answer: Answer) -> Told:
        if self.why is not None:
            return left_out(self.why)
        if self.counts:
            return self._count(parameters, answer)
        if any(len(row) != len(self.output.columns) for row in answer.rows):
            return left_out("its rows do not have the columns that were expected")
        told = Told()
        unidentified = False
        if self.single:
            self._single(parameters, answer, told)
        else:
            fixed = self._fixed(parameters)
            for source in self.known:
                unidentified |= not self._rows(source, fixed, answer, told)
            if unidentified and not told.records:
                return left_out("rows whose primary key is not known")
            told.why, told.partly = PARTLY, True
            if not told.records:
                told.partly = False
        return told

    # --- one table

    def _single(self, parameters: Parameters, answer: Answer, told: Told) -> None:
        (source,) = self.known
        table = source.table
        assert table is not None
        pins = Pins(self.parts, source, parameters)
        fixed = {}
        if pins.keys is not None and len(pins.keys) == 1:
            fixed = {(source, name): value for name, value in zip(table.key, pins.keys[0], strict=True)}
        keys = self._keys(source, fixed, answer)
        complete = self._complete(parameters, answer) and not table.hides
        if keys is None and answer.rows:
            told.why = "rows whose primary key is not known"
            return
        found = list(dict.fromkeys(keys or []))
        if pins.keys is not None and not pins.rest:
            # The rows asked for, and nothing but the primary key chose among them.
            self._rows(source, fixed, answer, told)
            if complete:
                told.records.extend(
                    missing(table, key, self.ctx) for key in pins.keys if key not in set(found)
                )
            elif not found:
                told.why = "rows may be hidden"
            return
        try:
            made = condition(self.where, table, self.scope, parameters)
        except Untold as why:
            self._partly(source, fixed, answer, told, str(why))
            return
        if not complete:
            self._partly(source, fixed, answer, told, "some may be hidden, as by LIMIT")
            return
        told.records.append(matched(table, made, found, self.ctx))
        self._rows(source, fixed, answer, told, seen_too=False)

    def _partly(self, source: Source, fixed: Any, answer: Answer, told: Told, why: str) -> None:
        self._rows(source, fixed, answer, told)
        told.why = f"{PARTLY} ({why})"
        told.partly = bool(told.records)

    def _complete(self, parameters: Parameters, answer: Answer) -> bool:
        """Is what was returned all that matched?"""
        if self.skips or not self.plain or self.tree.args.get("fetch"):
            return False
        offset = self.tree.args.get("offset")
        if offset is not None and (
            not only(offset, "expression") or constant(offset.expression, parameters) != 0
        ):
            return False
        limit = self.tree.args.get("limit")
        if limit is None:
            return True
        most = constant(limit.expression, parameters)
        return type(most) is int and len(answer.rows) < most and only(limit, "expression")

    # --- who the rows are

    def _fixed(self, parameters: Parameters) -> dict[tuple[Source, str], Any]:
        """Columns that the conditions of a join fix to a constant."""
        fixed: dict[tuple[Source, str], Any] = {}
        for node in self._conditions():
            one = equality(node, self.scope, parameters)
            if one is not None and not one[0].optional:
                made = key_label(one[1], one[2])
                if made is not Unknown:
                    fixed[one[0], one[1].name] = made
        return fixed

    def _conditions(self) -> list[Any]:
        """What held for each row that was returned: the WHERE, and the ON of inner joins."""
        nodes = list(conjuncts(self.where))
        for join in self.tree.args.get("joins") or []:
            if not (join.side or "") and join.args.get("on") is not None:
                nodes.extend(conjuncts(join.args["on"]))
        return nodes

    def _equal(self, source: Source, name: str) -> list[tuple[Source, str]]:
        """Columns of other sources that are equal to this one in each returned row."""
        from sqlglot import exp

        found = []
        for node in self._conditions():
            if not isinstance(node, exp.EQ) or not only(node, "this", "expression"):
                continue
            one, other = self.scope.find(node.this), self.scope.find(node.expression)
            if one is None or other is None:
                continue
            for a, b in ((one, other), (other, one)):
                if a[0] is source and a[1].name == name and _alike(a[1], b[1]) and not b[0].optional:
                    found.append((b[0], b[1].name))
        return found

    def _places(self, source: Source, fixed: Any) -> list[tuple[str, Any]] | None:
        """Of each column of the primary key: where its value is ("row", place), or what it is ("value", label)."""
        table = source.table
        assert table is not None
        places: list[tuple[str, Any]] = []
        for name in table.key:
            place = self.output.at(source, name)
            if place is None and not source.optional:
                if (source, name) in fixed:
                    places.append(("value", fixed[source, name]))
                    continue
                for other, column in self._equal(source, name):
                    if (other, column) in fixed:
                        places.append(("value", fixed[other, column]))
                        break
                    place = self.output.at(other, column)
                    if place is not None:
                        break
                else:
                    return None
                if place is None:
                    continue
            if place is None:
                return None
            places.append(("row", place))
        return places

    def _keys(self, source: Source, fixed: Any, answer: Answer) -> list[Key] | None:
        places = self._places(source, fixed)
        if places is None:
            return None
        keys: list[Key] = []
        for row in answer.rows:
            key = key_of(row, places, source.table)
            if key is None:
                return None
            keys.append(key)
        return keys

    def _rows(self, source: Source, fixed: Any, answer: Answer, told: Told, seen_too: bool = True) -> bool:
        """Read what was returned of one source. False if its rows are not known."""
        table = source.table
        assert table is not None
        places = self._places(source, fixed)
        if places is None:
            return False
        columns = [
            (place, column)
            for place, column in self.output.of(source)
            if column.name not in table.key and column.silent is None
        ]
        done: set[Any] = set()
        for row in answer.rows:
            key = key_of(row, places, table)
            if key is None:
                continue
            if seen_too and key not in done:
                done.add(key)
                told.records.append(seen(table, key, self.ctx))
            for place, column in columns:
                value = label(column, row[place])
                if value is not Unknown and (key, column.name, value) not in done:
                    done.add((key, column.name, value))
                    told.records.append(read(table, key, column.name, value, self.ctx))
        return True

    # --- SELECT COUNT(*)

    def _count(self, parameters: Parameters, answer: Answer) -> Told:
        """Which rows were counted is not known, unless there were none."""
        (source,) = self.known
        table = source.table
        assert table is not None
        if answer.rows and len(answer.rows) == 1 and answer.rows[0][0] == 0 and not table.hides:
            try:
                return Told(
                    [matched(table, condition(self.where, table, self.scope, parameters), [], self.ctx)]
                )
            except Untold:
                pass
        return left_out("a count: which rows were counted is not known")


def _alike(one: Column, other: Column) -> bool:
    """If two columns are equal, do they have one label?"""
    same = one.exact == other.exact and one.overlooks == other.overlooks
    return one.kind == other.kind and one.kind != "enum" and same


def key_of(row: tuple[Any, ...], places: list[tuple[str, Any]], table: Table | None) -> Key | None:
    """The primary key of a row that was returned; None if there is none (an outer join), or it cannot be said."""
    assert table is not None
    key: list[Any] = []
    for name, (how, what) in zip(table.key, places, strict=True):
        made = what if how == "value" else key_label(table.columns[name], row[what])
        if made is Unknown:
            return None
        key.append(made)
    return tuple(key)


CLAUSES = frozenset(
    (
        "expressions",
        "from",
        "joins",
        "where",
        "having",
        "distinct",
        "qualify",
        "order",
        "limit",
        "offset",
        "fetch",
    )
) | {"locks", "windows"}
"""That are known."""


def _not_for_us(tree: Any) -> str | None:
    from sqlglot import exp

    if not isinstance(tree, exp.Select):
        return "a set operation"
    if part(tree, "with"):
        return "a common table expression"
    if tree.args.get("group"):
        return "an aggregate"
    return None if only(tree, *CLAUSES) else "a clause that is not known"


def _aggregates(tree: Any) -> bool:
    """Does it aggregate, outside of sub-selects and windows?"""
    from sqlglot import exp

    if tree.args.get("having"):
        return True
    for expression in tree.expressions:
        for node in expression.find_all(exp.AggFunc, exp.Anonymous):
            above = node.find_ancestor(exp.Window, exp.Select)
            if above is tree:  # a function that the parser does not know may aggregate
                return True
    return False


def _is_plain(node: Any) -> bool:
    """A column or a constant: one for each row."""
    from sqlglot import exp

    while isinstance(node, exp.Alias | exp.Paren | exp.Cast):
        node = node.this
    return isinstance(node, exp.Column | exp.Star | exp.Literal | exp.Boolean | exp.Null | exp.Placeholder)


def plain_table(node: Any) -> bool:
    """A table by its name, and perhaps another name for it: nothing that changes its rows or columns."""
    from sqlglot import exp

    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return False
    alias = node.args.get("alias")
    odd = [
        name for name, value in node.args.items() if value and name not in ("this", "alias", "db", "catalog")
    ]
    return not odd and not (alias is not None and alias.args.get("columns"))


def _is_count(tree: Any) -> bool:
    from sqlglot import exp

    if (
        len(tree.expressions) != 1
        or tree.args.get("having")
        or tree.args.get("limit")
        or tree.args.get("distinct")
    ):
        return False
    node = tree.expressions[0]
    node = node.this if isinstance(node, exp.Alias) else node
    return isinstance(node, exp.Count) and isinstance(node.this, exp.Star)

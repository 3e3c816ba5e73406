"""What a WHERE says: which rows it pins by their primary key, and the whole of it as a condition of the trace.

The trace has a small closed language of conditions (docs/trace-format.md). A comparison is translated only where the
database and the checker agree on it: same type on both sides, a collation that overlooks nothing. What cannot be
translated is not weakened either; the statement then tells only of the rows that it returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from boomslang.record.sql.labels import key_label, label
from boomslang.record.sql.literals import constant
from boomslang.record.sql.schema import Column, Table, Unknown
from boomslang.record.sql.scope import Scope, Source, only

Parameters = Callable[[str], Any]
Key = tuple[Any, ...]
PARTS = ("this", "expression", "low", "high", "table", "db", "negate")
"""Of nodes that are translated: one with any other argument is not."""
MOST_PARTS, DEEPEST, MOST_COLUMNS = 200, 16, 8
"""Of a condition, for whoever reads the trace."""


class Untold(Exception):
    """This condition cannot be said in a trace."""


def conjuncts(node: Any) -> Iterator[Any]:
    """The parts that all must hold."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And) and only(node, "this", "expression"):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    elif node is not None and not _always(node):
        yield node


def _always(node: Any) -> bool:
    """`1 = 1`, `TRUE`: some libraries write it where they have nothing to say."""
    from sqlglot import exp

    if isinstance(node, exp.EQ) and only(node, "this", "expression"):
        one, other = node.this, node.expression
        numbers = isinstance(one, exp.Literal) and isinstance(other, exp.Literal)
        return numbers and not one.is_string and not other.is_string and one.this == other.this
    return isinstance(node, exp.Boolean) and bool(node.this)


Fixing = tuple[Source, Column, tuple[Any, ...], bool]
"""A column, and the nodes whose values it has: one, or (True) any of several."""


def fixings(node: Any, scope: Scope) -> list[Fixing]:
    """How a part of a condition may fix a column: `column = constant`, either way round, `column IN (constants)`. What
    stands there instead of a constant, nobody knows before the parameters are there."""
    from sqlglot import exp

    found: list[Fixing] = []
    if isinstance(node, exp.EQ) and only(node, "this", "expression"):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            named = scope.find(one)
            if named is not None:
                found.append((*named, (other,), False))
    elif isinstance(node, exp.In) and node.expressions and only(node, "this", "expressions"):
        named = scope.find(node.this)
        if named is not None:
            found.append((*named, tuple(node.expressions), True))
    return found


def blank(column: Column, value: Any) -> bool:
    """Blanks at the end: whether a CHAR overlooks them hangs on the type of what it is compared with."""
    return column.kind.startswith("padded") and type(value) is str and value.endswith(" ")


def fixed(ways: list[Fixing], parameters: Parameters) -> tuple[Source, Column, Any] | None:
    """The first way in which constants stand there; of several a list."""
    for source, column, nodes, several in ways:
        values = [constant(node, parameters) for node in nodes]
        if not any(value is Unknown or blank(column, value) for value in values):
            return source, column, values if several else values[0]
    return None


def equality(node: Any, scope: Scope, parameters: Parameters) -> tuple[Source, Column, Any] | None:
    """`column = constant`, either way round."""
    return fixed([way for way in fixings(node, scope) if not way[3]], parameters)


Parts = list[tuple[Any, list[Fixing]]]


def parts(where: Any, scope: Scope) -> Parts:
    """All that must hold, and what it may fix."""
    return [(node, fixings(node, scope)) for node in conjuncts(where)]


class Pins:
    """The rows of one table that a WHERE allows by their primary keys."""

    def __init__(self, where: Parts, source: Source, parameters: Parameters) -> None:
        table = source.table
        assert table is not None
        pinned: dict[str, list[Any]] = {}
        self.rest: list[Any] = []
        """What else the rows must fulfil."""
        for node, ways in where:
            one = fixed(ways, parameters)
            if (
                one is not None
                and one[0] is source
                and one[1].name in table.key
                and one[1].name not in pinned
            ):
                values = one[2] if isinstance(one[2], list) else [one[2]]
                labels = [key_label(one[1], value) for value in values if value is not None]
                if not any(made is Unknown for made in labels):
                    pinned[one[1].name] = labels
                    continue
            self.rest.append(node)
        self.keys: list[Key] | None = None
        """The rows that it may be; None: nobody knows."""
        if all(name in pinned for name in table.key):
            keys: list[Key] = [()]
            for name in table.key:
                keys = [(*key, value) for key in keys for value in pinned[name]]
            if len(keys) <= MOST_PARTS:
                self.keys = list(dict.fromkeys(keys)) if len(keys) > 1 else keys


def comparable(column: Column) -> bool:
    return column.silent is None


def condition(node: Any, table: Table, scope: Scope, parameters: Parameters) -> Any:
    """The condition, as the trace says it. Raises Untold."""
    made = True if node is None else _condition(node, table, scope, parameters, 0)
    columns: set[str] = set()
    if _size(made, columns) > MOST_PARTS or len(columns) > MOST_COLUMNS:
        raise Untold("a condition of very many parts")
    return made


def _size(made: Any, columns: set[str]) -> int:
    if isinstance(made, dict):
        if "column" in made:
            columns.add(made["column"])
        return 1
    return 1 + sum(_size(one, columns) for one in made) if isinstance(made, list) else 1


def columns_of(made: Any) -> set[str]:
    columns: set[str] = set()
    _size(made, columns)
    return columns


def _condition(node: Any, table: Table, scope: Scope, parameters: Parameters, depth: int) -> Any:
    from sqlglot import exp

    if depth > DEEPEST - 4:
        raise Untold("a condition that is nested deeply")

    def inner(part: Any) -> Any:
        return _condition(part, table, scope, parameters, depth + 1)

    if not only(node, *(("this", "expressions") if isinstance(node, exp.In) else PARTS)):
        raise Untold("a condition that only the database can evaluate")
    if isinstance(node, exp.Paren):
        return _condition(node.this, table, scope, parameters, depth)
    if _always(node):
        return True
    if isinstance(node, exp.And):
        made = [inner(part) for part in conjuncts(node)]
        return ["and", *made] if len(made) > 1 else made[0] if made else True
    if isinstance(node, exp.Or):
        return ["or", inner(node.this), inner(node.expression)]
    if isinstance(node, exp.Not):
        return ["not", inner(node.this)]
    if isinstance(node, exp.Boolean):
        return True if node.this else ["not", True]
    if isinstance(node, exp.Column):
        return _truth(_named(node, table, scope))
    if isinstance(node, exp.Is | exp.NullSafeEQ):
        made = _is(node, table, scope, parameters)
        return ["not", made] if node.args.get("negate") else made
    if node.args.get("negate"):
        raise Untold("a condition that only the database can evaluate")
    if isinstance(node, exp.Between):
        column = _named(node.this, table, scope)
        ends = [_literal(column, node.args[end], table, parameters, order=True) for end in ("low", "high")]
        return ["between", _operand(column, table), *ends]
    if isinstance(node, exp.In) and node.expressions:
        column = _named(node.this, table, scope)
        values = [_literal(column, item, table, parameters) for item in node.expressions]
        return ["in", _operand(column, table), values]
    for kind, sign, mirrored in (
        (exp.EQ, "=", "="),
        (exp.NEQ, "!=", "!="),
        (exp.LTE, "<=", ">="),
        (exp.GTE, ">=", "<="),
        (exp.LT, "<", ">"),
        (exp.GT, ">", "<"),
    ):
        if isinstance(node, kind):
            return _comparison(node, sign, mirrored, table, scope, parameters)
    raise Untold("a condition that only the database can evaluate")


def _comparison(
    node: Any, sign: str, mirrored: str, table: Table, scope: Scope, parameters: Parameters
) -> Any:
    order = sign not in ("=", "!=")
    left, right = scope.find(node.this), scope.find(node.expression)
    if left is not None and right is not None:
        one, other = _named(node.this, table, scope), _named(node.expression, table, scope)
        if (
            one.kind != other.kind
            or one.kind == "enum"  # of two lists of members
            or not _fit(one, table, order)
            or not _fit(other, table, order)
        ):
            raise Untold("a comparison of two columns that only the database can make")
        return [sign, _operand(one, table), _operand(other, table)]
    if left is not None:
        column = _named(node.this, table, scope)
        return [
            sign,
            _operand(column, table),
            _literal(column, node.expression, table, parameters, order=order),
        ]
    column = _named(node.expression, table, scope)
    return [mirrored, _operand(column, table), _literal(column, node.this, table, parameters, order=order)]


def _named(node: Any, table: Table, scope: Scope) -> Column:
    found = scope.find(node)
    if found is None or found[0].table is not table:
        raise Untold("a condition that only the database can evaluate")
    column = found[1]
    if column.silent is not None or (column.name in table.key and not column.exact):
        raise Untold(f"a condition over {column.name}, which is not recorded")
    return column


def _fit(column: Column, table: Table, order: bool) -> bool:
    return column.exact and (column.ordered or not order)


def _operand(column: Column, table: Table) -> Any:
    return {"key": table.key.index(column.name)} if column.name in table.key else {"column": column.name}


def _literal(column: Column, node: Any, table: Table, parameters: Parameters, *, order: bool = False) -> Any:
    value = constant(node, parameters)
    made = Unknown if value is Unknown or blank(column, value) else label(column, value)
    if made is Unknown or not _fit(column, table, order):
        raise Untold(f"a comparison with {column.name} that only the database can make")
    return {"bytes": made.hex()} if isinstance(made, bytes) else made


def _truth(column: Column) -> Any:
    """`WHERE on_call`."""
    if column.kind == "boolean":
        return ["=", {"column": column.name}, True]
    if column.kind in ("integer", "numeric"):
        return ["!=", {"column": column.name}, 0]
    raise Untold(f"{column.name} as a condition")


def _is(node: Any, table: Table, scope: Scope, parameters: Parameters) -> Any:
    """IS NULL, IS TRUE, and IS with a constant: never unknown."""
    from sqlglot import exp

    column = _named(node.this, table, scope)
    operand = _operand(column, table)
    if isinstance(node.expression, exp.Null):
        return ["is-null", operand]
    there = ["not", ["is-null", operand]]
    if isinstance(node.expression, exp.Boolean):
        if column.kind not in ("boolean", "integer", "numeric"):
            raise Untold(f"{column.name} as a condition")
        true = _truth(column)
        return ["and", there, true if node.expression.this else ["not", true]]
    value = constant(node.expression, parameters)
    if value is None:
        return ["is-null", operand]
    return ["and", there, ["=", operand, _literal(column, node.expression, table, parameters)]]

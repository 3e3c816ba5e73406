"""Texts with values in them, understood by their skeletons: `... WHERE id = 5` as `... WHERE id = 6` was.

Some clients of PostgreSQL write values into the text, so that nearly every text is a new one, and to parse it is most
of what it costs to be understood. But texts of one skeleton (native/wire/plain.hpp) have one tree, up to the values of
its literals. So a skeleton is parsed once, with marks in place of its literals; where a mark is a literal of the tree
it becomes a parameter, whose value each text brings with it. All else is as it is without (record/sql/meaning.py): the
trace has the text as it was sent.

Not where a value decides what the text means: one that is cast (`'1'::int`) must be the same, and one that the parser
makes something else of (an interval, a path into JSON) makes the skeleton one that is parsed each time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from boomslang.record.sql.meaning import CALLS, START, Meaning, meaning_of_tree, names_move
from boomslang.record.sql.schema import Schema
from boomslang.record.sql.text import NotParsed, Parsed, parsed
from boomslang.record.wire._relay import literals

MOST = 2000
"""Shapes."""
MARK = 10**9
WORDS = frozenset(("select", "insert", "update", "delete"))


class Shape(NamedTuple):
    meaning: Meaning
    """Of the text with parameters."""
    values: tuple[int, ...]
    """Which of the literals are these."""
    fixed: tuple[tuple[int, bytes], ...]
    """What the others are."""


class Shapes:
    """Of one schema."""

    def __init__(self) -> None:
        self._known: dict[bytes, Shape | None] = {}

    def clear(self) -> None:
        self._known.clear()

    def meaning(self, text: str, schema: Schema) -> Meaning | None:
        """None: parse it."""
        found = literals(text.encode()) if text.isascii() else None
        if found is None or names_move(text):
            return None
        if schema.routines and {name.lower() for name in CALLS.findall(text)} & schema.routines:
            return None
        skeleton, given = found
        shape = self._known.get(skeleton)
        if shape is None or any(given[place] != literal for place, literal in shape.fixed):
            if not given or (shape is None and skeleton in self._known):
                return None
            if len(self._known) >= MOST:
                self._known.clear()
            shape = self._known[skeleton] = _learnt(text, skeleton, given, schema)
            if shape is None:
                return None
        return _with_values(shape.meaning, tuple(_value(given[place]) for place in shape.values))


def _with_values(meaning: Meaning, values: tuple[Any, ...]) -> Meaning:
    tell, plan = meaning.tell, meaning.plan
    return replace(
        meaning,
        tell=lambda given, answer: tell(values, answer),
        plan=None if plan is None else lambda given, rows, count: plan(values, rows, count),
    )


def _value(literal: bytes) -> int | str:
    return literal[1:-1].decode("ascii") if literal.startswith(b"'") else int(literal)


def _learnt(text: str, skeleton: bytes, given: list[bytes], schema: Schema) -> Shape | None:
    first = START.match(text)
    word = first[1].lower() if first else ""
    if word not in WORDS:
        return None
    marks = [f"'q{MARK + n}'" if one.startswith(b"'") else str(MARK + n) for n, one in enumerate(given)]
    # In a skeleton, strings have their quotes still.
    pieces = skeleton[1:].decode("ascii").split("?")
    marked = pieces[0] + "".join(
        mark.strip("'") + piece for mark, piece in zip(marks, pieces[1:], strict=True)
    )
    try:
        tree, real = parsed(marked, schema.dialect, None).tree, parsed(text, schema.dialect, None).tree
    except NotParsed:
        return None
    places = _places(tree, marks)
    if places is None or not _same(tree, real, places, given):
        return None
    values = tuple(place for place, node in places.items() if not _is_cast(node))
    fixed = tuple((place, given[place]) for place in places if place not in values)
    tree = _with_parameters(tree, places, values, given)
    return Shape(meaning_of_tree(Parsed(tree, tuple(range(len(values)))), schema, word), values, fixed)


def _places(tree: Any, marks: list[str]) -> dict[int, Any] | None:
    """The literal that each mark is; None if one is none, or several."""
    from sqlglot import exp

    named = {mark: place for place, mark in enumerate(marks)}
    found: dict[int, Any] = {}
    for node in tree.find_all(exp.Literal):
        place = named.get(f"'{node.this}'" if node.is_string else str(node.this))
        if place is not None:
            if place in found:
                return None
            found[place] = node
    return dict(sorted(found.items())) if len(found) == len(marks) else None


def _same(tree: Any, real: Any, places: dict[int, Any], given: list[bytes]) -> bool:
    """Is the marked tree the real one, with its literals put back?"""
    from sqlglot import exp

    def put_back(node: Any) -> Any:
        place = numbers.get((node.is_string, str(node.this))) if isinstance(node, exp.Literal) else None
        return node if place is None else _literal(given[place])

    numbers = {(node.is_string, str(node.this)): place for place, node in places.items()}
    return bool(tree.copy().transform(put_back) == real)


def _literal(literal: bytes) -> Any:
    from sqlglot import exp

    text = literal.decode("ascii")
    return exp.Literal.string(text[1:-1]) if text.startswith("'") else exp.Literal.number(text)


def _is_cast(node: Any) -> bool:
    from sqlglot import exp

    return node.find_ancestor(exp.Cast, exp.TryCast) is not None


def _with_parameters(tree: Any, places: dict[int, Any], values: tuple[int, ...], given: list[bytes]) -> Any:
    from sqlglot import exp

    for place, node in places.items():
        if place in values:
            node.replace(exp.Placeholder(this=f"p{values.index(place)}"))
        else:
            node.replace(_literal(given[place]))
    return tree

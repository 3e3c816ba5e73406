"""Texts with values in them, understood by their skeletons: what they tell is what they tell when each is parsed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("sqlglot")

from support.effort import examples

from boomslang.record.sql.meaning import Meaning, meaning_of
from boomslang.record.sql.schema import Column, Schema
from boomslang.record.sql.told import Answer
from boomslang.record.wire.shapes import Shapes

LITERALS = (
    "1",
    "2",
    "30",
    "007",
    "'a'",
    "'b c'",
    "''",
    "'5'",
    "'2024-01-02'",
    "'1 day'",
    "'%x_'",
    "'a)'",
    "'p0'",
)
ODD = (
    "'it''s'",
    "1.5",
    "NULL",
    "true",
    "E'x'",
    "-3",
    "- 4",
    "'é'",
    "'1'::int",
    "CAST('2' AS int)",
    "B'1'",
    "$1",
    "1e3",
)
SHAPES = (
    "SELECT stock, name FROM items WHERE id = {}",
    'SELECT "items"."stock" FROM "items" WHERE "items"."id" = {} LIMIT {}',
    "SELECT id FROM items WHERE stock > {} AND name = {}",
    "SELECT id, name FROM items WHERE id IN ({}, {}) OR stock BETWEEN {} AND {}",
    "SELECT {} FROM items WHERE name LIKE {} ORDER BY {}",
    "SELECT i.id, l.pos FROM items i JOIN lines l ON l.item = i.id AND l.pos = {} WHERE i.id = {}",
    "SELECT count(*) FROM items WHERE stock = {}",
    "SELECT id FROM items WHERE at > now() - INTERVAL {}",
    "SELECT id FROM items WHERE note ->> {} = {}",
    "SELECT id FROM items WHERE at = DATE {} AND id = {}",
    "SELECT note FROM items WHERE id = ('1'::int4) AND stock = ({}::int4)",
    "SELECT set_config({}, {}, false)",
    "SELECT lower({}) FROM items WHERE id = {}",
    "SELECT written({}) FROM items",
    "UPDATE items SET stock = {}, name = {} WHERE id = {}",
    "UPDATE items SET stock = stock + {} WHERE id = {} AND stock = {}",
    "DELETE FROM lines WHERE ord = {} AND pos = {}",
    "INSERT INTO items (id, name) VALUES ({}, {}), ({}, {})",
    "INSERT INTO items (id, name) VALUES ({}, {}) ON CONFLICT (id) DO UPDATE SET name = {}",
    "INSERT INTO lines SELECT {}, {}, id FROM items WHERE id = {}",
    "UPDATE elsewhere SET n = {} WHERE id = {}",
    "SET search_path TO {}",
    "COMMIT",
)
ANSWERS = [
    Answer(rows, count) for rows in ([], [(1,)], [(1, "a")], [(1, "a"), (2, "b")]) for count in (-1, 0, 1, 2)
]


@pytest.fixture
def schema() -> Schema:
    made = Schema("postgres", "shop", ("public",), "public", routines=frozenset(("written",)))
    integer = {"kind": "integer", "range": (-(2**31), 2**31 - 1)}
    columns = [Column("id", **integer), Column("name", "text"), Column("stock", **integer)]  # type: ignore[arg-type]
    columns += [Column("note", "json"), Column("at", "timestamp")]
    made.add("public", "items", {column.name: column for column in columns}, key=("id",))
    lines = [Column(name, **integer) for name in ("ord", "pos", "item")]  # type: ignore[arg-type]
    made.add("public", "lines", {column.name: column for column in lines}, key=("ord", "pos"))
    return made


def told(meaning: Meaning) -> list[Any]:
    """All that a meaning says."""
    said: list[Any] = [replace(meaning, tell=len, plan=None)]
    for answer in ANSWERS:
        try:
            said.append(meaning.tell(None, answer))
        except Exception as error:
            said.append(type(error))
    if meaning.plan is not None:
        said += [meaning.plan(None, answer.rows, answer.count) for answer in ANSWERS]
    return said


def without_plans(said: list[Any]) -> list[Any]:
    return said[: 1 + len(ANSWERS)]


def test_they_tell_what_they_tell_when_each_is_parsed(schema: Schema) -> None:
    draw, shapes, used = random.Random(14), Shapes(), 0
    number = examples(600)
    for _ in range(number):
        shape = draw.choice(SHAPES)
        few = LITERALS if draw.random() < 0.8 else LITERALS + ODD
        text = shape.format(*(draw.choice(few) for _ in range(shape.count("{}"))))
        found = shapes.meaning(text, schema)
        if found is not None:
            used += 1
            expected = meaning_of(text, schema, None)
            assert without_plans(told(found)) == without_plans(told(expected)), text
            if found.plan is not None and expected.plan is not None:
                assert told(found) == told(expected), text
    assert number / 3 < used < number


@pytest.mark.parametrize(
    "text",
    [
        "SELECT set_config('search_path', 'other', false)",  # names move
        "SELECT written('a') FROM items",  # a function that somebody has written
        "SELECT id FROM items WHERE at > now() - INTERVAL '1 day'",
        "SELECT id FROM items WHERE note ->> 'a' = 'b'",
        "SELECT id FROM items WHERE name = 'it''s'",
        "SELECT id FROM items WHERE id = $1",
        "SELECT id FROM items",
        "CREATE TABLE t (n int DEFAULT 5)",
    ],
)
def test_where_a_value_decides_each_is_parsed(schema: Schema, text: str) -> None:
    assert Shapes().meaning(text, schema) is None


def test_a_value_that_is_cast_must_be_the_same(schema: Schema) -> None:
    shapes = Shapes()
    for value in (1, 2, 1):
        found = shapes.meaning(f"SELECT stock FROM items WHERE id = '{value}'::int", schema)
        assert found is not None
        (row, stock) = found.tell(None, Answer([(7,)], 1)).records
        assert (row.args[0], stock.result) == (f"items[{value}]", 7)

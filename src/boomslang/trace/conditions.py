"""Conditions over the columns of a row: a small closed language, as data.

What a `select` asked is a JSON value such as `["and", ["=", {"column": "on_call"}, true], [">", {"key": 0},
5]]`; the page docs/trace-format.md has all of it. It is read into a tree of `Test`s (which look at columns)
joined by and, or and not, and evaluated in SQL's logic of three values, after the SQL standard (ISO/IEC
9075-2, 8.2 and 6.39): a comparison with NULL is unknown, and a row matches only if the condition is true.
Truth is a number, so that `and` is the smaller of two and `or` the larger: FALSE 0, UNKNOWN 1, TRUE 2.

No text is executed, and size and nesting are bounded: a trace is untrusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any, NoReturn, TypeAlias

from boomslang.trace.scalars import Absent, Scalar, int_to_text, text_to_int

FALSE, UNKNOWN, TRUE = 0, 1, 2

MOST_COLUMNS = 8
MOST_PARTS = 200
DEEPEST = 16
LONGEST = 1 << 20
"""Bytes of a condition."""

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}
JOINS = ("and", "or", "not")


class ConditionError(ValueError):
    """This is no condition, or it cannot be evaluated: what was `found`, `expected`, and the `fix`."""

    def __init__(self, found: str, expected: str, fix: str) -> None:
        super().__init__(f"found {found}; expected {expected}; fix: {fix}")


@dataclass(frozen=True)
class Column:
    name: str


@dataclass(frozen=True)
class Key:
    """A part of the row's primary key."""

    part: int


@dataclass(frozen=True)
class Literal:
    value: Scalar


Operand: TypeAlias = Column | Key | Literal
Values: TypeAlias = Mapping[str, Any]
"""Of each column its value; `Absent` where the row does not exist."""
PrimaryKey: TypeAlias = tuple[Scalar, ...]


@dataclass(frozen=True)
class Test:
    """A leaf: `op` is a comparison, "in" (of literals), "is-null" or "like"."""

    op: str
    operands: tuple[Operand, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(o.name for o in self.operands if isinstance(o, Column)))

    @cached_property
    def uses_key(self) -> bool:
        return any(isinstance(o, Key) for o in self.operands)

    def truth(self, values: Values, key: PrimaryKey) -> int:
        """What it is of a row that has these values."""
        found = [_value(o, values, key) for o in self.operands]
        first = found[0]
        if self.op == "is-null":
            return TRUE if first is None else FALSE
        if first is None:
            return UNKNOWN
        if self.op == "in":
            some = any(other is not None and compared("=", first, other) for other in found[1:])
            return TRUE if some else UNKNOWN if None in found[1:] else FALSE
        if found[1] is None:
            return UNKNOWN
        if self.op == "like":
            return TRUE if _like(first, found[1]) else FALSE
        return TRUE if compared(self.op, first, found[1]) else FALSE


@dataclass(frozen=True)
class Join:
    """`op` is "and", "or" or "not"."""

    op: str
    parts: tuple[Tree, ...]


Tree: TypeAlias = "Test | Join"
ALWAYS = Join("and", ())


@dataclass(frozen=True)
class Condition:
    """What a select asked: a table, and what must hold of its rows."""

    table: str
    tree: Tree

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns it names, in order."""
        return tuple(dict.fromkeys(name for test in tests(self.tree) for name in test.columns))

    @cached_property
    def key_parts(self) -> int:
        """How many parts a primary key must have for it."""
        keys = [o.part + 1 for test in tests(self.tree) for o in test.operands if isinstance(o, Key)]
        return max(keys, default=0)

    def matches(self, values: Values, key: PrimaryKey, exists: bool = True) -> bool:
        """Does a row match? If it names columns, `values` has each of them, and `exists` is not asked."""
        if not self.columns:
            return exists and truth(self.tree, values, key) == TRUE
        if any(values[name] is Absent for name in self.columns):
            return False
        return truth(self.tree, values, key) == TRUE


def truth(tree: Tree, values: Values, key: PrimaryKey) -> int:
    """TRUE, FALSE or UNKNOWN."""
    if isinstance(tree, Test):
        return tree.truth(values, key)
    parts = (truth(part, values, key) for part in tree.parts)
    if tree.op == "not":
        return TRUE - next(parts)
    return min(parts, default=TRUE) if tree.op == "and" else max(parts, default=FALSE)


def tests(tree: Tree) -> list[Test]:
    """Its leaves."""
    return [tree] if isinstance(tree, Test) else [leaf for part in tree.parts for leaf in tests(part)]


def conjuncts(tree: Tree) -> list[Tree]:
    """Parts that must all be true for it to be true."""
    if isinstance(tree, Join) and tree.op == "and":
        return [c for part in tree.parts for c in conjuncts(part)]
    return [tree]


# --- values


def family(x: Scalar) -> str:
    """What it can be compared with."""
    if isinstance(x, bool):
        return "boolean"
    if isinstance(x, int | float):
        return "number"
    return "string" if isinstance(x, str) else "bytes" if isinstance(x, bytes) else "null"


def compared(op: str, a: Scalar, b: Scalar) -> bool:
    """A comparison of two values, neither of which is NULL."""
    if family(a) != family(b):
        _two_types(a, b)
    # Python compares integers with floats exactly, and strings by code points, which is the order of their UTF-8.
    return COMPARISONS[op](a, b)


def _two_types(a: Scalar, b: Scalar) -> NoReturn:
    raise ConditionError(
        f"a condition that compares a {family(a)} with a {family(b)} ({a!r:.40} with {b!r:.40})",
        "values of one type",
        "write the column and what it is compared with in one type; databases disagree on what else it means",
    )


def _like(text: Scalar, pattern: Scalar) -> bool:
    if not isinstance(text, str):
        _two_types(text, pattern)
    return like(text, _pieces(str(pattern)))


ANY, ONE = 0, 1


@lru_cache(1024)
def _pieces(pattern: str) -> tuple[str | int, ...]:
    """Characters, ANY for % and ONE for _; a \\ takes the next as it is."""
    pieces: list[str | int] = []
    characters = iter(pattern)
    for c in characters:
        # The reader has refused a \\ at the end.
        piece = next(characters) if c == "\\" else ANY if c == "%" else ONE if c == "_" else c
        if piece != ANY or pieces[-1:] != [ANY]:
            pieces.append(piece)
    return tuple(pieces)


def like(text: str, pieces: tuple[str | int, ...]) -> bool:
    """Does the text have this form? Only the last % is ever tried anew, so that no pattern takes long."""
    at = piece = 0
    again: tuple[int, int] | None = None
    while at < len(text):
        wanted = pieces[piece] if piece < len(pieces) else None
        if wanted == ANY:
            again = (piece + 1, at)
            piece += 1
        elif wanted == ONE or wanted == text[at]:
            piece, at = piece + 1, at + 1
        elif again is None:
            return False
        else:
            again = (again[0], again[1] + 1)
            piece, at = again
    return all(p == ANY for p in pieces[piece:])


def _value(operand: Operand, values: Values, key: PrimaryKey) -> Any:
    if isinstance(operand, Literal):
        return operand.value
    return values[operand.name] if isinstance(operand, Column) else key[operand.part]


# --- words


def in_words(condition: Condition) -> str:
    """A condition as people write it, for people: "where on_call = true"."""
    said = "" if condition.tree == Join("and", ()) else _words(condition.tree, 0)
    return f"where {said}" if said else ""


def _words(tree: Tree, depth: int) -> str:
    if isinstance(tree, Join):
        if tree.op == "not":
            return f"not {_words(tree.parts[0], 9)}"
        if not tree.parts:
            return "true" if tree.op == "and" else "false"
        text = f" {tree.op} ".join(_words(p, depth + 1) for p in tree.parts)
        return f"({text})" if depth and len(tree.parts) > 1 else text
    names = list(_operands(tree))
    if tree.op == "is-null":
        return f"{names[0]} is null"
    if tree.op == "in":
        more = ", ".join(names[1:4]) + (", ..." if len(names) > 4 else "")
        return f"{names[0]} in ({more})"
    return f"{names[0]} {tree.op} {names[1]}"


def _literal(value: Scalar) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = int_to_text(value) if isinstance(value, int) else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _operands(test: Test) -> Iterator[str]:
    for o in test.operands:
        if isinstance(o, Column):
            yield o.name
        elif isinstance(o, Literal):
            yield _literal(o.value)
        else:
            yield f"key[{o.part}]" if o.part else "key"


# --- reading


def split_asked(text: str) -> tuple[str, str]:
    """The JSON texts of table and condition in `[table, condition]`."""
    _, end = json.JSONDecoder().raw_decode(text, 1)
    return text[1:end], text[end + 1 : -1].strip()


def parse(asked: str) -> Condition:
    """The condition in `[table, condition]`; raises `ConditionError`."""
    table, where = decoded(asked)
    if not isinstance(table, str) or not table or "[" in table:
        raise ConditionError(
            f"{table!r:.60} as a table",
            "a name without [",
            "call the table by another name, the same everywhere",
        )
    reader = _Reader()
    tree = reader.tree(where, 1)
    condition = Condition(table, tree)
    if len(condition.columns) > MOST_COLUMNS:
        raise ConditionError(
            f"a condition over {len(condition.columns)} columns",
            f"at most {MOST_COLUMNS}",
            "leave the read out",
        )
    return condition


def decoded(text: str) -> tuple[Any, Any]:
    """The two values; whatever is not exactly that is refused."""
    fix = 'write "table": "name" and "where": ["=", {"column": "name"}, value]'
    if len(text) > LONGEST:
        raise ConditionError(
            f"a condition of {len(text):,} bytes", f"at most {LONGEST:,}", "leave the read out"
        )
    try:
        both = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse, parse_int=text_to_int)
        json.dumps(both, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # also: half a character, which is no text
        raise ConditionError(f"{text[:60]!r}, which is no JSON", "a table and a condition", fix) from None
    if not isinstance(both, list) or len(both) != 2:
        raise ConditionError(f"{text[:60]!r}", "a table and a condition", fix)
    return both[0], both[1]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field twice")
    return made


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


class _Reader:
    def __init__(self) -> None:
        self.parts = 0

    def wrong(self, found: object, expected: str) -> ConditionError:
        return ConditionError(
            f"{json.dumps(found, ensure_ascii=False)[:60]} in a condition",
            expected,
            "see Rows and conditions in docs/trace-format.md",
        )

    def tree(self, x: object, depth: int) -> Tree:
        self.parts += 1
        if self.parts > MOST_PARTS or depth > DEEPEST:
            raise ConditionError(
                "a condition with too many parts",
                f"at most {MOST_PARTS}, {DEEPEST} deep",
                "leave the read out",
            )
        if x is True:
            return ALWAYS
        if not isinstance(x, list) or not x or not isinstance(x[0], str):
            raise self.wrong(x, 'true, or a list such as ["=", {"column": "name"}, value]')
        op, rest = x[0], x[1:]
        if op in JOINS:
            if (op == "not" and len(rest) != 1) or not rest:
                raise self.wrong(x, f'"{op}" and ' + ("one condition" if op == "not" else "conditions"))
            return Join(op, tuple(self.tree(part, depth + 1) for part in rest))
        if op in COMPARISONS:
            return Test(op, self.operands(x, rest, 2))
        if op == "is-null":
            return Test(op, self.operands(x, rest, 1))
        if op == "between":
            a, low, high = self.operands(x, rest, 3)
            return Join("and", (Test(">=", (a, low)), Test("<=", (a, high))))
        if op == "like":
            text, pattern = self.operands(x, rest, 2)
            if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
                raise self.wrong(x, "a string as the pattern")
            if re.search(r"(?<!\\)(?:\\\\)*\\$", pattern.value):
                raise self.wrong(x, "a pattern that does not end with a single \\")
            return Test(op, (text, pattern))
        if op == "in":
            if len(rest) != 2 or not isinstance(rest[1], list):
                raise self.wrong(x, '["in", a, [b, ...]]')
            listed = tuple(self.operand(b) for b in rest[1])
            if all(isinstance(b, Literal) for b in listed):
                return Test(op, (self.operand(rest[0]), *listed)) if listed else Join("or", ())
            self.parts += len(listed)
            return Join("or", tuple(Test("=", (self.operand(rest[0]), b)) for b in listed))
        raise self.wrong(op, "one of " + " ".join((*COMPARISONS, "in between is-null like", *JOINS)))

    def operands(self, x: object, rest: list[Any], count: int) -> tuple[Operand, ...]:
        if len(rest) != count:
            raise self.wrong(x, f"{count} operand{'s' if count > 1 else ''}")
        return tuple(self.operand(o) for o in rest)

    def operand(self, x: object) -> Operand:
        if x is None or isinstance(x, bool | int | str) or (isinstance(x, float) and isfinite(x)):
            return Literal(x)
        if isinstance(x, dict) and len(x) == 1:
            ((name, held),) = x.items()
            if name == "column" and isinstance(held, str) and held:
                return Column(held)
            if name == "key" and isinstance(held, int) and not isinstance(held, bool) and 0 <= held < 64:
                return Key(held)
            if name == "bytes" and isinstance(held, str) and re.fullmatch("(?:[0-9a-fA-F]{2})*", held):
                return Literal(bytes.fromhex(held))
        raise self.wrong(x, '{"column": "name"}, {"key": 0}, or a value')

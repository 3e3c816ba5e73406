"""Expressions: boolean formulas over edges, and superpositions over expressions.

An edge present is true. Beside edges there are atoms for what the trace leaves open: whether a transaction of
unknown outcome committed, and what a key held initially; and one for paths, where a level forbids only some cycles.
A *superposition* `<e1, ..., en>` says that exactly one of its expressions holds, and we do not know which (section 4.2
of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from boomslang.ir.model import START
from boomslang.levels.level import Dependency

__all__ = [
    "FALSE",
    "START",
    "TRUE",
    "And",
    "Atom",
    "Committed",
    "Edge",
    "Expression",
    "Implies",
    "InitialIs",
    "Not",
    "Or",
    "Path",
    "Superposition",
    "all_of",
    "atoms",
]


@dataclass(frozen=True)
class Edge:
    """An edge between two nodes. Two edges with the same ends may be there for different reasons, so the kind, the
    key and the read belong to its identity."""

    source: int
    target: int
    kind: Dependency
    key: int = -1
    read: int = -1
    by: str = field(default="", compare=False)
    """The module that says so; nothing if the trace does."""

    @property
    def label(self) -> str:
        """What people see: the kind, or the module's name without its parameters."""
        return self.by.partition(":")[0] or self.kind.value


@dataclass(frozen=True)
class Committed:
    """A transaction of unknown outcome committed."""

    txn: int


@dataclass(frozen=True)
class InitialIs:
    """A key of unknown initial value held this value (or ABSENT, or anything PRESENT)."""

    key: int
    value: int


@dataclass(frozen=True)
class Path:
    """A path of the level's kind leads from one node to another. (Paths there are must be true; others may be.)"""

    source: int
    target: int


@dataclass(frozen=True)
class Not:
    inner: Expression


@dataclass(frozen=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Implies:
    premise: Expression
    conclusion: Expression


Atom: TypeAlias = "Edge | Committed | InitialIs | Path"
Expression: TypeAlias = "Atom | Not | And | Or | Implies"

TRUE = And(())
FALSE = Or(())


def all_of(*parts: Expression) -> Expression:
    """The conjunction, without needless nesting."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


@dataclass(frozen=True)
class Superposition:
    """Exactly one of the options holds, provided that `when` does."""

    options: tuple[Expression, ...]
    why: str
    when: Expression = TRUE


def atoms(expression: Expression) -> list[Atom]:
    """All atoms of an expression, in order."""
    if isinstance(expression, Not):
        return atoms(expression.inner)
    if isinstance(expression, (And, Or)):
        return [a for part in expression.parts for a in atoms(part)]
    if isinstance(expression, Implies):
        return atoms(expression.premise) + atoms(expression.conclusion)
    return [expression]

"""The columns of a problem, and the views that show them as objects.

`Atoms` holds every edge that a problem speaks of, by number. `Rows` are rows of different lengths in one array.
`KnownEdges`, `Superpositions` and `Expressions` are what a `Problem` holds in place of tuples; `Marks` is what it holds
in place of a dictionary from atoms to truth values: a number for each atom, 1 true, -1 false, 0 open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.ir.expression import And, Atom, Edge, Expression, Implies, Not, Superposition
from boomslang.levels.level import Dependency

Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS = tuple(Dependency)
CODE = {kind: code for code, kind in enumerate(KINDS)}
NONE = -1
"""In the place of a conclusion: there is none, so the premises cannot all hold."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Edges by number."""

    kind: Int8
    """A place in KINDS."""
    source: Int32
    target: Int32
    key: Int32
    read: Int32
    by: Mapping[int, str] = field(default_factory=dict)
    """Which module says so, of those that one does."""

    def __len__(self) -> int:
        return len(self.kind)

    def edge(self, number: int) -> Edge:
        return self.edges(np.array([number]))[0]

    def edges(self, numbers: Int32 | Int64) -> list[Edge]:
        columns = (self.source, self.target, self.kind, self.key, self.read)
        rows = zip(numbers.tolist(), *(column[numbers].tolist() for column in columns), strict=True)
        return [Edge(a, b, KINDS[k], key, read, by=self.by.get(n, "")) for n, a, b, k, key, read in rows]

    @cached_property
    def number(self) -> dict[Atom, int]:
        """Of each edge: for those who know objects only."""
        return {edge: n for n, edge in enumerate(self.edges(np.arange(len(self))))}


class AtomTable:
    """Atoms being numbered."""

    def __init__(self) -> None:
        self._count = 0
        self._columns: list[tuple[Any, ...]] = []
        self.by: dict[int, str] = {}

    def add(self, kind: Any, source: Any, target: Any, key: Any = -1, read: Any = -1) -> Int32:
        """Numbers for these edges; what is one value for all of them may be given once."""
        length = len(source)
        given = ((kind, np.int8), (source, np.int32), (target, np.int32), (key, np.int32), (read, np.int32))
        self._columns.append(tuple(np.broadcast_to(np.asarray(x, t), (length,)) for x, t in given))
        first, self._count = self._count, self._count + length
        return np.arange(first, self._count, dtype=np.int32)

    def atoms(self) -> Atoms:
        columns = zip(*self._columns, strict=True) if self._columns else ((np.zeros(0, np.int32),),) * 5
        kind, source, target, key, read = (np.concatenate(column) for column in columns)
        return Atoms(kind.astype(np.int8), source, target, key, read, self.by)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of different lengths: row i is `cells[start[i]:start[i + 1]]`."""

    start: Int64
    cells: Int32

    @classmethod
    def of_lengths(cls, lengths: NDArray[Any], cells: Int32) -> Rows:
        start = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=start[1:])
        return cls(start, cells)

    @classmethod
    def empty(cls) -> Rows:
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def lengths(self) -> Int64:
        return np.diff(self.start)

    @cached_property
    def owner(self) -> Int32:
        """Of each cell, its row."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths)

    def where(self, rows: Bools) -> Rows:
        """These rows."""
        return Rows.of_lengths(self.lengths[rows], self.cells[rows[self.owner]])

    def take(self, rows: Int64 | Int32) -> Rows:
        """These rows, by number, without a look at the others."""
        lengths = self.start[rows + 1] - self.start[rows]
        made = Rows.of_lengths(lengths, np.zeros(0, np.int32))
        places = np.arange(int(made.start[-1])) + np.repeat(self.start[rows] - made.start[:-1], lengths)
        return Rows(made.start, self.cells[places])

    def only(self, cells: Bools) -> Rows:
        """All rows, with these of their cells."""
        return Rows.of_lengths(self.count(cells), self.cells[cells])

    def count(self, cells: Bools) -> Int64:
        """Of each row: how many of these cells are in it."""
        total = np.concatenate(([0], np.cumsum(cells, dtype=np.int64)))
        return total[self.start[1:]] - total[self.start[:-1]]

    def with_(self, more: Rows) -> Rows:
        if not len(more):
            return self
        start = np.concatenate([self.start, more.start[1:] + self.start[-1]])
        return Rows(start, np.concatenate([self.cells, more.cells]))


class KnownEdges(Sequence[Edge]):
    """The known edges of a problem."""

    def __init__(self, atoms: Atoms, numbers: Int32) -> None:
        self.atoms, self.numbers = atoms, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, i: int) -> Edge: ...
    @overload
    def __getitem__(self, i: slice) -> list[Edge]: ...
    def __getitem__(self, i: int | slice) -> Edge | list[Edge]:
        if isinstance(i, slice):
            return self.atoms.edges(self.numbers[i])
        return self.atoms.edge(int(self.numbers[i]))

    def __iter__(self) -> Iterator[Edge]:
        return iter(self.atoms.edges(self.numbers))


def _all_of(parts: list[Edge]) -> Expression:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


class Superpositions(Sequence[Superposition]):
    """Exactly one option of each; an option is a conjunction of edges."""

    def __init__(
        self, atoms: Atoms, options: Int64, parts: Rows, origin: Int64, why: Callable[[int], str]
    ) -> None:
        self.atoms = atoms
        self.options = options
        """Superposition i has the options from `options[i]` up to `options[i + 1]`."""
        self.parts = parts
        """Of each option, its edges."""
        self.origin = origin
        """What `why` is asked about."""
        self.why = why

    def __len__(self) -> int:
        return len(self.origin)

    @cached_property
    def owner(self) -> Int32:
        """Of each option, its superposition."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.options))

    @cached_property
    def cells(self) -> Rows:
        """Of each superposition, all its edges."""
        return Rows(self.parts.start[self.options], self.parts.cells)

    def where(self, rows: Bools) -> Superpositions:
        """These of them."""
        lengths = np.diff(self.options)[rows]
        return Superpositions(
            self.atoms,
            np.concatenate(([0], np.cumsum(lengths))),
            self.parts.where(rows[self.owner]),
            self.origin[rows],
            self.why,
        )

    def take(self, rows: Int64) -> Superpositions:
        """These, by number, without a look at the others."""
        options = Rows(self.options, np.arange(len(self.parts), dtype=np.int32)).take(rows)
        return Superpositions(
            self.atoms, options.start, self.parts.take(options.cells), self.origin[rows], self.why
        )

    @overload
    def __getitem__(self, i: int) -> Superposition: ...
    @overload
    def __getitem__(self, i: slice) -> list[Superposition]: ...
    def __getitem__(self, i: int | slice) -> Superposition | list[Superposition]:
        if isinstance(i, slice):
            return [self[n] for n in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        options = []
        for option in range(int(self.options[i]), int(self.options[i % len(self) + 1])):
            cells = self.parts.cells[self.parts.start[option] : self.parts.start[option + 1]]
            options.append(_all_of(self.atoms.edges(cells)))
        return Superposition(tuple(options), self.why(int(self.origin[i])))


class Expressions(Sequence[Expression]):
    """Implications: if all premises hold, so does the conclusion; if there is none, they do not all hold."""

    def __init__(self, atoms: Atoms, premises: Rows, conclusion: Int32) -> None:
        self.atoms, self.premises, self.conclusion = atoms, premises, conclusion

    def __len__(self) -> int:
        return len(self.conclusion)

    def where(self, rows: Bools) -> Expressions:
        return Expressions(self.atoms, self.premises.where(rows), self.conclusion[rows])

    def take(self, rows: Int64) -> Expressions:
        return Expressions(self.atoms, self.premises.take(rows), self.conclusion[rows])

    @overload
    def __getitem__(self, i: int) -> Expression: ...
    @overload
    def __getitem__(self, i: slice) -> list[Expression]: ...
    def __getitem__(self, i: int | slice) -> Expression | list[Expression]:
        if isinstance(i, slice):
            return [self[n] for n in range(*i.indices(len(self)))]
        if not 0 <= i < len(self):
            raise IndexError(i)
        start = self.premises.start
        premise = _all_of(self.atoms.edges(self.premises.cells[start[i] : start[i + 1]]))
        conclusion = int(self.conclusion[i])
        return Not(premise) if conclusion == NONE else Implies(premise, self.atoms.edge(conclusion))

    def distinct(self) -> Expressions:
        """Each once, where it is first."""
        keep = np.ones(len(self), np.bool_)
        lengths = self.premises.lengths
        for length in distinct(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            cells = self.premises.cells[self.premises.start[rows][:, None] + np.arange(length)]
            columns = [self.conclusion[rows], *cells.T]
            order = np.lexsort((rows, *columns))
            same = np.ones(max(0, len(rows) - 1), np.bool_)
            for column in columns:
                same &= column[order[1:]] == column[order[:-1]]
            keep[rows[order[1:][same]]] = False
        return self if keep.all() else self.where(keep)


class Marks(Mapping[Atom, bool]):
    """What is said of some atoms: 1 true, -1 false, 0 nothing."""

    def __init__(self, atoms: Atoms, values: Int8, order: Int32 | None = None) -> None:
        self.atoms, self.told = atoms, values
        self.order = order
        """In which order they are told, if not by their number."""

    @cached_property
    def _numbers(self) -> Int32:
        return np.flatnonzero(self.told).astype(np.int32) if self.order is None else self.order

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Atom]:
        return iter(self.atoms.edges(self._numbers))

    def __getitem__(self, atom: Atom) -> bool:
        value = int(self.told[self.atoms.number[atom]])
        if not value:
            raise KeyError(atom)
        return value > 0

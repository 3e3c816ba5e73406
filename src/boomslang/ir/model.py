"""Phase 3: the intermediate representation, where front end and back end meet.

    IR = graph + expressions + superpositions

The graph holds what is known under a level. What is not known comes in two *families*, each in linear space:
`WriteOrder(key)`, the order of a key's writers, and `ReadFrom(read)`, the writer of an ambiguous read (families.py). A
family stands for all its superpositions and the anti-dependencies they imply, and can be expanded one by one; that is
what a person, a printer and an eager solver see. Written out they are quadratic in the writers of a key, which is where
earlier checkers stop; the native engine never expands them. Superpositions and expressions added by hand are explicit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import (
    ASG,
    IMPOSSIBLE,
    IN,
    INITIAL,
    ITEM,
    MAYBE,
    OUT,
    PRESENT,
    SEVERAL,
)
from boomslang.errors import UsageError
from boomslang.levels.level import Dependency, Ends, Level, Point
from boomslang.trace.model import ABSENT

if TYPE_CHECKING:
    from boomslang.ir.expression import Edge, Expression, Superposition
    from boomslang.ir.families import ReadFrom, WriteOrder

Int64 = NDArray[np.int64]

START = -1
"""The node of the abstract initial transaction: before everything, and in no graph."""


@dataclass
class Graph:
    """Nodes and known edges. Nodes are the points of transactions, then helper nodes of the time line."""

    points: int
    transactions: int
    helpers: int = 0
    chunks: list[tuple[Int64, Int64, Dependency]] = field(default_factory=list)
    """Edges that do not come from reads: sources, targets, kind."""

    @property
    def nodes(self) -> int:
        return self.points * self.transactions + self.helpers

    def node(self, txn: int, point: Point) -> int:
        return txn if self.points == 1 else 2 * txn + (point == Point.COMMIT)

    def nodes_of(self, txns: Int64, point: Point) -> Int64:
        return txns if self.points == 1 else 2 * txns + int(point == Point.COMMIT)

    def transaction(self, node: int) -> int | None:
        """The transaction a node belongs to; None for a helper."""
        return node // self.points if 0 <= node < self.points * self.transactions else None

    def name(self, node: int) -> str:
        """T3, or B3 and C3, or h0 on the time line."""
        if node == START:
            return "T_init"
        txn = self.transaction(node)
        if txn is None:
            return f"h{node - self.points * self.transactions}"
        return f"T{txn}" if self.points == 1 else f"{'BC'[node % 2]}{txn}"

    def add_time_line(self, asg: ASG, *, by_log: bool = False, slack: int = 0) -> None:
        """Adds real-time order (of what is more than `slack` apart), or (`by_log`) what the order of the log's lines
        suggests."""
        lines, helpers = asg.time_edges(by_log=by_log, slack=slack)
        first = self.nodes
        self.helpers += helpers
        for sources, enters, chain, targets, leaves in lines:
            for a, b in (
                (self.nodes_of(sources, Point.COMMIT), enters + first),
                (chain[:-1] + first, chain[1:] + first),
                (leaves + first, self.nodes_of(targets, Point.BEGIN)),
            ):
                self.chunks.append((a.astype(np.int64), b.astype(np.int64), Dependency.RT))

    def add(self, source: int, target: int, kind: Dependency) -> None:
        """Adds one known edge between nodes: what a module with more knowledge does."""
        self.chunks.append((np.array([source], np.int64), np.array([target], np.int64), kind))


@dataclass(frozen=True)
class Told:
    """What one module added: from where to where in the IR's lists."""

    module: str
    chunks: int
    superpositions: int
    expressions: int
    chunks_end: int
    superpositions_end: int
    expressions_end: int
    notes: int = 0


@dataclass
class IR:
    """The problem of one trace at one level."""

    asg: ASG
    level: Level
    graph: Graph
    superpositions: list[Superposition] = field(default_factory=list)
    """Explicit ones, besides the families."""
    expressions: list[Expression] = field(default_factory=list)
    """Explicit ones, besides the families."""
    told: list[Told] = field(default_factory=list)
    """What each module added."""
    weakened_by: set[str] = field(default_factory=set)
    """Modules that dropped something."""
    notes: list[str] = field(default_factory=list)
    """What modules have to say to people."""

    # --- what a module may say

    def know(
        self, a: Int64 | list[int] | int, b: Int64 | list[int] | int, kind: Dependency = Dependency.WW
    ) -> None:
        """Known edges: transactions a come before transactions b (pair by pair, or one and many)."""
        source, target = self.ends(kind)
        one, many = np.broadcast_arrays(np.atleast_1d(np.asarray(a, np.int64)), np.asarray(b, np.int64))
        sources, targets = np.ascontiguousarray(one), np.ascontiguousarray(many)
        self.graph.chunks.append(
            (self.graph.nodes_of(sources, source), self.graph.nodes_of(targets, target), kind)
        )

    def require(self, *expressions: Expression) -> None:
        """These must hold."""
        self.expressions.extend(expressions)

    def choose(self, *options: Expression, why: str, when: Expression | None = None) -> None:
        """A superposition: exactly one of these holds (provided that `when` does)."""
        from boomslang.ir.expression import TRUE, Superposition

        self.superpositions.append(Superposition(options, why, TRUE if when is None else when))

    def refine(self, read: int, writers: Iterable[int]) -> None:
        """The read took one of these (transactions, or START) and no other of its candidates."""
        from boomslang.ir.expression import Not

        family = self.read_from(read, int(self.asg.read_txn[read]))
        left = set(writers)
        for w in family.candidates:
            if w not in left:
                self.require(Not(self.wr(w, family)))
        if not left & set(family.candidates):
            self.require(Not(self.committed(family.txn)))

    def demand(self, order: Dependency) -> None:
        """Session order (SO) or real-time order (RT), where the level does not ask for it by itself."""
        if order not in (Dependency.SO, Dependency.RT):
            raise UsageError(f"only so and rt can be demanded, not {order.value}")
        if self.level.has(order) and not (order == Dependency.RT and self.level.slack):
            return
        once = self.level.once and replace(self.level.once, kinds=self.level.once.kinds | {order})
        slack = 0 if order == Dependency.RT else self.level.slack
        edges = {**self.level.edges, order: self.ends(order)}
        self.level = replace(self.level, edges=edges, once=once, slack=slack)
        if order == Dependency.SO:
            self.know(*self.asg.session_edges(), Dependency.SO)
        else:
            self.graph.add_time_line(self.asg)

    def drop(self, kind: Dependency) -> None:
        """This kind of dependency does not matter: rw or prw (such reads may see any earlier version), so, rt."""
        if kind not in (Dependency.RW, Dependency.PRW, Dependency.SO, Dependency.RT):
            raise UsageError(f"{kind.value} cannot be dropped: every order keeps it")
        if self.level.once is not None and kind in (Dependency.RW, Dependency.PRW):
            raise UsageError(f"{self.level.name} forbids cycles with one anti-dependency; {kind.value} stays")
        self.level = replace(self.level, edges={k: e for k, e in self.level.edges.items() if k != kind})
        # Emptied, not taken out: what modules told is known by its place.
        self.graph.chunks = [(a[:0], b[:0], k) if k == kind else (a, b, k) for a, b, k in self.graph.chunks]
        self.__dict__.pop("strong", None)
        self.weakened_by.update(told.module for told in self.told[-1:])

    def relax(self, reads: NDArray[np.bool_]) -> None:
        """These reads (true in a mask over all) may see any earlier version, not only the last."""
        if self.level.once is not None:
            raise UsageError(f"{self.level.name} says of every read which versions it may see")
        self.strong = self.strong & ~reads
        self.weakened_by.update(told.module for told in self.told[-1:])

    def begin_module(self, name: str) -> None:
        """What is added from now on is this module's."""
        counts = (len(self.graph.chunks), len(self.superpositions), len(self.expressions))
        self.told.append(Told(name, *counts, *counts, notes=len(self.notes)))

    def end_module(self) -> None:
        last = self.told[-1]
        counts = (len(self.graph.chunks), len(self.superpositions), len(self.expressions))
        self.told[-1] = replace(
            last, chunks_end=counts[0], superpositions_end=counts[1], expressions_end=counts[2]
        )
        self.notes[last.notes :] = [f"{last.module}: {note}" for note in self.notes[last.notes :]]

    # --- atoms

    def ends(self, kind: Dependency) -> Ends:
        """The points that an edge of this kind joins; the session's and time's join what wr does."""
        default = self.level.edges[Dependency.WR] if kind in (Dependency.SO, Dependency.RT) else None
        return self.level.edges.get(kind) or default or (Point.ONLY, Point.ONLY)

    @cached_property
    def _words(self) -> Any:
        """What the atoms are made of, loaded when the first is made."""
        from boomslang.ir import expression

        return expression

    def committed(self, txn: int) -> Expression:
        words = self._words
        made: Expression = words.Committed(txn) if self.asg.state[txn] == MAYBE else words.TRUE
        return made

    def _edge(self, a: int, b: int, kind: Dependency, key: int, read: int = -1) -> Edge:
        # A cursor's anti-dependencies are none of its level's, but order all the same.
        source, target = self.ends(kind)
        made: Edge = self._words.Edge(
            START if a == START else self.graph.node(a, source), self.graph.node(b, target), kind, key, read
        )
        return made

    def ww(self, i: int, j: int, key: int) -> Edge:
        return self._edge(i, j, Dependency.WW, key)

    def wr(self, w: int, read: ReadFrom) -> Edge:
        kind = Dependency.WR if self.asg.read_kind[read.read] == ITEM else Dependency.PWR
        return self._edge(w, read.txn, kind, read.key, read.read)

    def rw(self, read: ReadFrom, p: int) -> Edge:
        kind = Dependency.RW if self.asg.read_kind[read.read] == ITEM else Dependency.PRW
        return self._edge(read.txn, p, kind, read.key, read.read)

    @cached_property
    def strong(self) -> NDArray[np.bool_]:
        """Of each read: must it see the last writer before it (or just some writer before it)?"""
        item = self.asg.read_kind == ITEM
        strong = np.where(item, self.level.items_see_last, self.level.predicates_see_last)
        if self.level.cursor:
            strong |= item & self.asg.cursor_reads()
        return strong

    def sees_last(self, read: int) -> bool:
        """Must this read see the last writer before it?"""
        return bool(self.strong[read])

    # --- the families

    def writers(self, key: int) -> list[int]:
        low, high = int(self.asg.key_start[key]), int(self.asg.key_start[key + 1])
        return sorted(w for w in self.asg.write_txn[low:high].tolist() if self.asg.state[w] != OUT)

    def write_orders(self) -> Iterator[WriteOrder]:
        from boomslang.ir.families import WriteOrder

        for key in np.flatnonzero(np.diff(self.asg.key_start) > 1).tolist():
            writers = self.writers(key)
            if len(writers) > 1:
                yield WriteOrder(key, tuple(writers))

    @cached_property
    def known_orders(self) -> dict[int, tuple[int, ...]]:
        """The keys whose writers are known to be in one order, and that order: what lists or modules told is enough.
        For these there is nothing to choose, so no superposition is made."""
        if not len(self.asg.list_from) and not self.told:
            return {}
        source, target = self.ends(Dependency.WW)
        pairs = [self.list_order(), *((a, b) for a, b, kind in self.graph.chunks if kind == Dependency.WW)]
        known: dict[int, set[int]] = {}
        for sources, targets in pairs:
            for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
                known.setdefault(a, set()).add(b)
        found = {}
        for order in self.write_orders():
            if all(self.asg.state[w] == IN for w in order.writers):
                ends = {w: (self.graph.node(w, source), self.graph.node(w, target)) for w in order.writers}
                row = _only_order(
                    {w: known.get(ends[w][0], set()) for w in ends}, {ends[w][1]: w for w in ends}
                )
                if row is not None:
                    found[order.key] = row
        return found

    def read_froms(self) -> Iterator[ReadFrom]:
        """Every read of a transaction that is not out."""
        read_txn = self.asg.read_txn
        for read in np.flatnonzero(self.asg.state[read_txn] != OUT).tolist():
            yield self.read_from(read, int(read_txn[read]))

    def read_from(self, read: int, txn: int) -> ReadFrom:
        from boomslang.ir.families import ReadFrom

        writer = int(self.asg.read_writer[read])
        if self.asg.state[txn] == IN and writer >= INITIAL:
            candidates: tuple[int, ...] = (writer,)
        else:
            writers, initial = self.asg.candidates(read)
            candidates = (*((START,) if initial else ()), *writers)
        return ReadFrom(read, txn, int(self.asg.read_key[read]), candidates)

    def is_known(self, read: ReadFrom) -> bool:
        """Is the read's writer known, and the read certain to count?"""
        return self.asg.state[read.txn] == IN and len(read.candidates) == 1

    def known_reads(self) -> Iterator[Edge]:
        """The edges of reads with one candidate."""
        for read in self.read_froms():
            if self.is_known(read) and read.candidates != (START,):
                yield self.wr(read.candidates[0], read)

    def list_order(self) -> tuple[Int64, Int64]:
        """The nodes between which the order of appends is known, because lists were read."""
        source, target = self.level.edges[Dependency.WW]
        sources, targets = self.asg.list_from.astype(np.int64), self.asg.list_to.astype(np.int64)
        return self.graph.nodes_of(sources, source), self.graph.nodes_of(targets, target)

    def known_edges(self) -> Iterator[Edge]:
        """All known edges but B -> C: reads with one candidate, the order of appends, then the rest of the graph."""
        yield from self.known_reads()
        for a, b, read in zip(
            *(x.tolist() for x in self.list_order()), self.asg.list_read.tolist(), strict=True
        ):
            yield self._words.Edge(a, b, Dependency.WW, int(self.asg.read_key[read]))
        module_of = {n: told.module for told in self.told for n in range(told.chunks, told.chunks_end)}
        for n, (sources, targets, kind) in enumerate(self.graph.chunks):
            for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
                yield self._words.Edge(a, b, kind, by=module_of.get(n, ""))

    def expand(self, look: Callable[[], object] = lambda: None) -> Iterator[Superposition | Expression]:
        """Everything unknown, written out. `look` is called now and then."""
        from boomslang.ir.families import expand

        return expand(self, look)

    def order_edges(self) -> tuple[Int64, Int64]:
        """All known edges that are no read's: `list_order`, then the graph's."""
        sources, targets = self.list_order()
        return (
            np.concatenate([sources, *(a for a, _, _ in self.graph.chunks)]),
            np.concatenate([targets, *(b for _, b, _ in self.graph.chunks)]),
        )

    def path_edges(self) -> NDArray[np.bool_]:
        """Of each of `order_edges`: is it a step of a forbidden cycle?"""
        kinds = frozenset() if self.level.once is None else self.level.once.kinds
        lists = np.full(len(self.asg.list_from), Dependency.WW in kinds)
        return np.concatenate([lists, *(np.full(len(a), kind in kinds) for a, _, kind in self.graph.chunks)])

    # --- names for people

    def key_name(self, key: int) -> str:
        return repr(self.asg.trace.keys[self.asg.trace_key(key)])

    def value_name(self, value: int) -> str:
        if value == ABSENT or value == len(
            self.asg.trace.values
        ):  # the latter: as a version (asg/entries.py)
            return "absent"
        if value == IMPOSSIBLE:
            return "an impossible list"
        return "some value" if value == PRESENT else repr(self.asg.trace.values[value])

    def read_name(self, read: int) -> str:
        return self.value_name(int(self.asg.read_value[read]))


def _only_order(follows: dict[int, set[int]], writer_at: dict[int, int]) -> tuple[int, ...] | None:
    """The writers in the only order that these edges (to nodes) allow; None: there are several, or a cycle."""
    after = {w: {writer_at[n] for n in nodes if n in writer_at} - {w} for w, nodes in follows.items()}
    missing = dict.fromkeys(after, 0)
    for later in after.values():
        for w in later:
            missing[w] += 1
    ready = [w for w, count in missing.items() if not count]
    row: list[int] = []
    while len(ready) == 1:
        row.append(ready.pop())
        for w in after[row[-1]]:
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return tuple(row) if len(row) == len(after) and not ready else None


def ambiguous_reads(asg: ASG) -> int:
    """How many reads have more than one candidate."""
    some = 1 << 20  # at a time: what is compared would be as long as the trace
    parts = (asg.read_writer[i : i + some] == SEVERAL for i in range(0, len(asg.read_writer), some))
    return sum(int(np.count_nonzero(part)) for part in parts)

"""The two families of what is not known, and everything unknown written out: for people and for eager solvers.

`WriteOrder(key)` is the order of a key's writers, `ReadFrom(read)` the writer of an ambiguous read; each takes linear
space and stands for superpositions and implied anti-dependencies that are quadratic in the writers of a key (section
4.2 of the paper). The native engine never expands them, so it never loads this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np

from boomslang.asg.graph import IN, MAYBE, OUT, PRESENT, UNKNOWN_INITIAL
from boomslang.ir.expression import (
    FALSE,
    START,
    TRUE,
    Edge,
    Expression,
    Implies,
    InitialIs,
    Not,
    Path,
    Superposition,
    all_of,
    atoms,
)
from boomslang.levels.level import Dependency, Once
from boomslang.trace.model import ABSENT

if TYPE_CHECKING:
    from boomslang.ir.model import IR


@dataclass(frozen=True)
class WriteOrder:
    """The writers of a key are totally ordered, we do not know how."""

    key: int
    writers: tuple[int, ...]

    def expand(self, ir: IR) -> Iterator[Superposition]:
        for i, j in combinations(self.writers, 2):
            yield Superposition(
                (ir.ww(i, j, self.key), ir.ww(j, i, self.key)),
                why=f"T{i} and T{j} both wrote {ir.key_name(self.key)}",
                when=all_of(ir.committed(i), ir.committed(j)),
            )


@dataclass(frozen=True)
class ReadFrom:
    """A read took one of its candidates, we do not know which. With one candidate it is known; then the family
    stands for the anti-dependencies only."""

    read: int
    txn: int
    key: int
    candidates: tuple[int, ...]
    """Transactions; START for the initial state."""

    def expand(self, ir: IR) -> Iterator[Superposition | Expression]:
        when = ir.committed(self.txn)
        reads = {w: ir.wr(w, self) for w in self.candidates}
        if len(reads) != 1 or when != TRUE:
            yield Superposition(
                tuple(reads.values()),
                why=f"T{self.txn} read {ir.key_name(self.key)} = {ir.read_name(self.read)}",
                when=when,
            )
        for w, takes in reads.items():
            if w == START:
                if int(ir.asg.initial[self.key]) == UNKNOWN_INITIAL:
                    yield Implies(takes, InitialIs(self.key, int(ir.asg.read_value[self.read])))
            elif ir.committed(w) != TRUE:
                yield Implies(takes, ir.committed(w))
        if not ir.sees_last(self.read):
            return
        for w, takes in reads.items():
            for p in ir.writers(self.key):
                if p in (w, self.txn):
                    continue
                overwritten = ir.committed(p) if w == START else ir.ww(w, p, self.key)
                yield Implies(all_of(takes, overwritten), ir.rw(self, p))


def expand(ir: IR, look: Callable[[], object] = lambda: None) -> Iterator[Superposition | Expression]:
    """Everything unknown, written out: for people and for eager solvers. `look` is called now and then."""
    for order in ir.write_orders():
        if order.key not in ir.known_orders:
            yield from order.expand(ir)
    for read in ir.read_froms():
        yield from read.expand(ir)
    yield from _initial_axioms(ir)
    if ir.level.once is not None:
        yield from _paths(ir, ir.level.once, look)
    for txn in ir.asg.doubtful.tolist():
        yield from _shown_by(ir, txn)
    yield from ir.superpositions
    yield from ir.expressions
    yield from _named_edges(ir)


def _named_edges(ir: IR) -> Iterator[Expression]:
    """An edge that an expression names is there only if both its transactions committed."""
    items = [*ir.expressions, *(e for s in ir.superpositions for e in (*s.options, s.when))]
    for atom in dict.fromkeys(a for e in items for a in atoms(e)):
        if isinstance(atom, Edge):
            for node in (atom.source, atom.target):
                txn = ir.graph.transaction(node)
                if txn is not None and ir.asg.state[txn] != IN:
                    yield Implies(atom, ir.committed(txn) if ir.asg.state[txn] == MAYBE else FALSE)


def _shown_by(ir: IR, txn: int) -> Iterator[Expression]:
    """What the list reads of a transaction of unknown outcome say, if it committed."""
    for read in range(int(ir.asg.read_start[txn]), int(ir.asg.read_start[txn + 1])):
        blocks, key = ir.asg.lists.blocks(read).tolist(), int(ir.asg.read_key[read])
        if not blocks:
            continue
        for w in blocks:
            if ir.asg.state[w] == OUT:
                yield Not(ir.committed(txn))
            elif ir.committed(w) != TRUE:
                yield Implies(ir.committed(txn), ir.committed(w))
        for a, b in pairwise(blocks):
            yield Implies(ir.committed(txn), ir.ww(a, b, key))
        for f in ir.writers(key):
            if f not in blocks:
                both = all_of(ir.committed(txn), ir.committed(f))
                yield Implies(both, ir.ww(blocks[-1], f, key))


def _paths(ir: IR, once: Once, look: Callable[[], object]) -> Iterator[Expression]:
    """No cycle with one anti-dependency: r read x from w, p overwrote it, and there is no path from p to r."""
    sources, targets = ir.order_edges()
    steps_of_paths = ir.path_edges()
    known = list(zip(sources[steps_of_paths].tolist(), targets[steps_of_paths].tolist(), strict=True))
    reads = list(ir.read_froms())
    steps: list[tuple[Expression, int, int, int]] = [(TRUE, a, b, -1) for a, b in known]
    steps += [(ir.wr(w, r), w, r.txn, r.read) for r in reads for w in r.candidates if w != START]
    if Dependency.WW in once.kinds:
        for order in ir.write_orders():
            for i, j in permutations(order.writers, 2):
                look()
                steps.append((ir.ww(i, j, order.key), i, j, -1))
    if once.longest is None:
        into: dict[int, list[tuple[Expression, int]]] = {}
        for edge, a, b, _ in steps:
            into.setdefault(b, []).append((edge, a))
            yield Implies(edge, Path(a, b))
        for b in sorted(into):
            for c in range(ir.graph.nodes):
                for edge, a in into[b]:
                    if c not in (a, b):
                        yield Implies(all_of(edge, Path(b, c)), Path(a, c))
    direct = _closure(known, look) if once.longest == 1 else set()
    takes: dict[tuple[int, int], list[tuple[Expression, int]]] = {}
    for edge, a, b, q in steps:
        if q >= 0:
            takes.setdefault((a, b), []).append((edge, q))
    for r in reads:
        look()
        for w in r.candidates:
            for p in ir.writers(r.key):
                if p in (w, r.txn):
                    continue
                overwritten = ir.committed(p) if w == START else ir.ww(w, p, r.key)
                missed = all_of(ir.wr(w, r), overwritten, ir.committed(p), ir.committed(r.txn))
                if once.longest is None:
                    yield Implies(missed, Not(Path(p, r.txn)))
                    continue
                if (p, r.txn) in direct:
                    yield Not(missed)
                for edge, q in takes.get((p, r.txn), ()):
                    if not (once.earlier and ir.asg.read_op[q] >= ir.asg.read_op[r.read]):
                        yield Not(all_of(missed, edge))


def _closure(edges: list[tuple[int, int]], look: Callable[[], object]) -> set[tuple[int, int]]:
    """All pairs that a row of these edges joins."""
    follows: dict[int, list[int]] = {}
    for a, b in edges:
        follows.setdefault(a, []).append(b)
    found: set[tuple[int, int]] = set()
    for a in follows:
        todo = [a]
        while todo:
            look()
            for b in follows.get(todo.pop(), ()):
                if (a, b) not in found:
                    found.add((a, b))
                    todo.append(b)
    return found


def _initial_axioms(ir: IR) -> Iterator[Expression]:
    """A key has one initial value."""
    read_by_key: dict[int, set[int]] = {}
    open_reads = ir.asg.initial[ir.asg.read_key] == UNKNOWN_INITIAL
    for read in np.flatnonzero(open_reads).tolist():
        read_by_key.setdefault(int(ir.asg.read_key[read]), set()).add(int(ir.asg.read_value[read]))
    for key, patterns in sorted(read_by_key.items()):
        for a, b in combinations(sorted(patterns), 2):
            if PRESENT in (a, b) and ABSENT not in (a, b):
                continue
            yield Not(all_of(InitialIs(key, a), InitialIs(key, b)))

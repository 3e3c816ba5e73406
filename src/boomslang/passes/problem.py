"""The IR written out in full: what passes change and eager back ends solve.

    problem = known edges + superpositions + expressions (+ advice)

Where the IR has families that stand for many superpositions, a `Problem` has each of them as a value. It says all
there is to solve: some choice of atoms makes every known edge, every superposition and every expression true, and
the edges that are true close no cycle. A pass takes a problem and returns another that is solvable just when the
first one is; nothing is changed in place. `fixed` keeps what passes found out about atoms, so that a solution can
be read off.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import IN, MAYBE, PRESENT, UNKNOWN_INITIAL
from boomslang.ir.expression import (
    FALSE,
    START,
    Atom,
    Committed,
    Edge,
    Expression,
    Superposition,
    atoms,
)
from boomslang.ir.model import IR
from boomslang.ir.printer import format_expression, format_item
from boomslang.levels.level import Point
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Solution
from boomslang.trace.model import ABSENT


@dataclass(frozen=True)
class Problem:
    """An expanded IR."""

    ir: IR
    """Whose names, nodes and reads these are."""
    known: Sequence[Edge]
    superpositions: Sequence[Superposition]
    expressions: Sequence[Expression]
    """All three: tuples, or columns of numbers that look like sequences (columns/)."""
    fixed: Mapping[Atom, bool] = field(default_factory=dict)
    """Atoms that are true or false in every solution (or may be, at no cost)."""
    advice: Mapping[Atom, bool] = field(default_factory=dict)
    """What to try first: speed, never the answer."""
    core: tuple[int, ...] | None = None
    """If a part was refuted: the transactions of that part, provided that nothing else was used."""
    derived: bool = False
    """Did a pass write down what follows from the whole? Then a part of it says nothing about that part alone."""
    part: frozenset[int] | None = None
    """If this is a part of a problem: its transactions."""
    finish: Callable[[Problem, Solution], Solution] | None = None
    """What is left to do to a valid solution: an encoding may order other points than its level has."""

    @property
    def nodes(self) -> int:
        return self.ir.graph.nodes

    @property
    def refuted(self) -> bool:
        """Is the answer plain already?"""
        if not isinstance(self.expressions, tuple):  # columns hold nothing of that kind
            return False
        return FALSE in self.expressions or any(
            not s.options and s.when == _TRUE for s in self.superpositions
        )

    def arcs(self) -> Iterator[tuple[int, int]]:
        """The known graph: pairs of nodes, begin before commit included."""
        if self.ir.graph.points == 2:
            for t in range(self.ir.graph.transactions) if self.part is None else sorted(self.part):
                yield 2 * t, 2 * t + 1
        for edge in self.known:
            if edge.source != START:
                yield edge.source, edge.target

    def items(self) -> Iterator[Superposition | Expression]:
        yield from self.superpositions
        yield from self.expressions

    def atoms(self) -> list[Atom]:
        """All atoms that are still open, each once, in order."""
        found: dict[Atom, None] = {}
        for s in self.superpositions:
            for option in (*s.options, s.when):
                found.update(dict.fromkeys(atoms(option)))
        for e in self.expressions:
            found.update(dict.fromkeys(atoms(e)))
        return list(found)


_TRUE = Superposition((), "").when


def expand(ir: IR, clock: Clock | None = None) -> Problem:
    """The IR, written out: as columns, where all of it is of their shapes."""
    from boomslang.passes.columns.expand import expand_columns

    clock = clock or Clock()
    return expand_columns(ir, clock) or expand_objects(ir, clock)


def expand_objects(ir: IR, clock: Clock) -> Problem:
    """The IR, written out one by one."""
    known = dict.fromkeys(clock.over(ir.known_edges()))
    fixed: dict[Atom, bool] = {}
    for read in clock.over(ir.read_froms()):
        if ir.is_known(read):
            fixed[ir.wr(read.candidates[0], read)] = True
    for key, row in ir.known_orders.items():
        for one, two in combinations(row, 2):
            fixed[ir.ww(one, two, key)], fixed[ir.ww(two, one, key)] = True, False
    superpositions: list[Superposition] = []
    expressions: list[Expression] = []
    for item in clock.over(ir.expand(clock.look)):
        if isinstance(item, Superposition):
            superpositions.append(item)
        else:
            expressions.append(item)
    # An order that is known says nothing of whether both committed; a read does.
    doubtful = {ir.graph.node(int(t), p) for t in np.flatnonzero(ir.asg.state != 0) for p in Point}
    fixed.update({e: True for e in known if e.read >= 0 or not {e.source, e.target} & doubtful})
    return Problem(ir, tuple(known), tuple(superpositions), tuple(expressions), fixed)


def as_problem(given: IR | Problem, clock: Clock | None = None) -> Problem:
    return given if isinstance(given, Problem) else expand(given, clock)


def print_problem(problem: Problem) -> Iterator[str]:
    """The printed form: for people, and to test a pass by what it made."""
    ir = problem.ir
    for edge in problem.known:
        yield f"edge {format_expression(ir, edge)}"
    for item in problem.items():
        yield format_item(ir, item)
    for atom, first in problem.advice.items():
        yield f"try {'' if first else 'not '}{format_expression(ir, atom)}"


def topological(
    nodes: int, arcs: Iterable[tuple[int, int]] | NDArray[np.int64], rank: NDArray[np.int64] | None = None
) -> list[int] | None:
    """The nodes in an order that keeps the arcs, smaller rank first where there is a choice; None: there is a cycle."""
    pairs = np.asarray(arcs if isinstance(arcs, np.ndarray) else list(arcs), np.int64).reshape(-1, 2)
    missing = np.bincount(pairs[:, 1], minlength=nodes).tolist()
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    start, after = np.searchsorted(pairs[:, 0], np.arange(nodes + 1)).tolist(), pairs[:, 1].tolist()
    ranks = range(nodes) if rank is None else rank.tolist()
    ready = [(ranks[n], n) for n in range(nodes) if not missing[n]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for b in after[start[node] : start[node + 1]]:
            missing[b] -= 1
            if not missing[b]:
                heapq.heappush(ready, (ranks[b], b))
    return order if len(order) == nodes else None


def solution(problem: Problem, holds: Callable[[Atom], bool]) -> Solution:
    """What a model says in numbers of the ASG: an order, the writer of each read, the initial values.

    `holds` is asked about open atoms only. An order is any that keeps the edges that are true. Of a part there is
    nothing to say but that it can be solved.
    """
    if problem.part is not None:
        return Solution("valid")
    ir, graph, asg = problem.ir, problem.ir.graph, problem.ir.asg
    open_atoms = set(problem.atoms())

    def true(e: Atom) -> bool:
        if e in problem.fixed:
            return problem.fixed[e]
        return e in open_atoms and holds(e)

    arcs = list(problem.arcs())
    arcs += [
        (e.source, e.target) for e in open_atoms if isinstance(e, Edge) and e.source != START and true(e)
    ]
    order = topological(graph.nodes, arcs)
    assert order is not None, "a model with a cycle"
    inside = {
        t
        for t in range(graph.transactions)
        if asg.state[t] == IN or (asg.state[t] == MAYBE and true(Committed(t)))
    }
    kept = {graph.node(t, p) for t in inside for p in (Point.BEGIN, Point.COMMIT)}
    writer = np.full(len(asg.read_key), -2, np.int64)
    initial = asg.initial.astype(np.int64)
    for read in ir.read_froms():
        if read.txn not in inside:
            continue
        taken = next((w for w in read.candidates if true(ir.wr(w, read))), None)
        if taken is None:  # only one was left, and another edge stands for it (merge.py)
            (taken,) = (w for w in read.candidates if problem.fixed.get(ir.wr(w, read)) is not False)
        writer[read.read] = taken if taken != START else -1
        pattern = int(asg.read_value[read.read])
        if taken == START and initial[read.key] in (UNKNOWN_INITIAL, PRESENT):
            initial[read.key] = pattern
    initial[initial == UNKNOWN_INITIAL] = ABSENT
    nodes = np.array([n for n in order if n in kept], np.int64)
    made = Solution("valid", order=nodes, read_writer=writer, initial=initial)
    return made if problem.finish is None else problem.finish(problem, made)

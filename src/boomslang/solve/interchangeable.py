"""Transactions that nothing tells apart, put into one order: what a person does who says "whichever of the two".

Where values repeat, many transactions read and write exactly the same. At a level that knows neither sessions nor
times, two of them can change places in any order, and it explains the trace as well as before. So nothing is lost by
asking for orders in which they stand as the trace suggests; and much is won, for a search that has refuted one way to
arrange them would otherwise have to refute all the others, too.

Where time counts (with any slack d), an order is one of moments: of each transaction all points lie between its
invocation and d after its return. (Give each point the latest invocation of those up to it in the order: that is not
after its own return plus d, or real time would have ordered the two the other way.) If T was invoked no later than U
and returned no later, but stands after U, they can change places: T comes to a moment that is not before U's
invocation, hence not before T's, and before the one T had; U likewise. With begins and commits, a whole transaction
takes the other's place: two who write the same keys do not overlap, so the commit comes along; and who writes nothing
can commit as soon as it began. Each such change takes inversions away, so it comes to an end. Both need times of one
clock. Not at levels that forbid only some cycles: there time is a step of a path, and who was invoked later is at the
end of more of them.

Of a part of the trace, in which reads of a few keys are left, far more are alike: at levels of whole transactions what
they wrote to other keys, which nobody there has read, tells them apart no longer.

A refutation may rest on this. It then needs the two to be alike in what is left of the trace as well: so all reads of
those that are in the core go into it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN
from boomslang.distinct import union
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Level, Point
from boomslang.solve.native import priorities
from boomslang.solve.solution import Solution
from boomslang.trace.model import NO_TIME, Outcome

Int64 = NDArray[np.int64]


def ranked(ir: IR, keys: Int64 | None = None) -> tuple[IR, Int64] | None:
    """The IR with edges between neighbours of a class, and the class of each transaction; None if there are none.

    `keys`: those that the reads speak of, at a level of whole transactions. What was written to others says nothing
    there and tells nobody apart."""
    asg, level = ir.asg, ir.level
    if asg.modules or ir.superpositions or ir.expressions or len(asg.lists.of):
        return None
    in_time = level.has(Dependency.RT)
    if level.has(Dependency.SO) or any(kind is not Dependency.RT for _, _, kind in ir.graph.chunks):
        return None
    if ir.graph.chunks and not in_time:
        return None
    if in_time and not _moments_will_do(level):
        return None
    assert keys is None or level.points == 1
    classes = classes_of(asg, keys)
    first, second = _neighbours_in_time(asg, classes) if in_time else _neighbours(asg, classes)
    if not len(first):
        return None
    # No dependency: it orders, but is no step of a forbidden path.
    nodes = [ir.graph.nodes_of(t.astype(np.int64), Point.BEGIN) for t in (first, second)]
    graph = replace(ir.graph, chunks=[*ir.graph.chunks, (nodes[0], nodes[1], Dependency.SO)])
    return IR(asg, level, graph), classes


def _moments_will_do(level: Level) -> bool:
    """Is an order in time one of moments at this level, and do writers of the same keys not overlap? (See above.)"""
    if level.once is not None:
        return False
    forward = level.edges[Dependency.RT] == (Point.COMMIT, Point.BEGIN)
    return level.points == 1 or (forward and level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT))


def _neighbours(asg: ASG, classes: Int64) -> tuple[Int64, Int64]:
    """Pairs of a class that follow each other as the trace suggests."""
    by = np.lexsort((priorities(asg), classes))
    by = by[classes[by] >= 0]
    pair = classes[by[1:]] == classes[by[:-1]]
    return by[:-1][pair], by[1:][pair]


def _neighbours_in_time(asg: ASG, classes: Int64) -> tuple[Int64, Int64]:
    """Pairs of a class, of which the one was invoked no later and returned no later than the other."""
    trace, ids = asg.trace, asg.txn_of
    begin, end, clock = trace.txn_begin[ids], trace.txn_end[ids], trace.txn_clock[ids]
    timed = (classes >= 0) & (begin != NO_TIME) & (end != NO_TIME) & asg.ordered
    by = np.flatnonzero(timed)
    by = by[np.lexsort((end[by], begin[by], clock[by], classes[by]))]
    pairs = []
    last = -1
    for t in by.tolist():
        same = last >= 0 and classes[last] == classes[t] and clock[last] == clock[t]
        if same and end[last] > end[t]:
            continue  # it was under way within the other: either may be first
        if same:
            pairs.append((last, t))
        last = t
    made = np.array(pairs, np.int64).reshape(-1, 2)
    return made[:, 0], made[:, 1]


def classes_of(asg: ASG, keys: Int64 | None = None) -> Int64:
    """Of each committed transaction a number that is that of those like it; -1 if there is none like it. `keys`: of
    which the writes count; else of all."""
    cursor = asg.trace.marked("cursor")
    marked = np.zeros(len(asg.read_op), np.int64) if cursor is None else cursor[asg.read_op].astype(np.int64)
    # What was read and written as one number each, sorted within the transaction.
    values = np.int64(len(asg.trace.values) + 8)
    read = (asg.read_key * values + asg.read_value + 4) * 8 + 2 * asg.read_kind.astype(np.int64) + marked
    wrote = (asg.write_key * values + asg.write_value + 4) * 8 + 7
    counts_here = np.ones(len(wrote), bool) if keys is None else np.isin(asg.write_key, keys)
    txn = np.concatenate([asg.read_txn, asg.write_txn[counts_here]])
    word = np.concatenate([read, wrote[counts_here]])
    by = np.lexsort((word, txn))
    txn, word = txn[by], word[by]
    start = np.searchsorted(txn, np.arange(asg.transactions + 1))
    found: dict[bytes, int] = {}
    classes = np.full(asg.transactions, -1, np.int64)
    for t in np.flatnonzero((asg.state == IN) & (asg.outcome == Outcome.COMMITTED)).tolist():
        classes[t] = found.setdefault(word[start[t] : start[t + 1]].tobytes(), len(found))
    counts = np.bincount(classes[classes >= 0], minlength=len(found))
    return np.where((classes >= 0) & (np.append(counts, 0)[classes] > 1), classes, -1)


def with_all_reads(asg: ASG, classes: Int64, solution: Solution) -> Solution:
    """A refutation, with all reads of those in its core that were put into an order."""
    if solution.core_transactions is None or solution.core_reads is None:
        return solution
    core = np.zeros(asg.transactions, bool)
    core[solution.core_transactions] = True
    whole = core & (classes >= 0)
    reads = np.flatnonzero(whole[asg.read_txn])
    return replace(solution, core_reads=union(solution.core_reads, reads))

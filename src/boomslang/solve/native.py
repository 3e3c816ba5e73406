"""The default solver: guess, simulate, repair (native code, see native/engine).

This side prepares what the engine takes: the arrays of the ASG as they are, the graph's edges, and two kinds of
advice that change how fast an answer comes but never which. *Hints* are session order where the level does not
demand it: a database rarely lets a session go back in time, so the engine first tries with them and gives them up
when they fail. *Priorities* say where the trace suggests a transaction belongs: recorded times, else the log's order.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, suppose
from boomslang.distinct import distinct, union
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Point
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import NO_TIME, Kind, Outcome

try:
    from boomslang.solve import _engine
except ImportError as problem:  # pragma: no cover
    raise ImportError(
        "the native engine is missing; did you forget to compile? Run `make` in the repository"
    ) from problem

Int64 = NDArray[np.int64]

HINT_CONFLICTS = 20_000
"""Give the hints up after so many conflicts, and one for each ten transactions: they may make an easy problem hard."""


MOST_DOUBTS = 8
"""Transactions of unknown outcome with list reads of their own that are supposed in and out, one after the other."""


def solve_native(
    ir: IR,
    limits: Limits | None = None,
    *,
    hints: bool = True,
    saturate: bool = False,
    doubts: int = MOST_DOUBTS,
    rank: Int64 | None = None,
) -> Solution:
    """Decides an IR with the native engine; with `saturate`, after writing down what follows from the known edges.

    `rank`: an order to start from, in place of one that the engine makes from what the trace suggests.

    The order of appends that a list read shows is a known edge for the engine. Whether it is known can depend on
    whether the reader committed: then both are tried, without it first.
    """
    doubt = undecidable_doubt(ir)
    if doubt is None:
        if len(ir.asg.doubtful):  # nothing needs these: leave them out
            ir = replace(ir, asg=suppose(ir.asg, ir.asg.doubtful.tolist(), committed=False))
        return _solve(ir, limits or Limits(), hints, saturate, rank)
    if doubts == 0:
        return Solution("unknown", reason="too many unknown outcomes of transactions that read lists")
    cores: list[Solution] = []
    for committed in (False, True):
        supposed = replace(ir, asg=suppose(ir.asg, [doubt], committed=committed))
        if len(supposed.asg.orphans):
            orphan = supposed.asg.orphans[:1]
            reader = np.searchsorted(supposed.asg.read_start, orphan, side="right") - 1
            found = Solution("invalid", core_transactions=reader, core_reads=orphan)
        else:
            found = solve_native(
                supposed, limits, hints=hints, saturate=saturate, doubts=doubts - 1, rank=rank
            )
        if found.status != "invalid":
            return found
        cores.append(found)
    mine = np.arange(ir.asg.read_start[doubt], ir.asg.read_start[doubt + 1])
    transactions = [x.core_transactions for x in cores if x.core_transactions is not None]
    reads = [x.core_reads for x in cores if x.core_reads is not None]
    return replace(
        cores[-1],
        core_transactions=distinct(np.concatenate([np.array([doubt]), *transactions])),
        core_reads=distinct(np.concatenate([mine, *reads])),
    )


def undecidable_doubt(ir: IR) -> int | None:
    """A transaction of unknown outcome whose list reads say more, and that something other than a list may need."""
    asg, spoken_of = ir.asg, bool(ir.superpositions or ir.expressions)
    for t in asg.doubtful.tolist():
        if spoken_of or (asg.trace.op_kind[asg.write_op[asg.write_txn == t]] != Kind.APPEND).any():
            return int(t)
    return None


def _solve(ir: IR, limits: Limits, hints: bool, saturate: bool, rank: Int64 | None) -> Solution:
    asg, level = ir.asg, ir.level
    once = level.once
    begin = time.monotonic()
    clause_start, clause_literals, helpers = _clauses(ir)
    seconds = None if limits.seconds is None else max(1e-3, limits.seconds - (time.monotonic() - begin))
    # Where a path decides, it does so for every read that does not see the last writer.
    strong = np.ones(len(asg.read_key), np.uint8) if once else ir.strong.astype(np.uint8)
    sources, targets = ir.order_edges()
    found = _engine.solve(
        asg.transactions,
        ir.graph.points,
        ir.graph.helpers + helpers,
        asg.keys,
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.read_writer,
        strong,
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        asg.initial,
        sources.astype(np.int32),
        targets.astype(np.int32),
        ir.path_edges().astype(np.uint8),
        hinted_successors(ir, helpers) if hints else np.zeros(0, np.int32),
        priorities(asg) if rank is None else rank,
        rank is not None,
        asg.read_op,
        clause_start,
        clause_literals,
        level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT),
        (Dependency.WW in once.kinds, once.longest or 0, once.earlier) if once else None,
        seconds or 0.0,
        limits.megabytes or 0.0,
        HINT_CONFLICTS + asg.transactions // 10,
        limits.conflicts or 0,
        saturate and not once,
        limits.progress,
    )
    if found["status"] == "unknown":
        return Solution("unknown", reason=found["reason"], stats=found["stats"])
    if found["status"] == "invalid":
        transactions, reads = with_lists(asg, found["core_txns"].astype(np.int64), found["core_reads"])
        return Solution("invalid", core_transactions=transactions, core_reads=reads, stats=found["stats"])
    return Solution(
        "valid",
        order=found["order"].astype(np.int64),
        read_writer=found["read_writer"].astype(np.int64),
        initial=found["initial"].astype(np.int64),
        stats=found["stats"],
    )


def _clauses(ir: IR) -> tuple[Int64, NDArray[np.int32], int]:
    """What modules said beyond known edges, as clauses: where each starts, its literals, and helper nodes they need."""
    if not ir.superpositions and not ir.expressions:
        return np.zeros(0, np.int64), np.zeros(0, np.int32), 0
    from boomslang.solve.clauses import clauses

    return clauses(ir)


def with_lists(asg: ASG, transactions: Int64, reads: NDArray[np.signedinteger[Any]]) -> tuple[Int64, Int64]:
    """A core, and the list reads that show the order of appends in it: to the engine that order is just there."""
    inside = np.zeros(asg.transactions, bool)
    inside[transactions] = True
    shown = distinct(asg.list_read[inside[asg.list_from] & inside[asg.list_to]])
    shown = shown[shown >= 0]
    readers = np.searchsorted(asg.read_start, shown, side="right") - 1
    return union(transactions, readers), union(reads.astype(np.int64), shown)


def hinted_successors(ir: IR, helpers: int) -> NDArray[np.int32]:
    """For each node the node that its session suggests next, or nothing where the level demands that anyway."""
    if ir.level.has(Dependency.SO) or not ir.asg.trace.has_sessions:
        return np.zeros(0, np.int32)
    sources, targets = ir.asg.session_edges()
    both = ir.asg.outcome[targets] == Outcome.COMMITTED
    sources, targets = sources[both], targets[both]
    successor = np.full(ir.graph.nodes + helpers, -1, np.int32)
    successor[ir.graph.nodes_of(sources, Point.COMMIT)] = ir.graph.nodes_of(targets, Point.BEGIN)
    return successor


def begin_priorities(asg: ASG) -> NDArray[np.int64]:
    """The same of its begin; of a trace with times, or of one log."""
    trace, ids = asg.trace, asg.txn_of
    if trace.has_times:
        begin = trace.txn_begin[ids]
        return np.where(begin != NO_TIME, begin, priorities(asg))
    return trace.txn_begin_line[ids].astype(np.int64)


def priorities(asg: ASG) -> NDArray[np.int64]:
    """Of each transaction, where the trace suggests it belongs: smaller is earlier."""
    trace, ids = asg.trace, asg.txn_of
    end = trace.txn_end[ids]
    if trace.has_times:
        begin = trace.txn_begin[ids]
        return np.where(end != NO_TIME, end, np.where(begin != NO_TIME, begin, np.iinfo(np.int64).max))
    if len(trace.files) == 0 or trace.is_one_log:
        line = trace.txn_end_line[ids].astype(np.int64)
        return np.where(line > 0, line, trace.txn_begin_line[ids].astype(np.int64))
    return trace.share_of_session[ids]

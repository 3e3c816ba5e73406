"""The default solver: guess, simulate, repair (native code, see native/engine).

This side prepares what the engine takes: the arrays of the ASG as they are, the graph's edges, and two kinds of
advice that change how fast an answer comes but never which. *Hints* are session order where the level does not
demand it: a database rarely lets a session go back in time, so the engine first tries with them and gives them up
when they fail. *Priorities* say where the trace suggests a transaction belongs: recorded times, else the log's order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, ITEM
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Point
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import NO_TIME, Outcome

try:
    from boomslang.solve import _engine
except ImportError as problem:  # pragma: no cover
    raise ImportError(
        "the native engine is missing; did you forget to compile? Run `make` in the repository"
    ) from problem

HINT_CONFLICTS = 20_000
"""Give the hints up after so many conflicts, and one for each ten transactions: they may make an easy problem hard."""


def solve_native(
    ir: IR, limits: Limits | None = None, *, hints: bool = True, saturate: bool = False
) -> Solution:
    """Decides an IR with the native engine; with `saturate`, after writing down what follows from the known edges."""
    limits = limits or Limits()
    if ir.superpositions or ir.expressions:
        raise UsageError(
            "the native engine takes no superpositions or expressions added by hand yet; use solver='z3'"
        )
    asg, level = ir.asg, ir.level
    strong = np.where(asg.read_kind == ITEM, level.items_see_last, level.predicates_see_last).astype(np.uint8)
    sources = [a for a, _, _ in ir.graph.chunks]
    targets = [b for _, b, _ in ir.graph.chunks]
    found = _engine.solve(
        asg.transactions,
        ir.graph.points,
        ir.graph.helpers,
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
        np.concatenate(sources).astype(np.int32) if sources else np.zeros(0, np.int32),
        np.concatenate(targets).astype(np.int32) if targets else np.zeros(0, np.int32),
        _hinted_successors(ir) if hints else np.zeros(0, np.int32),
        priorities(asg),
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
        HINT_CONFLICTS + asg.transactions // 10,
        limits.conflicts or 0,
        saturate,
        limits.progress,
    )
    if found["status"] == "unknown":
        return Solution("unknown", reason=found["reason"], stats=found["stats"])
    if found["status"] == "invalid":
        return Solution(
            "invalid",
            core_transactions=found["core_txns"].astype(np.int64),
            core_reads=found["core_reads"].astype(np.int64),
            stats=found["stats"],
        )
    return Solution(
        "valid",
        order=found["order"].astype(np.int64),
        read_writer=found["read_writer"].astype(np.int64),
        initial=found["initial"].astype(np.int64),
        stats=found["stats"],
    )


def _hinted_successors(ir: IR) -> NDArray[np.int32]:
    """For each node the node that its session suggests next, or nothing where the level demands that anyway."""
    if ir.level.has(Dependency.SO) or not ir.asg.trace.has_sessions:
        return np.zeros(0, np.int32)
    sources, targets = ir.asg.session_edges()
    both = ir.asg.outcome[targets] == Outcome.COMMITTED
    sources, targets = sources[both], targets[both]
    successor = np.full(ir.graph.nodes, -1, np.int32)
    successor[ir.graph.nodes_of(sources, Point.COMMIT)] = ir.graph.nodes_of(targets, Point.BEGIN)
    return successor


def priorities(asg: ASG) -> NDArray[np.int64]:
    """Of each transaction, where the trace suggests it belongs: smaller is earlier."""
    trace, ids = asg.trace, asg.txn_of
    end = trace.txn_end[ids]
    if trace.has_times:
        begin = trace.txn_begin[ids]
        return np.where(end != NO_TIME, end, np.where(begin != NO_TIME, begin, np.iinfo(np.int64).max))
    if len(trace.files) <= 1:
        line = trace.txn_end_line[ids].astype(np.int64)
        return np.where(line > 0, line, trace.txn_begin_line[ids].astype(np.int64))
    # One file a session and no times: how far into its session a transaction is.
    session = trace.txn_session
    order = np.argsort(session, kind="stable")
    counts = np.bincount(session + 1)
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    within = np.empty(len(trace), np.int64)
    within[order] = np.arange(len(trace)) - starts[session[order] + 1]
    return (within * 1_000_000_000 // counts[session + 1]).astype(np.int64)[ids]

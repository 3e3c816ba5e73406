"""The weak levels without a search: where each read has one possible writer, all they ask follows from the reads.

Read committed (Biswas and Enea's too), read atomic and causal, with or without session order: see
native/engine/forced.hpp. This side says which problems are of that kind. Transactions of unknown outcome whose value
nobody must have read are left out: no read needs them, and fewer transactions break less.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import IN, MAYBE
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve import _engine
from boomslang.solve.native import hinted_successors, with_lists
from boomslang.solve.solution import Limits, Solution

CHEAPER, MASKS, CLOCKS = 0, 1, 2
"""How to find out what is visible by a row of reads; see native/engine/forced_causal.cpp."""


def solve_forced(ir: IR, limits: Limits | None = None, *, way: int = CHEAPER) -> Solution | None:
    """Decides an IR without a search; None if it is not of the kind that this can decide."""
    asg, level, limits = ir.asg, ir.level, limits or Limits()
    if not weak(ir):
        return None
    far = level.once is not None and level.once.longest is None
    if far and not level.has(Dependency.SO) and asg.trace.has_sessions:
        # With session order it is quicker, and a database that keeps causality mostly keeps that too.
        found = forced(lower(asg, level.strong_session()), limits, way)
        if found is None or found.status != "invalid":
            return found
    found = forced(ir, limits, way)
    if found is None or found.core_transactions is None or found.core_reads is None:
        return found
    transactions, reads = with_lists(asg, found.core_transactions, found.core_reads)
    return replace(found, core_transactions=transactions, core_reads=reads)


def weak(ir: IR) -> bool:
    """Does the level (and all else that is asked) leave nothing to choose but the writers of reads?"""
    level, once = ir.level, ir.level.once
    if ir.asg.modules or ir.superpositions or ir.expressions or ir.graph.points != 1 or ir.graph.helpers:
        return False
    if level.cursor or level.items_see_last or level.predicates_see_last:
        return False
    return not ir.strong.any() if once is None else Dependency.WW not in once.kinds


def forced(ir: IR, limits: Limits, way: int = CHEAPER) -> Solution | None:
    """The same of an IR that is `weak`; the core lacks the reads that show orders of appends."""
    asg, once = ir.asg, ir.level.once
    sources, targets = ir.order_edges()
    found = _engine.forced(
        asg.transactions,
        asg.keys,
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_writer,
        asg.read_op,
        asg.key_start,
        asg.write_txn,
        sources.astype(np.int32),
        targets.astype(np.int32),
        ir.path_edges().astype(np.uint8),
        hinted_successors(ir, 0) if once and once.longest is None else np.zeros(0, np.int32),
        None if once is None else (once.longest or 0, once.earlier),
        way,
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    status, stats = found["status"], found["stats"]
    if status == "not covered":
        return None
    if status == "unknown":
        return Solution("unknown", reason=found["reason"], stats=stats)
    if status == "invalid":
        transactions, reads = found["core_txns"].astype(np.int64), found["core_reads"].astype(np.int64)
        return Solution("invalid", core_transactions=transactions, core_reads=reads, stats=stats)
    writer = asg.read_writer
    if (asg.state == MAYBE).any():
        writer = np.where(np.repeat(asg.state == IN, np.diff(asg.read_start)), writer, -2)
    return Solution(
        "valid",
        order=found["order"],
        read_writer=writer,
        initial=asg.initial,
        stats=stats,
    )

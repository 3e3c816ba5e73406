"""Where values repeat, two questions that need no search (forced.py), before the search is asked.

- Do the reads that have one possible writer break the level already? Leaving the others out only weakens the problem.
- Suppose each of the others took the latest writer of its value before the reader. An order found so is an order,
  whoever else might have been read; that there is none means nothing. "Before" is what the trace suggests: times, else
  the lines of the log, else how far into their sessions the two are, or what the known reads say. Databases differ in
  when a transaction reads, so the reader counts once as of its end and once as of its begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, INITIAL, PRESENT, SEVERAL, UNKNOWN_INITIAL
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.catalog import CAUSAL
from boomslang.levels.level import Dependency
from boomslang.solve.forced import forced, solve_forced, weak
from boomslang.solve.native import begin_priorities, priorities, with_lists
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT

Int64 = NDArray[np.int64]


def solve_likely(ir: IR, limits: Limits) -> Solution | None:
    """A valid answer, if the likely writers give one. None says nothing."""
    if not weak(ir):
        return None
    for writers in likely_writers(ir.asg, limits):
        found = solve_forced(replace(ir, asg=replace(ir.asg, read_writer=writers)), limits)
        if found is not None and found.status == "valid":
            return found
    return None


def refute_known(ir: IR, limits: Limits) -> Solution | None:
    """An invalid answer, if the reads that have one possible writer give one. None says nothing."""
    asg, once = ir.asg, ir.level.once
    known, part = _known(asg)
    if once is not None and Dependency.WW in once.kinds:
        # What breaks causal breaks consistent view: the same cycles, without the overwrites.
        ir = replace(ir, level=replace(ir.level, once=replace(once, kinds=once.kinds - {Dependency.WW})))
    found = forced(replace(ir, asg=part), limits) if weak(ir) else None
    if found is None or found.status != "invalid":
        return None
    assert found.core_transactions is not None and found.core_reads is not None
    transactions, reads = with_lists(asg, found.core_transactions, known[found.core_reads])
    return replace(found, core_transactions=transactions, core_reads=reads)


def _known(asg: ASG) -> tuple[Int64, ASG]:
    """The reads with one possible writer, and the ASG with no others."""
    reader = asg.read_txn
    known = np.flatnonzero((asg.state[reader] == IN) & (asg.read_writer >= INITIAL))
    counts = np.bincount(reader[known], minlength=asg.transactions)
    part = replace(
        asg,
        read_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        read_key=asg.read_key[known],
        read_value=asg.read_value[known],
        read_op=asg.read_op[known],
        read_kind=asg.read_kind[known],
        read_writer=asg.read_writer[known],
    )
    return known, part


def likely_writers(asg: ASG, limits: Limits) -> Iterator[NDArray[np.int32]]:
    """Guesses of `read_writer`, in which no read of a transaction that is in has several candidates."""
    reader = asg.read_txn
    open_reads = np.flatnonzero((asg.state[reader] == IN) & (asg.read_writer == SEVERAL))
    for writer_rank, reader_rank in _ranks(asg, limits):
        moments = np.sort(writer_rank)
        at, before = (np.searchsorted(moments, rank, side="left") for rank in (writer_rank, reader_rank))
        if (found := _latest(asg, open_reads, reader, at, before)) is None:
            return
        yield found


def _ranks(asg: ASG, limits: Limits) -> Iterator[tuple[Int64, Int64]]:
    end = priorities(asg)
    yield end, end
    if asg.trace.has_times or len(asg.trace.files) <= 1:
        yield end, begin_priorities(asg)
    elif (rank := _causal_rank(asg, limits)) is not None:
        yield rank, rank


def _causal_rank(asg: ASG, limits: Limits) -> Int64 | None:
    """Where the session files have no order between them: that which the known reads suggest."""
    _, part = _known(asg)
    found = forced(lower(part, CAUSAL.strong_session()), limits)
    if found is None or found.order is None:
        return None
    rank = np.full(asg.transactions, asg.transactions, np.int64)
    rank[found.order] = np.arange(len(found.order))
    return rank


def _latest(
    asg: ASG, reads: Int64, reader: NDArray[np.int32], rank: Int64, before: Int64
) -> NDArray[np.int32] | None:
    """For each of these reads the latest matching writer of lower rank; None if one has none that is surely in."""
    inside = np.flatnonzero(asg.state[asg.write_txn] == IN)
    ranks, span = np.int64(asg.transactions + 1), np.int64(len(asg.trace.values) + 2)
    writers: NDArray[np.int32] = asg.read_writer.copy()
    for present in (False, True):
        mine = reads[(asg.read_value[reads] == PRESENT) == present]
        kept = inside[asg.write_value[inside] != ABSENT] if present else inside
        # A group for each key and value (any value: for each key), in it the writers by rank; nobody at either end.
        value = np.where(present, 0, asg.write_value[kept].astype(np.int64) + 1)
        wanted = np.where(present, 0, asg.read_value[mine].astype(np.int64) + 1)
        groups, group = np.unique(asg.write_key[kept] * span + value, return_inverse=True)
        group_of_read = asg.read_key[mine] * span + wanted
        of_read = np.searchsorted(groups, group_of_read)
        exists = np.append(groups, -1)[of_read] == group_of_read
        code = group * ranks + rank[asg.write_txn[kept]]
        by = np.argsort(code, kind="stable")
        who = np.concatenate(([-1, -1], asg.write_txn[kept][by], [-1, -1]))
        of_writer = np.concatenate(([-1, -1], group[by], [-1, -1]))
        t = reader[mine]
        last = np.searchsorted(code[by], of_read * ranks + before[t], side="left") + 1
        next_ = last + 1 + (who[last + 1] == t)
        last = last - (who[last] == t)
        latest = exists & (of_writer[last] == of_read)
        later = exists & (of_writer[next_] == of_read)
        initial = asg.initial[asg.read_key[mine]]
        held = initial != ABSENT if present else initial == asg.read_value[mine]
        start = held & (initial != UNKNOWN_INITIAL)
        # Nobody before it: the initial state, else the first one after it.
        if not (latest | start | later).all():
            return None
        writers[mine] = np.where(latest, who[last], np.where(start, INITIAL, who[next_]))
    return writers

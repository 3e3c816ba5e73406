"""Mixed isolation: each transaction at its own level (Adya 1999, section 5.5: the mixing graph).

A transaction carries its level in `ctx`: {"level": "read committed"}; without one it has the level that is asked for.
The mixing graph has every ww; a wr if the *reader* is at PL-2 or above; an item rw if the reader is at PL-2.99 or
above; a predicate rw if it is at PL-3. What a PL-1 transaction read does not matter, but for the order of overwrites
that its lists show: whoever's element stands before another's wrote before it, whatever the reader's level (as at
read uncommitted, solve/uncommitted.py).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, ITEM, linked
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.levels import find_level
from boomslang.modules.module import Hints, module
from boomslang.solve.uncommitted import append_order
from boomslang.trace.model import Kind

MIXED = ("read-uncommitted", "read-committed", "repeatable-read", "serializable")
"""PL-1, PL-2, PL-2.99, PL-3."""


def _levels(asg: ASG, hints: Hints, asked: int) -> NDArray[np.int64]:
    """Of each transaction, its level in MIXED."""
    found = np.full(asg.transactions, asked, np.int64)
    for t, name in hints.transactions("level").items():
        level = find_level(name).name if isinstance(name, str) else repr(name)
        if level not in MIXED:
            raise UsageError(
                f"found the level {name!r} in ctx of T{int(asg.txn_of[t])} ({asg.trace.where(int(asg.txn_of[t]))}); "
                f"only these can be mixed: {', '.join(MIXED)}"
            )
        found[t] = MIXED.index(level)
    return found


def forget_dirty_reads(asg: ASG, hints: Hints) -> ASG:
    """The ASG without what PL-1 transactions read."""
    level = _levels(asg, hints, 3)
    inner = level[asg.internal[0]] > 0
    txn, op, key, seen, own = (column[inner] for column in asg.internal)
    kept = asg.only_reads(level[asg.read_txn] > 0)
    return linked(replace(kept, internal=(txn, op, key, seen, own)))


@module(prepare=forget_dirty_reads)
def mixed_isolation(asg: ASG, ir: IR, hints: Hints) -> None:
    """Each transaction at the level that its ctx.level names; the others at the level that is asked for."""
    if ir.level.name not in MIXED:
        raise UsageError(f"{ir.level.name} cannot be mixed; ask for one of: {', '.join(MIXED[1:])}")
    levels = _levels(asg, hints, MIXED.index(ir.level.name))
    level = levels[asg.read_txn]
    ir.strong = np.where(asg.read_kind == ITEM, level >= 2, level >= 3)
    _know_what_dirty_lists_show(asg, ir, levels == 0)


def _know_what_dirty_lists_show(asg: ASG, ir: IR, dirty: NDArray[np.bool_]) -> None:
    trace = asg.trace
    here = np.full(len(trace), -1, np.int64)
    here[asg.txn_of[asg.ordered]] = np.flatnonzero(asg.ordered)
    owner = here[np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))]
    rows = np.flatnonzero((trace.op_kind == Kind.LIST) & (owner >= 0))
    before, after, _ = append_order(trace, rows[dirty[owner[rows]]])
    before, after = here[before], here[after]
    kept = (before >= 0) & (after >= 0)
    if kept.any():
        ir.know(before[kept], after[kept])

"""Splitting transactions: what one transaction did, as several that follow each other.

The operations have been understood already (own writes, final writes, what was seen from others), so a part cannot
pass an intermediate write for a final one, and a read of the transaction's own write stays one, whatever part it is in.
All writes are the last part's: others see them when the whole commits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG, OUT, Int64, linked
from boomslang.distinct import distinct
from boomslang.ir.expression import Implies, Not
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.trace.model import NO_TIME


def split(asg: ASG, part: Int64, last: Int64) -> ASG:
    """The ASG in which each operation belongs to the given part (0, 1, ...) of its transaction, and `last` is the part
    that commits; parts that have no operations are left out, but that one."""
    trace = asg.trace
    rows = len(trace.op_kind)
    whole = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    width = np.int64(last.max(initial=0) + 1)
    codes = distinct(np.concatenate([whole * width + part, np.arange(len(trace)) * width + last]))
    of, number = np.divmod(codes, width)
    new = np.searchsorted(codes, whole * width + part)  # of each operation, its new transaction
    final = np.searchsorted(codes, np.arange(len(trace)) * width + last)
    order = np.argsort(new, kind="stable")
    row = np.empty(rows, np.int64)
    row[order] = np.arange(rows)
    final32, row32 = final.astype(np.int32), row.astype(np.int32)
    is_last = number == last[of]
    optional = ("op_invoke", "op_return", "op_ctx", "op_error", "op_where")
    columns = {name: getattr(trace, name)[order] for name in optional if getattr(trace, name) is not None}
    columns |= {
        name: getattr(trace, name)[order]
        for name in ("op_kind", "op_flags", "op_key", "op_value", "op_range", "op_line")
    }
    columns |= {
        name: getattr(trace, name)[of]
        for name in ("txn_session", "txn_outcome", "txn_name", "txn_file", "txn_begin_line", "txn_end_line")
    }
    parts = replace(
        trace,
        txn_begin=trace.txn_begin[of],
        txn_end=np.where(is_last, trace.txn_end[of], NO_TIME),
        txn_clock=trace.txn_clock[of],
        txn_ops=np.concatenate(([0], np.cumsum(np.bincount(new, minlength=len(codes))))).astype(np.int64),
        txn_ctx=None if trace.txn_ctx is None else trace.txn_ctx[of],
        **columns,
    )
    reader = new[asg.read_op]
    by = np.argsort(reader, kind="stable")
    lists = asg.lists
    if len(lists.of):
        lists = replace(lists, of=lists.of[by], length=lists.length[by], txn=final32[lists.txn])
    entries = asg.entries
    if entries is not None:
        joints = (replace(j, op=int(row[j.op]), txn=int(new[j.op])) for j in entries.joints)
        entries = replace(entries, trace=replace(parts, keys=entries.trace.keys), joints=tuple(joints))
    inner, hidden = asg.internal, asg.intermediate
    counts = np.bincount(reader, minlength=len(codes))
    return linked(
        replace(
            asg,
            trace=parts,
            txn_of=np.arange(len(codes), dtype=np.int64),
            outcome=asg.outcome[of],
            write_txn=final32[asg.write_txn],
            write_op=row32[asg.write_op],
            read_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            read_key=asg.read_key[by],
            read_value=asg.read_value[by],
            read_op=row32[asg.read_op[by]],
            read_kind=asg.read_kind[by],
            lists=lists,
            entries=entries,
            ordered=np.ones(len(codes), bool),
            part_of=of,
            internal=(final32[inner[0]], row32[inner[1]], inner[2], inner[3], inner[4]),
            intermediate=(final32[hidden[0]], hidden[1], hidden[2], row32[hidden[3]]),
        )
    )


def keep_together(ir: IR) -> None:
    """The parts of a transaction follow each other, and all commit or none."""
    asg = ir.asg
    assert asg.part_of is not None
    whole = asg.part_of[asg.txn_of]
    kept = np.flatnonzero(asg.ordered & (asg.state != OUT))
    same = whole[kept[:-1]] == whole[kept[1:]]
    ir.know(kept[:-1][same], kept[1:][same], Dependency.SO)
    inside = np.flatnonzero(asg.ordered)
    for a, b in zip(inside[:-1].tolist(), inside[1:].tolist(), strict=True):
        if whole[a] != whole[b] or (asg.state[a] == asg.state[b] == 0):
            continue
        if OUT in (asg.state[a], asg.state[b]):
            for t in (a, b):
                if asg.state[t] != OUT:
                    ir.require(Not(ir.committed(t)))
        else:
            ir.require(Implies(ir.committed(a), ir.committed(b)), Implies(ir.committed(b), ir.committed(a)))

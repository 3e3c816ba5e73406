"""Transactions of unknown outcome that nobody has read from: they are set aside, until somebody reads what they wrote.

Nobody can say that they ever happened. But if somebody reads, windows later, what nobody else wrote, they did.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.stream.standing import Lost
from boomslang.stream.window import Question
from boomslang.trace.blocks import Block, Files, joined
from boomslang.trace.model import ABSENT, Kind, Trace
from boomslang.trace.scalars import Code


def set_aside(block: Block, asg: ASG, txn: int) -> Lost | None:
    """What is kept of it; None: it wrote nothing, so nobody will ever read from it."""
    trace = asg.trace
    wrote = [
        (trace.keys.code(int(asg.write_key[w])), _content(trace, int(asg.write_value[w])))
        for w in np.flatnonzero(asg.write_txn == txn).tolist()
    ]
    wrote += [
        (trace.keys.code(int(trace.op_key[row])), trace.values.code(int(trace.op_value[row])))
        for row in range(int(trace.txn_ops[txn]), int(trace.txn_ops[txn + 1]))
        if trace.op_kind[row] == Kind.APPEND
    ]
    if not wrote and not block.paused[txn]:
        return None
    chosen = np.zeros(len(block.trace), bool)
    chosen[txn] = True
    return Lost(block.lines_of(chosen), wrote, bool(block.paused[txn]))


def read_at_last(asked: Question, lost: Mapping[int, Lost]) -> Files:
    """The lines of those, by their places, that explain what nobody else does."""
    asg, trace = asked.asg, asked.asg.trace
    if not lost or not len(asg.orphans):
        return []
    wanted = {
        (trace.keys.code(int(asg.read_key[r])), _content(trace, int(asg.read_value[r])))
        for r in asg.orphans.tolist()
        if asg.read_value[r] >= ABSENT
    }
    for row in (int(asg.read_op[r]) for r in asg.orphans.tolist()):
        if trace.op_kind[row] == Kind.LIST:
            span = int(trace.op_range[row])
            seen = trace.item_value[trace.range_items[span] : trace.range_items[span + 1]]
            key = trace.keys.code(int(trace.op_key[row]))
            wanted.update((key, trace.values.code(e)) for e in seen.tolist() if e < len(trace.values))
    found: Files = []
    there = set(asked.place.tolist())
    for place, one in lost.items():
        if place not in there and wanted & set(one.wrote):
            found = joined(found, one.lines)
    return found


def _content(trace: Trace, value: int) -> Code | None:
    """None: absent."""
    return None if value == ABSENT else trace.values.code(value)

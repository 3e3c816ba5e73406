"""Tombstones: where an application deletes by writing a marker, and reads of everything return it.

A value that starts with the marker is a deletion. Reading such a value is reading that the key is gone, and from whom;
a read that returned nothing may have seen any deletion, or the key before it was ever written.
"""

from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG, Int32, linked
from boomslang.errors import UsageError
from boomslang.ir.expression import START
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.trace.model import ABSENT, Trace


def markers(trace: Trace, prefix: str) -> Int32:
    """The values that are tombstones."""
    known = [
        i for i in range(len(trace.values)) if isinstance(v := trace.values[i], str) and v.startswith(prefix)
    ]
    return np.array(known, np.int32)


def bury(asg: ASG, hints: Hints) -> ASG:
    """The ASG in which writing a marker is a delete."""
    if not isinstance(hints.parameters["prefix"], str):
        raise UsageError(f"found prefix={hints.parameters['prefix']!r}; expected text")
    dead = markers(asg.trace, hints.parameters["prefix"])
    value = np.where(np.isin(asg.write_value, dead), ABSENT, asg.write_value).astype(np.int32)
    by = np.lexsort((asg.write_txn, value, asg.write_key))
    txn, op, key, seen, own = asg.internal
    alive = ~(np.isin(own, dead) & (seen == ABSENT))
    return linked(
        replace(
            asg,
            write_txn=asg.write_txn[by],
            write_value=value[by],
            write_op=asg.write_op[by],
            initial=np.where(np.isin(asg.initial, dead), ABSENT, asg.initial).astype(np.int32),
            read_value=np.where(np.isin(asg.read_value, dead), ABSENT, asg.read_value).astype(np.int32),
            internal=(txn[alive], op[alive], key[alive], seen[alive], own[alive]),
        )
    )


@module(prepare=bury)
def tombstones(asg: ASG, ir: IR, hints: Hints, *, prefix: str = "tombstone") -> None:
    """Values that start with `prefix` are deletions, and whoever reads one knows whose."""
    dead = set(markers(asg.trace, prefix).tolist())
    wrote: dict[tuple[int, int], set[int]] = {}
    for t, key, op in zip(asg.write_txn.tolist(), asg.write_key.tolist(), asg.write_op.tolist(), strict=True):
        wrote.setdefault((key, int(asg.trace.op_value[op])), set()).add(t)
    initial = set(zip(asg.trace.initial_key.tolist(), asg.trace.initial_value.tolist(), strict=True))
    for r in np.flatnonzero(asg.read_value == ABSENT).tolist():
        key, value = int(asg.read_key[r]), _returned(asg, r)
        if value in dead:
            first = {START} if (asg.trace_key(key), value) in initial else set()
            ir.refine(r, wrote.get((key, value), set()) | first)


def _returned(asg: ASG, read: int) -> int:
    """The value that the operation of a read returned for its key; ABSENT if it returned none."""
    trace, row, key = asg.trace, int(asg.read_op[read]), asg.trace_key(int(asg.read_key[read]))
    if trace.op_key[row] == key:
        return int(trace.op_value[row])
    span = int(trace.op_range[row])
    if span < 0 or trace.op_key[row] >= 0:
        return ABSENT
    items = slice(int(trace.range_items[span]), int(trace.range_items[span + 1]))
    found = np.flatnonzero(trace.item_key[items] == key)
    return int(trace.item_value[items][found[0]]) if len(found) else ABSENT

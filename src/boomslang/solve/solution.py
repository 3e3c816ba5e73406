"""What every solver answers, in numbers of the ASG it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import OUT, PRESENT, UNKNOWN_INITIAL
from boomslang.certify.certificate import Split, Witness
from boomslang.ir.model import IR
from boomslang.trace.model import ABSENT

if TYPE_CHECKING:
    from boomslang.explain.counterexample import Counterexample

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Limits:
    """How long and how much a solver may use. None: as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None
    conflicts: int | None = None
    """Of the native engine: stop after so many, with the reason "conflicts"."""
    progress: Callable[[int, int, int], object] | None = None
    """Called some twenty times a second with (decisions, conflicts, open constraints)."""


@dataclass(frozen=True, eq=False)
class Solution:
    """`valid` with an order, `invalid` perhaps with a superset of a core, or `unknown` with a reason."""

    status: str
    reason: str = ""
    order: Int64 | None = None
    """The points of all transactions that are in, as nodes of the IR's graph."""
    read_writer: Int64 | None = None
    """Of each read: the transaction it took, -1 the initial state, -2 it does not count."""
    initial: Int64 | None = None
    """Of each key, its initial value."""
    core_transactions: Int64 | None = None
    core_reads: Int64 | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    decided_by: str = ""
    """Which step of the strategy answered."""
    hinted: Counterexample | None = None
    """Of a refutation that rests on hints beside the trace: its own story, with `reason`."""


def witness(ir: IR, solution: Solution) -> Witness:
    """The certificate of a valid answer, in numbers of the trace."""
    asg = ir.asg
    assert solution.order is not None and solution.read_writer is not None and solution.initial is not None
    txn = solution.order // ir.graph.points
    order = asg.txn_of[txn] * ir.graph.points + solution.order % ir.graph.points
    chosen = asg.initial == UNKNOWN_INITIAL
    if len(asg.initial_by):
        chosen |= asg.initial_by >= 0
    initial = []
    for k in np.flatnonzero(chosen).tolist():
        value = int(solution.initial[k])
        if value == PRESENT:  # any value will do, as long as it is there: one that the trace does not name
            value = len(asg.trace.values)
        if value > ABSENT:
            initial.append((asg.trace_key(k), value))
    modules = tuple(m.spelled for m in asg.modules)
    split = None if asg.part_of is None else Split(asg.trace, asg.part_of)
    made = Witness(ir.level.name, ir.graph.points, order, initial, modules=modules, split=split)
    if ir.level.items_see_last and ir.level.predicates_see_last and not (modules and not ir.strong.all()):
        return made
    position = np.full(asg.transactions, -1, np.int64)
    position[txn] = np.arange(len(txn))
    counts = np.flatnonzero(solution.read_writer > -2)
    writer = solution.read_writer[counts]
    versions = {}
    for k in np.flatnonzero(np.diff(asg.key_start) > 1).tolist():
        writers = asg.write_txn[asg.key_start[k] : asg.key_start[k + 1]]
        writers = writers[(asg.state[writers] != OUT) & (position[writers] >= 0)]
        if len(writers) > 1:
            versions[asg.trace_key(k)] = asg.txn_of[writers[np.argsort(position[writers])]]
    return replace(
        made,
        read_op=asg.read_op[counts].astype(np.int64),
        read_key=asg.read_key[counts].astype(np.int64),
        read_writer=np.where(writer >= 0, asg.txn_of[np.maximum(writer, 0)], -1),
        version_order=versions,
    )

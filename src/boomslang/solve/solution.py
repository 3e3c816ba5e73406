"""What every solver answers, in numbers of the ASG it was given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, OUT, PRESENT, UNKNOWN_INITIAL
from boomslang.certify.certificate import Split, Witness
from boomslang.certify.proof import Proof
from boomslang.ir.model import IR
from boomslang.trace.model import ABSENT

if TYPE_CHECKING:
    from boomslang.explain.counterexample import Counterexample

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Ints = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Limits:
    """How long and how much a solver may use. None: as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None
    conflicts: int | None = None
    """Of the native engine: stop after so many, with the reason "conflicts"."""
    progress: Callable[[int, int, int], object] | None = None
    """Called some twenty times a second with (decisions, conflicts, open constraints)."""
    jobs: int | None = None
    """Threads that windows are solved in; None: one a core."""
    window: int | None = None
    """Transactions of a window (windows/); None: what pays, 0: no windows."""

    def since(self, begin: float) -> Limits:
        """The limits, less the time since `begin`."""
        if self.seconds is None:
            return self
        return replace(self, seconds=max(1e-3, self.seconds - (time.monotonic() - begin)))


@dataclass(frozen=True, eq=False)
class Solution:
    """`valid` with an order, `invalid` perhaps with a superset of a core, or `unknown` with a reason."""

    status: str
    reason: str = ""
    order: Ints | None = None
    """The points of all transactions that are in, as nodes of the IR's graph."""
    read_writer: Ints | None = None
    """Of each read: the transaction it took, -1 the initial state, -2 it does not count."""
    initial: Ints | None = None
    """Of each key, its initial value."""
    core_transactions: Int64 | None = None
    """What a refutation used, with the next: refuted once completed (`explain/core.py`, `complete`), for the ASG knows
    things that no conflict names, such as who committed after all. Asked as it is, it may not be refuted."""
    core_reads: Int64 | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    decided_by: str = ""
    """Which step of the strategy answered."""
    proof: Proof | None = None
    """Of a refutation that no solver is needed to see: what shows it."""
    joint_reads: Any = None
    """What selects over several columns saw, where the order does not tell (joint_reads.py)."""
    hinted: Counterexample | None = None
    """Of a refutation that rests on hints beside the trace: its own story, with `reason`."""


def witness(ir: IR, solution: Solution) -> Witness:
    """The certificate of a valid answer, in numbers of the trace."""
    asg = ir.asg
    assert solution.order is not None and solution.read_writer is not None and solution.initial is not None
    points = ir.graph.points
    order = solution.order
    if not asg.is_whole:
        order = asg.txn_of[order // points] * points + order % points
    chosen = asg.initial == UNKNOWN_INITIAL
    if len(asg.initial_by):
        chosen |= asg.initial_by >= 0
    initial = []
    for k in np.flatnonzero(chosen).tolist():
        value = int(solution.initial[k])
        if value == PRESENT:  # any value will do, as long as it is there: one that the trace does not name
            value = len(asg.trace.values)
        if value > ABSENT and asg.entry(k) is None:
            initial.append((asg.trace_key(k), value))
    modules = tuple(m.spelled for m in asg.modules)
    split = None if asg.part_of is None else Split(asg.trace, asg.part_of)
    made = Witness(ir.level.name, points, order, initial, modules=modules, split=split)
    if ir.level.items_see_last and ir.level.predicates_see_last and not (modules and not ir.strong.all()):
        return made
    txn = solution.order // points
    position = np.full(asg.transactions, -1, np.int32)
    position[txn] = np.arange(len(txn), dtype=np.int32)
    counts = solution.read_writer > -2
    reads = slice(None) if counts.all() else counts
    writer = solution.read_writer[reads]
    if not asg.is_whole:
        writer = np.where(writer >= 0, asg.txn_of[np.maximum(writer, 0)], -1)
    op, key = asg.read_op[reads], asg.witness_key(asg.read_key[reads])
    if asg.entries is not None:
        from boomslang.solve.joint_reads import with_joints

        op, key, writer = with_joints(ir, solution, op, key, writer)
    return replace(
        made,
        read_op=op,
        read_key=key,
        read_writer=writer,
        version_order=VersionOrders(asg, position),
    )


class VersionOrders(Mapping[int, Int64]):
    """Of each key with several writers their order. It is rarely looked at, and so only made when it is."""

    def __init__(self, asg: ASG, position: Int32) -> None:
        self._asg = asg
        self._position = position

    @cached_property
    def _orders(self) -> dict[int, Int64]:
        asg, position = self._asg, self._position
        inside = np.flatnonzero((asg.state[asg.write_txn] != OUT) & (position[asg.write_txn] >= 0))
        key, txn = asg.write_key[inside], asg.write_txn[inside]
        by = np.argsort(key.astype(np.int64) * (len(position) + 1) + position[txn])
        key, writers = key[by], asg.txn_of[txn[by]]
        starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        ends = np.append(starts[1:], len(key))
        several = ends - starts > 1
        own = None if asg.entries is None else asg.entries.first  # entries have the order of their keys
        return {
            asg.trace_key(int(key[a])): writers[a:b]
            for a, b in zip(starts[several].tolist(), ends[several].tolist(), strict=True)
            if own is None or asg.trace_key(int(key[a])) < own
        }

    def __getitem__(self, key: int) -> Int64:
        return self._orders[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._orders)

    def __len__(self) -> int:
        return len(self._orders)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._orders,)  # to another process without the whole trace

"""Transactions that were read and have not got their place in the order yet.

The order names a transaction by the place where it begins, and reads on in the files until it is there. What
is read on the way waits: arrays with a row for each transaction, sorted by its place, and its reads, ranges
and writes in compartments of others. What has committed in the order is gone when the next block comes; what
never does are transactions of unknown outcome that did not happen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.block_rows import Rows, spread
from boomslang.trace.model import Outcome, Trace

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Waiting:
    """Keys, values, sessions and clocks by the numbers that hold for all blocks."""

    place: Ints
    """File and line of the begin, as one number; sorted."""
    outcome: Ints
    session: Ints
    clock: Ints
    began: Ints
    """Times, or NO_TIME."""
    ended: Ints
    operations: Ints
    broken: Ints
    """The line of an operation that does not see its own write; -1: none."""
    begin: Ints
    """Where they stand in the order; -1: nowhere yet."""
    commit: Ints
    reads: Ints
    """Where the compartment of each begins; one more than there are transactions."""
    read_key: Ints
    read_value: Ints
    read_line: Ints
    writes: Ints
    write_key: Ints
    write_value: Ints
    ranges: Ints
    range_line: Ints
    low: Ints
    after_low: Ints
    high: Ints
    family: Ints
    excuses: Ints
    """Of each range."""
    excused_key: Ints

    def __len__(self) -> int:
        return len(self.place)

    @staticmethod
    def nobody() -> Waiting:
        starts = {"reads", "writes", "ranges", "excuses"}
        return Waiting(**{f.name: np.zeros(int(f.name in starts), np.int64) for f in fields(Waiting)})

    def picked(self, which: Ints) -> Waiting:
        """Only these, in this order."""
        read, _ = spread(self.reads, which)
        write, _ = spread(self.writes, which)
        ranged, _ = spread(self.ranges, which)
        excuse, _ = spread(self.excuses, ranged)
        of_txn = {name: getattr(self, name)[which] for name in TXN}
        of_txn |= {name: getattr(self, name)[read] for name in READ}
        of_txn |= {name: getattr(self, name)[write] for name in WRITE}
        of_txn |= {name: getattr(self, name)[ranged] for name in RANGE}
        return Waiting(
            **of_txn,
            reads=_starts(np.diff(self.reads)[which]),
            writes=_starts(np.diff(self.writes)[which]),
            ranges=_starts(np.diff(self.ranges)[which]),
            excuses=_starts(np.diff(self.excuses)[ranged]),
            excused_key=self.excused_key[excuse],
        )

    def joined(self, new: Waiting) -> Waiting:
        """Those that still wait, and the new ones."""
        old = self.picked(np.flatnonzero((self.commit < 0) & (self.outcome != Outcome.ABORTED)))
        if not len(old):
            return new
        names = (*TXN, *READ, *WRITE, *RANGE, "excused_key")
        both: dict[str, Any] = {
            name: np.concatenate([getattr(old, name), getattr(new, name)]) for name in names
        }
        for name in ("reads", "writes", "ranges", "excuses"):
            counts = np.concatenate([np.diff(getattr(old, name)), np.diff(getattr(new, name))])
            both[name] = _starts(counts)
        all_of_them = Waiting(**both)
        return all_of_them.picked(np.argsort(all_of_them.place, kind="stable"))


TXN = (
    "place", "outcome", "session", "clock", "began", "ended", "operations", "broken", "begin", "commit",
)  # fmt: skip
READ = ("read_key", "read_value", "read_line")
WRITE = ("write_key", "write_value")
RANGE = ("range_line", "low", "after_low", "high", "family")


def _starts(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def waiting_of(
    trace: Trace,
    rows: Rows,
    taken: Mask,
    *,
    place: Ints,
    line: Ints,
    keys: Ints,
    values: Ints,
    sessions: Ints,
    clocks: Ints,
) -> Waiting:
    """The transactions of a block that are over. `line`: of each operation; `keys`, `values`, `sessions` and
    `clocks`: the numbers that hold for all blocks. Each of them is followed by what -1 stands for."""
    many = len(trace)

    def starts(owner: Ints) -> Ints:
        return np.searchsorted(owner, np.arange(many + 1))

    broken = np.where(rows.broken >= 0, np.append(line, 0)[rows.broken], -1)
    all_of_them = Waiting(
        place=place,
        outcome=trace.txn_outcome.astype(np.int64),
        session=sessions[trace.txn_session],
        clock=clocks[trace.txn_clock],
        began=trace.txn_begin,
        ended=trace.txn_end,
        operations=np.diff(trace.txn_ops),
        broken=broken,
        begin=np.full(many, -1, np.int64),
        commit=np.full(many, -1, np.int64),
        reads=starts(rows.read_txn),
        read_key=keys[rows.read_key],
        read_value=np.where(rows.read_value < 0, rows.read_value, values[np.maximum(rows.read_value, -1)]),
        read_line=line[rows.read_row],
        writes=starts(rows.write_txn),
        write_key=keys[rows.write_key],
        write_value=values[rows.write_value],
        ranges=starts(rows.range_txn),
        range_line=line[rows.range_row],
        low=keys[rows.low],
        after_low=rows.after_low.astype(np.int64),
        high=keys[rows.high],
        family=rows.family,
        excuses=np.searchsorted(rows.excused_range, np.arange(len(rows.low) + 1)),
        excused_key=keys[rows.excused_key],
    )
    which = np.flatnonzero(taken)
    return all_of_them.picked(which[np.argsort(place[which], kind="stable")])

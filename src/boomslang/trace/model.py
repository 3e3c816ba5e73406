"""A trace in memory: columns, never a list of Python objects.

What clients sent to a database and got back, as arrays: one row a transaction, one row an operation, one row
a range. Eight million operations load in seconds and every later phase is array code. Keys and values are
numbered (see `Scalars`), so that comparing them is comparing integers; `key_rank` does the same for their
order.

For people there are views: `trace.transaction(i)` and `trace.transactions()` make small objects on demand.
They are for messages and small traces; nothing that must be fast uses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.trace.scalars import (
    Absent,
    AbsentType,
    Scalar,
    Scalars,
    Unbounded,
    UnboundedType,
    same,
    typed,
)

if TYPE_CHECKING:
    from boomslang.trace.coverage import Coverage

__all__ = [
    "ABSENT",
    "NO_TIME",
    "Absent",
    "Flag",
    "Initial",
    "Kind",
    "Operation",
    "Outcome",
    "Scalars",
    "Trace",
    "Transaction",
    "Unbounded",
    "same",
    "typed",
]

ABSENT = -1
"""The value id of "no such key"."""
NO_TIME = -(2**63)
"""Where a time was not recorded."""
SHORT_LOG = 1_000
"""Transactions of a file that is taken for a log, however its sessions stand in it."""

UInt8 = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


class Kind(IntEnum):
    """The operations. BEGIN, COMMIT and ABORT are rows only where they failed."""

    PUT = 0
    GET = 1
    DELETE = 2
    SCAN = 3
    ITERATOR = 4
    NEXT = 5
    BEGIN = 6
    COMMIT = 7
    ABORT = 8
    APPEND = 9
    LIST = 10
    SELECT = 11


class Flag(IntFlag):
    """What an operation returned beside a value: a delete's result, a failure, an iterator's end."""

    FOUND = 1
    NOTHING = 2
    ERROR = 4
    END = 8


class Outcome(IntEnum):
    """How a transaction ended. UNKNOWN: it may or may not have happened."""

    COMMITTED = 0
    ABORTED = 1
    UNKNOWN = 2


class Initial(IntEnum):
    """What the database held before: nothing, the listed keys and nothing else, or who knows."""

    EMPTY = 0
    GIVEN = 1
    UNKNOWN = 2


@dataclass(frozen=True)
class Operation:
    """One operation, for people. `index` is its row in the columns."""

    index: int
    kind: Kind
    key: Scalar | AbsentType
    """`Absent` where the operation has no key."""
    value: Scalar | AbsentType
    found: bool | None
    lo: Scalar | UnboundedType
    hi: Scalar | UnboundedType
    items: tuple[tuple[Scalar, Scalar], ...]
    elements: tuple[Scalar, ...]
    """What a list read returned."""
    asked: str | None
    """Of a select, `[table, condition]` as JSON (see conditions.py)."""
    iterator: int
    """The row of its range: an ITERATOR and its NEXTs share it. -1 where there is none."""
    end: bool
    error: str | None
    invoke: int | None
    return_: int | None
    ctx: dict[str, Any] | None
    where: str


@dataclass(frozen=True)
class Transaction:
    """One transaction, for people. `index` is its row in the columns."""

    index: int
    name: Scalar
    session: str | None
    outcome: Outcome
    begin: int | None
    end: int | None
    clock: str
    operations: tuple[Operation, ...]
    ctx: dict[str, Any] | None
    where: str


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A history as columns.

    Transactions are numbered in the order of their begins (files of a folder in natural name order), so
    session order is index order. The operations of transaction t are the rows `txn_ops[t]:txn_ops[t+1]`, in
    program order. -1 in a column of ids means none; -1 in `op_value` is `ABSENT`.
    """

    keys: Scalars
    values: Scalars
    names: Scalars
    texts: Scalars
    """Raw JSON text of hints, and the texts of errors: what the ctx and error columns number."""
    key_rank: Int64
    sessions: list[str]
    files: list[str]
    clocks: list[str]

    txn_session: Int32
    txn_outcome: UInt8
    txn_name: Int32
    """Into `names`; the name is None where the trace gave none."""
    txn_file: Int32
    txn_begin_line: UInt32
    txn_end_line: UInt32
    txn_begin: Int64
    """Invoke time of the begin."""
    txn_end: Int64
    """Return time of the commit or abort."""
    txn_clock: Int32
    txn_ops: Int64
    txn_ctx: Int32 | None

    op_kind: UInt8
    op_flags: UInt8
    op_key: Int32
    op_value: Int32
    op_range: Int32
    op_line: UInt32
    op_invoke: Int64 | None
    op_return: Int64 | None
    """Both may be `CloseTimes`, which reads like an array."""
    op_ctx: Int32 | None
    op_error: Int32 | None

    range_lo: Int32
    range_hi: Int32
    range_items: Int64
    """Of each range where its items start: what a scan returned; of a list read, the elements."""
    item_key: Int32
    item_value: Int32

    initial_mode: Initial
    initial_key: Int32
    initial_value: Int32
    warnings: list[str] = field(default_factory=list)
    op_where: Int32 | None = None
    """Of a select, what it asked: into `texts`, `[table, condition]` as JSON."""
    unit: str = ""
    """What a tick of the times is: one of `units.UNITS`; empty: the trace does not say."""
    notes: str = ""
    """What a header says of the whole trace (its `ctx`: which database, which faults), as JSON; empty: nothing."""
    coverage: Coverage | None = None
    """How much of an application's statements it tells, if a recorder that understands SQL made it."""

    def __len__(self) -> int:
        """The number of transactions."""
        return len(self.txn_name)

    def __repr__(self) -> str:
        return (
            f"<Trace: {len(self)} transactions, {len(self.op_kind)} operations, "
            f"{len(self.sessions)} sessions, {len(self.keys)} keys>"
        )

    def _repr_html_(self) -> str:
        """In a notebook: its size, and the first transactions on a timeline."""
        from boomslang.report.notebook import trace_html

        return trace_html(self)

    @cached_property
    def has_times(self) -> bool:
        """Could real time order anything: has some transaction an end time and some a begin time?"""

        def some(column: Int64) -> bool:  # the first ones tell, as a rule
            return bool((column[:1000] != NO_TIME).any() or (column != NO_TIME).any())

        return some(self.txn_begin) and some(self.txn_end)

    @cached_property
    def is_one_log(self) -> bool:
        """Is it one file, whose lines suggest in which order things happened? In a long file whose sessions stand one
        after the other, as some tools write them, lines say nothing."""
        if len(self.files) != 1 or len(self) < SHORT_LOG:
            return len(self.files) == 1
        changes = np.count_nonzero(self.txn_session[1:] != self.txn_session[:-1])
        return bool(len(self.sessions) < 2 or changes >= 2 * len(self.sessions))

    @cached_property
    def has_sessions(self) -> bool:
        return bool((self.txn_session >= 0).any())

    @cached_property
    def share_of_session(self) -> Int64:
        """How far into its session each transaction is, in billionths: all that files of sessions suggest about the
        order between them. Kept, for hundreds of questions about small parts of a long trace ask for it."""
        session = self.txn_session
        order = np.argsort(session, kind="stable")
        counts = np.bincount(session + 1)
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        within = np.empty(len(self), np.int64)
        within[order] = np.arange(len(self)) - starts[session[order] + 1]
        shares: Int64 = within * 1_000_000_000 // counts[session + 1]
        return shares

    # --- views ---

    def where(self, t: int) -> str:
        """file:line of the transaction's begin."""
        return self._place(t, int(self.txn_begin_line[t]))

    def _place(self, t: int, line: int) -> str:
        name = self.files[self.txn_file[t]]
        return f"{name}:{line}" if name else f"operation {line}"

    def _ctx(self, column: Int32 | None, row: int) -> dict[str, Any] | None:
        if column is None or column[row] < 0:
            return None
        import json

        hints: dict[str, Any] = json.loads(self.texts.text(int(column[row])))
        return hints

    def marked(self, hint: str) -> NDArray[np.bool_] | None:
        """Which operations carry this hint as true (`"ctx": {hint: true}`); None if none does."""
        if self.op_ctx is None:
            return None
        told = [i for i in distinct(self.op_ctx).tolist() if i >= 0]
        import json

        yes = [i for i in told if json.loads(self.texts.text(i)).get(hint) is True]
        return np.isin(self.op_ctx, yes) if yes else None

    def transaction(self, t: int) -> Transaction:
        """A view of transaction `t`."""
        session = int(self.txn_session[t])
        rows = range(int(self.txn_ops[t]), int(self.txn_ops[t + 1]))
        return Transaction(
            index=t,
            name=self.names[int(self.txn_name[t])],
            session=self.sessions[session] if session >= 0 else None,
            outcome=Outcome(int(self.txn_outcome[t])),
            begin=_time(self.txn_begin, t),
            end=_time(self.txn_end, t),
            clock=self.clocks[self.txn_clock[t]],
            operations=tuple(self._operation(t, row) for row in rows),
            ctx=self._ctx(self.txn_ctx, t),
            where=self.where(t),
        )

    def transactions(self) -> Iterator[Transaction]:
        """Views of all transactions."""
        return (self.transaction(t) for t in range(len(self)))

    def owner(self, row: int) -> int:
        """The transaction of an operation."""
        return int(np.searchsorted(self.txn_ops, row, side="right")) - 1

    def operation(self, row: int) -> Operation:
        """A view of one operation."""
        return self._operation(self.owner(row), row)

    def _operation(self, t: int, row: int) -> Operation:
        flags = int(self.op_flags[row])
        key, value, r = int(self.op_key[row]), int(self.op_value[row]), int(self.op_range[row])
        lo, hi = (int(self.range_lo[r]), int(self.range_hi[r])) if r >= 0 else (-1, -1)
        kind = Kind(int(self.op_kind[row]))
        held = range(int(self.range_items[r]), int(self.range_items[r + 1])) if r >= 0 else range(0)
        items = held if kind in (Kind.SCAN, Kind.SELECT) else ()
        elements = held if kind == Kind.LIST else ()
        error, where = self.op_error, self.op_where
        return Operation(
            index=row,
            kind=kind,
            key=self.keys[key] if key >= 0 else Absent,
            value=self.values[value] if value >= 0 else Absent,
            found=True if flags & Flag.FOUND else False if flags & Flag.NOTHING else None,
            lo=self.keys[lo] if lo >= 0 else Unbounded,
            hi=self.keys[hi] if hi >= 0 else Unbounded,
            items=tuple(
                (self.keys[int(self.item_key[i])], self.values[int(self.item_value[i])]) for i in items
            ),
            elements=tuple(self.values[int(self.item_value[i])] for i in elements),
            asked=self.texts.text(int(where[row])) if where is not None and where[row] >= 0 else None,
            iterator=r,
            end=bool(flags & Flag.END),
            error=self.texts.text(int(error[row])) if error is not None and error[row] >= 0 else None,
            invoke=_time(self.op_invoke, row),
            return_=_time(self.op_return, row),
            ctx=self._ctx(self.op_ctx, row),
            where=self._place(t, int(self.op_line[row])),
        )

    def initial(self) -> list[tuple[Scalar, Scalar]]:
        """The given initial state, as pairs."""
        pairs = zip(self.initial_key.tolist(), self.initial_value.tolist(), strict=True)
        return [(self.keys[k], self.values[v]) for k, v in pairs]


def _time(column: Int64 | None, row: int) -> int | None:
    if column is None or column[row] == NO_TIME:
        return None
    return int(column[row])

"""What a database held before some transactions, as far as they speak of it: the rows that a replay begins with.

Of each key that they name: what was read first, if it was none of their own values; else what others wrote last before
them; else the initial state. Of a row that is named, all its columns that the trace knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boomslang.trace.model import ABSENT, NO_TIME, Flag, Kind, Outcome, Trace
from boomslang.trace.rows import parse_row_key
from boomslang.trace.scalars import Absent

MOST_KEYS = 20_000


@dataclass
class Before:
    by_table: dict[str, dict[Any, dict[str, Any]]] = field(default_factory=dict)
    """Of each table, by the primary key, the columns; only rows that were there."""
    plain: dict[Any, Any] = field(default_factory=dict)
    """Keys that are no rows, and were there."""

    def key_values(self) -> list[dict[str, Any]]:
        from boomslang.explain.replay.key_values import said_key, said_value

        return [{"k": said_key(key), "v": said_value(value)} for key, value in self.plain.items()]


def rows_before(trace: Trace, transactions: list[int]) -> Before:
    """The state before these transactions."""
    chosen = set(transactions)
    first, own = _first_reads(trace, transactions)
    names = _named(trace, transactions)
    rows = {parsed[:2] for name in names if isinstance(name, str) and (parsed := parse_row_key(name))}
    tables = {table for table, _ in rows}
    wanted: dict[int, Any] = {}
    for number in range(len(trace.keys)):
        key = trace.keys[number]
        if key in names:
            wanted[number] = key
        elif isinstance(key, str) and key.partition("[")[0] in tables:
            parsed = parse_row_key(key)
            if parsed is not None and parsed[:2] in rows:
                wanted[number] = key
        if len(wanted) > MOST_KEYS:
            break
    state = _state(trace, chosen, wanted)
    state.update({key: value for key, value in first.items() if (key, repr(value)) not in own})
    return _sorted_out(state)


def _named(trace: Trace, transactions: list[int]) -> set[Any]:
    names: set[Any] = set()
    for t in transactions:
        for operation in trace.transaction(t).operations:
            if operation.key is not Absent:
                names.add(operation.key)
            names.update(key for key, _ in operation.items)
    return names


def _first_reads(trace: Trace, transactions: list[int]) -> tuple[dict[Any, Any], set[tuple[Any, str]]]:
    """What was read of each key before it was written by the reader, by whoever read it first; and their own values."""
    own: set[tuple[Any, str]] = set()
    reads: list[tuple[int, int, Any, Any]] = []
    for t in transactions:
        mine: set[Any] = set()
        for operation in trace.transaction(t).operations:
            if operation.error is not None:
                continue
            if operation.kind in (Kind.PUT, Kind.DELETE):
                mine.add(operation.key)
                own.add((operation.key, repr(operation.value)))
            at = operation.invoke if operation.invoke is not None else int(trace.txn_begin[t])
            seen = [(operation.key, operation.value)] if operation.kind == Kind.GET else list(operation.items)
            reads += [(at, operation.index, key, value) for key, value in seen if key not in mine]
    first: dict[Any, Any] = {}
    for _, _, key, value in sorted(reads, key=lambda read: read[:2]):
        if (key, repr(value)) not in own:
            first.setdefault(key, value)
    return first, own


def _state(trace: Trace, chosen: set[int], wanted: dict[int, Any]) -> dict[Any, Any]:
    """The initial state and what others wrote before the first of the chosen ended, in the order of their ends."""
    state: dict[Any, Any] = {
        wanted[k]: trace.values[v]
        for k, v in zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)
        if k in wanted
    }
    writes = np.isin(trace.op_kind, (int(Kind.PUT), int(Kind.DELETE))) & ((trace.op_flags & Flag.ERROR) == 0)
    rows = np.flatnonzero(writes & np.isin(trace.op_key, list(wanted)))
    owners = np.searchsorted(trace.txn_ops, rows, side="right") - 1
    timed = trace.has_times
    ends = trace.txn_end if timed else np.arange(len(trace))
    limit = min((int(ends[t]) for t in chosen if ends[t] != NO_TIME), default=0)
    order = np.lexsort((rows, ends[owners]))
    for row, owner in zip(rows[order].tolist(), owners[order].tolist(), strict=True):
        if owner in chosen or trace.txn_outcome[owner] != Outcome.COMMITTED or ends[owner] > limit:
            continue
        value = int(trace.op_value[row])
        gone = trace.op_kind[row] == Kind.DELETE or value == ABSENT
        state[wanted[int(trace.op_key[row])]] = Absent if gone else trace.values[value]
    return state


def _sorted_out(state: dict[Any, Any]) -> Before:
    made = Before()
    gone: set[tuple[str, Any]] = set()
    for key, value in state.items():
        parsed = parse_row_key(key) if isinstance(key, str) else None
        if parsed is None:
            if value is not Absent:
                made.plain[key] = value
            continue
        table, primary, column = parsed
        if value is Absent:
            if column is None:
                gone.add((table, primary))
            continue
        row = made.by_table.setdefault(table, {}).setdefault(primary, {})
        if column is not None:
            row[column] = {"bytes": value.hex()} if isinstance(value, bytes) else value
    for table, primary in gone:
        made.by_table.get(table, {}).pop(primary, None)
    return made

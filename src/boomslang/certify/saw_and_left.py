"""What a transaction saw of a few keys, what of that must be so when it writes, and what it left there: for the
verifiers of proofs about several keys, and shared with nothing that checks.
"""

from __future__ import annotations

import numpy as np

from boomslang.certify.seen import Seen, look, of_others, rows_of, written
from boomslang.trace import Kind, Trace

SERIAL, SNAPSHOT, ONE_KEY = range(3)
LEVELS = {
    "serializable": SERIAL,
    "strict-serializable": SERIAL,
    "repeatable-read": SERIAL,
    "snapshot-isolation": SNAPSHOT,
    "strong-snapshot-isolation": SNAPSHOT,
    "consistent-view": ONE_KEY,
    "forward-consistent-view": ONE_KEY,
    "cursor-stability": ONE_KEY,
}
ITEMS_ONLY = {"repeatable-read", "cursor-stability"}

Wants = tuple[frozenset[int], ...]
"""Of each key: the values that were read there."""
Leaves = tuple[int | None, ...]
"""Of each key: what is written there, if anything is."""


def rows_with(trace: Trace, keys: tuple[int, ...]) -> dict[int, list[int]]:
    """Of each transaction, the operations that may have to do with the keys."""
    ranges = np.isin(trace.op_kind, (Kind.SCAN, Kind.NEXT))
    rows = np.flatnonzero(ranges | np.isin(trace.op_key, np.array(keys)))
    txns = np.searchsorted(trace.txn_ops, rows, side="right") - 1
    found: dict[int, list[int]] = {}
    for row, t in zip(rows.tolist(), txns.tolist(), strict=True):
        found.setdefault(t, []).append(row)
    return found


def did(
    trace: Trace, base: str, keys: tuple[int, ...], t: int, rows: list[int]
) -> tuple[Wants, Wants, Leaves]:
    """What a transaction saw of the keys, what of that must be so when it writes, and what it left there."""
    law, marked = LEVELS[base], trace.marked("cursor") if base == "cursor-stability" else None
    leaves = {key: value for _, key, value in written(trace, rows_of(trace, t)) if key in keys}
    wants: list[set[int]] = [set() for _ in keys]
    guards: list[set[int]] = [set() for _ in keys]
    for row in rows:
        ranged = trace.op_kind[row] in (Kind.SCAN, Kind.NEXT)
        for i, key in enumerate(keys):
            seen = look(trace, row, key) if ranged or trace.op_key[row] == key else None
            outside = None if seen is None else of_others(trace, t, key, seen)
            if not isinstance(outside, Seen):
                continue
            counts = outside.item or base not in ITEMS_ONLY
            if counts or law == ONE_KEY:
                wants[i].add(outside.value)
            if counts and (law == SERIAL or key in leaves) and (marked is None or marked[row]):
                guards[i].add(outside.value)
    return (
        tuple(frozenset(values) for values in wants),
        tuple(frozenset(values) for values in guards),
        tuple(leaves.get(key) for key in keys),
    )

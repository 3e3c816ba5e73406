"""A few words to write small histories in: who did what, and what came back.

    history(
        txn("A", get("x", 0), put("x", 1)),
        txn("B", get("x", 0), put("x", 2), outcome="unknown"),
        initial={"x": 0},
    )

Transactions are listed in the order in which they began. Operations do not interleave here, because no level
can tell: a trace keeps the program order inside each transaction, and the times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boomslang.trace import Absent, Trace, TraceBuilder, Unbounded

__all__ = [
    "Absent", "Op", "Txn", "Unbounded", "append", "by_cursor", "delete", "end", "failed", "get", "history",
    "iterator", "list_", "put", "scan", "step", "txn",
]  # fmt: skip


@dataclass(frozen=True)
class Op:
    kind: str
    key: Any = None
    value: Any = None  # written or read; Absent if there was none
    found: bool | None = None  # what a delete told, if it told
    low: Any = Unbounded
    high: Any = Unbounded
    items: tuple[tuple[Any, Any], ...] = ()
    iterator: int = 0
    end: bool = False
    failed: bool = False
    elements: tuple[Any, ...] = ()  # of a list that was read
    cursor: bool = False  # a get that is marked as a cursor's


@dataclass(frozen=True)
class Txn:
    session: str | None
    ops: tuple[Op, ...]
    outcome: str = "committed"
    begin: int | None = None
    end: int | None = None
    clock: str = ""


def txn(
    session: str | None,
    *ops: Op,
    outcome: str = "committed",
    time: tuple[int, int] | None = None,
    clock: str = "",
) -> Txn:
    """`time`: when its begin was invoked, and when its commit or abort returned."""
    begin, end = time or (None, None)
    return Txn(session, ops, outcome, begin, end, clock)


def put(key: Any, value: Any) -> Op:
    return Op("put", key, value)


def get(key: Any, value: Any) -> Op:
    return Op("get", key, value)


def delete(key: Any, found: bool | None = None) -> Op:
    return Op("delete", key, found=found)


def append(key: Any, element: Any) -> Op:
    return Op("append", key, element)


def list_(key: Any, elements: Iterable[Any]) -> Op:
    """A read of a list."""
    return Op("list", key, elements=tuple(elements))


def scan(low: Any, high: Any, items: dict[Any, Any]) -> Op:
    return Op("scan", low=low, high=high, items=tuple(items.items()))


def iterator(number: int, low: Any = Unbounded, high: Any = Unbounded) -> Op:
    return Op("iterator", low=low, high=high, iterator=number)


def step(number: int, key: Any, value: Any) -> Op:
    """The iterator's next() returned this key and value."""
    return Op("next", key, value, iterator=number)


def end(number: int) -> Op:
    """The iterator's next() said that there are no more keys."""
    return Op("next", iterator=number, end=True)


def failed(op: Op) -> Op:
    return replace(op, failed=True)


def by_cursor(op: Op) -> Op:
    return replace(op, cursor=True)


def history(*txns: Txn, initial: dict[Any, Any] | str | None = None) -> Trace:
    """The trace of these transactions; `initial`: a state, "unknown", or None for an empty database."""
    state: Any = initial
    builder = TraceBuilder(state)
    for t in txns:
        _add(builder, t)
    trace = builder.build()
    clocks = list(dict.fromkeys(t.clock for t in txns))
    if len(clocks) < 2:
        return trace
    # A file has one clock; several files may differ.
    column = np.array([clocks.index(t.clock) for t in txns], dtype=np.int32)
    return replace(trace, clocks=clocks, txn_clock=column)


def _add(builder: TraceBuilder, t: Txn) -> None:
    outcome: Any = t.outcome
    with builder.transaction(t.session, outcome=outcome, begin=t.begin, end=t.end) as b:
        iterators: dict[int, Any] = {}
        for op in t.ops:
            if op.failed and op.kind == "next":
                iterators[op.iterator].failed("it failed")
            elif op.failed:
                b.failed(op.kind, error="it failed", **({} if op.key is None else {"key": op.key}))
            elif op.kind == "put":
                b.put(op.key, op.value)
            elif op.kind == "get":
                b.get(op.key, op.value, **({"ctx": {"cursor": True}} if op.cursor else {}))
            elif op.kind == "delete":
                b.delete(op.key, op.found)
            elif op.kind == "append":
                b.append(op.key, op.value)
            elif op.kind == "list":
                b.list(op.key, op.elements)
            elif op.kind == "scan":
                b.scan(op.low, op.high, op.items)
            elif op.kind == "iterator":
                iterators[op.iterator] = b.iterator(op.low, op.high)
            elif op.end:
                iterators[op.iterator].end()
            else:
                iterators[op.iterator].next(op.key, op.value)

"""Write a history down in Python: for tests, and for programs that already have theirs in memory.

    b = TraceBuilder(initial={"x": 0})
    with b.transaction(session="alice") as t:
        t.get("x", 0)
        t.put("x", 1)
    trace = b.build()

The builder makes the same records that a trace file holds and gives them to the same reader, so the same
rules apply; an error says "operation 3" in place of a file and a line (begins and commits count too).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

from boomslang.trace.model import Trace
from boomslang.trace.reader import Limits, finish
from boomslang.trace.scalars import Absent, Scalar, Unbounded, int_to_text, typed

try:
    from boomslang.trace._reader import Reader
except ImportError as missing:  # pragma: no cover - only in a broken installation
    raise ImportError(
        f"boomslang's native reader is missing ({missing}); did you forget to compile?"
    ) from missing

OutcomeName = Literal["committed", "aborted", "unknown"]


def scalar_text(x: object) -> str:
    """A key or value as JSON."""
    if isinstance(x, bytes):
        return f'{{"bytes": "{x.hex()}"}}'
    if isinstance(x, int) and not isinstance(x, bool):
        return int_to_text(x)
    if x is None or isinstance(x, bool | float | str):
        return json.dumps(x, allow_nan=False)
    raise TypeError(f"found {type(x).__name__}; a key or value is None, bool, int, float, str or bytes")


def pairs_text(items: Iterable[tuple[Scalar, Scalar]]) -> str:
    return "[" + ", ".join(f"[{scalar_text(k)}, {scalar_text(v)}]" for k, v in items) + "]"


class TraceBuilder:
    """Collects operations; `build()` makes the trace.

    `initial` is a mapping (or pairs, so that 1 and True can both be keys), "unknown", or None for empty. `unit` is
    what a tick of the times is: "ns", "us", "ms" or "s".
    """

    def __init__(
        self,
        initial: Mapping[Any, Scalar]
        | Iterable[tuple[Scalar, Scalar]]
        | Literal["unknown", "empty"]
        | None = None,
        *,
        clock: str = "",
        unit: str = "",
    ) -> None:
        if initial is None or isinstance(initial, str):
            state = json.dumps(initial or "empty")
        else:
            pairs = initial.items() if isinstance(initial, Mapping) else initial
            state = f'{{"items": {pairs_text(pairs)}}}'
        ticks = f'"unit": {json.dumps(unit)}, ' if unit else ""
        self._header = f'{{"boomslang": 1, "clock": {json.dumps(clock)}, {ticks}"initial": {state}}}\n'
        self._lines: list[str] = []
        self._names: set[object] = set()
        self._count = 0

    def transaction(
        self,
        session: str | None = None,
        *,
        name: int | str | None = None,
        outcome: OutcomeName = "committed",
        begin: int | None = None,
        end: int | None = None,
        ctx: Mapping[str, Any] | None = None,
    ) -> TransactionBuilder:
        """Begin a transaction now. Use it in a `with`, or call `commit`, `abort` or `unknown` on it.

        `begin` and `end` are times; `outcome` is what leaving the `with` means.
        """
        if outcome not in ("committed", "aborted", "unknown"):
            raise ValueError(f"found outcome {outcome!r}; expected committed, aborted or unknown")
        if name is None:
            self._count += 1
            while typed(self._count) in self._names:
                self._count += 1
            name = self._count
        self._names.add(typed(name))
        t = TransactionBuilder(self, session, name, outcome, end)
        t._record("begin", invoke=begin, ctx=ctx)
        return t

    def build(self) -> Trace:
        """The trace of all operations so far; transactions that are still open are unknown."""
        reader = Reader()
        reader.begin_file("", None, 0)  # the header is a line of its own, but no operation
        reader.feed(self._header.encode())
        reader.feed("".join(self._lines).encode())
        reader.end_file()
        return finish(reader, Limits())


class TransactionBuilder:
    """One transaction of a `TraceBuilder`. Each method records one operation and what it returned."""

    def __init__(
        self,
        builder: TraceBuilder,
        session: str | None,
        name: int | str,
        outcome: OutcomeName,
        end: int | None,
    ) -> None:
        self.name = name
        self._builder = builder
        self._session = session
        self._outcome: OutcomeName = outcome
        self._end = end
        self._ended = False
        self._iterators = 0

    def put(self, key: Scalar, value: Scalar, **extra: Any) -> None:
        """Wrote `value`. `extra`, here and below: `invoke`, `return_` (times) and `ctx` (hints)."""
        self._record("put", key=scalar_text(key), value=scalar_text(value), **extra)

    def get(self, key: Scalar, value: object, **extra: Any) -> None:
        """Read `value`, which may be `Absent`."""
        if value is Absent:
            self._record("get", key=scalar_text(key), absent="true", **extra)
        else:
            self._record("get", key=scalar_text(key), value=scalar_text(value), **extra)

    def delete(self, key: Scalar, found: bool | None = None, **extra: Any) -> None:
        """Deleted; `found` is what the database said, if it said anything."""
        self._record(
            "delete", key=scalar_text(key), found=None if found is None else scalar_text(bool(found)), **extra
        )

    def append(self, key: Scalar, element: Scalar, **extra: Any) -> None:
        """Appended `element` to the list at `key`."""
        self._record("append", key=scalar_text(key), value=scalar_text(element), **extra)

    def list(self, key: Scalar, elements: Iterable[Scalar], **extra: Any) -> None:
        """Read the list at `key`; one that was never appended to is empty."""
        text = ", ".join(map(scalar_text, elements))
        self._record("list", key=scalar_text(key), elements=f"[{text}]", **extra)

    def scan(self, lo: object, hi: object, items: Iterable[tuple[Scalar, Scalar]], **extra: Any) -> None:
        """Read all keys in [lo, hi); the bounds may be `Unbounded` (or None)."""
        self._record("scan", **_bounds(lo, hi), items=pairs_text(items), **extra)

    def select(
        self, table: str, where: object = True, items: Iterable[tuple[Scalar, Scalar]] = (), **extra: Any
    ) -> None:
        """Read the rows of a table that match a condition: `items` holds `row_key(table, key)` of each, and columns."""
        self._record(
            "select", table=json.dumps(table), where=json.dumps(where), items=pairs_text(items), **extra
        )

    def iterator(self, lo: object = Unbounded, hi: object = Unbounded, **extra: Any) -> IteratorBuilder:
        """Opened an iterator over [lo, hi)."""
        self._iterators += 1
        self._record("iterator", id=str(self._iterators), **_bounds(lo, hi), **extra)
        return IteratorBuilder(self, self._iterators)

    def failed(self, op: str, *, error: str, **fields: Any) -> None:
        """The operation `op` failed: it observed and changed nothing. Give what is known of its fields."""
        known: dict[str, Any] = {}
        for name, value in fields.items():
            if name in ("key", "value", "id"):
                known[name] = scalar_text(value)
            elif name in ("lo", "hi"):
                known["from" if name == "lo" else "to"] = scalar_text(value)
            elif name == "items":
                known[name] = pairs_text(value)
            elif name == "elements":
                known[name] = "[" + ", ".join(map(scalar_text, value)) + "]"
            elif name in ("table", "where"):
                known[name] = json.dumps(value)
            elif name in ("found", "end", "absent"):
                known[name] = scalar_text(bool(value))
            elif name in ("invoke", "return_", "ctx"):
                known[name] = value
            else:
                raise TypeError(f"found the unknown field {name!r} of a failed operation")
        self._record(op, error=json.dumps(error), **known)

    def commit(self, **extra: Any) -> None:
        self._finish("commit", **extra)

    def abort(self, **extra: Any) -> None:
        self._finish("abort", **extra)

    def unknown(self) -> None:
        """It may or may not have committed; nothing more is recorded."""
        self._ended = True

    def __enter__(self) -> TransactionBuilder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if kind is not None or self._outcome == "unknown":
            self.unknown()
        elif self._outcome == "aborted":
            self.abort()
        else:
            self.commit()

    def _finish(self, op: str, **extra: Any) -> None:
        if self._end is not None:
            extra.setdefault("return_", self._end)
        self._record(op, **extra)
        self._ended = True

    def _record(
        self,
        op: str,
        *,
        invoke: int | None = None,
        return_: int | None = None,
        ctx: Mapping[str, Any] | None = None,
        **fields: str | None,
    ) -> None:
        session = "" if self._session is None else f'"session": {json.dumps(self._session)}, '
        parts = [f'{{{session}"txn": {scalar_text(self.name)}, "op": {json.dumps(op)}']
        parts += [f'"{name}": {text}' for name, text in fields.items() if text is not None]
        if invoke is not None:
            parts.append(f'"invoke": {int(invoke)}')
        if return_ is not None:
            parts.append(f'"return": {int(return_)}')
        if ctx is not None:
            parts.append(f'"ctx": {json.dumps(ctx)}')
        self._builder._lines.append(", ".join(parts) + "}\n")


class IteratorBuilder:
    """An open iterator of a `TransactionBuilder`."""

    def __init__(self, transaction: TransactionBuilder, number: int) -> None:
        self._transaction = transaction
        self._id = str(number)

    def next(self, key: Scalar, value: Scalar, **extra: Any) -> None:
        """It returned this."""
        self._transaction._record(
            "next", id=self._id, key=scalar_text(key), value=scalar_text(value), **extra
        )

    def end(self, **extra: Any) -> None:
        """It returned that there is no more."""
        self._transaction._record("next", id=self._id, end="true", **extra)

    def failed(self, error: str, **extra: Any) -> None:
        """A next that failed."""
        self._transaction._record("next", id=self._id, error=json.dumps(error), **extra)


def _bounds(lo: object, hi: object) -> dict[str, Any]:
    def text(bound: object) -> str | None:
        return None if bound is Unbounded or bound is None else scalar_text(bound)

    return {"from": text(lo), "to": text(hi)}

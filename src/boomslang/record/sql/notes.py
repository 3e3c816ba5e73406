"""What goes into the trace beside operations: which statement they come from, what was left out, what is tainted.

It stands in `ctx`, so that it stays with the trace whatever becomes of its files (docs/trace-format.md, "Notes of SQL
recorders"). A statement is a number within its session, and its text is told once: {"sql": 3, "text": "SELECT ..."}.
What has no operation gets one that failed: it observed nothing, and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boomslang.record.session import Session
from boomslang.record.sql.told import Told

LONGEST = 2000
"""Characters of a statement that are told."""
CELLS = 64
"""Of one column, after which the whole column is tainted."""


class Notes:
    """Of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._numbers: dict[str, int] = {}
        self._said: set[int] = set()
        self._tainted: set[str] = set()
        self._cells: dict[str, int] = {}

    def forget(self) -> None:
        """Some of what was noted may not be in the file."""
        self._said.clear()
        self._tainted.clear()

    def of(self, text: str, ctx: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The ctx of a statement's first operation."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers) + 1
        made = {**(ctx or {}), "sql": number}
        if number not in self._said:
            self._said.add(number)
            made["text"] = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        return made

    def tell(self, text: str, told: Told, writes: bool, invoked: int | None, returned: int | None) -> None:
        """Write down what a statement told."""
        session = self._session
        said = {"partly" if told.partly else "left": told.why} if told.why else {}
        taints = self._new(told.taints)
        count = len(told.records)
        for number, record in enumerate(told.records):
            ctx: Mapping[str, Any] | None = record.ctx
            if number == 0:
                ctx = {**self.of(text, record.ctx), **({"write": True} if writes else {}), **said}
            last = number == count - 1 and not taints
            session.log(
                record.op,
                record.args,
                record.result,
                ctx=ctx,
                invoke=invoked if number == 0 else None,
                returned=returned if last else None,
            )
        if taints or not told.records:
            ctx = {} if told.records else self.of(text)
            ctx = {**ctx, **({"write": True} if writes else {}), **said}
            if taints:
                ctx["taints"] = taints
            why = told.why or ("nothing to record" if not taints else "others change with it")
            session.note("put" if writes else "get", f"not recorded: {why}", ctx)

    def failed(self, text: str, writes: bool, error: str) -> None:
        ctx = {**self.of(text), **({"write": True} if writes else {}), "failed": True}
        self._session.note("put" if writes else "get", error, ctx)

    def taint(self, text: str, taints: tuple[str, ...], why: str) -> None:
        self._session.note("put", why, {**self.of(text), "write": True, "taints": list(taints), "left": why})

    def _new(self, taints: list[str]) -> list[str]:
        """Those that this session has not told yet. Very many cells of a column are the column."""
        told: list[str] = []
        for taint in dict.fromkeys(taints):
            column = column_of(taint)
            if column is not None and taint != column:
                self._cells[column] = self._cells.get(column, 0) + 1
                if self._cells[column] > CELLS:
                    taint = column
            if taint not in self._tainted and not (column is not None and column in self._tainted):
                self._tainted.add(taint)
                told.append(taint)
        return told


def column_of(taint: str) -> str | None:
    """`orders[].total` of `orders[5].total`."""
    table, bracket, rest = taint.partition("[")
    column = rest.rpartition("].")[2] if "]." in rest else ""
    return f"{table}[].{column}" if bracket and column else None

"""The SQL statements that a trace's transactions executed, as its recorder noted them in `ctx`.

A statement is a number within its session; its text is told once, with the first operation that it became. The
operations after that one are its own too, up to the next statement's. What a statement can be sent again with stands
beside it: its parameters, and once each the database and its tables (docs/trace-format.md, "Notes of SQL recorders").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from boomslang.distinct import distinct
from boomslang.trace.model import Operation, Trace

MARKS = (b'"sql"', b'"taints"', b'"writes"')
"""Of which one is in every note."""


def sql_hints(trace: Trace) -> dict[int, dict[str, Any]]:
    """Of the numbers in `op_ctx`, the notes that speak of a statement or a taint."""
    hints: dict[int, dict[str, Any]] = {}
    for number in distinct(trace.op_ctx).tolist() if trace.op_ctx is not None else ():
        if number >= 0 and any(mark in trace.texts.content(number) for mark in MARKS):
            hint = json.loads(trace.texts.content(number))
            if isinstance(hint.get("sql"), int) or isinstance(hint.get("taints"), list):
                hints[number] = hint
    return hints


@dataclass
class Executed:
    """A statement, once."""

    text: str
    """As far as it is told: a very long one ends in "..."."""
    write: bool
    failed: bool
    given: Any
    """Its parameters as they are noted: None if it has none, False if they were left out."""
    operations: list[Operation] = field(default_factory=list)


class Statements:
    """Those of a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def _hints(self) -> dict[int, dict[str, Any]]:
        return sql_hints(self.trace)

    @cached_property
    def texts(self) -> dict[tuple[int, int], str]:
        """By session and number."""
        texts: dict[tuple[int, int], str] = {}
        for row, hint in self._noted():
            session = int(self.trace.txn_session[self.trace.owner(row)])
            if isinstance(hint.get("sql"), int) and isinstance(hint.get("text"), str):
                texts.setdefault((session, hint["sql"]), hint["text"])
        return texts

    def _noted(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Operations whose note tells more than a number."""
        if self.trace.op_ctx is None:
            return
        telling = [n for n, hint in self._hints.items() if "text" in hint or "tables" in hint]
        for row in np.flatnonzero(np.isin(self.trace.op_ctx, telling)).tolist():
            yield row, self._hints[int(self.trace.op_ctx[row])]

    @cached_property
    def database(self) -> dict[str, str]:
        """The dialect and the isolation level, as far as they are told; the first that is told counts."""
        told: dict[str, str] = {}
        for _, hint in self._noted():
            said = hint.get("database")
            for name in ("dialect", "isolation"):
                if isinstance(said, dict) and isinstance(said.get(name), str):
                    told.setdefault(name, said[name])
        return told

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """By their names; what was told last counts."""
        told: dict[str, dict[str, Any]] = {}
        for _, hint in self._noted():
            said = hint.get("tables")
            if isinstance(said, dict):
                told.update({name: table for name, table in said.items() if isinstance(table, dict)})
        return told

    def of(self, t: int) -> list[Executed]:
        """The statements of a transaction, in their order; none if it was not recorded from SQL."""
        session = int(self.trace.txn_session[t])
        made: list[Executed] = []
        for operation in self.trace.transaction(t).operations:
            hint = operation.ctx or {}
            number = hint.get("sql")
            if isinstance(number, int) and not isinstance(number, bool):
                text = self.texts.get((session, number), f"statement {number}")
                failed, given = hint.get("failed") is True, hint.get("given")
                made.append(Executed(text, hint.get("write") is True, failed, given))
            if made:
                made[-1].operations.append(operation)
        return made

"""What goes into the trace beside operations: which statement they come from, what was left out, what is tainted.

It stands in `ctx`, so that it stays with the trace whatever becomes of its files (docs/trace-format.md, "Notes of SQL
recorders"). A statement is a number within its session, and its text is told once: {"sql": 3, "text": "SELECT ..."}.
What has no operation gets one that failed: it observed nothing, and says why.

So that a violation can be replayed, the parameters stand beside the number, and once each what the database is and what
its tables look like (record/sql/given.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from boomslang.record.session import Session
from boomslang.record.sql.given import described, given_of, given_text
from boomslang.record.sql.plans import Line
from boomslang.record.sql.told import Told

if TYPE_CHECKING:
    from boomslang.record.sql.meaning import Meaning
    from boomslang.record.sql.understanding import Understanding

LONGEST = 2000
"""Characters of a statement that are told."""
CELLS = 64
"""Of one column, after which the whole column is tainted."""


class Sent(NamedTuple):
    """A statement as it was sent."""

    text: str
    meaning: Meaning
    parameters: Any = None
    """None: there are none."""


class Notes:
    """Of one session."""

    def __init__(self, session: Session, known: Understanding | None = None) -> None:
        self._session = session
        self._known = known
        self.isolation: str | None = None
        """The level at which the connection runs, in the database's own words."""
        self._database_told = False
        self._described: set[str] = set()
        """Tables that this session has described, or another one had."""
        self._numbers: dict[str, int] = {}
        self._said: set[int] = set()
        self._tainted: set[str] = set()
        self._cells: dict[str, int] = {}

    def forget(self) -> None:
        """Some of what was noted may not be in the file."""
        self._said.clear()
        self._tainted.clear()
        self._database_told = False
        if self._known is not None:
            self._known.described -= self._described
        self._described.clear()

    def of(self, statement: Sent, ctx: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The ctx of a statement's first operation."""
        text = statement.text
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers) + 1
        made = {**(ctx or {}), "sql": number}
        if number not in self._said:
            self._said.add(number)
            made["text"] = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
            made.update(self._surroundings(statement.meaning))
        if statement.parameters is not None:
            told = self._known is None or self._known.tells_parameters
            made["given"] = given_of(statement.parameters) if told else False
        return made

    def _surroundings(self, meaning: Meaning) -> dict[str, Any]:
        """What the database is, and the statement's tables, as far as nobody has told yet."""
        known = self._known
        made: dict[str, Any] = {}
        if known is None:
            return made
        if not self._database_told:
            self._database_told = True
            made["database"] = {"dialect": known.dialect}
            if self.isolation is not None:
                made["database"]["isolation"] = self.isolation
        new = [table for table in meaning.tables if table.name not in known.described]
        if new:
            known.described.update(table.name for table in new)
            self._described.update(table.name for table in new)
            made["tables"] = {table.name: described(table) for table in new}
        return made

    def tell(self, statement: Sent, told: Told, invoked: int | None, returned: int | None) -> None:
        """Write down what a statement told."""
        session, writes = self._session, statement.meaning.is_write
        said = {"partly" if told.partly else "left": told.why} if told.why else {}
        taints = self._new(told.taints)
        count = len(told.records)
        for number, record in enumerate(told.records):
            ctx: Mapping[str, Any] | None = record.ctx
            if number == 0:
                ctx = {**self.of(statement, record.ctx), **({"write": True} if writes else {}), **said}
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
            ctx = {} if told.records else self.of(statement)
            ctx = {**ctx, **({"write": True} if writes else {}), **said}
            if taints:
                ctx["taints"] = taints
            why = told.why or ("nothing to record" if not taints else "others change with it")
            session.note("put" if writes else "get", f"not recorded: {why}", ctx)

    def tell_lines(
        self, statement: Sent, lines: list[Line], invoked: int | None, returned: int | None
    ) -> bool:
        """The same of what a plan has put into words. False, and nothing is written, if there is more to be said."""
        number = self._numbers.get(statement.text)
        if number is None or number not in self._said:
            return False
        ctx = f'"sql": {number}'
        given = statement.parameters
        if given is not None:
            if self._known is None or self._known.tells_parameters:
                ctx = f'{ctx}, "given": {given_text(given)}'
            else:
                ctx = f'{ctx}, "given": false'
        if statement.meaning.is_write:
            ctx = f'{ctx}, "write": true'
        head, own, tail = lines[0]
        said = [f'{head},"ctx":{{{own}, {ctx}}}{tail}' if own else f'{head},"ctx":{{{ctx}}}{tail}']
        for head, own, tail in lines[1:]:
            said.append(f'{head},"ctx":{{{own}}}{tail}' if own else f"{head}{tail}")
        return self._session.log_lines(said, invoked, returned)

    def failed(self, statement: Sent, error: str) -> None:
        writes = statement.meaning.is_write
        ctx = {**self.of(statement), **({"write": True} if writes else {}), "failed": True}
        self._session.note("put" if writes else "get", error, ctx)

    def taint(self, statement: Sent, why: str) -> None:
        ctx = {**self.of(statement), "write": True, "taints": list(statement.meaning.writes), "left": why}
        self._session.note("put", why, ctx)

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

"""How much of an application its trace tells, and what is left out so that nobody is accused wrongly.

A recorder that understands SQL (boomslang.record.sql) notes in `ctx` which statement each operation comes from, what it
could not understand, and what was *tainted*: written without it being known what. Whoever then reads a tainted cell may
see a value that, by the trace, nobody wrote. So all reads of what is tainted anywhere in the trace, by any session at
any time, are left out when it is read: they become operations that failed. A trace that tells less accuses nobody.

A taint is `*` (everything), `orders[]` (a table), `orders[].total` (a column), `orders[5].total` (a cell) or
`orders[5]` (whether the row is there: any condition on the table asks that).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import Flag, Kind, Outcome, Trace
from boomslang.trace.rows import parse_row_key
from boomslang.trace.scalars import STR, Scalars
from boomslang.trace.statements import MARKS, sql_hints

LEFT_OUT = "left out: what it read was written by a statement that is not understood"
FROM = re.compile(r"\b(?:from|into|update)\s+[`\"]?([\w.]+)", re.IGNORECASE)
NAMED = 5
"""Tables that a sentence names."""
EVERYTHING = "*"
"""In place of a table's name."""


@dataclass
class StatementCount:
    """One SQL text: how often it was executed, and what became of it."""

    text: str
    write: bool
    executed: int = 0
    failed: int = 0
    partly: int = 0
    left_out: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass
class Coverage:
    """What is told of all that was executed."""

    statements: list[StatementCount]
    """Those that were executed most come first."""
    tainted: dict[str, str]
    """Tables, and the reason: written by a statement that is not understood."""
    untold: int
    """Reads of what is tainted, which are left out."""
    reads_told: int
    """Reads that are not."""

    def _count(self, write: bool) -> tuple[int, int, int]:
        chosen = [s for s in self.statements if s.write == write]
        executed = sum(s.executed - s.failed for s in chosen)
        return executed, sum(s.left_out for s in chosen), sum(s.partly for s in chosen)

    @property
    def reads(self) -> tuple[int, int, int]:
        """SELECTs that were executed, of these left out, and understood in part."""
        return self._count(False)

    @property
    def writes(self) -> tuple[int, int, int]:
        return self._count(True)

    def sentence(self) -> str:
        """For a verdict: what it rests on."""
        parts = [
            _share(*self.reads, "read statement", "reads"),
            _share(*self.writes, "write statement", "writes"),
        ]
        said = (
            f"understood: {' and '.join(part for part in parts if part)}"
            if any(parts)
            else "understood: nothing"
        )
        if EVERYTHING in self.tainted:
            said = f"no read was checked: {self.tainted[EVERYTHING]}; {said}"
        out = [f"{table} ({why})" for table, why in self.tainted.items() if table != EVERYTHING]
        out += [
            f"{_about(statement.text)} ({why})"
            for statement in self.statements
            if statement.left_out and not (statement.write and self._tainting(statement))
            for why, _ in statement.reasons.most_common(1)
        ]
        out = list(dict.fromkeys(out))
        if out:
            more = f", and {len(out) - NAMED} more (boomslang stats)" if len(out) > NAMED else ""
            said += f"; left out: {', '.join(out[:NAMED])}{more}"
        if self.untold:
            share = self.untold / max(1, self.untold + self.reads_told)
            these = "others" if EVERYTHING in self.tainted else "these"
            said += f"; {self.untold:,} values read ({_percent(share)}) are left out, as they may be what {these} wrote"
        return said

    def _tainting(self, statement: StatementCount) -> bool:
        """Is it among the reasons of what is tainted? (If not, nobody reads what it wrote.)"""
        return any(why in self.tainted.values() for why in statement.reasons)

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            **{
                name: {"executed": executed, "left_out": out, "partly": partly}
                for name, (executed, out, partly) in (("reads", self.reads), ("writes", self.writes))
            },
            "tainted": self.tainted,
            "values_left_out": self.untold,
            "statements": [{**vars(s), "reasons": dict(s.reasons)} for s in self.statements],
        }


def _about(text: str) -> str:
    """What a statement reads, in a word or some."""
    found = FROM.search(text)
    return found[1] if found else " ".join(text.split())[:40]


def _share(executed: int, out: int, partly: int, one: str, many: str) -> str:
    if not executed:
        return ""
    of = f"{executed:,} {many}" if executed != 1 else f"one {one}"
    said = (
        (f"all of {of}" if executed != 1 else of)
        if not out
        else f"{_percent((executed - out) / executed)} of {of}"
    )
    return f"{said} ({_percent(partly / executed)} in part)" if partly else said


def _percent(share: float) -> str:
    """Never rounded to all or nothing."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return (
        f"{min(max(share * 100, 0.1), 99.9):.0f} %"
        if 0.01 <= share <= 0.99
        else f"{min(max(share * 100, 0.1), 99.9):.1f} %"
    )


def has_notes(trace: Trace) -> bool:
    """May a recorder of SQL have made this, or this part of a trace?"""
    if trace.op_ctx is None and trace.txn_ctx is None:
        return False
    data = trace.texts.data.tobytes()
    return any(mark in data for mark in MARKS)


def covered(trace: Trace) -> Trace:
    """The trace without the reads that cannot be trusted, and with its coverage; as it is, if it has no such notes."""
    if not has_notes(trace):
        return trace
    notes = _Notes(trace)
    if not notes.found:
        return trace
    made, untold, told = _without(trace, notes.taints)
    coverage = Coverage(notes.statements(), notes.tainted_tables(), untold, told)
    return replace(made, coverage=coverage)


class _Notes:
    """What the hints of a trace say about its statements."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.taints: dict[str, str] = {}
        """And why."""
        self.found = False
        self._counts: dict[tuple[str, bool], StatementCount] = {}
        if trace.op_ctx is not None:
            self._operations(trace.op_ctx)
        if trace.txn_ctx is not None:
            self._unknown(trace.txn_ctx)

    def statements(self) -> list[StatementCount]:
        return sorted(self._counts.values(), key=lambda s: (-s.executed, s.text))

    def tainted_tables(self) -> dict[str, str]:
        tables: dict[str, str] = {}
        for taint, why in self.taints.items():
            tables.setdefault(taint.partition("[")[0], why)
        return tables

    def _operations(self, column: NDArray[np.int32]) -> None:
        trace = self.trace
        hints = sql_hints(trace)
        rows = np.flatnonzero(np.isin(column, list(hints)))
        owners = np.searchsorted(trace.txn_ops, rows, side="right") - 1
        sessions = trace.txn_session[owners].tolist()
        texts: dict[tuple[int, int], str] = {}
        executions: list[tuple[tuple[int, int], dict[str, Any]]] = []
        for row, session in zip(rows.tolist(), sessions, strict=True):
            self.found = True
            hint = hints[int(column[row])]
            if isinstance(hint.get("taints"), list):
                why = str(hint.get("left") or hint.get("partly") or "changed by another statement")
                for taint in hint["taints"]:
                    if isinstance(taint, str):
                        self.taints.setdefault(taint, why)
            if isinstance(hint.get("sql"), int):
                place = (session, hint["sql"])
                if isinstance(hint.get("text"), str):
                    texts.setdefault(place, hint["text"])
                executions.append((place, hint))
        for place, hint in executions:
            self._count(texts.get(place, f"statement {place[1]}"), hint)

    def _count(self, text: str, hint: dict[str, Any]) -> None:
        write = hint.get("write") is True
        one = self._counts.setdefault((text, write), StatementCount(text, write))
        one.executed += 1
        one.failed += hint.get("failed") is True
        for kind in ("left", "partly"):
            why = hint.get(kind)
            if isinstance(why, str):
                one.reasons[why] += 1
                one.left_out += kind == "left"
                one.partly += kind == "partly"

    def _unknown(self, column: NDArray[np.int32]) -> None:
        """Statements that are transactions of their own, and of which nobody heard again."""
        trace = self.trace
        for t in np.flatnonzero((column >= 0) & (trace.txn_outcome == Outcome.UNKNOWN)).tolist():
            text = trace.texts.content(int(column[t]))
            if MARKS[2] in text:
                hint = json.loads(text)
                writes, why = hint.get("writes"), hint.get("why")
                why = why if isinstance(why, str) else "a statement of which nobody knows whether it happened"
                for taint in writes if isinstance(writes, list) else ():
                    if isinstance(taint, str):
                        self.found = True
                        self.taints.setdefault(taint, why)


class _Tainted:
    """Is this key tainted, or this table's condition?"""

    def __init__(self, taints: dict[str, str]) -> None:
        self.all = EVERYTHING in taints
        self.tables: set[str] = set()
        self.columns: dict[str, set[str]] = defaultdict(set)
        self.cells: set[str] = set()
        self.some: dict[str, set[str]] = defaultdict(set)
        """Columns of which a cell is."""
        for taint in taints:
            table, _, rest = taint.partition("[")
            if rest == "]":
                self.tables.add(table)
            elif rest.startswith("]."):
                self.columns[table].add(rest[2:])
            elif taint != EVERYTHING:
                self.cells.add(taint)
                parts = parse_row_key(taint)
                if parts is not None:
                    self.some[parts[0]].add(parts[2] or "")

    def key(self, key: object) -> bool:
        if self.all:
            return True
        if not isinstance(key, str) or "[" not in key:
            return False
        if key in self.cells:
            return True
        table = key.partition("[")[0]
        if table in self.tables:
            return True
        if table not in self.columns:
            return False
        parts = parse_row_key(key)
        return parts is None or parts[2] in self.columns[table]

    def condition(self, table: object, columns: set[str]) -> bool:
        if self.all or table in self.tables or not isinstance(table, str):
            return True
        some = self.some[table]
        return "" in some or bool(columns & (self.columns[table] | some))


READS = tuple(int(kind) for kind in (Kind.GET, Kind.SCAN, Kind.ITERATOR, Kind.NEXT, Kind.LIST, Kind.SELECT))
RANGES = tuple(int(kind) for kind in (Kind.SCAN, Kind.ITERATOR, Kind.NEXT))


def _without(trace: Trace, taints: dict[str, str]) -> tuple[Trace, int, int]:
    """The trace without reads of what is tainted; how many these are, and how many others."""
    kinds = trace.op_kind
    worked = (trace.op_flags & Flag.ERROR) == 0
    reads = np.isin(kinds, READS) & worked
    if not taints:
        return trace, 0, int(reads.sum())
    tainted = _Tainted(taints)
    keys = np.array([tainted.key(key) for key in trace.keys] or [False], bool)
    of_tainted = np.where(trace.op_key >= 0, keys[np.maximum(trace.op_key, 0)], False)
    out = reads & of_tainted
    out |= np.isin(kinds, RANGES) & worked  # what they did not return, they read too
    for row in np.flatnonzero((kinds == Kind.SELECT) & worked).tolist():
        table, columns = _asked(trace, row)
        out[row] = tainted.condition(table, columns) or any(keys[k] for k in _items(trace, row))
    flags = trace.op_flags.copy()
    deletes = (kinds == Kind.DELETE) & of_tainted & worked
    out |= deletes & ((flags & Flag.NOTHING) != 0)
    flags[deletes] &= ~np.uint8(Flag.FOUND)
    if not out.any():
        return replace(trace, op_flags=flags), 0, int(reads.sum())
    flags[out] |= np.uint8(Flag.ERROR)
    errors = np.full(len(kinds), -1, np.int32) if trace.op_error is None else trace.op_error.copy()
    texts, number = _with(trace.texts, LEFT_OUT)
    errors[out] = number
    made = replace(trace, op_flags=flags, op_error=errors, texts=texts)
    return made, int((out & reads).sum()), int((reads & ~out).sum())


def _asked(trace: Trace, row: int) -> tuple[object, set[str]]:
    """A select's table, and the columns that its condition names."""
    where = trace.op_where
    if where is None or where[row] < 0:
        return None, set()
    table, condition = json.loads(trace.texts.text(int(where[row])))
    return table, set(_columns(condition))


def _columns(condition: Any) -> Iterator[str]:
    if isinstance(condition, dict) and isinstance(condition.get("column"), str):
        yield condition["column"]
    elif isinstance(condition, list):
        for part in condition:
            yield from _columns(part)


def _items(trace: Trace, row: int) -> list[int]:
    place = int(trace.op_range[row])
    found: list[int] = trace.item_key[trace.range_items[place] : trace.range_items[place + 1]].tolist()
    return found


def _with(texts: Scalars, text: str) -> tuple[Scalars, int]:
    """The table with one more text in it; and its number. (It may be there already.)"""
    content = text.encode()
    at = texts.data.tobytes().find(content)
    if at >= 0:
        number = int(np.searchsorted(texts.offset, at, side="right")) - 1
        if texts.content(number) == content:
            return texts, number
    made = Scalars(
        np.append(texts.type, np.uint8(STR)),
        np.append(texts.offset, texts.offset[-1] + len(content)),
        np.append(texts.data, np.frombuffer(content, np.uint8)),
    )
    return made, len(made) - 1

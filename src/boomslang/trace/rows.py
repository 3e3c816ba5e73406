"""Rows of tables, as keys of a trace: `doctors[1].on_call` is a column of a row, `doctors[1]` that the row
exists.

The convention is docs/trace-format.md's: the table's name, the primary key as a JSON list in its one
spelling, and for a column a dot and its name. It matters only to a `select`, which speaks of all rows of a
table: `tables` finds those that a trace names, and `checked_selects` looks at what the trace's selects say
about them.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from boomslang.trace.conditions import Condition, ConditionError, PrimaryKey, parse
from boomslang.trace.errors import TraceError
from boomslang.trace.scalars import FAMILY, STR, Scalar, Scalars

if TYPE_CHECKING:
    from boomslang.trace.model import Trace

SELECT = 11
"""Kind.SELECT, of a module that is loaded before this one."""
ERROR = 4
"""Flag.ERROR."""
UNKNOWN = 2
"""Initial.UNKNOWN."""


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def row_key(table: str, key: Iterable[Scalar], column: str | None = None) -> str:
    """The key of a row of a table, or of one of its columns."""
    if column is None or type(column) is str:
        key = tuple(key)
        if len(key) == 1 and type(key[0]) is int:  # by far the most
            return f"{table}[{key[0]}]" if column is None else f"{table}[{key[0]}].{column}"
    parts = [{"bytes": k.hex()} if isinstance(k, bytes) else k for k in key]
    for part in parts:
        if part is None or isinstance(part, float):
            raise TypeError(
                f"found {part!r} in a primary key; expected integers, strings, booleans and bytes"
            )
    text = f"{table}{_ENCODER(parts)}"
    return text if column is None else f"{text}.{column}"


def parse_row_key(text: str) -> tuple[str, PrimaryKey, str | None] | None:
    """Table, primary key and column (None: the row itself); None if it is not spelled like one."""
    at = text.find("[")
    if at <= 0:
        return None
    try:
        parts, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    column = text[end:]
    if not isinstance(parts, list) or not parts or (column and (column[0] != "." or len(column) < 2)):
        return None
    key: list[Scalar] = []
    for part in parts:
        if isinstance(part, dict) and list(part) == ["bytes"] and isinstance(part["bytes"], str):
            try:
                key.append(bytes.fromhex(part["bytes"]))
            except ValueError:
                return None
        elif isinstance(part, bool | int | str):
            key.append(part)
        else:
            return None
    table, name = text[:at], column[1:] or None
    try:
        one = row_key(table, key, name) == text
    except ValueError:  # an integer of more digits than Python writes
        return None
    return (table, tuple(key), name) if one else None


@dataclass
class Row:
    """A row that the trace names, and its keys there."""

    table: str
    key: PrimaryKey
    number: int
    """Rows of all tables that selects ask, numbered as the trace's keys first name them."""
    exists: int = -1
    """The key of its existence; -1: the trace does not speak of it."""
    columns: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return row_key(self.table, self.key)


@dataclass(frozen=True)
class Tables:
    """What the selects of a trace are about."""

    conditions: dict[int, Condition]
    """Of each text in `op_where`, what it says."""
    rows: list[Row]
    of_table: dict[str, list[Row]]
    of_key: dict[int, tuple[Row, str | None]]
    """Of a key: its row, and its column (None: the row's existence)."""


def tables(trace: Trace) -> Tables | None:
    """The conditions, and the rows of the tables that they ask; None if there are none. Raises
    `TraceError`."""
    if trace.op_where is None:
        return None
    conditions: dict[int, Condition] = {}
    for row in np.flatnonzero((trace.op_kind == SELECT) & (trace.op_where >= 0)).tolist():
        text = int(trace.op_where[row])
        if text not in conditions:
            try:
                conditions[text] = parse(trace.texts.text(text))
            except ConditionError as error:
                raise refusal(trace, row, str(error)) from None
    of_table: dict[str, list[Row]] = {c.table: [] for c in conditions.values()}
    rows: list[Row] = []
    of_key: dict[int, tuple[Row, str | None]] = {}
    known: dict[tuple[str, str], Row] = {}
    data, offset = trace.keys.data.tobytes(), trace.keys.offset.tolist()
    for key in np.flatnonzero(trace.keys.type == STR).tolist():
        text_of_key = data[offset[key] : offset[key + 1]].decode()
        table = text_of_key.partition("[")[0]
        if len(table) == len(text_of_key) or table not in of_table:
            continue
        found = parse_row_key(text_of_key)
        if found is None:
            raise TraceError(
                f"found the key {text_of_key!r:.80}, which begins like a row of the table {table!r}, "
                f"which a select asks; expected {table}[primary key] or {table}[primary key].column, "
                "spelled as docs/trace-format.md says; fix: spell the key so, or give it another name"
            )
        spelled = text_of_key if found[2] is None else text_of_key[: -len(found[2]) - 1]
        place = known.get((table, spelled))
        if place is None:
            place = known[table, spelled] = Row(table, found[1], len(rows))
            rows.append(place)
            of_table[table].append(place)
        if found[2] is None:
            place.exists = key
        else:
            place.columns[found[2]] = key
        of_key[key] = (place, found[2])
    return Tables(conditions, rows, of_table, of_key)


_known: WeakKeyDictionary[Trace, Tables | None] = WeakKeyDictionary()


def tables_of(trace: Trace) -> Tables | None:
    """The same, found once."""
    if trace not in _known:
        _known[trace] = tables(trace)
    return _known[trace]


def what_was_read(trace: Trace, number: int) -> Scalar:
    """What a core calls a key: a key of the trace, what a select asked of one, or of a row."""
    keys = len(trace.keys)
    if number < 2 * keys:
        return trace.keys[number % keys]
    found = tables_of(trace)
    return found.rows[number - 2 * keys].name if found is not None else None


def row_of(trace: Trace, number: int) -> str:
    """The row that it is about."""
    keys, found = len(trace.keys), tables_of(trace)
    if found is None:
        return ""
    return (found.of_key[number - keys][0] if number < 2 * keys else found.rows[number - 2 * keys]).name


def keys_of(trace: Trace, number: int) -> set[int]:
    """The trace's keys that it is about."""
    keys = len(trace.keys)
    if number < 2 * keys:
        return {number % keys}
    found = tables_of(trace)
    if found is None:
        return set()
    row = found.rows[number - 2 * keys]
    return {key for key in (row.exists, *row.columns.values()) if key >= 0}


def refusal(trace: Trace, row: int, message: str) -> TraceError:
    """An error about an operation."""
    t = trace.owner(row)
    return TraceError(message, trace.files[trace.txn_file[t]], int(trace.op_line[row]))


def checked_selects(trace: Trace) -> Trace:
    """The trace, with all keys that its selects look at. Raises a `TraceError` if a select is none: a
    condition that cannot
    be read, items that are not of its rows."""
    selects = np.flatnonzero((trace.op_kind == SELECT) & (trace.op_flags & ERROR == 0))
    if trace.op_where is None:
        if len(selects):
            raise refusal(
                trace, int(selects[0]), "found a select without a table; expected one; fix: record it"
            )
        return trace
    found = tables(trace)
    assert found is not None
    shortest = {table: min(rows, key=lambda r: len(r.key)) for table, rows in found.of_table.items() if rows}
    for row in selects.tolist():
        if trace.op_where[row] < 0:
            raise refusal(trace, row, "found a select without a table; expected one; fix: record it")
        condition = found.conditions[int(trace.op_where[row])]
        table = condition.table
        span = int(trace.op_range[row])
        keys = trace.item_key[trace.range_items[span] : trace.range_items[span + 1]].tolist()
        places = [found.of_key.get(key) for key in keys]
        returned = {place[0].number for place in places if place is not None and place[1] is None}
        for key, place in zip(keys, places, strict=True):
            if place is None or place[0].table != table:
                raise refusal(
                    trace,
                    row,
                    f"found the item {trace.keys[key]!r:.80} of a select from {table!r}; "
                    f"expected rows of that table, such as {table}[1], and columns of these, such as "
                    f"{table}[1].name; fix: record other keys as gets",
                )
            if place[0].number not in returned:
                raise refusal(
                    trace,
                    row,
                    f"found a column of {place[0].name} among the items and not the row itself; expected both; "
                    f"fix: add [{json.dumps(place[0].name)}, true] to the items",
                )
        short = shortest.get(table)
        if short is not None and len(short.key) < condition.key_parts:
            raise refusal(
                trace,
                row,
                f"found a condition on part {condition.key_parts - 1} of the primary key; expected parts from 0 to "
                f"{len(short.key) - 1}, as in {short.name}; fix: correct the part",
            )
    return with_unnamed_keys(trace, found) if trace.initial_mode == UNKNOWN else trace


def with_unnamed_keys(trace: Trace, found: Tables) -> Trace:
    """If the initial state is unknown, a column that the trace does not name may have held anything, but
    one thing: so that
    there is something to speak of, it becomes a key. (Else it is absent, and nothing need be said.)"""
    missing: dict[str, None] = {}
    for condition in found.conditions.values():
        for row in found.of_table[condition.table]:
            if row.exists < 0:
                missing[row.name] = None
            for name in condition.columns:
                if name not in row.columns:
                    missing[row_key(row.table, row.key, name)] = None
    if not missing:
        return trace
    names = sorted(missing, key=str.encode)
    order = np.argsort(trace.key_rank)
    strings = order[trace.keys.type[order] == STR]
    first = int(np.count_nonzero(FAMILY[trace.keys.type] < STR))
    known = [trace.keys.content(i) for i in strings.tolist()]
    before = np.array([bisect_left(known, name.encode()) for name in names], np.int64)
    rank = trace.key_rank + np.where(
        trace.key_rank >= first, np.searchsorted(before, trace.key_rank - first, side="right"), 0
    )
    more = Scalars.of(names)
    keys = Scalars(
        np.concatenate([trace.keys.type, more.type]),
        np.concatenate([trace.keys.offset, more.offset[1:] + trace.keys.offset[-1]]),
        np.concatenate([trace.keys.data, more.data]),
    )
    return replace(trace, keys=keys, key_rank=np.concatenate([rank, first + before + np.arange(len(names))]))

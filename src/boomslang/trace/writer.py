"""Write a trace down as JSON Lines: the reader's inverse.

Reading what was written gives the same transactions, operations, results, times, hints and initial state.
What a file cannot say is refused: a file has one clock, so a trace with several is written as a folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from boomslang.trace.conditions import split_asked
from boomslang.trace.files import create
from boomslang.trace.model import NO_TIME, Flag, Initial, Int32, Int64, Kind, Outcome, Trace
from boomslang.trace.packed import SUFFIXES
from boomslang.trace.scalars import INT, Scalars

OPS = {kind: kind.name.lower() for kind in Kind}


def write_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write to a file if `path` ends in .jsonl, packed if in .gz, .xz or .bz2; else to a folder: one file for each
    that was read."""
    target = Path(path)
    writer = _Writer(trace)
    if target.name.endswith((".jsonl", *SUFFIXES)) and not target.is_dir():
        clocks = sorted(set(trace.txn_clock.tolist()))
        if len(clocks) > 1:
            names = ", ".join(trace.clocks[c] for c in clocks)
            raise ValueError(
                f"found {len(clocks)} clocks ({names}); a file has one: write the trace to a folder"
            )
        _write(target, writer.lines(range(len(trace)), clocks[0] if clocks else -1))
        return
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise ValueError(
            f"found files in the folder {target}; expected an empty one, or a path that ends in .jsonl"
        )
    chunks = _chunks(trace)
    width = len(str(len(chunks)))
    for number, chunk in enumerate(chunks):
        clock = int(trace.txn_clock[chunk[0]]) if len(chunk) else -1
        _write(target / f"{number:0{width}}.jsonl", writer.lines(chunk, clock))


def lines_of(trace: Trace, transactions: Iterable[int]) -> Iterator[str]:
    """Some transactions, of one clock, as the lines of a file."""
    chosen = list(transactions)
    return _Writer(trace).lines(chosen, int(trace.txn_clock[chosen[0]]) if chosen else -1)


def _chunks(trace: Trace) -> list[range]:
    """Runs of transactions of one file and clock."""
    cuts = [0]
    for t in range(1, len(trace)):
        if trace.txn_file[t] != trace.txn_file[t - 1] or trace.txn_clock[t] != trace.txn_clock[t - 1]:
            cuts.append(t)
    cuts.append(len(trace))
    return [range(a, b) for a, b in pairwise(cuts)]


def _write(path: Path, lines: Iterator[str]) -> None:
    with create(path) as file:
        file.writelines(line.encode() for line in lines)


class JsonTexts:
    """The JSON text of each scalar of a table, made once."""

    def __init__(self, table: Scalars) -> None:
        self._table = table
        self._texts: dict[int, str] = {}

    def __getitem__(self, i: int) -> str:
        text = self._texts.get(i)
        if text is None:
            text = self._texts[i] = self._make(i)
        return text

    def _make(self, i: int) -> str:
        if self._table.type[i] == INT:
            return self._table.text(i)
        value = self._table[i]
        if isinstance(value, bytes):
            return f'{{"bytes": "{value.hex()}"}}'
        return json.dumps(value, ensure_ascii=False)


class _Writer:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.keys = JsonTexts(trace.keys)
        self.values = JsonTexts(trace.values)
        self.names = JsonTexts(trace.names)
        self.sessions = [json.dumps(name, ensure_ascii=False) for name in trace.sessions]

    def lines(self, transactions: Iterable[int], clock: int) -> Iterator[str]:
        yield self.header(clock)
        for t in transactions:
            yield from self.transaction(t)

    def header(self, clock: int) -> str:
        trace = self.trace
        if trace.initial_mode == Initial.GIVEN:
            pairs = zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)
            items = ", ".join(f"[{self.keys[k]}, {self.values[v]}]" for k, v in pairs)
            initial = f'{{"items": [{items}]}}'
        else:
            initial = '"empty"' if trace.initial_mode == Initial.EMPTY else '"unknown"'
        named = trace.clocks[clock] if clock >= 0 else ""
        shown = f'"clock": {json.dumps(named, ensure_ascii=False)}, ' if named else ""
        unit = f'"unit": "{trace.unit}", ' if trace.unit else ""
        notes = f', "ctx": {trace.notes}' if trace.notes else ""
        return f'{{"boomslang": 1, {shown}{unit}"initial": {initial}{notes}}}\n'

    def transaction(self, t: int) -> Iterator[str]:
        trace = self.trace
        session, name = int(trace.txn_session[t]), self.names[int(trace.txn_name[t])]
        head = f'{{"session": {self.sessions[session] if session >= 0 else "null"}'
        if name != "null":
            head += f', "txn": {name}'
        rows = range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1]))
        ctx = _ctx(trace, trace.txn_ctx, t)
        # A failed begin that was not tried again is the transaction's only begin, and already a row.
        failed = [r for r in rows if trace.op_kind[r] == Kind.BEGIN]
        begun = not failed or trace.op_line[failed[-1]] != trace.txn_begin_line[t]
        for row in failed:
            yield head + self.operation(row)
        if begun:
            yield f'{head}, "op": "begin"{_time("invoke", trace.txn_begin, t)}{ctx}}}\n'
            ctx = ""
        for row in rows[len(failed) :]:
            yield head + self.operation(row)
        if trace.txn_outcome[t] != Outcome.UNKNOWN:
            op = "commit" if trace.txn_outcome[t] == Outcome.COMMITTED else "abort"
            yield f'{head}, "op": "{op}"{_time("return", trace.txn_end, t)}{ctx}}}\n'

    def operation(self, row: int) -> str:
        trace = self.trace
        kind, flags = Kind(int(trace.op_kind[row])), int(trace.op_flags[row])
        key, value, r = int(trace.op_key[row]), int(trace.op_value[row]), int(trace.op_range[row])
        text = f', "op": "{OPS[kind]}"'
        if r >= 0 and kind in (Kind.ITERATOR, Kind.NEXT):
            text += f', "id": {r}'
        if r >= 0 and kind in (Kind.SCAN, Kind.ITERATOR):
            if trace.range_lo[r] >= 0:
                text += f', "from": {self.keys[int(trace.range_lo[r])]}'
            if trace.range_hi[r] >= 0:
                text += f', "to": {self.keys[int(trace.range_hi[r])]}'
        if key >= 0:
            text += f', "key": {self.keys[key]}'
        if value >= 0:
            text += f', "value": {self.values[value]}'
        elif kind == Kind.GET and not flags & Flag.ERROR:
            text += ', "absent": true'
        if flags & (Flag.FOUND | Flag.NOTHING):
            text += f', "found": {"true" if flags & Flag.FOUND else "false"}'
        if flags & Flag.END:
            text += ', "end": true'
        if kind == Kind.SELECT:
            text += _asked(trace, row)
        if kind in (Kind.SCAN, Kind.SELECT) and r >= 0:
            items = range(int(trace.range_items[r]), int(trace.range_items[r + 1]))
            if items or not flags & Flag.ERROR:
                pairs = (
                    f"[{self.keys[int(trace.item_key[i])]}, {self.values[int(trace.item_value[i])]}]"
                    for i in items
                )
                text += f', "items": [{", ".join(pairs)}]'
        if kind == Kind.LIST and r >= 0:
            held = trace.item_value[trace.range_items[r] : trace.range_items[r + 1]].tolist()
            text += f', "elements": [{", ".join(map(self.values.__getitem__, held))}]'
        if flags & Flag.ERROR and trace.op_error is not None:
            text += f', "error": {json.dumps(trace.texts.text(int(trace.op_error[row])), ensure_ascii=False)}'
        text += _time("invoke", trace.op_invoke, row) + _time("return", trace.op_return, row)
        return text + _ctx(trace, trace.op_ctx, row) + "}\n"


def _time(name: str, column: Int64 | None, row: int) -> str:
    return "" if column is None or column[row] == NO_TIME else f', "{name}": {int(column[row])}'


def _asked(trace: Trace, row: int) -> str:
    """The table and the condition of a select, as they are in its line."""
    if trace.op_where is None or trace.op_where[row] < 0:
        return ""
    table, where = split_asked(trace.texts.text(int(trace.op_where[row])))
    return f', "table": {table}' + (f', "where": {where}' if where != "true" else "")


def _ctx(trace: Trace, column: Int32 | None, row: int) -> str:
    return "" if column is None or column[row] < 0 else f', "ctx": {trace.texts.text(int(column[row]))}'

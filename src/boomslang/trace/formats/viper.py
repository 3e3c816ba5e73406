"""Viper's JSON logs (Zhang et al., EuroSys 2023): a folder, one `*.log` a session, one transaction a line.

    {"value": [["r", key, value, isDead], ["w", key, value, succ], ...]}

Keys may be inserted, deleted and read in ranges; native/trace/formats/viper.cpp says what each operation becomes.
The initial state is a transaction with `isInitial`. Where there is none, a value that nobody wrote is the initial
one, at most one a key; two of them are values out of thin air. In a history of plain reads and writes such reads
become absent: no level can tell a row that was always there from one that was not. With deletes and ranges one
can, so then the values become the initial state. A value 0 is absent, unless somebody writes 0 to the key.

Viper opens only logs whose names begin with J, so they are written with one in front where there is none.

IsoVista writes logs that look the same, but whose fourth field says whether the transaction committed. They are
told apart by that field: a dead row cannot be in a history without deletes, in which all is dead or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from boomslang.distinct import distinct
from boomslang.trace.files import create_folder, read_bytes, shown
from boomslang.trace.formats.format import Format, Loss, Sample, logs_in, read_native
from boomslang.trace.formats.registers import Registers, are_integers
from boomslang.trace.formats.spelling import counted, texts
from boomslang.trace.formats.zeros import Mask, made_absent, zero, zero_is_initial
from boomslang.trace.model import ABSENT, NO_TIME, Flag, Initial, Int32, Int64, Kind, Trace
from boomslang.trace.scalars import INT, STR

LOW, HIGH = -(2**63), 2**63 - 1
START = re.compile(rb"\s*\{")
DEAD_READ = re.compile(rb'\[\s*"r"\s*,[^\[\]]*,\s*true\s*\]')
PRESENCE = re.compile(rb'\[\s*"(?:d|i|range)"\s*,')
FINAL = '{"isFinal": true}'


def recognise(sample: Sample) -> bool:
    heads = sample.heads(".log")
    return bool(heads) and all(START.match(head) and b'"value"' in head for head in heads)


# --- reading ---


def read(folder: Path, check: Callable[[], None]) -> Trace:
    logs = [(path, path.stem, read_bytes(path, check)) for path in logs_in(folder)]
    flags_are_success = _flags_are_success([data for _, _, data in logs])
    named = [(path, shown(Path(stem)), data) for path, stem, data in logs]
    trace = read_native("viper", named, check, option="success" if flags_are_success else "")
    if flags_are_success:
        trace.warnings.append(
            f"{shown(folder)}: the fourth field of each operation is read as IsoVista writes it: "
            "did the transaction commit?"
        )
    trace = _without_idle_sessions(trace)
    if trace.initial_mode == Initial.EMPTY:
        return _unwritten_is_initial(trace)
    if not len(trace.initial_key):
        trace = replace(trace, initial_mode=Initial.EMPTY)
    return zero_is_initial(trace)


def _flags_are_success(logs: list[bytes]) -> bool:
    if not any(DEAD_READ.search(log) for log in logs) or any(PRESENCE.search(log) for log in logs):
        return False
    return not any(b"true" in line and b"false" in line for log in logs for line in log.splitlines())


def _without_idle_sessions(trace: Trace) -> Trace:
    """The file of the initial state is no session."""
    used, session = np.unique(trace.txn_session, return_inverse=True)
    sessions = [trace.sessions[s] for s in used.tolist()]
    return replace(trace, sessions=sessions, txn_session=session.astype(np.int32))


def _unwritten_is_initial(trace: Trace) -> Trace:
    width = np.int64(len(trace.values) + 1)
    done = (trace.op_flags & Flag.ERROR) == 0
    gets = (trace.op_kind == Kind.GET) & (trace.op_value != ABSENT) & done
    puts = (trace.op_kind == Kind.PUT) & done

    def pairs(key: Int32, value: Int32) -> Int64:
        joined: Int64 = key.astype(np.int64) * width + value
        return joined

    # Sorted, and merged by hand: NumPy's sets take many times as long on pairs.
    read = np.sort(
        np.concatenate(
            [pairs(trace.op_key[gets], trace.op_value[gets]), pairs(trace.item_key, trace.item_value)]
        )
    )
    written = np.append(np.sort(pairs(trace.op_key[puts], trace.op_value[puts])), np.int64(-1))
    unwritten = distinct(read[written[np.searchsorted(written[:-1], read)] != read])
    key, values = np.unique(unwritten // width, return_counts=True)
    initial = unwritten[np.isin(unwritten // width, key[values == 1])]
    initial = initial[initial % width != zero(trace.values)]
    if _presence_matters(trace):
        trace = replace(
            trace,
            initial_mode=Initial.GIVEN if len(initial) else Initial.EMPTY,
            initial_key=(initial // width).astype(np.int32),
            initial_value=(initial % width).astype(np.int32),
        )
    else:
        trace = made_absent(
            trace, np.flatnonzero(gets & np.isin(pairs(trace.op_key, trace.op_value), initial))
        )
    return zero_is_initial(trace)


def _presence_matters(trace: Trace) -> bool:
    absent = (trace.op_kind == Kind.GET) & (trace.op_value == ABSENT) & (trace.op_flags & Flag.ERROR == 0)
    return bool((absent | np.isin(trace.op_kind, [Kind.DELETE, Kind.SCAN])).any())


# --- writing ---


class _Viper(Registers):
    """What the logs say of a trace."""

    def __init__(self, trace: Trace) -> None:
        timed = (trace.txn_begin != NO_TIME) | (trace.txn_end != NO_TIME)
        clocks = set(trace.txn_clock[timed].tolist())
        super().__init__(trace, empty=True, deletes=True, scans=True, times=len(clocks) <= 1, given=True)

    @cached_property
    def folded(self) -> Mask:
        """The gets that the next operation, a delete that found something, tells along with it."""
        trace = self.trace
        get = (trace.op_kind == Kind.GET) & (trace.op_value != ABSENT) & self.rows
        found = (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.FOUND != 0) & self.rows
        folded: Mask = np.zeros(len(get), np.bool_)
        folded[:-1] = get[:-1] & found[1:] & (trace.op_key[:-1] == trace.op_key[1:])
        last = trace.txn_ops[1:] - 1
        folded[last[last >= 0]] = False
        return folded

    @cached_property
    def blind(self) -> Mask:
        """The deletes that do not tell which value they found."""
        trace = self.trace
        blind: Mask = (trace.op_kind == Kind.DELETE) & (trace.op_flags & Flag.NOTHING == 0) & self.rows
        blind[1:] &= ~self.folded[:-1]
        return blind

    def ranges(self) -> list[int]:
        scans = self.rows & (self.trace.op_kind == Kind.SCAN)
        return [int(r) for r in distinct(self.trace.op_range[scans])]

    @cached_property
    def reads_thin_air(self) -> bool:
        """Is something read that nobody wrote? Then an initial state, even an empty one, must be there."""
        trace = self.trace
        done = self.rows & ~self.errors & (trace.op_value != ABSENT)
        items = [
            i for r in self.ranges() for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1]))
        ]
        put, get = done & (trace.op_kind == Kind.PUT), done & (trace.op_kind == Kind.GET)
        written = set(zip(trace.op_key[put].tolist(), trace.op_value[put].tolist(), strict=True))
        read = set(zip(trace.op_key[get].tolist(), trace.op_value[get].tolist(), strict=True))
        read |= set(zip(trace.item_key[items].tolist(), trace.item_value[items].tolist(), strict=True))
        return bool(read - written)


def losses(trace: Trace) -> list[Loss]:
    said = _Viper(trace)
    lost = [loss for loss in said.losses() if loss.what != "hints (ctx)" or not _only_final(trace)]
    ranges = said.ranges()
    items = [i for r in ranges for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1]))]
    keys = distinct(np.concatenate([said.used_keys(), trace.item_key[items]]))
    keys = keys[keys >= 0]
    values = distinct(np.concatenate([said.used_values(), trace.item_value[items]]))
    text = trace.keys.type[keys] == STR
    if number := int((~(text | are_integers(trace.keys, keys, LOW, HIGH))).sum()):
        lost.append(Loss(f"{counted(number, 'key')} other than strings and 64-bit numbers", fatal=True))
    if number := int((~are_integers(trace.values, values, LOW, HIGH)).sum()):
        lost.append(Loss(f"{counted(number, 'value')} other than 64-bit numbers", fatal=True))
    if number := int(said.blind.sum()):
        lost.append(Loss(f"{counted(number, 'delete')} without the value that was deleted", fatal=True))
    if number := sum(_bounds(trace, r) is None for r in ranges):
        lost.append(Loss(f"{counted(number, 'scan')} with bounds that cannot be written", fatal=True))
    if said.times and any(trace.clocks):
        lost.append(Loss("the name of the clock", minor=True))
    if said.times and ((trace.txn_begin == -1) | (trace.txn_end == -1)).any():
        lost.append(Loss("times that are -1, which means that there is none"))
    if any(not name.startswith("J") for name in said.file_names()):
        lost.append(
            Loss("the names of sessions: they begin with J, as Viper looks for no others", minor=True)
        )
    return [*lost, *said.zeros(), *said.name_positions(), *said.unnamed_files()]


def _only_final(trace: Trace) -> bool:
    ids = set() if trace.txn_ctx is None else set(trace.txn_ctx.tolist()) - {-1}
    return trace.op_ctx is None and all(trace.texts.text(i) == FINAL for i in ids)


def _bounds(trace: Trace, r: int) -> tuple[str, str] | None:
    """The bounds of a range, the upper one included; None if there is no such bound."""
    texts = []
    for key, upper in ((int(trace.range_lo[r]), False), (int(trace.range_hi[r]), True)):
        kind = trace.keys.type[key] if key >= 0 else None
        if kind is None:
            texts.append('"nil"')
        elif kind == INT:
            number = int(str(trace.keys[key])) - upper
            if not LOW < number < HIGH:
                return None
            texts.append(str(number))
        else:
            text = trace.keys[key]
            if not isinstance(text, str) or text == "nil" or (upper and not text.endswith("\0")):
                return None
            text = text.removesuffix("\0") if upper else text
            if text == "nil":
                return None
            texts.append(json.dumps(text))
    return texts[0], texts[1]


def write(trace: Trace, path: Path) -> None:
    said = _Viper(trace)
    create_folder(path)
    writer = _Writer(said)
    names = [name if name.startswith("J") else f"J{name}" for name in said.file_names()]
    if len(set(names)) < len(names):  # a session J1 beside a session 1
        names = [f"J{n}" for n in range(1, len(names) + 1)]
    for name, (_, transactions) in zip(names, said.sessions(), strict=True):
        with (path / f"{name}.log").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(writer.line(t) for t in transactions)
    if trace.initial_mode == Initial.GIVEN or said.reads_thin_air:
        name = next(n for n in ("Jinitial", *(f"Jinitial{i}" for i in range(len(names)))) if n not in names)
        (path / f"{name}.log").write_text(writer.initial(), encoding="utf-8")


class _Writer:
    def __init__(self, said: _Viper) -> None:
        self.said = said
        trace = self.trace = said.trace
        keys = texts(trace.keys)
        self.keys = [
            json.dumps(t) if kind == STR else t
            for t, kind in zip(keys, trace.keys.type.tolist(), strict=True)
        ]
        self.values = [*texts(trace.values), "0"]  # [-1] is ABSENT
        used = [
            int(t) for t, kind in zip(self.values, trace.values.type.tolist(), strict=False) if kind == INT
        ]
        self.tombstones = iter(range(max((v for v in used if v < 2**62), default=0) + 1, HIGH))
        self.kind, self.key, self.value = (
            trace.op_kind.tolist(),
            trace.op_key.tolist(),
            trace.op_value.tolist(),
        )
        self.rows, self.folded = said.rows.tolist(), said.folded.tolist()

    def initial(self) -> str:
        pairs = zip(self.trace.initial_key.tolist(), self.trace.initial_value.tolist(), strict=True)
        writes = ", ".join(f'["w", {self.keys[k]}, {self.values[v]}, true]' for k, v in pairs)
        return f'{{"value": [{writes}], "isInitial": true, "isFinal": false}}\n'

    def line(self, t: int) -> str:
        trace = self.trace
        times = ""
        if self.said.times:
            for field, time in (("preBeginTS", trace.txn_begin[t]), ("postCommitTS", trace.txn_end[t])):
                times += "" if time == NO_TIME else f'"{field}": {time}, '
        mops = ", ".join(self.mops(range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1]))))
        ctx = -1 if trace.txn_ctx is None else int(trace.txn_ctx[t])
        final = ctx >= 0 and trace.texts.text(ctx) == FINAL
        return f'{{{times}"value": [{mops}]{", " + FINAL[1:-1] if final else ""}}}\n'

    def mops(self, rows: range) -> Iterator[str]:
        trace = self.trace
        for row in rows:
            if not self.rows[row] or self.folded[row]:
                continue
            kind = self.kind[row]
            if kind == Kind.PUT:
                yield f'["w", {self.keys[self.key[row]]}, {self.values[self.value[row]]}, true]'
            elif kind == Kind.GET:
                yield f'["r", {self.keys[self.key[row]]}, {self.values[self.value[row]]}, false]'
            elif kind == Kind.DELETE:
                found = trace.op_flags[row] & Flag.FOUND
                seen = f"{self.values[self.value[row - 1]]}, false" if found else "0, true"
                yield f'["d", {self.keys[self.key[row]]}, {next(self.tombstones)}, {seen}, true]'
            else:
                r = int(trace.op_range[row])
                low, high = _bounds(trace, r) or ("", "")
                yield f'["range", {low}, {high}, [{", ".join(self.live(r))}], []]'

    def live(self, r: int) -> Iterator[str]:
        trace = self.trace
        for i in range(int(trace.range_items[r]), int(trace.range_items[r + 1])):
            key = self.keys[int(trace.item_key[i])]
            yield f'{{"id": {key}, "sk": {key}, "val": {self.values[int(trace.item_value[i])]}}}'


FORMAT = Format(
    name="viper",
    title="Viper's JSON logs",
    recognise=recognise,
    read=read,
    losses=losses,
    write=write,
    folder=True,
    sign='*.log files of JSON objects with "value"',
)

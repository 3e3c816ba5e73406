"""The survey of a slice: what one can say of it without knowing what came before.

Of each key: what the slice wrote last, by the order in which transactions ended; and what its reads found that nobody
in the slice wrote, which must have stood there at its start. Further, who began and did not end in it, lines of
transactions that began before it, and who ended without saying how. Keys and values go by content, as each slice
numbers them for itself.

This is what seams start from. It may be wrong, where transactions overlapped; what is built on it is compared later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import INITIAL, NONE, build_asg
from boomslang.stream.live import LiveKeys
from boomslang.stream.loading import Loading
from boomslang.stream.standing import Cell, Lost
from boomslang.stream.window import place_of, places
from boomslang.stretches.slices import Sliced, SlicedBlocks, not_above
from boomslang.trace.blocks import MANY_FILES, Block, Files, Lines
from boomslang.trace.model import ABSENT, Initial, Kind, Outcome
from boomslang.trace.scalars import Code

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

BYTES = 8 << 20
"""Lines of a block."""
FOUND = 4
"""Values that reads of one key found and nobody in the slice wrote: the first so many."""

Found = list[tuple[Code | None, int]]
"""What reads of a key found, in the order in which they began, and the place of the last reader of each. The first is
what stood there at the start, as far as one can tell; others were written by
transactions that cross the slice's ends."""


@dataclass(frozen=True, eq=False)
class Slice:
    """A task: the number of the slice, in this trace."""

    trace: Sliced
    number: int
    smallest: int = 1 << 16
    bytes: int = BYTES
    megabytes: float | None = None
    """What the task may use; it gives up rather than take more."""

    def blocks(self) -> SlicedBlocks:
        start, end = self.trace.bounds[self.number : self.number + 2]
        # Lines are counted from 0: nobody knows yet how many there are before.
        lines = [0] * len(start)
        return SlicedBlocks(
            self.trace,
            start,
            end,
            lines,
            goes_on=True,
            midway=self.number > 0,
            check=not_above(self.megabytes),
            smallest=self.smallest,
        )


@dataclass(eq=False)
class Survey:
    """What a slice says. Lines are counted from its start, until `placed`."""

    lines: list[int]
    """Of each file, how many."""
    wrote: dict[Code, Cell] = field(default_factory=dict)
    """The last value of each key; the place is when its writer ended."""
    found: dict[Code, Found] = field(default_factory=dict)
    """What reads found that nobody in the slice wrote."""
    strays: Files = field(default_factory=list)
    opened: Files = field(default_factory=list)
    """Lines of those that have not ended."""
    lost: dict[int, Lost] = field(default_factory=dict)
    initial: dict[Code, Cell] = field(default_factory=dict)
    """Of the first slice: what the trace says that there was at first."""
    mode: Initial = Initial.EMPTY
    committed: int = 0
    """Transactions that began and committed in it."""
    scans: bool = False
    timed: bool = False
    unfit: str = ""
    """Why it cannot be decided in stretches."""

    def placed(self, before: list[int]) -> None:
        """So many lines come before it, the header included."""

        def moved(files: Files) -> Files:
            return [
                Lines(lines.parts, lines.number + n) if lines else lines
                for lines, n in zip(files, before, strict=True)
            ]

        def place(number: int) -> int:
            file, line = place_of(number)
            return (line + before[file]) * MANY_FILES + file

        self.strays, self.opened = moved(self.strays), moved(self.opened)
        later = 0 if self.timed else before[0]
        self.found = {k: [(v, place(reader)) for v, reader in found] for k, found in self.found.items()}
        self.wrote = {k: (v, place(w), at + later) for k, (v, w, at) in self.wrote.items()}
        self.lost = {
            place(p): replace(one, lines=moved(padded(one.lines, len(before))))
            for p, one in self.lost.items()
        }


def padded(files: Files, many: int) -> Files:
    return files + [Lines()] * (many - len(files))


def survey(task: Slice) -> Survey:
    """The task."""
    blocks = task.blocks()
    if task.number:
        blocks.forget_initial()
    told = Survey([0] * len(blocks.sources), strays=[Lines()] * len(blocks.sources))
    live = LiveKeys(Initial.UNKNOWN)
    held: Files = [Lines()] * len(blocks.sources)
    loading = Loading()
    loading.over = task.number > 0
    while True:
        new = blocks.more(task.bytes)
        block = blocks.parsed([a + b for a, b in zip(held, new, strict=True)])
        if not loading.over:
            loading.take(block)
            blocks.forget_initial()
        elif block.loads:
            told.unfit = "it loads initial values after its beginning"
            return told
        told.scans |= bool(len(block.trace.range_lo))
        told.timed |= block.trace.has_times
        if bool(np.isin(block.trace.op_kind, (Kind.APPEND, Kind.LIST, Kind.SELECT)).any()):
            told.unfit = "it has lists or selects"
            return told
        told.strays = [a + b for a, b in zip(told.strays, block.strays, strict=True)]
        ended = take_in(block, live, told.found)
        told.committed += committed(block, ended)
        told.lost |= lost_of(block, ended)
        held = block.going_on()
        if blocks.exhausted:
            if loading.live is not None:
                told.mode, told.initial = loading.live.mode, loading.live.everything()
            if block.loads.begins:
                told.unfit = "it loads more initial values than one slice of it holds"
            told.wrote, told.opened = live.everything(), held
            told.lines = blocks.lines_so_far()
            return told


def take_in(block: Block, live: LiveKeys, found: dict[Code, Found] | None = None) -> Mask:
    """What a block wrote and found; who is over. Those that are open come again."""
    trace = block.trace
    over: Mask = ~block.open
    started = replace(trace, initial_mode=Initial.UNKNOWN, initial_key=_NONE, initial_value=_NONE)
    asg = build_asg(started)
    ends = trace.txn_end if trace.has_times else block.last_lines()
    rank = np.maximum(ends, 0)
    if found is not None:
        unwritten = (asg.read_writer == INITIAL) | (asg.read_writer == NONE)
        rows = np.flatnonzero(unwritten & (asg.read_value >= ABSENT))
        rows = rows[over[asg.read_txn[rows]] & (asg.outcome[asg.read_txn[rows]] == Outcome.COMMITTED)]
        begins = trace.txn_begin if trace.has_times else block.first_lines()
        rows = rows[np.argsort(begins[asg.read_txn[rows]], kind="stable")]
        readers = places(block)[asg.read_txn[rows]]
        for k, v, reader in zip(
            asg.read_key[rows].tolist(), asg.read_value[rows].tolist(), readers.tolist(), strict=True
        ):
            key = trace.keys.code(k)
            if live.get(key) is not None:
                continue
            value = None if v == ABSENT else trace.values.code(v)
            known = found.setdefault(key, [])
            if known and known[-1][0] == value:
                known[-1] = value, reader
            elif len(known) < FOUND:
                known.append((value, reader))
    rows = np.flatnonzero(over[asg.write_txn] & (asg.outcome[asg.write_txn] == Outcome.COMMITTED))
    rows = rows[np.lexsort((rank[asg.write_txn[rows]], asg.write_key[rows]))]
    last = rows[np.append(np.diff(asg.write_key[rows]) != 0, True)[: len(rows)]]
    txn = asg.write_txn[last]
    live.update(trace, asg.write_key[last], asg.write_value[last], places(block)[txn], rank[txn])
    return over


def committed(block: Block, over: Mask) -> int:
    """Of those that are over, how many."""
    return int((over & (block.trace.txn_outcome == Outcome.COMMITTED)).sum())


def lost_of(block: Block, over: Mask) -> dict[int, Lost]:
    """Transactions of unknown outcome that are over."""
    trace = block.trace
    place, found = places(block), {}
    for t in np.flatnonzero(over & (trace.txn_outcome == Outcome.UNKNOWN)).tolist():
        mask = np.zeros(len(trace), bool)
        mask[t] = True
        wrote = written(block, t)
        if wrote:
            found[int(place[t])] = Lost(block.lines_of(mask), wrote, False)
    return found


def written(block: Block, t: int) -> list[tuple[Code, Code | None]]:
    """What a transaction of a block wrote."""
    trace = block.trace
    wrote: dict[int, int] = {}
    for op in range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])):
        if trace.op_kind[op] in (Kind.PUT, Kind.DELETE) and trace.op_key[op] >= 0:
            wrote[int(trace.op_key[op])] = (
                int(trace.op_value[op]) if trace.op_kind[op] == Kind.PUT else ABSENT
            )
    return [(trace.keys.code(k), None if v == ABSENT else trace.values.code(v)) for k, v in wrote.items()]


def touched(surveys: Iterable[Survey]) -> set[Code]:
    """Keys that these slices speak of."""
    return {key for one in surveys for key in (*one.wrote, *one.found)}


_NONE = np.zeros(0, np.int32)

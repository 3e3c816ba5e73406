"""A long trace, block by block: lines are read, made a small trace of their own, and forgotten.

A `Trace` numbers its keys and values, so one of any length would need all of them in memory. Here the files are read a
few megabytes at a time, each block is a trace with numbers of its own, and whoever checks it says which transactions
shall be in the next block again: those that are still open, and those that were not decided. What is carried over are
the *lines* as they were recorded, with the places they came from, so that no second form of a transaction is needed
and every message names the line that the user has.

Files may still be written to: a `Source` that has nothing more to give now may have it later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.trace._reader import ParsedLines, Reader, count_lines, picked_lines, whole_lines
from boomslang.trace.errors import TraceError
from boomslang.trace.files import (
    natural_order,
    opened,
    pieces,
    read_start,
    refuse_strange,
    refuse_what_is_left,
    shown,
    without_mark,
)
from boomslang.trace.formats.jsonl import is_called_so, session_of
from boomslang.trace.model import NO_TIME, Outcome, Trace
from boomslang.trace.packed import START
from boomslang.trace.reader import trace_of

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

SMALLEST_READ = 1 << 16
"""Bytes of one of many files that are read at a time, at least."""
LONGEST_LINE = 64 << 20
"""Bytes: longer ones are refused (native/trace/slice.hpp)."""
_NO_LINES = np.zeros(0, np.int64)
MANY_FILES = 1 << 20
"""More files than a trace has."""


class Source(Protocol):
    """A file of our own lines, from its first byte on."""

    name: str
    """For messages."""
    session: str | None
    """Of operations that name none."""

    def read(self, size: int) -> bytes:
        """About so many bytes more, unpacked; at first at least a whole line, as a header may be long, and what it says
        holds for all that follows. Nothing: there is no more for now."""

    @property
    def done(self) -> bool:
        """There will never be more."""

    @property
    def idle(self) -> bool:
        """It has given nothing for so long that nobody waits for it. It may come back."""


class FileSource:
    """A file that is complete; packed or not."""

    idle = False

    def __init__(self, path: Path, file: BinaryIO, session: str | None) -> None:
        self.name, self.session = shown(path), session
        self._file, self._start = file, read_start(file, START)
        refuse_strange(self._start, self.name)
        self._pieces = pieces(file, self._start, self.name)
        self._line = 0  # bytes of the line that has not ended
        self.done = False

    def read(self, size: int) -> bytes:
        start, self._start = self._start, b""
        got = self._more(start, size)
        while start and self._line == len(got) and not self.done:
            got += self._more(b"", max(size, len(got)))
        return without_mark(got) if start else got

    def _more(self, start: bytes, size: int) -> bytes:
        got = self._unpacked(size) if self._pieces is not None else self._plain(start, size)
        end = got.rfind(b"\n")
        self._line = len(got) - end - 1 if end >= 0 else self._line + len(got)
        if self._line > LONGEST_LINE:
            self.done = True  # whoever parses it refuses it, and should not need memory for all of it
        return got

    def _plain(self, start: bytes, size: int) -> bytes:
        parts, have = [start], len(start)
        while have < size and not self.done:
            parts.append(part := self._file.read(size - have))
            have += len(part)
            self.done = not part
        return b"".join(parts) if start or len(parts) > 2 else parts[-1]

    def _unpacked(self, size: int) -> bytes:
        got = bytearray()
        assert self._pieces is not None
        while len(got) < size and not self.done:
            piece = next(self._pieces, None)
            if piece is None:
                self.done = True
            else:
                got += piece
        return bytes(got)


def sources_of(path: Path, stack: ExitStack) -> list[Source]:
    """The files of a trace, open for as long as `stack` is."""
    return [
        FileSource(file, stack.enter_context(opened(file)), session_of(file) if path.is_dir() else None)
        for file in files_of(path)
    ]


def files_of(path: Path) -> list[Path]:
    """The file, or those of a folder in the order in which they count."""
    if not path.is_dir():
        return [path]
    refuse_what_is_left(path)
    return sorted((f for f in path.iterdir() if is_called_so(f)), key=natural_order)


@dataclass(frozen=True, eq=False)
class Lines:
    """Whole lines of one file, and where each of them stood in it. They may be in several parts, so that a few lines
    that are carried on and many that were just read need not be copied to be together."""

    parts: tuple[bytes, ...] = ()
    number: Int64 = field(default_factory=lambda: _NO_LINES)

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def text(self) -> bytes:
        return b"".join(self.parts)

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(map(len, self.parts))

    def __add__(self, more: Lines) -> Lines:
        if not self or not more:
            return self or more
        number = np.concatenate([self.number, more.number])
        if self.number[-1] < more.number[0]:
            return Lines(self.parts + more.parts, number)
        # Some were kept aside and come again: each line once, in the order of the file.
        lines = _apart(self.text) + _apart(more.text)
        number, at = np.unique(number, return_index=True)
        return Lines((b"".join(lines[i] for i in at.tolist()),), number)

    def without(self, numbers: Int64) -> Lines:
        """All but the lines of these numbers."""
        kept = ~np.isin(self.number, numbers)
        return self if kept.all() else _picked(self, np.flatnonzero(kept))


def _apart(text: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in text.split(b"\n")]
    if text.endswith(b"\n"):
        return lines[:-1]
    return [*lines[:-1], lines[-1][:-1]]


NOTHING = Lines()
Files = list[Lines]
"""Of each source, lines. Sources may be missing at the end that have none."""


def joined(files: Files, more: Files) -> Files:
    """Of each source those, and behind them these."""
    return [a + b for a, b in zip_longest(files, more, fillvalue=NOTHING)]


@dataclass(frozen=True, eq=False)
class Loads:
    """Transactions that load the initial state. They are none of the trace's, and may be longer than a block: then a
    block has a part of what they load, and the next one has their begins again."""

    many: int = 0
    """In the block, be it only the end of one."""
    by: Int64 = field(default_factory=lambda: _NO_LINES)
    """Of each initial value of the block who gave it: line of its begin, times MANY_FILES, plus the file. -1: a header.
    Nothing, if there are no loads."""
    begins: Files = field(default_factory=list)
    """The begins of those that are not over; none, if all are."""
    last: frozenset[int] = frozenset()
    """Files of which nothing follows a load so far, and more will: it may be another one."""

    def __bool__(self) -> bool:
        return self.many > 0


@dataclass(frozen=True, eq=False)
class Block:
    """Some lines of the files as a trace of their own. The lines that `trace` tells of count from 1 in the block."""

    trace: Trace
    files: Files
    headers: list[bytes]
    open: Mask
    """Of each transaction: may more lines of it follow?"""
    paused: Mask
    """Of each transaction: the same, but nobody waits for them, for its file is idle."""
    strays: Files = field(default_factory=list)
    """Of lines that start in the middle of a trace: those of transactions that began before."""
    loads: Loads = field(default_factory=lambda: Loads())

    def first_lines(self) -> Int64:
        """Of each transaction, the line of its begin, as the user sees it."""
        return self._placed(self.trace.txn_begin_line)

    def last_lines(self) -> Int64:
        """Of each transaction, the line of its end; 0: it has none."""
        return self._placed(self.trace.txn_end_line)

    def lines_of(self, transactions: Mask) -> Files:
        """The lines of these transactions, as they were recorded."""
        trace = self.trace
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
        rows = transactions[owner]
        line = np.concatenate(
            [
                trace.txn_begin_line[transactions],
                trace.txn_end_line[transactions],
                trace.op_line[rows],
            ]
        ).astype(np.int64)
        file = np.concatenate(
            [trace.txn_file[transactions], trace.txn_file[transactions], trace.txn_file[owner[rows]]]
        )
        found: Files = []
        for f, lines in enumerate(self.files):
            if not lines:
                found.append(NOTHING)
                continue
            before = 1 + bool(self.headers[f])  # line 0 stands for none
            wanted = np.zeros(before + len(lines.number), bool)
            wanted[line[file == f]] = True
            found.append(_picked(lines, np.flatnonzero(wanted[before:])))
        return found

    def going_on(self) -> Files:
        """The lines without which the next ones cannot be understood."""
        return self.carried(self.open)

    def carried(self, transactions: Mask) -> Files:
        """The lines of these transactions, and the begin of each that loads the initial state and is not over. (What it
        has loaded so far was told.)"""
        found = self.lines_of(transactions)
        if not self.loads.begins:
            return found
        return [a + b for a, b in zip(found, self.loads.begins, strict=True)]

    def with_places(self, trace: Trace | None = None) -> Trace:
        """The trace with the lines that the user sees."""
        trace = self.trace if trace is None else trace
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
        return replace(
            trace,
            txn_begin_line=_narrow(self._placed(trace.txn_begin_line)),
            txn_end_line=_narrow(self._placed(trace.txn_end_line)),
            op_line=_narrow(self._placed(trace.op_line, trace.txn_file[owner])),
        )

    def _placed(self, lines: NDArray[np.uint32], file: NDArray[np.int32] | None = None) -> Int64:
        file = self.trace.txn_file if file is None else file
        found = np.zeros(len(lines), np.int64)
        for f in distinct(file).tolist():
            here = file == f
            places = np.concatenate(
                [np.zeros(1, np.int64), np.ones(1 if self.headers[f] else 0, np.int64), self.files[f].number]
            )
            found[here] = places[lines[here]]
        return found


def _narrow(lines: Int64) -> NDArray[np.uint32]:
    return np.minimum(lines, 2**32 - 1).astype(np.uint32)


def is_header(line: bytes) -> bool:
    """A session, a key or a value may be called so, too."""
    if b'"boomslang"' not in line:
        return False
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return True  # the reader will say what is wrong with it
    return not isinstance(told, dict) or "boomslang" in told


def _picked(lines: Lines, at: Int64) -> Lines:
    """The lines at these places, which grow."""
    if not len(at):
        return NOTHING
    if len(at) == len(lines.number):
        return lines
    return Lines((picked_lines(list(lines.parts), at),), lines.number[at])


def _strays(found: list[tuple[int, int]], files: Files, headers: list[bytes]) -> Files:
    at: list[list[int]] = [[] for _ in files]
    for f, line in found:
        at[f].append(line - 1 - bool(headers[f]))
    return [_picked(lines, np.array(sorted(here), np.int64)) for lines, here in zip(files, at, strict=True)]


class Blocks:
    """The files of one trace, read piece by piece."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        jobs: int = 1,
        check: Callable[[], None] = lambda: None,
        smallest: int = SMALLEST_READ,
        midway: bool = False,
        ahead: Callable[[int, bytes], ParsedLines | None] = lambda f, text: None,
    ) -> None:
        """`ahead`: this text of a file, if somebody has parsed it already."""
        self.smallest = smallest
        self._ahead = ahead
        self.midway = midway
        """The files start in the middle of a trace."""
        self.sources, self.jobs, self.check = list(sources), jobs, check
        self.headers: list[bytes] = [b""] * len(self.sources)
        self._rest: list[bytes] = [b""] * len(self.sources)
        self._next = [1] * len(self.sources)
        self._begun = [False] * len(self.sources)
        self._started = False
        self.bytes = 0
        """Read so far, unpacked."""
        self.woken: set[int] = set()
        """Files that were idle, and have given lines since: for whoever checks, who takes them out."""
        self._asleep: set[int] = set()  # that were idle when a block was made, and have given nothing since
        self.full: set[int] = set()
        """Files of which enough lines are held, so that none was read."""
        self._awaited: set[int] = set()  # that the others are held up by: they are always read on
        self._forgotten: set[int] = set()  # that no block speaks of any more

    def add(self, source: Source) -> None:
        """One more file: a session that came later."""
        self.sources.append(source)
        self.headers.append(b"")
        self._rest.append(b"")
        self._next.append(1)
        self._begun.append(False)

    @property
    def done(self) -> bool:
        return all(source.done for source in self.sources)

    def more(self, size: int, held: Files | None = None) -> Files:
        """The next lines of each file, about `size` bytes in all, those that are `held` included."""
        self.full.clear()
        share = max(self.smallest, size // max(1, sum(not source.done for source in self.sources)))
        have = [held[f].size if held and f < len(held) else 0 for f in range(len(self.sources))]
        # A transaction may be longer than all that is read at a time. What is held of it is asked again with each part
        # of the rest, so the parts grow with it.
        missing = [h // 2 if h >= share and f in self._awaited else share - h for f, h in enumerate(have)]
        if not any(size > 0 and not source.done for size, source in zip(missing, self.sources, strict=True)):
            missing = [share] * len(missing)  # all are held up: by what is to come, perhaps
        return [self._more(f, size) for f, size in enumerate(missing)]

    def more_of(self, f: int, size: int) -> Lines:
        """The next lines of one file, about so many bytes. None: there are no more, or the next is longer."""
        return self._more(f, max(size, 1))

    def begun(self, f: int) -> bool:
        """Is its first line read, so that its header is known?"""
        return self._begun[f] or self.sources[f].done

    def _more(self, f: int, size: int) -> Lines:
        source = self.sources[f]
        if source.done and not self._rest[f]:
            return NOTHING
        if size <= 0 and not source.done and f not in self._awaited:
            self.full.add(f)
            return NOTHING
        self.check()
        got = b"" if source.done else source.read(max(size, self.smallest))
        self.bytes += len(got)
        if got and f in self._asleep:
            self._asleep.discard(f)
            self.woken.add(f)
        if source.done:
            text, self._rest[f] = (self._rest[f] + got if self._rest[f] else got), b""
        elif not self._rest[f] and got.endswith(b"\n"):
            text = got
        else:
            text, self._rest[f] = whole_lines(self._rest[f], got)
        if not text:
            return NOTHING
        if not self._begun[f]:
            text = self._without_header(f, text)
        parsed = self._ahead(f, text)
        count = parsed.lines if parsed is not None and parsed.lines >= 0 else count_lines(text)
        first = self._next[f]
        self._next[f] += count
        return Lines((text,) if text else (), np.arange(first, first + count))

    def _without_header(self, f: int, text: bytes) -> bytes:
        self._begun[f] = True
        end = text.find(b"\n") + 1
        line = text[:end] if end else text
        if not is_header(line):
            return text
        self._next[f] = 2
        self.headers[f] = line if line.endswith(b"\n") else line + b"\n"
        if self._started and b'"initial"' in line:
            raise TraceError(
                "found an initial state in a file that came after the check had begun; expected it in one that is "
                "there from the start; fix: check the trace when it is finished",
                self.sources[f].name,
                1,
            )
        return text[end:] if end else b""

    def forget(self, f: int) -> None:
        """No line of this file, which is done, is asked for again: it costs nothing from now on. Others keep their
        numbers."""
        self._forgotten.add(f)
        self.headers[f] = b""

    def lines_read(self, f: int) -> int:
        """Of a file, the header included."""
        return self._next[f] - 1

    def forget_initial(self) -> None:
        """From here on headers do not say what the database held at first: whoever checks knows."""
        self._started = True
        for f, header in enumerate(self.headers):
            if header:
                told = json.loads(header)
                told.pop("initial", None)
                self.headers[f] = json.dumps(told).encode() + b"\n"

    def parsed(self, files: Files, initial: bytes = b"") -> Block:
        """These lines as a trace. `initial`: what it starts with, as the JSON text of a header's field."""
        reader = Reader(self.jobs)
        if self.midway:
            reader.start_midway()
        headers = list(self.headers)
        fed = [f for f in range(len(files)) if f not in self._forgotten]
        if initial:
            told = headers[fed[0]].strip()[:-1] or b'{"boomslang": 1'
            headers[fed[0]] = told + b', "initial": ' + initial + b"}\n"
        try:
            for f in fed:
                lines, source = files[f], self.sources[f]
                reader.begin_file(source.name, source.session)
                reader.feed(headers[f])
                for part in lines.parts:
                    self._feed(reader, f, part)
                self.check()
                reader.end_file()
            reader.settle()
            strays = reader.strays()
            loads, by = self._loads(reader, fed)
            while reader.finish_step():
                self.check()
            trace = trace_of(reader.columns())
        except TraceError as error:
            raise self._where_the_user_sees_it(error, files, headers) from None
        if self._forgotten:
            numbered = np.array(fed, np.int32)[trace.txn_file]
            trace = replace(trace, files=[source.name for source in self.sources], txn_file=numbered)
        is_open, paused = self._open(trace)
        loaded = self._loaded(loads, by, trace, files, headers)
        return Block(trace, files, headers, is_open, paused, _strays(strays, files, headers), loaded)

    def _loads(self, reader: Reader, fed: list[int]) -> tuple[list[tuple[int, int, int]], list[int]]:
        """File, begin and end of each load, and of each initial value the number of the load that gave it. One without
        an end is a mistake, unless its file goes on."""
        loads = [(fed[f], begin, end) for f, begin, end in reader.loads()]
        for i, (f, _, end) in enumerate(loads):
            if not end and not self.sources[f].done:
                reader.goes_on(i)
        return loads, reader.initial_by() if loads else []

    def _loaded(
        self,
        loads: list[tuple[int, int, int]],
        by: list[int],
        trace: Trace,
        files: Files,
        headers: list[bytes],
    ) -> Loads:
        if not loads:
            return Loads()

        def row(f: int, line: int) -> int:
            return line - 1 - bool(headers[f])

        at: list[list[int]] = [[] for _ in files]
        for f, begin, end in loads:
            if not end:
                at[f].append(row(f, begin))
        self._awaited.update(f for f, rows in enumerate(at) if rows)
        last = set()
        for f in {f for f, _, _ in loads if not self.sources[f].done}:
            latest = max(max(begin, end) for g, begin, end in loads if g == f)
            others = trace.txn_begin_line[trace.txn_file == f]
            if at[f] or not (self.sources[f].idle or bool((others > latest).any())):
                last.add(f)
        place = [int(files[f].number[row(f, begin)]) * MANY_FILES + f for f, begin, _ in loads]
        begins = [
            _picked(lines, np.array(sorted(rows), np.int64)) for lines, rows in zip(files, at, strict=True)
        ]
        given_by = np.array([*place, -1], np.int64)[by]
        return Loads(len(loads), given_by, begins if any(at) else [], frozenset(last))

    def _feed(self, reader: Reader, f: int, part: bytes) -> None:
        parsed = self._ahead(f, part)
        if parsed is None:
            reader.borrow(part)
        else:
            reader.take(parsed)

    def _where_the_user_sees_it(self, error: TraceError, files: Files, headers: list[bytes]) -> TraceError:
        for f, source in enumerate(self.sources[: len(files)]):
            at = error.line - 1 - bool(headers[f])
            if source.name == error.file and 0 <= at < len(files[f].number):
                return TraceError(error.message, error.file, int(files[f].number[at]))
        return error

    def _open(self, trace: Trace) -> tuple[Mask, Mask]:
        """Of unknown outcome, in a file that goes on, and nothing of its session follows: is it waited for, or not?"""
        found: Mask = trace.txn_outcome == Outcome.UNKNOWN
        # A session that goes on in another file does so behind all of this one.
        named = trace.txn_session >= 0
        of = np.where(named, trace.txn_session.astype(np.int64) * len(self.sources) + trace.txn_file, -1)
        last = np.full(len(trace.sessions) * len(self.sources) + 1, -1, np.int64)
        last[of] = np.arange(len(trace))  # of one place the last is kept
        found &= ~named | (last[of] == np.arange(len(trace)))
        going_on = np.array([not source.done and not source.idle for source in self.sources], bool)
        idle = np.array([not source.done and source.idle for source in self.sources], bool)
        self._asleep.update(np.flatnonzero(idle).tolist())
        opened = found & going_on[trace.txn_file]
        self._awaited = set(distinct(trace.txn_file[opened]).tolist())
        return opened, found & idle[trace.txn_file]

    def watermark(self, block: Block, latest: list[int]) -> int | None:
        """Up to which moment all files have told what ended. None: files have no times, or there is only one.
        `latest` is of each file the last moment that it told of, and is kept up to date."""
        trace = block.trace
        latest.extend(self.before(f) for f in range(len(latest), len(self.sources)))
        if len(trace):
            np_latest = np.array(latest, np.int64)
            # Most neighbours are of one file, if they are not all.
            starts = np.concatenate(([0], np.flatnonzero(np.diff(trace.txn_file)) + 1))
            np.maximum.at(np_latest, trace.txn_file[starts], np.maximum.reduceat(trace.txn_end, starts))
            latest[:] = np_latest.tolist()
        waiting = [f for f, source in enumerate(self.sources) if not source.done and not source.idle]
        moment = min((latest[f] for f in waiting), default=None)
        self._awaited |= {f for f in waiting if latest[f] == moment}
        return moment if len(self.sources) > 1 else None

    def before(self, f: int) -> int:
        """A moment before all that this file tells of."""
        return NO_TIME

"""Our own format: JSON Lines, one operation a line (see docs/trace-format.md).

A file, or a folder with one file a session. Files are streamed and never held in memory as a whole; a file
whose recorder died is read up to its torn last line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from boomslang.cores import all_cores
from boomslang.distinct import distinct
from boomslang.trace._reader import Reader
from boomslang.trace.begun import taken
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
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import NO_TIME, Trace
from boomslang.trace.packed import START
from boomslang.trace.packed import SUFFIXES as PACKED
from boomslang.trace.reader import Progress, trace_of

SUFFIXES = (".jsonl", *(f".jsonl{packed}" for packed in PACKED))
FIELD = re.compile(r'"(op|boomslang)"\s*:')


def is_called_so(path: Path) -> bool:
    return path.name.endswith(SUFFIXES)


def recognise(sample: Sample) -> bool:
    """A folder by the names in it; a file by its first line."""
    if sample.is_folder:
        return any(is_called_so(file) for file in sample.files)
    return sample.first_line.startswith("{") and bool(FIELD.search(sample.first_line))


def read(
    path: Path, check: Callable[[], None], progress: Progress | None = None, jobs: int | None = 1
) -> Trace:
    """`jobs`: threads that may read; None: as many as there are cores."""
    reading = _Reading(check, progress, jobs)
    if not path.is_dir():
        return _read([(path, None)], path, reading)
    refuse_what_is_left(path)
    files = sorted((f for f in path.iterdir() if is_called_so(f)), key=natural_order)
    if not files:
        raise TraceError(
            "found a folder without traces; expected one file a session, named *.jsonl, or *.jsonl.gz and the like; "
            "fix: give the folder that holds the files",
            shown(path),
        )
    return _read([(f, session_of(f)) for f in files], path, reading)


def session_of(path: Path) -> str:
    name = Path(shown(path)).name
    return next(name[: -len(suffix)] for suffix in SUFFIXES if name.endswith(suffix))


def read_open(
    file: BinaryIO,
    start: bytes,
    name: str,
    check: Callable[[], None],
    progress: Progress | None,
    jobs: int | None = 1,
) -> Trace:
    """What a pipe brings; `start` was read from it."""
    reading = _Reading(check, progress, jobs)
    reading.file(file, start, name, None)
    return reading.trace(name)


def _read(files: list[tuple[Path, str | None]], root: Path, reading: _Reading) -> Trace:
    if reading.progress:
        reading.total = sum(f.stat().st_size for f, _ in files if f.is_file())
    for path, session in files:
        try:
            with opened(path) as file:
                start = read_start(file, START)
                if session is None and (begun := taken(path, reading.jobs)) is not None:
                    with begun.file:
                        reading.go_on(begun.reader, begun.file, start, shown(path))
                else:
                    reading.file(file, start, shown(path), session)
        except TraceError:
            reading.reader.settle()  # a mistake in what was read before is told first
            raise
    return reading.trace(shown(root if len(files) > 1 else files[0][0]))


class _Reading:
    """The files of one trace, one after the other."""

    def __init__(self, check: Callable[[], None], progress: Progress | None, jobs: int | None) -> None:
        self.jobs = all_cores() if jobs is None else jobs
        self.reader = Reader(self.jobs)
        self.check, self.progress, self.total = check, progress, 0
        self.done = 0
        self.files: list[tuple[str, bytes]] = []
        """Their names, and how they begin."""

    def file(self, file: BinaryIO, start: bytes, name: str, session: str | None) -> None:
        """Reads one, of which `start` is read already."""
        refuse_strange(start, name)
        self.reader.begin_file(name, session)
        head, first = without_mark(start), b""
        unpacking = pieces(file, start, name)
        if unpacking is not None:
            head = b""
            for piece in unpacking:
                if len(head) < START:  # the mark may be there, and in two pieces
                    head += piece
                    if len(head) < START:
                        continue
                    piece = without_mark(head)
                first = first or piece[:40]
                self.reader.feed(piece)
                self.advance(file)
            if len(head) < START:
                first = head
                self.reader.feed(without_mark(head))
        else:
            first = head[:40]
            self.reader.feed(head)
            self.rest(file)
        self.end(file, name, first)

    def go_on(self, reader: Reader, file: BinaryIO, start: bytes, name: str) -> None:
        """The same of a plain file of which that reader has read a part."""
        self.reader = reader
        self.rest(file)
        self.end(file, name, start[:40])

    def rest(self, file: BinaryIO) -> None:
        while self.reader.read(file.fileno()):
            self.advance(file)

    def advance(self, file: BinaryIO) -> None:
        self.check()
        if self.progress:
            self.progress(self.done + _place(file), self.total)

    def end(self, file: BinaryIO, name: str, first: bytes) -> None:
        self.done += _place(file)
        self.reader.end_file()
        self.files.append((name, first))

    def trace(self, name: str) -> Trace:
        self.reader.settle()
        some, begins, warnings = False, "", []
        for (file, first), (whole, torn) in zip(self.files, self.reader.files(), strict=True):
            some |= whole
            if torn and not whole:
                begins = first.decode(errors="replace")
            if not (whole or torn) and len(self.files) > 1:
                warnings.append(f"{file}: the file is empty; its session did nothing")
        if not some:
            found = f"no whole line in it (it begins with {begins!r})" if begins else "nothing in it"
            raise TraceError(
                f"found {found}; expected at least one operation, or a header, on a line of its own; "
                "fix: check the path, and that the recorder ran",
                name,
            )
        while self.reader.finish_step():
            self.check()
        trace = trace_of(self.reader.columns())
        trace.warnings.extend(warnings)
        return trace if trace.op_ctx is None and trace.txn_ctx is None else _covered(trace)


def _place(file: BinaryIO) -> int:
    return file.tell() if file.seekable() else 0


def _covered(trace: Trace) -> Trace:
    from boomslang.trace.coverage import covered

    return covered(trace)


def losses(trace: Trace) -> list[Loss]:
    """Times of a broken database may run backwards in a session; a recorder's may not. (A file has one clock, which
    `write_trace` refuses to forget; a folder may have several.)"""
    back = _runs_back(trace)
    if not len(back):
        return []
    number = f"{len(back):,} transaction{'s' if len(back) > 1 else ''}"
    what = (
        f"the times of {number}, which run backwards in their session (first at {trace.where(int(back[0]))})"
    )
    return [Loss(what, fatal=True)]


def _write(trace: Trace, path: Path) -> None:
    from boomslang.trace.writer import write_trace

    write_trace(trace, path)


def _runs_back(trace: Trace) -> NDArray[np.int64]:
    """Transactions with a time before one that was recorded earlier in their session, by the same clock."""
    txns = np.arange(len(trace))
    owner = np.repeat(txns, np.diff(trace.txn_ops))
    rows = 2 * np.arange(len(owner))
    events = [  # transaction, place in it, time
        (txns, np.full(len(txns), -1), trace.txn_begin),
        (txns, np.full(len(txns), 2 * len(owner)), trace.txn_end),
    ]
    for place, column in ((rows, trace.op_invoke), (rows + 1, trace.op_return)):
        if column is not None:
            events.append((owner, place, column))
    txn, place, time = (np.concatenate(parts) for parts in zip(*events, strict=True))
    timed = np.flatnonzero((time != NO_TIME) & (trace.txn_session[txn] >= 0))
    timed = timed[np.lexsort((place[timed], txn[timed], trace.txn_session[txn[timed]]))]
    a, b = timed[:-1], timed[1:]
    same = trace.txn_session[txn[a]] == trace.txn_session[txn[b]]
    same &= trace.txn_clock[txn[a]] == trace.txn_clock[txn[b]]
    return distinct(txn[b[same & (time[b] < time[a])]])


FORMAT = Format(
    name="jsonl",
    title="Boomslang's JSON Lines",
    recognise=recognise,
    read=read,
    losses=losses,
    write=_write,
    sign='JSON Lines with "op"; in a folder, files named *.jsonl',
)

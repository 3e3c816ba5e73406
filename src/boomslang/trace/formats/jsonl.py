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

from boomslang.trace._reader import Reader
from boomslang.trace.errors import TraceError
from boomslang.trace.files import (
    natural_order,
    opened,
    pieces,
    read_start,
    refuse_strange,
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


def read(path: Path, check: Callable[[], None], progress: Progress | None = None) -> Trace:
    if not path.is_dir():
        return _read([(path, None)], path, check, progress)
    files = sorted((f for f in path.iterdir() if is_called_so(f)), key=natural_order)
    if not files:
        raise TraceError(
            "found a folder without traces; expected one file a session, named *.jsonl, or *.jsonl.gz and the like; "
            "fix: give the folder that holds the files",
            shown(path),
        )
    return _read([(f, _session(f)) for f in files], path, check, progress)


def _session(path: Path) -> str:
    name = Path(shown(path)).name
    return next(name[: -len(suffix)] for suffix in SUFFIXES if name.endswith(suffix))


def read_open(
    file: BinaryIO, start: bytes, name: str, check: Callable[[], None], progress: Progress | None
) -> Trace:
    """What a pipe brings; `start` was read from it."""
    reading = _Reading(check, progress, 0)
    reading.file(file, start, name, None)
    return reading.trace(name)


def _read(
    files: list[tuple[Path, str | None]], root: Path, check: Callable[[], None], progress: Progress | None
) -> Trace:
    total = sum(f.stat().st_size for f, _ in files if f.is_file()) if progress else 0
    reading = _Reading(check, progress, total)
    for path, session in files:
        with opened(path) as file:
            empty = reading.file(file, read_start(file, START), shown(path), session)
        if empty and len(files) > 1:
            reading.warnings.append(f"{shown(path)}: the file is empty; its session did nothing")
    return reading.trace(shown(root if len(files) > 1 else files[0][0]))


class _Reading:
    """The files of one trace, one after the other."""

    def __init__(self, check: Callable[[], None], progress: Progress | None, total: int) -> None:
        self.reader = Reader()
        self.check, self.progress, self.total = check, progress, total
        self.warnings: list[str] = []
        self.done = 0
        self.some = False
        """A whole record was seen."""
        self.torn = ""
        """How a line begins that was not whole."""

    def file(self, file: BinaryIO, start: bytes, name: str, session: str | None) -> bool:
        """Reads one, of which `start` is read already. True: there was nothing in it."""
        refuse_strange(start, name)
        self.reader.begin_file(name, session)
        seekable = file.seekable()

        def advance() -> None:
            self.check()
            if self.progress:
                self.progress(self.done + (file.tell() if seekable else 0), self.total)

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
                advance()
            if len(head) < START:
                first = head
                self.reader.feed(without_mark(head))
        else:
            first = head[:40]
            self.reader.feed(head)
            while self.reader.read(file.fileno()):
                advance()
        self.done += file.tell() if seekable else 0
        whole, torn = self.reader.end_file()
        self.some |= whole
        if torn and not whole:
            self.torn = first.decode(errors="replace")
        return not (whole or torn)

    def trace(self, name: str) -> Trace:
        if not self.some:
            found = f"no whole line in it (it begins with {self.torn!r})" if self.torn else "nothing in it"
            raise TraceError(
                f"found {found}; expected at least one operation, or a header, on a line of its own; "
                "fix: check the path, and that the recorder ran",
                name,
            )
        while self.reader.finish_step():
            self.check()
        trace = trace_of(self.reader.columns())
        trace.warnings.extend(self.warnings)
        return trace


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
    return np.unique(txn[b[same & (time[b] < time[a])]])


FORMAT = Format(
    name="jsonl",
    title="Boomslang's JSON Lines",
    recognise=recognise,
    read=read,
    losses=losses,
    write=_write,
    sign='JSON Lines with "op"; in a folder, files named *.jsonl',
)

"""Our own format: JSON Lines, one operation a line (see docs/trace-format.md).

A file, or a folder with one file a session. Files are streamed and never held in memory as a whole; a file
whose recorder died is read up to its torn last line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.trace._reader import Reader
from boomslang.trace.errors import TraceError
from boomslang.trace.files import GZIP, natural_order, opened, shown, unpacked
from boomslang.trace.formats.format import Format, Loss, Sample
from boomslang.trace.model import NO_TIME, Trace
from boomslang.trace.reader import Progress, trace_of

SUFFIXES = (".jsonl", ".jsonl.gz")
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
            "found a folder without traces; expected one file a session, named *.jsonl or *.jsonl.gz; "
            "fix: give the folder that holds the files",
            shown(path),
        )
    return _read([(f, _session(f)) for f in files], path, check, progress)


def _session(path: Path) -> str:
    name = Path(shown(path)).name
    return next(name[: -len(suffix)] for suffix in SUFFIXES if name.endswith(suffix))


def _read(
    files: list[tuple[Path, str | None]], root: Path, check: Callable[[], None], progress: Progress | None
) -> Trace:
    reader = Reader()
    warnings: list[str] = []
    done = 0
    total = sum(f.stat().st_size for f, _ in files if f.is_file()) if progress else 0
    some = False
    for path, session in files:

        def advance(position: int, before: int = done) -> None:
            check()
            if progress:
                progress(before + position, total)

        with opened(path) as file:
            reader.begin_file(shown(path), session)
            _read_stream(reader, file, shown(path), warnings, advance)
            done += file.tell() if file.seekable() else 0
        if reader.end_file():
            some = True
        elif len(files) > 1:
            warnings.append(f"{shown(path)}: the file is empty; its session did nothing")
    if not some:
        raise TraceError(
            "found nothing in it; expected at least one operation; fix: check that the recorder ran",
            shown(root if len(files) > 1 else files[0][0]),
        )
    while reader.finish_step():
        check()
    trace = trace_of(reader.columns())
    trace.warnings.extend(warnings)
    return trace


def _read_stream(
    reader: Reader, file: Any, name: str, warnings: list[str], advance: Callable[[int], None]
) -> None:
    seekable = file.seekable()

    def torn() -> None:
        warnings.append(f"{name}: the gzip data ends early; what was readable was used")

    head = file.read(len(GZIP)) or b""
    if head == GZIP:
        for piece in unpacked(file, head, name, torn):
            reader.feed(piece)
            advance(file.tell() if seekable else 0)
        return
    reader.feed(head)
    while reader.read(file.fileno()):
        advance(file.tell() if seekable else 0)


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

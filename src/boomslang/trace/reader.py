"""From files to a `Trace`: what kind of input is this, and is there still time and memory to read it?

The work is done natively, a block at a time; between two blocks Python sees Ctrl-C, and `Limits` looks at the
clock and the memory. What the input is follows from its content (see `formats`). Standard input and pipes can be read
only once: our own lines are read as they come, all else is put into a temporary file first.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from boomslang.storage import located
from boomslang.trace.close_times import CloseTimes
from boomslang.trace.errors import LimitReached, TraceError
from boomslang.trace.files import head_of, opened, read_start, shown
from boomslang.trace.model import Initial, Trace
from boomslang.trace.scalars import Scalars

try:
    from boomslang.trace._reader import Reader
except ImportError as missing:  # pragma: no cover - only in a broken installation
    raise ImportError(
        f"boomslang's native reader is missing ({missing}); did you forget to compile? Run: pip install ."
    ) from missing

Progress = Callable[[int, int], None]
"""Called now and then with the bytes read so far and in all."""

STANDARD_INPUT = "-"
"""The path that means standard input."""


@dataclass
class Limits:
    """When to give up: `deadline` on `time.monotonic()`'s clock, `memory` in MB of this process."""

    deadline: float | None = None
    memory: int | None = None
    _checks: int = 0

    def check(self) -> None:
        self._checks += 1
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise LimitReached("time limit reached while reading the trace")
        if self.memory is not None and self._checks % 8 == 1 and resident_mb() > self.memory:
            raise LimitReached(f"memory limit of {self.memory} MB reached while reading the trace")


def resident_mb() -> float:
    """The memory this process holds now, in MB (its peak, where the system does not tell)."""
    try:
        with Path("/proc/self/statm").open("rb") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def read_trace(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    deadline: float | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
    jobs: int | None = None,
) -> Trace:
    """Read a trace: a file, plain or packed, or a folder, in any of the formats that `boomslang.trace.formats` lists;
    "-" is standard input, and an address such as s3://bucket/key an object (see boomslang.storage).

    The content tells the format, unless `format` names it. Raises `TraceError` if the input is no trace, and
    `LimitReached` if the `deadline` (on `time.monotonic()`'s clock) or the limit of `memory` (MB of this
    process) is met first. Our own format is read by `jobs` threads, by default as many as there are cores; the trace
    is the same with any number.
    """
    from boomslang.trace.formats import find, jsonl, recognise

    limits = Limits(deadline, memory)
    root = located(path)
    if os.fspath(path) == STANDARD_INPUT or (root.exists() and not (root.is_file() or root.is_dir())):
        with _pipe(root) as (file, name):
            return _read_pipe(file, name, format, limits, progress, jobs)
    chosen = recognise(root) if format is None else find(format)
    if chosen is jsonl.FORMAT:
        return jsonl.read(root, limits.check, progress, jobs)
    if root.exists() and root.is_dir() != chosen.folder:
        found, expected = ("file", "folder") if chosen.folder else ("folder", "file")
        raise TraceError(
            f"found a {found}; expected {chosen.title}: a {expected}; fix: give the {expected}, or correct --format",
            shown(root),
        )
    return chosen.read(root, limits.check)


@contextmanager
def _pipe(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    """What can be read only once, and its name for messages."""
    if os.fspath(path) != STANDARD_INPUT:
        with opened(path) as file:
            yield file, shown(path)
        return
    name = "standard input"
    try:
        descriptor = os.dup(0)
    except OSError as error:
        raise TraceError(
            f"found it closed ({error.strerror}); expected a trace; fix: pipe one in, or name a file", name
        ) from None
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        yield cast(BinaryIO, file), name


def _read_pipe(
    file: BinaryIO,
    name: str,
    format: str | None,
    limits: Limits,
    progress: Progress | None,
    jobs: int | None,
) -> Trace:
    from boomslang.trace.formats import SAMPLE, Sample, find, jsonl, recognise_sample
    from boomslang.trace.packed import START

    try:
        start = read_start(file, SAMPLE)
    except OSError as error:  # a folder, or a terminal that went away
        raise TraceError(
            f"found it unreadable ({error.strerror}); expected a trace; fix: pipe one in, or name a file",
            name,
        ) from None
    if format is None:
        whole = io.BytesIO(start[START:])
        head = head_of(cast(BinaryIO, whole), start[:START], SAMPLE, name, cut=True)
        chosen = recognise_sample(Sample(Path(name), head))
    else:
        chosen = find(format)
    if chosen is jsonl.FORMAT:
        return jsonl.read_open(file, start, name, limits.check, progress, jobs)
    if chosen.folder:
        raise TraceError(
            f"found a pipe; expected {chosen.title}: a folder; fix: give the folder, or correct --format",
            name,
        )
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(prefix="boomslang-") as copy:
        block: bytes | None = start
        while block:
            copy.write(block)
            limits.check()
            block = file.read(1 << 20)
        copy.flush()
        try:
            trace = chosen.read(Path(copy.name), limits.check)
        except TraceError as error:
            raise TraceError(error.message.replace(copy.name, name), name, error.line) from None
        trace.files[:] = [name if path == copy.name else path for path in trace.files]
        trace.warnings[:] = [warning.replace(copy.name, name) for warning in trace.warnings]
        return trace


def trace_of(columns: dict[str, Any]) -> Trace:
    """The native reader's columns as a `Trace`."""
    for table in ("keys", "values", "names", "texts"):
        columns[table] = Scalars(*columns[table])
    columns["initial_mode"] = Initial(columns["initial_mode"])
    for name in ("op_invoke", "op_return"):
        if isinstance(columns[name], tuple):
            columns[name] = CloseTimes(*columns[name])
    if columns["op_range"] is None:  # a column of -1 that takes no memory
        columns["op_range"] = np.broadcast_to(np.int32(-1), len(columns["op_kind"]))
    trace = Trace(**columns)
    if trace.op_where is not None:
        from boomslang.trace.rows import checked_selects

        trace = checked_selects(trace)
    return trace


def finish(reader: Reader, limits: Limits) -> Trace:
    while reader.finish_step():
        limits.check()
    return trace_of(reader.columns())

"""From files to a `Trace`: what kind of input is this, and is there still time and memory to read it?

The work is done by the native reader, a block at a time; between two blocks Python sees Ctrl-C, and this loop
looks at the clock and the memory. What the input is follows from its content: gzip by its first two bytes, a
folder of JSON Lines by the names in it, Cobra's logs by their records (see `formats`).
"""

from __future__ import annotations

import os
import re
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from boomslang.trace.errors import LimitReached, TraceError
from boomslang.trace.model import Initial, Trace
from boomslang.trace.scalars import Scalars

try:
    from boomslang.trace._reader import Reader
except ImportError as missing:  # pragma: no cover - only in a broken installation
    raise ImportError(
        f"boomslang's native reader is missing ({missing}); did you forget to compile? Run: pip install ."
    ) from missing

GZIP = b"\x1f\x8b"
GZIP_BLOCK = 1 << 18
SUFFIXES = (".jsonl", ".jsonl.gz")

Progress = Callable[[int, int], None]
"""Called now and then with the bytes read so far and in all."""


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
    deadline: float | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Read a trace: a JSON Lines file, plain or gzip, or a folder with one such file a session.

    A folder of Cobra logs is read too. Raises `TraceError` if the input is no trace, and `LimitReached` if
    the `deadline` (on `time.monotonic()`'s clock) or the limit of `memory` (MB of this process) is met first.
    """
    limits = Limits(deadline, memory)
    root = Path(path)
    if root.is_dir():
        files = sorted((f for f in root.iterdir() if f.name.endswith(SUFFIXES)), key=natural_order)
        if not files:
            return _read_other_folder(root, limits)
        return _read_files([(f, _shown(f), _stem(f)) for f in files], limits, progress)
    return _read_files([(root, _shown(root), None)], limits, progress)


def natural_order(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """c2 before c10: runs of digits compare as numbers."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", path.name)
    return [(0, int(number[:4000]), "") if number else (1, 0, text) for number, text in parts], path.name


def trace_of(columns: dict[str, Any]) -> Trace:
    """The native reader's columns as a `Trace`."""
    for table in ("keys", "values", "names", "texts"):
        columns[table] = Scalars(*columns[table])
    columns["initial_mode"] = Initial(columns["initial_mode"])
    return Trace(**columns)


def finish(reader: Reader, limits: Limits) -> Trace:
    while reader.finish_step():
        limits.check()
    return trace_of(reader.columns())


def _shown(path: Path) -> str:
    """The path for messages, without bytes that are no text."""
    return str(path).encode(errors="surrogateescape").decode(errors="replace")


def _stem(path: Path) -> str:
    name = Path(_shown(path)).name
    return next(name[: -len(suffix)] for suffix in SUFFIXES if name.endswith(suffix))


def _read_other_folder(root: Path, limits: Limits) -> Trace:
    from boomslang.trace.formats import cobra

    if cobra.recognise(root):
        return cobra.read(root, check=limits.check)
    raise TraceError(
        "found a folder without traces; expected one file a session, named *.jsonl or *.jsonl.gz, "
        "or Cobra's *.log files; fix: give the folder that holds the files",
        _shown(root),
    )


def _read_files(
    files: list[tuple[Path, str, str | None]], limits: Limits, progress: Progress | None
) -> Trace:
    reader = Reader()
    warnings: list[str] = []
    done, total = 0, 0
    if progress:
        total = sum(f.stat().st_size for f, _, _ in files if f.is_file())
    some = False
    for path, name, session in files:

        def advance(position: int, before: int = done) -> None:
            limits.check()
            if progress:
                progress(before + position, total)

        try:
            with path.open("rb", buffering=0) as file:
                reader.begin_file(name, session)
                _read_stream(reader, file, name, warnings, advance)
                done += file.tell() if file.seekable() else 0
        except FileNotFoundError:
            raise TraceError(
                "found no such file or folder; expected a trace; fix: check the path", name
            ) from None
        except OSError as error:
            problem = error.strerror or str(error)
            raise TraceError(
                f"found an unreadable file ({problem}); expected a trace; fix: check its permissions", name
            ) from error
        if reader.end_file():
            some = True
        elif len(files) > 1:
            warnings.append(f"{name}: the file is empty; its session did nothing")
    if not some:
        name = files[0][1] if len(files) == 1 else _shown(files[0][0].parent)
        raise TraceError(
            "found nothing in it; expected at least one operation; fix: check that the recorder ran", name
        )
    trace = finish(reader, limits)
    trace.warnings.extend(warnings)
    return trace


def _read_stream(
    reader: Reader, file: Any, name: str, warnings: list[str], advance: Callable[[int], None]
) -> None:
    seekable = file.seekable()
    head = file.read(2) or b""
    if head == GZIP:
        _read_gzip(reader, file, head, name, warnings, advance)
        return
    reader.feed(head)
    while reader.read(file.fileno()):
        advance(file.tell() if seekable else 0)


def _read_gzip(
    reader: Reader,
    file: BinaryIO,
    head: bytes,
    name: str,
    warnings: list[str],
    advance: Callable[[int], None],
) -> None:
    stream = zlib.decompressobj(wbits=31)
    read = 0
    pending = head
    fresh = False  # a member has just ended, and none has begun
    while True:
        try:
            while pending:
                if stream.eof:
                    stream = zlib.decompressobj(wbits=31)
                reader.feed(stream.decompress(pending, GZIP_BLOCK * 8))
                pending = stream.unused_data if stream.eof else stream.unconsumed_tail
                fresh = stream.eof
                advance(read)
        except zlib.error as error:
            raise TraceError(
                f"found damaged gzip data ({error}); expected a whole gzip file; fix: copy the file again",
                name,
            ) from None
        pending = file.read(GZIP_BLOCK) or b""
        if not pending:
            break
        read += len(pending)
    reader.feed(stream.flush())
    if not fresh:
        warnings.append(f"{name}: the gzip data ends early; what was readable was used")

"""How much memory a trace will take, told before it is loaded.

What a trace takes is what its columns take, and these grow with its lines. So the first part of it is read (unpacked,
if it is packed), and what that part takes is scaled up by the length of the whole. Keys come again and values mostly
do not, so the beginning has more new ones in a megabyte than the rest has: the estimate is rather too high than low.
How long a packed file is, nobody knows before it is unpacked; it is taken to be packed as well as its beginning.

Only our own lines are read in part. A Parquet file says how many entries its columns have; other formats are taken to
need so many times their length (`ELSE`).

`larger_than` is what asks before a check: who has set a limit of memory would rather be told at once than after a
minute of reading.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from boomslang.storage import is_address
from boomslang.trace.errors import TraceError
from boomslang.trace.files import opened, pieces, read_start, without_mark
from boomslang.trace.packed import START, packing_of
from boomslang.trace.reader import resident_mb

SAMPLE = 4 << 20
"""Bytes of lines that tell about the others."""
FILES = 8
"""Of a folder, so many files are looked into."""
ELSE = {"arrow": 2.0}
"""Bytes in memory for each in the file, roughly, of a format that is columns already."""
ENTRY = 12.0
"""Bytes for each entry of a Parquet file's columns, and while they are unpacked."""
TEXT = 2.0
"""The same of all others, most of which are text."""
WORKING = 1.35
"""While it is read, there is also what finds keys and values again, and a column that is being sorted."""


SMALL = 16
"""MB. What takes less than this is simply read; the limit is looked at on the way."""
CHECKING = 2.0
"""Checking a trace takes so many times what reading it takes, roughly."""


@dataclass(frozen=True)
class TooLarge:
    """A trace that a limit of memory is too small for."""

    estimated: float
    """MB that reading it will take."""
    limit: float
    advised: int
    """MB that should be enough to check it."""

    @property
    def reason(self) -> str:
        return (
            f"reading the trace will take about {self.estimated:,.0f} MB (estimated from its beginning), more than the "
            f"limit of {self.limit:,.0f} MB leaves for it; allow more (--memory {self.advised}), or check a part of it"
        )


def larger_than(
    megabytes: float | None, path: str | os.PathLike[str], *, format: str | None = None
) -> TooLarge | None:
    """Is it clear, before it is loaded, that this trace does not fit into a process of so many MB? What cannot be known
    before (standard input, object storage, a path with nothing there) is not."""
    root = Path(path)
    if megabytes is None or is_address(path) or not (root.is_file() or root.is_dir()):
        return None
    try:
        estimated = estimated_megabytes(path, format=format)
    except TraceError:
        return None  # whoever reads it will say so
    used = resident_mb()
    if estimated < SMALL or used + estimated <= megabytes:
        return None
    return TooLarge(estimated, megabytes, -(-int(used + CHECKING * estimated) // 100) * 100)


def estimated_megabytes(path: str | os.PathLike[str], *, format: str | None = None) -> float:
    """About how many MB reading this trace will take at its peak, beside what the process has anyway.

    Raises `TraceError` if there is no such file, or none that can be read.
    """
    from boomslang.trace.formats import find, jsonl, recognise

    root = Path(path)
    chosen = recognise(root) if format is None else find(format)
    files = [root] if not root.is_dir() else [f for f in sorted(root.iterdir()) if f.is_file()]
    if chosen is not jsonl.FORMAT:
        if chosen.name == "parquet" and (entries := _entries_of(root)) is not None:
            return entries * ENTRY / 2**20
        return sum(map(_length, files)) * ELSE.get(chosen.name, TEXT) / 2**20
    if root.is_dir():
        files = [f for f in files if jsonl.is_called_so(f)]
    step = max(1, len(files) // FILES)
    looked_into = files[::step]
    share = max(1, SAMPLE // max(1, len(looked_into)))
    taken = length = stored = 0.0
    for file in looked_into:
        lines, packed_bytes = _beginning(file, share)
        taken += _bytes_taken(lines)
        length += len(lines)
        stored += packed_bytes
    if not length:
        return 0.0
    whole = sum(map(_size, files)) * length / stored
    return max(taken, taken * whole / length) * WORKING / 2**20


def _entries_of(file: Path) -> int | None:
    """How many entries the columns of a Parquet file have; None if it does not say."""
    from boomslang.trace.formats.parquet import entries

    with opened(file) as opening:
        size = opening.seek(0, os.SEEK_END)
        opening.seek(max(0, size - 8))
        footer = int.from_bytes(opening.read(4), "little")
        opening.seek(max(0, size - footer - 12))
        try:
            return entries(read_start(opening, footer + 12))
        except ValueError:
            return None


def _size(file: Path) -> int:
    with opened(file):  # says what is wrong, if it cannot be read
        return file.stat().st_size


def _length(file: Path) -> float:
    """In bytes, unpacked."""
    with opened(file) as opening:
        packed = packing_of(read_start(opening, START)) is not None
    if not packed:
        return _size(file)
    made, stored = _beginning(file, SAMPLE)
    return _size(file) * len(made) / max(1, stored)


def _beginning(path: Path, size: int) -> tuple[bytes, int]:
    """The first bytes of a file, unpacked, and how many of the file they are."""
    with opened(path) as file:
        start = read_start(file, START)
        unpacking = pieces(file, start, str(path))
        if unpacking is None:
            head = start + read_start(file, size - len(start))
            return without_mark(head), len(head)
        made = bytearray()
        for piece in _as_far_as_it_goes(unpacking):
            made += piece
            if len(made) >= size:
                break
        return without_mark(bytes(made)), file.tell()


def _as_far_as_it_goes(unpacking: Iterator[bytes]) -> Iterator[bytes]:
    """What is damaged is told by whoever reads all of it."""
    try:
        yield from unpacking
    except TraceError:
        return


def _bytes_taken(lines: bytes) -> float:
    """By the columns of the trace that these lines are; of one with mistakes, by as many lines as usual."""
    from boomslang.trace._reader import Reader
    from boomslang.trace.reader import Limits, finish

    end = lines.rfind(b"\n") + 1
    if not end:
        return len(lines) * TEXT
    reader = Reader()
    try:
        reader.begin_file("", "")
        reader.feed(lines[:end])
        reader.end_file()
        trace = finish(reader, Limits())
    except TraceError:
        return len(lines) * TEXT
    taken = 0
    for held in vars(trace).values():
        parts = (held.type, held.offset, held.data) if hasattr(held, "offset") else (held,)
        taken += sum(getattr(part, "nbytes", 0) for part in parts)
    return taken * len(lines) / end

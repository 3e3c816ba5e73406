"""Where the files of a trace are cut, and how a slice of one is read.

One file is cut at line ends, every so many bytes. Several files are cut at the same moments: a moment is taken from the
longest of them, and looked for in the others by halving, with a few small reads, as the lines of a session are in
the order of time. Where exactly a cut is does not matter for the answer, only for how well things fit.

Only the bytes of a slice are read: by seeking in a file, or by asking object storage for that range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from boomslang.trace.blocks import Blocks, Files, Lines, files_of, is_header
from boomslang.trace.errors import TraceError
from boomslang.trace.files import opened, refuse_strange, shown, without_mark
from boomslang.trace.formats.jsonl import session_of
from boomslang.trace.packed import START, packing_of
from boomslang.trace.reader import Limits as ReadingLimits

PROBE = 1 << 14
"""Bytes that are read to see what time it is at some place of a file."""
_TIME = re.compile(rb'"(?:return|invoke)"\s*:\s*(-?[0-9]{1,19})')


SHORT = "it is short"


class NotSliced(Exception):
    """Why a trace cannot be cut."""


@dataclass(frozen=True, eq=False)
class Sliced:
    """A trace whose files are cut."""

    path: Path
    files: list[Path]
    sessions: list[str | None]
    headers: list[bytes]
    first: list[int]
    """Of each file where its first line after the header starts."""
    sizes: list[int]
    cuts: list[list[int]] = field(default_factory=list)
    """Of each cut, its place in each file. Between two of them is a slice."""

    @property
    def bounds(self) -> list[list[int]]:
        """The cuts, the beginning and the end."""
        return [self.first, *self.cuts, self.sizes]


def sliced(path: Path, size: int) -> Sliced:
    """Cuts a trace into slices of about so many bytes. Raises `NotSliced` if it cannot be cut."""
    files = files_of(path)
    folder = path.is_dir()
    headers, first, sizes = [], [], []
    for file in files:
        header, at, length = _start(file)
        headers.append(header)
        first.append(at)
        sizes.append(length)
    found = Sliced(path, files, [session_of(f) if folder else None for f in files], headers, first, sizes)
    many = sum(sizes) // max(1, size)
    if many < 2:
        raise NotSliced(SHORT)
    longest = int(np.argmax(sizes))
    for n in range(1, many):
        at = first[longest] + (sizes[longest] - first[longest]) * n // many
        places = _cut(found, longest, at)
        last = found.cuts[-1] if found.cuts else first
        if all(a >= b for a, b in zip(places, last, strict=True)) and places != last and places != sizes:
            found.cuts.append(places)
    if not found.cuts:
        raise NotSliced("its lines are so long that there is nowhere to cut it")
    return found


def _cut(trace: Sliced, longest: int, at: int) -> list[int]:
    at = _line_end(trace, longest, at)
    if len(trace.files) == 1:
        return [at]
    moment = _moment(trace, longest, at)
    if moment is None:
        raise NotSliced("its files have no times")
    return [at if f == longest else _place_of(trace, f, moment) for f in range(len(trace.files))]


def _start(path: Path) -> tuple[bytes, int, int]:
    """The header of a file (empty: it has none), where the lines after it start, and the file's size."""
    reading = Bytes(path)
    size = reading.size
    text, want = b"", PROBE
    while b"\n" not in text and len(text) < size:
        text = reading(0, min(size, want))
        want *= 8
    name = shown(path)
    refuse_strange(text[:START], name)
    if packing_of(text[:START]) is not None:
        raise NotSliced("it is packed, and packed files are read from their beginning")
    plain = without_mark(text)
    mark = len(text) - len(plain)
    line = plain[: plain.find(b"\n") + 1]
    if line and is_header(line):
        return line, mark + len(line), size
    return b"", mark, size


class Bytes:
    """Some bytes of a file, or of an object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.size = int(path.stat().st_size)
        except OSError as error:
            raise TraceError(
                f"found an unreadable file ({error.strerror or error}); expected a trace; fix: check its permissions",
                shown(path),
            ) from None

    def __call__(self, start: int, end: int) -> bytes:
        if end <= start:
            return b""
        ranged: Callable[[int, int], bytes] | None = getattr(self.path, "slice", None)
        if ranged is not None:
            try:
                return ranged(start, end)
            except OSError as error:
                raise TraceError(f"cannot be read: {error.strerror or error}", shown(self.path)) from None
        with opened(self.path) as file:
            file.seek(start)
            got = bytearray()
            while len(got) < end - start and (more := file.read(end - start - len(got))):
                got += more
        if len(got) < end - start:
            raise TraceError("became shorter while it was read", shown(self.path))
        return bytes(got)


def _line_end(trace: Sliced, f: int, at: int) -> int:
    """The first place from here on at which a line starts."""
    reading, size = Bytes(trace.files[f]), trace.sizes[f]
    if at <= trace.first[f]:
        return trace.first[f]
    at -= 1
    while at < size:
        text = reading(at, min(size, at + PROBE))
        if (end := text.find(b"\n")) >= 0:
            return at + end + 1
        at += len(text)
    return size


def _moment(trace: Sliced, f: int, at: int) -> int | None:
    """A time in the first lines from here on."""
    text = Bytes(trace.files[f])(at, min(trace.sizes[f], at + PROBE))
    found = _TIME.search(text)
    return None if found is None else int(found[1])


def _place_of(trace: Sliced, f: int, moment: int) -> int:
    """Where in a file that moment is."""
    low, high = trace.first[f], trace.sizes[f]
    while high - low > PROBE // 4:
        middle = _line_end(trace, f, (low + high) // 2)
        if middle >= high:
            break
        there = _moment(trace, f, middle)
        if there is None:
            break
        if there < moment:
            low = middle
        else:
            high = middle
    return _line_end(trace, f, high)


class SliceSource:
    """A `Source` of the bytes between two places of a file. `goes_on`: the file does, though nothing is read of it."""

    idle = False

    def __init__(
        self, path: Path, session: str | None, at: int, until: int, *, goes_on: bool = False
    ) -> None:
        self.name, self.session = shown(path), session
        self.at, self.until, self.goes_on = at, until, goes_on
        self._bytes = Bytes(path)

    def read(self, size: int) -> bytes:
        got = self._bytes(self.at, min(self.until, self.at + size))
        self.at += len(got)
        return got

    @property
    def exhausted(self) -> bool:
        return self.at >= self.until

    @property
    def done(self) -> bool:
        return self.exhausted and not self.goes_on


class SlicedBlocks(Blocks):
    """Blocks of slices of the files. `without`: of each file the numbers of lines that are left out."""

    def __init__(
        self,
        trace: Sliced,
        at: Sequence[int],
        until: Sequence[int],
        line: Sequence[int],
        *,
        goes_on: bool = False,
        without: Sequence[Any] | None = None,
        midway: bool = False,
        check: Callable[[], None] = lambda: None,
        smallest: int = 1 << 16,
    ) -> None:
        self.slices = [
            SliceSource(file, session, a, b, goes_on=goes_on and b < size)
            for file, session, a, b, size in zip(
                trace.files, trace.sessions, at, until, trace.sizes, strict=True
            )
        ]
        super().__init__(self.slices, check=check, midway=midway, smallest=smallest)
        self.headers = list(trace.headers)
        self._begun = [True] * len(self.slices)
        self._next = list(line)
        self._without = without

    @property
    def exhausted(self) -> bool:
        return all(source.exhausted for source in self.slices)

    def reached(self) -> list[int]:
        """How far whole lines were given of each file."""
        return [source.at - len(rest) for source, rest in zip(self.slices, self._rest, strict=True)]

    def lines_so_far(self) -> list[int]:
        """The number of the next line of each file."""
        return list(self._next)

    def _more(self, f: int, size: int) -> Lines:
        lines = super()._more(f, size)
        return lines if self._without is None else left_out([lines], self._without[f : f + 1])[0]


def not_above(megabytes: float | None) -> Callable[[], None]:
    """Raises `LimitReached` once this process holds more; for blocks that are read."""
    return ReadingLimits(memory=None if megabytes is None else int(megabytes)).check


def left_out(files: Files, numbers: Sequence[Any]) -> Files:
    """The files without the lines of these numbers."""
    return [lines.without(those) for lines, those in zip(files, numbers, strict=True)]


def first_lines(trace: Sliced) -> list[int]:
    """The numbers of the first lines after the headers."""
    return [2 if header else 1 for header in trace.headers]

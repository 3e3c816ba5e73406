"""What a format is: how to know it, read it, write it, and what it cannot say.

Each of the other modules here holds one `FORMAT`; `boomslang.trace.formats` lists them. A format that is tokenised
natively gives its bytes to `_reader.FormatReader`, which makes the same columns as the reader of our own format
and applies the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from boomslang.trace.errors import TraceError
from boomslang.trace.files import natural_order, read_head, read_into, shown
from boomslang.trace.model import Trace
from boomslang.trace.reader import trace_of

SAMPLE = 1 << 16
"""How many bytes of a file tell its format."""
PIECE = 1 << 20
"""How many bytes are read before somebody looks at the clock."""


@dataclass(frozen=True)
class Sample:
    """The start of an input: what a format is recognised by."""

    path: Path
    head: bytes
    """The first bytes of a file, unpacked; of a folder none."""
    files: tuple[Path, ...] = ()
    """What lies in a folder, in natural order."""

    @staticmethod
    def of(path: Path) -> Sample:
        if path.is_dir():
            return Sample(path, b"", tuple(sorted(path.iterdir(), key=natural_order)))
        return Sample(path, read_head(path, SAMPLE))

    @property
    def is_folder(self) -> bool:
        return self.path.is_dir()

    @cached_property
    def text(self) -> str:
        return self.head.decode(errors="replace")

    @cached_property
    def first_line(self) -> str:
        """The first line that is not blank, as far as it is known."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")

    def heads(self, suffix: str) -> list[bytes]:
        """The first bytes of the folder's files with this suffix, empty ones left out."""
        found = []
        for file in self.files:
            if file.name.endswith(suffix) and file.is_file():
                found.append(read_head(file, SAMPLE))
        return [head for head in found if head]


@dataclass(frozen=True)
class Loss:
    """Something of a trace that a format cannot say."""

    what: str
    """Such as "the times of 12 transactions"."""
    fatal: bool = False
    """Not even with --lossy: what is left would be another history."""
    minor: bool = False
    """A label that says nothing about the history, such as a transaction's name: told, but no reason to refuse."""


@dataclass(frozen=True)
class Format:
    """A format of histories."""

    name: str
    """As in --format and --to."""
    title: str
    recognise: Callable[[Sample], bool]
    read: Callable[[Path, Callable[[], None]], Trace]
    """From a path; the callable is called now and then, and stops the reading by raising."""
    losses: Callable[[Trace], list[Loss]]
    write: Callable[[Trace, Path], None] | None = None
    """Writes what the format can say; nobody calls it with a fatal loss."""
    folder: bool = False
    """It is a folder of files. (Ours may be either.)"""
    sign: str = ""
    """What it is recognised by, in a few words, for whoever gave us something else. Empty: only by its name."""


def read_native(
    format: str,
    files: Iterable[tuple[Path, str | None, bytes | None]],
    check: Callable[[], None],
    *,
    option: str = "",
) -> Trace:
    """Read files with a native tokenizer; each with the session that all of it belongs to, if there is one, and with
    what is in it, if that is known already."""
    from boomslang.trace._reader import FormatReader

    reader = FormatReader(format, option)
    for path, session, data in files:
        check()
        reader.begin_file(shown(path), session)
        if data is None:
            read_into(reader, path, check)
        else:
            for at in range(0, len(data), PIECE):
                reader.feed(data[at : at + PIECE])
                check()
        while reader.step():
            check()
    while reader.finish_step():
        check()
    trace = trace_of(reader.columns())
    if not len(trace):
        raise TraceError(
            "found no transaction in it; expected at least one; fix: check that the recorder ran",
            trace.files[0] if trace.files else "",
        )
    return trace


def logs_in(folder: Path) -> list[Path]:
    """The *.log files of a folder, in natural order: for formats with one of them a session."""
    logs = sorted((f for f in folder.glob("*.log") if f.is_file()), key=natural_order)
    if not logs:
        raise TraceError(
            "found a folder without *.log files; expected one file a session; "
            "fix: give the folder that holds the files",
            shown(folder),
        )
    return logs


def read_native_file(format: str, path: Path, check: Callable[[], None], *, option: str = "") -> Trace:
    """Read one file, plain or gzip, with a native tokenizer."""
    return read_native(format, [(path, None, None)], check, option=option)

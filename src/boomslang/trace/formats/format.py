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
from typing import Any

from boomslang.trace.errors import TraceError
from boomslang.trace.model import Trace
from boomslang.trace.scalars import Scalars

SAMPLE = 1 << 16
"""How many bytes of a file tell its format."""


@dataclass(frozen=True)
class Sample:
    """The start of an input: what a format is recognised by."""

    path: Path
    head: bytes
    """The first bytes of a file, unpacked; of a folder none."""
    files: tuple[Path, ...] = ()
    """What lies in a folder, in natural order."""

    @cached_property
    def text(self) -> str:
        return self.head.decode(errors="replace")

    def heads(self, suffix: str) -> list[bytes]:
        """The first bytes of the folder's files with this suffix, empty ones left out."""
        found = []
        for file in self.files:
            if file.name.endswith(suffix) and file.is_file():
                with file.open("rb") as opened:
                    found.append(opened.read(SAMPLE))
        return [head for head in found if head]


@dataclass(frozen=True)
class Loss:
    """Something of a trace that a format cannot say."""

    what: str
    """Such as "the times of 12 transactions"."""
    fatal: bool = False
    """Not even with --lossy: what is left would be another history."""


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


def read_native(
    format: str,
    files: Iterable[tuple[Path, str | None, bytes]],
    check: Callable[[], None],
    *,
    option: str = "",
) -> Trace:
    """Read files with a native tokenizer; each with the session that all of it belongs to, if there is one."""
    from boomslang.trace._reader import FormatReader
    from boomslang.trace.model import Initial

    reader = FormatReader(format, option)
    for path, session, data in files:
        check()
        reader.begin_file(str(path), session, data)
        while reader.step():
            check()
    while reader.finish_step():
        check()
    columns: dict[str, Any] = reader.columns()
    for table in ("keys", "values", "names", "texts"):
        columns[table] = Scalars(*columns[table])
    columns["initial_mode"] = Initial(columns["initial_mode"])
    trace = Trace(**columns)
    if not len(trace):
        raise TraceError(
            "found no transaction in it; expected at least one; fix: check that the recorder ran",
            trace.files[0] if trace.files else "",
        )
    return trace

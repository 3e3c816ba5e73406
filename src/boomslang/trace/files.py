"""Files and folders as others give them to us: how to open, unpack, order and name them.

Any file may be packed (see packed.py); that shows in its first bytes. What cannot be opened or unpacked is a
`TraceError` that says why, and so is what shows at once to be none of ours: archives, and text in 16 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from boomslang.errors import UsageError
from boomslang.trace.errors import TraceError
from boomslang.trace.packed import START, SUFFIXES, packing_of, unpacked

READ_AHEAD = 1 << 24


DELETED = "deleted.json"
"""In the folder of a trace of which a watch has deleted a part."""


def refuse_what_is_left(folder: Path) -> None:
    """Raises if a part of the trace was deleted: reads of what is gone would look like violations."""
    if any(path.name == DELETED for path in folder.iterdir()):  # a folder on object storage, too
        raise TraceError(
            f"found {DELETED}: a part of this trace was deleted when it was checked (boomslang watch --keep), and what "
            "is left cannot be judged; expected a whole trace; fix: record one without --keep",
            shown(folder),
        )


def natural_order(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """c2 before c10: runs of digits compare as numbers."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", path.name)
    return [(0, int(number[:4000]), "") if number else (1, 0, text) for number, text in parts], path.name


def shown(path: Path) -> str:
    """The path for messages, without bytes that are no text."""
    return str(path).encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file, without a buffer."""
    try:
        with path.open("rb", buffering=0) as file:
            yield cast(BinaryIO, file)
    except FileNotFoundError:
        raise TraceError(
            "found no such file or folder; expected a trace; fix: check the path", shown(path)
        ) from None
    except OSError as error:
        problem = error.strerror or str(error)
        raise TraceError(
            f"found an unreadable file ({problem}); expected a trace; fix: check its permissions", shown(path)
        ) from error


BOM = b"\xef\xbb\xbf"
"""The byte-order mark that some editors put before UTF-8. It says nothing, and is skipped."""

# Each start is told from a small number in binary, which others' histories begin with.
_STRANGE = (
    (
        rb"(\xff\xfe|\xfe\xff)(?!\0\0)",
        "text in UTF-16",
        "text in UTF-8",
        "save it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
    ),
    (rb".{257}ustar", "a tar archive", "one history", "unpack it (tar -xf) and give what is in it"),
    (rb"PK\x03\x04[^\0]", "a zip archive", "one history", "unpack it (unzip) and give what is in it"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", "one history", "unpack it (7z x) and give what is in it"),
    (
        rb"\x04\x22\x4d\x18[\x40-\x7f]",
        "a file packed with LZ4",
        "gzip, xz, bzip2 or Zstandard",
        "unpack it (lz4 -d)",
    ),
)


def refuse_strange(head: bytes, name: str) -> None:
    """Raises if a file that starts so is of a well-known kind that is no history."""
    for start, found, expected, fix in _STRANGE:
        if re.match(start, head, re.DOTALL):
            raise TraceError(f"found {found}; expected {expected}; fix: {fix}", name)


def without_mark(data: bytes) -> bytes:
    """The start of a text without its byte-order mark. (With a zero behind it, it is a number in binary.)"""
    return data[len(BOM) :] if data.startswith(BOM) and data[len(BOM) : len(BOM) + 1] != b"\0" else data


def pieces(file: BinaryIO, start: bytes, name: str) -> Iterator[bytes] | None:
    """The content of a packed file; None if it is not packed. `start`, its first bytes, was read from it."""
    packing = packing_of(start)
    return None if packing is None else unpacked(file, start, name, packing)


def read_bytes(path: Path, check: Callable[[], None]) -> bytes:
    """All of a file, unpacked; for formats that cannot be read in pieces. `check` may raise to stop."""
    parts = []
    with opened(path) as file:
        start = read_start(file, START)
        unpacking = pieces(file, start, shown(path))
        if unpacking is not None:
            for piece in unpacking:
                parts.append(piece)
                check()
        else:
            parts.append(start)
            while piece := file.read(READ_AHEAD):
                parts.append(piece)
                check()
    return without_mark(b"".join(parts))


def read_start(file: BinaryIO, size: int) -> bytes:
    """The next `size` bytes, or all there are: a pipe may give fewer at a time."""
    start = b""
    while len(start) < size and (more := file.read(size - len(start))):
        start += more
    return start


class Takes(Protocol):
    """A native reader: it reads a plain file itself, and is given the pieces of one that was packed."""

    def read(self, descriptor: int) -> bool: ...
    def feed(self, data: bytes) -> None: ...


def read_into(reader: Takes, path: Path, check: Callable[[], None]) -> None:
    """All of a file, unpacked, piece by piece. `check` may raise to stop."""
    with opened(path) as file:
        start = read_start(file, START)
        unpacking = pieces(file, start, shown(path))
        if unpacking is None:
            reader.feed(without_mark(start))
            while reader.read(file.fileno()):
                check()
            return
        first = b""
        for piece in unpacking:
            if len(first) <= len(BOM):  # until it shows whether there is a mark
                first += piece
                piece = without_mark(first) if len(first) > len(BOM) else b""
            reader.feed(piece)
            check()
        if len(first) <= len(BOM):
            reader.feed(without_mark(first))


def read_head(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked."""
    with opened(path) as file:
        return head_of(file, read_start(file, START), size, shown(path))


def head_of(file: BinaryIO, start: bytes, size: int, name: str, cut: bool = False) -> bytes:
    """The first bytes of an open file, unpacked; `start` was read from it. `cut`: the file is only a beginning."""
    unpacking = pieces(file, start, name)
    if unpacking is None:
        head = start + read_start(file, size - len(start))
    else:
        head = b""
        try:
            for piece in unpacking:
                head += piece
                if len(head) >= size:
                    break
        except TraceError:
            if not (cut and head):
                raise
    return without_mark(head)[:size]


_OPENS = {"": "io", ".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}
"""What a file's name ends in, and the module whose `open` packs it so."""


def create(path: Path) -> BinaryIO:
    """A new file; packed if its name says so."""
    suffix = next((suffix for suffix in SUFFIXES if path.name.endswith(suffix)), "")
    if suffix not in _OPENS:
        raise UsageError(
            f"found the name {shown(path)}; expected one that ends in .gz, .xz or .bz2, or in none of these: "
            "Zstandard is read and not written; fix: write another, or pack it afterwards"
        )
    return cast(BinaryIO, import_module(_OPENS[suffix]).open(path, "wb"))


def create_folder(path: Path) -> None:
    """A new folder, or one that is empty."""
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise ValueError(f"found files in the folder {shown(path)}; expected an empty one")

"""Files and folders as others give them to us: how to open, unpack, order and name them.

Any file may be packed with gzip; that shows in its first two bytes. What cannot be opened or unpacked is a
`TraceError` that says why.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from boomslang.trace.errors import TraceError

GZIP = b"\x1f\x8b"
BLOCK = 1 << 18
READ_AHEAD = 1 << 24


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


def unpacked(file: BinaryIO, start: bytes, name: str, torn: Callable[[], None]) -> Iterator[bytes]:
    """The content of a gzip file in pieces; `start` was read from it. `torn` is called if its end is missing."""
    stream = zlib.decompressobj(wbits=31)
    pending = start
    fresh = False  # a member has just ended, and none has begun
    while True:
        try:
            while pending:
                if stream.eof:
                    stream = zlib.decompressobj(wbits=31)
                yield stream.decompress(pending, BLOCK * 8)
                pending = stream.unused_data if stream.eof else stream.unconsumed_tail
                fresh = stream.eof
        except zlib.error as error:
            raise TraceError(
                f"found damaged gzip data ({error}); expected a whole gzip file; fix: copy the file again",
                name,
            ) from None
        pending = file.read(BLOCK) or b""
        if not pending:
            break
    yield stream.flush()
    if not fresh:
        torn()


def _whole(path: Path) -> Callable[[], None]:
    def torn() -> None:
        raise TraceError(
            "found gzip data that ends early; expected a whole gzip file; fix: copy the file again",
            shown(path),
        )

    return torn


def read_bytes(path: Path, check: Callable[[], None]) -> bytes:
    """All of a file, unpacked; for formats that cannot be read in pieces. `check` may raise to stop."""
    pieces = []
    with opened(path) as file:
        start = file.read(len(GZIP)) or b""
        if start == GZIP:
            for piece in unpacked(file, start, shown(path), _whole(path)):
                pieces.append(piece)
                check()
        else:
            pieces.append(start)
            while piece := file.read(READ_AHEAD):
                pieces.append(piece)
                check()
    return b"".join(pieces)


class Takes(Protocol):
    """A native reader: it reads a plain file itself, and is given the pieces of one that was packed."""

    def read(self, descriptor: int) -> bool: ...
    def feed(self, data: bytes) -> None: ...


def read_into(reader: Takes, path: Path, check: Callable[[], None]) -> None:
    """All of a file, unpacked, piece by piece. `check` may raise to stop."""
    with opened(path) as file:
        start = file.read(len(GZIP)) or b""
        if start == GZIP:
            for piece in unpacked(file, start, shown(path), _whole(path)):
                reader.feed(piece)
                check()
            return
        reader.feed(start)
        while reader.read(file.fileno()):
            check()


def read_head(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked."""
    head = b""
    with opened(path) as file:
        start = file.read(len(GZIP)) or b""
        if start == GZIP:
            for piece in unpacked(file, start, shown(path), lambda: None):
                head += piece
                if len(head) >= size:
                    break
            return head[:size]
        return start + (file.read(size - len(start)) or b"")


def create(path: Path) -> BinaryIO:
    """A new file; packed if its name says so."""
    if path.name.endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "wb"))
    return path.open("wb")


def create_folder(path: Path) -> None:
    """A new folder, or one that is empty."""
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise ValueError(f"found files in the folder {shown(path)}; expected an empty one")

"""Compressed files: which compression, as the first bytes tell, and the content in pieces.

gzip, xz and bzip2 come with Python. Zstandard does from Python 3.14 on; before, a package brings it, and whoever gives
us such a file without it is told which. A file may be several compressed streams one after the other, as writers
that append make them. One that ends early or is damaged is an error: nobody can say what was in the rest.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from boomslang.extras import how_to_install
from boomslang.trace.errors import TraceError

BLOCK = 1 << 18
START = 10
"""How many bytes tell a compression."""
MOST = BLOCK * 8
"""Of unpacked bytes at a time, where the library lets itself be told: a small file may hold a very large one."""


@dataclass(frozen=True)
class Packing:
    """A compression."""

    name: str
    start: re.Pattern[bytes]
    suffix: str
    stream: Callable[[], Any]
    """A decompressor of one stream, with `decompress(data, most)`, `eof`, `unused_data`."""
    padded: bool = False
    """Zeros may follow a stream."""


def _xz() -> Any:
    from lzma import LZMADecompressor

    return LZMADecompressor()


def _bzip2() -> Any:
    from bz2 import BZ2Decompressor

    return BZ2Decompressor()


def _zstd() -> Any:
    try:
        from compression import zstd

        return zstd.ZstdDecompressor()
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise TraceError(
            "found a file packed with Zstandard, which this Python cannot unpack; expected the package zstandard; "
            f"fix: {how_to_install('zstd')}, or unpack it first: zstd -d"
        ) from None
    return _Zstandard(zstandard.ZstdDecompressor().decompressobj())


class _Zstandard:
    """The package's stream, with the face of the others. It takes no limit, so it gets small bites."""

    BITE = 1 << 12

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.unconsumed_tail = b""

    def decompress(self, data: bytes, _: int) -> bytes:
        self.unconsumed_tail = data[self.BITE :]
        made: bytes = self.stream.decompress(data[: self.BITE])
        return made

    @property
    def eof(self) -> bool:
        return bool(self.stream.eof)

    @property
    def unused_data(self) -> bytes:
        unused: bytes = self.stream.unused_data + self.unconsumed_tail
        return unused


PACKINGS = (
    Packing(
        "gzip", re.compile(rb"\x1f\x8b(\x08|\Z)"), ".gz", lambda: zlib.decompressobj(wbits=31), padded=True
    ),
    Packing("xz", re.compile(rb"\xfd7zXZ\0"), ".xz", _xz, padded=True),
    Packing("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", re.DOTALL), ".bz2", _bzip2),
    Packing("Zstandard", re.compile(rb"\x28\xb5\x2f\xfd"), ".zst", _zstd),
)
SUFFIXES = tuple(packing.suffix for packing in PACKINGS)


def packing_of(start: bytes) -> Packing | None:
    """How a file that starts so is packed; None: it is not, as far as we know."""
    return next((packing for packing in PACKINGS if packing.start.match(start)), None)


def unpacked(file: BinaryIO, start: bytes, name: str, packing: Packing) -> Iterator[bytes]:
    """The content of a packed file in pieces; `start` was read from it."""
    try:
        yield from _pieces(file, start, packing)
    except TraceError as error:
        raise TraceError(error.message, name) from None
    except Exception as error:  # each library has its own
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
            raise  # the machine's, not the decompressor's
        raise TraceError(
            f"found damaged {packing.name} data ({error}); expected a whole file; fix: copy the file again",
            name,
        ) from None


def _pieces(file: BinaryIO, start: bytes, packing: Packing) -> Iterator[bytes]:
    stream, pending, fresh = (
        packing.stream(),
        start,
        True,
    )  # fresh: a stream has just ended, and none has begun
    while True:
        while pending:
            if fresh and packing.padded:
                pending = pending.lstrip(b"\0")
                if not pending:
                    break
            if stream.eof:
                stream = packing.stream()
            yield (piece := stream.decompress(pending, MOST))
            fresh = bool(stream.eof)
            if fresh:
                pending = stream.unused_data
            elif hasattr(stream, "unconsumed_tail"):
                pending = stream.unconsumed_tail
            else:  # what is left it keeps for itself
                while piece and not stream.eof and not stream.needs_input:
                    yield (piece := stream.decompress(b"", MOST))
                fresh, pending = bool(stream.eof), stream.unused_data
        pending = file.read(BLOCK) or b""
        if not pending:
            break
    if not fresh and hasattr(stream, "flush"):
        yield stream.flush()
        fresh = bool(stream.eof)
    if not fresh:
        raise TraceError(
            f"found {packing.name} data that ends early; expected a whole file; "
            "fix: copy the file again; or unpack what is there and check that, knowing that it is a part"
        )

"""A file of another format, whole: its bytes, unpacked if they are gzip."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

from boomslang.trace.errors import TraceError
from boomslang.trace.reader import GZIP

BLOCK = 1 << 22


def whole_file(path: Path, check: Callable[[], None]) -> bytes:
    """The content of the file. `check` is called now and then, and stops the reading by raising."""
    parts: list[bytes] = []
    stream = None
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                check()
                if not parts and stream is None and block.startswith(GZIP):
                    stream = zlib.decompressobj(wbits=31)
                while stream is not None and block:
                    if stream.eof:
                        stream = zlib.decompressobj(wbits=31)
                    parts.append(stream.decompress(block, BLOCK))
                    block = stream.unused_data if stream.eof else stream.unconsumed_tail
                    check()
                if stream is None:
                    parts.append(block)
    except OSError as error:
        raise TraceError(
            f"found an unreadable file ({error.strerror or error}); expected a history; fix: check its path "
            "and its permissions",
            str(path),
        ) from error
    except zlib.error as error:
        raise TraceError(
            f"found damaged gzip data ({error}); expected a whole gzip file; fix: copy the file again",
            str(path),
        ) from None
    if stream is not None and not stream.eof:
        raise TraceError(
            "found the end of the gzip data too early; expected a whole gzip file; fix: copy the file again",
            str(path),
        )
    return b"".join(parts)

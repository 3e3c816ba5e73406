"""Files that are read a few lines at a time, so that a short trace has many blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO
from unittest.mock import patch

from boomslang.trace import blocks


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Files come in pieces of so many bytes. (How much is asked for at least, `Blocks` and `FilesRead` are told.)"""

    def pieces(file: BinaryIO, start: bytes) -> Iterator[bytes]:
        yield start
        while piece := file.read(size):
            yield piece

    with patch.object(blocks, "_plain", pieces):
        yield

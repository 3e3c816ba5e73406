"""Files that are read a few lines at a time, so that a short trace has many blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from boomslang.trace.blocks import FileSource


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Files come in pieces of so many bytes. (How much is asked for at least, `Blocks` and `FilesRead` are told.)"""

    def in_pieces(self: FileSource, start: bytes, wanted: int) -> bytes:
        got = start
        while len(got) < wanted and not self.done:
            piece = self._file.read(size)
            got += piece
            self.done = not piece
        return got

    with patch.object(FileSource, "_plain", in_pieces):
        yield

"""The files of a trace, read forward as far as somebody asks, and no further.

Lines of transactions that are not over wait for the rest of them and are read again with it, so that whoever asks gets
whole transactions, each one once. What the headers say of the initial state and of the unit holds for the whole trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from boomslang.errors import UsageError
from boomslang.trace.blocks import SMALLEST_READ, Block, Blocks, Lines, sources_of
from boomslang.trace.errors import TraceError
from boomslang.trace.files import shown
from boomslang.trace.formats import NAMES, recognise
from boomslang.trace.formats.jsonl import FORMAT
from boomslang.trace.model import Trace
from boomslang.trace.reader import STANDARD_INPUT

Mask = NDArray[np.bool_]

BYTES = 8 << 20
"""Lines that are read together."""


class FilesRead:
    """One trace, from its beginning. Used with `with`."""

    def __init__(self, path: Path, *, jobs: int = 1, size: int = BYTES) -> None:
        refuse_others(path)
        self.path, self.size = path, size
        self._stack = ExitStack()
        try:
            sources = sources_of(path, self._stack)
            if not sources:
                raise TraceError(
                    "found a folder without files named *.jsonl; expected one file a session; fix: give the folder "
                    "that holds them",
                    shown(path),
                )
            self.blocks = Blocks(sources, jobs=jobs, smallest=min(SMALLEST_READ, size))
            self.names = [PurePath(source.name).name for source in sources]
            self._held = [Lines()] * len(sources)  # of transactions that are not over, and read ahead
            self.read_to = [0] * len(sources)
            """Of each file the last line that was read."""
            self.warnings: list[str] = []
            for f in range(len(sources)):
                while not self.blocks.begun(f):
                    self._read(f)
            self.headers: Trace = self.blocks.parsed([Lines()] * len(sources)).trace
            """What they say: a trace without transactions."""
            self.blocks.forget_initial()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> FilesRead:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def done(self, f: int) -> bool:
        """Is there nothing more of this file?"""
        return self.blocks.sources[f].done and not self._held[f]

    def may_come(self, f: int, line: int) -> bool:
        """May a transaction that begins there, and was not read yet, still come?"""
        return not self.done(f) and (line > self.read_to[f] or bool((self._held[f].number == line).any()))

    def next_of(self, files: Sequence[int]) -> tuple[Block, Mask]:
        """More of these files, and which of the block's transactions are over. A transaction that loads the initial
        state may be longer than a block, which then tells of a part of it."""
        share = max(1, self.size // len(files))
        for f in files:
            # What is held is read again with the rest of it, which may be long: so it is read in parts that grow.
            self._read(f, max(share, self._held[f].size // 2))
        some = set(files)
        block = self.blocks.parsed([lines if f in some else Lines() for f, lines in enumerate(self._held)])
        trace = block.trace
        if trace.op_where is not None:
            raise UsageError(
                f"{self.path}: found selects in the trace; a certificate in lines speaks of none; fix: verify what "
                "`check` writes without --memory"
            )
        self.warnings += trace.warnings
        for f, lines in zip(files, map(block.going_on().__getitem__, files), strict=True):
            self._held[f] = lines
        return block, ~block.open

    def all(self) -> Iterator[tuple[Block, Mask]]:
        """All that was not read yet."""
        while files := [f for f in range(len(self.names)) if not self.done(f)]:
            yield self.next_of(files)

    def _read(self, f: int, size: int = 1) -> None:
        lines = self.blocks.more_of(f, size)
        if len(lines.number):
            self.read_to[f] = int(lines.number[-1])
            self._held[f] += lines


def refuse_others(path: Path) -> None:
    """Only lines can be named by their numbers, and read again."""
    if str(path) == STANDARD_INPUT or (path.exists() and not (path.is_file() or path.is_dir())):
        raise UsageError(
            f"{path}: found a trace that can be read only once; expected a file or a folder: a certificate in lines "
            "is verified against the files it names"
        )
    if path.exists() and (found := recognise(path)) is not FORMAT:
        raise UsageError(
            f"{path}: found a trace in the format {found.name}; a certificate in lines names lines of JSON Lines files "
            f"(of the formats {', '.join(NAMES)}, only {FORMAT.name})"
        )

"""The certificate of a watch that may end *valid*: it grows beside the trace, and gets its name at the end.

A watch that reads its files again from their beginning finds another order, so its certificate begins anew, too. A
certificate that cannot be written (a full disk) is no reason to stop looking at the database: that is told at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.writer import Writer
from boomslang.levels.level import Level

if TYPE_CHECKING:
    from boomslang.stream.taken import Taken


class GrowingCertificate:
    """Where it goes, if anybody asked for one."""

    def __init__(self, path: Path | None, level: Level) -> None:
        self.path, self.level = path, level
        self.problem = ""
        """Why there is none."""
        self._writer: Writer | None = None

    def begin(self, name_of: Callable[[int], str]) -> None:
        """The order is told from its beginning. `name_of`: of a file of the trace, by its number."""
        self.abandon()
        if self.path is not None:
            with self._told():
                self._writer = Writer(self.path, self.level.name, self.level.points, name_of)

    def take(self, taken: Taken) -> None:
        """The next part of the order."""
        if self._writer is not None:
            with self._told():
                taken.write_to(self._writer)

    def mend(self, first: int, source: NDArray[np.int64]) -> None:
        """Some of what was told stands in another order."""
        if self._writer is not None:
            with self._told():
                self._writer.rearrange(first, source)

    def finish(self, operations: int) -> None:
        """It is whole: the trace is valid."""
        if self._writer is not None:
            with self._told():
                self._writer.finish(operations)

    def abandon(self) -> None:
        """There will be none. (After `finish` this does nothing.)"""
        writer, self._writer = self._writer, None
        if writer is not None:
            with self._told():
                writer.abandon()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What cannot be written is remembered, and nothing else happens."""
        try:
            yield
        except OSError as problem:
            self.problem = f"{self.path}: cannot write the certificate: {problem.strerror or problem}"
            writer, self._writer = self._writer, None
            if writer is not None:
                with suppress(OSError):
                    writer.abandon()

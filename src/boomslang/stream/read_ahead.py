"""Files that are read on while what was read of them is being decided.

Reading, unpacking and cutting at line ends wait for the disk and for memory more than for the processor, and nothing of
it needs the interpreter's lock. So a thread does it beside the checker, one read ahead of it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from boomslang.trace._reader import whole_lines
from boomslang.trace.blocks import Source


class ReadAhead:
    """A `Source` that is complete, and gives whole lines."""

    idle = False

    def __init__(self, source: Source, pool: ThreadPoolExecutor) -> None:
        self.name, self.session = source.name, source.session
        self._source, self._pool = source, pool
        self._ahead: Future[bytes] | None = None
        self._rest = b""

    @property
    def done(self) -> bool:
        return self._ahead is None and self._source.done

    def read(self, size: int) -> bytes:
        got = b"" if self._ahead is None else self._ahead.result()
        self._ahead = None
        if 2 * len(got) < size and not self._source.done:
            got += self._lines(size - len(got))
        if not self._source.done:
            self._ahead = self._pool.submit(self._lines, size)
        return got

    def _lines(self, size: int) -> bytes:
        got = self._source.read(size)
        if self._source.done:
            return self._rest + got
        lines, self._rest = whole_lines(self._rest, got)
        return lines


def read_ahead(sources: list[Source], stack: ExitStack) -> list[Source]:
    """The same files, read on by a thread for as long as `stack` is open."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="reading")
    stack.callback(pool.shutdown, wait=True, cancel_futures=True)
    return [ReadAhead(source, pool) for source in sources]

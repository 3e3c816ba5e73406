"""Files that are read on, and their lines parsed, while what was read of them is being decided.

Nothing of it needs the interpreter's lock, or what the lines before say. So a thread does it beside the checker, one
read ahead of it.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from boomslang.trace._reader import Ahead, ParsedLines, whole_lines
from boomslang.trace.blocks import Source


class ReadAhead:
    """A `Source` that is complete, and gives whole lines."""

    idle = False

    def __init__(self, source: Source, pool: ThreadPoolExecutor) -> None:
        self.name, self.session = source.name, source.session
        self._source, self._pool = source, pool
        self._ahead: Future[ParsedLines] | None = None
        self._rest = b""
        self._parser = Ahead()
        self._parsed: ParsedLines | None = None

    @property
    def done(self) -> bool:
        return self._ahead is None and self._source.done

    def read(self, size: int) -> bytes:
        self._parsed = None if self._ahead is None else self._ahead.result()
        self._ahead = None
        got = b"" if self._parsed is None else self._parsed.text
        if 2 * len(got) < size and not self._source.done:
            got += self._lines(size - len(got))
        if not self._source.done:
            self._ahead = self._pool.submit(self._parsed_lines, size)
        return got

    def parsed(self, text: bytes) -> ParsedLines | None:
        """These lines, if they are what was read last and parsed ahead."""
        return self._parsed if self._parsed is not None and self._parsed.text is text else None

    def _parsed_lines(self, size: int) -> ParsedLines:
        return self._parser.parse(self._lines(size))

    def _lines(self, size: int) -> bytes:
        got = self._source.read(size)
        if self._source.done:
            return self._rest + got
        lines, self._rest = whole_lines(self._rest, got)
        return lines


def read_ahead(sources: list[Source], stack: ExitStack) -> list[ReadAhead]:
    """The same files, read on by a thread for as long as `stack` is open."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="reading")
    stack.callback(pool.shutdown, wait=True, cancel_futures=True)
    return [ReadAhead(source, pool) for source in sources]

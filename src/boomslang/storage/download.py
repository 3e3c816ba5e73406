"""An object as an open file: the reading end of a pipe, which a thread fills with slices of the object.

The native readers take descriptors, and know pipes from standard input; so an object needs nothing of
theirs. Slices grow from small ones (most openings are to see the first few bytes) to large ones, of which a
few are asked for ahead, so that the storage's latency is hidden; what is held are those, and a copy or two
of each on its way, however long the object is. Each is asked of the same version of the object. If one
cannot be had, the file ends early, which must not pass for the end of the trace: then closing it, which
every reader does before it believes what it read, raises what went wrong.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boomslang.storage.object_path import ObjectPath

SMALLEST = 1 << 18
LARGEST = 1 << 21
"""Bytes. Of four times that much, memory grew by twice as much again, for copies on the way."""
AHEAD = 4
"""Slices that are on their way at a time."""


class Download(io.FileIO):
    """An object that is being read."""

    def __init__(self, path: ObjectPath) -> None:
        self._problem: Exception | None = None
        self._path = path
        size = path.stat().st_size  # raises if there is none
        reading, writing = os.pipe()
        super().__init__(reading, "rb")
        Thread(target=self._fill, args=(writing, size), name="boomslang-download", daemon=True).start()

    def close(self) -> None:
        super().close()
        if (problem := self._problem) is not None:
            self._problem = None
            raise problem

    def _fill(self, writing: int, size: int) -> None:
        try:
            for data in self._slices(size):
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(writing, rest) :]
        except BrokenPipeError:
            pass  # it was closed: nobody wants the rest
        except Exception as problem:
            self._problem = problem
        finally:
            with suppress(OSError):
                os.close(writing)

    def _slices(self, size: int) -> Iterator[bytes]:
        places = slices(size)
        for place in islice(places, 1):  # nothing is asked for ahead until this one has been read
            yield self._path.slice(*place)
        with ThreadPoolExecutor(AHEAD, thread_name_prefix="boomslang-slice") as pool:
            waiting: deque[Future[bytes]] = deque()
            try:
                for place in islice(places, AHEAD):
                    waiting.append(pool.submit(self._path.slice, *place))
                while waiting:
                    data = waiting.popleft().result()
                    for place in islice(places, 1):
                        waiting.append(pool.submit(self._path.slice, *place))
                    yield data
            finally:
                for future in waiting:
                    future.cancel()


def slices(size: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each."""
    start, length = 0, SMALLEST
    while start < size:
        end = min(size, start + length)
        yield start, end
        start, length = end, min(LARGEST, 2 * length)

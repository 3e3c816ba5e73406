"""A watcher at work in a thread, for tests that write what it reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boomslang.levels import find_level
from boomslang.stream.watcher import Watched, Watcher


class Watching:
    """A watcher at work in a thread."""

    def __init__(self, folder: Path, level: str, **options: Any) -> None:
        self.watcher = Watcher(folder, find_level(level), pace=0.01, **options)
        self.result: Watched | BaseException | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self.watcher.run()
        except BaseException as error:
            self.result = error

    def until(self, count: int, seconds: float = 20.0) -> None:
        """So many committed transactions are read."""
        end = time.monotonic() + seconds
        while self.watcher.status.committed < count and self.thread.is_alive():
            assert time.monotonic() < end, self.watcher.status
            time.sleep(0.01)

    def over(self, seconds: float = 20.0) -> Watched:
        self.thread.join(seconds)
        assert not self.thread.is_alive(), self.watcher.status
        if isinstance(self.result, BaseException):
            raise self.result
        assert self.result is not None
        return self.result

    def end(self) -> Watched:
        self.watcher.end()
        return self.over()


@contextmanager
def watch(folder: Path, level: str, *, idle: float = 60.0, **options: Any) -> Iterator[Watching]:
    watching = Watching(folder, level, idle=idle, **options)
    try:
        yield watching
    finally:
        watching.watcher.end()
        watching.thread.join(20)

"""A watch in a process of its own, beside something that runs here: the load of `run` and `hunt`.

Clients of an embedded database are threads of the runner's process, and all others compete with it for the cores; a
checker in between would slow the very thing that is measured. So it gets a process, which tells now and then how it
goes, at once if it finds a violation, and ends with its answer once it is told that the recorder has ended.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.stream.follow import IDLE
from boomslang.stream.tally import Status
from boomslang.stream.watcher import Watched, Watcher
from boomslang.trace.errors import TraceError
from boomslang.verdict import INVALID, UNKNOWN
from boomslang.workers.forked import processes

EVERY = 0.25
"""Seconds between two messages."""


@dataclass(frozen=True)
class Told:
    """What the watch found: its answer without the trace."""

    status: str
    reason: str
    last: Status
    story: tuple[str, ...] = ()
    """Of a violation."""
    notes: tuple[str, ...] = ()
    uncertified: str = ""
    """Why the certificate that was asked for could not be written."""


class Beside:
    """The process. Use it with `with`: it is gone afterwards."""

    def __init__(
        self,
        folder: Path,
        level: Level,
        *,
        idle: float = IDLE,
        memory: float | None = None,
        certificate: Path | None = None,
        keep: float | None = None,
    ) -> None:
        self.status = Status(level.title, "waiting for the recorder", 0.0)
        self.told: Told | None = None
        self._problem: Exception | None = None
        context = processes(preload="boomslang.run.client")
        self._wire, theirs = context.Pipe()
        options = {"idle": idle, "memory": memory, "certificate": certificate, "keep": keep}
        self._process = context.Process(
            target=_body, args=(theirs, folder, level, options), daemon=True, name="watch"
        )
        self._process.start()
        theirs.close()

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()
        self._process.join(0.5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def listen(self, seconds: float = 0.0) -> None:
        """Takes in what it has told."""
        try:
            while not self._over and self._wire.poll(seconds):
                self._take(self._wire.recv())
                seconds = 0.0
        except (EOFError, OSError):
            self._take(Told(UNKNOWN, "the process that checked died", self.status))

    def _take(self, message: object) -> None:
        if isinstance(message, Status):
            self.status = message
        elif isinstance(message, Told):
            self.told = message
            self.status = message.last
        elif isinstance(message, Exception):
            self._problem = message

    @property
    def _over(self) -> bool:
        return self.told is not None or self._problem is not None

    def found(self) -> bool:
        """Has it found a violation?"""
        self.listen()
        return self.told is not None and self.told.status == INVALID

    def end(self) -> None:
        """Nobody records any more."""
        with suppress(OSError):
            self._wire.send("end")

    def answer(self) -> Told:
        """Waits for it. Raises if this cannot be watched."""
        while not self._over:
            self.listen(0.2)
        if self._problem is not None:
            raise self._problem
        assert self.told is not None
        return self.told


def told(watched: Watched, uncertified: str) -> Told:
    verdict = watched.verdict
    found = None if verdict is None else verdict.counterexample
    return Told(
        watched.status,
        watched.reason,
        watched.last,
        () if found is None else tuple(found.lines()),
        () if verdict is None else verdict.notes,
        uncertified,
    )


def _body(wire: Any, folder: Path, level: Level, options: dict[str, Any]) -> None:
    """The body of the process. It ends with its answer, or when the other end of the wire is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer: list[object] = []

    def work(watcher: Watcher) -> None:
        try:
            answer.append(told(watcher.run(), watcher.certificate.problem))
        except (UsageError, TraceError) as problem:
            answer.append(UsageError(str(problem)))
        except BaseException as problem:
            answer.append(RuntimeError(f"{type(problem).__name__}: {problem}"))

    try:
        watcher = Watcher(folder, level, **options)
        thread = threading.Thread(target=work, args=(watcher,), daemon=True)
        thread.start()
        while thread.is_alive():
            if wire.poll(EVERY):
                wire.recv()  # there is but one thing to say
                watcher.end()
                thread.join(EVERY)
            wire.send(watcher.status)
        wire.send(answer[0])
    except UsageError as problem:
        with suppress(OSError):
            wire.send(UsageError(str(problem)))
    except (EOFError, OSError):
        pass
    wire.close()
    os._exit(0)

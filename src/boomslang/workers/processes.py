"""Workers on this machine: a process for each item, so many at a time.

Each item has a process to itself, from a server that has loaded what it needs (forked.py), so starting one
takes milliseconds. In return nothing is carried over: a limit on memory means the memory of one item, a
solver that does not stop ends with its process, and one that the system kills takes no other item with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

from boomslang.workers import TRIES, Item, Lost, Result
from boomslang.workers.forked import processes


class Processes:
    """So many processes at a time; `preload` names the module that holds the functions they are given."""

    megabytes: float | None = None
    obstacle = ""

    def __init__(self, count: int, *, preload: str) -> None:
        self.count = count
        self.preload = preload
        self.running: dict[Any, tuple[Any, int, Any, int]] = {}
        """Wire -> process, number of the item, the item, workers it has lost."""

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()

    def _drop(self) -> None:
        """What is still running is of no use to anybody."""
        for process, *_rest in self.running.values():
            process.kill()
        for wire, (process, *_rest) in self.running.items():
            process.join()
            wire.close()
        self.running.clear()

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]:
        self._drop()
        context = processes(self.preload)
        fresh = enumerate(items)
        again: deque[tuple[int, Item, int]] = deque()
        while True:
            while len(self.running) < self.count:
                if again:
                    number, item, lost = again.popleft()
                elif (taken := next(fresh, None)) is not None:
                    (number, item), lost = taken, 0
                else:
                    break
                wire, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(theirs, function, item), daemon=True)
                process.start()
                theirs.close()
                self.running[wire] = process, number, item, lost
            if not self.running:
                return
            ready: list[Any] = wait(list(self.running))
            for wire in ready:
                answer: tuple[bool, Any] = (False, None)
                with suppress(EOFError, OSError):
                    answer = wire.recv()
                good, result = answer
                process, number, item, lost = self.running.pop(wire)
                wire.close()
                process.join()
                if good:
                    yield number, result
                elif result is not None:
                    raise result
                elif lost + 1 < TRIES:
                    again.append((number, item, lost + 1))
                else:
                    yield (
                        number,
                        Lost(f"{TRIES} processes died over it, the last one {_how(process.exitcode)}"),
                    )


def _how(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit code {code}"
    names = {one.value: one.name for one in signal.Signals}
    killed = f"by {names.get(-code, f'signal {-code}')}"
    return f"{killed}, most likely for the memory it took" if -code == signal.SIGKILL else killed


def _work(wire: Any, function: Callable[[Any], Any], item: Any) -> None:
    """The body of a process: sends (True, the result) or (False, the exception)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides what Ctrl-C means
    end_with_parent()
    try:
        answer: tuple[bool, Any] = (True, function(item))
    except Exception as error:
        answer = (False, error)
    with suppress(OSError):  # nobody is there any more
        wire.send(answer)
        wire.close()
    os._exit(0)  # threads that nobody waits for may be left


def end_with_parent() -> None:
    """Called in a process that was started: it ends as soon as whoever started it is gone, whatever it is doing then.
    A wire that breaks is noticed only by those who use it, and a search may go on for minutes."""
    threading.Thread(target=_wait_for_parent, daemon=True, name="until the parent ends").start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)

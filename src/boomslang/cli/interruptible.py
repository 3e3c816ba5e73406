"""Work that goes on until somebody has enough of it.

It has a thread of its own, as in progress.py, and the main thread shows how it goes. The first Ctrl-C asks it to come
to an end, with an answer; the second one means now. So does SIGTERM.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from boomslang.cli.progress import STACK, abandoned

T = TypeVar("T")


def in_thread(work: Callable[[], T], show: Callable[[], object], first: Callable[[], None]) -> T:
    """What `work` returns or raises. `show` is called now and then; `first` at the first Ctrl-C; the second passes."""
    results: list[T] = []
    errors: list[BaseException] = []
    over = threading.Event()  # a join that Ctrl-C broke off may take a thread for dead

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    before = threading.stack_size(STACK)
    worker = threading.Thread(target=body, name="boomslang", daemon=True)
    warned = False
    with _terminated_is_interrupted():
        worker.start()
        threading.stack_size(before)
        while not over.is_set():
            try:
                show()
                over.wait(0.2)
            except KeyboardInterrupt:
                if warned:
                    abandoned.append(worker)
                    raise
                warned = True
                first()
    if errors:
        raise errors[0]
    return results[0]


@contextmanager
def _terminated_is_interrupted() -> Iterator[None]:
    """A service manager's SIGTERM, and that of scripts, whose background jobs ignore Ctrl-C, mean the same."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

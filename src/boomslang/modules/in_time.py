"""A module is somebody else's code: it may take for ever. It does not keep the answer waiting for ever.

Where there is a time limit, the module works in a thread of its own and its caller waits no longer than the limit. The
thread is then asked to stop: an exception is raised in it at its next step of Python code. One that is deep in native
code, or catches everything, is left behind; nothing it still does is seen by anybody, for what it was given (an IR, a
read-only ASG) is thrown away with the question. Without a limit it works in the caller's thread, where Ctrl-C finds it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from boomslang.deadline import left
from boomslang.trace.errors import LimitReached

T = TypeVar("T")

TRIES = 5
"""How often a thread is asked to stop: a module may catch what it is asked with."""


class Stopped(SystemExit):
    """Raised in the thread of a module whose time is over. (Python says nothing of a thread that ends with this.)"""


def in_time(name: str, work: Callable[[], T]) -> T:
    """What the work of this module comes to; raises LimitReached if it does not in time."""
    seconds = left()
    if seconds is None:
        return work()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name=f"module {name}", daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    except BaseException:  # Ctrl-C, if this is the main thread
        _stop(thread)
        raise
    if thread.is_alive():
        _stop(thread)
        raise LimitReached(f"the time limit was reached before the module {name} came to an end")
    if errors:
        raise errors[0]
    return results[0]


def _stop(thread: threading.Thread) -> None:
    for _ in range(TRIES):
        if not thread.is_alive() or thread.ident is None:
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        thread.join(0.02)

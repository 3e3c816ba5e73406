"""Loaded by nobody but the server that processes are forked off (see forked.py): it goes without a word.

When the command that it serves has gone in the middle of a request, there is nobody left to tell.
"""

from __future__ import annotations

import sys
from types import TracebackType


def go_quietly(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if not issubclass(kind, EOFError | OSError):
        sys.__excepthook__(kind, error, where)


sys.excepthook = go_quietly

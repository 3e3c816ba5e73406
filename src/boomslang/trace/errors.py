"""What can go wrong while a trace is read.

A verdict on a misread trace is worth nothing, so the reader repairs nothing in silence. Each error names the
file and the line, says what was found and what was expected, and what to do about it.
"""

from __future__ import annotations


class TraceError(ValueError):
    """The input is not a trace. `file` and `line` say where; `line` is 0 if it concerns the whole file.

    Operations that never were in a file (see `TraceBuilder`) have an empty `file`, and `line` counts them.
    """

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(message, file, line)
        self.message = message
        self.file = file
        self.line = line

    def __str__(self) -> str:
        if not self.file:
            return f"operation {self.line}: {self.message}" if self.line else self.message
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class LimitReached(Exception):
    """The time or memory limit was reached before the trace was read; `reason` says which."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

"""One step of a conversation with a database: made before the driver is called, told when it is back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Step:
    """One statement: `done` or `failed` is called when the driver is back."""

    wants_rows = False
    """What is recorded is in the rows; else, if `counts`, in how many there were."""
    counts = False
    sends: str | None = None
    """The text to send in place of the application's: the rows that come back are then ours, not the application's."""
    on_file = False
    """What it may write is in the trace before it is sent."""
    sent = False
    """It failed when the database had answered already."""
    free: Callable[[], None]
    """Lets the next step be made."""

    last: Any = None
    """The key that the database generated for a new row, if the driver tells."""

    def done(self, rows: Any = (), count: int = -1, last: Any = None) -> None:
        """The driver returned."""
        self.last = last
        try:
            self._done(rows, count)
        finally:
            self.free()

    def failed(self, error: BaseException, *, sent: bool = False) -> None:
        """The driver raised this. `sent`: after the database had answered, so the statement itself did not fail."""
        self.sent = sent
        try:
            self._failed(error)
        finally:
            self.free()

    def left_out(self, why: str) -> None:
        """It was done, and what it answered cannot be told."""
        try:
            self._left_out(why)
        finally:
            self.free()

    def _left_out(self, why: str) -> None:
        self._done((), -1)

    def _done(self, rows: Any, count: int) -> None:
        pass

    def _failed(self, error: BaseException) -> None:
        pass


def told_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"

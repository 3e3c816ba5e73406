"""A board that clients write on and the runner reads: how far each is, and what it is to do.

Clients are threads or processes, so the board is shared memory: a few numbers for each client. A number has one
writer at a time (the client; the runner once it is dead), and whoever reads it may read it a moment late; nothing
depends on two numbers fitting together.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

STARTING, READY, RUNNING, DONE, KILLED = range(5)
"""States of a client."""
NOTHING, DIE, CUT = range(3)
"""Orders to a client: leave without a word; lose the connection."""

FIELDS = ("state", "number", "committed", "aborted", "unknown", "inside", "order")
"""`number`: transactions taken from the stream; `inside`: 1 while one is open."""
_GO, _STOP = 0, 1
_HEAD = 2


class Row:
    """One client's numbers."""

    def __init__(self, cells: Any, start: int) -> None:
        self._cells = cells
        self._start = start

    def __getattr__(self, name: str) -> int:
        try:
            return int(self._cells[self._start + FIELDS.index(name)])
        except ValueError:
            raise AttributeError(name) from None

    def set(self, name: str, value: int) -> None:
        self._cells[self._start + FIELDS.index(name)] = value

    def add(self, name: str) -> None:
        self._cells[self._start + FIELDS.index(name)] += 1


class Board:
    """The numbers of all clients, and two that are for everybody: go, and stop."""

    def __init__(self, clients: int, context: Any = multiprocessing) -> None:
        self.clients = clients
        self._cells = context.RawArray("q", _HEAD + clients * len(FIELDS))

    def row(self, client: int) -> Row:
        return Row(self._cells, _HEAD + client * len(FIELDS))

    def rows(self) -> list[Row]:
        return [self.row(n) for n in range(self.clients)]

    def total(self, name: str) -> int:
        return sum(getattr(row, name) for row in self.rows())

    def slowest(self) -> int:
        """Where the last of those that run is in its stream."""
        return min((row.number for row in self.rows() if row.state == RUNNING), default=0)

    @property
    def going(self) -> bool:
        return bool(self._cells[_GO])

    @property
    def stopped(self) -> bool:
        return bool(self._cells[_STOP])

    def go(self) -> None:
        self._cells[_GO] = 1

    def stop(self) -> None:
        self._cells[_STOP] = 1

"""Where pieces of work are done: in processes of this machine, or as tasks on the machines of a cluster.

A piece of work is a function at the top of a module and one item for it; function, items and results can be
pickled, as they travel. `Workers.map` takes items as it has room for them (so a generator may decide late
what is next, or that nothing is), and yields each result with the number of its item, as soon as it is
there. Machines are lost now and then, and processes are killed: an item whose worker is gone is given to
another one, and if it has lost `TRIES` of them its result is `Lost`, for then it is most likely the item's
fault. What becomes of that is the caller's to say; a check calls it *unknown*. An exception of the function
itself is no loss: `map` raises it.

    processes.py    a new process for each item, so many at a time
    ray_cluster.py  a task of Ray for each item; Ray is loaded by nobody else
    forked.py       how processes are made quickly and end without a mess

To spread something else (other solvers' questions, the windows of one trace), write a function of one item
and hand it to `map`; nothing here knows what a trace is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

TRIES = 3
"""How many workers an item may lose before it is given up."""


@dataclass(frozen=True)
class Lost:
    """In place of a result: every worker that took the item was lost."""

    reason: str
    """How the last one went."""


class Workers(Protocol):
    """Whoever does pieces of work. A context manager: what it started ends with it, finished or not."""

    megabytes: float | None
    """What an item may use, if they say so."""

    @property
    def obstacle(self) -> str:
        """Why nothing may ever come of what they are given, as things are; else nothing."""
        ...

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[int, Result | Lost]]: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...

"""Faults on request: clients killed, connections cut, the server killed and started again, in the middle of it all.

`kill-client=3` kills three clients, spread over the run: at a quarter, a half and three quarters of its transactions.
A client that is a process gets SIGKILL; one that is a thread (of an embedded database) stops where it is. Another
client takes its place, with a session of its own, and goes on with its stream. What a fault leaves open stays
unknown in the trace; the recorder sees to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boomslang.databases.database import Database
from boomslang.errors import UsageError

KILL_CLIENT, KILL_SERVER, CUT_CONNECTION = "kill-client", "kill-server", "cut"
KINDS = (KILL_CLIENT, KILL_SERVER, CUT_CONNECTION)


@dataclass(frozen=True)
class Fault:
    """One fault, and when."""

    kind: str
    after: int
    """How many of the run's transactions have begun by then."""


def parse_faults(words: Sequence[str]) -> dict[str, int]:
    """`kill-client=3`, `cut` and the like, as a number of each kind."""
    asked: dict[str, int] = {}
    for word in words:
        kind, given, count = word.partition("=")
        if kind not in KINDS or (given and (not count.isascii() or not count.isdecimal())):
            raise UsageError(
                f"found the fault {word!r}; expected one of {', '.join(KINDS)}, with how often: {KILL_CLIENT}=3"
            )
        asked[kind] = asked.get(kind, 0) + (int(count) if given else 1)
    return {kind: count for kind, count in asked.items() if count}


def check_faults(faults: dict[str, int], database: Database) -> None:
    """Raises if the database cannot have them."""
    if KILL_SERVER in faults and getattr(database, "server", None) is None:
        raise UsageError(
            f"{database.title} here has no server that could be killed: only one that Boomslang has started can be"
        )
    if CUT_CONNECTION in faults:
        connection = database.connect()
        connection.close()
        if not hasattr(connection, "cut"):
            raise UsageError(f"connections of {database.title} cannot be cut: there is no wire")


def schedule(faults: dict[str, int], transactions: int) -> list[Fault]:
    """When which fault comes, evenly spread."""
    found = [
        Fault(kind, transactions * (n + 1) // (count + 1))
        for kind, count in faults.items()
        for n in range(count)
    ]
    return sorted(found, key=lambda fault: fault.after)

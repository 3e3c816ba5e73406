"""Faults on request: clients killed, connections cut, the server killed and started again, in the middle of it all.

`kill-client=3` kills three clients, spread over the run: at a quarter, a half and three quarters of its transactions,
or of its time, if it has a limit of time and that comes first.
A client that is a process gets SIGKILL; one that is a thread (of an embedded database) stops where it is. Another
client takes its place, with a session of its own, and goes on with its stream. What a fault leaves open stays
unknown in the trace; the recorder sees to that.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from boomslang.databases.database import Connection, Database
from boomslang.errors import UsageError, did_you_mean

KILL_CLIENT, KILL_SERVER, CUT_CONNECTION = "kill-client", "kill-server", "cut"
KINDS = (KILL_CLIENT, KILL_SERVER, CUT_CONNECTION)
NONE = "none"


@dataclass(frozen=True)
class Fault:
    """One fault, and when."""

    kind: str
    after: int
    """How many of the run's transactions have begun by then."""
    share: float
    """How much of the run's time is over by then, if it has a limit of time."""


def parse_faults(words: Sequence[str]) -> dict[str, int]:
    """`kill-client=3`, `cut` and the like, as a number of each kind."""
    asked: dict[str, int] = {}
    for word in words:
        if word == NONE:
            continue
        kind, given, count = word.partition("=")
        if kind not in KINDS or (given and (not count.isascii() or not count.isdecimal())):
            meant = "" if kind in KINDS else did_you_mean(kind, KINDS)
            raise UsageError(
                f"found the fault {word!r}{meant}; expected one of {', '.join(KINDS)}, "
                f"with how often: {KILL_CLIENT}=3; or {NONE}"
            )
        asked[kind] = asked.get(kind, 0) + (int(count) if given else 1)
    return {kind: count for kind, count in asked.items() if count}


def check_faults(faults: dict[str, int], database: Database) -> None:
    """Raises if the database cannot have them."""
    server = getattr(database, "server", None)
    if KILL_SERVER in faults and hasattr(server, "nodes"):
        raise UsageError(
            f"{database.title} is a cluster; expected --faults 'at 5s kill node1 for 2s' instead"
        )
    if KILL_SERVER in faults and server is None:
        raise UsageError(
            f"{database.title} here has no server that could be killed: only one that Boomslang has started can be"
        )
    if CUT_CONNECTION in faults:
        connection = database.connect()
        cuttable = wire(connection) is not None
        connection.close()
        if not cuttable:
            raise UsageError(f"connections of {database.title} cannot be cut: there is no wire")


def possible_faults(database: Database) -> tuple[str, ...]:
    """Those that a run on this database may have, a few of each kind, as `parse_faults` reads them."""
    found = [f"{KILL_CLIENT}=2", f"{CUT_CONNECTION}=4", f"{KILL_SERVER}=1"]
    return tuple(each for each in found if _possible(each, database))


def _possible(fault: str, database: Database) -> bool:
    try:
        check_faults(parse_faults([fault]), database)
    except UsageError:
        return False
    return True


def wire(connection: Connection) -> Callable[[], None] | None:
    """How to break a connection from outside, whatever it is doing; None if it has no wire.

    A connection may know itself (`cut`). Else its driver's socket is looked for, and shut down: both ends see the
    connection end, as with a cable that is pulled out, and nobody's data structures are touched.
    """
    own: Callable[[], None] | None = getattr(connection, "cut", None)
    if own is not None:
        return own
    for driver in vars(connection).values():
        socket_of = getattr(driver, "_sock", None) or driver  # PyMySQL keeps its socket there
        if callable(getattr(socket_of, "fileno", None)):
            return partial(_shut_down, socket_of)
    return None


def _shut_down(driver: Any) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as end:  # else it is gone already
        end.shutdown(socket.SHUT_RDWR)


def schedule(faults: dict[str, int], transactions: int) -> list[Fault]:
    """When which fault comes, evenly spread."""
    found = [
        Fault(kind, transactions * (n + 1) // (count + 1), (n + 1) / (count + 1))
        for kind, count in faults.items()
        for n in range(count)
    ]
    return sorted(found, key=lambda fault: fault.after)

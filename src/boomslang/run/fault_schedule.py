"""Faults of a cluster's nodes, at times that were said: `at 10s pause node2 for 5s; at 20s kill node1 for 3s`.

| fault | what happens |
| --- | --- |
| pause | its processes are stopped, and go on afterwards as if no time had passed |
| slow | its processes run for a tenth of the time |
| kill | its processes are killed at once, and it is started again on its data |
| cut | it is cut off from the other nodes; its clients reach it still |
| clock | its time of day is moved, and moved back: `at 5s clock node2 by -1h for 10s` |

Each has an end. Whatever is still going on when the run is over is ended then, the cluster is waited for until every
node takes part again, and everything is read once more from each of them: what was lost on the way shows.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boomslang.databases.database import Database
from boomslang.errors import UsageError
from boomslang.record.tracer import clock_name

KINDS = ("pause", "slow", "kill", "cut")
CLOCK = "clock"
_END = {"pause": "resume", "slow": "hurry", "kill": "restart", "cut": "join"}
"""What ends a fault, as `boomslang.databases.servers.Cluster` calls it."""
HEALED = 150.0
"""Seconds in which a cluster must be whole again."""
_TIME = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
_FAULT = re.compile(rf"at {_TIME} ({'|'.join(KINDS)}) node(\d+) for {_TIME}")
_MOVED = re.compile(rf"at {_TIME} ({CLOCK}) node(\d+) by ([+-]){_TIME} for {_TIME}")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Scheduled:
    """One fault of a node."""

    kind: str
    node: int
    """From 0."""
    at: float
    lasts: float
    by: float = 0.0
    """Seconds that a clock is moved."""

    def __str__(self) -> str:
        by = f" by {self.by:+.12g}s" if self.by else ""
        return f"at {self.at:g}s {self.kind} node{self.node + 1}{by} for {self.lasts:g}s"


def parse_schedule(text: str) -> tuple[Scheduled, ...]:
    """The faults of a line, in order of their beginnings."""
    found = []
    for part in filter(None, (" ".join(part.split()) for part in text.split(";"))):
        moved = _MOVED.fullmatch(part)
        said = moved or _FAULT.fullmatch(part)
        if said is None or int(said[4]) < 1:
            raise UsageError(
                f"found {part!r} in --faults; expected 'at TIME {'|'.join(KINDS)} nodeN for TIME', such as "
                "'at 10s pause node2 for 5s', or 'at 10s clock node2 by -1h for 5s', and ; between several"
            )
        at, lasts = (float(said[n]) * _UNITS[said[n + 1]] for n in (1, 8 if moved else 5))
        by = float(moved[5] + moved[6]) * _UNITS[moved[7]] if moved else 0.0
        found.append(Scheduled(said[3], int(said[4]) - 1, at, lasts, by))
    return tuple(sorted(found, key=lambda fault: fault.at))


def check_schedule(faults: Sequence[Scheduled], database: Database) -> None:
    """Raises if the database cannot have them."""
    if not faults:
        return
    cluster: Any = getattr(database, "server", None)
    if not hasattr(cluster, "nodes"):
        raise UsageError(
            f"{database.title} here has no nodes that could have --faults: only a cluster that Boomslang has started "
            "has (etcd, galera, postgres-replica)"
        )
    for fault in faults:
        if fault.node >= len(cluster.nodes):
            raise UsageError(
                f"found {str(fault)!r} in --faults; {database.title} has {len(cluster.nodes)} nodes"
            )
        if fault.kind == CLOCK and not cluster.clocks:
            raise UsageError(
                f"found {str(fault)!r} in --faults; the clock of {database.title} cannot be moved here"
            )
        if fault.kind == "cut" and not cluster.cuts:
            raise UsageError(
                f"found {str(fault)!r} in --faults; nodes of {database.title} cannot be cut off here"
            )


def possible_schedules(database: Database) -> tuple[str, ...]:
    """Short faults that a hunt may try on a cluster that was started here: one node, one second. (Killed nodes take
    longer to come back than most runs last.)"""
    cluster: Any = getattr(database, "server", None)
    nodes = range(len(getattr(cluster, "nodes", ())))
    found = [(Scheduled(kind, node, 0.5, 1.0),) for node in nodes for kind in ("pause", "slow", "cut")]
    return tuple(str(each[0]) for each in found if _possible(each, database))


def _possible(faults: Sequence[Scheduled], database: Database) -> bool:
    try:
        check_schedule(faults, database)
    except UsageError:
        return False
    return True


class Trouble:
    """Makes the faults of a schedule, each in a thread of its own, and ends them."""

    def __init__(self, faults: Sequence[Scheduled], cluster: Any) -> None:
        self.waiting = list(faults)
        self.cluster = cluster
        self.happened: list[tuple[float, str]] = []
        """Seconds since the start, and what happened then."""
        self.spans: list[dict[str, Any]] = []
        """Each fault with its beginning and end on the clock that sessions are recorded by, for reports."""
        self.problems: list[str] = []
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._start = time.monotonic()

    def prepare(self) -> None:
        """What must be done before the load: nodes whose clocks will be moved start anew."""
        if moved := {fault.node for fault in self.waiting if fault.kind == CLOCK}:
            self.cluster.give_clocks(moved)

    def begin(self) -> None:
        self._start = time.monotonic()
        self._threads = [
            threading.Thread(target=self._make, args=(fault,), daemon=True) for fault in self.waiting
        ]
        for thread in self._threads:
            thread.start()

    def _make(self, fault: Scheduled) -> None:
        if self._over.wait(max(0.0, self._start + fault.at - time.monotonic())):
            self.problems.append(f"a fault was not made: {fault}: the run was over")
            return
        began = time.monotonic_ns()
        if fault.kind == CLOCK:
            self._do("move_clock", fault.node, fault.by)
            self._over.wait(fault.lasts)
            self._do("move_clock", fault.node, 0.0)
        else:
            self._do(fault.kind, fault.node)
            self._over.wait(fault.lasts)
            self._do(_END[fault.kind], fault.node)
        what = f"{fault.kind} node{fault.node + 1}" + (f" by {fault.by:+.12g}s" if fault.by else "")
        self.spans.append({"what": what, "clock": clock_name(), "from": began, "to": time.monotonic_ns()})

    def _do(self, what: str, node: int, *by: float) -> None:
        said = f"{what} node{node + 1}" if not by else f"clock node{node + 1} {by[0]:+.12g}s"
        self.happened.append((time.monotonic() - self._start, said))
        try:
            getattr(self.cluster, what)(node, *by)
        except Exception as error:
            self.problems.append(f"{what} node{node + 1}: {error}")

    def heal(self) -> None:
        """Ends what is still going on, and waits until the cluster is whole."""
        self._over.set()
        end = time.monotonic() + HEALED
        for thread in self._threads:
            thread.join(max(0.1, end - time.monotonic()))
        while not self.cluster.healthy():
            try:
                for node, words in self.cluster.revive().items():
                    self.problems.append(
                        f"node{node + 1} had ended by itself, and was started again; its last words: {words}"
                    )
            except Exception as error:
                self.problems.append(f"a node did not come back: {error}")
            if time.monotonic() > end:
                self.problems.append(f"the cluster was not whole again within {HEALED:.0f} s")
                return
            time.sleep(0.1)
        self.happened.append((time.monotonic() - self._start, "whole again"))

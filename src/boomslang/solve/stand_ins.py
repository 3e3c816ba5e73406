"""Stand-ins: an order along the clock in which transactions take the places of others like them.

Two clients took the stock from 5 to 4 at the same time, so one of them is one too many. If it was 5 again a moment
later, the second may go there, in the place of whoever took it from 5 then; who in turn goes where it was 5 next, and
so on to the end. What the keys held is at all times just what the clock says; only who did it is another. So: go along
the clock, and whenever the turn of a transaction has come and its reads match, its place goes to the one that has
waited longest of those that read and wrote the same (earliest deadline first; Jackson, "Scheduling a production line to
minimize maximum tardiness", 1955). Within a bound of real time nobody waits longer than that, which walks from value
to value (trails.py) know nothing of.

It is a guess that the engine replays, so it can only say *valid*; finding nothing says nothing. The order is serial,
and snapshots and weaker levels are content with that.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, PRESENT, UNKNOWN_INITIAL
from boomslang.distinct import distinct
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve.departures import spread
from boomslang.solve.native import begin_priorities, priorities
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.trails import MOST_LEFT, replayed
from boomslang.trace.model import ABSENT

Int64 = NDArray[np.int64]

MOST_KINDS = 0.7
"""Of each transaction: where they are hardly ever alike, nobody stands in for anybody."""
MOST_WAITING = 64
"""If more than these have missed their turn, other orders are called for."""
FOREVER = 1 << 63


def solve_stand_ins(ir: IR, limits: Limits) -> Solution | None:
    """A valid answer, if stand-ins give one. None says nothing."""
    asg = ir.asg
    if not (asg.trace.has_times or len(asg.trace.files) == 1) or len(asg.lists.of):
        return None
    if (asg.initial[asg.read_key] == UNKNOWN_INITIAL).any():
        return None
    kinds = _kinds(asg)
    if len(distinct(kinds)) > MOST_KINDS * len(kinds):
        return None
    walk = _Walk(ir, kinds.tolist())
    if not walk.run():
        return None
    left = np.array(list(walk.waiting), np.int32)
    return replayed(ir, np.array(walk.order, np.int32), left, limits, walk.last_fit(asg))


class _Walk:
    """One way along the clock, with no second thoughts."""

    def __init__(self, ir: IR, kinds: list[int]) -> None:
        asg, n = ir.asg, ir.asg.transactions
        self.reads: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        self.writes: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        for what, columns in (
            (self.reads, (asg.read_txn, asg.read_key, asg.read_value)),
            (self.writes, (asg.write_txn, asg.write_key, asg.write_value)),
        ):
            for t, key, value in zip(*(column.tolist() for column in columns), strict=True):
                what[t].append((key, value))
        self.begin: list[int] = begin_priorities(asg).tolist()
        self.end: list[int] = priorities(asg).tolist()
        self.slack = ir.level.slack if ir.level.needs_times else FOREVER
        self.before: dict[int, int] = {}
        if ir.level.has(Dependency.SO):
            self.before = {b: a for a, b in zip(*(x.tolist() for x in asg.session_edges()), strict=True)}
        self.turns = _by_the_clock(asg, self.end)
        self.like = self._alike(kinds)
        self.values: list[int] = asg.initial.tolist()
        self.placed = [False] * n
        self.longest = 0
        self.order: list[int] = []
        self.waiting: dict[int, None] = {}

    def _alike(self, kinds: list[int]) -> dict[int, deque[int]]:
        """Of each transaction, those that read and wrote the same, itself included; by the clock."""
        of_kind: dict[int, deque[int]] = {}
        found = {t: of_kind.setdefault(kinds[t], deque()) for t in self.turns}
        for t in self.turns:
            found[t].append(t)
        return found

    def run(self) -> bool:
        """False if too many miss their turn."""
        for t in self.turns:
            if not self.placed[t]:
                self.waiting[t] = None
            if self._fits(t) and (who := self._stand_in(t)) is not None:
                self._put(who)
            self._take_in(self.begin[t])
            if len(self.waiting) > MOST_WAITING:
                return False
        self._take_in(-FOREVER)
        return len(self.waiting) <= MOST_LEFT

    def last_fit(self, asg: ASG) -> Int64:
        """Of each that still waits: after how many others its reads matched for the last time. A snapshot may be from
        there, and the commit later."""
        self.values = asg.initial.tolist()
        found = dict.fromkeys(self.waiting, 0)
        for place, t in enumerate(self.order, 1) if found else ():
            for key, value in self.writes[t]:
                self.values[key] = value
            found |= {u: place for u in found if self._fits(u)}
        return np.array(list(found.values()), np.int64)

    def _stand_in(self, t: int) -> int | None:
        """Who takes the place of t: the first by the clock that may."""
        alike = self.like[t]
        while alike and self.placed[alike[0]]:
            alike.popleft()
        for u in alike:
            if self.begin[u] > self.end[t] + self.slack:
                return None
            if self._may(u):
                return u
        return None

    def _take_in(self, since: int) -> None:
        """Those who wait, were under way then, and see what they saw."""
        placed = True
        while placed:
            placed = False
            for u in list(self.waiting):
                if self.end[u] >= since and self._fits(u) and self._may(u):
                    self._put(u)
                    placed = True

    def _put(self, t: int) -> None:
        self.placed[t] = True
        self.waiting.pop(t, None)
        self.order.append(t)
        for key, value in self.writes[t]:
            self.values[key] = value

    def _fits(self, t: int) -> bool:
        return all(
            seen == self.values[key] or (seen == PRESENT and self.values[key] > ABSENT)
            for key, seen in self.reads[t]
        )

    def _may(self, t: int) -> bool:
        """Is nobody missing who must come before it?"""
        if self.placed[t] or (t in self.before and not self.placed[self.before[t]]):
            return False
        while self.longest < len(self.turns) and self.placed[self.turns[self.longest]]:
            self.longest += 1
        first = self.turns[self.longest]
        return first == t or self.begin[t] <= self.end[first] + self.slack


def _kinds(asg: ASG) -> NDArray[np.uint64]:
    """Of each transaction a number that is that of those who read and wrote the same: a sum over what it did, each
    deed a number that is spread out. (Two that are confused cost an order, no more.)"""
    values = np.int64(len(asg.trace.values) + 8)
    read = (asg.read_key * values + asg.read_value + 4) * 2
    wrote = (asg.write_key * values + asg.write_value + 4) * 2 + 1
    kinds = np.zeros(asg.transactions, np.uint64)
    np.add.at(kinds, asg.read_txn, spread(read.astype(np.int64)))
    np.add.at(kinds, asg.write_txn, spread(wrote.astype(np.int64)))
    return kinds


def _by_the_clock(asg: ASG, end: list[int]) -> list[int]:
    return sorted(np.flatnonzero(asg.state == IN).tolist(), key=lambda t: end[t])

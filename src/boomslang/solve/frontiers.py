"""Frontiers: how far each session can have come. Where session order counts and values repeat, all ways are few.

With session order a serial order takes, one after the other, the next transaction of some session. So where it stands
is told by how far each session has come and by what the keys hold: a *frontier*. From there only those sessions can go
on whose next transaction sees what it saw; counters, flags and states leave few of them. So visit all frontiers that
can be reached, each once. If one is the end of all sessions, the way there is the order. If none is, there is no serial
order, and the sentence is "at most 526 of the 1,000 transactions find a place, then every session waits". A search that
learns from its conflicts sees each value's many candidates and finds neither. (Orders of concurrent histories are
checked so since Wing and Gong, "Testing and verifying concurrent objects", 1993; that few sessions make it feasible is
the point of Biswas and Enea, "On the complexity of checking transactional consistency", OOPSLA 2019.)

Whoever only looks, and sees what it saw, goes at once: it changes nothing and lets its session go on. Within a bound of
real time nobody goes who was invoked more than that after another one had returned that has no place yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np

from boomslang.asg.graph import ASG, IN, OUT, PRESENT, UNKNOWN_INITIAL, unsettled
from boomslang.certify.proof import StuckSessions
from boomslang.distinct import distinct, union
from boomslang.ir.model import IR
from boomslang.levels.laws import State, ranges_count, state_law
from boomslang.levels.level import Dependency
from boomslang.solve.repeated import aborted_writers
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT, NO_TIME, Outcome

MOST_FRONTIERS = 100_000
MOST_SESSIONS, MOST_KEYS = 64, 64
NEVER = 1 << 64

Frontier = tuple[tuple[int, ...], tuple[int, ...]]
"""How many of each session have their place, and what each key holds."""


def solve_frontiers(ir: IR, limits: Limits) -> Solution | None:
    """Valid with an order, or invalid with a proof. None: it does not apply, or there are too many frontiers."""
    sessions = _sessions(ir)
    if sessions is None:
        return None
    walk = _Frontiers(ir, sessions)
    end = walk.visit(limits)
    if end is not None:
        from boomslang.solve.trails import replayed

        order = np.array(walk.way_to(end), np.int32)
        return replayed(ir, order, np.zeros(0, np.int32), limits)
    return walk.refutation() if walk.exhausted else None


def _sessions(ir: IR) -> list[list[int]] | None:
    """The transactions of each session, in their order; None if a frontier would not tell all that matters."""
    asg, level = ir.asg, ir.level
    if not level.has(Dependency.SO) or state_law(level) is not State.SERIAL or not ranges_count(level):
        return None
    if asg.modules or ir.superpositions or ir.expressions or len(asg.lists.of) or asg.keys > MOST_KEYS:
        return None
    if (unsettled(asg) == UNKNOWN_INITIAL).any() or not asg.ordered.all():
        return None
    inside = np.flatnonzero(asg.state != OUT)
    if (asg.state[inside] != IN).any() or (asg.outcome[inside] != Outcome.COMMITTED).any():
        return None  # session order goes past them
    after = dict(zip(*(x.tolist() for x in asg.session_edges()), strict=True))
    behind = set(after.values())
    found = []
    for t in inside.tolist():
        if t not in behind:
            found.append([t])
            while found[-1][-1] in after:
                found[-1].append(after[found[-1][-1]])
    if not 0 < len(found) <= MOST_SESSIONS:
        return None
    return found if not level.needs_times or _by_one_clock(asg, found) else None


def _by_one_clock(asg: ASG, sessions: list[list[int]]) -> bool:
    """Have all a time of one clock, which goes forward in each session?"""
    trace = asg.trace
    ids = asg.txn_of[np.array([t for session in sessions for t in session], np.int64)]
    if len(distinct(trace.txn_clock[ids])) > 1:
        return False
    begin, end = trace.txn_begin[ids], trace.txn_end[ids]
    if (begin == NO_TIME).any() or (end == NO_TIME).any():
        return False
    last = np.cumsum([len(session) for session in sessions])[:-1] - 1
    forward = np.diff(end) >= 0
    forward[last] = True
    return bool(forward.all())


@dataclass
class _Step:
    """Who may go next from a frontier, and who has been tried."""

    here: Frontier
    moves: list[int]
    tried: int = 0


class _Frontiers:
    def __init__(self, ir: IR, sessions: list[list[int]]) -> None:
        asg = ir.asg
        self.asg, self.level, self.sessions = asg, ir.level, sessions
        self.slack = ir.level.slack if ir.level.needs_times else NEVER
        self.begin = asg.trace.txn_begin[asg.txn_of].tolist()
        self.end = asg.trace.txn_end[asg.txn_of].tolist()
        self.reads: list[list[tuple[int, int]]] = [[] for _ in range(asg.transactions)]
        self.writes: list[list[tuple[int, int]]] = [[] for _ in range(asg.transactions)]
        for what, columns in (
            (self.reads, (asg.read_txn, asg.read_key, asg.read_value)),
            (self.writes, (asg.write_txn, asg.write_key, asg.write_value)),
        ):
            for t, key, value in zip(*(column.tolist() for column in columns), strict=True):
                what[t].append((key, value))
        self.came_from: dict[Frontier, Frontier | None] = {}
        self.furthest: Frontier = ((), ())
        self.exhausted = False

    def visit(self, limits: Limits) -> Frontier | None:
        """All that can be reached; or up to the end of all sessions: then that. `exhausted` says that all were."""
        stop = None if limits.seconds is None else monotonic() + limits.seconds
        first = self._lookers((0,) * len(self.sessions), tuple(self.asg.initial.tolist()))
        self.came_from[first] = None
        self.furthest = first
        steps = [_Step(first, self._moves(first))]
        whole = sum(map(len, self.sessions))
        while steps:
            step = steps[-1]
            if sum(step.here[0]) == whole:
                return step.here
            if step.tried == len(step.moves):
                steps.pop()
                continue
            step.tried += 1
            new = self._after(step.here, step.moves[step.tried - 1])
            if new in self.came_from:
                continue
            self.came_from[new] = step.here
            if sum(new[0]) > sum(self.furthest[0]):
                self.furthest = new
            if len(self.came_from) > MOST_FRONTIERS:
                return None
            if len(self.came_from) % 256 == 0 and stop is not None and monotonic() > stop:
                return None
            steps.append(_Step(new, self._moves(new)))
        self.exhausted = True
        return None

    def way_to(self, end: Frontier) -> list[int]:
        """The order that led there."""
        steps = []
        here: Frontier | None = end
        while here is not None:
            steps.append(here)
            here = self.came_from[here]
        order, done = [], [0] * len(self.sessions)
        for places, _ in reversed(steps):
            new = [
                self.sessions[s][i]
                for s, (low, high) in enumerate(zip(done, places, strict=True))
                for i in range(low, high)
            ]
            # Of those that came at one step, whoever writes was first; then those who look, by the clock if it counts.
            timed = self.level.needs_times
            order += sorted(new, key=lambda t: (not self.writes[t], self.end[t] if timed else 0))
            done = list(places)
        return order

    def refutation(self) -> Solution:
        asg, (places, _) = self.asg, self.furthest
        waiting = [session[i] for session, i in zip(self.sessions, places, strict=True) if i < len(session)]
        proof = StuckSessions(len(self.came_from), sum(places), tuple(sorted(asg.txn_of[waiting].tolist())))
        reached = [max(column) for column in zip(*(places for places, _ in self.came_from), strict=True)]
        had_turn = np.zeros(asg.transactions, bool)
        for session, last in zip(self.sessions, reached, strict=True):
            had_turn[session[: last + 1]] = True
        reads = np.flatnonzero(had_turn[asg.read_txn]).astype(np.int64)
        everybody = np.array([t for session in self.sessions for t in session], np.int64)
        transactions = union(everybody, aborted_writers(asg, reads))
        return Solution("invalid", core_transactions=transactions, core_reads=reads, proof=proof)

    # --- from a frontier to the next

    def _next(self, places: tuple[int, ...] | list[int]) -> list[tuple[int, int]]:
        """Of each session that has not ended, the next transaction."""
        pairs = enumerate(zip(self.sessions, places, strict=True))
        return [(s, session[i]) for s, (session, i) in pairs if i < len(session)]

    def _in_time(self, nexts: list[tuple[int, int]]) -> int:
        """Nobody may go yet who was invoked after this."""
        return min((self.end[t] for _, t in nexts), default=0) + self.slack

    def _moves(self, here: Frontier) -> list[int]:
        """Sessions that can go on; the likely ones first."""
        nexts = self._next(here[0])
        latest = self._in_time(nexts)
        able = [(self.end[t], s) for s, t in nexts if self.begin[t] <= latest and self._fits(t, here[1])]
        return [s for _, s in sorted(able)]

    def _after(self, here: Frontier, session: int) -> Frontier:
        places, values = list(here[0]), list(here[1])
        for key, value in self.writes[self.sessions[session][places[session]]]:
            values[key] = value
        places[session] += 1
        return self._lookers(tuple(places), tuple(values))

    def _lookers(self, places: tuple[int, ...], values: tuple[int, ...]) -> Frontier:
        """The frontier once all have gone who only look and see what they saw."""
        now = list(places)
        while True:
            nexts = self._next(now)
            latest = self._in_time(nexts)
            free = [
                s for s, t in nexts
                if not self.writes[t] and self.begin[t] <= latest and self._fits(t, values)
            ]  # fmt: skip
            if not free:
                return tuple(now), values
            for s in free:
                now[s] += 1

    def _fits(self, t: int, values: tuple[int, ...]) -> bool:
        return all(
            seen == values[key] or (seen == PRESENT and values[key] > ABSENT) for key, seen in self.reads[t]
        )

"""A sweep along the clock: the order in real time of a trace whose values say little.

At any moment only a few transactions are under way. Go through invocations and returns as the clock has them: until a
transaction returns it must have had its place, so what is to be decided at a return is who of those under way goes
before it. Where that leads nowhere, go back to the last choice; and remember who was where with which values, for
another way to the same place leads nowhere, too. That is how linearizability is checked (Wing and Gong, "Testing and
verifying concurrent objects", 1993; Lowe, "Testing for linearizability", 2017, whose just-in-time rule says that
nobody needs a place before somebody returns), with begin and commit as two places at snapshot isolation.

The engine repairs one order of the whole trace, which takes ever more moves the longer a trace is in which each value
has a thousand writers. This takes the same for each transaction, wherever it stands. It finds an order in real time, or
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from boomslang.asg.graph import ASG, IN, INITIAL, PRESENT, UNKNOWN_INITIAL
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT, NO_TIME, Outcome

MOST_UNDER_WAY = 64
PLACES, PLACES_PER_TRANSACTION = 20_000, 30
"""That may be tried, in all."""
WAITING, BEGUN, DONE = 0, 1, 2


def sweep(ir: IR, limits: Limits) -> Solution | None:
    """An order in real time, with the session order that the level asks for. None says nothing."""
    asg = ir.asg
    used = asg.read_key[asg.state[asg.read_txn] == IN]
    if asg.modules or ir.superpositions or ir.expressions or ir.level.once is not None or len(asg.lists.of):
        return None
    if not asg.trace.has_times or (asg.initial[used] == UNKNOWN_INITIAL).any():
        return None
    events = _events(asg)
    if events is None:
        return None
    found = _Sweep(asg, ir.graph.points, ir.level.has(Dependency.SO), events, limits)
    return found.solution() if found.run() else None


def _events(asg: ASG) -> list[tuple[int, bool]] | None:
    """Who was invoked, and who returned (True), as the clock has it; None if there are several clocks, or too many
    under way at a time. A return orders what is invoked after it, and not what is invoked just then."""
    trace, txns = asg.trace, np.flatnonzero(asg.state == IN)
    ids = asg.txn_of[txns]
    begin, end = trace.txn_begin[ids], trace.txn_end[ids]
    loose = ~asg.ordered[txns]
    early, late = loose | (begin == NO_TIME), loose | (end == NO_TIME)
    late |= asg.outcome[txns] != Outcome.COMMITTED
    timed = ~(early & late)
    if len(np.unique(trace.txn_clock[ids][timed])) > 1:
        return None
    who = np.concatenate([txns, txns])
    back = np.repeat([False, True], len(txns))
    when = np.concatenate([begin, end])
    stage = np.where(np.concatenate([early, late]), np.where(back, 2, 0), 1)
    by = np.lexsort((back, when, stage))
    under_way = np.cumsum(np.where(back[by], -1, 1))
    if len(under_way) and under_way.max() > MOST_UNDER_WAY:
        return None
    return list(zip(who[by].tolist(), back[by].tolist(), strict=True))


@dataclass
class _Choice:
    """What may be placed next, and how far things were."""

    moves: list[int]
    event: int
    placed: int
    place: tuple[object, ...]
    tried: int = 0


@dataclass
class _Sweep:
    asg: ASG
    points: int
    sessions: bool
    events: list[tuple[int, bool]]
    limits: Limits
    order: list[int] = field(default_factory=list)
    """Transactions, each once, or when it begins and when it commits."""

    def __post_init__(self) -> None:
        asg = self.asg
        self.reads: list[list[tuple[int, int]]] = [[] for _ in range(asg.transactions)]
        columns = (asg.read_txn.tolist(), asg.read_key.tolist(), asg.read_value.tolist())
        for t, key, value in zip(*columns, strict=True):
            self.reads[t].append((key, value))
        self.writes: list[dict[int, int]] = [{} for _ in range(asg.transactions)]
        columns = (asg.write_txn.tolist(), asg.write_key.tolist(), asg.write_value.tolist())
        for t, key, value in zip(*columns, strict=True):
            self.writes[t][key] = value
        self.before: dict[int, int] = {}
        if self.sessions:
            self.before = {b: a for a, b in zip(*(x.tolist() for x in asg.session_edges()), strict=True)}
        self.values: list[int] = asg.initial.tolist()
        self.status = [WAITING] * asg.transactions
        self.under_way: dict[int, None] = {}
        self.undo: list[list[tuple[int, int]]] = []
        self.mixed = 0
        self.event = 0

    def run(self) -> bool:
        """Is there an order? Then `order` is it."""
        budget = PLACES + PLACES_PER_TRANSACTION * self.asg.transactions
        stop = None if self.limits.seconds is None else monotonic() + self.limits.seconds
        dead: set[tuple[object, ...]] = set()
        choices: list[_Choice] = []
        while True:
            if (returning := self._go_on()) is None:
                return True
            place = self._place()
            moves = [] if place in dead else list(dict.fromkeys(self._moves(returning)))
            choices.append(_Choice(moves, self.event, len(self.order), place))
            while choices[-1].tried == len(choices[-1].moves):  # it leads nowhere
                dead.add(choices.pop().place)
                if not choices:
                    return False
                self._go_back(choices[-1])
            choice = choices[-1]
            choice.tried += 1
            self._put(choice.moves[choice.tried - 1])
            budget -= 1
            if budget < 0 or (budget % 256 == 0 and stop is not None and monotonic() > stop):
                return False

    def solution(self) -> Solution:
        """The order that was found, as an answer."""
        asg = self.asg
        writer = [INITIAL] * asg.keys
        read_writer = np.full(len(asg.read_key), -2, np.int32)
        nodes, begun = [], set()
        for t in self.order:
            if t not in begun:
                begun.add(t)
                nodes.append(self.points * t)
                low, high = int(asg.read_start[t]), int(asg.read_start[t + 1])
                read_writer[low:high] = [writer[key] for key in asg.read_key[low:high].tolist()]
                if self.points == 2 and self.writes[t]:
                    continue
            for key in self.writes[t]:
                writer[key] = t
            if self.points == 2:
                nodes.append(2 * t + 1)
        order = np.array(nodes, np.int64)
        return Solution(
            "valid",
            order=order,
            read_writer=read_writer.astype(np.int64),
            initial=asg.initial.astype(np.int64),
        )

    # --- forth and back

    def _go_on(self) -> int | None:
        """To the next return of one that has no place yet: that one; None at the end."""
        while self.event < len(self.events):
            t, returns = self.events[self.event]
            if not returns:
                self.under_way[t] = None
            elif self.status[t] != DONE:
                return t
            else:
                del self.under_way[t]
            self.event += 1
        return None

    def _go_back(self, choice: _Choice) -> None:
        while self.event > choice.event:
            self.event -= 1
            t, returns = self.events[self.event]
            if returns:
                self.under_way[t] = None
            else:
                del self.under_way[t]
        while len(self.order) > choice.placed:
            t = self.order.pop()
            for key, old in self.undo.pop():
                self._set(key, old)
            both = self.points == 1 or not self.writes[t]
            self.status[t] = WAITING if both or self.status[t] == BEGUN else BEGUN

    def _put(self, t: int) -> None:
        """Begins it; or commits it, if it has begun. Both at once, where nothing can be in between that matters."""
        self.order.append(t)
        changes: list[tuple[int, int]] = []
        if self.points == 2 and self.writes[t] and self.status[t] == WAITING:
            self.status[t] = BEGUN
        else:
            self.status[t] = DONE
            for key, value in self.writes[t].items():
                changes.append((key, self.values[key]))
                self._set(key, value)
        self.undo.append(changes)

    def _set(self, key: int, value: int) -> None:
        self.mixed ^= hash((key, self.values[key])) ^ hash((key, value))
        self.values[key] = value

    def _place(self) -> tuple[object, ...]:
        """Who was where, with which values. (Values through a hash: two that are confused cost an order, no more.)"""
        there = tuple(sorted((t, self.status[t]) for t in self.under_way if self.status[t]))
        return self.event, self.mixed, there

    # --- what may come next

    def _moves(self, returning: int) -> Iterator[int]:
        """Who may go next; the likely ones first."""
        here = self.values
        ready = [t for t in self.under_way if self.status[t] == WAITING and self._fits(t, {})]
        if returning in ready:
            yield from self._first(returning, ready)
        begun = [t for t in self.under_way if self.status[t] == BEGUN]
        wanted = {} if self.status[returning] == BEGUN else dict(self.reads[returning])
        wanted = {key: value for key, value in wanted.items() if not _matches(value, here[key])}

        def away(t: int) -> tuple[bool, bool]:
            helps = any(
                _matches(wanted[key], value) for key, value in self.writes[t].items() if key in wanted
            )
            return t != returning, not helps

        for t in sorted(begun, key=away):
            if not any(u != t and not self.writes[t].keys().isdisjoint(self.writes[u]) for u in begun):
                yield from self._first(t, ready)
        for t in sorted(ready, key=away):
            yield from self._first(t, ready)

    def _first(self, t: int, ready: list[int]) -> Iterator[int]:
        """It; but if it changes what others see who could begin now, these first."""
        if self.writes[t] and (self.points == 1 or self.status[t] == BEGUN):
            for u in ready:
                if u != t and not self._fits(u, self.writes[t]):
                    # One that writes is no longer to be overwritten once it has begun.
                    free = self.points == 1 or self.writes[t].keys().isdisjoint(self.writes[u])
                    if free and not (self.points == 1 and self.writes[u]):
                        yield u
        yield t

    def _fits(self, t: int, changes: dict[int, int]) -> bool:
        """Do its reads match, with these changes?"""
        if t in self.before and self.status[self.before[t]] != DONE:
            return False
        values = self.values
        return all(_matches(value, changes.get(key, values[key])) for key, value in self.reads[t])


def _matches(seen: int, value: int) -> bool:
    return seen == value or (seen == PRESENT and value > ABSENT)

"""Can the sessions go on to their end? No solver is needed to see that they cannot.

The claim: in a serial order that keeps session order, at some point no session's next transaction sees what it saw. It
is looked at here for all orders at once: a *frontier* is how far each session has come and what the keys hold then. All
that can be reached are visited, breadth first. Whoever only looks, and sees what it saw, is let go at once: in any
order in which it goes later it may as well go now. Within a bound of real time nobody may go that was invoked more than
that after the return of one that is still to come. If all sessions come to their end anywhere, the claim is wrong, and
so it is if there are more frontiers than it says, or fewer: what takes longer than was told is given up early. Nothing
here is shared with the pass that searched.
"""

from __future__ import annotations

from itertools import pairwise

from boomslang.certify.proof import StuckSessions
from boomslang.certify.saw_and_left import did
from boomslang.certify.seen import fits, holds_list
from boomslang.certify.slack import slack_of
from boomslang.trace import ABSENT, NO_TIME, Initial, Kind, Outcome, Trace

PREFIX = "strong-session-"
Deed = tuple[dict[int, frozenset[int]], dict[int, int]]
"""What a transaction saw of each key, and what it left there."""


def fault_of_sessions(trace: Trace, level: str, proof: StuckSessions) -> str:
    """What is wrong with the proof; nothing, if it refutes the trace."""
    try:
        plain, slack = slack_of(level, trace)
    except ValueError as error:
        return str(error)
    if plain == PREFIX + "strict-serializable":
        slack = 0
    elif plain != PREFIX + "serializable":
        return f"nothing follows from sessions at {level}"
    alive = [t for t in range(len(trace)) if trace.txn_outcome[t] != Outcome.ABORTED]
    if any(trace.txn_outcome[t] != Outcome.COMMITTED for t in alive):
        return "a transaction of unknown outcome may be anywhere, or nowhere"
    sessions: dict[int, list[int]] = {}
    for t in alive:
        session = int(trace.txn_session[t])
        sessions.setdefault(session if session >= 0 else -1 - t, []).append(t)
    lanes = list(sessions.values())
    if slack is not None and (fault := _odd_times(trace, lanes)):
        return fault
    keys = tuple(range(len(trace.key_rank)))
    if any(holds_list(trace, key) for key in keys):
        return "a key holds a list"
    given = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True))
    if trace.initial_mode == Initial.UNKNOWN and any(key not in given for key in keys):
        return "what a key held at first is unknown"
    deeds = {t: _deed(trace, keys, t) for t in alive}
    walk = _Walk(trace, lanes, deeds, slack)
    start = tuple(given.get(key, ABSENT) for key in keys)
    return walk.fault(start, proof)


def _odd_times(trace: Trace, lanes: list[list[int]]) -> str:
    every = [t for lane in lanes for t in lane]
    if len({int(trace.txn_clock[t]) for t in every}) > 1:
        return "there are several clocks"
    if any(NO_TIME in (trace.txn_begin[t], trace.txn_end[t]) for t in every):
        return "a transaction has no times"
    if any(trace.txn_end[a] > trace.txn_end[b] for lane in lanes for a, b in pairwise(lane)):
        return "a session goes back in time"
    return ""


def _deed(trace: Trace, keys: tuple[int, ...], t: int) -> Deed:
    rows = list(range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])))
    ranged = any(trace.op_kind[row] in (Kind.SCAN, Kind.NEXT) for row in rows)
    mine = keys if ranged else tuple(sorted({int(trace.op_key[row]) for row in rows} & set(keys)))
    wants, _, leaves = did(trace, "serializable", mine, t, rows)
    saw = {key: values for key, values in zip(mine, wants, strict=True) if values}
    return saw, {key: value for key, value in zip(mine, leaves, strict=True) if value is not None}


class _Walk:
    def __init__(
        self, trace: Trace, lanes: list[list[int]], deeds: dict[int, Deed], slack: int | None
    ) -> None:
        self.trace, self.lanes, self.deeds, self.slack = trace, lanes, deeds, slack

    def fault(self, start: tuple[int, ...], proof: StuckSessions) -> str:
        first = self._without_lookers([0] * len(self.lanes), start)
        known, new = {first}, [first]
        most, whole, shown = 0, sum(map(len, self.lanes)), False
        while new:
            coming = []
            for places, values in new:
                if (done := sum(places)) == whole:
                    return "the sessions do come to their end"
                most = max(most, done)
                heads = self._heads(places)
                shown |= done == proof.most and sorted(heads.values()) == sorted(proof.waiting)
                for lane in self._able(heads, values):
                    after, left = list(places), list(values)
                    after[lane] += 1
                    for key, value in self.deeds[heads[lane]][1].items():
                        left[key] = value
                    there = self._without_lookers(after, tuple(left))
                    if there not in known:
                        known.add(there)
                        coming.append(there)
                if len(known) > proof.frontiers:
                    return f"there are more than {proof.frontiers:,} frontiers"
            new = coming
        if most != proof.most or not shown:
            return f"{most:,} transactions find a place, or others wait then than it says"
        return "" if len(known) == proof.frontiers else f"there are only {len(known):,} frontiers"

    def _heads(self, places: tuple[int, ...] | list[int]) -> dict[int, int]:
        return {
            n: lane[at] for n, (lane, at) in enumerate(zip(self.lanes, places, strict=True)) if at < len(lane)
        }

    def _able(self, heads: dict[int, int], values: tuple[int, ...]) -> list[int]:
        """Lanes whose next transaction sees what it saw, and comes after none that is too long gone."""
        trace, able = self.trace, []
        earliest = min((int(trace.txn_end[t]) for t in heads.values()), default=0)
        for lane, t in heads.items():
            late = self.slack is not None and int(trace.txn_begin[t]) - earliest > self.slack
            saw = self.deeds[t][0]
            if not late and all(fits(one, values[key]) for key, seen in saw.items() for one in seen):
                able.append(lane)
        return able

    def _without_lookers(
        self, places: list[int], values: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        while True:
            heads = self._heads(places)
            free = [lane for lane in self._able(heads, values) if not self.deeds[heads[lane]][1]]
            if not free:
                return tuple(places), values
            for lane in free:
                places[lane] += 1

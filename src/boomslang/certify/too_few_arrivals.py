"""Does a count of departures refute the trace? No solver is needed to see it.

The claim: these transactions saw some keys in one state and changed it, and fewer can have brought that state about.
In a serial order a state is left only as often as it came about (Euler, "Solutio problematis ad geometriam situs
pertinentis", 1736), and who saw it must have found it when it wrote; at snapshot isolation, the part of it that it
overwrote. So it is wrong if there are more departures than arrivals, the first state included. Whoever did not abort
and may have arrived counts: it left what it wrote so, saw nothing else otherwise, and may have found one of the keys
that it wrote in another state. Nothing here is shared with the pass that counted.
"""

from __future__ import annotations

from boomslang.certify.proof import TooFewArrivals
from boomslang.certify.saw_and_left import LEVELS, ONE_KEY, Leaves, Wants, did, rows_with
from boomslang.certify.seen import fits, holds_list
from boomslang.certify.slack import slack_of
from boomslang.trace import ABSENT, NO_TIME, Initial, Outcome, Trace

STRICT = {"strict-serializable", "strong-snapshot-isolation"}


def fault_of_departures(trace: Trace, level: str, proof: TooFewArrivals) -> str:
    """What is wrong with the proof; nothing, if it refutes the trace."""
    try:
        plain, bound = slack_of(level, trace)
    except ValueError as error:
        return str(error)
    base = plain.removeprefix("strong-session-")
    slack = 0 if bound is None and base in STRICT else bound
    if LEVELS.get(base, ONE_KEY) == ONE_KEY:
        return f"nothing follows from departures at {level}"
    keys, state, leaving = proof.keys, proof.state, set(proof.departures)
    if not keys or len(set(keys)) < len(keys) or len(keys) != len(state):
        return f"found the keys {list(keys)} and the state {list(state)}; expected different keys, and a value for each"
    if any(not 0 <= key < len(trace.key_rank) or holds_list(trace, key) for key in keys):
        return "it speaks of a key that is not in the trace, or holds a list"
    if any(value < ABSENT for value in state):
        return "its state has something that is no value"
    if len(leaving) < len(proof.departures) or not all(0 <= t < len(trace) for t in leaving):
        return "it counts a transaction twice, or one that there is not"
    rows = rows_with(trace, keys)
    arrivals = set()
    for t in {*rows, *leaving}:
        if trace.txn_outcome[t] == Outcome.ABORTED and t not in leaving:
            continue
        _, guards, leaves = did(trace, base, keys, t, rows.get(t, []))
        if t in leaving and not (
            trace.txn_outcome[t] == Outcome.COMMITTED and _leaves(guards, leaves, state)
        ):
            return f"transaction {t} did not commit, or did not see all of the state and change it"
        if _may_arrive(guards, leaves, state):
            arrivals.add(t)
    for w in proof.later:
        if slack is None or not all(_before(trace, t, w, slack) for t in leaving):
            return f"transaction {w} did not begin after all those who left had returned"
    there = len(arrivals - set(proof.later)) + _at_first(trace, keys, state)
    return "" if len(leaving) > there else "it came about often enough for all of them"


def _leaves(guards: Wants, leaves: Leaves, state: tuple[int, ...]) -> bool:
    """Did it see all of the state, and change some of it?"""
    return all(value in saw for saw, value in zip(guards, state, strict=True)) and any(
        new is not None and new != value for new, value in zip(leaves, state, strict=True)
    )


def _may_arrive(guards: Wants, leaves: Leaves, state: tuple[int, ...]) -> bool:
    """May it have found the keys in another state, and left them in this one?"""
    fresh = False
    for saw, new, value in zip(guards, leaves, state, strict=True):
        if new is None:
            if not all(fits(one, value) for one in saw):
                return False
        elif new != value:
            return False
        else:
            fresh |= value not in saw
    return fresh


def _before(trace: Trace, a: int, b: int, slack: int) -> bool:
    if not 0 <= b < len(trace) or trace.txn_clock[a] != trace.txn_clock[b]:
        return False
    end, begin = int(trace.txn_end[a]), int(trace.txn_begin[b])
    return NO_TIME not in (end, begin) and end + slack < begin


def _at_first(trace: Trace, keys: tuple[int, ...], state: tuple[int, ...]) -> bool:
    """Can it have been so at first?"""
    given = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True))
    unknown = trace.initial_mode == Initial.UNKNOWN
    return all(
        given.get(key, ABSENT) == value or (unknown and key not in given)
        for key, value in zip(keys, state, strict=True)
    )

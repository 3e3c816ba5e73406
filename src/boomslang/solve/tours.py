"""Tours: where everybody who writes has seen all keys, a serial order is Euler's walk over the bridges.

A state is what all keys hold. A transaction that saw all of it and changed some is a bridge from that state to the
next, and a serial order is a walk that crosses each bridge once. Whether there is one is a matter of counting bridges
(Euler, 1736), and Hierholzer's method (1873) finds it: walk until there is no way on, then walk the detours that were
passed by. Whoever only looked stands anywhere the state was as it saw it. Doctors on call are like that: each looks who
else is, and goes.

This is trails.py for states in place of values: complete where it applies, and it needs neither times nor a log. The
engine replays what is found, so that it can only say *valid*. Snapshots and all weaker levels are content with a serial
order, as long as they ask for neither sessions nor times.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, UNKNOWN_INITIAL
from boomslang.distinct import distinct
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT

Int64 = NDArray[np.int64]

MOST_KEYS, MOST_STATES = 16, 4_096
NOT_READ = -9


def solve_tour(ir: IR, limits: Limits) -> Solution | None:
    """A valid answer, if there is a tour. None says nothing."""
    if ir.level.has(Dependency.SO) or ir.level.has(Dependency.RT):
        return None
    order = tour(ir.asg)
    if order is None:
        return None
    rank = np.full(ir.asg.transactions, len(order), np.int64)
    rank[order] = np.arange(len(order))
    found = solve_native(ir, replace(limits, conflicts=1), hints=False, rank=rank)
    return found if found.status == "valid" else None


def tour(asg: ASG) -> list[int] | None:
    """All transactions that are in, in an order that explains them; None if it does not apply, or there is none."""
    used = distinct(np.concatenate([asg.read_key, asg.write_key]))
    if not 0 < len(used) <= MOST_KEYS or len(asg.lists.of):
        return None
    seen = _seen(asg, used)
    if seen is None:
        return None
    inside = asg.state == IN
    writes = inside[asg.write_txn]
    after = seen.copy()
    after[asg.write_txn[writes], np.searchsorted(used, asg.write_key[writes])] = asg.write_value[writes]
    bridges = distinct(asg.write_txn[writes]).astype(np.int64)
    if (seen[bridges] < ABSENT).any():  # it saw not all
        return None
    by = priorities(asg)
    bridges = bridges[np.argsort(by[bridges], kind="stable")]
    first = asg.initial[used]
    known = np.where(first == UNKNOWN_INITIAL, seen[bridges[0]] if len(bridges) else first, first)
    states, number = np.unique(
        np.concatenate([known[None], seen[bridges], after[bridges]]), axis=0, return_inverse=True
    )
    if len(states) > MOST_STATES:
        return None
    number = number.ravel()
    sources, targets = number[1 : len(bridges) + 1].tolist(), number[len(bridges) + 1 :].tolist()
    start = int(number[0])
    if (first == UNKNOWN_INITIAL).any():  # if one is left more often than it came about, it was so at first
        balance = np.bincount(sources, minlength=len(states)) - np.bincount(targets, minlength=len(states))
        fits = ((states == first) | (first == UNKNOWN_INITIAL)).all(axis=1)
        more = np.flatnonzero((balance > 0) & fits)
        start = int(more[0]) if len(more) else start
    walk = _walk(sources, targets, start, len(states))
    if walk is None:
        return None
    return _with_lookers(asg, seen, states, bridges, walk, targets, start)


def _seen(asg: ASG, used: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """What each transaction that is in saw of each key; None if one saw two things, or cannot say what it saw."""
    mine = np.flatnonzero(asg.state[asg.read_txn] == IN)
    txn, at, value = asg.read_txn[mine], np.searchsorted(used, asg.read_key[mine]), asg.read_value[mine]
    seen = np.full((asg.transactions, len(used)), NOT_READ, np.int32)
    seen[txn, at] = value
    return seen if (value >= ABSENT).all() and (seen[txn, at] == value).all() else None


def _walk(sources: list[int], targets: list[int], start: int, states: int) -> list[int] | None:
    """Every bridge once, from the start; None if there is no such walk."""
    ways: list[list[int]] = [[] for _ in range(states)]
    for bridge in range(len(sources) - 1, -1, -1):  # so that the earliest is taken first
        ways[sources[bridge]].append(bridge)
    path, stack = [], [(start, -1)]
    while stack:
        state, bridge = stack[-1]
        if ways[state]:
            bridge = ways[state].pop()
            stack.append((targets[bridge], bridge))
        else:
            path.append(stack.pop()[1])
    walk = path[-2::-1]
    at = start
    for bridge in walk:
        if sources[bridge] != at:
            return None
        at = targets[bridge]
    return walk if len(walk) == len(sources) else None


def _with_lookers(
    asg: ASG,
    seen: NDArray[np.int32],
    states: NDArray[np.int32],
    bridges: Int64,
    walk: list[int],
    targets: list[int],
    start: int,
) -> list[int] | None:
    """The walk, and whoever only looked where the state was so for the first time."""
    when = {start: 0}
    for place, bridge in enumerate(walk, 1):
        when.setdefault(targets[bridge], place)
    moments = sorted((place, state) for state, place in when.items())
    shown = states[[state for _, state in moments]]
    looking = np.flatnonzero(asg.state == IN)
    looking = looking[~np.isin(looking, bridges)]
    lookers: list[list[int]] = [[] for _ in range(len(walk) + 1)]
    known: dict[bytes, int | None] = {}
    for t in looking.tolist():
        pattern = seen[t].tobytes()
        if pattern not in known:
            fits = np.flatnonzero(((shown == seen[t]) | (seen[t] == NOT_READ)).all(axis=1))
            known[pattern] = moments[int(fits[0])][0] if len(fits) else None
        if (place_of := known[pattern]) is None:
            return None
        lookers[place_of].append(t)
    order = lookers[0]
    for place, bridge in enumerate(walk, 1):
        order.append(int(bridges[bridge]))
        order += lookers[place]
    return order

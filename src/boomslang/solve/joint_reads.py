"""Selects over several columns: asked only where an order gets them wrong.

What a condition over several columns says is a relation between reads, which the engine takes as clauses (ir/relations.py). Most of
them hold in any order that explains the rest. So where an order settles what everybody saw, the trace is first asked
without them; those that the order found breaks are added, and it is asked again, until none is broken or there is no order.
(This is abstraction refined by counterexamples: Clarke, Grumberg, Jha, Lu and Veith, CAV 2000.) Each round adds one at least, so it
ends. A refutation of some is a refutation of all. At the other levels all are there from the start.

Where the initial state is unknown, what a key held initially is chosen here, last, so that all selects that saw it come out;
where that is not found, the answer is unknown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, product

import numpy as np

from boomslang.asg.entries import PRESENT, UNKNOWN_INITIAL, Entries, activate
from boomslang.asg.graph import ASG, OUT
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.solution import Solution
from boomslang.trace.model import ABSENT

MOST_TRIED = 20_000
"""Combinations of initial values that are tried for one row."""


def solve_selects(ir: IR, level: Level, solve: Callable[[IR], Solution], *, lazily: bool) -> tuple[IR, Solution]:
    """Decides the IR of an ASG with entries; gives back the IR that was decided last."""
    asg = ir.asg
    entries = asg.entries
    assert entries is not None
    lazily = lazily and settles_all(ir) and not asg.modules
    if not lazily and entries.joints:
        asg = activate(asg, list(range(len(entries.joints))))
        ir = lower(asg, level)
    rounds = 0
    while True:
        solution = solve(ir)
        rounds += 1
        if solution.status != "valid":
            break
        wrong = _Order(ir, solution).broken() if lazily else []
        if not wrong:
            solution = settle_initial(ir, solution)
            break
        ir = lower(activate(ir.asg, wrong), level)
    if entries.joints:
        assert ir.asg.entries is not None
        counts = {"joint reads": len(entries.joints), "joint reads asked": len(ir.asg.entries.active)}
        solution = replace(solution, stats={**solution.stats, **counts, "rounds": rounds})
    return ir, solution


def settles_all(ir: IR) -> bool:
    """Does an order of the points settle what every read saw?"""
    level = ir.level
    return level.items_see_last and level.predicates_see_last and level.once is None


class _Order:
    """What each key held at each point of an order."""

    def __init__(self, ir: IR, solution: Solution) -> None:
        self.asg, points = ir.asg, ir.graph.points
        assert solution.order is not None
        place = np.full(points * self.asg.transactions, -1, np.int64)
        place[solution.order] = np.arange(len(solution.order))
        self.begin, self.commit = place[::points].tolist(), place[points - 1 :: points].tolist()
        self._versions: dict[int, tuple[list[int], list[int], list[int]]] = {}

    def value(self, key: int, txn: int) -> int:
        """What the transaction saw in a key that it had not written."""
        asg = self.asg
        if key not in self._versions:
            low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
            rows = zip(asg.write_txn[low:high].tolist(), asg.write_value[low:high].tolist(), strict=True)
            versions = sorted((self.commit[t], v, t) for t, v in rows if self.commit[t] >= 0)
            self._versions[key] = (
                [p for p, _, _ in versions],
                [v for _, v, _ in versions],
                [t for _, _, t in versions],
            )
        places, values, txns = self._versions[key]
        at = bisect_left(places, self.begin[txn]) - 1
        if at >= 0 and txns[at] == txn:
            at -= 1
        return values[at] if at >= 0 else _given(asg, key)

    def broken(self) -> list[int]:
        """The joints that the order gets wrong."""
        entries = self.asg.entries
        assert entries is not None
        return [
            j
            for j, joint in enumerate(entries.joints)
            if j not in entries.active
            and self.begin[joint.txn] >= 0
            and not joint.holds(tuple(self.value(key, joint.txn) for key in joint.keys))
        ]


def _given(asg: ASG, key: int) -> int:
    """The initial value of a key as the trace gives it."""
    fixed = len(asg.initial_by) and asg.initial_by[key] >= 0
    return UNKNOWN_INITIAL if fixed else int(asg.initial[key])


# --- an unknown initial state

Fits = Callable[[tuple[int, ...]], bool]


def settle_initial(ir: IR, solution: Solution) -> Solution:
    """The solution with initial values for which all selects come out; or unknown."""
    asg = ir.asg
    entries = asg.entries
    assert entries is not None and solution.initial is not None and solution.read_writer is not None
    if not (asg.trace.initial_mode == 2 and len(entries.base)):
        return solution
    demands = [*_of_entries(asg, entries, solution), *_of_joints(ir, entries, solution)]
    if not demands:
        return solution
    initial = np.array(solution.initial, np.int64)
    groups: dict[int, int] = {}

    def root(key: int) -> int:
        while groups.setdefault(key, key) != key:
            key = groups[key]
        return key

    for keys, _, _ in demands:
        for key in keys:
            groups[root(key)] = root(keys[0])
    for group in {root(key) for keys, _, _ in demands for key in keys}:
        mine = [d for d in demands if root(d[0][0]) == group]
        keys = sorted({key for d in mine for key in d[0]})
        options = [_options(asg, key, int(initial[key]), mine) for key in keys]
        for chosen in islice(product(*options), MOST_TRIED):
            held = dict(zip(keys, chosen, strict=True))
            if all(fits(tuple(held[key] for key in some)) for some, fits, _ in mine):
                initial[keys] = chosen
                break
        else:
            return Solution(
                "unknown",
                reason="the initial state is unknown, and no values of it were found that all conditions agree with",
                stats=solution.stats,
            )
    return replace(solution, initial=initial)


Demand = tuple[tuple[int, ...], Fits, frozenset[int]]
"""Keys whose initial values were seen, whether some values of theirs fit, and values worth a try."""


def _options(asg: ASG, key: int, now: int, demands: list[Demand]) -> list[int]:
    if now >= ABSENT:
        return [now]
    low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
    values = {*asg.write_value[low:high].tolist(), ABSENT}
    values |= {v for keys, _, some in demands if key in keys for v in some}
    return sorted(v for v in values if v >= 0 or (v == ABSENT and now != PRESENT))


def _of_entries(asg: ASG, entries: Entries, solution: Solution) -> list[Demand]:
    """What reads of entries demand of initial values."""
    assert solution.read_writer is not None
    found: list[Demand] = []
    place = asg.read_key.astype(np.int64) - entries.first
    alone = (place >= 0) & (entries.joint[np.maximum(place, 0)] < 0)
    for read in np.flatnonzero(alone & (solution.read_writer == -1)).tolist():
        base, fits = int(entries.base[place[read]]), entries.fits[place[read]]
        if base < 0 or fits is None or _given(asg, base) != UNKNOWN_INITIAL:
            continue
        wanted = int(asg.read_value[read]) == PRESENT

        def comes_out(values: tuple[int, ...], fits: Callable[[int], bool | None] = fits, wanted: bool = wanted) -> bool:
            return fits(values[0]) == wanted

        found.append(((base,), comes_out, frozenset(entries.known[place[read]])))
    return found


def _of_joints(ir: IR, entries: Entries, solution: Solution) -> list[Demand]:
    """What joint reads demand of initial values."""
    from boomslang.ir.relations import joint_reads

    asg = ir.asg
    assert solution.read_writer is not None and solution.order is not None
    seen: list[tuple[int, tuple[int, ...]]] = []
    if settles_all(ir):
        order = _Order(ir, solution)
        for j, joint in enumerate(entries.joints):
            if order.begin[joint.txn] >= 0:
                seen.append((j, tuple(order.value(key, joint.txn) for key in joint.keys)))
    else:
        number = {id(joint): j for j, joint in enumerate(entries.joints)}
        for joint, reads in joint_reads(asg):
            writers = [int(solution.read_writer[read]) for read in reads]
            if -2 in writers or asg.state[joint.txn] == OUT:
                continue
            values = tuple(_left(asg, w, key) for w, key in zip(writers, joint.keys, strict=True))
            seen.append((number[id(joint)], values))
    found: list[Demand] = []
    for j, values in seen:
        joint = entries.joints[j]
        open_ = [i for i, v in enumerate(values) if v == UNKNOWN_INITIAL]
        if not open_:
            continue

        def comes_out(chosen: tuple[int, ...], joint=joint, values=values, open_=open_) -> bool:  # type: ignore[no-untyped-def]
            full = list(values)
            for i, v in zip(open_, chosen, strict=True):
                if v not in joint.classes[i]:
                    return False
                full[i] = v
            return bool(joint.holds(tuple(full)))

        some = frozenset(v for i in open_ for v in joint.classes[i] if v >= ABSENT)
        found.append((tuple(joint.keys[i] for i in open_), comes_out, some))
    return found


def _left(asg: ASG, writer: int, key: int) -> int:
    """What a transaction left in a key; of -1, the initial value."""
    if writer < 0:
        return _given(asg, key)
    low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
    return int(asg.write_value[low:high][asg.write_txn[low:high] == writer][0])

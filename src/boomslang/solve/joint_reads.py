"""Selects over several columns: asked only where an order gets them wrong.

What a condition over several columns says is a relation between reads, which the engine takes as clauses
(ir/relations.py). Most of them hold in any order that explains the rest. So the trace is first asked
without them; those that are wrong in the state that the order found has at the reader are added, and it is
asked again, until none is wrong or there is no order. (This is abstraction refined by counterexamples:
Clarke, Grumberg, Jha, Lu and Veith, CAV 2000.) Each round adds one at least, so it ends. A refutation of
some is a refutation of all. One that comes out in the state at the reader is explained by these versions.
(Not where the level forbids some cycles with one anti-dependency, and the order has reads that miss
versions before them: then to have seen one more version may be too much. Unless no read does, all are asked
there.)

Where the initial state is unknown, what a key held initially is chosen here, last, so that all selects that
saw it come out; where that is not found, the answer is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise, product
from typing import Any

import numpy as np

from boomslang.asg.entries import PRESENT, UNKNOWN_INITIAL, Entries, Int32, Int64, activate, settled_initial
from boomslang.asg.graph import ASG, OUT
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.catalog import SNAPSHOT_ISOLATION
from boomslang.levels.level import Dependency, Level
from boomslang.solve.solution import Solution
from boomslang.trace.model import ABSENT

MOST_TRIED = 20_000
"""Combinations of initial values that are tried for one row."""


def solve_selects(
    ir: IR, level: Level, solve: Callable[[IR], Solution], *, lazily: bool
) -> tuple[IR, Solution]:
    """Decides the IR of an ASG with entries; gives back the IR that was decided last."""
    asg = ir.asg
    entries = asg.entries
    assert entries is not None
    if entries.joints and (not lazily or asg.modules):
        asg = activate(asg, list(range(len(entries.joints))))
        ir = lower(asg, level)
    found: tuple[IR, Solution] | None = None
    if level.once is not None and entries.joints and lazily and not asg.modules:
        found = _as_snapshots(asg, level, solve)
    if found is None:
        found = _refined(ir, level, solve)
    ir, solution = found
    if entries.joints:
        assert ir.asg.entries is not None
        counts = {"joint reads": len(entries.joints), "joint reads asked": len(ir.asg.entries.active)}
        solution = replace(solution, stats={**solution.stats, **counts})
    return ir, solution


def _refined(ir: IR, level: Level, solve: Callable[[IR], Solution]) -> tuple[IR, Solution]:
    """Asks again and again, each time with those that were wrong."""
    while True:
        solution = solve(ir)
        if solution.status != "valid":
            return ir, solution
        order = Order(ir, solution)
        wrong = order.broken()
        if ir.level.once is not None and order.unasked() and not order.serial(solution):
            wrong = order.unasked()
        if not wrong:
            return ir, settle_initial(ir, solution)
        ir = lower(activate(ir.asg, wrong), level)


def _as_snapshots(asg: ASG, level: Level, solve: Callable[[IR], Solution]) -> tuple[IR, Solution] | None:
    """Levels that forbid cycles with one anti-dependency hold where there are snapshots, and an order of
    begins and
    commits settles what was seen. None if there is no such order, or none was found."""
    forward = SNAPSHOT_ISOLATION.edges[Dependency.WR]
    order = {d: forward for d in (Dependency.SO, Dependency.RT) if level.has(d)}
    stronger = replace(
        SNAPSHOT_ISOLATION,
        edges={**SNAPSHOT_ISOLATION.edges, **order},
        slack=level.slack,
        slack_unit=level.slack_unit,
    )
    ir, solution = _refined(lower(asg, stronger), stronger, solve)
    if solution.status != "valid" or solution.order is None:
        return None
    seen = Order(ir, solution).seen()
    commits = solution.order[solution.order % 2 == 1] // 2
    return lower(ir.asg, level), replace(solution, order=commits, joint_reads=seen)


class Order:
    """What each key held at each point of an order, and what joints that were not asked saw there."""

    def __init__(self, ir: IR, solution: Solution) -> None:
        self.asg, points = ir.asg, ir.graph.points
        assert solution.order is not None and self.asg.entries is not None
        place = np.full(points * self.asg.transactions, -1, np.int64)
        place[solution.order] = np.arange(len(solution.order))
        self.begin, commit = place[::points], place[points - 1 :: points]
        asg, self.places = self.asg, np.int64(len(place) + 1)
        assert asg.entries is not None
        rows = np.flatnonzero((asg.write_key < asg.entries.first) & (commit[asg.write_txn] >= 0))
        code = asg.write_key[rows] * self.places + commit[asg.write_txn[rows]]
        by = np.argsort(code)
        self.version = np.append(np.int64(-1), code[by])
        self.txn = np.append(np.int64(-1), asg.write_txn[rows[by]])
        self.value = np.append(np.int64(-1), asg.write_value[rows[by]])

    def last(self, keys: Int64, txns: Int64) -> tuple[Int64, Int64]:
        """Whom each transaction saw in a key that it had not written (-1: nobody), and what."""
        asg, low = self.asg, keys * self.places
        at = np.searchsorted(self.version, low + self.begin[txns]) - 1
        mine = (self.version[at] >= low) & (self.txn[at] == txns)
        at = at - mine
        none = self.version[at] < low
        given = _given(asg)[keys]
        return np.where(none, -1, self.txn[at]), np.where(none, given, self.value[at])

    def seen(self) -> tuple[list[int], Int64, Int64, list[tuple[int, ...]]]:
        """The joints that were not asked and whose transactions are in: their numbers, and of each of their
        keys in turn the
        key, the writer, and of each joint the values."""
        entries = self.asg.entries
        assert entries is not None
        which = [
            j
            for j, joint in enumerate(entries.joints)
            if j not in entries.active and self.begin[joint.txn] >= 0
        ]
        counts = [len(entries.joints[j].keys) for j in which]
        keys = np.array([key for j in which for key in entries.joints[j].keys], np.int64)
        txns = np.repeat(np.array([entries.joints[j].txn for j in which], np.int64), counts)
        writer, value = self.last(keys, txns)
        values = value.tolist()
        ends = np.cumsum([0, *counts]).tolist()
        return which, keys, writer, [tuple(values[a:b]) for a, b in pairwise(ends)]

    def unasked(self) -> list[int]:
        entries = self.asg.entries
        assert entries is not None
        return [j for j in range(len(entries.joints)) if j not in entries.active]

    def serial(self, solution: Solution) -> bool:
        """Did every read see the last writer before it?"""
        asg, entries = self.asg, self.asg.entries
        assert entries is not None and solution.read_writer is not None
        counts = np.flatnonzero(np.asarray(solution.read_writer) > -2)
        keys = asg.read_key[counts].astype(np.int64)
        place = keys - entries.first
        keys = np.where(place >= 0, entries.base[np.maximum(place, 0)] if len(entries.base) else keys, keys)
        writer, _ = self.last(np.maximum(keys, 0), asg.read_txn[counts].astype(np.int64))
        return bool((writer == solution.read_writer[counts]).all())

    def broken(self) -> list[int]:
        """The joints that the order gets wrong."""
        entries = self.asg.entries
        assert entries is not None
        if len(entries.active) == len(entries.joints):
            return []
        which, _, _, values = self.seen()
        return [j for j, v in zip(which, values, strict=True) if not entries.joints[j].holds(v)]


def _given(asg: ASG) -> Int32:
    """The initial values of keys as the trace gives them."""
    return settled_initial(asg)


def with_joints(ir: IR, solution: Solution, op: Any, key: Any, writer: Any) -> tuple[Any, Any, Any]:
    """The reads of a witness (operations, keys, writers) and those of joints that were not asked. Where one
    of those has a key,
    it has it alone: a select sees one version."""
    entries = ir.asg.entries
    assert entries is not None
    which, keys, writers, _ = solution.joint_reads or Order(ir, solution).seen()
    ops = np.repeat([entries.joints[j].op for j in which], [len(entries.joints[j].keys) for j in which])
    keys = keys + entries.first
    width = np.int64(2 * entries.first)
    kept = ~np.isin(op.astype(np.int64) * width + key, ops.astype(np.int64) * width + keys)
    return (
        np.concatenate([op[kept], ops.astype(np.int64)]),
        np.concatenate([key[kept], keys]),
        np.concatenate([writer[kept], writers]),
    )


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
        together = sorted({key for d in mine for key in d[0]})
        options = [_options(asg, key, int(initial[key]), mine) for key in together]
        for chosen in islice(product(*options), MOST_TRIED):
            held = dict(zip(together, chosen, strict=True))
            if all(fits(tuple(held[key] for key in some)) for some, fits, _ in mine):
                initial[together] = chosen
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
    given = _given(asg)
    place = asg.read_key.astype(np.int64) - entries.first
    alone = (place >= 0) & (entries.joint[np.maximum(place, 0)] < 0)
    for read in np.flatnonzero(alone & (solution.read_writer == -1)).tolist():
        base, fits = int(entries.base[place[read]]), entries.fits[place[read]]
        if base < 0 or fits is None or given[base] != UNKNOWN_INITIAL:
            continue
        wanted = int(asg.read_value[read]) == PRESENT

        def comes_out(
            values: tuple[int, ...], fits: Callable[[int], bool | None] = fits, wanted: bool = wanted
        ) -> bool:
            return fits(values[0]) == wanted

        found.append(((base,), comes_out, frozenset(entries.known[place[read]])))
    return found


def _of_joints(ir: IR, entries: Entries, solution: Solution) -> list[Demand]:
    """What joint reads demand of initial values."""
    from boomslang.ir.relations import joint_reads

    asg = ir.asg
    assert solution.read_writer is not None and solution.order is not None
    which, _, _, all_values = Order(ir, solution).seen()
    seen = list(zip(which, all_values, strict=True))
    number = {id(joint): j for j, joint in enumerate(entries.joints)}
    for joint, reads in joint_reads(asg):
        writers = [int(solution.read_writer[read]) for read in reads]
        if -2 not in writers and asg.state[joint.txn] != OUT:
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
        return int(_given(asg)[key])
    low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
    return int(asg.write_value[low:high][asg.write_txn[low:high] == writer][0])

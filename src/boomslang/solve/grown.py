"""A part that grows: a refutation that needs few reads, found without asking for many.

Two overlapped and missed each other's writes. Within a bound of real time that may still be well, if others undid in
between what they did; and those others saw something, too. Ask with the reads of the two alone, then: the engine
soon has an order that pleases them. Others were there, and the order makes some of their reads wrong: take the reads
of those who stand closest to the two, and ask again. Either some order pleases all who were there, and the clash proves
nothing; or no order pleases those who were asked, and they are few (as in Clarke, Grumberg, Jha, Lu and Veith,
"Counterexample-guided abstraction refinement", CAV 2000). Leaving the rest out only weakens the problem (parts.py), so
a refutation is one of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, OUT, PRESENT, UNKNOWN_INITIAL
from boomslang.distinct import distinct, union
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.solve.native import solve_native
from boomslang.solve.parts import in_the_whole
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT

Int64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

ROUNDS = 80
AT_ONCE = 3
"""Transactions whose reads are taken in each round."""
CONFLICTS = 40_000


def refute_grown(ir: IR, seeds: list[int], keys: Int64, here: Bools, limits: Limits) -> Solution | None:
    """A refutation by reads of these keys, by the seeds and others who were here; None says nothing. The limit of
    conflicts is one for all rounds."""
    asg, begin = ir.asg, monotonic()
    if ir.level.once is not None or asg.modules or len(asg.lists.of):
        return None
    spoken_of = np.isin(asg.read_key, keys)
    here = here & (asg.state != OUT)
    grown = _Grown(asg, ir.graph.points, keys, here, spoken_of & here[asg.read_txn])
    reads, conflicts = grown.reads_of(seeds), limits.conflicts or CONFLICTS
    for _ in range(ROUNDS):
        part = asg.restrict(grown.around(reads), reads)
        if len(part.orphans):
            return None
        left = replace(limits.since(begin), conflicts=conflicts)
        found = solve_native(IR(part, ir.level, lower(part, ir.level).graph), left)
        conflicts -= int(found.stats.get("conflicts", 0))
        if found.status == "invalid":
            return in_the_whole(asg, part, reads, found)
        if found.order is None or conflicts <= 0:
            return None
        more = grown.displeased(part, found.order, seeds, reads)
        if not len(more):
            return None
        reads = union(reads, more)
    return None


@dataclass
class _Grown:
    asg: ASG
    points: int
    keys: Int64
    here: Bools
    usable: Bools
    """The reads that may be asked for."""

    def __post_init__(self) -> None:
        asg = self.asg
        rows = np.concatenate([np.arange(asg.key_start[k], asg.key_start[k + 1]) for k in self.keys.tolist()])
        self.writes: dict[int, dict[int, int]] = {}
        columns = (asg.write_txn[rows].tolist(), asg.write_key[rows].tolist(), asg.write_value[rows].tolist())
        for t, key, value in zip(*columns, strict=True):
            self.writes.setdefault(t, {})[key] = value
        readers = distinct(asg.read_txn[self.usable])
        self.reads: dict[int, list[int]] = {t: [] for t in readers.tolist()}
        for r in np.flatnonzero(self.usable).tolist():
            self.reads[int(asg.read_txn[r])].append(r)
        writers = asg.write_txn[rows]
        self.there: Int64 = union(readers, writers[self.here[writers]]).astype(np.int64)

    def reads_of(self, txns: list[int]) -> Int64:
        return np.array(sorted(r for t in txns for r in self.reads.get(t, [])), np.int64)

    def around(self, reads: Int64) -> Int64:
        """Who is in the part: those who used the keys here, and all who may have written what is asked for."""
        asg = self.asg
        rows = [asg.writes_of(int(asg.read_key[r]), int(asg.read_value[r])) for r in reads.tolist()]
        return distinct(np.concatenate([self.there, *(asg.write_txn[row] for row in rows)])).astype(np.int64)

    def displeased(self, part: ASG, order: Int64, seeds: list[int], reads: Int64) -> Int64:
        """Reads that the order makes wrong, of those who stand closest to the seeds in it."""
        asg = self.asg
        old = np.searchsorted(asg.txn_of, part.txn_of)
        held = dict(zip(self.keys.tolist(), asg.initial[self.keys].tolist(), strict=True))
        asked, wrong, places = set(reads.tolist()), [], []
        for place, node in enumerate(order.tolist()):
            t = int(old[node // self.points])
            if node % self.points == 0:
                mine = self.reads.get(t, [])
                if any(not _matches(int(asg.read_value[r]), held[int(asg.read_key[r])]) for r in mine):
                    wrong.append((place, [r for r in mine if r not in asked]))
                if t in seeds:
                    places.append(place)
            if node % self.points == self.points - 1:
                held.update(self.writes.get(t, {}))
        low, high = min(places, default=0), max(places, default=0)
        away = sorted((max(low - place, place - high, 0), mine) for place, mine in wrong if mine)
        return np.array(sorted(r for _, mine in away[:AT_ONCE] for r in mine), np.int64)


def _matches(seen: int, value: int) -> bool:
    return seen == value or value == UNKNOWN_INITIAL or (seen == PRESENT and value != ABSENT)

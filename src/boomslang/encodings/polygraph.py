"""A polygraph: known edges, and for each two rows of writers of a key one choice with two sets of edges.

What Cobra, Viper and PolySI share. Every read has one writer, so if u's version is overwritten by v, then all who read
it come before v. A *row* of writers has a known order; of two rows, either the last of the one is overwritten by the
first of the other, or the other way round. Cobra and Viper combine writers into rows: who reads a version and writes
the key is the next. For PolySI each writer is a row of its own.

Written as columns (passes/columns): the choices are quadratic in the rows of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.encodings.encoding import (
    refuse_ambiguity,
    refuse_duplicates,
    refuse_lists,
    refuse_ranges,
    refuse_unknown_outcomes,
)
from boomslang.ir.expression import FALSE, START
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.passes.columns.expand import MOST, Written, certain, order_edges
from boomslang.passes.columns.table import (
    AtomTable,
    Bools,
    Expressions,
    Int64,
    KnownEdges,
    Marks,
    Rows,
    Superpositions,
)
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock
from boomslang.trace.errors import LimitReached


def polygraph(asg: ASG, level: Level, title: str, clock: Clock, *, combine: bool) -> Problem:
    """Rows of writers (`combine`: as long as reads show), and a superposition for each two of them."""
    for refuse in (refuse_unknown_outcomes, refuse_ranges, refuse_lists, refuse_duplicates):
        refuse(asg, title)
    ir = lower(asg, level)
    refuse_ambiguity(ir, title)
    return _Sheet(ir, clock, combine).problem()


class _Sheet:
    """A *slot* is a version: of each key first the initial one, then one for each writer."""

    def __init__(self, ir: IR, clock: Clock, combine: bool) -> None:
        self.ir, self.clock, self.combine = ir, clock, combine
        self.table = AtomTable()
        self.given = Written.of(ir, self.table)
        writers, keys = self.given.writers, ir.asg.keys
        self.slot_key = np.repeat(np.arange(keys), writers.lengths + 1)
        self.first_slot = writers.start[:-1] + np.arange(keys)
        self.slot_txn = np.full(len(self.slot_key), START, np.int64)
        self.slot_txn[np.arange(len(writers.cells)) + writers.owner + 1] = writers.cells
        codes = self.slot_key * (ir.asg.transactions + 1) + self.slot_txn + 1
        read_key = ir.asg.read_key[self.given.read].astype(np.int64)
        reader = ir.asg.read_txn[self.given.read].astype(np.int64)
        read_slot = np.searchsorted(codes, read_key * (ir.asg.transactions + 1) + self.given.taken + 1)
        # Of each slot, the reads of that version.
        order = np.argsort(read_slot, kind="stable")
        counts = np.bincount(read_slot, minlength=len(codes))
        self.readers = Rows.of_lengths(counts, self.given.read[order])
        self.after: dict[int, int] = {}
        self.twice = False
        if combine:
            wanted = read_key * (ir.asg.transactions + 1) + reader + 1
            next_slot = np.minimum(np.searchsorted(codes, wanted), max(0, len(codes) - 1))
            both = np.flatnonzero(codes[next_slot] == wanted) if len(codes) else np.zeros(0, np.int64)
            for slot, later in zip(read_slot[both].tolist(), next_slot[both].tolist(), strict=True):
                # Two overwrote one version: each read what the other overwrote.
                self.twice |= self.after.setdefault(slot, later) != later

    def rows(self) -> list[tuple[int, ...]]:
        """The slots of each row, key by key, the initial version's first."""
        followers = set(self.after.values())
        made = []
        for head in range(len(self.slot_key)):
            if head in followers:
                continue
            row = [head]
            while (after := self.after.get(row[-1])) is not None and after not in row:
                row.append(after)
            made.append(tuple(row))
        return made

    def overwrites(self, earlier: Int64, later: Int64) -> Rows:
        """Of each pair of slots, what follows if the later overwrites the earlier: ww, and rw from its readers."""
        ir, keys, given = self.ir, self.slot_key[earlier], self.given
        txn, older = self.slot_txn[later], self.slot_txn[earlier]
        written = older != START
        ww = given.ww(self.table, keys[written], older[written], txn[written])
        reads = self.readers.take(earlier)
        matters = (ir.asg.read_txn[reads.cells] != txn[reads.owner]) & ir.strong[reads.cells]
        reads = reads.only(matters)
        rw = given.rw(self.table, reads.cells.astype(np.int64), txn[reads.owner])
        made = Rows.of_lengths(reads.lengths + written, np.empty(len(ww) + len(rw), np.int32))
        first = np.zeros(len(made.cells), np.bool_)
        first[made.start[:-1][written]] = True
        made.cells[first] = ww
        made.cells[~first] = rw
        return made

    def problem(self) -> Problem:
        ir, given, clock = self.ir, self.given, self.clock
        rows = self.rows()
        clock.look_now()
        head, last = np.array([r[0] for r in rows], np.int64), np.array([r[-1] for r in rows], np.int64)
        key = self.slot_key[head]
        initial = self.slot_txn[head] == START
        earlier, later = self._known_order(rows, key, initial, head, last)
        known = self.overwrites(earlier, later).cells
        # Each two of the other rows of a key.
        others = np.flatnonzero(~initial)
        many = np.bincount(key[others], minlength=ir.asg.keys)
        if int((many * (many - 1)).sum()) > MOST:
            raise LimitReached("memory")
        one, two = _pairs(many)
        one, two = others[one], others[two]
        clock.look_now()
        parts = self.overwrites(
            np.stack([last[one], last[two]], axis=1).ravel(), np.stack([head[two], head[one]], axis=1).ravel()
        )
        clock.look_now()
        reads = given.wr[given.taken != START]
        chunk = order_edges(ir, self.table)
        numbers = np.concatenate([reads, chunk, known]).astype(np.int32)
        fixed = certain(ir, self.table, numbers, given.wr)
        fixed[numbers] = 1
        atoms = self.table.atoms()
        nothing = Expressions(atoms, Rows.empty(), np.zeros(0, np.int32))
        return Problem(
            ir,
            KnownEdges(atoms, numbers),
            Superpositions(
                atoms, 2 * np.arange(len(one) + 1), parts, np.arange(len(one)), self._why(rows, one, two)
            ),
            (FALSE,) if self.twice else nothing,
            Marks(atoms, fixed),
        )

    def _known_order(
        self, rows: list[tuple[int, ...]], key: Int64, initial: Bools, head: Int64, last: Int64
    ) -> tuple[Int64, Int64]:
        """Which slot is overwritten by which: within rows, and the initial row by all others; key by key."""
        within = [(i, a, b) for i, row in enumerate(rows) for a, b in pairwise(row)]
        row_of, a, b = (
            np.array(x, np.int64) for x in (zip(*within, strict=True) if within else ((), (), ()))
        )
        start_row = np.flatnonzero(initial)
        others = np.flatnonzero(~initial)
        last_of_first = last[start_row][np.searchsorted(key[start_row], key[others])]
        keys = np.concatenate([key[row_of], key[others]])
        order = np.lexsort((np.repeat([0, 1], [len(a), len(others)]), keys))
        return np.concatenate([a, last_of_first])[order], np.concatenate([b, head[others]])[order]

    def _why(self, rows: list[tuple[int, ...]], one: Int64, two: Int64) -> Callable[[int], str]:
        def names(row: int) -> str:
            return " ".join(f"T{self.slot_txn[slot]}" for slot in rows[row])

        def why(origin: int) -> str:
            a, b = int(one[origin]), int(two[origin])
            key = self.ir.key_name(int(self.slot_key[rows[a][0]]))
            if self.combine:
                return f"writers of {key}: {names(a)} and {names(b)}"
            return f"{names(a)} and {names(b)} both wrote {key}"

        return why


def _pairs(counts: Int64) -> tuple[Int64, Int64]:
    """All i < j of each group of consecutive numbers, group by group."""
    n = counts.astype(np.int64)
    base = np.concatenate(([0], np.cumsum(n)))[:-1]
    group = np.repeat(np.arange(len(n)), n * n)
    ends = np.cumsum(n * n)
    within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - n * n, n * n)
    i, j = within // np.maximum(1, n[group]), within % np.maximum(1, n[group])
    upper = i < j
    return (base[group] + i)[upper], (base[group] + j)[upper]

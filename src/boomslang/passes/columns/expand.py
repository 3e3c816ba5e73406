"""An IR written out as columns: what `ir/families.py` yields one by one, in the same order.

The writers of a key, sorted, have places; so the edge `Ti -ww(x)-> Tj` has a number that is worked out from the key
and two places, and nothing is ever looked up by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boomslang.asg.graph import INITIAL, ITEM, MAYBE, OUT, UNKNOWN_INITIAL
from boomslang.distinct import distinct
from boomslang.ir.expression import START
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.passes.columns.table import (
    CODE,
    AtomTable,
    Bools,
    Expressions,
    Int8,
    Int32,
    Int64,
    KnownEdges,
    Marks,
    Rows,
    Superpositions,
)
from boomslang.passes.problem import Problem
from boomslang.solve.clock import Clock

MOST = 20_000_000
"""Pairs of writers and implications that are written as columns, some gigabytes. More are written one by one, which
looks at the clock and at the memory as it goes, and ends by one of them."""


def has_columns(ir: IR) -> bool:
    """Is all that is unknown of it of the two shapes?"""
    asg = ir.asg
    return (
        ir.level.once is None
        and not (ir.superpositions or ir.expressions or len(asg.doubtful))
        and not (asg.state == MAYBE).any()
        and not (asg.initial[asg.read_key] == UNKNOWN_INITIAL).any()
        and not (asg.list_read < 0).any()
    )


@dataclass(frozen=True, eq=False)
class Written:
    """Who wrote what, who read what: of transactions that are not out, with numbers for the reads' edges."""

    ir: IR
    writers: Rows
    """Of each key, its writers in order."""
    read: Int32
    """Of each possible writer of each read (mostly one): the read."""
    taken: Int32
    """... that writer, or START."""
    wr: Int32
    """... and the number of the edge between them."""
    sure: Bools
    """... Is it the only one?"""

    @classmethod
    def of(cls, ir: IR, table: AtomTable) -> Written:
        asg = ir.asg
        rows = np.flatnonzero(asg.state[asg.write_txn] != OUT)
        key, txn = asg.write_key[rows], asg.write_txn[rows]
        order = np.lexsort((txn, key))
        counts = np.bincount(key, minlength=asg.keys)
        writers = Rows.of_lengths(counts, txn[order].astype(np.int32))
        reads = np.flatnonzero(asg.state[asg.read_txn] != OUT)
        single = asg.read_writer[reads] >= INITIAL
        taken: list[Int32] = [asg.read_writer[reads[single]].astype(np.int32)]
        read: list[Int32] = [reads[single].astype(np.int32)]
        sure = [np.ones(len(taken[0]), np.bool_)]
        for r in reads[~single].tolist():
            found = ir.read_from(r, int(asg.read_txn[r])).candidates
            taken.append(np.array(found, np.int32))
            read.append(np.full(len(found), r, np.int32))
            sure.append(np.full(len(found), len(found) == 1))
        all_reads = np.concatenate(read)
        by_read = np.argsort(all_reads, kind="stable")
        all_reads, all_taken = all_reads[by_read], np.concatenate(taken)[by_read]
        item = asg.read_kind[all_reads] == ITEM
        kind = np.where(item, CODE[Dependency.WR], CODE[Dependency.PWR])
        source, target = np.empty(len(item), np.int64), np.empty(len(item), np.int64)
        reader = asg.read_txn[all_reads].astype(np.int64)
        for mask, which in ((item, Dependency.WR), (~item, Dependency.PWR)):
            a, b = ir.ends(which)
            source[mask] = ir.graph.nodes_of(all_taken[mask].astype(np.int64), a)
            target[mask] = ir.graph.nodes_of(reader[mask], b)
        source[all_taken == START] = START
        wr = table.add(kind, source, target, asg.read_key[all_reads], all_reads)
        return cls(ir, writers, all_reads, all_taken, wr, np.concatenate(sure)[by_read])

    def ww(self, table: AtomTable, key: Int64, i: Int64, j: Int64) -> Int32:
        """Numbers for edges: transaction j overwrites i's version of the key."""
        a, b = self.ir.ends(Dependency.WW)
        nodes = self.ir.graph.nodes_of
        return table.add(CODE[Dependency.WW], nodes(i, a), nodes(j, b), key)

    def rw(self, table: AtomTable, read: Int64, later: Int64) -> Int32:
        """Numbers for edges: the read missed what the later transaction wrote."""
        ir, asg = self.ir, self.ir.asg
        item = asg.read_kind[read] == ITEM
        kind = np.where(item, CODE[Dependency.RW], CODE[Dependency.PRW])
        source, target = np.empty(len(read), np.int64), np.empty(len(read), np.int64)
        reader = asg.read_txn[read].astype(np.int64)
        for mask, which in ((item, Dependency.RW), (~item, Dependency.PRW)):
            a, b = ir.ends(which)
            source[mask] = ir.graph.nodes_of(reader[mask], a)
            target[mask] = ir.graph.nodes_of(later[mask], b)
        return table.add(kind, source, target, asg.read_key[read], read)


def order_edges(ir: IR, table: AtomTable) -> Int32:
    """Numbers for the known edges of the graph that are no read's and show no order of appends."""
    numbers, module_of = [np.zeros(0, np.int32)], {}
    for told in ir.told:
        module_of.update(dict.fromkeys(range(told.chunks, told.chunks_end), told.module))
    chunks: dict[tuple[Dependency, str], list[tuple[Int64, Int64]]] = {}
    for n, (sources, targets, kind) in enumerate(ir.graph.chunks):
        chunks.setdefault((kind, module_of.get(n, "")), []).append((sources, targets))
    seen = np.zeros(0, np.int64)
    for (kind, module), pairs in chunks.items():
        source, target = (np.concatenate(side).astype(np.int64) for side in zip(*pairs, strict=True))
        codes = (source * max(1, ir.graph.nodes) + target) * len(CODE) + CODE[kind]
        _, first = np.unique(codes, return_index=True)
        first = np.sort(first)
        first = first[~np.isin(codes[first], seen)]
        seen = np.concatenate([seen, codes[first]])
        made = table.add(CODE[kind], source[first], target[first])
        if module:
            table.by.update(dict.fromkeys(made.tolist(), module))
        numbers.append(made)
    return np.concatenate(numbers)


def certain(ir: IR, table: AtomTable, known: Int32, reads: Int32) -> Int8:
    """What is fixed: the reads' edges, and known edges between transactions that are in."""
    atoms = table.atoms()
    fixed = np.zeros(len(atoms), np.int8)
    doubtful = np.zeros(ir.graph.nodes + 1, np.bool_)
    out = np.flatnonzero(ir.asg.state != 0)
    for point in range(ir.graph.points):
        doubtful[ir.graph.points * out + point] = True
    sure = (atoms.read[known] >= 0) | ~(doubtful[atoms.source[known]] | doubtful[atoms.target[known]])
    fixed[known[sure]] = 1
    fixed[reads] = 1
    return fixed


def expand_columns(ir: IR, clock: Clock) -> Problem | None:
    """The IR, written out; None: some of it is of another shape, or it is too much."""
    if not has_columns(ir):
        return None
    asg, table = ir.asg, AtomTable()
    given = Written.of(ir, table)
    if len(distinct(given.read)) < np.count_nonzero(asg.state[asg.read_txn] != OUT):
        return None  # a read that nobody can have written
    writers = given.writers
    clock.look_now()
    # Every ordered pair of writers of a key: edge (i, j) of a key with n writers is at base + i * (n - 1) + j, less one
    # if j > i.
    n = writers.lengths.astype(np.int64)
    if int((n * (n - 1)).sum()) + int(n[asg.read_key[given.read[ir.strong[given.read]]]].sum()) > MOST:
        return None
    base = np.concatenate(([0], np.cumsum(n * (n - 1))))
    key_of = np.repeat(np.arange(asg.keys), n * (n - 1))
    within = np.arange(int(base[-1])) - base[key_of]
    i = within // np.maximum(1, n[key_of] - 1)
    j = within - i * (n[key_of] - 1)
    j += j >= i
    first = writers.start[key_of]
    ww = given.ww(
        table, key_of, writers.cells[first + i].astype(np.int64), writers.cells[first + j].astype(np.int64)
    )
    upper = np.flatnonzero(i < j)
    clock.look_now()

    def ww_number(key: Int64, one: Int64, two: Int64) -> Int64:
        """By the places of two writers among those of the key."""
        made: Int64 = int(ww[0] if len(ww) else 0) + base[key] + one * (n[key] - 1) + two - (two > one)
        return made

    known_order = np.zeros(asg.keys, np.bool_)
    known_order[list(ir.known_orders)] = True
    upper = upper[~known_order[key_of[upper]]]
    pair_key, pair_i, pair_j = key_of[upper], i[upper], j[upper]
    pairs = np.stack([ww_number(pair_key, pair_i, pair_j), ww_number(pair_key, pair_j, pair_i)], axis=1)
    several = ~given.sure
    of_reads = np.flatnonzero(several)
    reads, per_read = np.unique(given.read[of_reads], return_counts=True)
    clock.look_now()
    # What each read implies, for each who may have written it and each other writer of its key.
    strong = np.flatnonzero(ir.strong[given.read])
    key = asg.read_key[given.read[strong]].astype(np.int64)
    take = np.repeat(strong, n[key])
    place = _within(n[key])
    read = given.read[take].astype(np.int64)
    key = asg.read_key[read].astype(np.int64)
    later = writers.cells[writers.start[key] + place]
    rw_of = _first_places(read, later, place, n, asg.read_key)
    keep = (later != given.taken[take]) & (later != asg.read_txn[read])
    take, read, key, place, later, rw_of = (x[keep] for x in (take, read, key, place, later, rw_of))
    slots, where = np.unique(rw_of, return_index=True)
    rw = given.rw(table, read[where], later[where].astype(np.int64))
    conclusion = rw[np.searchsorted(slots, rw_of)]
    writer = given.taken[take]
    known_writer = writer != START
    at = _place_of(writers, key[known_writer], writer[known_writer])
    premises = Rows.of_lengths(1 + known_writer, np.zeros(int((1 + known_writer).sum()), np.int32))
    premises.cells[premises.start[:-1]] = given.wr[take]
    overwritten = ww_number(key[known_writer], at, place[known_writer])
    premises.cells[premises.start[:-1][known_writer] + 1] = overwritten
    clock.look_now()
    # The known edges: reads, lists, then the rest.
    sure = given.wr[given.sure & (given.taken != START)]
    lists = _list_edges(given, table, ww_number)
    known = np.concatenate([sure, lists, order_edges(ir, table)])
    fixed = certain(ir, table, known, given.wr[given.sure])
    for told, row in ir.known_orders.items():
        at_key = np.full(len(row), told, np.int64)
        places = _place_of(writers, at_key, np.array(row, np.int32))
        for k in range(len(row) - 1):
            earlier, later_ones = np.full(len(row) - k - 1, places[k]), places[k + 1 :]
            fixed[ww_number(at_key[k + 1 :], earlier, later_ones)] = 1
            fixed[ww_number(at_key[k + 1 :], later_ones, earlier)] = -1
    atoms = table.atoms()
    _, once = np.unique(known, return_index=True)
    lengths = np.concatenate([np.full(len(pairs), 2), per_read])
    cells = np.concatenate([pairs.ravel(), given.wr[of_reads]]).astype(np.int32)
    superpositions = Superpositions(
        atoms,
        np.concatenate(([0], np.cumsum(lengths))),
        Rows(np.arange(len(cells) + 1), cells),
        np.concatenate([pairs[:, 0], -1 - reads]),
        _why(ir, superposed=(key_of, writers, first, i, j), ww=ww),
    )
    return Problem(
        ir,
        KnownEdges(atoms, known[np.sort(once)]),
        superpositions,
        Expressions(atoms, premises, conclusion),
        Marks(atoms, fixed),
    )


def _within(lengths: Int64) -> Int64:
    """0, 1, ... up to each of these lengths."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _first_places(read: Int64, later: Int32, place: Int64, n: Int64, read_key: Int32) -> Int64:
    """A number for each read and each writer of its key: the same, whoever the read took."""
    width = np.concatenate(([0], np.cumsum(n[read_key])))
    made: Int64 = width[read] + place
    return made


def _place_of(writers: Rows, key: Int64, txn: Int32) -> Int64:
    """The place of a transaction among the writers of a key."""
    most = int(writers.cells.max()) + 1 if len(writers.cells) else 1
    codes = writers.owner.astype(np.int64) * most + writers.cells
    made: Int64 = np.searchsorted(codes, key * most + txn) - writers.start[key]
    return made


def _list_edges(given: Written, table: AtomTable, ww_number: Callable[[Int64, Int64, Int64], Int64]) -> Int32:
    """Numbers for the order of appends that lists show: most are edges between two writers of a key."""
    asg = given.ir.asg
    if not len(asg.list_from):
        return np.zeros(0, np.int32)
    key = asg.read_key[asg.list_read].astype(np.int64)
    return ww_number(
        key,
        _place_of(given.writers, key, asg.list_from),
        _place_of(given.writers, key, asg.list_to),
    ).astype(np.int32)


def _why(ir: IR, superposed: tuple[Int64, Rows, Int64, Int64, Int64], ww: Int32) -> Callable[[int], str]:
    key_of, writers, first, i, j = superposed

    def why(origin: int) -> str:
        if origin < 0:
            read = -1 - origin
            txn, key = int(ir.asg.read_txn[read]), int(ir.asg.read_key[read])
            return f"T{txn} read {ir.key_name(key)} = {ir.read_name(read)}"
        pair = origin - int(ww[0])
        one, two = (int(writers.cells[first[pair] + side[pair]]) for side in (i, j))
        return f"T{one} and T{two} both wrote {ir.key_name(int(key_of[pair]))}"

    return why

"""Short cycles of what is known, as suggestions of where a smaller core may be.

What the engine refutes first need not be the smallest reason. Most reasons are short cycles of edges that reads show
directly, one or two at a time: who read from whom (wr); who overwrote what somebody read, because it was the initial
version, or it had read that version itself, or had read from who wrote it (rw); who wrote a key before whom, because
somebody knew of both and saw the latter's (ww); session and real-time order. Two searches look for those: one for
cycles of two transactions in the whole trace, all at once in arrays; one for the shortest cycle through a given
transaction. Nothing is concluded here: whoever asks puts the transactions to the engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, INITIAL, OUT
from boomslang.distinct import distinct
from boomslang.ir.lower import lower
from boomslang.levels.level import Dependency, Level
from boomslang.trace.model import NO_TIME, Outcome

Int64 = NDArray[np.int64]

MOST_PAIRS = 2_000_000
"""Pairs of reads and writes that are written out to be compared."""
MOST_VISITS = 50_000
"""Nodes that are looked at for all cycles together."""

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Edges:
    """Pairs of transactions, and a third that shows that the one is before the other (-1: they do so themselves)."""

    source: Int64
    target: Int64
    shown_by: Int64

    @staticmethod
    def of(source: Int64, target: Int64, shown_by: Int64 | None = None) -> Edges:
        return Edges(source, target, np.full(len(source), -1) if shown_by is None else shown_by)

    def where(self, chosen: NDArray[np.bool_]) -> Edges:
        return Edges(self.source[chosen], self.target[chosen], self.shown_by[chosen])

    def __add__(self, other: Edges) -> Edges:
        return Edges(
            np.concatenate([self.source, other.source]),
            np.concatenate([self.target, other.target]),
            np.concatenate([self.shown_by, other.shown_by]),
        )


class Known:
    """What reads with one candidate show, one or two at a time; worked out when it is first asked for, as the cheapest
    often suffices."""

    def __init__(self, asg: ASG) -> None:
        self.asg = asg
        self.txns = np.int64(max(1, asg.transactions))
        reader, writer = asg.read_txn.astype(np.int64), asg.read_writer.astype(np.int64)
        sure = (asg.state[reader] != OUT) & (writer >= INITIAL)
        self.reader, self.writer = reader[sure], writer[sure]
        self.key = asg.read_key[sure].astype(np.int64)
        self._written = np.sort(asg.write_key.astype(np.int64) * self.txns + asg.write_txn)
        others = self.writer >= 0
        self.wr = Edges.of(self.writer[others], self.reader[others])
        start = self.writer == INITIAL
        self.initial = (self.reader[start], self.key[start])
        """Readers of initial values, and the keys: they are before all who wrote those."""

    def wrote(self, txn: Int64, key: Int64) -> NDArray[np.bool_]:
        """Pair by pair: did the transaction write the key?"""
        code = key * self.txns + txn
        if not len(self._written):
            return np.zeros(len(code), bool)
        at = np.minimum(np.searchsorted(self._written, code), len(self._written) - 1)
        found: NDArray[np.bool_] = self._written[at] == code
        return found

    @cached_property
    def ww(self) -> Edges:
        """p -> r, p wrote x, and r read x from another, w: p is before w."""
        edge, read = _joined(self.wr.target, self.reader)
        p, w, r = self.wr.source[edge], self.writer[read], self.reader[read]
        shows = (w >= 0) & (w != p)
        shows[shows] = self.wrote(p[shows], self.key[read][shows])
        return Edges(p[shows], w[shows], r[shows])

    @cached_property
    def rw(self) -> Edges:
        return self._successors[1] + self._overwrote_what_was_read()

    @property
    def rivals(self) -> Edges:
        return self._successors[0]

    @cached_property
    def _successors(self) -> tuple[Edges, Edges]:
        """Who read a version and overwrote it comes right after it. Two of those are rivals; all others who read the
        version are before the first."""
        mine = np.flatnonzero(self.wrote(self.reader, self.key))
        version = self.key * (self.txns + 1) + self.writer + 1
        mine = mine[np.lexsort((self.reader[mine], version[mine]))]
        of, who = version[mine], self.reader[mine]
        first = np.ones(len(mine), bool)
        first[1:] = of[1:] != of[:-1]
        rival = np.flatnonzero(~first[1:] & (who[1:] != who[:-1])) + 1
        versions, heads = of[first], who[first]
        if not len(versions):
            return Edges.of(_NONE, _NONE), Edges.of(_NONE, _NONE)
        at = np.minimum(np.searchsorted(versions, version), len(versions) - 1)
        hit = (versions[at] == version) & (heads[at] != self.reader)
        return Edges.of(who[rival - 1], who[rival]), Edges.of(self.reader[hit], heads[at][hit])

    def _overwrote_what_was_read(self) -> Edges:
        """w -> p, both wrote x, and r read x from w: r is before p."""
        edge, read = _joined(self.wr.source, self.writer)
        p, r = self.wr.target[edge], self.reader[read]
        shows = r != p
        shows[shows] = self.wrote(p[shows], self.key[read][shows])
        return Edges.of(r[shows], p[shows])

    @cached_property
    def twice(self) -> Int64:
        """Who read one key from two writers."""
        order = np.lexsort((self.writer, self.key, self.reader))
        reader, key, writer = self.reader[order], self.key[order], self.writer[order]
        again = (reader[1:] == reader[:-1]) & (key[1:] == key[:-1]) & (writer[1:] != writer[:-1])
        return distinct(reader[1:][again])


def _joined(left: Int64, right: Int64) -> tuple[Int64, Int64]:
    """All (i, j) with left[i] == right[j]; none, if there are too many."""
    by = np.argsort(right, kind="stable")
    ordered = right[by]
    low, high = np.searchsorted(ordered, left, side="left"), np.searchsorted(ordered, left, side="right")
    counts = high - low
    if counts.sum() > MOST_PAIRS:
        return _NONE, _NONE
    i = np.repeat(np.arange(len(left)), counts)
    return i, by[np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]


# --- cycles of two


def of_two(known: Known, level: Level) -> Iterator[tuple[int, ...]]:
    """The transactions of each cycle of two that the level may forbid, with those that show it, each once."""
    told: set[tuple[int, ...]] = set()
    for columns in _of_two(known, level):
        for row in np.stack(columns, axis=1).tolist():
            found = tuple(sorted({t for t in row if t >= 0}))
            if found not in told:
                told.add(found)
                yield found


def _of_two(known: Known, level: Level) -> Iterator[tuple[Int64, ...]]:
    after_reads = level.once is not None or level.has(Dependency.RW) or level.has(Dependency.PRW)
    if after_reads or level.cursor:
        yield known.rivals.source, known.rivals.target
    if after_reads:
        yield (known.twice,)
    before = known.wr + known.ww if _counts_overwrites(level) else known.wr
    yield _both_ways(known, before, before)
    if not after_reads:
        return
    yield _both_ways(known, known.rw, before)
    yield _missed_initial(known, before)
    if level.needs_times:
        yield from _late(known, known.rw, level.slack)
        yield from _late(known, _first_overwriter(known), level.slack)
    if level.needs_sessions:
        session = known.asg.trace.txn_session[known.asg.txn_of]
        r, p = known.rw.source, known.rw.target
        later = (session[r] >= 0) & (session[r] == session[p]) & (p < r)
        yield r[later], p[later]
    if level.points == 1 and level.once is None:
        yield _both_ways(known, known.rw, known.rw)
        yield _missed_initial(known, known.rw)
        yield _both_initial(known)


def _counts_overwrites(level: Level) -> bool:
    """Does who overwrote whom make cycles, beside those of reads alone?"""
    return level.once is None or Dependency.WW in level.once.kinds


def _both_ways(known: Known, edges: Edges, others: Edges) -> tuple[Int64, ...]:
    """Those of the edges whose contrary is among the others."""
    code = others.source * known.txns + others.target
    by = np.argsort(code)
    wanted = edges.target * known.txns + edges.source
    if not len(code):
        return _NONE, _NONE
    at = np.minimum(np.searchsorted(code[by], wanted), len(code) - 1)
    hit = code[by][at] == wanted
    found = edges.where(hit)
    return found.source, found.target, found.shown_by, others.shown_by[by[at[hit]]]


def _missed_initial(known: Known, edges: Edges) -> tuple[Int64, ...]:
    """Edges p -> r where r read the initial value of a key that p wrote."""
    reader, key = known.initial
    edge, read = _joined(edges.target, reader)
    missed = known.wrote(edges.source[edge], key[read])
    chosen = edge[missed]
    return edges.source[chosen], edges.target[chosen], edges.shown_by[chosen]


def _both_initial(known: Known) -> tuple[Int64, ...]:
    """Two that each read the initial value of what the other wrote."""
    asg, (reader, key) = known.asg, known.initial
    writes = np.flatnonzero(asg.state[asg.write_txn] != OUT)
    read, write = _joined(key, asg.write_key[writes].astype(np.int64))
    r, p = reader[read], asg.write_txn[writes[write]].astype(np.int64)
    return _both_ways(known, Edges.of(r, p), Edges.of(r, p))[:2]


def _late(known: Known, edges: Edges, slack: int) -> Iterator[tuple[Int64, ...]]:
    """Of edges r -> p, those where p had returned before r was invoked, by more than the slack."""
    asg, trace = known.asg, known.asg.trace
    x, y = asg.txn_of[edges.target], asg.txn_of[edges.source]
    late = (trace.txn_end[x] != NO_TIME) & (trace.txn_begin[y] != NO_TIME)
    late &= (trace.txn_end[x] < trace.txn_begin[y]) & (trace.txn_clock[x] == trace.txn_clock[y])
    if slack:  # of what is in this order the difference is positive, and as such fits
        apart = trace.txn_begin[y].view(np.uint64) - trace.txn_end[x].view(np.uint64)
        late &= apart > np.uint64(slack)
    yield edges.source[late], edges.target[late]


def _first_overwriter(known: Known) -> Edges:
    """Readers of an initial value, and of those who wrote the key the one that returned first."""
    asg = known.asg
    end = asg.trace.txn_end[asg.txn_of[asg.write_txn]]
    writes = np.flatnonzero((asg.outcome[asg.write_txn] == Outcome.COMMITTED) & (end != NO_TIME))
    writes = writes[np.lexsort((end[writes], asg.write_key[writes]))]
    keys, first = np.unique(asg.write_key[writes], return_index=True)
    reader, key = known.initial
    if not len(keys):
        return Edges.of(_NONE, _NONE)
    at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    hit = keys[at] == key
    return Edges.of(reader[hit], asg.write_txn[writes[first[at[hit]]]].astype(np.int64))


# --- the shortest through a transaction


class Graph:
    """The known edges of a level, to walk along. Nodes are those of the IR, and a helper for each key: who read its
    initial value is before all who wrote it."""

    def __init__(self, known: Known, level: Level) -> None:
        asg = known.asg
        ir = lower(asg, level, ())
        self.points = ir.graph.points
        self.transactions = asg.transactions
        self.layers = 1 if level.once is None else 2
        """With two: an anti-dependency leads from the first to the second, and there is none in that."""
        helper = ir.graph.nodes
        self.nodes = helper + asg.keys
        place = ir.graph.nodes_of

        def placed(edges: Edges, kind: Dependency) -> Edges:
            source, target = ir.ends(kind)
            return Edges(place(edges.source, source), place(edges.target, target), edges.shown_by)

        chunks = [Edges.of(a, b) for a, b, _ in ir.graph.chunks]
        chunks += [placed(known.wr, Dependency.WR), Edges.of(*ir.list_order())]
        if _counts_overwrites(level):
            chunks.append(placed(known.ww, Dependency.WW))
        anti = Edges.of(_NONE, _NONE)
        if self.layers == 2 or level.has(Dependency.RW):
            begin, commit = ir.ends(Dependency.RW)
            reader, key = known.initial
            anti = placed(known.rw, Dependency.RW) + Edges.of(place(reader, begin), key + helper)
            writes = np.flatnonzero(asg.state[asg.write_txn] != OUT)
            writer, written = asg.write_txn[writes].astype(np.int64), asg.write_key[writes].astype(np.int64)
            chunks.append(Edges.of(written + helper, place(writer, commit)))
        edges = anti
        for chunk in chunks:
            edges = edges + chunk
        order = np.argsort(edges.source, kind="stable")
        is_anti = np.arange(len(edges.source)) < len(anti.source)
        # Where each leads, whether it is an anti-dependency, and who shows it: a row each, for they are taken in rows.
        self.edges = np.stack([edges.target, is_anti, edges.shown_by], axis=1)[order]
        self.start = np.searchsorted(edges.source[order], np.arange(self.nodes + 1))
        self.visits, self.most_visits = 0, MOST_VISITS

    def shortest(self, txn: int, most: int) -> tuple[int, ...] | None:
        """The transactions of a shortest cycle through this one, if it has at most so many, and who shows it."""
        nodes = range(txn * self.points, (txn + 1) * self.points)
        ways = [way for node in nodes if (way := self._around(node, most)) is not None]
        return min(ways, key=len, default=None)

    def _around(self, begin: int, most: int) -> tuple[int, ...] | None:
        """Cheapest first, where entering another transaction costs one and all else nothing."""
        parent = {begin: (begin, -1)}
        cost = {begin: 1}
        queue = deque([begin])
        points = self.points * self.transactions
        while queue:
            state = queue.popleft()
            self.visits += 1
            if self.visits > self.most_visits:
                return None
            layer, node = divmod(state, self.nodes)
            mine, so_far = self._txn(node), cost[state]
            for target, anti, shown_by in self._out(node, mine):
                crosses = anti and self.layers == 2
                if crosses and layer == 1:
                    continue
                after = target + self.nodes * (layer + 1 if crosses else layer)
                enters = target < points and target // self.points != mine
                price = so_far + enters
                if target == begin and price > 2:
                    return self._way(parent, state, shown_by)
                if price <= most and cost.get(after, price + 1) > price:
                    cost[after] = price
                    parent[after] = (state, shown_by)
                    (queue.append if enters else queue.appendleft)(after)
        return None

    def _txn(self, node: int) -> int:
        return node // self.points if node < self.points * self.transactions else -1

    def _out(self, node: int, txn: int) -> list[list[int]]:
        edges: list[list[int]] = self.edges[self.start[node] : self.start[node + 1]].tolist()
        if self.points == 2 and txn >= 0 and node % 2 == 0:
            edges.insert(0, [node + 1, False, -1])
        return edges

    def _way(self, parent: dict[int, tuple[int, int]], state: int, shown_by: int) -> tuple[int, ...]:
        found = {shown_by}
        while True:
            found.add(self._txn(state % self.nodes))
            before, shown_by = parent[state]
            found.add(shown_by)
            if before == state:
                return tuple(sorted(found - {-1}))
            state = before

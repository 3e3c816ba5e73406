"""Read uncommitted: do the lists show a cycle of overwrites?

PL-1 asks only that writes are not interleaved (no G0), whatever was read. In a black box the order of writes is free,
so every trace of registers passes. A list shows it: whoever's element stands before another's wrote before it. What
counts is what committed readers saw of committed writers; the rest may never have been.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.certificate import Core, Witness
from boomslang.explain.anomalies import G0_IN_LISTS
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.names import listed, short
from boomslang.ir.expression import Edge
from boomslang.levels.level import Dependency, Level
from boomslang.trace.model import Flag, Kind, Outcome, Trace

Int64 = NDArray[np.int64]


def check_appends(
    trace: Trace, level: Level, shown: tuple[Int64, Int64, Int64] | None = None
) -> Witness | Counterexample:
    """A witness or a counterexample at read uncommitted, by what lists have `shown` (None: all of them)."""
    before, after, row = append_order(trace) if shown is None else shown
    order = _sorted(trace, before, after)
    if order is not None:
        return Witness(level.name, 1, order)
    cycle = _with_fewest_reads(trace, _shortest_cycle(before, after, row))
    return _counterexample(trace, level, _with_fewest_writers(trace, cycle))


def interleaved(trace: Trace, among: Int64) -> bool:
    """Do these list reads alone show a cycle of overwrites?"""
    before, after, _ = append_order(trace, among)
    return _sorted(trace, before, after) is None


def append_order(trace: Trace, among: Int64 | None = None) -> tuple[Int64, Int64, Int64]:
    """Edges between committed transactions, and of each a list read (of those in `among`) that shows it."""
    nothing = np.zeros(0, np.int64)
    fine = trace.op_flags & Flag.ERROR == 0
    txn = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    committed = trace.txn_outcome[txn] == Outcome.COMMITTED
    appends = np.flatnonzero((trace.op_kind == Kind.APPEND) & fine)
    lists = np.flatnonzero((trace.op_kind == Kind.LIST) & fine & committed)
    if among is not None:
        lists = np.intersect1d(lists, among)
    if not len(appends) or not len(lists):
        return nothing, nothing, nothing
    values = np.int64(len(trace.values))
    code = trace.op_key[appends] * values + trace.op_value[appends]
    by_code = np.argsort(code)
    code, writer = code[by_code], txn[appends[by_code]]

    span = trace.op_range[lists]
    counts = np.diff(trace.range_items)[span]
    item = np.repeat(trace.range_items[span] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    row = np.repeat(lists, counts)
    wanted = trace.op_key[row] * values + trace.item_value[item]
    at = np.minimum(np.searchsorted(code, wanted), len(code) - 1)
    known = (code[at] == wanted) & (trace.txn_outcome[writer[at]] == Outcome.COMMITTED)
    row, who = row[known], writer[at][known]
    step = (row[1:] == row[:-1]) & (who[1:] != who[:-1])
    pairs = np.stack([who[:-1][step], who[1:][step]], axis=1)
    distinct, first = np.unique(pairs, axis=0, return_index=True)
    return distinct[:, 0], distinct[:, 1], row[1:][step][first]


def _sorted(trace: Trace, before: Int64, after: Int64) -> Int64 | None:
    """The committed transactions in an order that keeps the edges; None if there is none."""
    inside = np.flatnonzero(trace.txn_outcome == Outcome.COMMITTED)
    missing = np.bincount(after, minlength=len(trace))
    follows: dict[int, list[int]] = {}
    for a, b in zip(before.tolist(), after.tolist(), strict=True):
        follows.setdefault(a, []).append(b)
    ready = deque(t for t in inside.tolist() if not missing[t])
    order = []
    while ready:
        t = ready.popleft()
        order.append(t)
        for b in follows.get(t, ()):
            missing[b] -= 1
            if not missing[b]:
                ready.append(b)
    return np.array(order, np.int64) if len(order) == len(inside) else None


def _shortest_cycle(before: Int64, after: Int64, row: Int64) -> list[tuple[int, int, int]]:
    """A cycle with the fewest transactions: (from, to, the list read that shows it)."""
    out: dict[int, dict[int, int]] = {}
    for a, b, r in zip(before.tolist(), after.tolist(), row.tolist(), strict=True):
        out.setdefault(a, {})[b] = r
    best: list[int] = []
    for start in sorted(out):
        parent = {start: start}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            if start in out.get(node, {}):
                path = [node]
                while path[-1] != start:
                    path.append(parent[path[-1]])
                if not best or len(path) < len(best):
                    best = path[::-1]
                break
            for target in out.get(node, {}):
                if target not in parent:
                    parent[target] = node
                    queue.append(target)
        if len(best) == 2:
            break
    return [(a, b, out[a][b]) for a, b in zip(best, [*best[1:], best[0]], strict=True)]


def _with_fewest_reads(trace: Trace, cycle: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """A cycle that needs all its reads: one list with an element twice may show both of its directions."""
    rows = sorted({row for _, _, row in cycle})
    for row in list(rows):
        fewer = [other for other in rows if other != row]
        before, after, shown = append_order(trace, np.array(fewer, np.int64))
        if fewer and _sorted(trace, before, after) is None:
            rows, cycle = fewer, _shortest_cycle(before, after, shown)
    return cycle


def _with_fewest_writers(trace: Trace, cycle: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """A cycle that needs all its writers. Edges lead from an element to the next one, so one that stands between two
    others in a list may be on the cycle although the two say it all."""
    rows = np.array(sorted({row for _, _, row in cycle}), np.int64)
    readers = {trace.owner(int(row)) for row in rows}
    for t in sorted({a for a, _, _ in cycle} - readers):
        kept = sorted(({a for a, _, _ in cycle} | readers) - {t})
        outcome = np.full_like(trace.txn_outcome, Outcome.UNKNOWN)
        outcome[kept] = trace.txn_outcome[kept]
        fewer = replace(trace, txn_outcome=outcome)
        before, after, shown = append_order(fewer, rows)
        if _sorted(fewer, before, after) is None:
            cycle = _shortest_cycle(before, after, shown)
    return cycle


def _counterexample(trace: Trace, level: Level, cycle: list[tuple[int, int, int]]) -> Counterexample:
    steps = []
    for number, (a, b, row) in enumerate(cycle):
        operation = trace.operation(row)
        text = (
            f"T{trace.owner(row)} read {short(operation.key)} = {listed(operation.elements)} "
            f"({PurePath(operation.where).name}), in which T{a}'s append comes before T{b}'s"
        )
        edge = Edge(a, b, Dependency.WW, int(trace.op_key[row]))
        steps.append(Step(text, (), edge, number + 1, operations=(row, *_appends(trace, row, a, b))))
    names = [f"T{a}" for a, _, _ in cycle]
    around = " -ww-> ".join([*names, names[0]])
    rows = sorted({row for _, _, row in cycle})
    transactions = sorted({a for a, _, _ in cycle} | {trace.owner(row) for row in rows})
    core = Core(level.name, tuple(transactions), tuple((row, int(trace.op_key[row])) for row in rows))
    argument = Argument(tuple(steps), Contradiction(f"a cycle: {around}", tuple(steps), tuple(steps)))
    return Counterexample(trace, core, argument, G0_IN_LISTS, minimal=True)


def _appends(trace: Trace, row: int, *transactions: int) -> Iterator[int]:
    """The appends of these transactions to the list that was read."""
    for t in transactions:
        rows = np.arange(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1]))
        fine = (trace.op_kind[rows] == Kind.APPEND) & (trace.op_flags[rows] & Flag.ERROR == 0)
        yield from rows[fine & (trace.op_key[rows] == trace.op_key[row])].tolist()

"""The violations that what is known shows, found in one pass (native/explain/known.hpp tells how).

This side prepares the columns, and gives the cycles names. What comes out are suggestions like all others: whoever
asks puts them to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IN, PREDICATE
from boomslang.explain import _known
from boomslang.explain.anomalies import Anomaly, name_cycle
from boomslang.explain.argument import Step
from boomslang.explain.names import Names
from boomslang.explain.parts import Parts
from boomslang.ir.expression import Edge
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Level, Point
from boomslang.solve.native import priorities
from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import NO_TIME

Int64 = NDArray[np.int64]
Moments = tuple[Int64, Int64]
"""Of each transaction, when it began and when it returned, smaller is earlier."""
Supposed = Callable[[Edge], int]
"""Of an edge that is supposed, the key that it is about; -1 of another."""

KINDS = (
    Dependency.WW,
    Dependency.WR,
    Dependency.PWR,
    Dependency.RW,
    Dependency.PRW,
    Dependency.SO,
    Dependency.RT,
)
"""As the native code numbers them; one more is for what is inside a transaction."""
LONG_CYCLE = 12
"""Steps of a cycle that is told in full."""


@dataclass(frozen=True, eq=False)
class Clash:
    """A cycle of what is known, what it rests on, and the read or transaction that was taken out for it."""

    anomaly: Anomaly
    text: str
    parts: Parts
    out_read: int
    out_txn: int
    edges: tuple[Edge, ...]
    """The cycle, between points of the IR's graph."""


@dataclass(frozen=True, eq=False)
class Clashes:
    found: list[Clash]
    all: bool
    """False: as many were found as were asked for."""


def clashes(
    asg: ASG,
    level: Level,
    limits: Limits,
    most: int = 0,
    *,
    overwriting: Moments | None = None,
    some_will_do: bool = False,
) -> Clashes:
    """All violations that what is known shows, each with a read (or a transaction) of its own. `overwriting`
    supposes that who wrote a key overwrote whoever had returned before it. `some_will_do`: at the limit, those that
    were found, if any were."""
    ir = lower(asg, level)
    supposed: Supposed | None = None
    if overwriting is not None:
        ir, supposed = _overwriting(ir, overwriting)
    once = ir.level.once
    sources, targets = ir.order_edges()
    kinds = [np.full(len(asg.list_from), KINDS.index(Dependency.WW), np.uint8)]
    kinds += [np.full(len(a), KINDS.index(kind), np.uint8) for a, _, kind in ir.graph.chunks]
    shown = np.full(len(sources), -1, np.int32)
    shown[: len(asg.list_read)] = asg.list_read
    made = _known.known_violations(
        asg.transactions,
        ir.graph.points,
        ir.graph.nodes,
        asg.state,
        asg.read_start,
        asg.read_key,
        asg.read_writer,
        asg.read_op,
        (asg.read_kind == PREDICATE).astype(np.uint8),
        ir.strong.astype(np.uint8),
        asg.key_start,
        asg.write_txn,
        sources.astype(np.int32),
        targets.astype(np.int32),
        shown,
        np.concatenate(kinds),
        ir.path_edges().astype(np.uint8),
        _hints(ir, suggested_moments(asg) if overwriting is None else overwriting),
        ir.level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT),
        (Dependency.WW in once.kinds, once.longest or 0, once.earlier) if once else None,
        most,
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    if made["stopped"] and not (some_will_do and len(made["cycle_start"]) > 1):
        raise LimitReached(made["stopped"])
    return Clashes(list(_told(asg, ir, made, supposed)), made["all"] and not made["stopped"])


def _overwriting(ir: IR, moments: Moments) -> tuple[IR, Supposed]:
    """The IR with an edge from each writer of a key to the next that returned; and of each edge its key."""
    asg = ir.asg
    rows = np.flatnonzero(asg.state[asg.write_txn] == IN)
    rows = rows[np.lexsort((moments[1][asg.write_txn[rows]], asg.write_key[rows]))]
    pair = np.flatnonzero(asg.write_key[rows[1:]] == asg.write_key[rows[:-1]])
    ends = zip((rows[pair], rows[pair + 1]), ir.ends(Dependency.WW), strict=True)
    source, target = (ir.graph.nodes_of(asg.write_txn[row].astype(np.int64), point) for row, point in ends)
    graph = replace(ir.graph, chunks=[*ir.graph.chunks, (source, target, Dependency.WW)])
    keys = asg.write_key[rows[pair]].astype(np.int64)
    code = source * ir.graph.nodes + target
    by = np.argsort(code, kind="stable")

    def key_between(edge: Edge) -> int:
        wanted = edge.source * ir.graph.nodes + edge.target
        at = int(np.searchsorted(code, wanted, side="right", sorter=by)) - 1
        return int(keys[by[at]]) if at >= 0 and code[by[at]] == wanted else -1

    return replace(ir, graph=graph), key_between


def suggested_moments(asg: ASG) -> Moments:
    """As the trace suggests them."""
    trace, end = asg.trace, priorities(asg)
    begin = end
    if trace.has_times:
        told = trace.txn_begin[asg.txn_of]
        begin = np.where(told != NO_TIME, told, end)
    elif len(trace.files) <= 1:
        line = trace.txn_begin_line[asg.txn_of].astype(np.int64)
        begin = np.where(line > 0, line, end)
    return np.minimum(begin, end), end


def _hints(ir: IR, moments: Moments) -> Int64:
    """Of each node, where it probably belongs. Helpers go where their edges put them."""
    hint = np.full(ir.graph.nodes, np.iinfo(np.int64).min, np.int64)
    points = ir.graph.points
    for point, column in enumerate(moments[-points:]):
        hint[point : points * ir.asg.transactions : points] = column
    return hint


def _told(asg: ASG, ir: IR, made: dict[str, NDArray[np.int64]], supposed: Supposed | None) -> Iterator[Clash]:
    names = Names(asg)
    cycle = tuple(column.tolist() for column in made["cycle"])
    starts, reads_start, txns_start = (
        made[name].tolist() for name in ("cycle_start", "reads_start", "txns_start")
    )
    outs = zip(made["out_read"].tolist(), made["out_txn"].tolist(), strict=True)
    for i, (read, txn) in enumerate(outs):
        edges = list(_between_transactions(ir, [column[starts[i] : starts[i + 1]] for column in cycle]))
        if supposed is not None:
            edges = [replace(edge, key=supposed(edge)) if edge.key < 0 else edge for edge in edges]
        reads = made["reads"][reads_start[i] : reads_start[i + 1]].astype(np.int64)
        txns = made["txns"][txns_start[i] : txns_start[i + 1]].astype(np.int64)
        yield Clash(
            name_cycle(ir.level, tuple(Step("", edge=edge) for edge in edges)),
            f"a cycle: {_round(ir, names, edges)}",
            Parts(txns, reads, np.zeros(0, np.int64)),
            read,
            txn,
            tuple(edges),
        )


def _between_transactions(ir: IR, columns: list[list[int]]) -> Iterator[Edge]:
    """The edges of a cycle that join two transactions: a way through helpers is one, a step inside one is none."""
    steps = list(zip(*columns, strict=True))
    first = next((i for i, (a, *_) in enumerate(steps) if ir.graph.transaction(a) is not None), 0)
    source = None
    for a, b, kind, key in steps[first:] + steps[:first]:
        if kind == len(KINDS):
            continue
        source = a if ir.graph.transaction(a) is not None else source
        if ir.graph.transaction(b) is None:
            continue
        assert source is not None
        if ir.graph.transaction(source) != ir.graph.transaction(b):
            yield Edge(source, b, KINDS[kind], key)


def _round(ir: IR, names: Names, edges: list[Edge]) -> str:
    """T1 -rw(x)-> T2 -wr(y)-> T1."""
    links = []
    for edge in edges:
        txn = ir.graph.transaction(edge.target)
        assert txn is not None
        key = f"({names.key(edge.key)})" if edge.key >= 0 else ""
        links.append(f" -{edge.kind.value}{key}-> {names.txn(txn)}")
    first = ir.graph.transaction(edges[0].source)
    assert first is not None
    if len(links) > LONG_CYCLE:
        links[LONG_CYCLE // 2 : -LONG_CYCLE // 2] = [f" ... {len(links) - LONG_CYCLE} more ..."]
    return names.txn(first) + "".join(links)

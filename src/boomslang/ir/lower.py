"""Lowering: from the Abstract Semantic Graph to the IR of one level.

The reads' own edges and the two families are the same for every level; what a level adds to the graph is session
order and real-time order.
"""

from __future__ import annotations

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR, Graph
from boomslang.levels.level import Dependency, Level, Point


def lower(asg: ASG, level: Level) -> IR:
    """The IR of a trace at a level."""
    graph = Graph(points=level.points, transactions=asg.transactions)
    if level.has(Dependency.SO):
        sources, targets = asg.session_edges()
        graph.chunks.append(
            (graph.nodes_of(sources, Point.COMMIT), graph.nodes_of(targets, Point.BEGIN), Dependency.SO)
        )
    if level.has(Dependency.RT):
        add_time_order(graph, asg)
    return IR(asg, level, graph)


def add_time_order(graph: Graph, asg: ASG, *, by_log: bool = False) -> None:
    """Adds real-time order to the graph, or (`by_log`) what the order of the log's lines suggests."""
    lines, graph.helpers = asg.time_edges(by_log=by_log)
    first = graph.points * graph.transactions
    for sources, enters, chain, targets, leaves in lines:
        for a, b in (
            (graph.nodes_of(sources, Point.COMMIT), enters + first),
            (chain[:-1] + first, chain[1:] + first),
            (leaves + first, graph.nodes_of(targets, Point.BEGIN)),
        ):
            graph.chunks.append((a.astype(np.int64), b.astype(np.int64), Dependency.RT))

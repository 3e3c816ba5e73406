"""Lowering: from the Abstract Semantic Graph to the IR of one level.

The reads' own edges and the two families are the same for every level; what a level adds to the graph is session
order and real-time order. Then the modules that the ASG holds say what they know: here, so that a part of the trace
is lowered like the whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR, Graph
from boomslang.levels.level import Dependency, Level, Point
from boomslang.levels.within import fitted

if TYPE_CHECKING:
    from boomslang.modules.module import Module


def lower(asg: ASG, level: Level, modules: tuple[Module, ...] | None = None) -> IR:
    """The IR of a trace at a level, with these modules (None: those that the ASG holds)."""
    if modules is not None:
        asg = replace(asg, modules=modules)
    if level.bound:
        level = fitted(level, asg.trace)
    graph = Graph(points=level.points, transactions=asg.transactions)
    if level.has(Dependency.SO):
        sources, targets = asg.session_edges()
        graph.chunks.append(
            (graph.nodes_of(sources, Point.COMMIT), graph.nodes_of(targets, Point.BEGIN), Dependency.SO)
        )
    if level.has(Dependency.RT):
        graph.add_time_line(asg, slack=level.slack)
    if not asg.modules:
        ir = IR(asg, level, graph)
        if asg.entries is not None and asg.entries.active:
            from boomslang.ir.relations import relate

            relate(ir)
        return ir
    from boomslang.modules.module import apply, protected

    ir = IR(protected(asg), level, graph)
    if asg.entries is not None and asg.entries.active:
        from boomslang.ir.relations import relate

        relate(ir)
    apply(asg.modules, ir)
    return ir

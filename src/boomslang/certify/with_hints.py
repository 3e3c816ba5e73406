"""A core that rests on hints: the encoding that reads them is asked again, and its known edges must close a cycle.

Where the order of versions is told, there is nothing to choose: what the hints and the reads say are known edges, and
a cycle of them among the core's transactions is the whole proof. The hints are believed, and the encoding's code is
what reads them; no solver is needed.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from boomslang.asg.graph import build_asg
from boomslang.certify.certificate import Core
from boomslang.certify.refute import CoreError
from boomslang.encodings import find_encoding
from boomslang.levels import find_level
from boomslang.trace.model import Trace


def refute_with_hints(trace: Trace, core: Core) -> bool:
    """True if what the encoding is told of the core's transactions contradicts itself."""
    encoding = find_encoding(core.encoding)
    if not encoding.knows_more:
        raise CoreError(f"{encoding.title} reads no hints")
    asg = build_asg(trace)
    if any(not 0 <= t < asg.transactions for t in core.transactions):
        raise CoreError("the core has a transaction that is not in the trace")
    problem = encoding.encode(asg, find_level(core.level))
    inside, graph = set(core.transactions), problem.ir.graph
    before: dict[int, list[int]] = {}
    for a, b in problem.arcs():
        if graph.transaction(a) in inside and graph.transaction(b) in inside:
            before.setdefault(b, []).append(a)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return True
    return False

"""A verifier of the IR's own invariants: valid IR in, valid IR out, checked after each phase in the tests.

Each finding is a sentence; none means the IR is well formed.
"""

from __future__ import annotations

from collections.abc import Iterator

from boomslang.asg.graph import IN, MAYBE, OUT, PRESENT, UNKNOWN_INITIAL
from boomslang.ir.expression import START, Committed, Edge, InitialIs, Superposition, atoms
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.trace.model import ABSENT


def verify_ir(ir: IR) -> list[str]:
    """What is wrong with the IR; an empty list if nothing is."""
    return [*_graph(ir), *_families(ir), *_explicit(ir)]


def _graph(ir: IR) -> Iterator[str]:
    if ir.graph.points != ir.level.points:
        yield f"the graph has {ir.graph.points} points a transaction, {ir.level.name} has {ir.level.points}"
    if ir.graph.transactions != ir.asg.transactions:
        yield f"the graph has {ir.graph.transactions} transactions, the ASG {ir.asg.transactions}"
    for edge in ir.known_edges():
        name = f"{edge.kind.value} edge {edge.source} -> {edge.target}"
        if not (0 <= edge.source < ir.graph.nodes and 0 <= edge.target < ir.graph.nodes):
            yield f"{name} leaves the graph of {ir.graph.nodes} nodes"
            continue
        if edge.source == edge.target:
            yield f"{name} is a loop"
        if edge.kind not in ir.level.edges and not ir.told:
            yield f"{name} is of a kind that {ir.level.name} does not know"
        source, target = ir.graph.transaction(edge.source), ir.graph.transaction(edge.target)
        if (source is None or target is None) and edge.kind != Dependency.RT:
            yield f"{name} ends in a helper node"
        for txn in (source, target):
            if txn is not None and ir.asg.state[txn] == OUT:
                yield f"{name} touches T{txn}, which aborted"
        if (
            edge.kind in (Dependency.SO, Dependency.RT)
            and source is not None
            and ir.asg.state[source] == MAYBE
        ):
            yield f"{name} leaves T{source}, whose outcome is unknown"


def _families(ir: IR) -> Iterator[str]:
    for order in ir.write_orders():
        if len(set(order.writers)) != len(order.writers):
            yield f"a writer of {ir.key_name(order.key)} is there twice"
    for read in ir.read_froms():
        name = f"the read of {ir.key_name(read.key)} by T{read.txn}"
        pattern = int(ir.asg.read_value[read.read])
        if (
            not read.candidates
            and ir.asg.state[read.txn] == IN
            and read.read not in set(ir.asg.orphans.tolist())
        ):
            yield f"{name} has no candidate and is not among the orphans"
        for w in read.candidates:
            if w == START:
                value = int(ir.asg.initial[read.key])
                fits = value == UNKNOWN_INITIAL or _fits(value, pattern)
            else:
                fits = w in ir.asg.write_txn[ir.asg.writes_of(read.key, pattern)]
                if w == read.txn or ir.asg.state[w] == OUT:
                    yield f"{name} has the candidate T{w}, which is itself or aborted"
            if not fits:
                yield f"{name} has the candidate T{w}, which did not write that value"


def _fits(value: int, pattern: int) -> bool:
    return value != ABSENT if pattern == PRESENT else value == pattern


def _explicit(ir: IR) -> Iterator[str]:
    for item in (*ir.superpositions, *ir.expressions):
        if isinstance(item, Superposition):
            if not item.options:
                yield f"a superposition without options ({item.why})"
            found = [a for option in (*item.options, item.when) for a in atoms(option)]
        else:
            found = atoms(item)
        for atom in found:
            if isinstance(atom, Edge) and not (
                (atom.source == START or 0 <= atom.source < ir.graph.nodes)
                and 0 <= atom.target < ir.graph.nodes
            ):
                yield f"an expression names the edge {atom.source} -> {atom.target} outside the graph"
            if isinstance(atom, Committed) and ir.asg.state[atom.txn] != MAYBE:
                yield f"an expression asks whether T{atom.txn} committed, which is known"
            if isinstance(atom, InitialIs) and int(ir.asg.initial[atom.key]) != UNKNOWN_INITIAL:
                yield f"an expression asks for the initial value of {ir.key_name(atom.key)}, which is known"

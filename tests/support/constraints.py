"""Random things a module could say of a trace, and whether an answer keeps them: for test_modules.py."""

from __future__ import annotations

import random

from boomslang import Module, module
from boomslang.ir.expression import (
    START,
    And,
    Committed,
    Edge,
    Expression,
    Implies,
    Not,
    Or,
    Superposition,
)
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency
from boomslang.solve.solution import Solution


def random_module(seed: int) -> Module:
    """A module that says random things: known edges, expressions, superpositions."""

    @module(name=f"random-{seed}")
    def says(asg, ir, hints):  # type: ignore[no-untyped-def]
        """Says random things."""
        rng = random.Random(seed)
        for _ in range(rng.randint(1, 3)):
            what = rng.random()
            if what < 0.5:
                ir.require(_expression(rng, ir, 2))
            elif what < 0.8:
                ir.choose(*(_expression(rng, ir, 1) for _ in range(rng.randint(1, 3))), why="so it is")
            elif len(inside := [t for t in range(asg.transactions) if asg.state[t] == 0]) > 1:
                a, b = sorted(rng.sample(inside, 2))
                ir.know(a, b, rng.choice([Dependency.WW, Dependency.SO]))

    return says


def _expression(rng: random.Random, ir: IR, depth: int) -> Expression:
    if depth and rng.random() < 0.7:
        parts = tuple(_expression(rng, ir, depth - 1) for _ in range(rng.randint(1, 3)))
        return rng.choice([And(parts), Or(parts), Implies(_negatable(rng, ir), parts[0])])
    return _negatable(rng, ir) if rng.random() < 0.8 else Not(_negatable(rng, ir))


def _negatable(rng: random.Random, ir: IR) -> Expression:
    orders, reads = list(ir.write_orders()), [r for r in ir.read_froms() if r.candidates]
    maybe = [t for t in range(ir.asg.transactions) if ir.asg.state[t] == 1]
    kind = rng.choice(
        ["ww"] * bool(orders) * 2 + ["wr"] * bool(reads) * 2 + ["committed"] * bool(maybe) + ["true"]
    )
    if kind == "ww":
        order = rng.choice(orders)
        return ir.ww(*rng.sample(order.writers, 2), order.key)
    if kind == "wr":
        read = rng.choice(reads)
        return ir.wr(rng.choice(read.candidates), read)
    return Committed(rng.choice(maybe)) if kind == "committed" else And(())


def kept(ir: IR, solution: Solution) -> bool:
    """Does the order of a valid answer keep everything that the modules said?"""
    assert solution.order is not None and solution.read_writer is not None
    place = {node: i for i, node in enumerate(solution.order.tolist())}

    def holds(e: Expression) -> bool:
        if isinstance(e, Not):
            return not holds(e.inner)
        if isinstance(e, And):
            return all(map(holds, e.parts))
        if isinstance(e, Or):
            return any(map(holds, e.parts))
        if isinstance(e, Implies):
            return not holds(e.premise) or holds(e.conclusion)
        if isinstance(e, Committed):
            return ir.graph.points * e.txn in place
        assert isinstance(e, Edge)
        if e.read >= 0 and e.kind in (Dependency.WR, Dependency.PWR):
            writer = -1 if e.source == START else e.source // ir.graph.points
            return int(solution.read_writer[e.read]) == writer
        return e.source not in place or e.target not in place or place[e.source] < place[e.target]

    def out(item: Superposition | Expression) -> bool:
        """Does it speak of transactions that are not in the order? Then the answer does not show how it holds."""
        from boomslang.ir.expression import atoms

        items = (*item.options, item.when) if isinstance(item, Superposition) else (item,)
        edges = [a for e in items for a in atoms(e) if isinstance(a, Edge) and a.read < 0]
        return any(n != START and n not in place for a in edges for n in (a.source, a.target))

    for s in ir.superpositions:
        if not out(s) and holds(s.when) and sum(map(holds, s.options)) != 1:
            return False
    return all(holds(e) for e in ir.expressions if not out(e))

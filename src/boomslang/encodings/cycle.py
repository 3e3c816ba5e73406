"""A counterexample for an encoding that knows more than the trace's reads and writes: a cycle of known edges.

Where hints tell the order of versions, a trace can be refuted that would be fine under another order. The cycle is
the whole argument then. It rests on what the hints say, and nobody can find it without them.
"""

from __future__ import annotations

from boomslang.certify.certificate import Core
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.counterexample import Counterexample
from boomslang.ir.printer import format_expression
from boomslang.passes.problem import Problem


def counterexample(problem: Problem, encoding: str) -> Counterexample:
    """A shortest cycle, told."""
    ir, asg = problem.ir, problem.ir.asg
    steps = [Step(f"{text} (told)", number=n + 1) for n, (_, _, text) in enumerate(shortest(problem))]
    nodes = [a for a, _, _ in shortest(problem)]
    txns = sorted({int(asg.txn_of[t]) for n in nodes if (t := ir.graph.transaction(n)) is not None})
    inside = set(txns)
    reads = [asg.pair(r) for r in range(len(asg.read_key)) if int(asg.txn_of[asg.read_txn[r]]) in inside]
    around = " -> ".join(ir.graph.name(n) for n in [*nodes, *nodes[:1]])
    argument = Argument(tuple(steps), Contradiction(f"a cycle: {around}", (), tuple(steps)))
    core = Core(ir.level.name, tuple(txns), tuple(reads), encoding=encoding)
    return Counterexample(asg.trace, core, argument, None, minimal=False)


def shortest(problem: Problem) -> list[tuple[int, int, str]]:
    """The edges of a shortest cycle of the known graph: from, to, in words."""
    out: dict[int, dict[int, str]] = {}
    for edge in problem.known:
        out.setdefault(edge.source, {}).setdefault(edge.target, format_expression(problem.ir, edge))
    for a, b in problem.arcs():
        out.setdefault(a, {}).setdefault(b, f"{problem.ir.graph.name(a)} -> {problem.ir.graph.name(b)}")
    best: list[int] = []
    for start in sorted(out):
        parent, row = {start: start}, [start]
        for node in row:
            if start in out.get(node, {}):
                path = [node]
                while path[-1] != start:
                    path.append(parent[path[-1]])
                best = path[::-1] if not best or len(path) < len(best) else best
                break
            for after in out.get(node, {}):
                if after not in parent:
                    parent[after] = node
                    row.append(after)
    return [(a, b, out[a][b]) for a, b in zip(best, [*best[1:], *best[:1]], strict=True)]

"""Why a trace is not what a module says: what the module said of the core's transactions, word for word.

The prover knows the words of levels. Where all that modules added are known edges, they are steps like any others;
an expression may be anything, so it is shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from boomslang.asg.graph import ASG
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.ir.expression import START
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.ir.printer import format_item
from boomslang.levels.level import Level


def what_modules_said(asg: ASG, level: Level) -> Argument | None:
    """The argument, if modules said more than a prover can follow."""
    if not asg.modules:
        return None
    ir = lower(asg, level)
    lines = lower(asg, level, ()).graph.helpers
    if not ir.superpositions and not ir.expressions and ir.graph.helpers == lines:
        return None
    steps = tuple(Step(text, number=i + 1) for i, text in enumerate(_lines(ir)))
    names = " and ".join(told.module for told in ir.told)
    return Argument(
        steps, Contradiction(f"no order of these transactions is {level.title} and keeps {names}")
    )


def _lines(ir: IR) -> Iterator[str]:
    def name(node: int) -> str:
        txn = ir.graph.transaction(node)
        if node == START or txn is None:
            return ir.graph.name(node)
        letter = "T" if ir.graph.points == 1 else "BC"[node % 2]
        return f"{letter}{int(ir.asg.txn_of[txn])}"

    for told in ir.told:
        ordered = False
        for sources, targets, _ in ir.graph.chunks[told.chunks : told.chunks_end]:
            for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
                if ir.graph.transaction(a) is None or ir.graph.transaction(b) is None:
                    ordered = True
                else:
                    yield f"{told.module}: {name(a)} comes before {name(b)}"
        if ordered:
            yield f"{told.module}: puts these transactions in order"
        for item in (
            *ir.superpositions[told.superpositions : told.superpositions_end],
            *ir.expressions[told.expressions : told.expressions_end],
        ):
            yield f"{told.module}: {format_item(ir, item, name).removeprefix('expression ')}"

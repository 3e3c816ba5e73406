"""The printed form of the IR: for people, and for tests of what a phase or pass produced.

    level serializable
    points 1
    T0 in  T1 in
    edge T0 -wr('x')-> T1
    write-order 'x': T0 T1
    read-from T2 'y' = 5: T0 | T1

With `expand`, the families are written out as superpositions and expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from boomslang.asg.graph import IN, MAYBE, OUT
from boomslang.ir.expression import (
    START,
    And,
    Committed,
    Edge,
    Expression,
    Implies,
    InitialIs,
    Not,
    Or,
    Path,
    Superposition,
)
from boomslang.ir.model import IR

_STATES = {IN: "in", MAYBE: "maybe", OUT: "out"}


def print_ir(ir: IR, *, expand: bool = False) -> Iterator[str]:
    """The lines of the printed form."""
    yield f"level {ir.level.name}"
    yield f"points {ir.graph.points}"
    for t, state in enumerate(ir.asg.state.tolist()):
        name = ir.asg.trace.names[int(ir.asg.trace.txn_name[int(ir.asg.txn_of[t])])]
        yield f"transaction T{t} {_STATES[state]}" + (f" # {name!r}" if name is not None else "")
    for edge in ir.known_edges():
        yield f"edge {format_expression(ir, edge)}"
    for order in ir.write_orders():
        yield f"write-order {ir.key_name(order.key)}: " + " ".join(f"T{w}" for w in order.writers)
    for read in ir.read_froms():
        if not ir.is_known(read):
            names = " | ".join("T_init" if w == START else f"T{w}" for w in read.candidates)
            rule = "" if ir.sees_last(read.read) else " (any earlier)"
            yield f"read-from T{read.txn} {ir.key_name(read.key)} = {ir.read_name(read.read)}: {names}{rule}"
    if expand:
        for item in ir.expand():
            yield format_item(ir, item)
    else:
        for item in (*ir.superpositions, *ir.expressions):
            yield format_item(ir, item)


Names = Callable[[int], str]
"""What a node is called."""


def format_item(ir: IR, item: Superposition | Expression, name: Names | None = None) -> str:
    """One superposition or expression as a line."""
    if not isinstance(item, Superposition):
        return f"expression {format_expression(ir, item, name)}"
    options = ", ".join(format_expression(ir, option, name) for option in item.options)
    when = "" if item.when == And(()) else f" when {format_expression(ir, item.when, name)}"
    return f"superposition <{options}>{when} # {item.why}"


def format_expression(ir: IR, e: Expression, name: Names | None = None) -> str:
    """An expression in words; `name` says what its nodes are called (else: as in the graph)."""
    called = name or ir.graph.name

    def text(x: Expression) -> str:
        return format_expression(ir, x, called)

    if isinstance(e, Edge):
        key = f"({ir.key_name(e.key)})" if e.key >= 0 else ""
        return f"{called(e.source)} -{e.label}{key}-> {called(e.target)}"
    if isinstance(e, Committed):
        return f"committed({called(ir.graph.points * e.txn).replace('B', 'T')})"
    if isinstance(e, InitialIs):
        return f"initial({ir.key_name(e.key)}) = {ir.value_name(e.value)}"
    if isinstance(e, Path):
        return f"path({called(e.source)}, {called(e.target)})"
    if isinstance(e, Not):
        return f"not ({text(e.inner)})"
    if isinstance(e, Implies):
        return f"{text(e.premise)} => {text(e.conclusion)}"
    if not e.parts:
        return "true" if isinstance(e, And) else "false"
    word = " and " if isinstance(e, And) else " or "
    return word.join(
        f"({text(part)})" if isinstance(part, (And, Or, Implies)) else text(part) for part in e.parts
    )


__all__ = ["format_expression", "format_item", "print_ir"]

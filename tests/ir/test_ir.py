"""The IR as people see it: its printed form for small traces, and a verifier that notices damage.

The printed form is what a pass is tested by, so it is pinned down here line by line (after xDSL, whose passes
are tested by what they print).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from support.anomalies import CASES
from support.effort import examples
from support.histories import Absent, delete, get, history, put, scan, txn
from support.strategies import traces

from boomslang.asg import build_asg
from boomslang.ir import IR, lower, print_ir, verify_ir
from boomslang.ir.expression import (
    FALSE,
    START,
    TRUE,
    Committed,
    Edge,
    Implies,
    InitialIs,
    Not,
    Or,
    Superposition,
    all_of,
    atoms,
)
from boomslang.ir.printer import format_expression
from boomslang.levels import LEVELS, Dependency, find_level
from boomslang.trace import Trace


def ir_of(trace: Trace, level: str) -> IR:
    return lower(build_asg(trace), find_level(level))


def printed(trace: Trace, level: str, *, expand: bool = False) -> str:
    return "\n".join(print_ir(ir_of(trace, level), expand=expand)) + "\n"


def block(text: str) -> str:
    return dedent(text).lstrip("\n")


# --- the printed form -------------------------------------------------------------------------------------


def duplicates() -> Trace:
    """Two writers of one value, a reader of it, and one whose commit only a read shows."""
    return history(
        txn("A", put("x", 1), time=(0, 10)),
        txn("A", put("x", 1), time=(20, 30)),
        txn("B", get("x", 1), time=(25, 40)),
        txn("B", put("x", 2), outcome="unknown", time=(50, 60)),
        txn("C", put("x", 3), outcome="aborted", time=(50, 60)),
        txn("C", get("x", 2), time=(70, 80)),
    )


def test_known_edges_and_families() -> None:
    assert printed(duplicates(), "serializable") == block("""
        level serializable
        points 1
        transaction T0 in # 1
        transaction T1 in # 2
        transaction T2 in # 3
        transaction T3 in # 4
        transaction T4 out # 5
        transaction T5 in # 6
        edge T3 -wr('x')-> T5
        write-order 'x': T0 T1 T3
        read-from T2 'x' = 1: T0 | T1
        """)


def test_session_order_leaves_committed_transactions_only() -> None:
    """T3 is in, for T5 read from it; but its outcome was never returned, so nothing of its session waits."""
    assert printed(duplicates(), "strong-session-serializable") == block("""
        level strong-session-serializable
        points 1
        transaction T0 in # 1
        transaction T1 in # 2
        transaction T2 in # 3
        transaction T3 in # 4
        transaction T4 out # 5
        transaction T5 in # 6
        edge T3 -wr('x')-> T5
        edge T0 -so-> T1
        edge T2 -so-> T3
        write-order 'x': T0 T1 T3
        read-from T2 'x' = 1: T0 | T1
        """)


def test_real_time_goes_by_helpers_on_a_line() -> None:
    """h0: what had returned when T1 and T2 were invoked; h1: ... when T3 and T5 were."""
    assert printed(duplicates(), "strong-snapshot-isolation") == block("""
        level strong-snapshot-isolation
        points 2
        transaction T0 in # 1
        transaction T1 in # 2
        transaction T2 in # 3
        transaction T3 in # 4
        transaction T4 out # 5
        transaction T5 in # 6
        edge C3 -wr('x')-> B5
        edge C0 -rt-> h0
        edge C1 -rt-> h1
        edge C2 -rt-> h1
        edge h0 -rt-> h1
        edge h0 -rt-> B1
        edge h0 -rt-> B2
        edge h1 -rt-> B3
        edge h1 -rt-> B5
        write-order 'x': T0 T1 T3
        read-from T2 'x' = 1: T0 | T1
        """)


def expanded(trace: Trace, level: str) -> str:
    """Only what is not known."""
    lines = printed(trace, level, expand=True).splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith(("superposition", "expression")))


def test_families_expand_to_superpositions_and_anti_dependencies() -> None:
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1)))
    assert expanded(trace, "serializable") == block("""
        superposition <T0 -ww('x')-> T1, T1 -ww('x')-> T0> # T0 and T1 both wrote 'x'
        superposition <T0 -wr('x')-> T2, T1 -wr('x')-> T2> # T2 read 'x' = 1
        expression T0 -wr('x')-> T2 and T0 -ww('x')-> T1 => T2 -rw('x')-> T1
        expression T1 -wr('x')-> T2 and T1 -ww('x')-> T0 => T2 -rw('x')-> T0
        """)
    assert expanded(trace, "snapshot-isolation") == block("""
        superposition <C0 -ww('x')-> B1, C1 -ww('x')-> B0> # T0 and T1 both wrote 'x'
        superposition <C0 -wr('x')-> B2, C1 -wr('x')-> B2> # T2 read 'x' = 1
        expression C0 -wr('x')-> B2 and C0 -ww('x')-> B1 => B2 -rw('x')-> C1
        expression C1 -wr('x')-> B2 and C1 -ww('x')-> B0 => B2 -rw('x')-> C0
        """)
    assert expanded(trace, "read-committed") == block("""
        superposition <T0 -ww('x')-> T1, T1 -ww('x')-> T0> # T0 and T1 both wrote 'x'
        superposition <T0 -wr('x')-> T2, T1 -wr('x')-> T2> # T2 read 'x' = 1
        """)


def test_the_initial_state_is_overwritten_by_everybody() -> None:
    trace = history(
        txn("A", get("x", 0), put("y", 1)), txn("B", get("y", 0), put("x", 1)), initial={"x": 0, "y": 0}
    )
    assert expanded(trace, "snapshot-isolation") == block("""
        expression T_init -wr('x')-> B0 => B0 -rw('x')-> C1
        expression T_init -wr('y')-> B1 => B1 -rw('y')-> C0
        """)


def test_what_is_in_doubt_is_conditional() -> None:
    trace = history(
        txn("A", delete("x", True)),
        txn("B", get("x", 1)),
        txn("C", put("x", 1), outcome="unknown"),
        txn("D", scan("a", "z", {})),
        initial="unknown",
    )
    assert printed(trace, "repeatable-read", expand=True) == block("""
        level repeatable-read
        points 1
        transaction T0 in # 1
        transaction T1 in # 2
        transaction T2 maybe # 3
        transaction T3 in # 4
        write-order 'x': T0 T2
        read-from T0 'x' = some value: T_init | T2
        read-from T1 'x' = 1: T_init | T2
        read-from T3 'x' = absent: T_init | T0 (any earlier)
        superposition <T0 -ww('x')-> T2, T2 -ww('x')-> T0> when committed(T2) # T0 and T2 both wrote 'x'
        superposition <T_init -wr('x')-> T0, T2 -wr('x')-> T0> # T0 read 'x' = some value
        expression T_init -wr('x')-> T0 => initial('x') = some value
        expression T2 -wr('x')-> T0 => committed(T2)
        expression T_init -wr('x')-> T0 and committed(T2) => T0 -rw('x')-> T2
        superposition <T_init -wr('x')-> T1, T2 -wr('x')-> T1> # T1 read 'x' = 1
        expression T_init -wr('x')-> T1 => initial('x') = 1
        expression T2 -wr('x')-> T1 => committed(T2)
        expression T_init -wr('x')-> T1 => T1 -rw('x')-> T0
        expression T_init -wr('x')-> T1 and committed(T2) => T1 -rw('x')-> T2
        expression T2 -wr('x')-> T1 and T2 -ww('x')-> T0 => T1 -rw('x')-> T0
        superposition <T_init -pwr('x')-> T3, T0 -pwr('x')-> T3> # T3 read 'x' = absent
        expression T_init -pwr('x')-> T3 => initial('x') = absent
        expression not (initial('x') = some value and initial('x') = absent)
        expression not (initial('x') = absent and initial('x') = 1)
        """)


def test_a_transaction_in_doubt_reads_only_if_it_committed() -> None:
    trace = history(
        txn("A", get("x", 1), put("y", 1), outcome="unknown"), txn("B", put("x", 1)), txn("C", put("x", 1))
    )
    assert expanded(trace, "read-committed") == block("""
        superposition <T1 -ww('x')-> T2, T2 -ww('x')-> T1> # T1 and T2 both wrote 'x'
        superposition <T1 -wr('x')-> T0, T2 -wr('x')-> T0> when committed(T0) # T0 read 'x' = 1
        """)


def test_repeatable_read_has_no_anti_dependencies_of_absent_keys_in_ranges() -> None:
    trace = history(txn("A", scan("a", "z", {})), txn("B", put("x", 1)), txn("C", get("x", Absent)))
    item = "expression T_init -wr('x')-> T2 => T2 -rw('x')-> T1\n"
    assert expanded(trace, "repeatable-read") == item
    assert expanded(trace, "serializable") == "expression T_init -pwr('x')-> T0 => T0 -prw('x')-> T1\n" + item


def test_what_was_added_by_hand_is_printed() -> None:
    ir = ir_of(history(txn("A", put("x", 1)), txn("B", put("x", 2))), "serializable")
    ir.graph.add(0, 1, Dependency.WW)
    ir.superpositions.append(
        Superposition((Edge(0, 1, Dependency.WW), Edge(1, 0, Dependency.WW)), "for fun", FALSE)
    )
    ir.expressions.append(Not(Or((Edge(0, 1, Dependency.WW), all_of(TRUE, Edge(1, 0, Dependency.WW))))))
    assert list(print_ir(ir))[4:] == [
        "edge T0 -ww-> T1",
        "write-order 'x': T0 T1",
        "superposition <T0 -ww-> T1, T1 -ww-> T0> when false # for fun",
        "expression not (T0 -ww-> T1 or T1 -ww-> T0)",
    ]


def test_expressions_print_without_ambiguity() -> None:
    ir = ir_of(history(txn("A", put("x", 1)), txn("B", get("x", 1), outcome="unknown")), "ser")
    a, b = Edge(0, 1, Dependency.WW, 0), Committed(1)
    assert format_expression(ir, Implies(all_of(a, Or((b, Not(a)))), Or((all_of(a, b), TRUE)))) == (
        "T0 -ww('x')-> T1 and (committed(T1) or not (T0 -ww('x')-> T1)) => "
        "(T0 -ww('x')-> T1 and committed(T1)) or (true)"
    )
    assert atoms(Implies(all_of(a, Not(b)), Or((InitialIs(0, 0), a)))) == [a, b, InitialIs(0, 0), a]


OBSERVING = [level for level in LEVELS if level.observes]  # the others are checked without an IR

# --- the verifier -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_lowering_makes_well_formed_ir_of_the_textbook(case: object) -> None:
    for level in OBSERVING:
        assert verify_ir(ir_of(case.build(), level.name)) == []  # type: ignore[attr-defined]


@settings(max_examples=examples(100))
@given(traces())
def test_lowering_makes_well_formed_ir(trace: Trace) -> None:
    asg = build_asg(trace)
    for level in OBSERVING:
        ir = lower(asg, level)
        assert verify_ir(ir) == []
        kinds = {*level.edges}
        if level.once is not None:
            kinds |= {Dependency.RW, Dependency.PRW}
        elif level.cursor:
            kinds |= {Dependency.RW}
        for item in ir.expand():
            options = (*item.options, item.when) if isinstance(item, Superposition) else (item,)
            for atom in (atom for option in options for atom in atoms(option)):
                if isinstance(atom, Edge):
                    assert atom.source == START or 0 <= atom.source < ir.graph.nodes
                    assert atom.kind in kinds and 0 <= atom.target < ir.graph.nodes


def well_formed() -> IR:
    """T0 and T1 wrote x, T2 (unknown) read it, T3 aborted, T4 read from a key of unknown start."""
    return ir_of(
        history(
            txn("A", put("x", 1), time=(0, 10)),
            txn("A", put("x", 1), time=(20, 30)),
            txn("B", get("x", 1), outcome="unknown", time=(40, 50)),
            txn("C", put("x", 3), outcome="aborted", time=(40, 50)),
            txn("D", get("y", 1), time=(60, 70)),
            txn("E", put("y", 1), time=(60, 70)),
            initial="unknown",
        ),
        "strict-serializable",
    )


def damage(change: Callable[[IR], object]) -> list[str]:
    ir = well_formed()
    assert verify_ir(ir) == []
    change(ir)
    return verify_ir(ir)


DAMAGES: dict[str, Callable[[IR], object]] = {
    "the graph has 2 points a transaction, strict-serializable has 1": lambda ir: setattr(
        ir.graph, "points", 2
    ),
    "the graph has 5 transactions, the ASG 6": lambda ir: setattr(ir.graph, "transactions", 5),
    "rt edge 0 -> 99 leaves the graph of 8 nodes": lambda ir: ir.graph.add(0, 99, Dependency.RT),
    "rt edge -1 -> 0 leaves the graph": lambda ir: ir.graph.add(-1, 0, Dependency.RT),
    "ww edge 1 -> 1 is a loop": lambda ir: ir.graph.add(1, 1, Dependency.WW),
    "so edge 0 -> 1 is of a kind that strict-serializable does not know": lambda ir: ir.graph.add(
        0, 1, Dependency.SO
    ),
    "ww edge 0 -> 7 ends in a helper node": lambda ir: ir.graph.add(0, 7, Dependency.WW),
    "ww edge 0 -> 3 touches T3, which aborted": lambda ir: ir.graph.add(0, 3, Dependency.WW),
    "rt edge 2 -> 4 leaves T2, whose outcome is unknown": lambda ir: ir.graph.add(2, 4, Dependency.RT),
    "a superposition without options (nothing to choose)": lambda ir: ir.superpositions.append(
        Superposition((), "nothing to choose")
    ),
    "an expression names the edge 0 -> 40 outside the graph": lambda ir: ir.expressions.append(
        Not(Edge(0, 40, Dependency.WW))
    ),
    "an expression asks whether T0 committed, which is known": lambda ir: ir.superpositions.append(
        Superposition((Committed(0), TRUE), "no doubt")
    ),
    "a writer of 'x' is there twice": lambda ir: set_asg(ir, write_txn=lambda w: np.where(w == 1, 0, w)),
    "the read of 'x' by T2 has the candidate T2, which is itself or aborted": lambda ir: set_asg(
        ir, write_txn=lambda w: np.where(w == 1, 2, w), read_writer=lambda w: np.where(w >= -2, 2, w), state=0
    ),
    "has the candidate T4, which did not write that value": lambda ir: set_asg(
        ir, read_writer=lambda w: np.full_like(w, 4), state=0
    ),
    "the read of 'x' by T2 has no candidate and is not among the orphans": lambda ir: set_asg(
        ir, read_value=lambda v: np.full_like(v, 7), initial=lambda v: np.full_like(v, 0), state=0
    ),
}


def set_asg(ir: IR, state: int | None = None, **columns: Callable[[np.ndarray], np.ndarray]) -> None:
    """Damages columns of the ASG; `state` is what T2 is to be."""
    changes = {name: change(getattr(ir.asg, name)) for name, change in columns.items()}
    if state is not None:
        changes["state"] = ir.asg.state.copy()
        changes["state"][2] = state
    ir.asg = replace(ir.asg, **changes)


@pytest.mark.parametrize("finding", DAMAGES)
def test_the_verifier_notices(finding: str) -> None:
    assert any(finding in found for found in damage(DAMAGES[finding])), damage(DAMAGES[finding])


def test_the_verifier_notices_questions_about_a_known_initial_state() -> None:
    ir = ir_of(history(txn("A", put("x", 1))), "ser")
    ir.expressions.append(InitialIs(0, 0))
    assert verify_ir(ir) == ["an expression asks for the initial value of 'x', which is known"]


def test_the_verifier_notices_a_known_read_from_another_initial_value() -> None:
    ir = ir_of(history(txn("A", get("x", 0)), initial={"x": 0}), "ser")
    ir.asg = replace(ir.asg, initial=np.array([5], np.int32))
    assert verify_ir(ir) == ["the read of 'x' by T0 has the candidate T-1, which did not write that value"]

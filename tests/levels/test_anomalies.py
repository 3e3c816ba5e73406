"""Every textbook anomaly, at every level: the verdict, its name, and a core from which nothing can be dropped.

The anomalies are data (anomalies.py). One of them no black-box trace of registers can show: a dirty write (G0)
is a cycle of overwrites, and who overwrote whom is not observed; any trace satisfies some order of versions. It
is shown here with a version order that is known from elsewhere, put into the IR's graph.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support import effort
from support.anomalies import CASES, LEVELS, Case
from support.histories import get, history, put, txn
from support.unexplained import Unexplained

from boomslang import Checker, Trace, check
from boomslang.asg import build_asg
from boomslang.certify.refute import minimal, refute
from boomslang.certify.replay import replay
from boomslang.explain.anomalies import Anomaly
from boomslang.ir import IR, lower, verify_ir
from boomslang.levels import Dependency, find_level
from boomslang.solve.brute import brute_core
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Solution
from boomslang.solve.z3_solver import solve_z3

every_level = pytest.mark.parametrize("level", LEVELS)
ASKED = [
    pytest.param(
        case,
        level,
        solver,
        # Z3 is asked a third of it in every run: each case, and each level, now and then.
        marks=[pytest.mark.full] if solver == "z3" and (c + n) % 3 else [],
        id=f"{solver}-{level}-{case.name}",
    )
    for c, case in enumerate(CASES)
    for n, level in enumerate(LEVELS)
    for solver in ("native", "z3")
]
INVALID = [(case, level) for case in CASES for level in LEVELS if not case.verdicts[level]]


@pytest.mark.parametrize(("case", "level", "solver"), ASKED)
def test_the_verdict_is_the_textbook_s(case: Case, level: str, solver: str) -> None:
    trace = case.build()
    # What the native engine says is explained below; what Z3 says, in the full run.
    explained = solver == "z3" and effort.full
    verdict = (Checker if explained else Unexplained)(trace, solver=solver).check(level)
    if explained and verdict.invalid:
        assert verdict.counterexample is not None
    assert verdict.invalid == (not case.verdicts[level])
    if verdict.witness is not None:
        replay(trace, verdict.witness)
    if verdict.status == "unknown":
        lacks = [
            word for word, has in (("times", trace.has_times), ("sessions", trace.has_sessions)) if not has
        ]
        assert any(f"no {word} in the trace: " in verdict.reason for word in lacks)


def test_what_a_trace_lacks_is_said_with_the_level_that_was_tested() -> None:
    """A level that is no other level without its session order is not said to be one."""
    trace = history(txn(None, put("x", 1)), txn(None, get("x", 1)))
    reasons = {
        "strong-session-causal": "no sessions in the trace: same as causal consistency, which holds",
        "strong-session-cs": "no sessions in the trace: same as cursor stability, which holds",
        "strong-session-sser": "no times and sessions in the trace: same as serializable, which holds",
        "pl-fcv": "no times in the trace: same as consistent view, which holds",
        "rc-be": "no sessions in the trace: all else that it asks holds",
    }
    assert {level: check(trace, level).reason for level in reasons} == reasons


def is_called(anomaly: Anomaly, expected: str) -> bool:
    """`realtime` and `session` are the kinds of anomaly that only time or session order shows."""
    suffix = {"realtime": "-realtime", "session": "-process"}.get(expected)
    if suffix is not None:
        return anomaly.code.endswith(suffix)
    return expected in (anomaly.code, anomaly.name.replace(" ", "-"))


@pytest.mark.parametrize(("case", "level"), INVALID, ids=[f"{case.name}-{level}" for case, level in INVALID])
def test_the_anomaly_is_named_and_its_core_minimal(case: Case, level: str) -> None:
    trace = case.build()
    found = check(trace, level).counterexample
    assert found is not None
    core = found.core
    assert found.minimal
    if effort.in_turn(
        INVALID.index((case, level)), 7
    ):  # Z3 takes long; 7: each case, and each level, has its turn
        assert refute(trace, core)
        assert minimal(trace, core) == []
    assert not brute_core(trace, level, core.transactions, core.reads)
    assert case.anomaly is not None and found.anomaly is not None
    assert is_called(found.anomaly, case.anomaly), f"{found.anomaly} is not {case.anomaly}"
    assert found.argument is not None
    assert "=>" in "\n".join(found.lines())


# --- the dirty write ----------------------------------------------------------------------------------------


def two_writers() -> Trace:
    return history(txn("A", put("x", 1), put("y", 1)), txn("B", put("x", 2), put("y", 2)))


def with_version_order(level: str, *edges: tuple[int, int]) -> IR:
    """The IR of the two writers when it is known who overwrote whom."""
    found = find_level(level)
    ir = lower(build_asg(two_writers()), found)
    source, target = found.edges[Dependency.WW]
    for a, b in edges:
        ir.graph.add(ir.graph.node(a, source), ir.graph.node(b, target), Dependency.WW)
    assert verify_ir(ir) == []
    return ir


@every_level
@pytest.mark.parametrize("solve", [solve_native, solve_z3])
def test_a_dirty_write_shows_with_a_known_version_order(level: str, solve: Callable[[IR], Solution]) -> None:
    """A overwrote B's x, and B overwrote A's y."""
    assert solve(with_version_order(level)).status == "valid"
    assert solve(with_version_order(level, (0, 1))).status == "valid"
    assert solve(with_version_order(level, (1, 0))).status == "valid"
    assert solve(with_version_order(level, (1, 0), (0, 1))).status == "invalid"


def test_the_core_of_a_dirty_write_are_its_writers() -> None:
    solution = solve_native(with_version_order("read-committed", (1, 0), (0, 1)))
    assert solution.core_transactions is not None and solution.core_transactions.tolist() == [0, 1]
    assert solution.core_reads is not None and solution.core_reads.tolist() == []

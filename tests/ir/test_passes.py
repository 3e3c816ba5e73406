"""The passes: what each makes of a small problem, line by line, and that none changes an answer."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fuzz.traces import MIXES, a_third, random_trace
from support.histories import get, history, put, txn
from support.paths import ROOT

from boomslang import Checker, Trace, check
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.errors import UsageError
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.ir.expression import FALSE, Committed, Edge, Not, Or
from boomslang.levels import LEVELS, find_level
from boomslang.levels.level import Dependency
from boomslang.passes import (
    PASSES,
    Problem,
    chosen,
    expand,
    merge,
    optimise,
    print_problem,
    prioritize,
    prune,
    segments,
)
from boomslang.passes.problem import topological
from boomslang.passes.reach import Reach
from boomslang.passes.simplify import reduced, units
from boomslang.solve.backends import solve_eagerly
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, Solution, witness

clingo = pytest.importorskip("clingo")


def problem(trace: Trace, level: str = "ser") -> Problem:
    return expand(lower(build_asg(trace), find_level(level)))


def lines(given: Problem) -> list[str]:
    return list(print_problem(given))


TWINS = history(
    txn("A", put("x", 1), put("y", 1)),
    txn("B", put("x", 2), put("y", 2)),
    txn("C", get("x", 1), get("y", 1)),
)


def test_expanded() -> None:
    assert lines(problem(TWINS)) == [
        "edge T0 -wr('x')-> T2",
        "edge T0 -wr('y')-> T2",
        "superposition <T0 -ww('x')-> T1, T1 -ww('x')-> T0> # T0 and T1 both wrote 'x'",
        "superposition <T0 -ww('y')-> T1, T1 -ww('y')-> T0> # T0 and T1 both wrote 'y'",
        "expression T0 -wr('x')-> T2 and T0 -ww('x')-> T1 => T2 -rw('x')-> T1",
        "expression T0 -wr('y')-> T2 and T0 -ww('y')-> T1 => T2 -rw('y')-> T1",
    ]


def test_merge() -> None:
    """One question instead of one for each key; anti-dependencies between the same two are one as well."""
    assert lines(merge(problem(TWINS))) == [
        "edge T0 -wr('x')-> T2",
        "edge T0 -wr('y')-> T2",
        "superposition <T0 -ww('x')-> T1, T1 -ww('x')-> T0> # T0 and T1 both wrote 'x'",
        "expression T0 -wr('x')-> T2 and T0 -ww('x')-> T1 => T2 -rw('x')-> T1",
        "expression T0 -wr('y')-> T2 and T0 -ww('x')-> T1 => T2 -rw('x')-> T1",
    ]


@pytest.mark.parametrize("level", ["si", "prefix"])
def test_merge_with_two_points(level: str) -> None:
    assert len(merge(problem(TWINS, level)).superpositions) == 1


def test_merge_leaves_unknown_outcomes_alone() -> None:
    doubtful = history(
        txn("A", put("x", 1), put("y", 1)),
        txn("B", put("x", 2), put("y", 2), outcome="unknown"),
    )
    given = problem(doubtful)
    assert len(given.superpositions) == 2
    assert merge(given).superpositions == given.superpositions


def test_prune() -> None:
    """T1 read what T0 wrote and overwrote it; so T2, which read it too, was before T1. T3 is anywhere."""
    trace = history(
        txn("A", put("x", 1)),
        txn("A", get("x", 1), put("x", 2)),
        txn("B", get("x", 1)),
        txn("B", put("x", 3)),
    )
    assert lines(prune(problem(trace))) == [
        "edge T0 -wr('x')-> T1",
        "edge T0 -wr('x')-> T2",
        "edge T0 -ww('x')-> T1",
        "edge T2 -rw('x')-> T1",
        "superposition <T0 -ww('x')-> T3, T3 -ww('x')-> T0> # T0 and T3 both wrote 'x'",
        "superposition <T1 -ww('x')-> T3, T3 -ww('x')-> T1> # T1 and T3 both wrote 'x'",
        "expression T0 -ww('x')-> T3 => T1 -rw('x')-> T3",
        "expression T0 -ww('x')-> T3 => T2 -rw('x')-> T3",
    ]
    # With session order T3 is after T2, which read from T0: then everything follows.
    assert lines(prune(problem(trace, "strong-session-ser"))) == [
        "edge T0 -wr('x')-> T1",
        "edge T0 -wr('x')-> T2",
        "edge T0 -so-> T1",
        "edge T2 -so-> T3",
        "edge T0 -ww('x')-> T1",
        "edge T0 -ww('x')-> T3",
        "edge T1 -rw('x')-> T3",
        "edge T2 -rw('x')-> T1",
        "edge T1 -ww('x')-> T3",
    ]


def test_prune_drops_a_candidate() -> None:
    trace = history(
        txn("A", put("x", 1)),
        txn("A", get("x", 1), put("y", 1)),
        txn("B", get("y", 1), put("x", 1)),
    )
    assert "edge T0 -wr('x')-> T1" in lines(prune(problem(trace)))


def test_prune_refutes_a_cycle() -> None:
    trace = history(txn("A", get("y", 1), put("x", 1)), txn("B", get("x", 1), put("y", 1)))
    assert prune(problem(trace)).refuted


def test_prioritize() -> None:
    """Along the log, where the graph leaves a choice; of candidates, the last before the reader."""
    trace = history(
        txn("A", put("x", 1)), txn("B", put("x", 1)), txn("C", get("x", 1)), txn("D", put("x", 1))
    )
    advice = [line for line in lines(prioritize(problem(trace))) if line.startswith("try")]
    assert [line for line in advice if "ww" in line] == [
        "try T0 -ww('x')-> T1",
        "try not T1 -ww('x')-> T0",
        "try T0 -ww('x')-> T3",
        "try not T3 -ww('x')-> T0",
        "try T1 -ww('x')-> T3",
        "try not T3 -ww('x')-> T1",
    ]
    assert [line for line in advice if "wr" in line] == [
        "try not T0 -wr('x')-> T2",
        "try T1 -wr('x')-> T2",
        "try not T3 -wr('x')-> T2",
    ]


def skew(at: int, of: int) -> Trace:
    """A lost update among many transactions that have nothing to do with it."""
    txns = [txn("S", put(f"k{i}", i)) for i in range(of)]
    txns[at : at + 3] = [
        txn("A", put("x", 1)),
        txn("B", get("x", 1), put("x", 2)),
        txn("C", get("x", 1), put("x", 3)),
    ]
    return history(*txns)


def test_segments() -> None:
    from boomslang.solve.clingo_solver import solve_clingo

    asked: list[int] = []

    def decide(part: Problem, limits: Limits) -> Solution:
        assert part.part is not None
        asked.append(len(part.part))
        return solve_clingo(part, limits)

    found = segments(problem(skew(20, 40)), decide, Limits())
    assert found.refuted and set(asked) == {8}, "a small window was enough"
    assert found.core is not None and {20, 21, 22} <= set(found.core) and len(found.core) == 8
    fine = problem(history(*(txn("S", put("x", i)) for i in range(20))))
    assert segments(fine, decide, Limits()) is fine
    # What was derived from the whole is no argument about a window.
    assert segments(replace(problem(skew(20, 40)), derived=True), decide, Limits()).core is None


def test_a_refuted_window_is_a_core() -> None:
    verdict = check(skew(20, 40), "ser", solver="clingo", passes=["segments"])
    assert verdict.stats["decided by"] == "the pass segments"
    assert verdict.counterexample is not None
    assert verdict.counterexample.core.transactions == (21, 22)


def test_which_passes() -> None:
    assert chosen() == tuple(PASSES)
    assert chosen(["merge", "prune"]) == ("prune", "merge"), "in the order in which they are run"
    assert chosen(None, ["segments"]) == ("prune", "merge", "prioritize")
    with pytest.raises(UsageError, match="unknown pass 'speed'; known passes: prune, merge"):
        chosen(["speed"])


def test_effects_are_told() -> None:
    verdict = check(TWINS, "ser", solver="clingo")
    assert "hints" in verdict.stats["pass prioritize"] and verdict.stats["pass merge"].startswith(
        "-1 superpositions"
    )
    assert {"expand", "optimise", "encode", "solve"} <= set(verdict.stats)
    _, effects = optimise(problem(TWINS), ["merge"], lambda p, limits: Solution("unknown"))
    assert (effects[0].superpositions, effects[0].expressions, effects[0].edges) == (1, 0, 0)


def test_passes_are_for_eager_solvers() -> None:
    with pytest.raises(UsageError, match="passes are for eager solvers"):
        Checker(TWINS, passes=["prune"])


def test_command_line(tmp_path: Any) -> None:
    from boomslang.trace import write_trace

    path = tmp_path / "t.jsonl"
    write_trace(TWINS, path)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "boomslang", "check", str(path), "--level", "ser", "--stats", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run("--solver", "clingo", "--no-pass", "segments")
    assert done.returncode == 0 and "pass segments" not in done.stdout
    assert re.search(r"pass merge +-1 superpositions, -1 expressions \(\d", done.stdout)
    assert re.search(r"pass prioritize +\d+ hints \(\d", done.stdout)
    done = run("--solver", "clingo", "--passes", "none")
    assert done.returncode == 0 and "pass " not in done.stdout
    done = run("--passes", "prune")
    assert done.returncode == 254 and "add, for example, --solver z3" in done.stderr
    done = run("--solver", "clingo", "--passes", "speed")
    assert done.returncode == 254 and "unknown pass 'speed'" in done.stderr


def test_shown_on_the_command_line(tmp_path: Any) -> None:
    from boomslang.trace import write_trace

    path = tmp_path / "t.jsonl"
    write_trace(TWINS, path)
    command = [sys.executable, "-m", "boomslang", "ir", str(path), "--level", "ser", "--passes"]
    done = subprocess.run([*command, "merge,prune"], capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()
    assert [line.split(":")[0] for line in told[:2]] == ["# prune", "# merge"]
    assert told[2:] == lines(merge(prune(problem(TWINS))))
    done = subprocess.run([*command, "segments"], capture_output=True, text=True, check=False)
    assert done.returncode == 254 and "no pass 'segments' to show" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    "words",
    [
        ["ablation", "--transactions", "20", "--solvers", "clingo"],
        ["earlier_checkers", "--sizes", "20"],
        ["superpositions", "--transactions", "20", "--solvers", "clingo"],
        ["scaling", "--sizes", "100,200", "--eager", "100"],
        ["loc"],
    ],
)
def test_benchmarks_run(words: list[str]) -> None:
    folder = ROOT / "benchmarks"
    command = [sys.executable, str(folder / f"{words[0]}.py"), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "failed" not in done.stdout, done.stdout + done.stderr


# --- the parts


def test_reach_is_reachability() -> None:
    rng = random.Random(1)
    for _ in range(50):
        n = rng.randrange(1, 25)
        arcs = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < 0.15]
        order = topological(n, arcs)
        assert order is not None
        reach = Reach(order, arcs)
        closure = np.eye(n, dtype=bool)
        for a in reversed(range(n)):
            for x, b in arcs:
                if x == a:
                    closure[a] |= closure[b]
        a, b = np.divmod(np.arange(n * n), n)
        assert (reach.reaches(a, b) == closure[a, b]).all()


def test_sessions_are_chains() -> None:
    trace = history(*(txn(f"S{i % 3}", put("x", i)) for i in range(30)))
    given = problem(trace, "strong-session-ser")
    order = topological(given.nodes, given.arcs())
    assert order is not None
    assert Reach(order, given.arcs()).chains == 3


def test_no_order_where_there_is_a_cycle() -> None:
    assert topological(3, [(0, 1), (1, 2), (2, 0)]) is None


def test_nothing_is_lost_in_a_simplification() -> None:
    a, b, c = Committed(0), Committed(1), Edge(0, 1, Dependency.WW)
    assert reduced(Or((a, b)), {a: False}) == b
    assert reduced(Not(Or((a, b))), {a: True}) == FALSE
    assert units(Not(Or((a, Not(b), Or((c,)))))) == [(a, False), (b, True), (c, False)]
    kept = Not(Or((a, b)))
    assert reduced(kept, {c: True}) is kept


# --- no pass changes an answer

WAYS: list[tuple[str, ...] | None] = [(), *((name,) for name in PASSES), None]


@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.full)])
@pytest.mark.parametrize("mix", [m for m in MIXES if not m.startswith("crowd")])
def test_no_pass_changes_an_answer(mix: str, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every level; one round: at a third of them, another one for each mix."""
    monkeypatch.setattr(sys.modules["boomslang.passes.segments"], "SIZES", (2, 4))
    levels = a_third(list(MIXES).index(mix)) if rounds == 1 else LEVELS
    seeds = iter(range(500 * rounds, 500 * rounds + 500))
    for _ in range(rounds):
        trace = random_trace(next(seeds), mix)
        while first_broken(asg := build_asg(trace)) is not None or len(trace) > 7:
            trace = random_trace(next(seeds), mix)
        for level in levels:
            if not level.observes:
                continue
            ir = lower(asg, level)
            expected = solve_native(ir).status
            for passes in WAYS:
                found = solve_eagerly(expand(ir), "clingo", Limits(), passes)
                assert found.status == expected, (mix, level.name, passes)
                if found.status == "valid":
                    replay(trace, witness(ir, found))

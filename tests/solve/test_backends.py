"""Back ends behind one interface: the same answers, the same refusals, and limits that hold."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from fuzz.traces import MIXES, a_third, random_trace
from support.commands import environment
from support.histories import get, history, put, txn
from support.stopwatch import now, passed

from boomslang import Checker, Trace, check
from boomslang.asg import build_asg
from boomslang.certify.replay import replay
from boomslang.errors import UsageError
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.ir.expression import Committed, Implies, Not, Or, Superposition, all_of
from boomslang.levels import LEVELS, find_level
from boomslang.passes import Problem, expand, prioritize
from boomslang.solve import monosat_solver
from boomslang.solve.backends import EAGER, any_eager, eager, solve_eagerly
from boomslang.solve.clingo_solver import solve_clingo
from boomslang.solve.clock import Clock
from boomslang.solve.cnf import Clauses, to_clauses
from boomslang.solve.monosat_solver import solve_monosat
from boomslang.solve.names import SOLVERS
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, witness
from boomslang.trace import LimitReached

INSTALLED = [name for name, back in EAGER.items() if back.installed]


def test_names() -> None:
    assert SOLVERS == ("native", "z3", "clingo", "monosat")
    with pytest.raises(
        UsageError, match=r"unknown solver 'minisat' \(did you mean monosat\?\); known solvers: native, z3"
    ):
        Checker(history(), solver="minisat")
    with pytest.raises(UsageError, match="no eager back end"):
        eager("native")
    assert any_eager() in INSTALLED


@pytest.mark.parametrize("name", [name for name in EAGER if name not in INSTALLED])
def test_a_missing_module_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=f"--solver {name} needs"):
        check(history(txn("A", put("x", 1))), "ser", solver=name)


@pytest.mark.parametrize("name", ["z3", "clingo", "monosat"])
def test_without_its_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EAGER[name].needs, None)
    with pytest.raises(UsageError, match=f"--solver {name} needs"):
        EAGER[name].solve(expand(lower(build_asg(history()), find_level("ser"))), Limits())


ROUNDS = [1, pytest.param(5, marks=pytest.mark.full)]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("mix", [m for m in MIXES if not m.startswith("crowd")])
def test_same_answers(mix: str, rounds: int) -> None:
    """Every level (one round: a third of them, another one for each mix), in every back end that is installed, with and
    without passes; every witness is replayed."""
    levels = a_third(list(MIXES).index(mix)) if rounds == 1 else LEVELS
    seeds = iter(range(1000 * rounds, 1000 * rounds + 500))
    for _ in range(rounds):
        trace = random_trace(next(seeds), mix)
        while first_broken(asg := build_asg(trace)) is not None or len(trace) > 6:
            trace = random_trace(next(seeds), mix)
        for level in (level for level in levels if level.observes):
            ir = lower(asg, level)
            expected = solve_native(ir).status
            for name in INSTALLED:
                for passes in ((), None):
                    found = solve_eagerly(expand(ir), name, Limits(), passes)
                    assert found.status == expected, (mix, level.name, name, passes)
                    if found.status == "valid":
                        replay(trace, witness(ir, found))


LOST_UPDATE = history(
    txn("A", put("x", 1)), txn("B", get("x", 1), put("x", 2)), txn("C", get("x", 1), put("x", 3))
)


@pytest.mark.parametrize("name", ["native", *INSTALLED])
def test_through_the_front_door(name: str) -> None:
    verdict = check(LOST_UPDATE, "si", solver=name)
    assert verdict.invalid and verdict.counterexample is not None
    assert check(LOST_UPDATE, "rc", solver=name).valid


def crowd(n: int) -> Trace:
    return history(
        *(txn(f"S{i}", get("x", i % 3), put("x", (i + 1) % 3)) for i in range(n)), initial={"x": 0}
    )


@pytest.mark.parametrize("name", INSTALLED)
def test_time_limit(name: str) -> None:
    verdict = check(crowd(60), "ser", solver=name, timeout=0.05)
    assert verdict.status == "unknown" and "time" in verdict.reason


def hot(n: int) -> Trace:
    """One key, many writers, and all values alike: written out, hundreds of millions of expressions."""
    return history(*(txn("S", get("x", 1), put("x", 1)) for _ in range(n)), initial={"x": 1})


@pytest.mark.parametrize("level", ["ser", "si", "causal", "pl-2+", "ra", "strong-session-ra"])
@pytest.mark.parametrize("name", INSTALLED)
def test_writing_a_problem_out_looks_at_the_clock(name: str, level: str) -> None:
    start = now()
    verdict = check(hot(700), level, solver=name, timeout=0.3)
    assert verdict.status == "unknown" and verdict.reason == "the time limit was reached"
    assert passed(start) < 3


@pytest.mark.parametrize("encoding", ["cobra", "viper", "polysi"])
def test_encodings_look_at_the_clock(encoding: str) -> None:
    unique = history(*(txn("S", put("x", i), put("y", i)) for i in range(700)))
    level = "ser" if encoding == "cobra" else "si"
    start = now()
    verdict = check(unique, level, encoding=encoding, timeout=0.3)
    assert verdict.status == "unknown" and verdict.reason == "the time limit was reached"
    assert passed(start) < 3


def test_writing_a_problem_out_looks_at_the_memory() -> None:
    ir = lower(build_asg(hot(700)), find_level("ser"))
    with pytest.raises(LimitReached, match="memory"):
        expand(ir, Clock(Limits(megabytes=1)))


def test_ctrl_c_is_heard_while_a_problem_is_written_out() -> None:
    code = "from test_backends import hot, check; print('go', flush=True); check(hot(2000), 'ser', solver='clingo')"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(Path(__file__).parent),
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"go\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) != 0
        assert b"KeyboardInterrupt" in process.stderr.read()


# --- clauses


def satisfiable(clauses: Clauses) -> set[frozenset[int]]:
    """All assignments, by trying them."""
    found = set()
    for bits in range(2**clauses.variables):
        true = {v for v in range(1, clauses.variables + 1) if bits >> (v - 1) & 1}
        if all(any((x > 0) == (abs(x) in true) for x in clause) for clause in clauses.clauses):
            found.add(frozenset(true))
    return found


def test_clauses_mean_what_the_expressions_say() -> None:
    a, b, c = Committed(0), Committed(1), Committed(2)
    expressions: list[Any] = [
        Implies(all_of(a, b), c),
        Not(Or((a, all_of(b, c)))),
        Or((all_of(a, b), all_of(Not(a), c))),
        Implies(Or((a, b)), all_of(b, Not(c))),
        Not(Implies(a, b)),
        Or(()),
        all_of(),
    ]

    def true(e: Any, world: dict[Any, bool]) -> bool:
        if isinstance(e, Not):
            return not true(e.inner, world)
        if isinstance(e, Implies):
            return not true(e.premise, world) or true(e.conclusion, world)
        if isinstance(e, Committed):
            return world[e]
        return (any if isinstance(e, Or) else all)(true(part, world) for part in e.parts)

    worlds = [dict(zip((a, b, c), (bool(n & 1), bool(n & 2), bool(n & 4)), strict=True)) for n in range(8)]
    for e in expressions:
        clauses = Clauses()
        numbers = [clauses.variable(x) for x in (a, b, c)]
        clauses.add(e)
        found = {frozenset(model & set(numbers)) for model in satisfiable(clauses)}
        expected = {
            frozenset(n for n, x in zip(numbers, (a, b, c), strict=True) if world[x])
            for world in worlds
            if true(e, world)
        }
        assert found == expected, e


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8])
def test_exactly_one(size: int) -> None:
    clauses = Clauses()
    options = tuple(Committed(i) for i in range(size))
    numbers = [clauses.variable(option) for option in options]
    clauses.add_superposition(Superposition(options, "test"))
    found = {frozenset(model & set(numbers)) for model in satisfiable(clauses)}
    assert found == {frozenset({n}) for n in numbers}


# --- MonoSAT: no registry has it, so a stand-in takes its place


class StandIn(types.ModuleType):
    """The part of MonoSAT's Python module that the adapter uses, as its documentation has it, with clingo inside.

    It shows that the adapter asks the right question and reads the answer; not that MonoSAT answers it.
    """

    def __init__(self) -> None:
        super().__init__("monosat")
        standin = self

        class Var:
            def __init__(self) -> None:
                standin.variables.append(self)
                self.number = len(standin.variables)
                self.negative = False

            def value(self) -> bool:
                return self.number in standin.true

            def setDecisionPriority(self, priority: int) -> None:
                standin.priority[self.number] = priority

            def setDecisionPolarity(self, negative: bool) -> None:
                standin.negative[self.number] = negative

        class Monosat:
            def newSolver(self) -> None:
                standin.variables, standin.clauses, standin.arcs, standin.true = [], [], [], set()

        class Graph:
            def __init__(self) -> None:
                self.count = 0

            def addNode(self) -> int:
                self.count += 1
                return self.count - 1

            def addEdge(self, a: int, b: int) -> Var:
                assert 0 <= a < self.count and 0 <= b < self.count
                edge = Var()
                standin.arcs.append((a, b, edge.number))
                return edge

            def acyclic(self) -> Var:
                return Var()  # asserted by the adapter: what follows takes it as true

        self.variables: list[Any] = []
        self.clauses: list[list[int]] = []
        self.arcs: list[tuple[int, int, int]] = []
        self.true: set[int] = set()
        self.priority: dict[int, int] = {}
        self.negative: dict[int, bool] = {}
        self.Var, self.Monosat, self.Graph = Var, Monosat, Graph

    def Not(self, variable: Any) -> int:
        return -int(variable.number)

    def AssertClause(self, clause: list[Any]) -> None:
        self.clauses.append([x if isinstance(x, int) else x.number for x in clause])

    def Solve(self) -> bool:
        clingo = pytest.importorskip("clingo")
        control = clingo.Control()
        with control.backend() as backend:
            atoms = [0, *(backend.add_atom() for _ in self.variables)]
            backend.add_rule(atoms[1:], choice=True)
            for clause in self.clauses:
                backend.add_rule([], [-atoms[x] if x > 0 else atoms[-x] for x in clause])
            for a, b, number in self.arcs:
                backend.add_acyc_edge(a, b, [atoms[number]])
        with control.solve(yield_=True) as handle:
            for model in handle:
                self.true = {v for v in range(1, len(atoms)) if model.is_true(atoms[v])}
                return True
        return False


def test_monosat_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "monosat", StandIn())
    monkeypatch.setattr(
        monosat_solver, "in_a_process", lambda question, limits: monosat_solver.answer(question)
    )
    for seed in range(40):
        trace = random_trace(seed, "default")
        if first_broken(asg := build_asg(trace)) is not None:
            continue
        for level in map(find_level, ("ser", "si", "rc", "psi")):
            ir = lower(asg, level)
            found = solve_monosat(ir, Limits(seconds=30))
            assert found.status == solve_native(ir).status
            if found.status == "valid":
                replay(trace, witness(ir, found))


def test_monosat_takes_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two writers, the order that the log suggests is tried first, and before variables without advice."""
    module = StandIn()
    monkeypatch.setitem(sys.modules, "monosat", module)
    monkeypatch.setattr(
        monosat_solver, "in_a_process", lambda question, limits: monosat_solver.answer(question)
    )
    ir = lower(build_asg(history(txn("A", put("x", 1)), txn("B", put("x", 2)))), find_level("ser"))
    assert solve_monosat(expand(ir), Limits()).status == "valid" and not module.priority
    assert solve_monosat(prioritize(expand(ir)), Limits()).status == "valid"
    first = {(a, b): number for a, b, number in module.arcs}
    assert module.priority == {first[0, 1]: 1, first[1, 0]: 1}
    assert module.negative == {first[0, 1]: False, first[1, 0]: True}


@pytest.mark.skipif(not EAGER["monosat"].installed, reason="MonoSAT is in no package registry")
def test_monosat_itself_takes_advice() -> None:
    for seed in range(20):
        trace = random_trace(seed, "default")
        if first_broken(asg := build_asg(trace)) is None:
            ir = lower(asg, find_level("ser"))
            assert solve_monosat(prioritize(expand(ir)), Limits(30)).status == solve_native(ir).status


def monosat_that(solve: str, folder: Path) -> None:
    """A module in which all clauses can be satisfied, and whose `Solve` does this."""
    lines = [
        "import time",
        "class Var:",
        "    def value(self): return True",
        "class Monosat:",
        "    def newSolver(self): print('MonoSAT 1.8, by the way')",
        "class Graph:",
        "    def addNode(self): return 0",
        "    def addEdge(self, a, b): return Var()",
        "    def acyclic(self): return Var()",
        "def Not(variable): return variable",
        "def AssertClause(clause): pass",
        f"def Solve(): {solve}",
    ]
    (folder / "monosat.py").write_text("\n".join(lines) + "\n")


def open_order() -> Problem:
    """Two writers of a key, and somebody who read one of them."""
    trace = history(txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 1)))
    return expand(lower(build_asg(trace), find_level("ser")))


def test_monosat_is_killed_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may not look at the clock at all: it has a process of its own."""
    monosat_that("time.sleep(60)", tmp_path)
    monkeypatch.setitem(sys.modules, "monosat", StandIn())  # it is "installed"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # before one that is really installed
    start = time.monotonic()
    found = solve_monosat(open_order(), Limits(seconds=1))
    assert found.status == "unknown" and found.reason == "time" and time.monotonic() - start < 10


def test_monosat_answers_from_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "monosat", StandIn())  # it is "installed"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # before one that is really installed
    monosat_that("return False", tmp_path)
    assert solve_monosat(open_order(), Limits(seconds=60)).status == "invalid"
    monosat_that("raise RuntimeError('out of luck')", tmp_path)
    with pytest.raises(UsageError, match="MonoSAT failed: RuntimeError: out of luck"):
        solve_monosat(open_order())
    # Whoever limits this process's CPU time limits that of its children too.
    monosat_that("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", tmp_path)
    found = solve_monosat(open_order(), Limits(seconds=60))
    assert found.status == "unknown" and found.reason == "time"


def test_monosat_gets_a_question_that_fills_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process takes longer to start than we wait between two looks; nothing of the question may be lost then."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monosat_that("return True", tmp_path)
    question = monosat_solver.Question(0, 1, [[1]] * 100_000, [], [])
    assert monosat_solver.in_a_process(question, Limits(seconds=20)) == {1}


# --- the smallest problems


def test_nothing_at_all() -> None:
    empty = expand(lower(build_asg(history()), find_level("ser")))
    for name in INSTALLED:
        assert solve_eagerly(empty, name).status == "valid"


def test_a_contradiction() -> None:
    ir = lower(build_asg(history(txn("A", put("x", 1)))), find_level("ser"))
    wrong = Problem(ir, (), (Superposition((), "none"),), ())
    for name in INSTALLED:
        assert EAGER[name].solve(wrong, Limits()).status == "invalid"
    assert to_clauses(wrong).clauses == [[]]


def test_clingo_takes_advice() -> None:
    given = expand(lower(build_asg(LOST_UPDATE), find_level("rc")))
    advised = Problem(
        given.ir, given.known, given.superpositions, given.expressions, given.fixed,
        advice=dict.fromkeys(given.atoms(), False),
    )  # fmt: skip
    assert solve_clingo(advised).status == "valid"

"""An eager back end: MonoSAT, where its Python module can be imported (it is in no package registry).

MonoSAT is a SAT solver that knows monotonic theories, among them whether a graph is acyclic (Bayless et al., "SAT
modulo monotonic theories", AAAI 2015); Cobra and PolySI were built on it. The adapter uses five things of its
module: `Var`, `Not`, `AssertClause`, `Graph` and `Solve`; and where `prioritize` gave advice, the priority and the
polarity of a variable's decision: what is advised is decided before the rest, and first as it is advised.

It works in a process of its own, which is killed when a limit is reached. MonoSAT's own time limit is one of whole
seconds, which it looks at between two of its steps; and its module lets no other Python thread run meanwhile, so that
neither the clock nor Ctrl-C would be heard. (There is also one solver for a whole process.)
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.passes.columns.of import Columns
from boomslang.passes.columns.solved import ColumnClauses, clauses_of
from boomslang.passes.problem import Problem, as_problem
from boomslang.solve.backends import EAGER
from boomslang.solve.clock import Clock, resident_megabytes
from boomslang.solve.cnf import Clauses, read_off, to_clauses
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached

NAP = 0.05
"""Seconds between two looks at the memory of the process."""

PR_SET_PDEATHSIG = 1
"""Of Linux: which signal comes when the parent dies."""


@dataclass(frozen=True)
class Question:
    """What the process is asked."""

    nodes: int
    variables: int
    clauses: list[list[int]]
    arcs: list[tuple[int, int, int]]
    always: list[tuple[int, int]]
    advice: dict[int, bool] = field(default_factory=dict)
    """What to try first of some variables."""


def solve_monosat(given: IR | Problem, limits: Limits | None = None) -> Solution:
    """Decides an IR, or a problem made of it, with MonoSAT."""
    EAGER["monosat"].require()
    limits = limits or Limits()
    clock = Clock(limits)
    problem = as_problem(given, clock)
    start = time.perf_counter()
    columns = Columns.of(problem)
    written = to_clauses(problem, clock) if columns is None else clauses_of(columns, clock.look)
    question = _question(problem, written)
    if [] in question.clauses:
        return Solution("invalid")
    encoded = time.perf_counter()
    try:
        true = in_a_process(question, clock.left())
    except LimitReached as limit:
        return Solution("unknown", reason=limit.reason)
    stats = {"encode": encoded - start, "solve": time.perf_counter() - encoded}
    if true is None:
        return Solution("invalid", stats=stats)
    found = read_off(problem, columns, written, true)
    found.stats.update(stats)
    return found


def _question(problem: Problem, written: Clauses | ColumnClauses) -> Question:
    return Question(
        problem.nodes,
        written.variables,
        list(written.each_clause()),
        list(written.each_arc()),
        list(written.each_always()),
        written.advice,
    )


def in_a_process(question: Question, limits: Limits) -> set[int] | None:
    """What `answer` says, from a process that does not outlive the limits."""
    # In a file: of a pipe that is full when a wait for the answer is over, the next wait would not send the rest.
    with tempfile.TemporaryFile() as asked:
        asked.write(json.dumps({"path": sys.path, "question": asdict(question)}).encode())
        asked.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-m", "boomslang.solve.monosat_solver"],
            stdin=asked,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    try:
        told = _wait(child, limits)
    finally:
        child.kill()
        child.communicate()
    if child.returncode == -signal.SIGXCPU:
        raise LimitReached("time")  # of whoever limits this process's CPU time, and so its children's
    if not told:
        raise UsageError(f"MonoSAT ended without an answer (exit code {child.returncode})")
    status, what = json.loads(told)
    if status == "failed":
        raise UsageError(f"MonoSAT failed: {what}")
    return None if status == "invalid" else set(what)


def _wait(child: subprocess.Popen[bytes], limits: Limits) -> bytes:
    end = None if limits.seconds is None else time.monotonic() + limits.seconds
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=NAP)[0]
        if end is not None and time.monotonic() > end:
            raise LimitReached("time")
        if limits.megabytes is not None and resident_megabytes(child.pid) > limits.megabytes:
            raise LimitReached("memory")


def answer(question: Question) -> set[int] | None:
    """The variables that are true, or None if the clauses and the graph cannot all be satisfied."""
    monosat: Any = importlib.import_module("monosat")
    monosat.Monosat().newSolver()
    graph = monosat.Graph()
    nodes = [graph.addNode() for _ in range(question.nodes)]
    edge_of = {variable: graph.addEdge(nodes[a], nodes[b]) for a, b, variable in question.arcs}
    variables = [None, *(edge_of.get(v) or monosat.Var() for v in range(1, question.variables + 1))]
    for a, b in question.always:
        monosat.AssertClause([graph.addEdge(nodes[a], nodes[b])])
    for clause in question.clauses:
        monosat.AssertClause([variables[x] if x > 0 else monosat.Not(variables[-x]) for x in clause])
    monosat.AssertClause([graph.acyclic()])
    for number, first in question.advice.items():
        variables[int(number)].setDecisionPriority(1)
        # As in MiniSat, the polarity is the sign of the literal that is tried first: true is "not".
        variables[int(number)].setDecisionPolarity(not first)
    if not monosat.Solve():
        return None
    return {v for v in range(1, question.variables + 1) if variables[v].value()}


def _main() -> None:
    """The process: a question in, an answer out. It ends with whoever asked, and at Ctrl-C at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    out = os.dup(1)
    os.dup2(2, 1)  # what MonoSAT prints is no answer
    asked = json.loads(sys.stdin.buffer.read())
    sys.path += [place for place in asked["path"] if place not in sys.path]  # where MonoSAT was found
    try:
        true = answer(Question(**asked["question"]))
        told: list[Any] = ["invalid", None] if true is None else ["valid", sorted(true)]
    except Exception as problem:
        told = ["failed", f"{type(problem).__name__}: {problem}"]
    with os.fdopen(out, "w") as stream:
        json.dump(told, stream)


if __name__ == "__main__":
    _main()

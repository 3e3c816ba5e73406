"""Exported text: read back by somebody else, it gives the same answer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fuzz.traces import MIXES, a_third, random_trace
from support import effort
from support.commands import command
from support.histories import get, history, put, txn

from boomslang.asg import build_asg
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.levels import LEVELS, find_level
from boomslang.passes import Problem, expand, merge, prune
from boomslang.solve.export import to_dimacs_graph, to_smtlib
from boomslang.solve.native import solve_native
from boomslang.trace import Trace, write_trace

TRACE = history(txn("A", put("x", 1)), txn("B", put("x", 2)), txn("C", get("x", 1)))


def problem(trace: Trace, level: str) -> Problem:
    return expand(lower(build_asg(trace), find_level(level)))


def test_smtlib() -> None:
    assert list(to_smtlib(problem(TRACE, "ser"))) == [
        "; serializable: sat if the trace satisfies it",
        "(set-logic QF_IDL)",
        "(declare-const n0 Int) ; T0",
        "(declare-const n1 Int) ; T1",
        "(declare-const n2 Int) ; T2",
        "(declare-const a0 Bool) ; T0 -ww('x')-> T1",
        "(declare-const a1 Bool) ; T1 -ww('x')-> T0",
        "(declare-const a2 Bool) ; T0 -wr('x')-> T2",
        "(declare-const a3 Bool) ; T2 -rw('x')-> T1",
        "(assert (< n0 n2))",
        "(assert (=> a0 (< n0 n1)))",
        "(assert (=> a1 (< n1 n0)))",
        "(assert (=> a2 (< n0 n2)))",
        "(assert a2)",
        "(assert (=> a3 (< n2 n1)))",
        "(assert (=> true (or a0 a1)))",
        "(assert (=> true (not (and a0 a1))))",
        "(assert (=> (and a2 a0) a3))",
        "(check-sat)",
    ]


def test_dimacs_graph() -> None:
    assert list(to_dimacs_graph(problem(TRACE, "ser"))) == [
        "c serializable: satisfiable if the trace satisfies it",
        "c variable 1 T0 -ww('x')-> T1",
        "c variable 2 T1 -ww('x')-> T0",
        "c variable 3 T0 -wr('x')-> T2",
        "c variable 4 T2 -rw('x')-> T1",
        "c node 0 T0",
        "c node 1 T1",
        "c node 2 T2",
        "p cnf 6 6",
        "1 2 0",
        "-1 -2 0",
        "-3 -1 4 0",
        "3 0",
        "5 0",
        "6 0",
        "digraph int 3 5 0",
        "edge 0 0 1 1",
        "edge 0 1 0 2",
        "edge 0 0 2 3",
        "edge 0 2 1 4",
        "edge 0 0 2 5",
        "acyclic 0 6",
    ]


def by_z3(text: str) -> str:
    """What Z3's own parser makes of the script."""
    z3 = pytest.importorskip("z3")
    solver = z3.Solver()
    solver.from_string(text)
    return {"sat": "valid", "unsat": "invalid"}[str(solver.check())]


def by_clingo(text: str) -> str:
    """A small reader of GNF, with clingo's acyclicity behind it. It is strict about what the format demands."""
    clingo = pytest.importorskip("clingo")
    clauses: list[list[int]] = []
    edges: list[tuple[int, int, int]] = []
    variables = nodes = promised = acyclic = 0
    for words in (line.split() for line in text.splitlines() if not line.startswith("c")):
        if words[0] == "p":
            assert words[1] == "cnf"
            variables, promised = int(words[2]), int(words[3])
        elif words[0] == "digraph":
            assert words[1] == "int" and words[4] == "0"
            nodes, count = int(words[2]), int(words[3])
        elif words[0] == "edge":
            edges.append((int(words[2]), int(words[3]), int(words[4])))
        elif words[0] == "acyclic":
            acyclic = int(words[2])
        else:
            assert words[-1] == "0"
            clauses.append([int(word) for word in words[:-1]])
    assert len(clauses) == promised and len(edges) == count
    assert all(0 < abs(x) <= variables for clause in clauses for x in clause)
    assert all(0 <= a < nodes and 0 <= b < nodes for a, b, _ in edges)
    used = [variable for _, _, variable in edges]
    assert len(set(used)) == len(used) and acyclic not in used, "each has a variable of its own"
    assert [acyclic] in clauses
    control = clingo.Control()
    with control.backend() as backend:
        atoms = [0, *(backend.add_atom() for _ in range(variables))]
        backend.add_rule(atoms[1:], choice=True)
        for clause in clauses:
            backend.add_rule([], [-atoms[x] if x > 0 else atoms[-x] for x in clause])
        for a, b, variable in edges:
            backend.add_acyc_edge(a, b, [atoms[variable]])
    return "valid" if control.solve().satisfiable else "invalid"


@pytest.mark.parametrize("mix", [m for m in MIXES if not m.startswith("crowd")])
def test_same_answer(mix: str) -> None:
    seeds = iter(range(2000, 2500))
    trace = random_trace(next(seeds), mix)
    while first_broken(asg := build_asg(trace)) is not None or len(trace) > 6:
        trace = random_trace(next(seeds), mix)
    levels = LEVELS if effort.full else a_third(list(MIXES).index(mix))
    for level in (level for level in levels if level.observes):
        ir = lower(asg, level)
        expected = solve_native(ir).status
        for given in (expand(ir), merge(prune(expand(ir)))):
            assert by_z3("\n".join(to_smtlib(given))) == expected, level.name
            assert by_clingo("\n".join(to_dimacs_graph(given))) == expected, level.name


# --- the command


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "boomslang", "export", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command(tmp_path: Path) -> None:
    trace, out = tmp_path / "t.jsonl", tmp_path / "t.smt2"
    write_trace(TRACE, trace)
    done = run(str(trace), str(out), "--level", "ser", "--to", "smtlib")
    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines() == list(to_smtlib(problem(TRACE, "ser")))
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []
    done = run(str(trace), "-", "--level", "ser", "--to", "dimacs-graph", "--passes", "prune")
    assert done.stdout.endswith("acyclic 0 5\n")
    done = run(str(trace), "-", "--level", "si", "--to", "smtlib", "--encoding", "viper")
    assert done.stdout.endswith("(check-sat)\n")
    assert run(str(trace), "-", "--level", "ru", "--to", "smtlib").returncode == 254
    assert run(str(trace), str(tmp_path / "no" / "t"), "--level", "ser", "--to", "smtlib").returncode == 254


def test_the_trace_is_not_written_over(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    write_trace(TRACE, trace)
    before = trace.read_bytes()
    for out, said in (
        (trace, "it is the trace"),
        (tmp_path, "it is a folder"),
        (tmp_path / "x" / "y", "no folder"),
    ):
        ran = command("export", trace, out, "--level", "ser", "--to", "smtlib")
        assert ran.code == 254 and f"{out}: cannot write the question: " in ran.err and said in ran.err
    assert trace.read_bytes() == before and list(tmp_path.iterdir()) == [trace]


def test_a_device_is_written_to_not_replaced(tmp_path: Path) -> None:
    trace, pipe = tmp_path / "trace.jsonl", tmp_path / "pipe"
    write_trace(TRACE, trace)
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert command("export", trace, pipe, "--level", "ser", "--to", "smtlib").code == 0
    reader.join(10)
    assert "(check-sat)" in read[0] and pipe.is_fifo()


def test_a_broken_trace_is_unsatisfiable(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    write_trace(history(txn("A", get("x", 1))), trace)
    assert by_z3(run(str(trace), "-", "--level", "ser", "--to", "smtlib").stdout) == "invalid"
    assert by_clingo(run(str(trace), "-", "--level", "ser", "--to", "dimacs-graph").stdout) == "invalid"


def test_names_stay_in_their_comments() -> None:
    nasty = history(txn("A", put("x\n(assert false)", 1)), txn("B", put("x\n(assert false)", 2)))
    assert by_z3("\n".join(to_smtlib(problem(nasty, "ser")))) == "valid"
    assert by_clingo("\n".join(to_dimacs_graph(problem(nasty, "ser")))) == "valid"

"""The eager back end: the expanded IR, written out for Z3.

Slow and independent; that is its use. Each point is an integer, each edge a boolean that puts its source before its
target, each superposition "exactly one", each expression itself. Nothing here knows what a read is.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from boomslang.asg.graph import PRESENT, UNKNOWN_INITIAL
from boomslang.errors import UsageError
from boomslang.ir.expression import (
    START,
    And,
    Atom,
    Committed,
    Edge,
    Expression,
    Implies,
    InitialIs,
    Not,
    Path,
    Superposition,
)
from boomslang.ir.model import IR
from boomslang.levels.level import Point
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.model import ABSENT


def solve_z3(ir: IR, limits: Limits | None = None) -> Solution:
    """Decides an IR with Z3."""
    try:
        import z3
    except ImportError:
        raise UsageError("--solver z3 needs the Z3 extra: pip install 'boomslang[z3]'") from None
    z3.set_param("ctrl_c", False)  # leave Ctrl-C to Python
    try:
        return _Encoding(ir, z3, limits or Limits()).solve()
    except _OutOfTime:
        return Solution("unknown", reason="time")


class _OutOfTime(Exception):
    """Writing the problem down took all the time there was."""


class _Encoding:
    def __init__(self, ir: IR, z3: Any, limits: Limits) -> None:
        self.limits = limits
        self.stop = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.ir = ir
        self.z3 = z3
        self.solver = z3.Solver()
        self.place = [z3.Int(f"n{node}") for node in range(ir.graph.nodes)]
        self.atoms: dict[Atom, Any] = {}

    def atom(self, e: Atom) -> Any:
        if e not in self.atoms:
            self.atoms[e] = variable = self.z3.Bool(f"a{len(self.atoms)}")
            if isinstance(e, Edge) and e.source != START:
                self.solver.add(self.z3.Implies(variable, self.place[e.source] < self.place[e.target]))
        return self.atoms[e]

    def formula(self, e: Expression) -> Any:
        if isinstance(e, (Edge, Committed, InitialIs, Path)):
            return self.atom(e)
        if isinstance(e, Not):
            return self.z3.Not(self.formula(e.inner))
        if isinstance(e, Implies):
            return self.z3.Implies(self.formula(e.premise), self.formula(e.conclusion))
        parts = [self.formula(part) for part in e.parts]
        return self.z3.And(parts) if isinstance(e, And) else self.z3.Or(parts)

    def seconds_left(self) -> float | None:
        if self.stop is None:
            return None
        if (left := self.stop - time.monotonic()) <= 0:
            raise _OutOfTime
        return left

    def solve(self) -> Solution:
        z3, graph = self.z3, self.ir.graph
        if graph.points == 2:
            for t in range(graph.transactions):
                self.solver.add(self.place[2 * t] < self.place[2 * t + 1])
        for edge in self.ir.known_edges():
            self.solver.add(self.atom(edge))
        for read in self.ir.read_froms():
            if self.ir.is_known(read):
                self.solver.add(self.atom(self.ir.wr(read.candidates[0], read)))
        for item in self.ir.expand():
            self.seconds_left()
            if isinstance(item, Superposition):
                options = [self.formula(option) for option in item.options]
                one = z3.PbEq([(option, 1) for option in options], 1) if options else z3.BoolVal(False)
                self.solver.add(z3.Implies(self.formula(item.when), one))
            else:
                self.solver.add(self.formula(item))
        if (left := self.seconds_left()) is not None:
            self.solver.set("timeout", max(1, int(left * 1000)))
        if self.limits.megabytes is not None:
            self.solver.set("max_memory", max(1, int(self.limits.megabytes)))
        answer = self.solver.check()
        if answer == z3.unsat:
            return Solution("invalid")
        if answer == z3.unknown:
            reason = str(self.solver.reason_unknown())
            word = (
                "time"
                if "timeout" in reason or "canceled" in reason
                else "memory"
                if "memory" in reason
                else reason
            )
            return Solution("unknown", reason=word)
        return self._read_off(self.solver.model())

    def _read_off(self, model: Any) -> Solution:
        """The order, the writers and the initial values of a model."""
        ir, graph, asg = self.ir, self.ir.graph, self.ir.asg

        def holds(e: Atom) -> bool:
            return e in self.atoms and bool(self.z3.is_true(model.eval(self.atoms[e], model_completion=True)))

        inside = [
            t
            for t in range(graph.transactions)
            if asg.state[t] == 0 or (asg.state[t] == 1 and holds(Committed(t)))
        ]
        place = [int(model.eval(p, model_completion=True).as_long()) for p in self.place]
        nodes = sorted(
            {graph.node(t, p) for t in inside for p in (Point.BEGIN, Point.COMMIT)},
            key=lambda n: (place[n], n),
        )
        writer = np.full(len(asg.read_key), -2, np.int64)
        initial = asg.initial.astype(np.int64)
        kept = set(inside)
        for read in ir.read_froms():
            if read.txn not in kept:
                continue
            taken = next(w for w in read.candidates if holds(ir.wr(w, read)))
            writer[read.read] = taken if taken != START else -1
            pattern = int(asg.read_value[read.read])
            if taken == START and initial[read.key] in (UNKNOWN_INITIAL, PRESENT):
                initial[read.key] = pattern
        initial[initial == UNKNOWN_INITIAL] = ABSENT
        return Solution("valid", order=np.array(nodes, np.int64), read_writer=writer, initial=initial)

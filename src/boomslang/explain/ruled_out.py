"""Which levels an anomaly rules out: those that its core breaks, found by asking.

A core is a part of the trace, and every part only weakens the question; so what the core breaks, the trace breaks. A
core is small, and what one answer settles is not asked again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from boomslang.certify.proof import Proof
from boomslang.certify.proved import fault_of_proof
from boomslang.explain.core import breaks
from boomslang.explain.counterexample import Counterexample
from boomslang.levels import LEVELS, Level, find_level, implies
from boomslang.solve.solution import Limits
from boomslang.solve.uncommitted import interleaved
from boomslang.trace.model import Kind, Trace

LARGE = 300
"""Transactions of a part that is not asked about: then only what the lattice says is known."""
LONG = 20_000
"""Operations of a trace whose proofs are not checked anew at other levels."""
SECONDS = 0.5
"""For one question. What is not answered in time is not said to be ruled out."""


def ruled_out(found: Counterexample) -> list[Level]:
    """The levels that the counterexample's core breaks."""
    level = find_level(found.core.level)
    if found.core.proof is not None:
        return _shown_by(found.trace, level, found.core.proof)
    if found.part is None:
        return [other for other in LEVELS if implies(other, level)]
    part = replace(found.part, modules=())
    small = part.transactions <= LARGE
    own = not found.part.modules or (small and breaks(part, level, Limits(seconds=SECONDS)))
    broken = {other.name: True for other in LEVELS if own and implies(other, level)}
    for asked in LEVELS if small else ():
        if asked.name in broken:
            continue
        limits = Limits(seconds=SECONDS)
        answer = breaks(part, asked, limits) if asked.observes else _shows_interleaving(found)
        for other in LEVELS:
            if (answer and implies(other, asked)) or (not answer and implies(asked, other)):
                broken[other.name] = answer
    return [other for other in LEVELS if broken.get(other.name)]


def _shown_by(trace: Trace, level: Level, proof: Proof) -> list[Level]:
    """The levels that a proof by counting or states refutes: it is checked anew at each that might be weaker."""
    broken = {other.name for other in LEVELS if implies(other, level)}
    for asked in LEVELS if len(trace.op_kind) <= LONG else ():
        needs = asked.needs_times or asked.needs_sessions
        if not needs and asked.name not in broken and not fault_of_proof(trace, asked.name, proof):
            broken |= {other.name for other in LEVELS if implies(other, asked)}
    return [other for other in LEVELS if other.name in broken]


def _shows_interleaving(found: Counterexample) -> bool:
    """Do the core's list reads alone break read uncommitted?"""
    rows = np.array(sorted({row for row, _ in found.core.reads}), np.int64)
    lists = rows[found.trace.op_kind[rows] == Kind.LIST]
    return bool(len(lists)) and interleaved(found.trace, lists)

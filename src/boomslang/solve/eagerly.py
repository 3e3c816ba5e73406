"""An IR to an eager solver: written out in full, by us or as an earlier checker would, then decided.

An encoding that knows more than the trace says (it reads hints) may refute what the level alone does not; such an
answer carries its own counterexample, for the level's explanation would find nothing wrong.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from boomslang.encodings.cycle import counterexample
from boomslang.encodings.encoding import Encoding
from boomslang.explain.core import refuted
from boomslang.explain.parts import Parts
from boomslang.ir.model import IR
from boomslang.passes import expand
from boomslang.solve.backends import solve_eagerly
from boomslang.solve.clock import Clock
from boomslang.solve.solution import Limits, Solution


def solve_expanded(
    ir: IR, solver: str, limits: Limits, passes: Sequence[str] | None, encoding: Encoding | None
) -> Solution:
    """Decides an IR with that solver."""
    start = time.perf_counter()
    clock = Clock(limits)
    problem = expand(ir, clock) if encoding is None else encoding.encode(ir.asg, ir.level, clock)
    expanded = time.perf_counter() - start
    found = solve_eagerly(problem, solver, clock.left(), passes)
    found = replace(found, stats={"expand": expanded, **found.stats})
    if found.status != "invalid" or encoding is None or not encoding.knows_more:
        return found
    if refuted(ir.asg, ir.level, Parts.used_by(ir.asg, found), clock.left()) is not None:
        return found
    reason = f"by the hints that {encoding.title} reads"
    return replace(found, hinted=counterexample(problem, encoding.name), reason=reason)

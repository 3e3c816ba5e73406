"""All violations of read uncommitted: cycles of overwrites that lists show.

What was read does not matter at this level, but for the order of appends that lists show. A list read that closes a
cycle with those before it is taken out once the cycle is listed, as in all_violations.py: each has its own.
"""

from __future__ import annotations

import numpy as np

from boomslang.explain.all_violations import Violation, Violations
from boomslang.explain.counterexample import Counterexample
from boomslang.levels.level import Level
from boomslang.solve.uncommitted import append_order, check_appends
from boomslang.trace.model import Kind, Trace

MOST = 200
"""Violations that are looked for."""


def all_interleavings(trace: Trace, level: Level, first: Counterexample) -> Violations:
    """The violations of read uncommitted."""
    made = Violations(level)
    left = np.flatnonzero(trace.op_kind == Kind.LIST)
    found: Counterexample | None = first
    told: set[tuple[int, ...]] = set()
    while found is not None:
        assert found.argument is not None and found.argument.contradiction is not None
        if found.core.transactions not in told:
            told.add(found.core.transactions)
            made.found.append(Violation(found.anomaly, found.argument.contradiction.text, found.core, found))
        if len(made.found) >= MOST:
            made.reason = "the search for more was stopped"
            return made
        left = left[left != max(row for row, _ in found.core.reads)]
        again = check_appends(trace, level, append_order(trace, left))
        found = again if isinstance(again, Counterexample) else None
    made.complete = True
    return made

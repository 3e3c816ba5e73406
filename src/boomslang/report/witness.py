"""The witness of a valid trace, as far as a person reads: the first points of its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from boomslang.certify.certificate import Witness
from boomslang.explain.operation_words import deed
from boomslang.levels import maximal
from boomslang.report.transaction_summary import glance
from boomslang.report.values import NAME, Values, clipped
from boomslang.trace.model import Kind, Trace
from boomslang.verdict import Verdict

SHOWN = 200
"""Points of an order."""
DEEDS = 3
"""Operations of a transaction."""
WITNESSES = 3
WRITES = (Kind.PUT, Kind.APPEND, Kind.DELETE)

Json = dict[str, Any]


def witnesses(verdicts: list[Verdict], values: Values) -> list[Json]:
    """Those of the strongest levels that hold; orders that are the same are shown once."""
    held = {v.level.name: v for v in verdicts if v.witness is not None}
    strongest = [held[level.name] for level in maximal([v.level for v in held.values()])]
    found: dict[tuple[int, bytes], list[Verdict]] = {}
    for verdict in strongest:
        assert verdict.witness is not None
        order = verdict.witness.order
        found.setdefault((verdict.witness.points, order.tobytes()), []).append(verdict)
    shown = []
    for same in list(found.values())[:WITNESSES]:
        witness = same[0].witness
        assert witness is not None
        if len(witness.order):
            shown.append(_witness(values.trace, witness, [v.level.title for v in same]))
    return shown


def _name(witness: Witness, t: int) -> str:
    """T5; or T5.2, where modules split transactions, for the second part of T5."""
    if witness.split is None:
        return f"T{t}"
    whole = witness.split.whole
    parts = np.flatnonzero(whole == whole[t])
    return f"T{int(whole[t])}" + (f".{t - int(parts[0]) + 1}" if len(parts) > 1 else "")


def _witness(trace: Trace, witness: Witness, titles: list[str]) -> Json:
    trace = trace if witness.split is None else witness.split.trace
    rows = []
    for point in witness.order[:SHOWN].tolist():
        t = glance(trace, point // witness.points)
        begins = witness.points == 2 and point % 2 == 0
        # With two points, what was read is what there was at the begin, and what was written is there from the commit.
        writes = np.isin(trace.op_kind[t.rows.start : t.rows.stop], WRITES)
        here = t.rows.start + np.flatnonzero(
            np.ones_like(writes) if witness.points == 1 else writes != begins
        )
        deeds = [deed(trace.operation(row)) for row in here[:DEEDS].tolist()]
        left = len(here) - len(deeds)
        rows.append(
            {
                "id": _name(witness, t.index),
                "point": "begin" if begins else "commit",
                "session": None if t.session is None else clipped(t.session),
                "text": clipped("; ".join(deeds), 200) + (f"; and {left:,} more" if left else ""),
                "where": clipped(t.where, 2 * NAME),
            }
        )
    return {
        "levels": titles,
        "points": witness.points,
        "split": witness.split is not None,
        "total": len(witness.order),
        "exact": not witness.read_op.size,
        "order": rows,
    }

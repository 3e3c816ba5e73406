"""The trace in figures: how large it is, how its keys are fought over, how much is open, and where the time went."""

from __future__ import annotations

from typing import Any

from boomslang.asg import build_asg
from boomslang.explain.names import short
from boomslang.report.values import NAME, Values, clipped
from boomslang.statistics import Statistics
from boomslang.trace.model import Outcome, Trace
from boomslang.verdict import Verdict

WARNINGS = 20
PHASES = 4
"""Levels whose times are drawn."""

Json = dict[str, Any]


def size(trace: Trace) -> str:
    """How large the trace is, in a line."""
    counts = (
        (len(trace), "transaction"),
        (len(trace.op_kind), "operation"),
        (len(trace.sessions), "session"),
    )
    return ", ".join(f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counts)


def figures(verdicts: list[Verdict], load_seconds: float | None, values: Values) -> Json:
    """All figures. A row is a label, a number and a note."""
    trace = values.trace
    made = Statistics(build_asg(trace))
    median, most = made.writers_of_a_key
    outcomes = made.outcomes
    odd = [
        f"{outcomes[o.name.lower()]:,} {word}"
        for o, word in ((Outcome.ABORTED, "aborted"), (Outcome.UNKNOWN, "of unknown outcome"))
        if outcomes[o.name.lower()]
    ]
    failed = int(made.failed.sum())
    written = int((made.writers > 0).sum())
    tiles = [
        ["Transactions", f"{len(trace):,}", ", ".join(odd) or "all committed"],
        ["Operations", f"{len(trace.op_kind):,}", f"{failed:,} failed" if failed else ""],
        [
            "Sessions",
            f"{len(trace.sessions):,}",
            f"in {len(trace.files):,} files" if len(trace.files) > 1 else "",
        ],
        ["Keys", f"{made.keys:,}", f"{written:,} written"],
        ["Writers of a key", f"{median:,.4g}", f"median; {most:,} at most"],
        ["Open orders", f"{made.version_order_pairs:,}", "pairs of writers of a key"],
    ]
    reads = made.items
    rows = [
        ["one transaction", reads.known, ""],
        ["the initial state", reads.initial, ""],
        ["several", reads.ambiguous, ""],
        ["nobody", reads.unexplained, ""],
    ]
    return {
        "tiles": tiles,
        "operations": [[kind, n, ""] for kind, n in made.operations.items()] or [["none", 0, ""]],
        "hottest": [
            [short(hot.key), hot.operations, f"{hot.writers:,} writer{'' if hot.writers == 1 else 's'}"]
            for hot in made.hottest
        ],
        "reads": [row for row in rows if row[1]],
        "phases": [_phases(v, load_seconds) for v in verdicts if _seconds(v)][:PHASES],
        "warnings": [clipped(w, 4 * NAME) for w in trace.warnings[:WARNINGS]],
    }


def _seconds(verdict: Verdict) -> list[list[Any]]:
    return [[name, value, ""] for name, value in verdict.stats.items() if isinstance(value, float)]


def _phases(verdict: Verdict, load_seconds: float | None) -> Json:
    read = [] if load_seconds is None else [["read the trace", load_seconds, ""]]
    return {"title": f"Time, {verdict.level.title}", "rows": [*read, *_seconds(verdict)]}

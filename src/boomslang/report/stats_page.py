"""The page of `boomslang stats --report`: what a trace is made of, in pictures.

How fast it went and how long things took, where the trace has times; how its keys are fought over; how much of it is
open, and what would help. Its size is bounded whatever the trace is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boomslang.activity import Activity, Curves, KindOfOperation, doubling, in_seconds, length
from boomslang.explain.names import short
from boomslang.recording_advice import advice
from boomslang.report.faults import faults_of
from boomslang.report.frame import counted, items, static_page, table, text, tiles
from boomslang.report.plots import Band, Curve, bars, curves, number
from boomslang.statistics import Reads, Statistics
from boomslang.trace.model import Outcome

KEYS = 15
CLOCKS = 4
SESSIONS = 20
STATEMENTS = 40
FAULTS = 50
WARNINGS = 20
"""Of each, at most so many are shown."""


def stats_page(path: str, made: Statistics, activity: Activity) -> str:
    """The page about the trace at `path`."""
    trace = made.trace
    body = [
        f'<h1 class="page">{counted(len(trace), "transaction")}</h1>',
        *tiles(_tiles(made, activity)),
        *_over_time(path, activity),
        *_kinds(activity),
        *_contention(made),
        *_ambiguity(made),
        *_levels(made),
        *_sessions(made),
        *_statements(made),
        *items("What would help", (f"{piece.add}: {piece.text}" for piece in advice(made)), kind="card note"),
        *items("Warnings", trace.warnings[:WARNINGS], kind="card note"),
    ]
    return static_page(f"Figures of {path}", path, body)


def _tiles(made: Statistics, activity: Activity) -> Iterator[tuple[str, str, str]]:
    trace, outcomes = made.trace, made.outcomes
    odd = [f"{outcomes[name]:,} {name}" for name in ("aborted", "unknown") if outcomes[name]]
    yield "Transactions", f"{len(trace):,}", ", ".join(odd) or "all committed"
    failed = int(made.failed.sum())
    yield "Operations", f"{len(trace.op_kind):,}", f"{failed:,} failed" if failed else ""
    yield "Sessions", f"{len(trace.sessions):,}", ""
    if activity.seconds:
        yield (
            "Commits a second",
            number(outcomes["committed"] / activity.seconds),
            f"in {activity.seconds:,.3g} s",
        )
    median, most = made.writers_of_a_key
    yield "Keys", f"{made.keys:,}", f"{int((made.writers > 0).sum()):,} written"
    yield "Writers of a key", f"{median:,.4g}", f"in the median; {most:,} at most"
    found = made.ambiguity
    yield "Ambiguous reads", f"{found.reads:,}", f"{found.share:.1%} of all" if found.reads else ""
    yield "Open orders", f"{made.version_order_pairs:,}", "pairs of writers of a key"


# --- time


def _over_time(path: str, activity: Activity) -> list[str]:
    trace, lines = activity.trace, []
    for one in activity.curves[:CLOCKS]:
        end = length(one.ticks, trace.unit)
        name = f" (clock {short(one.clock)})" if len(activity.curves) > 1 else ""
        bands = _bands(path, one, trace.unit)
        piece = one.ticks / len(one.committed)
        per, unit = (in_seconds(piece, trace.unit), "a second") if trace.unit else (1.0, "in a piece")
        rates = [
            Curve("committed", [n / per for n in one.committed]),
            Curve("aborted", [n / per for n in one.aborted]),
        ]
        if any(one.unknown):
            rates.append(Curve("unknown", [n / per for n in one.unknown]))

        def say(ticks: float) -> str:
            return length(ticks, trace.unit)

        lines += [
            f'<section class="plots" aria-label="Over time{text(name)}">',
            curves(f"Transactions {unit}{name}", rates, end=end, bands=bands),
            curves(f"Under way at once{name}", [Curve("transactions", one.at_once)], end=end, bands=bands),
        ]
        if any(value is not None for value in one.median):
            latency = [Curve("median", one.median), Curve("99 %", one.ninety_nine)]
            lines.append(curves(f"Length of transactions{name}", latency, end=end, say=say, bands=bands))
        lines.append("</section>")
    left = len(activity.curves) - CLOCKS
    if left > 0:
        lines.append(
            f'<p class="hint">{counted(left, "more clock")} not shown: times of two clocks cannot be compared.</p>'
        )
    if not activity.curves:
        lines.append(
            '<p class="card note">The trace has no times: nothing can be said about speed and latency.</p>'
        )
    return lines


def _bands(path: str, one: Curves, unit: str) -> list[Band]:
    """Faults that `boomslang run` made, by the same clock."""
    if unit != "ns":
        return []
    found = []
    for fault in faults_of(path)[:FAULTS]:
        begin, end = ((fault[side] - one.first) / one.ticks for side in ("from", "to"))
        if fault["clock"] == one.clock and end >= 0 and begin <= 1:
            found.append(Band(fault["what"], max(0.0, begin), min(1.0, end)))
    return found


def _kinds(activity: Activity) -> list[str]:
    unit, timed = activity.trace.unit, activity.timed

    def row(kind: KindOfOperation) -> Iterator[object]:
        yield kind.kind
        yield f"{kind.operations:,}"
        yield f"{kind.failed:,}" if kind.failed else ""
        if timed:
            q = kind.latency
            yield from (
                ("",) * 4
                if q is None
                else (length(x, unit) for x in (q.median, q.ninety, q.ninety_nine, q.most))
            )
        yield f"{kind.transactions:,}"
        yield f"{kind.aborted:,} ({kind.aborted / kind.transactions:.1%})" if kind.aborted else ""
        yield f"{kind.unknown:,}" if kind.unknown else ""

    heads = [
        "kind",
        "in all",
        "failed",
        *(("median", "90 %", "99 %", "longest") if timed else ()),
        "transactions with it",
    ]
    note = "aborted, unknown: of the transactions that have such an operation."
    if timed:
        note = f"Median, 90 % and 99 %: so many were as short as that or shorter. {note}"
    kinds = [kind for kind in activity.kinds if kind.operations]
    return table("By kind of operation", [*heads, "aborted", "unknown"], map(row, kinds), note=note)


# --- contention, ambiguity


def _contention(made: Statistics) -> list[str]:
    hottest = [
        (short(hot.key), hot.operations, counted(hot.writers, "writer")) for hot in made.hottest_keys(KEYS)
    ]
    writers = [(f"{name} writer{'s' * (name != '1')}", n, "") for name, n in doubling(made.writers)]
    return _pair(
        "Contention",
        bars("Hottest keys, by operations", hottest),
        bars("Keys, by how many transactions wrote them", writers),
    )


def _ambiguity(made: Statistics) -> list[str]:
    parts = [bars("Who can have written what was read", _reads(made.items))]
    if made.absences.total:
        parts.append(bars("Who can have left a key absent that a range did not show", _reads(made.absences)))
    if made.ambiguity.reads:
        spread = [(f"{name} candidate{'s' * (name != '1')}", n, "") for name, n in doubling(made.candidates)]
        parts.append(bars("Ambiguous reads, by candidates", spread))
        repeated = [
            (short(key.key), key.reads, f"{counted(key.writers, 'writer')} of {counted(key.values, 'value')}")
            for key in made.ambiguity.keys
        ]
        parts.append(bars("Keys with most ambiguous reads", repeated))
    return _pair("Ambiguity", *parts)


def _reads(reads: Reads) -> list[tuple[str, float, str]]:
    rows = [
        ("one transaction", reads.known, ""),
        ("the initial state", reads.initial, ""),
        ("several", reads.ambiguous, ""),
        ("nobody", reads.unexplained, "breaks every level" if reads.unexplained else ""),
    ]
    return [(name, float(n), note) for name, n, note in rows if n]


def _pair(title: str, *parts: list[str]) -> list[str]:
    shown = [line for part in parts for line in part]
    return [f"<h2>{title}</h2>", '<div class="pair">', *shown, "</div>"] if shown else []


# --- what a check has to do, and who did what


def _levels(made: Statistics) -> list[str]:
    rows = [
        (level.title, f"{count:,}", f"{brought:,}")
        for level, count, brought in made.by_level
        if not level.needs_sessions and not level.needs_times
    ]
    note = (
        "Superpositions: what a check has to find out, the order of two writers or the writer of a read. "
        "Anti-dependencies: what would be written out for it; the engine counts them only."
    )
    return table("What a level asks", ("level", "superpositions", "anti-dependencies"), rows, note=note)


def _sessions(made: Statistics) -> list[str]:
    trace = made.trace
    has = trace.txn_session >= 0
    if not has.any():
        return []
    counts = np.bincount(trace.txn_session[has], minlength=len(trace.sessions))
    lost = np.bincount(
        trace.txn_session[has & (trace.txn_outcome != Outcome.COMMITTED)], minlength=len(trace.sessions)
    )
    order = np.argsort(-counts, kind="stable")[:SESSIONS].tolist()
    rows = [
        (short(trace.sessions[s]), float(counts[s]), f"{lost[s]:,} not committed" if lost[s] else "")
        for s in order
    ]
    left = len(trace.sessions) - len(rows)
    title = (
        f"Sessions, by transactions ({left:,} more not shown)" if left > 0 else "Sessions, by transactions"
    )
    return bars(title, rows)


def _statements(made: Statistics) -> list[str]:
    coverage = made.trace.coverage
    if coverage is None:
        return []
    rows = [
        (" ".join(each.text.split())[:300], f"{each.executed:,}", each.failed or "", each.partly or "",
         each.left_out or "", "; ".join(each.reasons))
        for each in coverage.statements[:STATEMENTS]
    ]  # fmt: skip
    heads = ("statement", "executed", "failed", "in part", "left out", "why")
    return table("Statements", heads, rows, words=(5,), note=coverage.sentence())

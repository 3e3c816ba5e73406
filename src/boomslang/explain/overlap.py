"""How transactions lie in time, in words: who overlapped whom and for how long, or who had returned before."""

from __future__ import annotations

from itertools import combinations, pairwise

from boomslang.explain.proved import joined
from boomslang.trace.model import NO_TIME, Trace

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def duration(trace: Trace, ticks: int) -> str:
    """Of the clock: in the unit that suits it, or as the plain number that it is."""
    unit = str(getattr(trace, "unit", ""))
    if unit not in _NANOSECONDS:
        return f"{ticks:,}"
    length = ticks * _NANOSECONDS[unit]
    name = next((name for name, size in reversed(_NANOSECONDS.items()) if length >= size), "ns")
    return f"{length / _NANOSECONDS[name]:.3g} {name}" if length < 1e12 else f"{length / 1e9:,.0f} s"


def overlap(trace: Trace, transactions: tuple[int, ...]) -> str:
    """How two or three transactions lie in time. Nothing, if the trace has no times of one clock for them."""
    spans = {t: (int(trace.txn_begin[t]), int(trace.txn_end[t])) for t in transactions}
    one_clock = len({int(trace.txn_clock[t]) for t in transactions}) == 1
    if not one_clock or any(NO_TIME in span for span in spans.values()):
        return ""
    common = min(end for _, end in spans.values()) - max(begin for begin, _ in spans.values())
    names = [f"T{t}" for t in transactions]
    if common > 0:
        return f"{joined(names)} overlapped for {duration(trace, common)}"
    told = []
    for a, b in combinations(transactions, 2):
        shared = min(spans[a][1], spans[b][1]) - max(spans[a][0], spans[b][0])
        if shared > 0:
            told.append(f"T{a} and T{b} overlapped for {duration(trace, shared)}")
    if told:
        return joined(told)
    in_a_row = sorted(transactions, key=lambda t: spans[t])
    told = [
        f"T{a} had returned {duration(trace, spans[b][0] - spans[a][1])} before T{b} began"
        for a, b in pairwise(in_a_row)
        if spans[a][1] < spans[b][0]
    ]
    return joined(told)

"""Why a list that was read cannot be: which element is wrong, and what the field calls that.

A list holds the appends of whole transactions, one after the other, each in program order. The names are Elle's
(Kingsbury and Alvaro, VLDB 2020) where Adya has none.
"""

from __future__ import annotations

import numpy as np

from boomslang.explain.anomalies import FUTURE, G1B, INTERLEAVED, OUT_OF_ORDER, THIN_AIR, TWICE, Anomaly
from boomslang.explain.names import short
from boomslang.trace.model import Flag, Kind, Trace


def elements_of(trace: Trace, row: int) -> list[int]:
    """What a list read returned, as values of the trace."""
    r = int(trace.op_range[row])
    return [int(v) for v in trace.item_value[trace.range_items[r] : trace.range_items[r + 1]]]


def impossible(trace: Trace, row: int) -> tuple[str, Anomaly]:
    """What is wrong with the list that operation `row` read, in words to follow "T3 read x = [...]", and its name."""
    reader, key = trace.owner(row), int(trace.op_key[row])
    rows = np.flatnonzero((trace.op_kind == Kind.APPEND) & (trace.op_key == key))
    rows = rows[trace.op_flags[rows] & Flag.ERROR == 0]
    owner = dict(
        zip(rows.tolist(), (np.searchsorted(trace.txn_ops, rows, side="right") - 1).tolist(), strict=True)
    )
    appended: dict[int, list[int]] = {}
    for r, t in owner.items():
        appended.setdefault(t, []).append(int(trace.op_value[r]))
    by_element = {int(trace.op_value[r]): t for r, t in owner.items()}
    mine = [int(trace.op_value[r]) for r, t in owner.items() if t == reader and r < row]
    elements = elements_of(trace, row)
    elements = elements[: len(elements) - len(mine)]

    def name(value: int) -> str:
        return short(trace.values[value])

    for i, e in enumerate(elements):
        if e in elements[:i]:
            return f"with {name(e)} twice, which was appended once", TWICE
        if e not in by_element:
            return f"and nobody appended {name(e)}", THIN_AIR
        if by_element[e] == reader:
            return f"with {name(e)}, which it appended itself, but later", FUTURE
    at = 0
    while at < len(elements):
        t = by_element[elements[at]]
        block = appended[t]
        found = [e for e in elements if by_element[e] == t]
        if found != block[: len(found)]:
            order = ", then ".join(map(name, block))
            return f"but T{t} appended {order}", OUT_OF_ORDER
        if elements[at : at + len(found)] != found:
            other = by_element[next(e for e in elements[at:] if by_element[e] != t)]
            return f"in which T{other}'s appends stand between those of T{t}", INTERLEAVED
        if len(found) < len(block):
            missing = name(block[len(found)])
            return f"which lacks {missing}, though T{t} appended it together with {name(found[-1])}", G1B
        at += len(found)
    return "which no order of the appends makes", OUT_OF_ORDER

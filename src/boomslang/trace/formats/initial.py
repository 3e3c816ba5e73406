"""Reads of the initial state, in formats where a value stands for it.

Boomslang's own form of a history that starts from nothing is an empty database whose keys are read as absent, and
lists as []. Other formats say nil for both, or 0. What such a value means depends on the whole file, so these
are passes over the finished columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import ABSENT, Flag, Kind, Trace

Mask = NDArray[np.bool_]


def rows_of(trace: Trace, *kinds: Kind) -> Mask:
    """The operations of these kinds that did not fail."""
    found: Mask = np.isin(trace.op_kind, kinds) & ((trace.op_flags & Flag.ERROR) == 0)
    return found


def keys_of(trace: Trace, rows: Mask) -> Mask:
    """By key: is there such an operation on it?"""
    found = np.zeros(len(trace.keys), np.bool_)
    found[trace.op_key[rows]] = True
    return found


def empty_lists(trace: Trace) -> Trace:
    """A read of nothing is a read of the empty list if the key holds a list.

    That it does is known where it is appended to, or read as a list; and where the whole history knows nothing but
    lists.
    """
    absent = rows_of(trace, Kind.GET) & (trace.op_value == ABSENT)
    lists = rows_of(trace, Kind.APPEND, Kind.LIST)
    if not absent.any() or not lists.any():
        return trace
    registers = rows_of(trace, Kind.PUT, Kind.GET) & ~absent
    if registers.any():
        holds_list = keys_of(trace, lists)
        absent[absent] &= holds_list[trace.op_key[absent]]
    count = int(absent.sum())
    kind, ranges = trace.op_kind.copy(), trace.op_range.copy()
    kind[absent] = Kind.LIST
    ranges[absent] = len(trace.range_lo) + np.arange(count)
    unbounded = np.full(count, -1, np.int32)
    return replace(
        trace,
        op_kind=kind,
        op_range=ranges,
        range_lo=np.concatenate([trace.range_lo, unbounded]),
        range_hi=np.concatenate([trace.range_hi, unbounded]),
        range_items=np.concatenate([trace.range_items, np.full(count, trace.range_items[-1])]),
    )

"""Formats in which a value, often 0, stands for "nobody has written this key yet".

Here a database starts empty, and a read of the initial version returns absent. What a reader found as a value
becomes absent in one pass over the columns, once the whole input is known: a value that somebody wrote to the
key is a value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.distinct import distinct
from boomslang.trace.model import ABSENT, Flag, Initial, Kind, Trace
from boomslang.trace.scalars import INT, Scalars

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]


def zero(values: Scalars) -> int:
    """The id of the integer 0; -2 if there is none."""
    start = values.offset[:-1]
    short = np.flatnonzero((values.type == INT) & (np.diff(values.offset) == 1))
    found = short[values.data[start[short]] == ord("0")]
    return int(found[0]) if len(found) else -2


def reads_and_writes_of_zero(trace: Trace) -> tuple[Rows, Mask]:
    """Which operations read 0, and which keys are ever written 0. (Few are: only the first look is long.)"""
    value = zero(trace.values)
    rows = np.flatnonzero(trace.op_value == value)
    rows = rows[(trace.op_flags[rows] & Flag.ERROR) == 0]
    kind = trace.op_kind[rows]
    written = np.zeros(len(trace.keys), np.bool_)
    written[trace.op_key[rows[kind == Kind.PUT]]] = True
    written[trace.initial_key[trace.initial_value == value]] = True
    return rows[kind == Kind.GET], written


def zero_is_initial(trace: Trace) -> Trace:
    """Reads of 0 become absent for all keys to which nobody writes 0."""
    reads, written = reads_and_writes_of_zero(trace)
    return made_absent(trace, reads[~written[trace.op_key[reads]]])


def zero_is_initial_or_written(trace: Trace) -> Trace:
    """As `zero_is_initial`; keys that are read as 0 and also written 0 start as 0."""
    reads, written = reads_and_writes_of_zero(trace)
    keys = trace.op_key[reads]
    both = distinct(keys[written[keys]])
    trace = zero_is_initial(trace)
    if not len(both):
        return trace
    return replace(
        trace,
        initial_mode=Initial.GIVEN,
        initial_key=both.astype(np.int32),
        initial_value=np.full(len(both), zero(trace.values), np.int32),
    )


def made_absent(trace: Trace, reads: Rows) -> Trace:
    if not len(reads):
        return trace
    value = trace.op_value.copy()
    value[reads] = ABSENT
    return replace(trace, op_value=value)

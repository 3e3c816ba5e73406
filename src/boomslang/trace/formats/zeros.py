"""Formats in which a value, often 0, stands for "nobody has written this key yet".

Here a database starts empty, and a read of the initial version returns absent. What a reader found as a value
becomes absent in one pass over the columns, once the whole input is known: a value that somebody wrote to the
key is a value.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from boomslang.trace.model import ABSENT, Flag, Initial, Kind, Trace
from boomslang.trace.scalars import INT, Scalars

Mask = NDArray[np.bool_]


def zero(values: Scalars) -> int:
    """The id of the integer 0; -2 if there is none."""
    start = values.offset[:-1]
    short = np.flatnonzero((values.type == INT) & (np.diff(values.offset) == 1))
    found = short[values.data[start[short]] == ord("0")]
    return int(found[0]) if len(found) else -2


def reads_and_writes_of_zero(trace: Trace) -> tuple[Mask, Mask]:
    """Which operations read 0, and which keys are ever written 0."""
    value = zero(trace.values)
    done = (trace.op_flags & Flag.ERROR) == 0
    reads = (trace.op_kind == Kind.GET) & (trace.op_value == value) & done
    written = np.zeros(len(trace.keys), np.bool_)
    written[trace.op_key[(trace.op_kind == Kind.PUT) & (trace.op_value == value) & done]] = True
    written[trace.initial_key[trace.initial_value == value]] = True
    return reads, written


def zero_is_initial(trace: Trace) -> Trace:
    """Reads of 0 become absent for all keys to which nobody writes 0."""
    reads, written = reads_and_writes_of_zero(trace)
    reads[reads] = ~written[trace.op_key[reads]]
    return made_absent(trace, reads)


def zero_is_initial_or_written(trace: Trace) -> Trace:
    """As `zero_is_initial`; keys that are read as 0 and also written 0 start as 0."""
    reads, written = reads_and_writes_of_zero(trace)
    both = np.unique(trace.op_key[reads & written[np.maximum(trace.op_key, 0)]])
    trace = zero_is_initial(trace)
    if not len(both):
        return trace
    return replace(
        trace,
        initial_mode=Initial.GIVEN,
        initial_key=both.astype(np.int32),
        initial_value=np.full(len(both), zero(trace.values), np.int32),
    )


def made_absent(trace: Trace, reads: Mask) -> Trace:
    if not reads.any():
        return trace
    return replace(trace, op_value=np.where(reads, ABSENT, trace.op_value).astype(np.int32))

"""How long transactions take, in round numbers: where nobody says what "close to real time" is, this is the measure."""

from __future__ import annotations

import numpy as np

from boomslang.trace.model import NO_TIME, Trace


def usual_length(trace: Trace) -> int:
    """Of half of the transactions no longer than that, in the unit of the trace; at least 1."""
    both = (trace.txn_begin != NO_TIME) & (trace.txn_end != NO_TIME)
    lengths = trace.txn_end[both].astype(np.float64) - trace.txn_begin[both]
    return max(1, rounded(int(np.median(lengths)))) if len(lengths) else 1


def rounded(ticks: int) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is no larger."""
    if ticks < 1:
        return 0
    power = int(10 ** (len(str(ticks)) - 1))
    return power * max(n for n in (1, 2, 5) if n * power <= ticks)

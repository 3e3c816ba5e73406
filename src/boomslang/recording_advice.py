"""What to record next time: what would settle reads that several transactions could have written.

A value that was written once names its writer. Where values repeat, a read has several candidates, and a level may hold
by any of them. Three things name the writer again, or leave few: a version that is recorded beside the value;
times, by which most candidates come too late or were overwritten long ago; and what the database held at the start.
Advice is given only for what a trace shows to be missing, and only if it has such reads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from boomslang.distinct import distinct
from boomslang.statistics import Statistics
from boomslang.trace.model import NO_TIME, Initial, Trace

PAGE = "docs/record-your-database.md"
_LOOKED_AT = 1_000
"""Hints that are looked at: who records versions records them everywhere."""


@dataclass(frozen=True)
class Advice:
    add: str
    """times, one-clock, versions, version-sets or initial."""
    text: str


def advice(made: Statistics) -> list[Advice]:
    trace = made.trace
    if made.ambiguity.reads == 0:
        return []
    found = []
    untimed = int(np.count_nonzero((trace.txn_begin == NO_TIME) | (trace.txn_end == NO_TIME)))
    if not trace.has_times:
        found.append(
            Advice(
                "times", "record invoke and return: without times every writer is a candidate, early or late"
            )
        )
    elif 10 * untimed > len(trace):
        found.append(
            Advice("times", f"record invoke and return everywhere: {untimed:,} transactions lack them")
        )
    elif len(made.spans) > 1:
        found.append(
            Advice("one-clock", f"run clients on one host: times of {len(made.spans)} clocks say little")
        )
    if _has_versions(trace):
        found.append(
            Advice(
                "version-sets",
                "ask with --module version-sets: the trace has hints of the versions that were read",
            )
        )
    else:
        found.append(
            Advice("versions", f"record a version column, or hints of the versions that reads saw ({PAGE})")
        )
    if trace.initial_mode == Initial.UNKNOWN:
        found.append(
            Advice(
                "initial",
                "say what the database held at the start: an unknown value may be any that was read",
            )
        )
    return found


def _has_versions(trace: Trace) -> bool:
    """Does a read tell the version that it saw?"""
    if trace.op_ctx is None:
        return False
    hints = trace.op_ctx[trace.op_ctx >= 0][:_LOOKED_AT]
    told = (trace.texts.text(i) for i in distinct(hints).tolist())
    return any({"version", "versions"} & json.loads(text).keys() for text in told if '"version' in text)

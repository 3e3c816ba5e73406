"""A transaction at a glance: who, when and where, without its operations, of which there may be very many."""

from __future__ import annotations

from dataclasses import dataclass

from boomslang.trace.model import NO_TIME, Outcome, Trace
from boomslang.trace.scalars import Scalar


@dataclass(frozen=True)
class Glance:
    """A transaction; `rows` are its operations in the columns."""

    index: int
    name: Scalar
    session: str | None
    outcome: Outcome
    begin: int | None
    end: int | None
    clock: str
    where: str
    rows: range


def glance(trace: Trace, t: int) -> Glance:
    session = int(trace.txn_session[t])
    begin, end = int(trace.txn_begin[t]), int(trace.txn_end[t])
    return Glance(
        index=t,
        name=trace.names[int(trace.txn_name[t])],
        session=trace.sessions[session] if session >= 0 else None,
        outcome=Outcome(int(trace.txn_outcome[t])),
        begin=None if begin == NO_TIME else begin,
        end=None if end == NO_TIME else end,
        clock=trace.clocks[trace.txn_clock[t]],
        where=trace.where(t),
        rows=range(int(trace.txn_ops[t]), int(trace.txn_ops[t + 1])),
    )

"""Bounded staleness: a read may be stale, but not by more than a given time (in the trace's unit of time).

It speaks of each read alone, at any level. A level within a bound (`--within`) implies it, and orders all transactions
that are further apart, whatever they read and wrote.
"""

from boomslang.asg.graph import ASG
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_relations import not_before, own_begin, returned_writers


@module
def bounded_staleness(asg: ASG, ir: IR, hints: Hints, *, time: int) -> None:
    """A read sees all that had been committed more than `time` before its transaction was invoked."""
    if type(time) is not int or time < 0:
        raise UsageError(f"found time={time!r}; expected a whole number from 0, in the trace's unit of time")
    if not asg.trace.has_times:
        ir.notes.append("no times in the trace, so nothing was asked for")
    for read in ir.read_froms():
        begin = own_begin(asg, read.txn)
        if begin is not None:
            for writer in returned_writers(asg, ir, read, begin - time):
                ir.require(*not_before(ir, read, writer))

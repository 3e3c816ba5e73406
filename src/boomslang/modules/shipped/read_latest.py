"""Reads that go to the newest state: `{"ctx": {"latest": true}}` on an operation, or all if none is marked.

Some stores offer such reads beside cheaper ones. What had been committed before such a read was invoked it must see.
"""

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_relations import not_before, own_begin, returned_writers
from boomslang.trace.model import NO_TIME


@module
def read_latest(asg: ASG, ir: IR, hints: Hints) -> None:
    """A read sees all that had been committed before it was invoked; some reads, if ctx.latest marks them."""
    trace, marked = asg.trace, asg.trace.marked("latest")
    if not trace.has_times:
        ir.notes.append("no times in the trace, so nothing was asked for")
    for read in ir.read_froms():
        row, moment = int(asg.read_op[read.read]), own_begin(asg, read.txn)
        if moment is None or (marked is not None and not marked[row]):
            continue
        if trace.op_invoke is not None and trace.op_invoke[row] != NO_TIME:
            moment = int(trace.op_invoke[row])
        for writer in returned_writers(asg, ir, read, moment):
            ir.require(*not_before(ir, read, writer))

"""Monotonic reads: Terry et al., "Session guarantees for weakly consistent replicated data", PDIS 1994."""

from boomslang.asg.graph import ASG
from boomslang.ir.families import ReadFrom
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_relations import not_older, session_of
from boomslang.trace.model import Outcome


@module
def monotonic_reads(asg: ASG, ir: IR, hints: Hints) -> None:
    """A session never reads an older version of a key than it has read before."""
    session = session_of(asg)
    before: dict[tuple[int, int], ReadFrom] = {}
    for read in ir.read_froms():
        mine = (int(session[read.txn]), read.key)
        if mine[0] < 0:
            continue
        if mine in before:
            ir.require(*not_older(ir, before[mine], read))
        if asg.outcome[read.txn] == Outcome.COMMITTED:
            before[mine] = read

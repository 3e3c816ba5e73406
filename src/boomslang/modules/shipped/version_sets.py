"""Version sets: whose version of each key a read saw, as a white box knows it (Adya 1999, section 2.2).

In `ctx` of a read: `versions`, pairs of a key and the name of the transaction that wrote the version; null for the
initial one. For a range read that includes keys that it did not return: who deleted them.
"""

from boomslang.asg.graph import ASG
from boomslang.errors import UsageError
from boomslang.ir.expression import START
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.trace.scalars import typed


@module
def version_sets(asg: ASG, ir: IR, hints: Hints) -> None:
    """Reads saw the versions that ctx.versions tells."""
    said = False
    for read in ir.read_froms():
        told = hints.operation(int(asg.read_op[read.read])).get("versions", [])
        if not isinstance(told, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in told):
            raise UsageError(
                f"found {told!r} as 'versions' in ctx; expected pairs of a key and a transaction"
            )
        key = typed(asg.trace.keys[asg.trace_key(read.key)])
        for name in (writer for of, writer in told if typed(of) == key):
            writer = START if name is None else hints.named(name)
            ir.refine(read.read, [] if writer is None else [writer])
            said = True
    if not said:
        ir.notes.append("no read has such a hint")

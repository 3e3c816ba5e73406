"""Version sets: which version of each key a read saw, as a white box knows it (Adya 1999, section 2.2).

In `ctx` of a read: `versions`, pairs of a key and the name of the transaction that wrote the version (null for the
initial one), or an object of keys and the places of their versions; of a read of one key also `version`, the place (see
modules/version_hints.py). For a range read that includes keys that it did not return: who deleted them.
"""

from boomslang.asg.graph import ASG
from boomslang.ir.expression import START
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_hints import FIRST, SCALES, Place, places, seen


@module
def version_sets(asg: ASG, ir: IR, hints: Hints) -> None:
    """Reads saw the versions that ctx.versions or ctx.version tells."""
    wrote = {
        (k, t): row
        for k, t, row in zip(
            asg.write_key.tolist(), asg.write_txn.tolist(), asg.write_op.tolist(), strict=True
        )
    }

    def place(key: int, writer: int) -> Place | None:
        """None: nobody knows."""
        if writer == START:
            return FIRST
        known = places(hints.operation(wrote[key, writer]), hints.transaction(writer))
        return next((known[scale] for scale in SCALES if scale in known), None)

    said = False
    for read in ir.read_froms():
        row = int(asg.read_op[read.read])
        key = asg.trace.keys[asg.trace_key(read.key)]
        told = seen(int(asg.trace.op_kind[row]), hints.operation(row), key)
        if told is None:
            continue
        said = True
        if told.place is None:
            writer = START if told.writer is None else hints.named(told.writer)
            ir.refine(read.read, [] if writer is None else [writer])
        else:
            ir.refine(read.read, [w for w in read.candidates if place(read.key, w) in (None, told.place)])
    if not said:
        ir.notes.append("no read has such a hint")

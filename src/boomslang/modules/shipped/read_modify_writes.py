"""The write order that read-modify-writes show: whoever reads a key and writes it replaces the version it read.

True of increments, compare-and-set and UPDATE x = x + 1 in a database that loses no update; earlier checkers infer most
of their version order from it. With `{"ctx": {"cursor": true}}` on some operations, only those count. (Of time it says
nothing: for that there are levels within a bound, `--within`.)
"""

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.ir.expression import START, Expression, Implies, Or, all_of
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module


@module
def read_modify_writes(asg: ASG, ir: IR, hints: Hints) -> None:
    """Who reads a key and writes it is the next writer after the one it read from."""
    for r in np.flatnonzero(asg.cursor_reads() & (asg.read_kind == 0)).tolist():
        read = ir.read_from(r, int(asg.read_txn[r]))
        if asg.state[read.txn] == 2:
            continue
        for w in read.candidates:
            for p in ir.writers(read.key):
                if p in (w, read.txn):
                    continue
                # p is before w, or after the one who replaced w.
                after: Expression = ir.ww(read.txn, p, read.key)
                elsewhere = after if w == START else Or((ir.ww(p, w, read.key), after))
                ir.require(Implies(all_of(ir.wr(w, read), ir.committed(p)), elsewhere))

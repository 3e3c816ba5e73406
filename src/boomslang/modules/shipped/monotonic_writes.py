"""Monotonic writes: Terry et al., "Session guarantees for weakly consistent replicated data", PDIS 1994.

Of two versions of one key that a session wrote, the later is the newer. (Of different keys nothing is said: who must
see a session's writes in order needs a causal level.)
"""

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.modules.version_relations import session_of
from boomslang.trace.model import Outcome


@module
def monotonic_writes(asg: ASG, ir: IR, hints: Hints) -> None:
    """What a session writes to a key is newer than what it wrote to it before."""
    session = session_of(asg)
    edges = []
    for key in np.flatnonzero(np.diff(asg.key_start) > 1).tolist():
        before: dict[int, int] = {}
        for t in ir.writers(key):
            s = int(session[t])
            if s < 0:
                continue
            if s in before:
                edges.append((before[s], t))
            if asg.outcome[t] == Outcome.COMMITTED:
                before[s] = t
    if edges:
        ir.know(*np.array(edges).T)

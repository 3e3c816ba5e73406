"""Stuck sessions in a sentence: "in whatever order the sessions go on, at most 526 of 1,000 transactions find a place
where they see what they saw".
"""

from __future__ import annotations

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.certify.proof import StuckSessions
from boomslang.explain.parts import Parts
from boomslang.explain.proved import Proved, joined, number, transactions
from boomslang.trace.model import Outcome

EXAMPLES = 3


def sessions_in_words(asg: ASG, proof: StuckSessions, parts: Parts) -> Proved:
    whole = int(np.count_nonzero(asg.outcome[parts.transactions] == Outcome.COMMITTED))
    waiting = proof.waiting
    some = [f"T{t}" for t in waiting[:EXAMPLES]]
    if len(waiting) > EXAMPLES:
        some.append(f"{number(len(waiting) - EXAMPLES)} more")
    then = "then none is left that sees what it saw"
    if len(waiting) > 1:
        then = f"then each of the {number(len(waiting))} sessions that are left waits for another"
    text = (
        f"in whatever order the sessions go on, at most {number(proof.most)} of {transactions(whole)} find a place "
        f"where they see what they saw; {then} ({joined(some)})"
    )
    numbers = {
        "kind": "sessions",
        "frontiers": proof.frontiers,
        "most": proof.most,
        "transactions": whole,
        "waiting": [f"T{t}" for t in waiting],
    }
    mine = set(waiting)
    rows = [
        row
        for t, row in zip(asg.txn_of[asg.read_txn].tolist(), asg.read_op.tolist(), strict=True)
        if t in mine
    ]
    return Proved(text, tuple(dict.fromkeys(rows)), numbers, waiting[:EXAMPLES])

"""Departures in a sentence: "five transactions saw 'a' = 1 and 'b' = 0 and changed that, and it can have been so only
four times".
"""

from __future__ import annotations

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.certify.proof import TooFewArrivals
from boomslang.explain.names import Names
from boomslang.explain.proved import Proved, in_a_state, times, transactions
from boomslang.levels.level import Level
from boomslang.solve.departures import arrivals_of, parts_of_departures

EXAMPLES = 3


def departures_in_words(asg: ASG, level: Level, proof: TooFewArrivals) -> Proved:
    names = Names(asg)
    keys = proof.keys if asg.key_of is None else np.searchsorted(asg.key_of, proof.keys).tolist()
    saw = [(names.key(key), names.value(value)) for key, value in zip(keys, proof.state, strict=True)]
    came, at_first = arrivals_of(asg, level, proof)
    there = came + at_first
    many = len(proof.departures)
    often = f"only {times(there)}" if there else "never"
    often += " by the time they had returned" if proof.later else ""
    if at_first and came:
        often += ", the first state included"
    elif at_first:
        often = "only at first" if not proof.later else "only at first, by the time they had returned"
    end = ": no order lets each of them find it so" if there else ""
    text = (
        f"{transactions(many)} saw {in_a_state(saw)} and changed that, and it can have been so {often}{end}"
    )
    numbers = {
        "kind": "departures",
        "saw": [{"key": key, "value": value} for key, value in saw],
        "departures": many,
        "arrivals": there,
        "initial": at_first,
        "later": len(proof.later),
    }
    _, reads = parts_of_departures(asg, level, proof)
    mine = np.isin(asg.txn_of[asg.read_txn[reads]], proof.departures)
    rows = tuple(dict.fromkeys(asg.read_op[reads[mine]].tolist()))
    return Proved(text, rows, numbers, proof.departures[:EXAMPLES])

"""Unique values: what nearly every earlier checker assumes. Here it is asserted, and checked."""

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.errors import UsageError
from boomslang.ir.model import IR
from boomslang.modules.module import Hints, module
from boomslang.trace.model import ABSENT


@module
def unique_values(asg: ASG, ir: IR, hints: Hints) -> None:
    """No value is written to a key twice; a trace in which one is, is refused."""
    txn, key, value = (
        np.concatenate(pair)
        for pair in zip((asg.write_txn, asg.write_key, asg.write_value), asg.intermediate[:3], strict=True)
    )
    first = np.flatnonzero(asg.initial > ABSENT)
    txn = np.concatenate([np.full(len(first), -1), txn])
    key, value = np.concatenate([first, key]), np.concatenate([asg.initial[first], value])
    txn, key, value = (column[value != ABSENT] for column in (txn, key, value))
    by = np.lexsort((txn, value, key))
    twice = np.flatnonzero((key[by][1:] == key[by][:-1]) & (value[by][1:] == value[by][:-1]))
    if len(twice):
        one, two = by[twice[0]], by[twice[0] + 1]
        who = ["the initial state" if t < 0 else f"T{asg.txn_of[t]}" for t in (int(txn[one]), int(txn[two]))]
        raise UsageError(
            f"values are not unique: {who[0]} and {who[1]} both wrote {ir.value_name(int(value[one]))} to "
            f"{ir.key_name(int(key[one]))}; check without this module"
        )

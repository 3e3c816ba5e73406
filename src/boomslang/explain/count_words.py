"""Counting in a sentence: "'item2' was 5 only six times, and seven transactions took it from 5".

One value says it all, as a rule. Two do where a key's initial value is unknown: it can make good what one of them
lacks, and not both. And where a delete says only that something was there, all values count together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from boomslang.asg.graph import ASG, PRESENT, UNKNOWN_INITIAL, unsettled
from boomslang.certify.proof import TooFewVersions
from boomslang.certify.seen import look
from boomslang.distinct import distinct
from boomslang.explain.names import Names, short
from boomslang.explain.proved import Proved, times, transactions
from boomslang.trace.model import ABSENT, Outcome

EXAMPLES = 3


@dataclass(frozen=True)
class _Value:
    """What readers took, and how often it was there: as somebody's version, and at first."""

    word: str
    readers: int
    written: int
    first: bool

    @property
    def there(self) -> int:
        return self.written + self.first


def count_in_words(asg: ASG, proof: TooFewVersions) -> Proved:
    trace, names = asg.trace, Names(asg)
    key = proof.key if asg.key_of is None else int(np.searchsorted(asg.key_of, proof.key))
    seen = Counter(saw.value for _, row in proof.readers if (saw := look(trace, row, proof.key)) is not None)
    initial = int(unsettled(asg)[key])
    unknown = initial == UNKNOWN_INITIAL
    if PRESENT in seen:
        values = [_value(asg, names, key, proof, PRESENT, seen.total(), initial)]
    else:
        values = [_value(asg, names, key, proof, value, n, initial) for value, n in sorted(seen.items())]
    numbers = {
        "kind": "counting",
        "key": short(trace.keys[proof.key]),
        "values": [
            {
                "value": None if PRESENT in seen else one.word,
                "readers": one.readers,
                "versions": one.there,
                "initial": one.first,
            }
            for one in values
        ],
        "initial_unknown": unknown,
        "later": len(proof.later),
    }
    rows = tuple(dict.fromkeys(row for _, row in proof.readers))
    text = _sentence(names.key(key), values, unknown, bool(proof.later))
    return Proved(text, rows, numbers, tuple(t for t, _ in proof.readers[:EXAMPLES]))


def _value(
    asg: ASG, names: Names, key: int, proof: TooFewVersions, value: int, readers: int, initial: int
) -> _Value:
    low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
    held = asg.write_value[low:high]
    rows = low + np.flatnonzero(held != ABSENT if value == PRESENT else held == value)
    writers = distinct(asg.write_txn[rows])
    writers = asg.txn_of[writers[asg.outcome[writers] != Outcome.ABORTED]]
    written = int((~np.isin(writers, proof.later)).sum())
    first = initial != UNKNOWN_INITIAL and (initial != ABSENT if value == PRESENT else initial == value)
    return _Value("there" if value == PRESENT else names.value(value), readers, written, first)


def _sentence(key: str, values: list[_Value], unknown: bool, later: bool) -> str:
    told = [_too_often(key if n == 0 else "it", one, unknown, later) for n, one in enumerate(values)]
    if len(values) > 1:
        return f"{'; and '.join(told)}; but what it held at first, which is not known, was one value"
    if values[0].readers <= values[0].there:
        return (
            f"{told[0]}, and it was not {values[0].word} at first: who of them was the first to make it so?"
        )
    if not values[0].there:
        return told[0]
    return f"{told[0]}: two of them overwrote the same version, so one update was lost"


def _too_often(key: str, one: _Value, unknown: bool, later: bool) -> str:
    if one.readers <= one.there:
        who = "the one transaction" if one.readers == 1 else f"each of the {transactions(one.readers)}"
        return f"{who} that made {key} {one.word} had already seen it {one.word}"
    often = f"{one.word} only {times(one.there)}" if one.there else f"never {one.word}"
    often += " by the time they had returned" if later else ""
    if one.first and one.written:
        often += ", its first value included"
    elif one.first:
        often = f"{one.word} only at first"
    elif unknown:
        often += " (and perhaps at first, which is not known)"
    took = f"took it from {one.word}"
    if one.word in ("there", "absent"):
        took = "overwrote or deleted it" if one.word == "there" else "found it absent and wrote it"
    return f"{key} was {often}, and {transactions(one.readers)} {took}"

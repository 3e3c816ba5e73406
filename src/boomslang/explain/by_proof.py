"""A refutation by counting or by states, told in one sentence: what a person would say.

"item2 was 5 six times, and seven transactions read that and overwrote it." "Nobody was on call, which no serial order
can reach: each of the 133 transactions that went off had seen somebody else on call." All whose reads the proof needs
are its core; they may be many, so they are told in groups, and beside them what probably happened (likely.py).
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from boomslang.asg.graph import ASG, PRESENT
from boomslang.certify.certificate import Core
from boomslang.certify.proof import UNNAMED, Proof, TooFewVersions, UnreachableState
from boomslang.certify.seen import look
from boomslang.explain.anomalies import Anomaly
from boomslang.explain.argument import Argument, Contradiction
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.likely import Likely, what_probably_happened
from boomslang.explain.names import Names
from boomslang.explain.parts import Parts
from boomslang.levels.laws import State, state_law
from boomslang.levels.level import Level
from boomslang.solve.states import Guarded, guarded, named_reads
from boomslang.trace.model import ABSENT, Outcome

LOST_UPDATE = Anomaly(
    "lost-update",
    "lost update",
    "more transactions read a version of a key and overwrote it than there were versions",
)
NEVER_WAS = "a transaction saw a state that no order can reach"
_WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


def explain_by_proof(asg: ASG, level: Level, proof: Proof, parts: Parts, seconds: float) -> Counterexample:
    """The counterexample whose core is what the proof rests on."""
    reads = [(int(asg.read_op[r]), asg.trace_key(int(asg.read_key[r]))) for r in parts.reads.tolist()]
    core = Core(level.name, tuple(asg.txn_of[parts.transactions].tolist()), tuple(sorted(reads)), proof=proof)
    if isinstance(proof, TooFewVersions):
        text, rows, anomaly, near = _count(asg, proof), _rows(proof), LOST_UPDATE, None
    else:
        text, rows = _state(asg, level, proof)
        anomaly, near = Anomaly("unreachable-state", "a state that never was", NEVER_WAS), proof.transaction
    likely = what_probably_happened(asg, level, core.transactions, seconds, near)
    if likely is not None and (isinstance(proof, UnreachableState) or len(proof.readers) == 1):
        anomaly = likely.anomaly
    argument = Argument((), Contradiction(text, operations=rows))
    return Counterexample(asg.trace, core, argument, anomaly, False, _spoken_of(core, likely), likely=likely)


def _spoken_of(core: Core, likely: Likely | None) -> tuple[int, ...]:
    return () if likely is None else tuple(t for t in likely.transactions if t not in core.transactions)


def number(n: int) -> str:
    return _WORDS[n] if n < len(_WORDS) else f"{n:,}"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{number(n)} times")


# --- counting


def _rows(proof: TooFewVersions) -> tuple[int, ...]:
    return tuple(row for _, row in proof.readers)


def _count(asg: ASG, proof: TooFewVersions) -> str:
    trace, names = asg.trace, Names(asg)
    key = proof.key if asg.key_of is None else int(np.searchsorted(asg.key_of, proof.key))
    seen = Counter(saw.value for _, row in proof.readers if (saw := look(trace, row, proof.key)) is not None)
    return "; and ".join(_of_value(asg, names, key, proof, value, n) for value, n in sorted(seen.items()))


def _of_value(asg: ASG, names: Names, key: int, proof: TooFewVersions, value: int, readers: int) -> str:
    rows = asg.writes_of(key, value)
    writers = asg.txn_of[asg.write_txn[rows][asg.outcome[asg.write_txn[rows]] != Outcome.ABORTED]]
    writers = writers[~np.isin(writers, proof.later)]
    initial = int(asg.initial[key])
    first = initial != ABSENT if value == PRESENT else initial == value
    there = len(writers) + first
    what = "there" if value == PRESENT else names.value(value)
    who = f"{number(readers)} transaction{'s' if readers > 1 else ''}"
    if readers <= there:  # each version is by one of the readers
        return (
            f"each of the {who} that made {names.key(key)} {what} had seen it {what} and it was not so at first, "
            "so none of them can have been the first"
        )
    if not there:
        return f"{names.key(key)} was not {what} before {who} that saw it {what} had returned"
    when = " by the time that they had returned" if proof.later else ""
    start = ", the initial value included" if first else ""
    return (
        f"{names.key(key)} was {what} only {_times(there)}{when}{start}, and {who} saw it {what} and overwrote it: two "
        "of them overwrote the same version"
    )


# --- states


def _state(asg: ASG, level: Level, proof: UnreachableState) -> tuple[str, tuple[int, ...]]:
    txn, mine = named_reads(asg, level, proof)
    names = Names(asg)
    keys = asg.read_key[mine].tolist()
    saw = dict(zip(keys, asg.read_value[mine].tolist(), strict=True))
    wanted = {proof.keys.index(asg.trace_key(key)): value for key, value in saw.items()}
    others = _who_saw(asg, saw) - 1
    also = "" if others < 1 else f" (and {number(others)} more transaction{'s' if others > 1 else ''})"
    order = {
        State.SERIAL: "no serial order can reach",
        State.SNAPSHOT: "no row of commits can reach",
        State.ONE_KEY: "no row of its versions can reach",
    }[state_law(level) or State.SERIAL]
    text = f"{names.txn(txn)}{also} saw {_together(names, saw)}, which {order}: "
    needed = guarded(asg, level, proof)
    entering = [one for one in needed if _avoids(one, wanted)]
    if needed and len(entering) == len(needed):
        many = sum(len(one.transactions) for one in needed)
        who = "the one transaction" if many == 1 else f"each of the {number(many)} transactions"
        text += f"{who} that made one of them so had seen another of them otherwise"
    else:
        held = f"{len(proof.states):,} state{'s' if len(proof.states) > 1 else ''}"
        text += f"from what they held at first, all that was done leads to {held}, and to none like that"
    return text, tuple(asg.read_op[mine].tolist())


def _together(names: Names, saw: dict[int, int]) -> str:
    """'a' and 'b' = 1, 'c' = 2."""
    by_value: dict[int, list[str]] = {}
    for key, value in saw.items():
        by_value.setdefault(value, []).append(names.key(key))
    told = []
    for value, keys in by_value.items():
        text = f"{', '.join(keys[:-1])} and {keys[-1]}" if len(keys) > 1 else keys[0]
        told.append(f"{text} = {'unnamed' if value == UNNAMED else names.value(value)}")
    return ", ".join(told)


def _who_saw(asg: ASG, saw: dict[int, int]) -> int:
    """How many committed transactions saw all of that."""
    found: set[int] | None = None
    for key, value in saw.items():
        rows = np.flatnonzero((asg.read_key == key) & (asg.read_value == value))
        txns = np.searchsorted(asg.read_start, rows, side="right") - 1
        mine = set(txns[asg.outcome[txns] == Outcome.COMMITTED].tolist())
        found = mine if found is None else found & mine
    return len(found or ())


def _avoids(one: Guarded, wanted: dict[int, int]) -> bool:
    """Did they see another of the keys otherwise than the state that cannot be?"""
    for i in one.keys:
        seen = one.behaviour.seen[i]
        if one.behaviour.wrote[i] is None and i in wanted and seen is not None:
            absent = (seen == PRESENT and wanted[i] == ABSENT) or (seen == ABSENT and wanted[i] == PRESENT)
            if absent or (PRESENT not in (seen, wanted[i]) and seen != wanted[i]):
                return True
    return False

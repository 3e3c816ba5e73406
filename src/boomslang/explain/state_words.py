"""A state that cannot be, in a sentence: who saw what, and why no order leads there.

Most often the last step is what is missing: whoever made one of the keys so had seen another of them otherwise and left
it so ("each of the 192 transactions that made one of them False had seen another of them True"). Or it is a matter of
how many: four jobs run, and whoever made one run had seen at most two that did. Else all that happened is looked at
together, and the sentence says what it can lead to.
"""

from __future__ import annotations

import numpy as np

from boomslang.asg.graph import ASG, PRESENT
from boomslang.certify.proof import OTHER, UNNAMED, UnreachableState
from boomslang.distinct import distinct
from boomslang.explain.names import Names
from boomslang.explain.proved import Proved, in_a_state, joined, number, transactions
from boomslang.levels.laws import State, state_law
from boomslang.levels.level import Level
from boomslang.solve.states import Guarded, guarded, named_reads
from boomslang.trace.model import ABSENT, Outcome

EXAMPLES = 3
MOST_STATES = 4
"""That are listed one by one."""
ORDER = {
    State.SERIAL: "no serial order can reach",
    State.SNAPSHOT: "no order of commits can reach",
    State.ONE_KEY: "no order of its writers can reach",
}


def state_in_words(asg: ASG, level: Level, proof: UnreachableState) -> Proved:
    txn, mine = named_reads(asg, level, proof)
    names = Names(asg)
    reads = list(zip(asg.read_key[mine].tolist(), asg.read_value[mine].tolist(), strict=True))
    saw = dict(reads)
    twice = next(((key, v) for key, v in reads if not _fits(v, saw[key])), None)
    witnesses = [txn] if twice else _who_saw(asg, saw)
    others = len(witnesses) - 1
    also = "" if others < 1 else f" (and {number(others)} more)"
    held = _so_many(names, proof, saw) if proof.apart else _together(names, saw)
    text = f"{names.txn(txn)}{also} saw {held}, which {ORDER[state_law(level) or State.SERIAL]}: "
    needed = guarded(asg, level, proof)
    most, makers = 0, [] if twice or proof.apart else _all_saw_otherwise(asg, proof, saw, needed)
    if proof.apart and not twice:
        most, makers = _all_saw_fewer(asg, proof, saw)
    if twice:
        key, first = twice
        seen = f"{_value(names, first)} and then {_value(names, saw[key])}"
        text = (
            f"{names.txn(txn)} saw {names.key(key)} = {seen}, and no order lets it change under a transaction"
        )
    elif makers and proof.apart:
        text += _one_more(names, proof, most, len(makers))
    else:
        text += _last_step(names, saw, needed, makers) if makers else _whole(asg, proof, names)
    numbers = {
        "kind": "states",
        "keys": [names.key(_number(asg, key)) for key in proof.keys],
        "transaction": f"T{proof.transaction}",
        "saw": [
            {"key": names.key(key), "value": _value(names, value)} for key, value in dict.fromkeys(reads)
        ],
        "seen_by": len(witnesses),
        "states": len(proof.states),
        "made_by": len(makers) or None,
    }
    core = makers or [t for one in needed for t in one.transactions.tolist()]
    some = dict.fromkeys([proof.transaction, *asg.txn_of[core[:EXAMPLES]].tolist()])
    return Proved(text, tuple(dict.fromkeys(asg.read_op[mine].tolist())), numbers, tuple(some)[:EXAMPLES])


# --- what was seen


def _together(names: Names, saw: dict[int, int]) -> str:
    return in_a_state([(names.key(key), _value(names, value)) for key, value in saw.items()])


def _so_many(names: Names, proof: UnreachableState, saw: dict[int, int]) -> str:
    """'running' in four of ten keys."""
    told = [key for key, value in saw.items() if value in proof.apart]
    value = joined([names.value(v) for v in proof.apart], "or")
    if not told:
        return f"none of {joined([names.key(key) for key in list(saw)[:EXAMPLES]])} {value}"
    some = joined([names.key(key) for key in told[:EXAMPLES]] + ["others"] * (len(told) > EXAMPLES))
    return f"{value} in {number(len(told))} of {number(len(saw))} keys ({some})"


def _value(names: Names, value: int) -> str:
    if value == OTHER:
        return "another value"
    return "its unknown first value" if value == UNNAMED else names.value(value)


def _who_saw(asg: ASG, saw: dict[int, int]) -> list[int]:
    """The committed transactions that saw all of that."""
    found: set[int] | None = None
    for key, value in saw.items():
        rows = np.flatnonzero((asg.read_key == key) & (asg.read_value == value))
        txns = np.searchsorted(asg.read_start, rows, side="right") - 1
        mine = set(txns[asg.outcome[txns] == Outcome.COMMITTED].tolist())
        found = mine if found is None else found & mine
    return sorted(found or ())


# --- why it cannot be


def _all_saw_otherwise(
    asg: ASG, proof: UnreachableState, saw: dict[int, int], needed: list[Guarded]
) -> list[int]:
    """Those who made one of the keys so and none otherwise, if each of them had seen another otherwise; else nobody."""
    wanted = {proof.keys.index(asg.trace_key(key)): value for key, value in saw.items()}
    avoid = {t for one in needed if _avoids(one, wanted) for t in one.transactions.tolist()}
    makers: set[int] = set()
    spoilers: set[int] = set()
    for key, value in saw.items():
        for w in range(int(asg.key_start[key]), int(asg.key_start[key + 1])):
            (makers if _fits(int(asg.write_value[w]), value) else spoilers).add(int(asg.write_txn[w]))
    alive = {t for t in makers - spoilers if asg.outcome[t] != Outcome.ABORTED}
    return sorted(alive) if alive <= avoid else []


def _all_saw_fewer(asg: ASG, proof: UnreachableState, saw: dict[int, int]) -> tuple[int, list[int]]:
    """The most keys that those who gave one of them the value, and no more, had seen with it, and who they are; nobody,
    if that does not say why it cannot be as many as were seen."""
    keys, apart = np.array(sorted(saw)), proof.apart
    mine = np.isin(asg.write_key, keys) & np.isin(asg.write_value, apart)
    makers, wrote = np.unique(asg.write_txn[mine], return_counts=True)
    alive = asg.outcome[makers] != Outcome.ABORTED
    makers, wrote = makers[alive], wrote[alive]
    seen: list[int] = []
    for t in makers.tolist():
        rows = slice(int(asg.read_start[t]), int(asg.read_start[t + 1]))
        here = dict(zip(asg.read_key[rows].tolist(), asg.read_value[rows].tolist(), strict=True))
        if not here.keys() >= set(keys.tolist()):
            return 0, []
        seen.append(sum(here[key] in apart for key in keys.tolist()))
    most = max(seen, default=0)
    many = sum(value in apart for value in saw.values())
    at_first = int(np.isin(asg.initial[keys], apart).sum())
    explains = len(wrote) > 0 and wrote.max() == 1 and max(most + 1, at_first) < many
    return (most, makers.tolist()) if explains else (0, [])


def _one_more(names: Names, proof: UnreachableState, most: int, makers: int) -> str:
    value = joined([names.value(v) for v in proof.apart], "or")
    who = "the one transaction" if makers == 1 else f"each of the {transactions(makers)}"
    there = "none of them" if most == 0 else f"at most {number(most)} of them"
    return f"there were fewer at first, and {who} that made one of them {value} had seen {there} {value}"


def _avoids(one: Guarded, wanted: dict[int, int]) -> bool:
    """Did they see another of the keys otherwise, and leave it so?"""
    return any(
        one.behaviour.wrote[i] is None
        and i in wanted
        and (seen := one.behaviour.seen[i]) is not None
        and not _fits(seen, wanted[i])
        for i in one.keys
    )


def _fits(one: int, other: int) -> bool:
    if PRESENT in (one, other):
        return ABSENT not in (one, other)
    return one == other


def _last_step(names: Names, saw: dict[int, int], needed: list[Guarded], makers: list[int]) -> str:
    inside = set(makers)
    told = [one for one in needed if inside & set(one.transactions.tolist())]
    places = {one.behaviour.seen[i] for one in told for i in one.keys if one.behaviour.wrote[i] is None}
    values, had = set(saw.values()), "otherwise"
    if len(places) == 1 and (other := next(iter(places))) is not None and other not in values:
        had = _value(names, other)
    so = _value(names, next(iter(values))) if len(values) == 1 else "so"
    who = "the one transaction" if len(makers) == 1 else f"each of the {transactions(len(makers))}"
    another = "the other" if len(saw) == 2 else "another of them"
    return f"it was not so at first, and {who} that made one of them {so} had seen {another} {had}"


def _whole(asg: ASG, proof: UnreachableState, names: Names) -> str:
    keys = [_number(asg, key) for key in proof.keys]
    low, high = asg.key_start[keys], asg.key_start[np.array(keys) + 1]
    writers = distinct(np.concatenate([asg.write_txn[a:b] for a, b in zip(low, high, strict=True)]))
    many = int((asg.outcome[writers] != Outcome.ABORTED).sum())
    what = "it" if len(keys) == 1 else "them"
    who = f"the {transactions(many)} that wrote {what}, each where it finds what it saw, lead"
    if many == 1:
        who = f"the one transaction that wrote {what}, where it finds what it saw, leads"
    if len(keys) == 1:
        held = sorted(state[0] for state in proof.states)
        if len(held) <= 2 * MOST_STATES:
            told = joined([_value(names, value) for value in held])
            return f"from what it held at first, {who} to {told} and no further"
    elif len(proof.states) <= MOST_STATES:
        told = joined([f"({', '.join(_value(names, v) for v in state)})" for state in sorted(proof.states)])
        group = joined([names.key(key) for key in keys])
        return f"{who} {group} to {told}, and to nothing else"
    return f"from what was there at first, {who} to {len(proof.states):,} states, and that is none of them"


def _number(asg: ASG, key: int) -> int:
    return key if asg.key_of is None else int(np.searchsorted(asg.key_of, key))

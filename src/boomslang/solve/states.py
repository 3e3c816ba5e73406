"""Reachable states: a committed transaction saw what a few keys can never have held together.

native/engine/states.hpp tells how. This side says what holds at which level (levels/laws.py): which reads are guards,
and which must match a state. The bounds are numbers, not seconds, so that the answer is the same each time.

Ten jobs that wait, run or are done have too many states to be followed, but whether a job runs is one of two, and "at
most three run" is a matter of that alone. So where a group has too many states, values are looked at one by one: this
value, or another. Reads then ask for less and more states can be reached, so what is refuted that way is refuted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, IMPOSSIBLE, ITEM, PRESENT, UNKNOWN_INITIAL, unsettled
from boomslang.certify.proof import OTHER, UnreachableState
from boomslang.distinct import distinct
from boomslang.levels.laws import State, ranges_count, state_law
from boomslang.levels.level import Level
from boomslang.solve import _engine
from boomslang.solve.counting import list_keys
from boomslang.solve.solution import Limits
from boomslang.trace.model import ABSENT, Outcome

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

MOST_STATES, MOST_KEYS, MOST_GROUPS = 4_096, 8, 1_000
STEPS, STEPS_PER_OPERATION = 2_000_000, 10
"""A step compares a transaction's reads with a state; at most so many, and so many more for each read and write."""
MOST_APART, MOST_KEYS_APART = 4, 24
"""Values that are told apart from all others, one after the other, and keys of a group that is looked at so."""
MANY_VALUES, AGAIN = 16, 2
"""Different values of a key, on average, from which on only those are told apart that a key was given so often."""
_GUARD, _MATCH = 1, 2


def unreachable_state(
    asg: ASG, level: Level, limits: Limits, among: NDArray[np.bool_] | None = None
) -> tuple[UnreachableState | None, dict[str, int]]:
    """A refutation by states, if there is one; and what was looked at. `among`: keys of the trace of which all writers
    are here, if those of others may not be."""
    if state_law(level) is None:
        return None, {}
    left_out = list_keys(asg)
    left_out[asg.read_key[asg.read_value == IMPOSSIBLE]] = True
    if among is not None:
        left_out |= ~(among if asg.key_of is None else among[asg.key_of])
    proof, found = _followed(asg, level, limits, left_out)
    seen = {"key_groups": found["groups"], "key_states": found["largest"]}
    if proof is not None or found["stopped"] or not found["too_large"] or state_law(level) is State.ONE_KEY:
        return proof, seen
    for value in _common(asg):
        another, found = _followed(asg, level, limits, left_out, (value,))
        seen["key_groups"] += found["groups"]
        seen["key_states"] = max(seen["key_states"], found["largest"])
        # The more states, the more it is about what the application meant, and not about how the trace began.
        if another is not None and (proof is None or len(another.states) > len(proof.states)):
            proof = another
        if found["stopped"]:
            break
    return proof if proof is None else _told_best(asg, level, proof), seen


def _followed(
    asg: ASG, level: Level, limits: Limits, left_out: NDArray[np.bool_], apart: tuple[int, ...] = ()
) -> tuple[UnreachableState | None, dict[str, Any]]:
    """A refutation by states that tell these values apart (all, if none is given), and the counters. `left_out`: of
    each key whether nothing is asked of it."""
    law = state_law(level)
    guard, match = _uses(asg, level)
    first = unsettled(asg)
    if apart:
        left_out = left_out | (first == UNKNOWN_INITIAL)
    found = _engine.unreachable(
        asg.transactions,
        asg.keys,
        asg.outcome,
        asg.read_start,
        asg.read_key,
        told_apart(asg.read_value, apart),
        (guard * _GUARD + match * _MATCH).astype(np.uint8),
        asg.key_start,
        asg.write_txn,
        told_apart(asg.write_value, apart),
        told_apart(first, apart),
        left_out.astype(np.uint8),
        law is not State.SERIAL,
        law is State.ONE_KEY,
        MOST_STATES,
        MOST_KEYS_APART if apart else MOST_KEYS,
        MOST_GROUPS,
        STEPS + STEPS_PER_OPERATION * (len(asg.read_key) + len(asg.write_key)),
        limits.seconds or 0.0,
        limits.megabytes or 0.0,
    )
    if found["stopped"] or not len(found["keys"]):
        return None, found
    keys = found["keys"].tolist()
    rows = found["states"].reshape(-1, len(keys)).tolist()
    states = tuple(sorted(tuple(row) for row in rows))
    named = tuple(asg.trace_key(key) for key in keys)
    return UnreachableState(named, states, int(asg.txn_of[found["txn"]]), apart), found


def _told_best(asg: ASG, level: Level, proof: UnreachableState) -> UnreachableState:
    """The same, with that of all who saw what cannot be who saw the value in most of the keys."""
    keys, (_, match) = _numbers(asg, proof.keys), _uses(asg, level)
    reads = np.flatnonzero(match & np.isin(asg.read_key, keys) & (asg.read_value != PRESENT))
    txn = asg.read_txn[reads]
    once = (np.bincount(txn, minlength=asg.transactions) == len(keys)) & (asg.outcome == Outcome.COMMITTED)
    saw = np.full((asg.transactions, len(keys)), PRESENT, np.int32)
    saw[txn, np.searchsorted(np.sort(keys), asg.read_key[reads])] = told_apart(
        asg.read_value[reads], proof.apart
    )
    saw = saw[:, np.argsort(np.argsort(keys))]
    all_of_them = np.flatnonzero(once & (saw != PRESENT).all(axis=1))
    inside = set(_rows(np.array(proof.states, np.int32)))
    cannot = all_of_them[[row not in inside for row in _rows(saw[all_of_them])]]
    if not len(cannot):
        return proof
    best = cannot[np.argmax(np.isin(saw[cannot], proof.apart).sum(axis=1))]
    return replace(proof, transaction=int(asg.txn_of[best]))


def told_apart(values: Int32, apart: tuple[int, ...]) -> Int32:
    """Values and patterns of reads, with all that are not told apart as one."""
    if not apart:
        return values
    known = (*apart, PRESENT, UNKNOWN_INITIAL)
    classes: Int32 = np.where(np.isin(values, known), values, np.int32(OTHER)).astype(np.int32)
    return classes


def _common(asg: ASG) -> list[int]:
    """The values that most keys were given: what a rule of an application is about. Where keys were given many values,
    a value that hardly any was given again is about nothing: who saw it saw its one writer."""
    key, value = asg.write_key, asg.write_value  # sorted
    fresh = np.ones(len(key), bool)
    fresh[1:] = (key[1:] != key[:-1]) | (value[1:] != value[:-1])
    values, keys = np.unique(value[fresh], return_counts=True)
    worth = keys > 1
    if np.count_nonzero(fresh) > MANY_VALUES * len(distinct(key)):
        worth &= np.unique(value, return_counts=True)[1] >= AGAIN * keys
    often = np.argsort(-keys, kind="stable")[:MOST_APART]
    common: list[int] = values[often][worth[often]].tolist()
    return common


def _uses(asg: ASG, level: Level) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which reads are guards, and which must match a state."""
    every = np.ones(len(asg.read_key), bool)
    counts = every if ranges_count(level) else asg.read_kind == ITEM
    guard = counts & asg.cursor_reads() if level.cursor else counts
    # Of one key alone, every read saw some version; together, only those did that count.
    return guard, every if state_law(level) is State.ONE_KEY else counts


@dataclass(frozen=True)
class Behaviour:
    """What transactions that saw and did the same with a few keys saw and did."""

    seen: tuple[int | None, ...]
    """Of each key what was read there, and had to be so; IMPOSSIBLE, if that was one thing and another."""
    wrote: tuple[int | None, ...]
    """Of each key what was left there."""


@dataclass(frozen=True, eq=False)
class Guarded:
    """Transactions without whose reads of the keys other states could be reached."""

    behaviour: Behaviour
    keys: tuple[int, ...]
    """Which of the keys (as places in the proof) they need to have read."""
    transactions: Int64
    reads: Int64


def guarded(asg: ASG, level: Level, proof: UnreachableState) -> list[Guarded]:
    """Whose reads the proof rests on, those of the named transaction aside."""
    keys = _numbers(asg, proof.keys)
    found = []
    states = np.array(proof.states, np.int32).reshape(-1, len(keys))
    inside = set(_rows(states))
    for behaviour, (txns, reads) in _behaviours(asg, level, keys, proof.apart).items():
        where = _needed(behaviour, states, inside)
        if where:
            mine = np.array(sorted(r for r in reads if keys.index(int(asg.read_key[r])) in where), np.int64)
            found.append(Guarded(behaviour, where, np.array(sorted(txns), np.int64), mine))
    return found


def named_reads(asg: ASG, level: Level, proof: UnreachableState) -> tuple[int, Int64]:
    """The transaction that saw what cannot be, and its reads of the keys."""
    txn = int(np.searchsorted(asg.txn_of, proof.transaction))
    mine = np.arange(asg.read_start[txn], asg.read_start[txn + 1])
    mine = mine[np.isin(asg.read_key[mine], _numbers(asg, proof.keys))]
    if state_law(level) is State.ONE_KEY:  # each read for itself
        held = {state[0] for state in proof.states}
        there = bool(held - {ABSENT})
        seen = asg.read_value[mine]
        mine = mine[~np.where(seen == PRESENT, there, np.isin(seen, list(held)))][:1]
    elif not ranges_count(level):
        mine = mine[asg.read_kind[mine] == ITEM]
    return txn, mine


def _numbers(asg: ASG, keys: tuple[int, ...]) -> list[int]:
    """The ASG's numbers of keys of the trace."""
    return list(keys) if asg.key_of is None else np.searchsorted(asg.key_of, keys).tolist()


def _behaviours(
    asg: ASG, level: Level, keys: list[int], apart: tuple[int, ...]
) -> dict[Behaviour, tuple[set[int], list[int]]]:
    """Who wrote one of these keys, by what they saw and did, with the reads that are guards."""
    guard, _ = _uses(asg, level)
    own = state_law(level) is not State.SERIAL
    saw, left_there = told_apart(asg.read_value, apart), told_apart(asg.write_value, apart)
    wrote: dict[int, dict[int, int]] = {}
    for i, key in enumerate(keys):
        for w in range(int(asg.key_start[key]), int(asg.key_start[key + 1])):
            txn = int(asg.write_txn[w])
            if asg.outcome[txn] != Outcome.ABORTED:
                wrote.setdefault(txn, {})[i] = int(left_there[w])
    found: dict[Behaviour, tuple[set[int], list[int]]] = {}
    for txn, left in wrote.items():
        seen: dict[int, int] = {}
        reads = []
        for r in range(int(asg.read_start[txn]), int(asg.read_start[txn + 1])):
            key = int(asg.read_key[r])
            if not guard[r] or key not in keys or (own and keys.index(key) not in left):
                continue
            i, value = keys.index(key), int(saw[r])
            seen[i] = _both(seen[i], value) if i in seen else value
            reads.append(r)
        places = range(len(keys))
        one = Behaviour(tuple(seen.get(i) for i in places), tuple(left.get(i) for i in places))
        txns, all_reads = found.setdefault(one, (set(), []))
        txns.add(txn)
        all_reads.extend(reads)
    return found


def _both(one: int, two: int) -> int:
    """What a key held if two reads of it are right."""
    if one == PRESENT and two != ABSENT:
        return two
    return one if one == two or (two == PRESENT and one != ABSENT) else IMPOSSIBLE


def _needed(behaviour: Behaviour, states: Int32, inside: set[bytes]) -> tuple[int, ...]:
    """Of which keys it must have read what it read, lest it lead out of the states; as few as that takes. `inside` has
    the states as bytes."""
    after = states.copy()
    for i, wrote in enumerate(behaviour.wrote):
        if wrote is not None:
            after[:, i] = wrote
    leaving = states[[row not in inside for row in _rows(after)]]
    where = [i for i, seen in enumerate(behaviour.seen) if seen is not None] if len(leaving) else []
    fits = np.ones(leaving.shape, bool)
    for i in where:
        seen = behaviour.seen[i]
        fits[:, i] = leaving[:, i] != ABSENT if seen == PRESENT else leaving[:, i] == seen
    for i in list(where):
        rest = [j for j in where if j != i]
        if not fits[:, rest].all(axis=1).any():
            where = rest
    return tuple(where)


def _rows(states: Int32) -> list[bytes]:
    data, width = states.tobytes(), states.shape[1] * states.itemsize
    return [data[at : at + width] for at in range(0, len(data), width)]

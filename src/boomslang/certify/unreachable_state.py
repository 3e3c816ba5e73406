"""Does a set of states refute the trace? No solver is needed to see it.

The claim: some keys can only have held what is in the set, and a committed transaction saw them hold something else.
It is right if the set holds all that they may have held at first; if each transaction that did not abort leads from
states of the set, where its reads fit, to states of the set; and if what the named one saw fits none. That is an
induction over the order of transactions, whatever that order was (Floyd, "Assigning meanings to programs", 1967). At
snapshot isolation a transaction may change the state although what it read is no longer so, but for the keys that
it writes; below that, each key is a state of its own. A proof may tell only some values apart and call all others the
same: reads then ask for less, so whatever was possible still is. Nothing here is shared with the pass that found the
set.
"""

from __future__ import annotations

from itertools import product

from boomslang.certify.proof import OTHER, UNNAMED, UnreachableState
from boomslang.certify.saw_and_left import LEVELS, ONE_KEY, Leaves, Wants, did, rows_with
from boomslang.certify.seen import SOME_VALUE, fits, holds_list
from boomslang.certify.slack import slack_of
from boomslang.trace import ABSENT, Initial, Outcome, Trace


def fault_of_states(trace: Trace, level: str, proof: UnreachableState) -> str:
    """What is wrong with the proof; nothing, if it refutes the trace."""
    try:
        base = slack_of(level, trace)[0].removeprefix("strong-session-")
    except ValueError as error:
        return str(error)
    if base not in LEVELS:
        return f"nothing follows from states at {level}"
    keys, states = proof.keys, set(proof.states)
    if not keys or len(set(keys)) < len(keys) or (len(keys) > 1 and LEVELS[base] == ONE_KEY):
        return f"found the keys {list(keys)}; expected different ones, and one alone at this level"
    if any(not 0 <= key < len(trace.key_rank) or holds_list(trace, key) for key in keys):
        return "it speaks of a key that is not in the trace, or holds a list"
    if any(len(state) != len(keys) for state in states):
        return "it has a state with more or fewer values than there are keys"
    named = proof.transaction
    if not 0 <= named < len(trace) or trace.txn_outcome[named] != Outcome.COMMITTED:
        return f"transaction {named} is none that committed"
    deeds: dict[tuple[Wants, Leaves], int] = {}
    read: list[set[int]] = [set() for _ in keys]
    rows = rows_with(trace, keys)
    for t in {*rows, named}:
        if trace.txn_outcome[t] == Outcome.ABORTED:
            continue
        wants, guards, leaves = _told_apart(proof.apart, *did(trace, base, keys, t, rows.get(t, [])))
        # Where each key is a state of its own, so is each read.
        saw = [(frozenset({v}),) for v in wants[0]] if LEVELS[base] == ONE_KEY else [wants]
        if t == named and all(any(_fit(one, state) for state in states) for one in saw):
            return f"what transaction {t} saw is among the states"
        writes = any(value is not None for value in leaves)
        if writes:
            deeds.setdefault((guards, leaves), t)
        for values, saw_here, guard in zip(read, wants, guards, strict=True):
            values.update(saw_here if t == named else (), guard if writes else ())
    for state in _at_first(trace, keys, read, proof.apart):
        if state not in states:
            return f"the keys may have held {list(state)} at first, which is not among the states"
    for (guards, leaves), t in deeds.items():
        for state in states:
            after = tuple(old if new is None else new for old, new in zip(state, leaves, strict=True))
            if after not in states and _fit(guards, state):
                return f"transaction {t} leads from {list(state)} to {list(after)}, which is not among the states"
    return ""


def _class(apart: tuple[int, ...], value: int) -> int:
    """What a value is called in the states."""
    return value if not apart or value in apart or value == SOME_VALUE else OTHER


def _told_apart(
    apart: tuple[int, ...], wants: Wants, guards: Wants, leaves: Leaves
) -> tuple[Wants, Wants, Leaves]:
    def classes(values: Wants) -> Wants:
        return tuple(frozenset(_class(apart, value) for value in some) for some in values)

    left = tuple(None if value is None else _class(apart, value) for value in leaves)
    return classes(wants), classes(guards), left


def _fit(wants: Wants, state: tuple[int, ...]) -> bool:
    return all(fits(seen, value) for values, value in zip(wants, state, strict=True) for seen in values)


def _at_first(
    trace: Trace, keys: tuple[int, ...], read: list[set[int]], apart: tuple[int, ...]
) -> product[tuple[int, ...]]:
    """All that the keys may have held. Of an unknown one, a value on which nothing here depends is as good as an
    unnamed one: `read` has those that the named transaction saw, and those that a writer must have seen."""
    given = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True))
    possible = []
    for key, values in zip(keys, read, strict=True):
        known = key in given or trace.initial_mode != Initial.UNKNOWN
        held = {given.get(key, ABSENT)} if known else {ABSENT, UNNAMED, *apart, *values} - {SOME_VALUE}
        possible.append({_class(apart, value) for value in held})
    return product(*possible)

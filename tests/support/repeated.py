"""Small random traces whose values repeat, and the refutations of them that need no search.

Transactions here read what they write, or what others write, and their reads return anything: so a count or a set of
states refutes many of them, and a trace that is refuted wrongly would be among them soon.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from boomslang.asg.graph import ASG, build_asg
from boomslang.certify.certificate import Core
from boomslang.explain.parts import first_broken
from boomslang.levels import LEVELS, Level, implies
from boomslang.levels.laws import State, forbids_lost_updates, state_law
from boomslang.solve.counting import too_few_versions
from boomslang.solve.departures import too_few_arrivals
from boomslang.solve.repeated import Proof, parts_of
from boomslang.solve.solution import Limits
from boomslang.solve.states import unreachable_state
from boomslang.trace import NO_TIME, Trace
from support.histories import (
    Absent,
    Op,
    Txn,
    Unbounded,
    append,
    by_cursor,
    delete,
    end,
    failed,
    get,
    history,
    iterator,
    list_,
    put,
    scan,
    step,
    txn,
)

LAWFUL: tuple[Level, ...] = tuple(level for level in LEVELS if forbids_lost_updates(level))
"""The levels at which counting and states say anything."""
JOINT: tuple[Level, ...] = tuple(
    level for level in LAWFUL if state_law(level) in (State.SERIAL, State.SNAPSHOT)
)
"""Those at which a count of departures says anything."""


@dataclass(frozen=True)
class Mix:
    """What a trace is made of: each makes much of one trap."""

    keys: tuple[Any, ...] = ("x", "y")
    deeds: tuple[str, ...] = (
        "modify",
        "modify",
        "modify",
        "skew",
        "put",
        "look",
        "delete",
        "scan",
        "iterate",
    )
    initial: tuple[str, ...] = ("given", "given", "empty", "unknown")
    transactions: tuple[int, int] = (3, 5)
    in_doubt: float = 0.15
    aborted: float = 0.1
    clocks: int = 1
    cursor: float = 0.0
    """The share of gets that are marked as a cursor's."""


MIXES: dict[str, Mix] = {
    "registers": Mix(deeds=("modify", "modify", "skew", "put", "look")),
    "one key": Mix(keys=("x",), deeds=("modify", "modify", "modify", "put", "look"), transactions=(4, 5)),
    "deletes": Mix(deeds=("modify", "delete", "delete", "put", "look")),
    "scans": Mix(keys=("x", "y", 1), deeds=("scan", "scan", "iterate", "skew", "put", "delete")),
    "in doubt": Mix(in_doubt=0.4, aborted=0.2),
    "unknown at first": Mix(initial=("unknown",), deeds=("modify", "modify", "delete", "skew", "twice")),
    "times": Mix(deeds=("modify", "modify", "put", "look"), clocks=2),
    "cursors": Mix(cursor=0.5, deeds=("modify", "modify", "twice", "put", "delete", "scan")),
    "lists": Mix(initial=("given", "empty"), deeds=("modify", "skew", "put", "look", "append", "append")),
}


def random_together(seed: int) -> Trace:
    """Most see both keys at 0 and change one or both, some bring them back; a few only write, or delete."""
    rng = random.Random(seed)
    txns, free = [], [0, 0, 0]
    for _ in range(rng.randint(4, 6)):
        seen = [0, 0] if rng.random() < 0.6 else [rng.randint(0, 1), rng.randint(0, 1)]
        look = [get(k, v) for k, v in zip("xy", seen, strict=True)]
        if rng.random() < 0.15:
            look = [scan(Unbounded, Unbounded, dict(zip("xy", seen, strict=True)))]
        wrote = rng.choice(("x", "y", "xy", "xy"))
        ops = [*look, *(put(k, 0 if any(seen) else 1) for k in wrote)]
        if (luck := rng.random()) < 0.1:
            ops = [put(rng.choice("xy"), rng.randint(0, 1))]
        elif luck < 0.15:
            ops = [*look, delete(rng.choice("xy"), True)]
        elif luck < 0.2:
            ops = look[:1] + ops[len(look) :]
        session = rng.randrange(3)
        begin = free[session] + rng.randint(0, 3)
        free[session] = begin + rng.randint(0, 3)
        outcome = rng.choice(("committed",) * 8 + ("unknown", "aborted"))
        txns.append(txn(f"s{session}", *ops, outcome=outcome, time=(begin, free[session])))
    txns.sort(key=lambda t: t.begin or 0)
    return history(*txns, initial={"x": 0, "y": 0} if rng.random() < 0.8 else "unknown")


def random_repeated(seed: int) -> tuple[str, Trace]:
    """The trace of a seed, and what it is made of."""
    rng = random.Random(seed)
    name = list(MIXES)[seed % len(MIXES)]
    return name, _trace(rng, MIXES[name])


def _trace(rng: random.Random, mix: Mix) -> Trace:
    keys = mix.keys[: rng.randint(1, len(mix.keys))]
    elements = iter(range(100))
    txns, free = [], [0, 0, 0]
    for _ in range(rng.randint(*mix.transactions)):
        ops = [
            op
            for _ in range(rng.choice((1, 1, 1, 2)))
            for op in _deed(rng, mix, keys, lambda: next(elements))
        ]
        luck = rng.random()
        outcome = "unknown" if luck < mix.in_doubt else "committed"
        outcome = "aborted" if luck > 1 - mix.aborted else outcome
        session = rng.randrange(3)
        begin = free[session] + rng.randint(0, 3)
        free[session] = begin + rng.randint(0, 3)
        clock = str(session % mix.clocks)
        time = (begin, free[session])
        txns.append(txn(f"s{session}", *ops, outcome=outcome, time=time, clock=clock))
    mode = rng.choice(mix.initial)
    state: Any = {k: rng.randint(0, 1) for k in keys if rng.random() < 0.8} if mode == "given" else {}
    if mode != "unknown":
        txns = _plausible(rng, txns, state)
    txns.sort(key=lambda t: t.begin or 0)
    trace = history(*txns, initial="unknown" if mode == "unknown" else state or None)
    if mix.clocks < 2:
        return trace
    lost = [np.array([rng.random() < 0.15 for _ in txns]) for _ in range(2)]
    return replace(
        trace,
        txn_begin=np.where(lost[0], NO_TIME, trace.txn_begin),
        txn_end=np.where(lost[1], NO_TIME, trace.txn_end),
    )


def _plausible(rng: random.Random, txns: list[Txn], state: dict[Any, Any]) -> list[Txn]:
    """Reads of what somebody wrote, or was there at first; else no trace would get past the first look."""
    there: dict[Any, set[Any]] = {k: {state.get(k, Absent)} for k in ("x", "y", 1)}
    for op in (op for t in txns if t.outcome != "aborted" for op in t.ops if not op.failed):
        if op.kind in ("put", "delete") and op.key in there:
            there[op.key].add(op.value if op.kind == "put" else Absent)

    def changed(op: Op) -> Op:
        values = sorted(there.get(op.key, ()), key=repr)
        if op.kind == "get" and op.value not in values:
            return replace(op, value=rng.choice(values))
        if (
            op.kind == "delete"
            and op.found is not None
            and (values == [Absent] if op.found else Absent not in values)
        ):
            return replace(op, found=None)
        if op.kind == "scan":
            seen = {k: rng.choice(sorted(there[k], key=repr)) for k, _ in op.items}
            return replace(op, items=tuple((k, v) for k, v in seen.items() if v is not Absent))
        return op

    return [replace(t, ops=tuple(changed(op) for op in t.ops)) for t in txns]


def _deed(rng: random.Random, mix: Mix, keys: tuple[Any, ...], element: Callable[[], int]) -> list[Op]:
    key, other, value, seen = rng.choice(keys), rng.choice(keys), rng.randint(0, 1), _seen(rng)
    match rng.choice(mix.deeds):
        case "modify":
            return [_get(rng, mix, key, seen), put(key, value)]
        case "twice":
            return [_get(rng, mix, key, seen), _get(rng, mix, key, _seen(rng)), put(key, value)]
        case "skew":
            return [*(_get(rng, mix, k, _seen(rng)) for k in keys), put(key, value)]
        case "look":
            return [_get(rng, mix, k, _seen(rng)) for k in keys]
        case "delete":
            told = delete(key, rng.choice((True, True, False, None)))
            return [told, put(key, value)] if rng.random() < 0.2 else [told]
        case "scan":
            found = {k: rng.randint(0, 1) for k in keys if rng.random() < 0.5}
            return [scan(Unbounded, Unbounded, found), *([put(key, value)] if rng.random() < 0.7 else [])]
        case "iterate":  # with an own write while it is open
            found = [k for k in sorted(keys, key=lambda k: (isinstance(k, str), k)) if rng.random() < 0.5]
            steps = [step(1, k, rng.randint(0, 1)) for k in found]
            return [iterator(1), *([put(other, value)] if rng.random() < 0.6 else []), *steps, end(1)]
        case "append":
            return [append("list", element()), *([list_("list", ())] if rng.random() < 0.1 else [])]
    return [failed(put(key, value)), put(key, value)] if rng.random() < 0.1 else [put(key, value)]


def _seen(rng: random.Random) -> Any:
    return rng.choice((0, 0, 1, 1, Absent)) if rng.random() < 0.5 else rng.randint(0, 1)


def _get(rng: random.Random, mix: Mix, key: Any, value: Any) -> Op:
    read = get(key, value)
    return by_cursor(read) if rng.random() < mix.cursor else read


def refutations(trace: Trace, levels: Sequence[Level] = LAWFUL) -> Iterator[tuple[Level, ASG, Proof]]:
    """What counting, states and departures find, each for itself, at each of these levels."""
    asg = build_asg(trace)
    if first_broken(asg) is not None:
        return  # a check would not come that far
    for level in levels:
        count = too_few_versions(asg, level)
        states, _ = unreachable_state(asg, level, Limits())
        left = too_few_arrivals(asg, level)
        yield from ((level, asg, proof) for proof in (count, states, left) if proof is not None)


def weakest(levels: Sequence[Level]) -> list[Level]:
    """Those that imply no other of them: what breaks these breaks all."""
    return [one for one in levels if not any(implies(one, other) and one is not other for other in levels)]


def core_of(asg: ASG, level: Level, proof: Proof) -> Core:
    """The transactions and reads that the proof is said to rest on, without the proof."""
    transactions, reads = parts_of(asg, level, proof)
    named = [(int(asg.read_op[r]), asg.trace_key(int(asg.read_key[r]))) for r in reads.tolist()]
    return Core(level.name, tuple(asg.txn_of[transactions].tolist()), tuple(sorted(named)))

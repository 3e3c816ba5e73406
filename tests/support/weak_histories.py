"""Random histories for the weak levels: every value is written once, so each read has one possible writer.

What is written is laid out first, transaction after transaction. Then each transaction reads a state of some moment,
mostly a recent one (a *snapshot*), but for a few reads that see some other version, older or newer: so near every level
there are histories on either side. Sessions, outcomes that were lost, deletes, ranges and lists come with it.
"""

from __future__ import annotations

import random
from typing import Any

from boomslang.trace import Trace
from support.histories import Absent, Op, Txn, append, delete, get, history, list_, put, scan, txn


def weak_history(
    rng: random.Random,
    transactions: int,
    *,
    keys: int = 4,
    sessions: int = 3,
    lag: int = 2,
    odd: float = 0.1,
    stray: float = 0.1,
    shuffled: float = 0.3,
    unknown: float = 0.1,
    lists: bool = False,
    session_less: bool = False,
) -> Trace:
    """`lag`: how old a snapshot may be; `stray`: the share of those that are of any time; `odd`: the share of reads
    that see something else; `shuffled`: how often sessions are told in another order than they ran."""
    names = [f"k{i:03}" for i in range(keys)]
    shelves = [f"l{i}" for i in range(2)] if lists else []
    given = rng.random() < 0.5
    start: dict[str, Any] = dict.fromkeys(names, 0) if given else {}
    if rng.random() < 0.1:
        start = {}
    deleted: set[str] = set()
    plans: list[dict[str, Any]] = []
    states = [dict(start)]
    rows: list[dict[str, tuple[int, ...]]] = [{}]
    versions: dict[str, list[tuple[int, Any]]] = {k: [(-1, start.get(k, Absent))] for k in names}
    value = 0
    for i in range(transactions):
        plan: dict[str, Any] = {}
        state, row = dict(states[-1]), dict(rows[-1])
        for key in rng.sample(names, min(keys, rng.choice((0, 1, 1, 2, 3)))):
            value += 1
            wipes = bool(start) and key not in deleted and rng.random() < 0.1
            plan[key] = Absent if wipes else value
            deleted |= {key} if wipes else set()
            versions[key].append((i, plan[key]))
            state[key] = plan[key]
        for shelf in shelves:
            if rng.random() < 0.4:
                value += 1
                plan[shelf] = value
                row[shelf] = (*row.get(shelf, ()), value)
        plans.append(plan)
        states.append({k: v for k, v in state.items() if v is not Absent})
        rows.append(row)
    made: list[Txn] = []
    for i, plan in enumerate(plans):
        at = max(0, i - rng.randint(0, lag)) if rng.random() >= stray else rng.randint(0, transactions)
        ops: list[Op] = []
        for key in rng.sample(names, min(keys, rng.choice((0, 1, 2, 2, 3, 4)))):
            seen = states[at].get(key, Absent)
            if rng.random() < odd:
                seen = rng.choice([v for w, v in versions[key] if w != i] or [seen])
            if key in plan and seen == plan[key]:
                continue
            ops.append(get(key, seen))
            if rng.random() < 0.1:
                ops.append(get(key, seen))
        for shelf in shelves:
            seen_row = rows[at].get(shelf, ())
            if rng.random() < 0.4 and plan.get(shelf) not in seen_row:
                ops.append(list_(shelf, seen_row))
        if rng.random() < 0.1:
            low, high = sorted(rng.sample(range(keys + 1), 2))
            covered = {k: states[at][k] for k in names[low:high] if k in states[at]}
            if not any(plan.get(k) == v for k, v in covered.items()):
                ops.append(scan(f"k{low:03}", f"k{high:03}", covered))
        rng.shuffle(ops)
        for key, v in plan.items():
            write = append(key, v) if key in shelves else delete(key) if v is Absent else put(key, v)
            ops.append(write)
        session = None if session_less else f"s{rng.randrange(sessions)}"
        made.append(txn(session, *ops, outcome="unknown" if rng.random() < unknown else "committed"))
    if rng.random() < shuffled:
        rng.shuffle(made)
    return history(*made, initial=start if start else None)

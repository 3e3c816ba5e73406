"""Traces of repeating values with a serial order that is far from what times and log suggest.

A serial database runs transactions that read small numbers and write others. Then some of the transactions get the
time (and the place in the log) of another moment: the trace is serializable still, by the order in which things
happened, but nothing in it says so. Sessions are drawn at random, or (`sessions_hold`) such that each keeps its order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from boomslang.trace import Absent, Trace
from boomslang.trace.builder import TraceBuilder


@dataclass(frozen=True)
class Walks:
    """What a trace is made of. The shares are of 1, in this order; what is left over reads a key and writes it."""

    transactions: int = 100
    keys: int = 3
    values: int = 5
    keys_each: int = 1
    displaced: float = 0.05
    detours: float = 0.0  # pairs of which the second undoes what the first did, both displaced
    blind: float = 0.0
    reads: float = 0.0
    deletes: float = 0.0
    unknown: float = 0.0
    cyclic: bool = False  # down by one, and at 0 up to the top: like a stock that is refilled
    initial: bool = True  # is the initial state known?
    times: bool = True
    sessions: int = 6
    sessions_hold: bool = False


def _there_and_back(rng: random.Random, mix: Walks, now: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    there = rng.randrange(mix.values)
    return (now, there), (there, now)


def walk(rng: random.Random, mix: Walks) -> Trace:
    state: dict[str, Any] = {f"k{i}": mix.values - 1 for i in range(mix.keys)}
    builder = TraceBuilder(initial=dict(state) if mix.initial else "unknown")
    elsewhere: set[int] = set()
    happened: list[tuple[list[tuple[str, str, Any]], str]] = []
    for _ in range(mix.transactions):
        ops: list[tuple[str, str, Any]] = []
        outcome = "unknown" if rng.random() < mix.unknown else "committed"
        happens = outcome == "committed" or rng.random() < 0.5
        for key in rng.sample(list(state), rng.randint(1, min(mix.keys_each, mix.keys))):
            old = state[key]
            new = rng.randrange(mix.values)
            if mix.cyclic and old is not Absent:
                new = old - 1 if old else mix.values - 1
            share = rng.random()
            if share < mix.deletes and old is not Absent:
                ops.append(("delete", key, True))
                new = Absent
            elif share < mix.deletes + mix.blind:
                ops.append(("put", key, new))
            elif share < mix.deletes + mix.blind + mix.reads:
                ops.append(("get", key, old))
                new = old
            else:
                ops += [("get", key, old), ("put", key, new)]
            if happens:
                state[key] = new
        happened.append((ops, outcome))
        if rng.random() < mix.detours and outcome == "committed":
            key = rng.choice(list(state))
            others = [
                (k, state[k]) for k in rng.sample(list(state), min(mix.keys_each, mix.keys) - 1) if k != key
            ]
            for old, new in _there_and_back(rng, mix, state[key]):
                detour = [("get", key, old), ("put", key, new), *(("get", k, v) for k, v in others)]
                elsewhere.add(len(happened))
                happened.append((detour, "committed"))
    moment = [float(i) for i in range(len(happened))]
    for i in range(len(moment)):
        if i in elsewhere or rng.random() < mix.displaced:
            moment[i] = rng.uniform(-1, len(moment))
    session = [f"s{rng.randrange(mix.sessions)}" for _ in moment]
    if mix.sessions_hold:
        session = [f"s{i % mix.sessions}" if moment[i] == i else f"alone{i}" for i in range(len(moment))]
    for place, i in enumerate(sorted(range(len(moment)), key=moment.__getitem__)):
        ops, outcome = happened[i]
        begin, end = (10 * place, 10 * place + 5) if mix.times else (None, None)
        with builder.transaction(session[i], outcome=outcome, begin=begin, end=end) as t:  # type: ignore[arg-type]
            for kind, key, value in ops:
                if kind == "get":
                    t.get(key, value)
                elif kind == "put":
                    t.put(key, value)
                else:
                    t.delete(key, value)
    return builder.build()


def even_inventory(rng: random.Random, orders: int, items: int = 3, *, uneven: bool = False) -> Trace:
    """Orders that take one from a stock, which is refilled to 5 at 0, and one lost update whose counts come out even.

    The stock of the item is at the end what the two had read: so one of them may have been the last order of all. If
    `uneven`, it is not, and no order explains both.
    """
    stock = {f"item{i}": 5 for i in range(items)}
    builder = TraceBuilder(initial=dict(stock))
    bought: list[tuple[str, int, int]] = []
    for _ in range(orders):
        key = rng.choice(list(stock))
        before, stock[key] = stock[key], stock[key] - 1 if stock[key] else 5
        bought.append((key, before, stock[key]))
    lost = next(i for i, (key, before, _) in enumerate(bought) if (before == stock[key]) != uneven)
    bought.insert(lost + 1, bought[lost])
    for i, (key, before, after) in enumerate(bought):
        with builder.transaction(f"s{rng.randrange(6)}", begin=10 * i, end=10 * i + 5) as t:
            t.get(key, before)
            t.put(key, after)
    return builder.build()

"""All the worlds that explain a small trace, by enumeration: the meaning of a module, spelled out.

A world is an order of the transactions that happened (those of unknown outcome may not have) and a writer for each
read. `worlds` tries them all, from the operations themselves and with none of Boomslang's code; a module's meaning is
then a predicate on worlds, and the trace is valid if some world satisfies it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations, permutations, product
from typing import Any

from boomslang import Absent, Trace, TraceBuilder

KEYS = ("x", "y")
START = -1


@dataclass
class Op:
    kind: str  # get put delete scan
    key: str = ""
    value: Any = None  # None: absent
    items: dict[str, Any] = field(default_factory=dict)
    ctx: dict[str, Any] | None = None


@dataclass
class Txn:
    session: str
    ops: list[Op]
    outcome: str = "committed"
    begin: int = 0
    end: int = 0
    ctx: dict[str, Any] | None = None


@dataclass(frozen=True)
class Read:
    txn: int
    op: int
    key: str
    seen: Any
    item: bool


@dataclass(frozen=True)
class World:
    place: dict[int, int]
    """Of each transaction that happened."""
    taken: dict[Read, int]
    writers: dict[str, list[int]]
    """Of each key, in order."""

    def age(self, writer: int) -> int:
        return -1 if writer == START else self.place[writer]


def random_txns(rng: random.Random, most: int = 4, values: tuple[Any, ...] = (1, 2, 3)) -> list[Txn]:
    """A few transactions that ran one after the other in some order, with some results changed."""
    txns = []
    state: dict[str, Any] = dict.fromkeys(KEYS)
    old = [dict(state)]
    for _ in range(rng.randint(2, most)):
        seen = dict(rng.choice(old) if rng.random() < 0.4 else state)
        ops: list[Op] = []
        for _ in range(rng.randint(1, 3)):
            key, kind = rng.choice(KEYS), rng.choice(["get", "get", "get", "put", "put", "delete", "scan"])
            if kind == "get":
                ops.append(Op("get", key, seen[key]))
            elif kind == "scan":
                ops.append(Op("scan", items={k: v for k, v in seen.items() if v is not None}))
            else:
                value = rng.choice(values) if kind == "put" else None
                ops.append(Op(kind, key, value))
                seen[key] = state[key] = value
        outcome = "unknown" if rng.random() < 0.15 else "committed"
        txns.append(Txn(rng.choice("AB"), ops, outcome))
        old.append(dict(state))
    rng.shuffle(txns)
    clock = dict.fromkeys("AB", 0)
    for t in txns:
        t.begin = clock[t.session] + rng.randint(0, 9)
        t.end = clock[t.session] = t.begin + rng.randint(1, 8)
    return txns


def build(txns: list[Txn]) -> Trace:
    builder = TraceBuilder()
    for i, t in enumerate(txns):
        outcome: Any = t.outcome
        with builder.transaction(
            t.session, name=f"t{i}", outcome=outcome, begin=t.begin, end=t.end, ctx=t.ctx
        ) as b:
            for op in t.ops:
                more: dict[str, Any] = {} if op.ctx is None else {"ctx": op.ctx}
                if op.kind == "get":
                    b.get(op.key, Absent if op.value is None else op.value, **more)
                elif op.kind == "put":
                    b.put(op.key, op.value, **more)
                elif op.kind == "delete":
                    b.delete(op.key, None, **more)
                else:
                    b.scan("a", "zz", list(op.items.items()), **more)
    return builder.build()


def final_writes(txn: Txn) -> dict[str, Any]:
    return {op.key: op.value for op in txn.ops if op.kind in ("put", "delete")}


def looked_at(op: Op) -> Iterator[tuple[str, Any, bool]]:
    """What an operation saw: key, value, is it an item read?"""
    if op.kind == "get":
        yield op.key, op.value, True
    if op.kind == "scan":
        for key in KEYS:
            yield key, op.items.get(key), key in op.items


def reads_of(txns: list[Txn], t: int) -> list[Read] | None:
    """What a transaction read from others; None if it contradicts its own writes."""
    own: dict[str, Any] = {}
    found = []
    for i, op in enumerate(txns[t].ops):
        for key, seen, item in looked_at(op):
            if key not in own:
                found.append(Read(t, i, key, seen, item))
            elif own[key] != seen:
                return None
        if op.kind in ("put", "delete"):
            own[op.key] = op.value
    return found


Reads = Callable[[list[Txn], int], "list[Read] | None"]


def worlds(txns: list[Txn], last: Callable[[Read], bool], reads: Reads = reads_of) -> Iterator[World]:
    """All worlds; `last`: must this read see the last writer before it? (Else: any before it.)"""
    seen = [reads(txns, t) for t in range(len(txns))]
    certain = [t for t, txn in enumerate(txns) if txn.outcome == "committed"]
    if any(seen[t] is None for t in certain):
        return
    maybe = [t for t, txn in enumerate(txns) if txn.outcome == "unknown" and seen[t] is not None]
    writes = [final_writes(txn) for txn in txns]
    for more in chain.from_iterable(combinations(maybe, n) for n in range(len(maybe) + 1)):
        for order in permutations([*certain, *more]):
            place = {t: i for i, t in enumerate(order)}
            writers = {key: [t for t in order if key in writes[t]] for key in KEYS}
            mine = [r for t in order for r in seen[t] or ()]
            options = []
            for r in mine:
                before = [w for w in writers[r.key] if place[w] < place[r.txn]]
                before = (before[-1:] or [START]) if last(r) else [START, *before]
                options.append([w for w in before if (None if w == START else writes[w][r.key]) == r.seen])
            for choice in product(*options):
                yield World(place, dict(zip(mine, choice, strict=True)), writers)


def valid(txns: list[Txn], level: str, means: Callable[[World], bool], reads: Reads = reads_of) -> bool:
    """Is there a world at this level in which the module's meaning holds?"""
    last = {"ser": lambda r: True, "rr": lambda r: r.item, "rc": lambda r: False}[level]
    return any(means(world) for world in worlds(txns, last, reads))

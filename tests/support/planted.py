"""One anomaly in a long and otherwise flawless history, on keys that everybody uses.

The history is serial: random transactions, each reading and writing the state as it is, so that nothing is wrong
with it at any level. In its middle stands a script of a few transactions that cannot be explained; their keys were
read and written by others before and are again afterwards. What is planted is known, so is the smallest core: how
many transactions cannot be left out, and how many there are with those whose writes were read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from boomslang.trace import Trace, TraceBuilder
from support.histories import Op, Txn, _add, append, get, list_, put, scan, txn

X, Y = "k0", "k1"
OLD, NEW, OTHER = "old", "new", "other"


@dataclass(frozen=True, eq=False)
class Plant:
    """What is planted, the levels that it breaks, and its smallest core."""

    name: str
    levels: tuple[str, ...]
    script: tuple[Txn, ...]
    after: dict[str, str]
    """What the script leaves, where later transactions look."""
    core: int
    """Transactions of the smallest core."""
    shown: int
    """These, and those that its reads saw."""
    anomaly: str
    in_a_row: bool = False
    """Is it about who came first, by session and clock? Else all of the script overlaps, in sessions of their own."""


W = txn("w", put(X, OLD), put(Y, OLD))
SER = ("ser", "strong-session-ser", "sser")
SI = ("si", "strong-session-si", *SER)
INTERLEAVED = (
    txn("a", append("l", 1), append("m", 1)),
    txn("b", append("l", 2), append("m", 2)),
    txn("c", list_("l", [1, 2]), list_("m", [2, 1])),
)

PLANTS = (
    Plant(
        "lost update", ("cs", "pl-2+", "rr", *SI),
        (W, txn("a", get(X, OLD), put(X, NEW)), txn("b", get(X, OLD), put(X, OTHER))),
        {X: OTHER, Y: OLD}, 2, 3, "lost update",
    ),
    Plant(
        "write skew", ("rr", *SER),
        (W, txn("a", get(X, OLD), get(Y, OLD), put(X, NEW)), txn("b", get(X, OLD), get(Y, OLD), put(Y, NEW))),
        {X: NEW, Y: NEW}, 2, 3, "write skew",
    ),
    Plant(
        "read skew", ("pl-2+", "rr", "prefix", *SI),
        (W, txn("a", get(X, OLD), put(X, NEW), put(Y, NEW)), txn("b", get(X, OLD), get(Y, NEW))),
        {X: NEW, Y: NEW}, 1, 3, "read skew",
    ),
    Plant(
        "fractured read", ("ra", "causal"),
        (W, txn("a", get(X, OLD), put(X, NEW), put(Y, NEW)), txn("b", get(X, OLD), get(Y, NEW))),
        {X: NEW, Y: NEW}, 1, 3, "fractured read",
    ),
    Plant(
        "non-repeatable read", ("ra", "causal", "rr", "prefix", *SI),
        (W, txn("a", get(X, OLD), put(X, NEW)), txn("b", get(X, OLD), get(X, NEW))),
        {X: NEW, Y: OLD}, 1, 3, "non-repeatable read",
    ),
    Plant(
        "long fork", ("prefix", *SI),
        (
            W, txn("a", get(X, OLD), put(X, NEW)), txn("b", get(Y, OLD), put(Y, NEW)),
            txn("c", get(X, NEW), get(Y, OLD)), txn("d", get(X, OLD), get(Y, NEW)),
        ),
        {X: NEW, Y: NEW}, 2, 5, "long fork",
    ),
    Plant(
        "an answer without its question", ("causal",),
        (W, txn("a", get(X, OLD), put(X, NEW)), txn("b", get(X, NEW), put(Y, NEW)), txn("c", get(Y, NEW), get(X, OLD))),
        {X: NEW, Y: NEW}, 3, 4, "causality violation",
    ),
    Plant(
        "circular information flow", ("rc", "ra", *SI),
        (txn("a", put(X, NEW), get(Y, OTHER)), txn("b", get(X, NEW), put(Y, OTHER))),
        {X: NEW, Y: OTHER}, 2, 2, "circular information flow",
    ),
    Plant(
        "phantom", ("ra", *SI),
        (txn("a", put("z", NEW)), txn("b", scan("z", "z~", {}), scan("z", "z~", {"z": NEW}))),
        {}, 1, 2, "phantom",
    ),
    Plant(
        "phantom write skew", ("ser",),
        (txn("a", scan("y", "y~", {}), put("z1", NEW)), txn("b", scan("z", "z~", {}), put("y1", NEW))),
        {}, 2, 2, "phantom write skew",
    ),
    Plant("dirty write", ("ru",), INTERLEAVED, {}, 3, 3, "dirty write"),
    Plant("dirty write, by its reader", ("rc", *SI), INTERLEAVED, {}, 1, 3, "dirty write"),
    Plant(
        "aborted read", ("rc", *SI), (txn("a", put(X, NEW), outcome="aborted"), txn("b", get(X, NEW))),
        {}, 2, 2, "aborted read",
    ),
    Plant(
        "intermediate read", ("rc", *SI), (txn("a", put(X, NEW), put(X, OTHER)), txn("b", get(X, NEW))),
        {X: OTHER}, 1, 2, "intermediate read",
    ),
    Plant("thin air", ("rc", *SI), (txn("a", get(X, NEW)),), {}, 1, 1, "read from nowhere"),
    Plant(
        "own write not seen", ("rc", *SI), (W, txn("a", put(X, NEW), get(X, OLD))),
        {X: NEW, Y: OLD}, 1, 1, "own write not seen",
    ),
    Plant(
        "stale read", ("sser", "strong-si", "pl-fcv"),
        (W, txn("a", get(X, OLD), put(X, NEW)), txn("b", get(X, OLD))),
        {X: NEW, Y: OLD}, 2, 3, "stale read", True,
    ),
    Plant(
        "one's own past forgotten", ("strong-session-ra", "strong-session-ser", "strong-session-si"),
        (W, txn("a", get(X, OLD), put(X, NEW)), txn("a", get(X, OLD))),
        {X: NEW, Y: OLD}, 2, 3, "session order broken", True,
    ),
)  # fmt: skip


def plant(what: Plant, transactions: int, seed: int = 1) -> Trace:
    """A history of about so many transactions with the script in its middle."""
    rng = random.Random(f"{what.name}/{transactions}/{seed}")
    names = [f"k{i}" for i in range(max(20, transactions // 20))]
    state: dict[str, object] = {}
    builder = TraceBuilder()
    for i in range(transactions):
        moment = 10 * i
        if i == transactions // 2:
            for n, role in enumerate(what.script):
                alike = sum(role.session == other.session for other in what.script) > 1
                session = f"p-{role.session}" if alike else f"p{n}"
                begin, end = (moment + n, moment + n) if what.in_a_row else (moment, moment + 9)
                _add(builder, Txn(session, role.ops, role.outcome, begin, end))
            state.update(what.after)
        if i >= transactions // 2:
            moment += 10
        hot = (X, Y) if rng.random() < 0.02 else ()
        ops = _ordinary(rng, (*hot, *rng.choices(names, k=4)), state, i)
        _add(builder, Txn(f"s{i % 24}", tuple(ops), begin=moment, end=moment + 5))
    return builder.build()


def _ordinary(rng: random.Random, keys: tuple[str, ...], state: dict[str, object], i: int) -> list[Op]:
    """A transaction that sees what is there, and leaves something new."""
    ops: list[Op] = []
    for n, key in enumerate(dict.fromkeys(keys)):
        if key in state and rng.random() < 0.6:
            ops.append(get(key, state[key]))
        if rng.random() < 0.5:
            state[key] = f"{i}.{n}"
            ops.append(put(key, state[key]))
    return ops

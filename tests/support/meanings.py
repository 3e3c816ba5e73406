"""What shipped modules mean, as predicates on worlds (worlds.py), and hints for them to read.

Written from the modules' descriptions and with none of their code: test_modules_shipped.py and fuzz.py compare the two.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from support.worlds import START, Op, Read, Txn, World, looked_at, reads_of, valid

Meaning = Callable[[list[Txn], World], bool]
Change = Callable[[random.Random, list[Txn]], None]


def before_in_session(txns: list[Txn], a: int, b: int) -> bool:
    """Did a commit before b in its session?"""
    return a < b and txns[a].session == txns[b].session and txns[a].outcome == "committed"


def session_order(txns: list[Txn], w: World) -> bool:
    return all(w.place[a] < w.place[b] for a in w.place for b in w.place if before_in_session(txns, a, b))


def returned(txns: list[Txn], a: int, moment: int) -> bool:
    return txns[a].outcome == "committed" and txns[a].end < moment


def real_time_order(txns: list[Txn], w: World) -> bool:
    return all(w.place[a] < w.place[b] for a in w.place for b in w.place if returned(txns, a, txns[b].begin))


def monotonic_reads(txns: list[Txn], w: World) -> bool:
    for one in w.taken:
        for two in w.taken:
            same = one.txn == two.txn and one.op < two.op and txns[one.txn].outcome == "committed"
            later = one.key == two.key and (same or before_in_session(txns, one.txn, two.txn))
            if later and w.age(w.taken[one]) > w.age(w.taken[two]):
                return False
    return True


def monotonic_writes(txns: list[Txn], w: World) -> bool:
    return all(
        w.place[a] < w.place[b]
        for writers in w.writers.values()
        for a in writers
        for b in writers
        if before_in_session(txns, a, b)
    )


def marked(txns: list[Txn], hint: str) -> Callable[[Read], bool]:
    """Does this read count? Those that carry the hint; all, if none does."""
    carry = {(t, i) for t, txn in enumerate(txns) for i, op in enumerate(txn.ops) if (op.ctx or {}).get(hint)}
    return lambda read: not carry or (read.txn, read.op) in carry


def fresh(txns: list[Txn], w: World, slack: int, counts: Callable[[Read], bool] = lambda read: True) -> bool:
    return all(
        w.age(taken) >= w.place[p]
        for read, taken in w.taken.items()
        if counts(read)
        for p in w.writers[read.key]
        if p != read.txn and returned(txns, p, txns[read.txn].begin - slack)
    )


def read_modify_writes(txns: list[Txn], w: World) -> bool:
    counts = marked(txns, "cursor")
    for read, taken in w.taken.items():
        writers = w.writers[read.key]
        if read.item and read.txn in writers and counts(read):
            i = writers.index(read.txn)
            if (writers[i - 1] if i else START) != taken:
                return False
    return True


def place_of(value: Any) -> tuple[float, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def committed_at(txn: Txn) -> Any:
    """The commit timestamp, by either of its names; None if there is none."""
    ctx = txn.ctx or {}
    return ctx.get("cts", ctx.get("commit"))


def timestamps(txns: list[Txn], w: World) -> bool:
    at = {t: place_of(when) for t in w.place if (when := committed_at(txns[t])) is not None}
    return all(w.place[a] < w.place[b] for a in at for b in at if at[a] < at[b])


def version_order(txns: list[Txn], w: World) -> bool:
    for key, writers in w.writers.items():
        told: dict[str, dict[int, Any]] = {"version": {}, "cdc": {}, "commit": {}}
        for t in writers:
            final = [op for op in txns[t].ops if op.key == key and op.kind in ("put", "delete")][-1]
            ctx = txns[t].ctx or {}
            older = int(ctx.get("overwrites", f"t{t}").removeprefix("t"))
            if older != t and older in writers and w.place[older] > w.place[t]:
                return False
            said = {
                "version": (final.ctx or {}).get("version"),
                "cdc": ctx.get("cdc"),
                "commit": committed_at(txns[t]),
            }
            for scale, place in said.items():
                if place is not None:
                    told[scale][t] = place_of(place)
        for places in told.values():
            if any(w.place[a] > w.place[b] for a in places for b in places if places[a] < places[b]):
                return False
    return True


def version_sets(txns: list[Txn], w: World) -> bool:
    named = {key for t in txns for op in t.ops for key in (op.key, *op.items)}  # others are not in the trace
    for read, taken in w.taken.items():
        for key, name in (txns[read.txn].ops[read.op].ctx or {}).get("versions", []):
            if key == read.key and key in named and name != (None if taken == START else f"t{taken}"):
                return False
    return True


def tell(what: Txn | Op, **hints: Any) -> None:
    """More hints, beside those that are there."""
    what.ctx = {**(what.ctx or {}), **hints}


def with_timestamps(rng: random.Random, txns: list[Txn]) -> None:
    for t in txns:
        if rng.random() < 0.7:
            tell(t, cts=rng.randint(0, 4))


def with_versions(rng: random.Random, txns: list[Txn]) -> None:
    for t in txns:
        if rng.random() < 0.4:
            tell(t, **{rng.choice(("cdc", "commit")): rng.choice((1, 2, [1, 5], [2, 0]))})
        if rng.random() < 0.2:
            tell(t, overwrites=f"t{rng.randrange(len(txns))}")
        for op in t.ops:
            if op.kind in ("put", "delete") and rng.random() < 0.7:
                tell(op, version=rng.randint(0, 4))


def with_marks(hint: str) -> Change:
    def change(rng: random.Random, txns: list[Txn]) -> None:
        share = rng.choice((0.0, 0.5))
        for op in (op for t in txns for op in t.ops if op.kind in ("get", "scan")):
            if rng.random() < share:
                tell(op, **{hint: rng.random() < 0.8})

    return change


def with_version_sets(rng: random.Random, txns: list[Txn]) -> None:
    for t in txns:
        for op in t.ops:
            if op.kind in ("get", "scan") and rng.random() < 0.4:
                keys = [key for key, _, _ in looked_at(op)]
                who = [None, *(f"t{i}" for i in range(len(txns)))]
                tell(op, versions=[[key, rng.choice(who)] for key in keys])


def unchanged(rng: random.Random, txns: list[Txn]) -> None:
    pass


CASES: dict[str, tuple[Meaning, Change]] = {
    "session-order": (session_order, unchanged),
    "real-time-order": (real_time_order, unchanged),
    "monotonic-reads": (monotonic_reads, unchanged),
    "monotonic-writes": (monotonic_writes, unchanged),
    "bounded-staleness:time=5": (lambda txns, w: fresh(txns, w, 5), unchanged),
    "read-latest": (lambda txns, w: fresh(txns, w, 0, marked(txns, "latest")), with_marks("latest")),
    "read-modify-writes": (read_modify_writes, with_marks("cursor")),
    "commit-timestamps": (timestamps, with_timestamps),
    "version-order": (version_order, with_versions),
    "version-sets": (version_sets, with_version_sets),
}
"""Modules that say which of the level's worlds they accept."""


def accepted(modules: Iterable[str], txns: list[Txn], level: str) -> bool:
    """Is there a world at the level that all of these accept?"""
    return valid(txns, level, lambda w: all(CASES[module][0](txns, w) for module in modules))


# --- modules that change what a world is


def with_policy(policy: str) -> Callable[[list[Txn], str], bool]:
    """`external` is a read before the write; `either` is that, or no read at all where the own value was seen."""

    def reads(txns: list[Txn], t: int) -> list[Read]:
        own: dict[str, Any] = {}
        kept = []
        for i, op in enumerate(txns[t].ops):
            for key, seen, item in looked_at(op):
                if policy == "external" or key not in own or own[key] != seen:
                    kept.append(Read(t, i, key, seen, item))
            if op.kind in ("put", "delete"):
                own[op.key] = op.value
        return kept

    return lambda txns, level: valid(txns, level, lambda w: True, reads)


def shaken(rng: random.Random, txns: list[Txn]) -> None:
    """Some reads return something else."""
    for t in txns:
        for op in t.ops:
            if op.kind == "get" and rng.random() < 0.4:
                op.value = rng.choice((None, 1, 2, 3))


LEVEL_OF = {"PL-1": 0, "PL-2": 1, "PL-2.99": 2, "PL-3": 3}


def with_levels(rng: random.Random, txns: list[Txn]) -> None:
    shaken(rng, txns)
    for t in txns:
        if rng.random() < 0.8:
            t.ctx = {"level": rng.choice(list(LEVEL_OF))}


def mixed(txns: list[Txn], asked: str) -> bool:
    """The mixing graph: what a PL-1 transaction read does not matter, and who is at PL-2 may miss writes."""
    default = {"ser": 3, "rr": 2, "rc": 1}[asked]
    level = [LEVEL_OF[t.ctx["level"]] if t.ctx else default for t in txns]

    def reads(txns: list[Txn], t: int) -> list[Read] | None:
        return reads_of(txns, t) if level[t] else []

    def strong(w: World) -> bool:
        for read, taken in w.taken.items():
            if level[read.txn] >= (2 if read.item else 3):
                before = [p for p in w.writers[read.key] if w.place[p] < w.place[read.txn]]
                if taken != (before[-1] if before else START):
                    return False
        return True

    return valid(txns, "rc", strong, reads)


def with_locks(rng: random.Random, txns: list[Txn]) -> None:
    """Some reads lock; only reads of what others wrote are left, and all committed."""
    shaken(rng, txns)
    for t in txns:
        t.outcome = "committed"
        written: set[str] = set()
        kept = []
        for op in t.ops:
            if op.kind in ("put", "delete"):
                written.add(op.key)
            elif written & {k for k, _, _ in looked_at(op)}:
                continue
            elif rng.random() < 0.5:
                op.ctx = {"lock": "update"}
            kept.append(op)
        t.ops = kept


def views(txns: list[Txn]) -> tuple[list[Txn], list[tuple[int, int]]]:
    """The parts of transactions as transactions, and what follows what."""
    parts: list[Txn] = []
    after = []
    for t in txns:
        snapshot: list[Op] | None = None
        mine: list[list[Op]] = []
        for op in t.ops:
            if op.kind in ("put", "delete"):
                continue
            if op.ctx:
                mine.append([op])
            elif snapshot is None:
                mine.append(snapshot := [op])
            else:
                snapshot.append(op)
        mine.append([op for op in t.ops if op.kind in ("put", "delete")])
        first = len(parts)
        parts += [Txn(t.session, ops) for ops in mine]
        after += [(i, i + 1) for i in range(first, len(parts) - 1)]
    return parts, after


MOST_PARTS = 6


def in_views(txns: list[Txn], level: str) -> bool | None:
    parts, after = views(txns)
    if len(parts) > MOST_PARTS:
        return None
    return valid(parts, level, lambda w: all(w.place[a] < w.place[b] for a, b in after))


def with_markers(rng: random.Random, txns: list[Txn]) -> None:
    """Deletions are values that say so, and reads return them or nothing."""
    for t in txns:
        for op in t.ops:
            if op.kind == "delete":
                op.kind, op.value = "put", f"tombstone {rng.randint(1, 2)}"
            elif op.kind == "get" and op.value is None and rng.random() < 0.4:
                op.value = f"tombstone {rng.randint(1, 2)}"
            elif op.kind == "scan" and rng.random() < 0.4:
                for key in {"x", "y"} - set(op.items):
                    op.items[key] = f"tombstone {rng.randint(1, 2)}"


def is_marker(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("tombstone")


def buried(txns: list[Txn], level: str) -> bool:
    """A marker is a deletion; a read that returned one tells whose, a read that returned nothing does not."""

    def dead(value: Any) -> Any:
        return None if is_marker(value) else value

    plain = [
        Txn(
            t.session,
            [
                Op(
                    "delete" if op.kind == "put" and is_marker(op.value) else op.kind,
                    op.key,
                    dead(op.value),
                    {key: value for key, value in op.items.items() if not is_marker(value)},
                )
                for op in t.ops
            ],
            t.outcome,
        )
        for t in txns
    ]

    def reads(plain: list[Txn], t: int) -> list[Read] | None:
        own: dict[str, Any] = {}
        for op in txns[t].ops:
            for key, seen, _ in looked_at(op):
                if is_marker(seen) and own.get(key, seen) != seen:
                    return None
            if op.kind == "put":
                own[op.key] = op.value
        return reads_of(plain, t)

    def who(w: World) -> bool:
        for read, taken in w.taken.items():
            op = txns[read.txn].ops[read.op]
            told = op.value if op.kind == "get" else op.items.get(read.key)
            left = [o.value for o in txns[taken].ops if o.kind == "put" and o.key == read.key]
            if is_marker(told) and (taken == START or left[-1] != told):
                return False
        return True

    return valid(plain, level, who, reads)


PREPARED: dict[str, tuple[Change, Callable[[list[Txn], str], bool | None]]] = {
    "read-own-writes:policy=external": (shaken, with_policy("external")),
    "read-own-writes:policy=either": (shaken, with_policy("either")),
    "mixed-isolation": (with_levels, mixed),
    "mariadb-repeatable-read": (with_locks, in_views),
    "tombstones": (with_markers, buried),
}
"""Modules that change what a world is: hints for them, and whether there is a world at a level. None: too many."""

"""Small random traces with every operation, drawn by simulating a little database.

Traces of random results are nearly always invalid at every level, and teach nothing. So a handful of
sessions run against a simulated store, which gives every trace a level it should satisfy:

    serial      one transaction after the other, as they end
    reordered   ... in some other order
    phantom     ... and scans miss keys that are new
    snapshot    reads from the state at begin, the first committer of a key wins
    stale       ... from an older state
    committed   reads the newest committed state, operation by operation
    loose       reads of each key any state that was ever committed
    wild        answers anything

Then, sometimes, an anomaly is planted: one result or outcome is changed to another plausible one. Values are
few, so that most reads have several candidate writers; outcomes may be lost; deletes may or may not tell
what they found. Some keys may hold lists, to which transactions append.

`generate(random.Random(seed))` makes one trace fast; `traces()` is the Hypothesis strategy over it, which
shrinks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hypothesis import strategies as st

from boomslang.trace import Absent as ABSENT
from boomslang.trace import Trace, Unbounded
from support import histories

Store = Literal["serial", "reordered", "phantom", "snapshot", "stale", "committed", "loose", "wild"]
STORES: tuple[Store, ...] = get_args(Store)
ALONE = ("serial", "reordered", "phantom")  # one transaction at a time
OUTCOMES = ("committed", "aborted", "unknown")


VALUES: dict[str, list[Any]] = {
    "unique": list(range(1, 100)),
    "two": ["u", "v"],
    "three": [1, 2, 3],
    "alike": [1, 1.0, True, None],  # equal in Python, but not here
}


@dataclass(frozen=True)
class Mix:
    """What the traces are made of. The defaults give every level a good share of valid and invalid ones."""

    stores: tuple[Store, ...] = (
        "reordered", "phantom", "phantom", "snapshot", "snapshot",
        "stale", "committed", "loose", "loose", "wild",
    )  # fmt: skip
    transactions: tuple[int, int] = (2, 6)
    sessions: tuple[int, int] = (1, 4)
    values: tuple[str, ...] = ("unique", "unique", "two", "three", "alike")
    keys: tuple[int, int] = (1, 4)
    operations: tuple[int, int] = (1, 5)  # of one transaction; an iterator and its steps count as one
    ranges: bool = True  # scans and iterators
    deletes: bool = True
    lists: float = 0.0  # the share of keys that hold lists; not together with ranges
    errors: bool = True  # operations that failed
    unknown: bool = True  # transactions without a known end
    initial: tuple[str, ...] = ("empty", "empty", "given", "given", "unknown")
    times: tuple[str, ...] = ("none", "one clock", "one clock", "two clocks")
    planted: tuple[int, ...] = (0, 0, 1, 1, 2)  # how many anomalies


DEFAULT = Mix()


@st.composite
def traces(draw: st.DrawFn, mix: Mix = DEFAULT) -> Trace:
    """Small traces, mostly plausible ones.

    The simulation hangs on one number, which says nothing to a shrinker. What it can do is drop things: each
    transaction and each operation hangs on a number of its own, and goes if that is 0.
    """
    kept = st.integers(0, 1000)
    world = _world(random.Random(draw(st.integers(0, 2**32 - 1))), mix)
    if not draw(kept):
        world.clocks = "none"
    for txn in world.txns:
        txn.ops = [op for op in txn.ops if draw(kept)]
        opened = {op.cursor for op in txn.ops if op.kind == "iterator"}
        txn.ops = [op for op in txn.ops if op.kind != "next" or op.cursor in opened]
    world.txns = [txn for txn in world.txns if draw(kept)]
    return _build(world)


def generate(rng: random.Random, mix: Mix = DEFAULT) -> Trace:
    """One small trace, quickly."""
    return _build(_world(rng, mix))


def _world(rng: random.Random, mix: Mix) -> World:
    world = _simulate(rng, mix)
    for _ in range(rng.choice(mix.planted)):
        _plant(rng, world)
    return world


# --- what is simulated --------------------------------------------------------------------------------


@dataclass
class Op:
    """kind: put get delete append list scan iterator next. A list's result is a tuple, a scan's {key: value}, a
    next's (key, value) or None (the end), a delete's True (found), False (nothing) or None (not told)."""

    kind: str
    key: int = 0
    value: Any = None
    result: Any = None
    low: int | None = None
    high: int | None = None
    start: int = 0  # the keys covered are start .. stop - 1
    stop: int = 0
    cursor: int = 0
    failed: bool = False


@dataclass
class Txn:
    session: int
    plan: list[Op]
    outcome: str = "committed"
    happened: bool = True  # what an unknown one really did
    began: int = 0
    ended: int = 0
    lost: bool = False  # a commit was sent, and its answer lost
    base: int = 0  # how many commits its snapshot holds
    ops: list[Op] = field(default_factory=list)


@dataclass
class World:
    keys: list[Any]
    initial: str
    before: dict[int, Any]
    clocks: str
    txns: list[Txn]  # in order of begin


LIST_KINDS = {"get": "list", "put": "append", "delete": "append"}
"""What an operation on a register is on a list."""


def _simulate(rng: random.Random, mix: Mix) -> World:
    n_keys = max(rng.randint(*mix.keys), rng.randint(*mix.keys))
    keys = list(rng.choice(["abcd", [1, 2, 10, 20], ["k", "k1", "k10", "k2"], [1, 2, "a", "b"]]))[:n_keys]
    values = VALUES[rng.choice(mix.values)]
    fresh = iter(values) if values is VALUES["unique"] else None

    def value() -> Any:
        return next(fresh) if fresh else rng.choice(values)

    initial = rng.choice(mix.initial)
    lists = {k for k in range(n_keys) if mix.lists and rng.random() < mix.lists}
    if lists:
        initial = "empty" if initial == "unknown" else initial
    before = {} if initial == "empty" else {k: value() for k in range(n_keys) if rng.random() < 0.6}
    before = {k: v for k, v in before.items() if k not in lists}
    elements = iter(range(1, 1000))
    sessions = max(rng.randint(*mix.sessions), rng.randint(*mix.sessions))
    store = rng.choice(mix.stores)
    todo: list[list[Txn]] = [[] for _ in range(sessions)]
    for i, shape in enumerate(_shapes(rng, mix, n_keys)):
        session = rng.choice([i % sessions, rng.randrange(sessions)])
        shape = [(LIST_KINDS.get(kind, kind) if key in lists else kind, key) for kind, key in shape]
        txn = _transaction(rng, mix, session, keys, shape, value)
        for op in txn.plan:
            op.value = next(elements) if op.kind == "append" else op.value
        todo[session].append(txn)
    world = World(keys, initial, before, rng.choice(mix.times), [])
    _run(rng, world, todo, store, values)
    return world


def _transaction(
    rng: random.Random, mix: Mix, session: int, keys: list[Any], shape: list[tuple[str, int]], value: Any
) -> Txn:
    n_keys = len(keys)
    plan: list[Op] = []
    cursors = 0
    for kind, key in shape:
        op = Op(kind, key)
        if op.kind == "put":
            op.value = value()
        elif op.kind == "delete":
            op.value = rng.random() < 0.6  # does it tell what it found?
        elif op.kind in ("scan", "iterator"):
            _choose_range(rng, op, keys)
        op.failed = mix.errors and rng.random() < 0.03
        if op.kind == "iterator":
            op.failed = False
            op.cursor, cursors = cursors, cursors + 1
        plan.append(op)
        if op.kind == "iterator":
            plan += [Op("next", cursor=op.cursor) for _ in range(rng.randint(1, n_keys + 1))]
    if cursors and rng.random() < 0.3:  # writes between an iterator's steps
        plan.insert(rng.randint(0, len(plan)), Op("put", key=rng.randrange(n_keys), value=value()))
    outcome = rng.choice(["committed"] * 12 + ["aborted"] + ["unknown"] * 2 * mix.unknown)
    happened = outcome == "committed" or (outcome == "unknown" and rng.random() < 0.6)
    return Txn(session, plan, outcome, happened, lost=rng.random() < 0.5)


def _shapes(rng: random.Random, mix: Mix, n_keys: int) -> list[list[tuple[str, int]]]:
    """What each transaction does, to which key: random heaps of operations and, since most anomalies need
    transactions that look at just what others write, often some of the usual suspects."""
    kinds = ["get"] * 5 + ["put"] * 4 + ["delete"] * mix.deletes + ["scan", "iterator"] * mix.ranges
    count = max(rng.randint(*mix.transactions), rng.randint(*mix.transactions))
    shapes = [
        [(rng.choice(kinds), rng.randrange(n_keys)) for _ in range(rng.randint(*mix.operations))]
        for _ in range(count)
    ]
    a, b = rng.sample(range(n_keys), 2) if n_keys > 1 else (0, 0)
    look = rng.choice(["get", "get", "scan", "iterator"]) if mix.ranges else "get"
    away = rng.choice(["put", "put", "delete"]) if mix.deletes else "put"
    suspects: list[list[tuple[str, int]]] = rng.choice(
        [
            [],
            [[("get", a), ("put", a)], [("get", a), (away, a)]],
            [[(look, a), ("put", b)], [(look, b), (away, a)]],
            [[(look, a), (look, b), ("put", a)], [("get", a), ("get", b), ("put", b)]],
            [[("put", a)], [(away, b)], [("get", a), (look, b)], [("get", b), (look, a)]],
            [[("put", a), (away, b)], [(look, a), (look, b)]],
            [[("get", a), ("put", a), ("get", b), ("put", b)], [(look, a), ("get", b)]],
        ]
    )
    shapes[: len(suspects)] = suspects[:count]
    return rng.sample(shapes, count)


def _choose_range(rng: random.Random, op: Op, keys: list[Any]) -> None:
    """Keys order within their type: a bound limits the range to the keys of its type."""
    alike = [k for k, key in enumerate(keys) if type(key) is type(keys[op.key])]
    op.low, op.high = sorted([rng.choice(alike), rng.choice(alike)])
    op.start, op.stop = op.low, op.high
    drop = rng.choice(["low", "high", "both", "none"])
    if drop == "both":
        op.low, op.high, op.start, op.stop = None, None, 0, len(keys)
    elif drop == "low":
        op.low, op.start = None, alike[0]
    elif drop == "high":
        op.high, op.stop = None, alike[-1] + 1


def _run(rng: random.Random, world: World, todo: list[list[Txn]], store: Store, values: list[Any]) -> None:
    history = [dict(world.before)]  # the state after each commit
    wrote: list[set[int]] = [set()]  # and the keys that commit wrote
    running: dict[int, _Running] = {}
    now = 0
    crowded = rng.random() < 0.6  # whoever can begin does
    while running or any(todo):
        waiting = [s for s, left in enumerate(todo) if left and s not in running]
        session = rng.choice(waiting if crowded and waiting else [*waiting, *running])
        now += rng.choice([0, 1, 1])
        if session not in running:
            txn = todo[session].pop(0)
            txn.began, txn.base = now, len(history) - 1
            if store == "stale":
                txn.base = rng.randint(0, txn.base)
            world.txns.append(txn)
            running[session] = _Running(txn)
            continue
        run = running[session]
        if run.txn.plan and store not in ALONE:
            state = history[-1] if store == "committed" else history[run.txn.base]
            if store == "loose":
                picked = {k: rng.choice(history).get(k, ABSENT) for k in range(len(world.keys))}
                state = {k: v for k, v in picked.items() if v is not ABSENT}
            run.step(rng, run.txn.plan.pop(0), state)
            if store == "wild":
                _scramble(rng, run.txn.ops, values)
            continue
        run.txn.ended = now
        del running[session]
        txn = run.txn
        if store in ALONE:
            if store == "serial":
                _alone(rng, txn, run, history)
            continue
        written = {*run.own, *run.appended}
        if store in ("snapshot", "stale") and any(written & keys for keys in wrote[txn.base + 1 :]):
            txn.happened = False  # the first committer wins
            txn.outcome = "unknown" if txn.outcome == "unknown" else "aborted"
        if txn.happened:
            _commit(history, run)
            wrote.append(written)
    if store in ("reordered", "phantom"):
        for txn in rng.sample(world.txns, len(world.txns)):
            _alone(rng, txn, _Running(txn), history, store == "phantom")


def _alone(
    rng: random.Random, txn: Txn, run: _Running, history: list[dict[int, Any]], phantoms: bool = False
) -> None:
    while txn.plan:
        op, state = txn.plan.pop(0), history[-1]
        if phantoms and op.kind in ("scan", "next"):
            old = rng.choice(history)
            state = {k: v for k, v in state.items() if k in old}
        run.step(rng, op, state)
    if txn.happened:
        _commit(history, run)


def _commit(history: list[dict[int, Any]], run: _Running) -> None:
    state = history[-1] | run.own
    state |= {k: state.get(k, ()) + tuple(added) for k, added in run.appended.items()}
    history.append({k: v for k, v in state.items() if v is not ABSENT})


class _Running:
    """A transaction in progress: its own writes, its open iterators."""

    def __init__(self, txn: Txn) -> None:
        self.txn = txn
        self.own: dict[int, Any] = {}
        self.appended: dict[int, list[Any]] = {}
        self.cursors: dict[int, list[Any]] = {}  # -> [next key, bound, own writes it sees (None: all), ended]

    def step(self, rng: random.Random, op: Op, state: dict[int, Any]) -> None:
        view = {k: v for k, v in (state | self.own).items() if v is not ABSENT}
        if op.failed:
            pass
        elif op.kind == "put":
            self.own[op.key] = op.value
        elif op.kind == "append":
            self.appended.setdefault(op.key, []).append(op.value)
        elif op.kind == "list":
            op.result = (*view.get(op.key, ()), *self.appended.get(op.key, ()))
        elif op.kind == "get":
            op.result = view.get(op.key, ABSENT)
        elif op.kind == "delete":
            found = op.key in view
            op.result = found if op.value else None
            if found or not op.value:
                self.own[op.key] = ABSENT
        elif op.kind == "scan":
            op.result = {k: view[k] for k in range(op.start, op.stop) if k in view}
        elif op.kind == "iterator":
            frozen = dict(self.own) if rng.random() < 0.5 else None
            self.cursors[op.cursor] = [op.start, op.stop, frozen, False]
        elif op.kind == "next":
            cursor = self.cursors[op.cursor]
            position, stop, frozen, ended = cursor
            if ended:
                return
            if frozen is not None:
                view = {k: v for k, v in (state | frozen).items() if v is not ABSENT}
            key = next((k for k in range(position, stop) if k in view), None)
            op.result = None if key is None else (key, view[key])
            cursor[0], cursor[3] = stop if key is None else key + 1, key is None
        self.txn.ops.append(op)


# --- planting anomalies ---------------------------------------------------------------------------------


def _scramble(rng: random.Random, ops: list[Op], values: list[Any]) -> None:
    """The last result becomes any other."""
    if not ops or ops[-1].failed or rng.random() < 0.3:
        return
    op = ops[-1]
    if op.kind == "get":
        op.result = rng.choice([*values[:3], ABSENT])
    elif op.kind == "delete" and op.result is not None:
        op.result = not op.result
    elif op.kind == "list" and op.result:
        op.result = tuple(rng.sample(op.result, rng.randint(0, len(op.result))))


def _plant(rng: random.Random, world: World) -> None:
    """Change one result to another plausible one, or one transaction's outcome, session or time."""
    kinds = ("get", "delete", "scan", "next", "list")
    reads = [(t, op) for t in world.txns for op in t.ops if op.kind in kinds and not op.failed]
    if reads and rng.random() < 0.8:
        txn, op = rng.choice(reads)
        if op.kind == "next" and rng.random() < 0.5:
            txn.ops.remove(op)  # the iterator skips a key
        else:
            _plant_read(rng, world, op)
        return
    txn, other = rng.choice(world.txns), rng.choice(world.txns)
    what = rng.choice(["outcome", "swap", *["session"] * (world.clocks == "none")])
    if what == "outcome":
        txn.outcome = rng.choice(OUTCOMES)
    elif what == "swap":
        txn.outcome, other.outcome = other.outcome, txn.outcome
    else:
        txn.session = other.session


def _plant_read(rng: random.Random, world: World, op: Op) -> None:
    def another(key: int) -> Any:
        written = [o.value for t in world.txns for o in t.ops if o.kind == "put" and o.key == key]
        return rng.choice([*written, *([world.before[key]] if key in world.before else []), 1])

    if op.kind == "get":
        op.result = rng.choice([another(op.key), another(op.key), ABSENT])
    elif op.kind == "list":
        _plant_list(rng, world, op)
    elif op.kind == "delete" and op.result is not None:
        op.result = not op.result
    elif op.kind == "next" and op.result is not None:
        op.result = (op.result[0], another(op.result[0]))
    elif op.kind == "scan" and op.start < op.stop:
        key = rng.choice(range(op.start, op.stop))
        if key in op.result and rng.random() < 0.6:
            del op.result[key]
        else:
            op.result[key] = another(key)


def _plant_list(rng: random.Random, world: World, op: Op) -> None:
    """A shorter list, another's, one more element, two of them swapped, one twice, one missing."""
    seen = list(op.result)
    others = [
        list(o.result)
        for t in world.txns
        for o in t.ops
        if o.kind == "list" and o.key == op.key and not o.failed
    ]
    added = [o.value for t in world.txns for o in t.ops if o.kind == "append" and o.key == op.key]
    at = rng.randint(0, len(seen))
    what = rng.choice(
        ["shorter", "shorter", "another", "another", "more", "more", "swap", "twice", "less", "nowhere"]
    )
    if what == "shorter":
        seen = seen[:at]
    elif what == "another":
        seen = rng.choice(others)
    elif what == "more":
        seen = [*seen, *rng.sample(added, min(1, len(added)))]
    elif what == "swap" and len(seen) > 1:
        i, j = rng.sample(range(len(seen)), 2)
        seen[i], seen[j] = seen[j], seen[i]
    elif what == "twice" and seen:
        seen.insert(at, rng.choice(seen))
    elif what == "less":
        seen = seen[:at] + seen[at + 1 :]
    elif what == "nowhere":
        seen.insert(at, 5000)
    op.result = tuple(seen)


# --- building ---------------------------------------------------------------------------------------------


def _build(world: World) -> Trace:
    def bound(key: int | None) -> Any:
        return Unbounded if key is None else world.keys[key]

    def operation(op: Op) -> histories.Op:
        key = world.keys[op.key]
        if op.kind == "put":
            built = histories.put(key, op.value)
        elif op.kind == "get":
            built = histories.get(key, op.result)
        elif op.kind == "delete":
            built = histories.delete(key, op.result)
        elif op.kind == "append":
            built = histories.append(key, op.value)
        elif op.kind == "list":
            built = histories.list_(key, op.result or ())
        elif op.kind == "scan":
            found = sorted((op.result or {}).items())
            built = histories.scan(bound(op.low), bound(op.high), {world.keys[k]: v for k, v in found})
        elif op.kind == "iterator":
            built = histories.iterator(op.cursor, bound(op.low), bound(op.high))
        elif op.result is None:
            built = histories.end(op.cursor)
        else:
            built = histories.step(op.cursor, world.keys[op.result[0]], op.result[1])
        return histories.failed(built) if op.failed else built

    def transaction(t: Txn) -> histories.Txn:
        times = None if world.clocks == "none" else (t.began, t.ended)
        clock = "right" if world.clocks == "two clocks" and t.session % 2 else "left"
        ops = [operation(op) for op in t.ops]
        if t.outcome == "unknown" and t.lost:
            ops.append(histories.failed(histories.Op("commit")))
        return histories.txn(f"s{t.session}", *ops, outcome=t.outcome, time=times, clock=clock)

    initial: Any = {world.keys[k]: v for k, v in world.before.items()}
    if world.initial != "given":
        initial = None if world.initial == "empty" else "unknown"
    return histories.history(*map(transaction, world.txns), initial=initial)

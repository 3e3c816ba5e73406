"""Small random traces of tables: inserts, updates, deletes, and selects by conditions over one and several
columns.

A handful of transactions run against a little simulated database, one after the other, each on a view of
its own: the newest state, some older one, another for each statement, or nonsense. NULLs, deletes, unknown
outcomes, own writes, and each kind of initial state occur. Rows are few, and so are values, so that most
reads have several candidates.
"""

from __future__ import annotations

import random
from typing import Any

from boomslang.trace import Absent, Trace, TraceBuilder, row_key
from boomslang.trace.conditions import TRUE, parse, truth

VALUES = (0, 1, 2, None)
COLUMNS = ("a", "b", "c")
VIEWS = ("newest", "newest", "snapshot", "statement", "wild")

State = dict[int, dict[str, Any]]


def random_condition(rng: random.Random, columns: tuple[str, ...], depth: int = 2) -> Any:
    """A condition over some of these columns."""
    if depth and rng.random() < 0.6:
        op = rng.choice(("and", "and", "or", "not"))
        parts = 1 if op == "not" else rng.choice((2, 2, 3))
        return [op, *(random_condition(rng, columns, depth - 1) for _ in range(parts))]
    column: Any = {"column": rng.choice(columns)}
    kind = rng.random()
    if kind < 0.15:
        return ["is-null", column]
    if kind < 0.3:
        return ["in", column, rng.sample(VALUES, rng.choice((1, 2)))]
    if kind < 0.4:
        return ["between", column, *sorted(rng.choices((0, 1, 2), k=2))]
    if kind < 0.5 and len(columns) > 1:
        return [rng.choice(("=", "<")), column, {"column": rng.choice(columns)}]
    if kind < 0.57:
        return [rng.choice(("=", "<=")), {"key": 0}, rng.choice((1, 2))]
    return [rng.choice(("=", "!=", "<", "<=", ">", ">=")), column, rng.choice(VALUES)]


def matching(state: State, condition: Any) -> list[int]:
    """The rows that match."""
    import json

    tree = parse(json.dumps(["t", condition])).tree
    return [pk for pk, row in sorted(state.items()) if truth(tree, row, (pk,)) == TRUE]


def random_selects(seed: int, *, transactions: tuple[int, int] = (2, 4), width: int | None = None) -> Trace:
    """A trace of a few transactions."""
    rng = random.Random(seed)
    columns = COLUMNS[: width or rng.choice((1, 2, 2, 3))]
    rows = range(1, rng.choice((1, 2, 3)) + 1)
    initially: State = {}
    mode = rng.choice(("empty", "given", "given", "unknown"))
    if mode != "empty":
        initially = {pk: {c: rng.choice(VALUES) for c in columns} for pk in rows if rng.random() < 0.7}
    given: Any = None
    if mode == "given":
        given = [
            (row_key("t", [pk], c), v)
            for pk, row in initially.items()
            for c, v in (("", True), *row.items())
            if c
        ]
        given += [(row_key("t", [pk]), True) for pk in initially]
    b = TraceBuilder(initial="unknown" if mode == "unknown" else given)
    history: list[State] = [initially]
    clock = 0
    for n in range(rng.randint(*transactions)):
        view = rng.choice(VIEWS)
        base = len(history) - 1 if view == "newest" else rng.randrange(len(history))
        outcome = rng.choice(("committed",) * 6 + ("aborted", "unknown"))
        clock += rng.choice((0, 10))
        t = b.transaction(
            session=rng.choice("xyz") + str(n) if rng.random() < 0.5 else "s", outcome=outcome, begin=clock
        )
        own: dict[int, dict[str, Any] | None] = {}
        for _ in range(rng.choice((1, 2, 2, 3))):
            if view in ("statement", "wild"):
                base = rng.randrange(len(history))
            state: State = {pk: dict(row) for pk, row in history[base].items()}
            for pk, row in own.items():
                state.pop(pk, None)
                if row is not None:
                    state[pk] = dict(row)
            pk, kind = rng.choice(rows), rng.random()
            if kind < 0.15 and pk not in state:
                own[pk] = {c: rng.choice(VALUES) for c in columns}
                t.put(row_key("t", [pk]), True)
                for c, v in own[pk].items():  # type: ignore[union-attr]
                    t.put(row_key("t", [pk], c), v)
            elif kind < 0.25 and pk in state:
                own[pk] = None
                t.delete(row_key("t", [pk]), rng.choice((True, None)))
                for c in columns:
                    t.delete(row_key("t", [pk], c))
            elif kind < 0.5 and pk in state:
                if rng.random() < 0.3:
                    t.get(row_key("t", [pk]), True)
                changed = {**state[pk]}
                for c in rng.sample(columns, rng.choice((1, len(columns)))):
                    changed[c] = rng.choice(VALUES)
                    t.put(row_key("t", [pk], c), changed[c])
                own[pk] = changed
            elif kind < 0.58:
                c = rng.choice(columns)
                t.get(row_key("t", [pk], c), state[pk][c] if pk in state else Absent)
            else:
                condition = True if rng.random() < 0.1 else random_condition(rng, columns)
                found = matching(state, condition)
                if view == "wild" and rng.random() < 0.5:
                    found = [pk for pk in rows if rng.random() < 0.5]
                items: list[tuple[Any, Any]] = [(row_key("t", [pk]), True) for pk in found]
                for pk in found:
                    if rng.random() < 0.2 and pk in state:
                        c = rng.choice(columns)
                        items.append((row_key("t", [pk], c), state[pk][c]))
                t.select("t", condition, items)
        if outcome == "committed":
            t.commit(return_=clock + rng.choice((1, 5)))
        elif outcome == "aborted":
            t.abort()
        if outcome == "committed" or (outcome == "unknown" and rng.random() < 0.5):
            after: State = {pk: dict(row) for pk, row in history[-1].items()}
            for pk, row in own.items():
                after.pop(pk, None)
                if row is not None:
                    after[pk] = dict(row)
            history.append(after)
        clock += 5
    return b.build()

"""MariaDB's repeatable read of traces with selects: views as transactions of their own, and what InnoDB shows of rows
that a transaction has written to."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from support.random_selects import matching, random_condition

from boomslang import TraceBuilder, UsageError, check
from boomslang.certify.replay import ReplayError
from boomslang.certify.with_modules import refute_with_modules, replay_with_modules
from boomslang.solve.brute import brute
from boomslang.trace import Absent, Trace, row_key

MODULE = "mariadb-repeatable-read"
LOCK = {"lock": "update"}
LEVELS = {
    "ser": "strong-session-serializable",
    "si": "strong-session-snapshot-isolation",
    "prefix": "strong-session-prefix",
}
"""In place of each, what keeps the order of a session."""
COLUMNS = ("a", "b")


def asked(rng: random.Random, most: int) -> Any:
    """A condition over one column that tells much, or any over both."""
    if rng.random() < 0.3:
        return random_condition(rng, COLUMNS, 1)
    column = {"column": rng.choice(COLUMNS)}
    return rng.choice((["is-null", column], ["=", column, rng.randint(0, most)], [">", column, most - 1]))


def view_by_view(seed: int) -> tuple[Trace, Trace]:
    """A trace, and the same with each view as a transaction: the plain reads, each locking read, the writes. Whoever
    writes has read before, so that nothing of its own is among what it saw."""
    rng = random.Random(seed)
    rows = (1, 2)
    state = {pk: dict.fromkeys(COLUMNS, 0) for pk in rows if rng.random() < 0.9}
    given = [(row_key("t", [pk]), True) for pk in state]
    given += [(row_key("t", [pk], c), v) for pk, row in state.items() for c, v in row.items()]
    whole, split = TraceBuilder(initial=given), TraceBuilder(initial=given)
    history: list[Any] = [state]
    for n in range(3):
        snapshot = rng.choice(history)
        reads: list[tuple[Any, bool]] = []
        for _ in range(rng.choice((3, 4)) if n else 0):
            locks = rng.random() < 0.5
            seen = rng.choice(history) if rng.random() < 0.4 else history[-1] if locks else snapshot
            condition = asked(rng, n)
            found = [(row_key("t", [pk]), True) for pk in matching(seen, condition)]
            reads.append((("t", condition, found), locks))
        writes: dict[str, Any] = {}
        after = {pk: dict(row) for pk, row in history[-1].items()}
        for pk in rng.sample(rows, rng.choice((1, 2, 2))):
            if pk in after and rng.random() < 0.2:
                del after[pk]
                writes |= dict.fromkeys(
                    [row_key("t", [pk]), *(row_key("t", [pk], c) for c in COLUMNS)], Absent
                )
            elif pk in after:
                column = rng.choice(COLUMNS)
                after[pk][column] = writes[row_key("t", [pk], column)] = rng.choice((n + 1, n + 1, None))
            else:
                after[pk] = dict.fromkeys(COLUMNS, n + 1)
                writes |= {row_key("t", [pk]): True}
                writes |= {row_key("t", [pk], c): v for c, v in after[pk].items()}
        history.append(after)

        def write(t: Any, writes: dict[str, Any] = writes) -> None:
            for key, value in writes.items():
                t.delete(key) if value is Absent else t.put(key, value)

        with whole.transaction(f"s{n}") as t:
            for read, locks in reads:
                t.select(*read, **({"ctx": LOCK} if locks else {}))
            write(t)
        views: list[list[Any]] = []
        plain: list[Any] | None = None
        for read, locks in reads:
            if locks:
                views.append([read])
            elif plain is None:
                views.append(plain := [read])
            else:
                plain.append(read)
        for view in views:
            with split.transaction(f"s{n}") as t:
                for read in view:
                    t.select(*read)
        with split.transaction(f"s{n}") as t:
            write(t)
    return whole.build(), split.build()


@pytest.mark.parametrize("seeds", [range(60), pytest.param(range(60, 1500), marks=pytest.mark.full)])
def test_views_are_transactions_of_their_own(seeds: range) -> None:
    found: Counter[Any] = Counter()
    for seed in seeds:
        whole, split = view_by_view(seed)
        level = list(LEVELS)[seed % len(LEVELS)]
        expected = brute(split, LEVELS[level])
        for solver in ("native", "z3") if seed % 10 == 0 else ("native",):
            verdict = check(whole, level, modules=[MODULE], solver=solver)
            assert verdict.valid == expected, (seed, level, solver, verdict)
        found[expected, check(whole, level).valid] += 1
    assert found[True, False] > 3 and found[False, False] > 3, found


def test_certificates_can_be_verified_and_forged_ones_are_refused() -> None:
    replayed = refuted = refused = 0
    for seed in range(24):
        whole, _ = view_by_view(seed)
        level = list(LEVELS)[seed % len(LEVELS)]
        verdict = check(whole, level, modules=[MODULE])
        if verdict.valid:
            assert verdict.witness is not None and not replay_with_modules(whole, verdict.witness)
            replayed += 1
            forged = replace(verdict.witness, order=verdict.witness.order[::-1])
            try:
                replay_with_modules(whole, forged)
            except ReplayError:
                refused += 1
        else:
            assert verdict.counterexample is not None
            assert refute_with_modules(whole, verdict.counterexample.core)
            assert list(verdict.counterexample.lines())
            refuted += 1
    assert replayed > 8 and refuted > 2 and refused > 5


def own_row(*, writes: bool, asks: str) -> Trace:
    """A's snapshot is older than B, who changes both columns of both rows. A sets `a` of row 1, or does not, and then
    asks for `b` of row 1: by its key, or by a condition."""
    given = [(row_key("t", [pk]), True) for pk in (1, 2)]
    given += [(row_key("t", [pk], c), 0) for pk in (1, 2) for c in COLUMNS]
    builder = TraceBuilder(initial=given)
    a = builder.transaction("A")
    a.get(row_key("t", [2], "b"), 0)
    with builder.transaction("B") as b:
        for pk in (1, 2):
            for c in COLUMNS:
                b.put(row_key("t", [pk], c), 1)
    if writes:
        a.put(row_key("t", [1], "a"), 2)
    if asks == "key":
        a.get(row_key("t", [1], "b"), 1)
    else:
        a.select("t", ["=", {"column": "b"}, 1], [(row_key("t", [1]), True)])
    a.get(row_key("t", [2], "b"), 0)
    a.commit()
    return builder.build()


@pytest.mark.parametrize("asks", ["key", "condition"])
def test_a_row_that_was_written_to_is_the_newest_one(asks: str) -> None:
    """InnoDB shows the transaction its own version of the row, which has B's other column in it."""
    assert check(own_row(writes=True, asks=asks), "si").invalid
    assert check(own_row(writes=True, asks=asks), "si", modules=[MODULE]).valid
    assert check(own_row(writes=False, asks=asks), "si", modules=[MODULE]).invalid


def test_other_modules_still_refuse_selects() -> None:
    with pytest.raises(UsageError, match="module read-latest does not know what these say of rows"):
        check(own_row(writes=True, asks="condition"), "si", modules=[MODULE, "read-latest"])

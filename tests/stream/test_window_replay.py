"""The walk that says whether an order explains a window (native/stream/replay.hpp): it must say no when it does not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.effort import examples

from boomslang.stream import _live

NOTHING, TWICE, UNEXPLAINED, OVERLAP = range(4)
MOST = 6
"""Writers of a key before the last that are told."""


def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


def longs(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


Transaction = tuple[list[tuple[int, int]], list[tuple[int, int]]]
"""What it read, and what it wrote: keys and values."""


def walked(
    transactions: list[Transaction], order: list[int], initial: list[int], points: int, pinned: list[int]
) -> list[object]:
    starts = np.cumsum([0, *(len(reads) for reads, _ in transactions)])
    writes = sorted((k, v, t) for t, (_, wrote) in enumerate(transactions) for k, v in wrote)
    found = _live.replay(
        points,
        points == 2,
        starts.astype(np.int64),
        ints([k for reads, _ in transactions for k, _ in reads]),
        ints([v for reads, _ in transactions for _, v in reads]),
        longs([sum(k < key for k, _, _ in writes) for key in range(len(initial) + 1)]),
        ints([t for _, _, t in writes]),
        ints([v for _, v, _ in writes]),
        ints(initial),
        np.isin(np.arange(len(transactions)), pinned).astype(np.uint8),
        longs(order),
    )
    told: list[object] = [found[0], sorted(found[1].tolist())]
    told += [sorted(writes[row] for row in rows.tolist()) for rows in found[2:4]]
    told.append(
        sorted((writes[a], writes[b]) for a, b in zip(found[4].tolist(), found[5].tolist(), strict=True))
    )
    matters = np.flatnonzero(found[6]).tolist() if found[0] == NOTHING else []
    return [*told, [writes[row] for row in matters]]


def test_what_is_wrong_with_an_order() -> None:
    writer: Transaction = ([], [(0, 7)])
    reader: Transaction = ([(0, 7)], [])
    assert walked([writer, reader], [0, 1], [-1], 1, [])[0] == NOTHING
    assert walked([writer, reader], [1, 0], [-1], 1, [])[0] == UNEXPLAINED
    assert walked([writer, reader], [0, 0, 1], [-1], 1, [])[0] == TWICE
    both = [writer, ([], [(0, 8)])]
    assert walked(both, [0, 1, 2, 3], [-1], 2, [])[0] == NOTHING
    assert walked(both, [0, 2, 1, 3], [-1], 2, [])[0] == OVERLAP
    # One that began in a window before is the first of its writers, or it overlaps.
    assert walked(both, [2, 3, 0, 1], [-1], 2, [1])[0] == NOTHING
    assert walked(both, [0, 1, 2, 3], [-1], 2, [1])[0] == OVERLAP


def slowly(
    transactions: list[Transaction], order: list[int], initial: list[int], points: int, pinned: list[int]
) -> list[object]:
    """The same, as plainly as it can be written."""
    nothing: list[object] = [[], [], [], [], []]
    held = list(initial)
    writers: list[list[tuple[int, int, int]]] = [
        [] for _ in initial
    ]  # of each key: place, transaction, value
    read_at = [-1] * len(initial)
    began: dict[int, int] = {}
    seen, first, matters = set(), [], set()
    for place, point in enumerate(order):
        t = point // points
        reads, wrote = transactions[t]
        if point % points == 0:
            began[t] = place
            for key, value in reads:
                if not (held[key] != -1 if value == -2 else held[key] == value):
                    return [UNEXPLAINED, *nothing]
                read_at[key] = place
                if writers[key]:
                    matters.add((key, writers[key][-1][2], writers[key][-1][1]))
                else:
                    seen.add(key)
        if point % points == points - 1:
            for key, value in wrote:
                if points == 2 and writers[key] and (t in pinned or writers[key][-1][0] > began[t]):
                    return [OVERLAP, *nothing]
                if points == 2 and t in pinned:
                    first.append((key, value, t))
                writers[key].append((place, t, value))
                held[key] = value
    last = [(key, w[-1][2], w[-1][1]) for key, w in enumerate(writers) if w]
    pairs = []
    for key, w in enumerate(writers):
        own = [x for x in w if x[1] not in pinned]
        if own and read_at[key] <= own[-1][0]:
            late = key, own[-1][2], own[-1][1]
            pairs += [((key, value, t), late) for _, t, value in own[-1 - MOST : -1]]
    matters.update(last)
    return [NOTHING, sorted(seen), sorted(last), sorted(first), sorted(pairs), sorted(matters)]


@pytest.mark.parametrize("points", [1, 2])
def test_random_orders(points: int) -> None:
    rng = random.Random(points)
    answers = []
    for _ in range(examples(2_000)):
        keys = rng.randint(1, 3)
        initial = [rng.randint(-1, 2) for _ in range(keys)]
        transactions: list[Transaction] = []
        for _ in range(rng.choice((1, 2, 3, 4, 5, 12))):
            wrote = {rng.randrange(keys): rng.randint(-1, 2) for _ in range(rng.randint(0, 2))}
            reads = [(rng.randrange(keys), rng.randint(-2, 2)) for _ in range(rng.choice((0, 0, 0, 1)))]
            transactions.append((reads if len(transactions) < 5 else [], list(wrote.items())))
        pinned = [t for t in range(len(transactions)) if points == 2 and rng.random() < 0.2]
        order = list(range(points * len(transactions)))
        rng.shuffle(order)
        if points == 2:  # a begin is before its commit
            order = [2 * (p // 2) + (order.index(p ^ 1) < i) for i, p in enumerate(order)]
        given = transactions, order[: rng.randint(0, len(order))], initial, points, pinned
        found, expected = walked(*given), slowly(*given)
        assert found[0] == expected[0], given
        if found[0] == NOTHING:
            assert found == expected, given
        answers.append(found[0])
    assert set(answers) == ({NOTHING, UNEXPLAINED} if points == 1 else {NOTHING, UNEXPLAINED, OVERLAP})

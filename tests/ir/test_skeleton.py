"""The known graph as solvers get it: the ends of open edges reach each other just as before, by fewer arcs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from boomslang.passes import skeleton as module
from boomslang.passes.skeleton import skeleton


def reaching(arcs: set[tuple[int, int]], nodes: int) -> set[tuple[int, int]]:
    """Warshall's closure."""
    found = set(arcs)
    for k in range(nodes):
        into, out = [a for a, b in found if b == k], [b for a, b in found if a == k]
        found |= {(a, b) for a in into for b in out}
    return found


def made(arcs: set[tuple[int, int]], ends: list[int]) -> set[tuple[int, int]]:
    source, target = np.array(sorted(arcs), np.int64).reshape(-1, 2).T
    found = skeleton(source, target, np.array(ends, np.int64))
    return set(zip(*(side.tolist() for side in found), strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_the_same_paths_by_as_few_arcs_as_there_are(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randrange(2, 14)
    names = rng.sample(range(100), nodes)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    arcs = {pair for pair in pairs if rng.random() < 0.3}
    ends = rng.sample(names, rng.randrange(1, nodes + 1))
    closure = {(a, b) for a, b in reaching(arcs, 100) if a in ends and b in ends}
    found = made(arcs, ends)
    assert reaching(found, 100) == closure
    for arc in found:  # none of them is there for nothing
        assert arc not in reaching(found - {arc}, 100)


def test_a_cycle_stays() -> None:
    arcs = {(1, 2), (2, 3), (3, 1), (3, 4)}
    assert made(arcs, [4]) == arcs


def test_what_is_too_large_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BITS", 2)
    assert made({(1, 2), (2, 3), (1, 3)}, [1, 3]) == {(1, 2), (2, 3), (1, 3)}


def test_nothing() -> None:
    assert made(set(), []) == set() and made({(1, 2)}, []) == set() and made(set(), [5]) == set()

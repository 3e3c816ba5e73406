"""Which level implies which, derived from their definitions.

A implies B if whatever order satisfies A also satisfies B. If both have the same points, B must know no dependency
that A does not. A serial order (one point, all anti-dependencies) is also an order of begins and commits: put each
begin right before its commit. And an order of begins and commits is an order of commits, in which every dependency
but the anti-dependencies still points forward. Nothing else holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from boomslang.levels.catalog import LEVELS
from boomslang.levels.level import Dependency, Level


def implies(a: Level, b: Level) -> bool:
    """Does every trace that satisfies `a` satisfy `b`?"""
    if not set(b.edges) <= set(a.edges):
        return False
    if a.points == 2 and b.points == 1:
        return not (b.has(Dependency.RW) or b.has(Dependency.PRW))
    return True


def strictly_stronger(level: Level, among: Iterable[Level] = LEVELS) -> list[Level]:
    """The levels that imply this one and are not it."""
    return [other for other in among if other is not level and implies(other, level)]


def maximal(levels: Iterable[Level]) -> list[Level]:
    """Those that no other of them implies."""
    levels = list(levels)
    return [a for a in levels if not any(b is not a and implies(b, a) for b in levels)]


def minimal(levels: Iterable[Level]) -> list[Level]:
    """Those that imply no other of them."""
    levels = list(levels)
    return [a for a in levels if not any(b is not a and implies(a, b) for b in levels)]

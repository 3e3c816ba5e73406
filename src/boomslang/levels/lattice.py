"""Which level implies which, derived from their definitions.

A implies B if whatever choice of writers and orders satisfies A also satisfies B. B may ask for five things:

- its graph is acyclic. With one point a transaction, A's graph must have all of its edges; an order of begins and
  commits gives an order of commits, in which all but the anti-dependencies still point forward. With two points, A's
  must have the same edges with the same ends or stricter ones (a commit before a begin is also before the commit); or
  A is a serial order with all of them: put each begin right before its commit;
- cycles with one anti-dependency are forbidden (`once`). Whoever forbids all cycles forbids these; an order of begins
  and commits does, if the other edges all lead from a commit to a begin: then p commits before r begins, and yet r
  begins before p commits;
- real time counts within a bound. A's bound must be no longer: what is further apart than b's is further than a's;
- a cursor is stable. That is one such cycle: one rw of an item and one ww;
- nothing but the order of appends (read uncommitted), which all others ask for too.

Nothing else holds: tests/levels/test_levels_apart.py has a trace for each pair (of the levels without a bound) that
shows it.
"""

from __future__ import annotations

from collections.abc import Iterable

from boomslang.levels.catalog import LEVELS
from boomslang.levels.level import Dependency, Level, Once, Point
from boomslang.levels.within import no_longer

_FORWARD = (Point.COMMIT, Point.BEGIN)
_LOST_UPDATE = Once(frozenset({Dependency.WW}), longest=1)


def implies(a: Level, b: Level) -> bool:
    """Does every trace that satisfies `a` satisfy `b`?"""
    if not a.observes:
        return a is b or not b.observes
    if not b.observes:
        return True
    if b.once is not None and not _forbids(a, b.once, {Dependency.RW, Dependency.PRW}):
        return False
    if b.cursor and not (a.cursor or _forbids(a, _LOST_UPDATE, {Dependency.RW})):
        return False
    return _orders(a, b) and (not b.needs_times or no_longer(a, b))


def _orders(a: Level, b: Level) -> bool:
    """Is b's graph acyclic wherever a's is?"""
    if not set(b.edges) <= set(a.edges):
        return False
    if a.points == 1:
        return True
    if b.points == 1:
        return not (b.has(Dependency.RW) or b.has(Dependency.PRW))
    return all(a.edges[d] in (ends, _FORWARD) for d, ends in b.edges.items())


def _forbids(level: Level, once: Once, anti: set[Dependency]) -> bool:
    """Does the level forbid all cycles of one of these anti-dependencies and otherwise what `once` says?"""
    if not once.kinds <= set(level.edges):
        return False
    if anti <= set(level.edges):
        return level.points == 1 or all(level.edges[d] == _FORWARD for d in once.kinds)
    own = level.once
    if own is None or not once.kinds <= own.kinds:
        return False
    longer = own.longest is None or (once.longest is not None and once.longest <= own.longest)
    return longer and (once.earlier or not own.earlier)


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


def neighbours(levels: Iterable[Level] = LEVELS) -> list[tuple[Level, Level]]:
    """Pairs (stronger, weaker) with no level in between."""
    levels = list(levels)

    def above(a: Level, b: Level) -> bool:
        return a is not b and implies(a, b) and not implies(b, a)

    return [
        (a, b)
        for a in levels
        for b in levels
        if above(a, b) and not any(above(a, c) and above(c, b) for c in levels)
    ]

"""Two laws that follow from what a level is, and that need no order to be used.

- *Who reads a key and writes it overwrites what it read.* A writer in between would be a lost update. It holds where
  ww and rw close a cycle: at serializable and repeatable read, at snapshot isolation (but not at prefix, where writers
  of a key may overlap), at consistent view, and at cursor stability for what was read through a cursor.
- *There is one state, and it changes by whole transactions.* Each sees it as it is when it writes (serializable;
  repeatable read, but for ranges), or sees one that was, and finds what it overwrites unchanged (snapshot isolation).
  Where neither is so, it holds for each key alone as far as the first law does.

Counting (solve/counting.py) rests on the first, reachable states (solve/states.py) on the second.
"""

from __future__ import annotations

from enum import Enum

from boomslang.levels.level import Dependency, Level, Point


class State(Enum):
    """What transactions see and change together."""

    SERIAL = "each sees the state that it changes"
    SNAPSHOT = "each sees a state that was, and changes keys that it read only if they are as it read them"
    ONE_KEY = "the same, of each key alone"


def forbids_lost_updates(level: Level) -> bool:
    """Is who reads a key from another and writes it the next writer of that key?"""
    if level.once is not None:
        return Dependency.WW in level.once.kinds
    if level.cursor:
        return True
    overlap = level.edges.get(Dependency.WW) == (Point.COMMIT, Point.COMMIT)
    return level.has(Dependency.RW) and not overlap


def ranges_count(level: Level) -> bool:
    """Does that hold of keys that a range was seen not to hold, too?"""
    return level.predicates_see_last or level.once is not None


def state_law(level: Level) -> State | None:
    """What the second law says at this level."""
    if not forbids_lost_updates(level):
        return None
    if level.once is not None or level.cursor:
        return State.ONE_KEY
    return State.SERIAL if level.points == 1 else State.SNAPSHOT

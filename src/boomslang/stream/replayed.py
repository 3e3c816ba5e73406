"""Does each read that is taken see what the order says? The engine has looked; nothing is built on that alone.

One walk through the order of a window (native/stream/replay.hpp) tells that, and what the next windows need to know.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boomslang.levels.level import Level
from boomslang.stream import _live
from boomslang.stream.window import Question, writers_must_not_overlap

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_PROBLEMS = (
    "",
    "a point comes twice in the order",
    "reads are not explained by the order",
    "writers of a key overlap in the order",
)


class Replayed(NamedTuple):
    """What the walk has seen. Rows are of writes."""

    seen: Int64
    """Keys of which it read what the windows before left."""
    last: Int64
    """The last write of each key."""
    first: Int64
    """Writes of those who began in a window before, where they are the first of their key."""
    early: Int64
    late: Int64
    """The last write of a key, if nobody has read it since, and one before it: all such pairs, the nearest first."""
    matters: NDArray[np.uint8]
    """Of each write: has anybody read it, or is it what is left?"""


def replayed(asked: Question, level: Level, initial: Int32, order: Int64) -> Replayed:
    """Raises AssertionError if the order does not explain what was read."""
    asg = asked.asg
    problem, seen, last, first, early, late, matters = _live.replay(
        level.points,
        writers_must_not_overlap(level),
        asg.read_start,
        asg.read_key,
        asg.read_value,
        asg.key_start,
        asg.write_txn,
        asg.write_value,
        initial,
        asked.pinned.view(np.uint8),
        order,
    )
    if problem:
        raise AssertionError(f"{_PROBLEMS[problem]} of a window")
    return Replayed(seen, last, first, early, late, matters)

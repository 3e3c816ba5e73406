"""How much of a window's order is taken for good.

What stands at its end is asked again in the next window, as later reads may yet say in which order the last writers
wrote; and nothing is taken from the first on that is not over. The place is moved a little, to where few pairs of last
writers are taken apart: these could not change places later (swaps.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boomslang.stream.last_writers import overlap
from boomslang.stream.window import Question
from boomslang.trace.model import Outcome

Int64 = NDArray[np.int64]

LEAST = 8
"""A window takes at least the eighth part of its tail, or nothing: while one session is waited for, window after window
could take a point or two, and these would be all that is kept to be joined."""


def how_far(
    asked: Question, points: int, order: Int64, begin: Int64, commit: Int64, tail: int, *, beside_pairs: bool
) -> int:
    """How many points of the order are taken. `points`: of a transaction. `begin`, `commit`: their places in the order;
    below 0: it has none. `tail`: transactions that are asked again, at least. `beside_pairs`: as few pairs of last
    writers as can be are taken apart."""
    waits = begin[asked.undecided & (begin >= 0) & ~asked.pinned]
    far = min(len(order) - tail * points, int(waits.min()) if len(waits) else len(order))
    if beside_pairs and far > 0:
        far = _beside_pairs(asked, points, begin, commit, far, max(0, far - tail * points))
    # Of unknown outcome, and in the order since somebody read from it: all of it is taken, or nothing.
    doubtful = (asked.asg.outcome == Outcome.UNKNOWN) & (begin >= 0)
    while far > 0 and len(crossing := begin[doubtful & (begin < far) & (commit >= far)]):
        far = int(crossing.min())
    return far if far >= max(1, tail * points // LEAST) else 0


def _beside_pairs(asked: Question, points: int, begin: Int64, commit: Int64, far: int, least: int) -> int:
    """A place not far before `far` where as few pairs of last writers as can be are taken apart, for these could
    not be put in another order later."""
    asg = asked.asg
    near = commit >= max(0, 2 * least - far)
    rows = np.flatnonzero(near[asg.write_txn])
    if not len(rows):
        return far
    key, txn = np.searchsorted(asg.key_start, rows, side="right") - 1, asg.write_txn[rows]
    by_place = np.lexsort((commit[txn], key))
    key, txn = key[by_place], txn[by_place]
    late = txn[np.searchsorted(key, key, side="right") - 1]
    read = np.full(asg.keys, -1, np.int64)  # when it was read last
    owner = np.flatnonzero(near)
    start = asg.read_start[owner]
    reads = np.repeat(start, many := asg.read_start[owner + 1] - start)
    reads += np.arange(len(reads)) - np.repeat(np.cumsum(many) - many, many)
    np.maximum.at(read, asg.read_key[reads], np.repeat(begin[owner], many))
    pairs = (txn != late) & (read[key] <= commit[late])
    early, late = txn[pairs], late[pairs]
    together = overlap(asg.trace, early, late)
    early, late = early[together], late[together]
    apart = np.zeros(len(begin) * points + 2, np.int64)
    np.add.at(apart, np.minimum(begin[early], begin[late]) + 1, 1)
    np.add.at(apart, commit[late] + 1, -1)
    apart = np.cumsum(apart)[least : far + 1]
    return far - int(np.argmin(apart[::-1]))

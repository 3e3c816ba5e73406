"""One window of a trace that is checked as it goes by: a small trace that starts where the last one ended.

Everything that a trace may hold is handled by the pipeline as ever: the window is a trace, its initial state is what
the windows before it left, and it goes through ASG, IR and engine. Only one thing is special, under snapshot isolation:
a transaction whose begin stands in a window behind us is *pinned*. What it read was explained there, so its reads do
not count again; and as it has been open ever since, it is the first of this window's writers of each key that it
writes, for writers of one key do not overlap.

And a transaction that is not over yet, or ended later than all files have told of, is *undecided*. One that is not
over is taken to have committed, with what it has read so far: then those who overwrote that do not go before it, and it
finds its place when it is over. If that leaves no order, those that are undecided are only taken to be possible
writers. No part of the order from the first of them on is taken for good. What says of itself that it was aborted is
that in any case: most are aborted because they would have broken the level, and while one session says nothing for
some seconds, all that the others do meanwhile is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, build_asg, linked
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Dependency, Level, Point
from boomslang.trace.blocks import MANY_FILES, Block
from boomslang.trace.model import Outcome, Trace

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

_NOBODY = np.zeros(0, np.int64)


def places(block: Block) -> Int64:
    """Of each transaction a number that stays the same in every window: file and line of its begin."""
    return block.first_lines() * MANY_FILES + block.trace.txn_file


@overload
def place_of(place: int) -> tuple[int, int]: ...
@overload
def place_of(place: Int64) -> tuple[Int64, Int64]: ...
def place_of(place: int | Int64) -> tuple[int | Int64, int | Int64]:
    """The number of the file, and the line."""
    return place % MANY_FILES, place // MANY_FILES


@dataclass(frozen=True, eq=False)
class Question:
    """A window that is asked."""

    block: Block
    place: Int64
    """Of each transaction."""
    pinned: Mask
    undecided: Mask
    everything: ASG
    """With what pinned transactions read."""
    ir: IR

    @property
    def asg(self) -> ASG:
        return self.ir.asg


def question(
    block: Block,
    trace: Trace,
    level: Level,
    pins: Int64,
    undecided: Mask,
    *,
    hopeful: bool,
    stays_open: Int64 = _NOBODY,
    lenient: Int64 | None = None,
    jobs: int = 1,
) -> Question:
    """`trace`: the block's, with its initial state. `pins`: places of those that began before. `hopeful`: those
    that are not over are taken to have committed. `stays_open`: places of those that commit behind all others.
    `lenient`: reads that nothing explains do not count, nor those of these places. `jobs`: threads."""
    place = places(block)
    pinned = np.isin(place, pins)
    late = np.isin(place, stays_open)
    if undecided.any():
        trace = replace(trace, txn_outcome=_supposed(trace, block.open, undecided, hopeful=hopeful))
    asg = build_asg(trace, jobs=jobs)
    dropped = pinned if hopeful else pinned | undecided
    if lenient is not None:
        dropped = dropped | np.isin(place, lenient)
    reads = dropped[asg.read_txn] if dropped.any() else np.zeros(len(asg.read_key), bool)
    reads[asg.orphans[undecided[asg.read_txn[asg.orphans]]]] = True  # its writer may come yet
    if lenient is not None:
        reads[asg.orphans] = True
    asked = linked(asg.only_reads(~reads), jobs=jobs) if reads.any() else asg
    if (pinned.any() or late.any()) and writers_must_not_overlap(level):
        # As what is known of the order of writers, so that it holds whatever the strategy asks for.
        first, others = _first_writers(asked, pinned)
        last, earlier = _first_writers(asked, late)
        first, others = np.concatenate([first, earlier]), np.concatenate([others, last])
        asked = replace(
            asked,
            list_from=np.concatenate([asked.list_from, first.astype(np.int32)]),
            list_to=np.concatenate([asked.list_to, others.astype(np.int32)]),
            list_read=np.concatenate([asked.list_read, np.full(len(first), -1, np.int64)]),
        )
    ir = lower(asked, level)
    return Question(block, place, pinned, undecided, asg, ir)


def _supposed(trace: Trace, is_open: Mask, undecided: Mask, *, hopeful: bool) -> NDArray[np.uint8]:
    """The outcome of each transaction, as far as it is known, or what it is taken to be."""
    if hopeful:
        return np.where(is_open, np.uint8(Outcome.COMMITTED), trace.txn_outcome)
    doubted = undecided & (trace.txn_outcome != Outcome.ABORTED)
    return np.where(doubted, np.uint8(Outcome.UNKNOWN), trace.txn_outcome)


def writers_must_not_overlap(level: Level) -> bool:
    """Snapshot isolation: of two writers of a key one commits before the other begins."""
    return level.points == 2 and level.edges[Dependency.WW] != (Point.COMMIT, Point.COMMIT)


def _first_writers(asg: ASG, pinned: Mask) -> tuple[Int64, Int64]:
    """Each pinned transaction, and each other writer of a key that it writes. (Two that are pinned wrote no key
    in common: they overlap.)"""
    mine = np.flatnonzero(pinned[asg.write_txn])
    firsts, others = [], []
    for w in mine.tolist():
        key, txn = int(asg.write_key[w]), int(asg.write_txn[w])
        writers = asg.write_txn[asg.key_start[key] : asg.key_start[key + 1]]
        writers = writers[~pinned[writers]]
        firsts.append(np.full(len(writers), txn, np.int64))
        others.append(writers.astype(np.int64))
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *firsts]), np.concatenate([none, *others])

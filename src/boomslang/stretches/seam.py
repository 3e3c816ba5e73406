"""A seam: where one stretch ends and the next one starts.

At a cut of the lines many transactions are open, and which of them come before the cut in the order of the
database is not written anywhere. So one window from the cut on is ordered as far as it can be: what was read before it
does not count. What the order has of it, but for its end, is taken to be on the left of the seam, and all the rest is
on the right. Under snapshot isolation a begin may be on the left and its commit on the right.

What each key holds at the seam comes from the same order, and from the surveys where the window does not write the key.
But if a read behind the seam found what nobody behind the cut wrote, just that stands there: then whoever the order
has as the last writer overlapped with another one, and the stretch before the seam puts them right (stretch.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from boomslang.levels import find_level
from boomslang.solve.solution import Limits
from boomslang.stream.forward import TAIL, Forward
from boomslang.stream.looked import Looked
from boomslang.stream.no_answer import NotForward, Stuck
from boomslang.stream.standing import Cell, Standing
from boomslang.stream.window import place_of, places
from boomslang.stretches.slices import Sliced, SlicedBlocks
from boomslang.stretches.survey import Found
from boomslang.trace.errors import LimitReached
from boomslang.trace.scalars import Code

WINDOWS = 3
"""Windows in which something must be settled."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A task: where to look for a seam."""

    trace: Sliced
    at: list[int]
    until: list[int]
    """The next cut. A seam lies before it, so that no transaction is between two seams in a window of each."""
    line: list[int]
    """The number of the next line of each file."""
    standing: Standing
    """As the surveys have it."""
    found: dict[Code, Found]
    """What reads behind the cut found of keys that nobody there wrote before."""
    level: str
    size: int
    tail: int = TAIL
    seconds: float | None = None
    megabytes: float | None = None
    smallest: int = 1 << 16


@dataclass(frozen=True, eq=False)
class Seam:
    """Where it is."""

    at: list[int]
    """How far the stretch before it reads each file."""
    line: list[int]
    """The number of the next line of each file."""
    standing: Standing
    """What the stretch behind it starts from."""

    def skipped(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Of each file the numbers of lines before its place that belong behind the seam."""
        standing = self.standing
        pinned = standing.pinned_lines or [np.zeros(0, np.int64)] * len(standing.held)
        return [
            lines.number[~np.isin(lines.number, those)]
            for lines, those in zip(standing.held, pinned, strict=True)
        ]


def seam(task: Cut) -> Seam | None:
    """The task. None: there is no order, so the cut is no good."""
    level = find_level(task.level)
    blocks = SlicedBlocks(task.trace, task.at, task.until, task.line, goes_on=True, smallest=task.smallest)
    blocks.forget_initial()
    opened = places(blocks.parsed(task.standing.held)).tolist()
    forward = Forward(
        blocks,
        level,
        Limits(task.seconds, task.megabytes, jobs=1),
        refuted=lambda *_: "no order",
        size=task.size,
        tail=task.tail,
        kept=0,
        standing=task.standing,
        lenient=opened,
        sweep=None,  # what stands is compared key by key
    )
    try:
        for _ in range(WINDOWS):
            if forward.step() is not None:
                return None
            if forward.done:
                return None  # the rest of the trace is no longer than this
            if forward.counted.transactions:
                break
        else:
            return None
    except (NotForward, Stuck, LimitReached, AssertionError):
        return None
    standing = forward.standing()
    if set(standing.pins) & set(opened):  # its begin may be far before
        return None
    live = {**standing.live, **_found_behind(task.found, blocks, standing)}
    # What was looked through before it is known when the stretches before are decided.
    standing = replace(standing, live=live, looked=Looked())
    return Seam(blocks.reached(), blocks.lines_so_far(), standing)


def _found_behind(found: dict[Code, Found], blocks: SlicedBlocks, standing: Standing) -> dict[Code, Cell]:
    """Keys that stand otherwise than the order has it, as reads behind the seam say."""
    line = blocks.lines_so_far()
    behind = set(places(blocks.parsed(standing.held)).tolist()) - set(standing.pins)
    other: dict[Code, Cell] = {}
    for key, values in found.items():
        for value, reader in values:
            file, at = place_of(reader)
            if at >= line[file] or reader in behind:
                if key in standing.live and standing.live[key][0] != value:
                    other[key] = value, -1, -1
                break
    return other

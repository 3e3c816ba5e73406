"""A window that was decided and not given out: all that it takes to decide it otherwise.

It is undone, and asked again together with those behind it, where one of them has no order. Or only its last writers
change places (swaps.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from boomslang.asg.graph import ASG
from boomslang.stream.counted import Counted
from boomslang.stream.last_writers import Open, Whole
from boomslang.stream.live import Undo
from boomslang.stream.live_lists import Change
from boomslang.stream.looked import Looked
from boomslang.stream.standing import Lost
from boomslang.stream.taken import Taken
from boomslang.trace.blocks import Files
from boomslang.trace.scalars import Code, Scalars


@dataclass(eq=False)
class Behind:
    """One window."""

    held: Files
    new: Files
    pins: dict[int, int]
    undo: list[Undo]
    looked: Looked
    """What was looked through before."""
    lists: Change
    """What was appended to lists."""
    whole: Whole
    """The points that were taken, with the question's ASG without the operations."""
    initial: list[tuple[Code, Code | None]]
    others: dict[Code, Open]
    """Keys whose last writers overlapped, and that nobody has read since, in the question's numbers."""
    settled: frozenset[Code]
    """Keys of the windows before of which this one read what they left: their last writers stay as they are. With those
    that they left absent and one of its scans covers."""
    began: int
    """The latest begin that was taken before."""
    points: int
    """Taken before."""
    lost: dict[int, Lost]
    counted: Counted

    @cached_property
    def codes(self) -> dict[int, Code]:
        """The keys of `others` by number, and perhaps some that were among these."""
        return {found.key: code for code, found in self.others.items()}

    def taken(self, points: int) -> Taken:
        order = self.whole.order
        place = self.whole.place[order // points]
        return Taken(place, order % 2 == 1 if points == 2 else None, self.initial)


def without_operations(asg: ASG) -> ASG:
    """What is needed to swap two writers: the rest of a window that is kept are its lines."""
    trace, none = asg.trace, np.zeros(0, np.int32)
    empty, nothing = Scalars.of(()), np.zeros(0, np.uint8)
    slim = replace(
        trace,
        keys=empty,
        values=empty,
        names=empty,
        texts=empty,
        key_rank=np.zeros(0, np.int64),
        op_kind=nothing,
        op_flags=nothing,
        op_key=none,
        op_value=none,
        op_range=none,
        op_line=np.zeros(0, np.uint32),
        op_invoke=None,
        op_return=None,
        op_ctx=None,
        op_error=None,
        item_key=none,
        item_value=none,
        initial_key=none,
        initial_value=none,
    )
    return replace(asg, trace=slim, write_op=none, read_op=none, read_writer=none, intermediate=(none,) * 4)

"""Where windows that go forward stand between two of them: all that the next one needs of what came before.

It says how far each file was read, what each key holds, which lines are asked again, and who is open. Whoever has it
goes on from there: another process, or another machine (stretches/).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boomslang.stream.looked import Looked
from boomslang.trace.blocks import Files
from boomslang.trace.model import Initial
from boomslang.trace.scalars import Code

Int64 = NDArray[np.int64]

Cell = tuple[Code | None, int, int]
"""What a key holds: value (None: it is absent), writer, place; see `live.Held`."""


@dataclass(frozen=True, eq=False)
class Lost:
    """A transaction of unknown outcome that nobody has read from yet."""

    lines: Files
    wrote: list[tuple[Code, Code | None]]
    paused: bool
    """It may go on: its file is idle."""


@dataclass(eq=False)
class Standing:
    """Between two windows. Transactions go by their places (window.py)."""

    mode: Initial
    live: dict[Code, Cell]
    held: Files
    """Lines that are asked again."""
    pins: dict[int, int] = field(default_factory=dict)
    """Who began before and commits later -> where in the order that begin stands."""
    lost: dict[int, Lost] = field(default_factory=dict)
    began: int = 0
    """The latest begin so far."""
    latest: list[int] = field(default_factory=list)
    """Of each file the last moment that it told of."""
    points: int = 0
    """In the order so far."""
    scans: bool = False
    pinned_lines: list[Int64] = field(default_factory=list)
    """Of each file: the numbers of the lines of those that are pinned."""
    looked: Looked = field(default_factory=Looked)
    """Ranges that showed what keys were absent at first, where nobody knows."""

"""The part of an order that is taken for good, as it is given out: into a certificate, or to another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boomslang.stream.window import place_of
from boomslang.trace.scalars import Code

if TYPE_CHECKING:
    from boomslang.certify.lines.writer import Writer

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Taken:
    """A part of the order, for good."""

    place: Int64
    """Of the transaction of each point: see `window.places`."""
    commit: Mask | None
    """With two points a transaction: is it the commit?"""
    initial: list[tuple[Code, Code | None]]
    """Where the initial state is unknown: what reads of this part fixed."""

    def write_to(self, writer: Writer) -> None:
        """Into a certificate."""
        file, line = place_of(self.place)
        writer.take(file, line, self.commit, self.initial)

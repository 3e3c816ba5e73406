"""How long one window is searched, and what is said meanwhile.

Most windows are decided in a moment. One that is not may only have been cut in the wrong place, or ask about too much
that is not over yet: so its search gets a few seconds, and if these do not do, it is asked again with more lines, or
joined with the window before, and gets twice as long. Somebody who watches a database for hours wants to know when that
comes to nothing: after a stated time for one window the answer is *unknown*, and says so.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from boomslang.solve.solution import Limits
from boomslang.trace.errors import LimitReached

SECONDS = 10.0
"""For the first search of a window."""
HOPEFUL_SECONDS = 0.5
"""At most, for a question that takes everything under way as committed: if that is hard, it is asked without."""
TELLING = 2.0
"""Seconds after which it is told what is being searched."""


@dataclass(eq=False)
class Patience:
    """With one window, from its first search to its answer."""

    seconds: float = SECONDS
    """For the next search."""
    most: float | None = None
    """For all of them; None: as long as it takes."""
    began: float = field(default_factory=time.monotonic)
    searches: int = 0
    transactions: int = 0
    """Of the window that is searched now."""

    def search(self, transactions: int, limits: Limits, *, hopeful: bool = False) -> Limits:
        """What the next search may use. Raises if nothing is left."""
        self.searches += 1
        self.transactions = transactions
        seconds = min(self.seconds, HOPEFUL_SECONDS) if hopeful else self.seconds
        seconds = seconds if limits.seconds is None else min(seconds, limits.seconds)
        if self.most is not None:
            seconds = min(seconds, max(0.1, self.most - self.spent))
        return replace(limits, seconds=seconds)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def ran_out(self, limits: Limits) -> None:
        """A search took its time without an answer: the next one gets longer. Raises if there shall be none."""
        if limits.seconds is not None and limits.seconds <= 0.01:
            raise LimitReached("time")
        if self.most is not None and self.spent >= self.most:
            raise LimitReached(
                f"a window of {self.transactions:,} transactions was searched {self.searches:,} times, in all for "
                f"{self.spent:,.0f} s, and neither an order was found nor that there is none"
            )
        self.seconds *= 2

    def told(self) -> str:
        """What is being done, if it takes long enough to be worth a word."""
        if self.spent < TELLING or not self.transactions:
            return ""
        again = f", search {self.searches:,}" if self.searches > 1 else ""
        return f"searching a window of {self.transactions:,} transactions for {self.spent:,.0f} s{again}"

"""How much a random test tries: all of it in `make test-full`, less in `make test`, for which everybody waits.

The hundredth example of a property finds little that the fiftieth did not. So `make test` (`pytest -m "not full"`)
draws a part of what `make test-full` and plain `pytest` draw, and asks Z3, the slowest of the opinions, about a part of
what brute force and the engine agree on.
"""

from __future__ import annotations

from math import ceil

full = True
"""conftest.py says so, before any test is read."""
SHARE = 0.2


def examples(most: int) -> int:
    """How many examples Hypothesis draws of a property that is given so many in the full run."""
    return most if full else ceil(most * SHARE)


def in_turn(number: int, every: int) -> bool:
    """Is it this one's turn, in a run that looks at one of so many? In the full run it always is."""
    return full or number % every == 0

"""How much a random test tries: all of it in `make test-full`, less in `make test`, for which everybody waits.

The hundredth example of a property finds little that the fiftieth did not. So `make test` (`pytest -m "not full"`)
draws a part of what `make test-full` and plain `pytest` draw.
"""

from __future__ import annotations

from math import ceil

full = True
"""conftest.py says so, before any test is read."""
SHARE = 0.3


def examples(most: int) -> int:
    """How many examples Hypothesis draws of a property that is given so many in the full run."""
    return most if full else ceil(most * SHARE)

"""The distinct values of a column, in order.

`np.unique` does the same, but today's NumPy loads `numpy.ma` when that is first asked, to rule out masked arrays. There
are none here, and loading it takes longer than many a check.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def distinct(column: NDArray[T]) -> NDArray[T]:
    ordered: NDArray[T] = np.sort(column, axis=None)
    if len(ordered) < 2:
        return ordered
    first: NDArray[np.bool_] = np.empty(len(ordered), bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def union(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """The distinct values of two columns, in order."""
    return distinct(np.concatenate([one, other]))


def among(column: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values of the column are among the others? `np.isin`, for codes that are too large for a table."""
    ordered = np.sort(others, axis=None)
    if not len(ordered):
        return np.zeros(len(column), bool)
    at = np.minimum(np.searchsorted(ordered, column), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[at] == column
    return found

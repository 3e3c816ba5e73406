"""The times of operations, in half the memory.

Operations that are neighbours in a trace happened close to each other. So the native reader cuts a column of times
into blocks, and keeps one time of each in 64 bits and how much later each operation was in 32 (a *frame of
reference*, as columnar databases call it; native/trace/close_times.hpp). Where some block is too long for that, the
column stays as it is.

It reads like the array that it stands for: a number, a slice, a mask or a list of rows gives 64-bit times, and
NumPy's functions take it. What needs the whole column makes it for that moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

BLOCK = 256
"""Rows of a block: as many as in native/trace/close_times.hpp."""
NONE = 2**32 - 1
"""Where a time was not recorded."""


class CloseTimes(NDArrayOperatorsMixin):
    """A column of 64-bit times, of which some may be missing (`model.NO_TIME`)."""

    def __init__(self, base: NDArray[np.int64], after: NDArray[np.uint32]) -> None:
        self.base, self.after = base, after

    def __len__(self) -> int:
        return len(self.after)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            at = np.arange(*rows.indices(len(self)))
        else:
            at = np.asarray(rows)
            if at.dtype == bool:
                at = np.flatnonzero(at)
            elif not at.size:
                at = at.astype(np.int64)
        after = self.after[at]
        at = np.where(at < 0, at + len(self), at)
        times = self.base[at // BLOCK] + after.astype(np.int64)
        return np.where(after == NONE, np.int64(-(2**63)), times)[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole: NDArray[Any] = self[:]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **words: Any) -> Any:
        plain = (np.asarray(x) if isinstance(x, CloseTimes) else x for x in inputs)
        return getattr(function, method)(*plain, **words)

    def __getattr__(self, name: str) -> Any:
        """All else that an array has: its shape, its minimum ..."""
        if name.startswith("__") or name in ("base", "after"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    @property
    def nbytes(self) -> int:
        return self.base.nbytes + self.after.nbytes

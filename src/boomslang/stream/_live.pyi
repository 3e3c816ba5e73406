"""What the database holds now; see live.py. Tables are the three arrays of `Scalars`."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

class Undo:
    """What takes a change back."""

class Live:
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, other: Live, /) -> None:
        """With all that another one holds."""
    def __len__(self) -> int: ...
    def given(self, kt: Bytes, ko: Longs, kd: Bytes, vt: Bytes, vo: Longs, vd: Bytes, /) -> tuple[Ints, Ints]:
        """Of the keys that are known: their numbers, and those of their values."""
    def update(
        self,
        kt: Bytes,
        ko: Longs,
        kd: Bytes,
        vt: Bytes,
        vo: Longs,
        vd: Bytes,
        ids: Ints,
        held: Ints,
        writer: Longs,
        at: Longs,
        fresh: bool,
        /,
    ) -> Undo:
        """Takes these (a value of -1: absent); `fresh`: only what is not known yet."""
    def undo(self, change: Undo, /) -> None: ...
    def forget_absent(self, before: int) -> None:
        """Keys that are absent since before this place, which no change that may be undone speaks of."""
    def get(self, key: bytes, /) -> tuple[Any, int, int] | None:
        """Value (None: absent), writer, place."""
    def set(self, key: bytes, value: bytes | None, writer: int, at: int) -> None: ...
    def present(self) -> list[tuple[bytes, bytes]]:
        """All keys that are there, with their values."""
    def everything(self) -> list[tuple[bytes, bytes | None, int, int]]:
        """All keys that are known: value (None: absent), writer, place."""

def replay(
    points: int,
    apart: bool,
    read_start: Longs,
    read_key: Ints,
    read_value: Ints,
    key_start: Longs,
    write_txn: Ints,
    write_value: Ints,
    initial: Ints,
    pinned: Bytes,
    order: Longs,
    /,
) -> tuple[int, Longs, Longs, Longs, Longs, Longs, Bytes]:
    """What is wrong with the order (0: nothing, 1: a point comes twice, 2: a read is not explained, 3: writers of a key
    overlap); and see native/stream/replay.hpp: the keys whose start was seen, rows of the last write of each key, of
    pinned writers that are the first, and of the last ones that nobody has read; of each row, does it matter?"""

class Written:
    """Pairs of a key and a value that were written, perhaps; see native/stream/written.hpp."""
    def __init__(self, log_bits: int, /) -> None: ...
    def add(
        self, kt: Bytes, ko: Longs, kd: Bytes, vt: Bytes, vo: Longs, vd: Bytes, ids: Ints, held: Ints, /
    ) -> None:
        """These were (a value of -1: deleted)."""
    def perhaps(
        self, kt: Bytes, ko: Longs, kd: Bytes, vt: Bytes, vo: Longs, vd: Bytes, ids: Ints, held: Ints, /
    ) -> Bytes:
        """Of each: may it have been? (A value below -1: may anything have been?)"""

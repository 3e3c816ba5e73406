"""What the database holds now: the state that the windows behind us left.

A window numbers its keys and values itself, so what outlives it is kept by content: of each key that was ever written
or fixed, its value, who wrote it, and where in the whole order that was. This is all that is left of the past, so
memory is that of the keys. Those that were deleted long ago are forgotten, for a queue has a new key for each message.
A window that does not fit may be undone: every change is written down first.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from boomslang.stream import _live
from boomslang.trace.model import Initial, Int32, Int64, Trace, UInt8
from boomslang.trace.scalars import Code, Scalars
from boomslang.trace.writer import JsonTexts


class Held(NamedTuple):
    """What a key holds."""

    value: Code | None
    """None: it is absent."""
    writer: int = -1
    """The place of the transaction that wrote it (see `Forward`); below 0: it was there from the start."""
    at: int = -1
    """Where its commit stands in the order of all points."""


Undo = _live.Undo
"""What takes a change back."""


class LiveKeys:
    """The keys of which anything is known."""

    def __init__(self, mode: Initial, live: _live.Live | None = None) -> None:
        self.mode = mode
        self._live = _live.Live() if live is None else live

    def copy(self) -> LiveKeys:
        return LiveKeys(self.mode, _live.Live(self._live))

    def __len__(self) -> int:
        return len(self._live)

    def get(self, key: Code) -> Held | None:
        found = self._live.get(key)
        return None if found is None else Held(*found)

    def set(self, key: Code, held: Held) -> None:
        self._live.set(key, held.value, held.writer, held.at)

    def given_to(self, trace: Trace) -> Trace:
        """The trace, as one that starts with what is held now. A value that it never speaks of is one that it does not
        name."""
        ids, values = self._live.given(*tables(trace))
        mode = Initial.UNKNOWN if self.mode == Initial.UNKNOWN else Initial.GIVEN
        return replace(trace, initial_mode=mode, initial_key=ids, initial_value=values)

    def told_to(self, trace: Trace) -> Trace:
        """The same, but it has all values then: for what is said of them, and not only asked."""
        trace = self.given_to(trace)
        strange = np.flatnonzero(trace.initial_value >= len(trace.values))
        if not len(strange):
            return trace
        held = [self.get(key) for key in trace.keys.codes(trace.initial_key[strange])]
        codes = [one.value for one in held if one is not None and one.value is not None]
        number = {code: len(trace.values) + i for i, code in enumerate(dict.fromkeys(codes))}
        values = trace.initial_value.copy()
        values[strange] = [number[code] for code in codes]
        return replace(trace, values=Scalars.of_codes([*trace.values.codes(), *number]), initial_value=values)

    def everything(self) -> dict[Code, tuple[Code | None, int, int]]:
        """All keys of which anything is known: value, writer, place."""
        return {key: (value, writer, at) for key, value, writer, at in self._live.everything()}

    def as_json(self, but_for: Container[Code] = ()) -> tuple[bytes, int]:
        """All keys that are there, as the `initial` of a header: for windows with scans, which speak of every key. And
        how many there are."""
        there = [item for item in self._live.present() if item[0] not in but_for]
        keys, values = (
            JsonTexts(Scalars.of_codes(key for key, _ in there)),
            JsonTexts(Scalars.of_codes(value for _, value in there)),
        )
        items = ", ".join(f"[{keys[i]}, {values[i]}]" for i in range(len(there)))
        return f'{{"items": [{items}]}}'.encode(), len(there)

    def update(
        self, trace: Trace, keys: Int32, values: Int32, writer: Int64, at: Int64, *, fresh: bool = False
    ) -> Undo:
        """Takes these, in the numbers of the trace (ABSENT: there is none). `fresh`: only keys that are not
        known yet."""
        ids, held = keys.astype(np.int32), values.astype(np.int32)
        return self._live.update(*tables(trace), ids, held, writer, at, fresh)

    def forget_absent(self, before: int) -> None:
        """Keys that are absent since before this place in the order, where that is what is known of all others, too."""
        if self.mode != Initial.UNKNOWN:
            self._live.forget_absent(before)

    def undo(self, change: Undo) -> None:
        self._live.undo(change)


def tables(trace: Trace) -> tuple[UInt8, Int64, UInt8, UInt8, Int64, UInt8]:
    """Its keys and values, as native code takes them."""
    return (*_arrays(trace.keys), *_arrays(trace.values))


def _arrays(table: Scalars) -> tuple[UInt8, Int64, UInt8]:
    return table.type, table.offset.astype(np.int64, copy=False), table.data

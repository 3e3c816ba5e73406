"""What the database holds now: the state that the windows behind us left.

A window numbers its keys and values itself, so what outlives it is kept by content: of each key that was ever written
or fixed, its value, who wrote it, and where in the whole order that was. This is all that is left of the past, so
memory is that of the keys. A window that does not fit may be undone: every change is written down first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from boomslang.trace.model import ABSENT, Initial, Trace
from boomslang.trace.scalars import Scalars
from boomslang.trace.writer import JsonTexts

Code = bytes
"""A key or a value by content: its type, then its bytes."""


class Held(NamedTuple):
    """What a key holds."""

    value: Code | None
    """None: it is absent."""
    writer: int = -1
    """The place of the transaction that wrote it (see `Forward`); -1: it was there from the start."""
    at: int = -1
    """Where its commit stands in the order of all points."""


def codes(table: Scalars) -> list[Code]:
    """All scalars of a table by content."""
    blob, offset = table.data.tobytes(), table.offset.tolist()
    kinds = [bytes([kind]) for kind in range(8)]
    return [
        kinds[kind] + blob[a:b] for kind, a, b in zip(table.type.tolist(), offset, offset[1:], strict=False)
    ]


def code(table: Scalars, i: int) -> Code:
    """One of them."""
    return bytes([int(table.type[i])]) + table.content(i)


@dataclass(eq=False)
class LiveKeys:
    """The keys of which anything is known."""

    mode: Initial
    held: dict[Code, Held]

    @staticmethod
    def at_first(trace: Trace) -> LiveKeys:
        """As the trace says that it was at first."""
        live = LiveKeys(trace.initial_mode, {})
        live.load(trace)
        return live

    def load(self, trace: Trace) -> None:
        keys, values = trace.initial_key.tolist(), trace.initial_value.tolist()
        for k, v in zip(keys, values, strict=True):
            self.held.setdefault(code(trace.keys, k), Held(code(trace.values, v)))

    def given_to(self, trace: Trace, keys: list[Code]) -> Trace:
        """The trace, as one that starts with what is held now. A value that it never speaks of is one that it does not
        name."""
        number = {value: i for i, value in enumerate(codes(trace.values))}
        unnamed, held = len(trace.values), self.held
        ids, values = [], []
        for i, key in enumerate(keys):
            known = held.get(key)
            if known is not None:
                ids.append(i)
                values.append(ABSENT if known.value is None else number.get(known.value, unnamed))
        return replace(
            trace,
            initial_mode=Initial.UNKNOWN if self.mode == Initial.UNKNOWN else Initial.GIVEN,
            initial_key=np.array(ids, np.int32),
            initial_value=np.array(values, np.int32),
        )

    def as_json(self) -> bytes:
        """All keys that are there, as the `initial` of a header: for windows with scans, which speak of every key."""
        there = [(key, held.value) for key, held in self.held.items() if held.value is not None]
        keys, values = (
            JsonTexts(_table(key for key, _ in there)),
            JsonTexts(_table(value for _, value in there)),
        )
        items = ", ".join(f"[{keys[i]}, {values[i]}]" for i in range(len(there)))
        return f'{{"items": [{items}]}}'.encode()

    def update(self, changes: dict[Code, Held]) -> dict[Code, Held | None]:
        """Takes these, and returns what takes them back."""
        undo: dict[Code, Held | None] = {key: self.held.get(key) for key in changes}
        self.held.update(changes)
        return undo

    def undo(self, undo: dict[Code, Held | None]) -> None:
        for key, old in undo.items():
            if old is None:
                del self.held[key]
            else:
                self.held[key] = old


def _table(scalars: Iterable[Code]) -> Scalars:
    """These as a table. (They may repeat: nobody looks them up in it.)"""
    listed = list(scalars)
    offset = np.zeros(len(listed) + 1, np.int64)
    np.cumsum([len(scalar) - 1 for scalar in listed], out=offset[1:])
    kinds = np.frombuffer(b"".join(scalar[:1] for scalar in listed), np.uint8)
    return Scalars(kinds, offset, np.frombuffer(b"".join(scalar[1:] for scalar in listed), np.uint8))

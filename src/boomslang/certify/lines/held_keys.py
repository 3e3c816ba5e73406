"""What each key holds while an order is replayed, in arrays, by numbers that hold for all blocks of the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.certify.lines.held_lists import register_keys
from boomslang.certify.lines.numbered import Numbered
from boomslang.certify.lines.waiting import Waiting
from boomslang.certify.replay_lists import listed_keys
from boomslang.trace.model import ABSENT, Initial, Trace
from boomslang.trace.scalars import Code

Ints = NDArray[np.int64]

KEY_COLUMNS = ("read_key", "write_key", "low", "high", "excused_key")
VALUE_COLUMNS = ("read_value", "write_value")


class HeldKeys:
    """The state between two points of the order. What nobody speaks of and holds nothing is forgotten."""

    def __init__(self) -> None:
        self.mode = Initial.EMPTY
        self.keys, self.values = Numbered(), Numbered()
        self.value: Ints = np.zeros(0, np.int64)
        """Of each key its value, or ABSENT."""
        self.written: Ints = np.zeros(0, np.int64)
        """Of each key where in the order its last writer committed; below 0: nobody wrote it (and who loaded it)."""
        self.settled = np.zeros(0, bool)
        """Of each key: was it read or written, or its initial value chosen?"""
        self.listed = np.zeros(0, bool)
        """Of each key: is it used as a list?"""
        self.register = np.zeros(0, bool)
        """Of each key: is it used as a register?"""

    def numbers(self, trace: Trace) -> tuple[Ints, Ints]:
        """Of each key and value of a trace its number; and behind the last what stands for -1."""
        keys, values = self.keys.of(trace.keys.codes()), self.values.of(trace.values.codes())
        self._grow()
        return np.append(keys, -1), np.append(values, ABSENT)

    def used(self, trace: Trace, keys: Ints) -> Code | None:
        """How the keys of this trace, which have these numbers, are used; one that is a list and a register."""
        self.listed[keys[:-1][listed_keys(trace)]] = True
        self.register[keys[:-1][register_keys(trace)]] = True
        both = np.flatnonzero((self.listed & self.register)[keys[:-1]])
        return trace.keys.code(int(both[0])) if len(both) else None

    def load(self, trace: Trace, by: Ints | None = None) -> bool:
        """What the trace says that keys held at first; `by`: the numbers of those who loaded it. False: somebody else
        has said it of one of the keys before."""
        keys, values = self.numbers(trace)
        loaded = keys[trace.initial_key]
        who = -2 - by if by is not None and len(by) else np.full(len(loaded), -1, np.int64)
        again = (self.value[loaded] != ABSENT) & (self.written[loaded] != who)
        self.value[loaded], self.written[loaded] = values[trace.initial_value], who
        return not again.any()

    def choose(self, items: list[tuple[Code, Code]]) -> bool:
        """These keys held these values at first. False: one of them had been settled before."""
        keys = self.keys.of(key for key, _ in items)
        values = self.values.of(value for _, value in items)
        self._grow()
        if self.settled[keys].any() or len(np.unique(keys)) < len(keys):
            return False
        self.value[keys], self.settled[keys] = values, True
        return True

    def _grow(self) -> None:
        if (more := len(self.keys) - len(self.value)) > 0:
            more = max(more, len(self.value) // 8)
            self.value = np.append(self.value, np.full(more, ABSENT, np.int64))
            self.written = np.append(self.written, np.full(more, -1, np.int64))
            for name in ("settled", "listed", "register"):
                setattr(self, name, np.append(getattr(self, name), np.zeros(more, bool)))

    def forget(self, waiting: Waiting, since: int) -> bool:
        """Of keys that hold nothing and of values that no key holds, those that nobody waiting speaks of.
        Where writers must not overlap, `since` is the first begin in the order whose transaction has not
        committed. True: keys have new numbers."""
        if self.values.worth_forgetting:
            used = _renumber(self.values, self.value, waiting, VALUE_COLUMNS)
            self.value = np.where(self.value < 0, self.value, np.searchsorted(used, self.value))
        if not self.keys.worth_forgetting:
            return False
        known = len(self.keys)
        matters = (self.value != ABSENT) | (self.written > since)
        if self.mode == Initial.UNKNOWN:
            matters |= self.settled
        used = _renumber(self.keys, np.flatnonzero(matters[:known]), waiting, KEY_COLUMNS)
        for name in ("value", "written", "settled", "listed", "register"):
            setattr(self, name, getattr(self, name)[used])
        return True


def _renumber(table: Numbered, held: Ints, waiting: Waiting, columns: tuple[str, ...]) -> Ints:
    """Numbers anew what is held and what those who wait speak of; the numbers there were."""
    spoken: list[Any] = [held, *(getattr(waiting, name) for name in columns)]
    used = np.unique(np.concatenate(spoken))
    used = used[used >= 0]
    table.keep(used)
    for name in columns:
        column = getattr(waiting, name)
        setattr(waiting, name, np.where(column < 0, column, np.searchsorted(used, column)))
    return used

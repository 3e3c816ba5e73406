"""Keys whose last writers overlapped, and that nobody has read since, of windows that were given up long ago.

Somebody may read such a key after hours, and only then say which of them came last: a key that is written blindly, by
several at a time, and then goes cold. The windows that can be joined again are few, as each keeps its lines. Of one
that is given up stays what it takes to put these writers in another order (last_writers.py): the points between them,
and which keys their transactions read and wrote. When a key is read, written again, or deleted and forgotten, it is
not open any more, and what nobody needs any more is dropped. So memory is that of the keys that are open; and where
it is short, those that are open longest are given up. A read that says otherwise than they stand is *unknown* then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from boomslang.stream.last_writers import Around, Open
from boomslang.stream.live import LiveKeys
from boomslang.trace.scalars import Code

LONGEST = 1_000
"""Points between the writers of a key that is kept."""
MOST = 20_000_000
"""Of what is kept (see `Around.size`), some 5 to 10 bytes each: about a million transactions."""
SWEPT = 10_000
"""Keys more than there were that make it worth to look for those that were written again."""


@dataclass(eq=False)
class Piece:
    """What is left of a window."""

    here: Around
    keys: dict[Code, Open]
    first: int
    """Points that were given out before the window."""
    of: int
    """Keys for which it was made narrow."""

    @cached_property
    def codes(self) -> dict[int, Code]:
        """The keys by number, and perhaps some that were among these."""
        return {found.key: code for code, found in self.keys.items()}


class OpenKeys:
    """All of them."""

    def __init__(self) -> None:
        self._piece: dict[Code, Piece] = {}
        self._gone: set[Code] = set()
        self.size = 0
        """Of all that is kept."""
        self._swept = 0

    def __len__(self) -> int:
        return len(self._piece)

    def __contains__(self, key: Code) -> bool:
        return key in self._piece

    def keys(self) -> Iterator[Code]:
        return iter(self._piece)

    def gone(self) -> Iterator[Code]:
        """Those that the last writer has deleted."""
        return iter(self._gone)

    def find(self, key: Code) -> Piece | None:
        """The window that it was written in."""
        return self._piece.get(key)

    def add(self, here: Around, keys: dict[Code, Open], first: int) -> None:
        """These are open in a window that is given up now, or were written again since. `here`: what stands between
        those who wrote them."""
        near = {code: here.near(key) for code, key in keys.items()}
        keys = {code: key for code, key in near.items() if key is not None}
        if not keys:
            return
        self.settle(keys)
        piece = Piece(here, keys, first, len(keys))
        self.size += here.size
        self._piece.update(dict.fromkeys(keys, piece))
        self._gone.update(code for code, key in keys.items() if key.value is None)
        while self.size > MOST:
            self._give_up_oldest()

    def overwritten(self, keys: Iterable[Code]) -> None:
        """These were written again, and nobody had read them. So it does not matter who was the last before."""
        for code in keys:
            if (piece := self._piece.get(code)) is not None:
                here, key = piece.here, piece.keys[code]
                here.matters[here.row_of(here.of(key.late), key.key)] = 0
                self.settle([code])

    def settle(self, keys: Iterable[Code]) -> None:
        """Who wrote these last is known, or does not matter any more."""
        for code in keys:
            if (piece := self._piece.pop(code, None)) is not None:
                del piece.keys[code]
                self._gone.discard(code)
                if 2 * len(piece.keys) <= piece.of:
                    self._narrow(piece)

    def now(self, code: Code, key: Open | None) -> None:
        """It has another last writer, or is not open any more."""
        if key is None:
            self.settle([code])
            return
        self._piece[code].keys[code] = key
        (self._gone.add if key.value is None else self._gone.discard)(code)

    def _narrow(self, piece: Piece) -> None:
        self.size -= piece.here.size
        piece.here = piece.here.narrowed(piece.keys.values())
        piece.of = len(piece.keys)
        self.size += piece.here.size

    def sweep(self, live: LiveKeys, final: int) -> None:
        """Forgets, now and then, what was written again, before this place in the order: what stands behind it may
        still be decided otherwise."""
        if len(self._piece) <= max(2 * self._swept, self._swept + SWEPT):
            return
        self.overwritten(
            [code for code, piece in self._piece.items() if is_overwritten(live, code, piece, final)]
        )
        self._swept = len(self._piece)

    def give_up_half(self) -> None:
        """For want of memory."""
        left = len(self._piece) // 2
        while len(self._piece) > left:
            self._give_up_oldest()

    def _give_up_oldest(self) -> None:
        piece = next(iter(self._piece.values()))
        self.settle(list(piece.keys))


def is_overwritten(live: LiveKeys, code: Code, piece: Piece, final: int) -> bool:
    """Was it written again, before this place in the order?"""
    held, here = live.get(code), piece.here
    if held is None:  # deleted, before all that may be decided otherwise, and forgotten
        return True
    late = int(here.place[here.of(piece.keys[code].late)])
    return held.writer != late and held.at < final

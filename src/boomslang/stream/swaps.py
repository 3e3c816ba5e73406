"""Later reads say which of several last writers of a key came last: these change places, however long ago it was.

In a window that may still be joined that is done in its order (behind.py), else in what was given out (open_keys.py).
It is looked up here who that may be; the order itself is found, and checked, in last_writers.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from boomslang.levels.level import Level
from boomslang.stream.behind import Behind
from boomslang.stream.counted import Counted
from boomslang.stream.last_writers import FARTHEST, Around, Open, Reordered, overlap, with_last
from boomslang.stream.live import Held, LiveKeys
from boomslang.stream.looked import InWindow
from boomslang.stream.open_keys import LONGEST, OpenKeys, Piece, is_overwritten
from boomslang.stream.replayed import Replayed
from boomslang.stream.window import Question
from boomslang.trace.model import ABSENT, Trace
from boomslang.trace.scalars import Code, Scalars

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

Mend = Callable[[int, Int64], None]
"""Where some points of the order begin, of all that were given out, and from where among these each comes now."""


class Swaps:
    """The keys whose last writers overlapped, and that nobody has read since: of the windows behind, and of those that
    were given out."""

    def __init__(
        self,
        live: LiveKeys,
        level: Level,
        behind: deque[Behind],
        counted: Counted,
        mend: Mend | None,
    ) -> None:
        """`behind`: the windows that may be joined. `mend`: see `Forward`."""
        self.live, self.level, self.counted, self.mend = live, level, counted, mend
        self._behind = behind
        self.open = OpenKeys()
        """Of windows that were given out."""
        self._given = 0  # points in these

    # --- what is open

    def overlapping(self, asked: Question, walked: Replayed) -> dict[Code, Open]:
        """Keys whose last writers overlapped, as far as one can tell, and that nobody has read since."""
        asg, trace = asked.asg, asked.asg.trace
        early, late = asg.write_txn[walked.early], asg.write_txn[walked.late]
        together = overlap(asg.trace, early, late)
        rows, early, late = walked.early[together], early[together], late[together]
        values = _codes(trace.values, asg.write_value[rows])
        last = _codes(trace.values, asg.write_value[walked.late[together]])
        key = np.searchsorted(asg.key_start, rows, side="right") - 1
        found: dict[Code, Open] = {}
        for code, k, wrote, a, left, b in zip(
            trace.keys.codes(key), key.tolist(), values, early.tolist(), last, late.tolist(), strict=True
        ):
            before = found[code].early if code in found else ()
            found[code] = Open(k, b, left, (*before, (wrote, a)))
        return found

    def settled(self, trace: Trace, seen: Int64, ranges: InWindow | None) -> frozenset[Code]:
        """Of these keys, and of those in a range that was looked through, those whose last two writers might have
        changed places. (One that is absent is in the range, and not in the trace.)"""
        others: set[Code] = set().union(*(behind.others for behind in self._behind))
        if not others and not len(self.open):
            return frozenset()
        codes = trace.keys.codes(seen)
        settled = others.intersection(codes)
        settled.update(filter(self.open.__contains__, codes))
        if ranges is not None:
            looked = ranges.but_for(np.zeros(len(trace.keys), bool))
            gone = (key for b in self._behind for key, found in b.others.items() if found.value is None)
            settled.update(key for key in chain(gone, self.open.gone()) if looked.holds(key))
        return frozenset(settled)

    def written_behind(self, asked: Question) -> int:
        """Reads that found what the earlier of two last writers wrote, who could not change places: how many windows
        must be joined to have those writers here."""
        asg, trace = asked.asg, asked.asg.trace
        rows = asg.orphans[(asg.read_value[asg.orphans] >= 0) & ~asked.undecided[asg.read_txn[asg.orphans]]]
        found = list(
            zip(trace.keys.codes(asg.read_key[rows]), trace.values.codes(asg.read_value[rows]), strict=True)
        )
        for many, behind in enumerate(reversed(self._behind), 1):
            if any(key in behind.others and behind.others[key].writer_of(value) >= 0 for key, value in found):
                return many
        return 0

    def give_out(self, behind: Behind, points: int) -> None:
        """A window is not joined any more, of which so many points are given out. What is open in it stays so."""
        if self.mend is not None:
            self.open.settle(behind.settled)
            self.open.overwritten(behind.others)
            unread = {key: found for key, found in behind.others.items() if not self._is_settled(key, 0)}
            stand = [
                found for key, found in unread.items() if self._wrote(key, behind.whole.place[found.late])
            ]
            if stand:
                here = behind.whole.around(stand, LONGEST)
                self.open.add(here, unread, self._given)
        self._given += points

    # --- who changes places

    def swapped(self, asked: Question, final: int) -> bool:
        """Reads that find another value than the last: was it the other of two last writers?"""
        asg, trace = asked.asg, asked.asg.trace
        some = False
        for r in asg.orphans.tolist():
            if asg.read_value[r] < ABSENT:
                continue
            key = trace.keys.code(int(asg.read_key[r]))
            wanted = None if asg.read_value[r] == ABSENT else trace.values.code(int(asg.read_value[r]))
            some |= self.swap(key, wanted, final)
        return some

    def swap(self, key: Code, wanted: Code | None, final: int) -> bool:
        """The key holds what the latest of its last writers wrote; was it another? `final`: the place in the order
        before which nothing is decided otherwise, but for such writers."""
        held = self.live.get(key)
        if held is None:
            return False
        for n, behind in enumerate(self._behind):
            found = behind.others.get(key)
            if found is None or held.writer != behind.whole.place[found.late]:
                continue
            here = behind.whole.around([found], FARTHEST)
            put = self._put_last(here, behind.others, behind.codes, key, wanted, later=n + 1)
            if put is None:
                return False
            change, now = put
            for code, other in now.items():
                if other is None:
                    del behind.others[code]
                else:
                    behind.others[code] = other
            behind.whole.reorder(change)
            return True
        return (piece := self.open.find(key)) is not None and self._mended(piece, key, wanted, final)

    def _mended(self, piece: Piece, key: Code, wanted: Code | None, final: int) -> bool:
        """The same in a window whose order was given out."""
        put = self._put_last(piece.here, piece.keys, piece.codes, key, wanted, later=0, final=final)
        if put is None:
            return False
        change, now = put
        assert self.mend is not None
        was = np.argsort(change.before)
        self.mend(piece.first + int(change.at[0]), was[np.searchsorted(change.before[was], change.points)])
        piece.here = piece.here.reordered(change)
        for code, other in now.items():
            self.open.now(code, other)
        return True

    def _put_last(
        self,
        here: Around,
        keys: dict[Code, Open],
        code_of: dict[int, Code],
        key: Code,
        wanted: Code | None,
        *,
        later: int,
        final: int | None = None,
    ) -> tuple[Reordered, dict[Code, Open | None]] | None:
        """Finds an order in which another of the last writers of the key is the last. Says what that changes: also for
        which keys of the window, of which some may not be open any more. `keys`: those that are. `code_of`: these, and
        perhaps others, by number. `later`: the first window behind it. `final`: it was given out, see `swap`."""
        writer = keys[key].writer_of(wanted)
        if writer < 0 or not self._stands(here, key, keys[key]) or self._is_settled(key, later):
            return None

        def may_be_last(number: int, last: int) -> list[int] | None:
            code = code_of.get(number)
            found = None if code is None else keys.get(code)
            if code is None or found is None or found.late != last or self._is_settled(code, later):
                return []
            if self._stands(here, code, found):
                return [txn for _, txn in found.early]
            return None if final is not None and self._is_overwritten(code, final) else []

        change = with_last(here, self.level, keys[key], writer, may_be_last)
        if change is None:
            return None
        changed: dict[Code, Open | None] = {}
        for number, txn in change.last.items():
            code, held = code_of[number], self.live.get(code_of[number])
            assert held is not None
            now = keys[code].with_late(txn)
            self.live.set(code, Held(now.value, int(here.place[here.of(txn)]), held.at))
            # Nobody has asked for the others, which stay open, unless somebody has read what is the last now.
            changed[code] = None if number in change.read or code == key else now
        self.counted.swaps += 1
        return change, changed

    def _stands(self, here: Around, key: Code, found: Open) -> bool:
        """Has nobody written it since?"""
        late = here.of(found.late)
        return late >= 0 and self._wrote(key, here.place[late])

    def _wrote(self, key: Code, place: int) -> bool:
        """Is what it holds what this transaction wrote?"""
        held = self.live.get(key)
        return held is not None and held.writer == place

    def _is_overwritten(self, key: Code, final: int) -> bool:
        """That is open since long ago: was it written again, in a window that cannot be joined either?"""
        piece = self.open.find(key)
        return piece is not None and is_overwritten(self.live, key, piece, final)

    def _is_settled(self, key: Code, later: int) -> bool:
        """Has somebody read it since, in one of the windows from that one on that may be joined?"""
        return any(key in behind.settled for behind in islice(self._behind, later, None))


def _codes(values: Scalars, of: Int32) -> list[Code | None]:
    """None: absent."""
    if not len(values):
        return [None] * len(of)
    codes = values.codes(np.maximum(of, 0))
    return [None if v == ABSENT else code for v, code in zip(of.tolist(), codes, strict=True)]

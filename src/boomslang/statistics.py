"""What a trace is made of, counted: how large it is, how its keys are fought over, and how much of it is unknown.

How hard a trace is to check hangs on what cannot be seen: the order of a key's writers, and the writer of a read that
several could have written. Written out as superpositions (see `ir/model.py`) they are quadratic; here they are counted
without being written out. All is array code over the trace and its Abstract Semantic Graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import (
    ASG,
    IN,
    INITIAL,
    ITEM,
    MAYBE,
    OUT,
    PREDICATE,
    PRESENT,
    SEVERAL,
    UNKNOWN_INITIAL,
)
from boomslang.distinct import distinct
from boomslang.levels import LEVELS, Level
from boomslang.trace.model import ABSENT, NO_TIME, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.scalars import Scalar

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

HOTTEST = 5
"""Keys that are told."""
_LOWEST = 8
"""Values and patterns are numbers above -_LOWEST."""
_PIECE = 1 << 20
_ROW, _BOARD = 32, 1 << 25
"""See `_own_value`."""


@dataclass(frozen=True)
class Hot:
    """A key that much is done to."""

    key: Scalar
    operations: int
    writers: int


@dataclass(frozen=True)
class Reads:
    """Reads of what others wrote, by transactions that are in the history."""

    total: int
    known: int
    """One transaction can have written it."""
    initial: int
    """Only the initial state can explain it."""
    ambiguous: int
    """Several can have written it."""
    unexplained: int
    """None can."""


@dataclass(frozen=True)
class Repeated:
    """A key whose values repeat, so that reads of it have several candidates."""

    key: Scalar
    reads: int
    """Those with several candidates."""
    writers: int
    values: int
    """Different ones that they wrote."""


@dataclass(frozen=True)
class Ambiguity:
    """Reads that several can have written, of items and of keys that a range showed to be absent."""

    reads: int
    share: float
    """Of all reads."""
    median: float
    """Of the candidates of such a read, the initial state counted as one."""
    most: int
    keys: list[Repeated]
    """Those with most such reads."""


@dataclass(frozen=True)
class Span:
    """The times of one clock."""

    clock: str
    transactions: int
    """With a time."""
    first: int
    last: int


@dataclass(frozen=True)
class Longest:
    """A transaction, and how long it is."""

    transaction: int
    where: str
    length: int


class Statistics:
    """Of a trace and its ASG. Each figure is computed when it is asked for."""

    def __init__(self, asg: ASG) -> None:
        if asg.entries is not None:  # figures are about the keys that the trace has
            from boomslang.asg.entries import without_entries

            asg, _ = without_entries(asg)
        self.asg = asg
        self.trace: Trace = asg.trace

    # --- sizes

    @property
    def outcomes(self) -> dict[str, int]:
        counts = np.bincount(self.trace.txn_outcome, minlength=len(Outcome)).tolist()
        return {outcome.name.lower(): counts[outcome] for outcome in Outcome}

    @property
    def shown_to_have_committed(self) -> int:
        """Transactions of unknown outcome that a read shows to have committed."""
        return int(np.count_nonzero((self.asg.outcome == Outcome.UNKNOWN) & (self.asg.state == IN)))

    @cached_property
    def failed(self) -> Mask:
        failed: Mask = (self.trace.op_flags & np.uint8(Flag.ERROR)) != 0  # else NumPy widens the column
        return failed

    @property
    def operations(self) -> dict[str, int]:
        """Those that did not fail, by kind; kinds that do not occur are left out."""
        return _by_kind(self.trace.op_kind[~self.failed])

    @property
    def failures(self) -> dict[str, int]:
        return _by_kind(self.trace.op_kind[self.failed])

    @property
    def keys(self) -> int:
        """Keys that something was done to; one that only bounds a range is none."""
        return int(np.count_nonzero(self._used_keys))

    @cached_property
    def _used_keys(self) -> NDArray[np.bool_]:
        return _used(len(self.trace.keys), self.trace.op_key, self.trace.item_key, self.trace.initial_key)

    @property
    def lists(self) -> int:
        """Keys that hold a list."""
        kind = self.trace.op_kind
        listed = ~self.failed & ((kind == np.uint8(Kind.APPEND)) | (kind == np.uint8(Kind.LIST)))
        return int(np.count_nonzero(_used(len(self.trace.keys), self.trace.op_key[listed])))

    @property
    def values(self) -> int:
        """Distinct values that were written or read."""
        columns = self.trace.op_value, self.trace.item_value, self.trace.initial_value
        return int(np.count_nonzero(_used(len(self.trace.values), *columns)))

    @property
    def initial(self) -> str:
        return Initial(self.trace.initial_mode).name.lower()

    # --- contention

    @cached_property
    def writers(self) -> Int64:
        """Of each key, how many transactions wrote it that may have committed."""
        per_key = np.diff(self.asg.key_start)
        if self._live is None:
            return per_key
        counted = np.concatenate(([0], np.cumsum(self._live)))
        return counted[self.asg.key_start[1:]] - counted[self.asg.key_start[:-1]]

    @cached_property
    def _live(self) -> Mask | None:
        """Of each write: may its transaction have committed? None: of all."""
        out = self.asg.state == OUT
        if not out[self.asg.write_txn].any():
            return None
        live: Mask = ~out[self.asg.write_txn]
        return live

    @cached_property
    def writers_of_a_key(self) -> tuple[float, int]:
        """Median and maximum over the keys that were written."""
        written = self.writers[self.writers > 0]
        return (float(np.median(written)), int(written.max())) if len(written) else (0.0, 0)

    @cached_property
    def hottest(self) -> list[Hot]:
        return self.hottest_keys(HOTTEST)

    def hottest_keys(self, most: int) -> list[Hot]:
        """The keys that most operations are about."""
        counts = _counts(self.trace.op_key, len(self.trace.keys))
        order = np.argsort(-counts, kind="stable")[:most]
        return [
            Hot(self.trace.keys[k], int(counts[k]), int(self.writers[k])) for k in order.tolist() if counts[k]
        ]

    # --- reads

    @cached_property
    def _read_txn(self) -> NDArray[np.int32]:
        return self.asg.read_txn

    def reads(self, kind: int) -> Reads:
        """Of items (ITEM), or of keys that a range showed to be absent (PREDICATE), its mere bounds left out."""
        writer = self.asg.read_writer
        here = (self.asg.read_kind == kind) & (self.asg.state[self._read_txn] == IN)
        here &= self._used_keys[self.asg.read_key]
        orphans = np.zeros(len(writer), bool)
        orphans[self.asg.orphans] = True
        return Reads(
            total=int(np.count_nonzero(here)),
            known=int(np.count_nonzero(here & (writer >= 0))),
            initial=int(np.count_nonzero(here & (writer == INITIAL))),
            ambiguous=int(np.count_nonzero(here & (writer == SEVERAL))),
            unexplained=int(np.count_nonzero(here & orphans)),
        )

    @cached_property
    def items(self) -> Reads:
        return self.reads(ITEM)

    @cached_property
    def absences(self) -> Reads:
        return self.reads(PREDICATE)

    @cached_property
    def ambiguity(self) -> Ambiguity:
        reads = self.items.ambiguous + self.absences.ambiguous
        if not reads:
            return Ambiguity(0, 0.0, 0.0, 0, [])
        asg, at, candidates = self.asg, self._ambiguous, self.candidates
        per_key = np.bincount(asg.read_key[at], minlength=asg.keys)
        order = np.argsort(-per_key, kind="stable")[:HOTTEST]
        return Ambiguity(
            reads,
            reads / (self.items.total + self.absences.total),
            float(np.median(candidates)),
            int(candidates.max()),
            [
                Repeated(
                    self.trace.keys[asg.trace_key(k)],
                    int(per_key[k]),
                    int(self.writers[k]),
                    self._values_of(k),
                )
                for k in order.tolist()
                if per_key[k]
            ],
        )

    @cached_property
    def _ambiguous(self) -> Int64:
        """The reads that several can have written."""
        here = (self.asg.read_writer == SEVERAL) & (self.asg.state[self._read_txn] == IN)
        return np.flatnonzero(here & self._used_keys[self.asg.read_key])

    @property
    def candidates(self) -> Int64:
        """Of each ambiguous read, how many can have written it."""
        return self._candidates[0][self._ambiguous]

    def _values_of(self, key: int) -> int:
        """How many different values were written to a key, by those that may have committed; absence is none."""
        rows = slice(int(self.asg.key_start[key]), int(self.asg.key_start[key + 1]))
        written = self.asg.write_value[rows]
        if self._live is not None:
            written = written[self._live[rows]]
        return len(distinct(written[written >= 0]))

    @property
    def contradictions(self) -> int:
        """Reads that contradict what their own transaction had written."""
        return len(self.asg.broken)

    # --- superpositions

    @cached_property
    def version_order_pairs(self) -> int:
        """Pairs of writers of one key: which of the two was first? Nothing is open where lists tell it of all."""
        from boomslang.ir.lower import lower

        writers = self.writers.copy()
        writers[list(lower(self.asg, LEVELS[0]).known_orders)] = 0  # told by lists: the same at every level
        return int((writers * (writers - 1) // 2).sum())

    @cached_property
    def read_lineages(self) -> int:
        """Reads whose writer is open: there are several candidates (or none), or the reader may not have committed."""
        count, _, counts = self._candidates
        maybe = self.asg.state[self._read_txn] == MAYBE
        return int(np.count_nonzero(counts & ((count != 1) | maybe)))

    @property
    def superpositions(self) -> int:
        return self.version_order_pairs + self.read_lineages

    def anti_dependencies(self, level: Level) -> int:
        """How many the IR of a level would imply: who read a version comes before who overwrote it."""
        kinds = (ITEM, level.items_see_last), (PREDICATE, level.predicates_see_last)
        found = sum(self._overwriters[kind] for kind, sees_last in kinds if sees_last)
        return found + (self._overwriters["cursor"] if level.cursor and not level.items_see_last else 0)

    @cached_property
    def _overwriters(self) -> dict[int | str, int]:
        """Of all reads of a kind, and of each of their candidates: how many others wrote the key."""
        count, initial, counts = self._candidates
        item = self.asg.read_kind == ITEM
        kinds: dict[int | str, Mask] = {ITEM: item, PREDICATE: ~item, "cursor": item & self._cursor}
        found: dict[int | str, int] = {}
        for kind, which in kinds.items():
            at = np.flatnonzero(counts & which)
            others = self.writers[self.asg.read_key[at]] - self._overwritten[at]
            # The candidate itself is none of them; the initial state is no writer.
            found[kind] = int((count[at] * others - (count[at] - initial[at])).sum())
        return found

    @cached_property
    def by_level(self) -> list[tuple[Level, int, int]]:
        """Of each level its superpositions, and the anti-dependencies that the IR would imply."""
        return [(level, self.superpositions, self.anti_dependencies(level)) for level in LEVELS]

    @cached_property
    def _candidates(self) -> tuple[Int64, Mask, Mask]:
        """Of each read: how many candidates there are, whether the initial state is one, and whether it counts."""
        asg = self.asg
        reader = self._read_txn
        state = asg.state[reader]
        initial = asg.read_writer == INITIAL
        count = (asg.read_writer >= INITIAL).astype(np.int64)
        open_ = np.flatnonzero((state != OUT) & ((asg.read_writer == SEVERAL) | (state == MAYBE)))
        if len(open_):
            key, pattern = asg.read_key[open_], asg.read_value[open_]
            first, last = self._matching(key, pattern)
            writes = last - first
            if self._live is not None:
                live = np.concatenate(([0], np.cumsum(self._live)))
                writes = live[last] - live[first]
            start = asg.initial[key]
            from_initial = (start == UNKNOWN_INITIAL) | np.where(
                pattern == PRESENT, start != ABSENT, start == pattern
            )
            own = self._own_value(reader[open_], key)
            fits = (own > -_LOWEST) & np.where(pattern == PRESENT, own != ABSENT, own == pattern)
            count[open_] = writes + from_initial - fits
            initial[open_] = from_initial
        return count, initial, state != OUT

    def _matching(self, key: NDArray[Any], pattern: NDArray[Any]) -> tuple[Int64, Int64]:
        """Where among the writes those start and end that reads of these keys and patterns may have seen."""
        asg = self.asg
        width = len(self.trace.values) + _LOWEST
        code = asg.write_key.astype(np.int64) * width + asg.write_value + _LOWEST
        base = key.astype(np.int64) * width + _LOWEST
        present = pattern == PRESENT
        first = np.searchsorted(code, np.where(present, base, base + pattern), side="left")
        last = np.where(present, asg.key_start[key + 1], np.searchsorted(code, base + pattern, side="right"))
        return first, last

    def _own_value(self, txn: NDArray[Any], key: NDArray[Any]) -> NDArray[np.int32]:
        """What the transaction itself finally wrote to the key; -_LOWEST: nothing.

        Few transactions read what they write, so nearly all are sifted out before anything is sorted: each
        (transaction, key) has a place on a board on which neighbours in the columns are neighbours too.
        """
        asg = self.asg
        own = np.full(len(txn), -_LOWEST, np.int32)
        size = min(_BOARD, _ROW << max(0, asg.transactions - 1).bit_length())
        asked, written = _place(txn, key, size), _place(asg.write_txn, asg.write_key, size)
        board = np.zeros(size, bool)
        board[asked] = True
        writes = np.flatnonzero(board[written])
        board[:] = False
        board[written[writes]] = True
        reads = np.flatnonzero(board[asked])
        codes = asg.write_txn[writes] * np.int64(asg.keys) + asg.write_key[writes]
        order = np.argsort(codes)
        codes = codes[order]
        wanted = txn[reads] * np.int64(asg.keys) + key[reads]
        at = np.searchsorted(codes, wanted)
        inside = at < len(codes)
        at, wanted, reads = at[inside], wanted[inside], reads[inside]
        found = codes[at] == wanted
        own[reads[found]] = asg.write_value[writes[order[at[found]]]]
        return own

    @cached_property
    def _overwritten(self) -> Mask:
        """Of each read: did its transaction write the key too?"""
        return self._own_value(self._read_txn, self.asg.read_key) > -_LOWEST

    @cached_property
    def _cursor(self) -> Mask:
        """As `ASG.cursor_reads`."""
        marked = self.trace.marked("cursor")
        return self._overwritten if marked is None else self._overwritten & marked[self.asg.read_op]

    # --- time and length

    @cached_property
    def spans(self) -> list[Span]:
        """Of each clock by which something was timed."""
        t = self.trace
        spans = []
        for clock in range(len(t.clocks)):
            here = t.txn_clock == clock
            begin, end = t.txn_begin[here], t.txn_end[here]
            times = np.concatenate((begin[begin != NO_TIME], end[end != NO_TIME]))
            if len(times):
                timed = int(np.count_nonzero((begin != NO_TIME) | (end != NO_TIME)))
                spans.append(Span(t.clocks[clock], timed, int(times.min()), int(times.max())))
        return spans

    @property
    def most_operations(self) -> Longest | None:
        return self._longest(np.diff(self.trace.txn_ops))

    @cached_property
    def longest_time(self) -> Longest | None:
        """By the clock; None if no transaction has both times."""
        t = self.trace
        both = (t.txn_begin != NO_TIME) & (t.txn_end != NO_TIME)
        if not both.any():
            return None
        # As unsigned numbers: 64-bit times may lie further apart than a signed one can say.
        length = np.where(both, t.txn_end.view(np.uint64) - t.txn_begin.view(np.uint64), np.uint64(0))
        return self._longest(length)

    def _longest(self, length: NDArray[Any]) -> Longest | None:
        if not len(length):
            return None
        t = int(np.argmax(length))
        return Longest(t, self.trace.where(t), int(length[t]))


def _by_kind(kinds: NDArray[np.uint8]) -> dict[str, int]:
    counts = _counts(kinds, len(Kind)).tolist()
    return {kind.name.lower(): counts[kind] for kind in Kind if counts[kind]}


def _place(txn: NDArray[Any], key: NDArray[Any], size: int) -> NDArray[np.int32]:
    """On a board of `size` places, a power of two: a row for each transaction, as long as there are rows."""
    place: NDArray[np.int32] = (txn.astype(np.int32) * np.int32(_ROW)) & np.int32(size - 1)
    place |= key.astype(np.int32) & np.int32(_ROW - 1)
    return place


def _counts(ids: NDArray[Any], size: int) -> Int64:
    """How often each id occurs; -1 is none. In pieces: NumPy widens what it counts."""
    counts = np.zeros(size, np.int64)
    for at in range(0, len(ids), _PIECE):
        piece = ids[at : at + _PIECE]
        counts += np.bincount(piece[piece >= 0], minlength=size)
    return counts


def _used(size: int, *columns: NDArray[np.int32]) -> NDArray[np.bool_]:
    seen = np.zeros(size + 1, bool)
    for column in columns:
        seen[column] = True  # -1, none, is the place beyond the last
    return seen[:-1]

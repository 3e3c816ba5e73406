"""For writers of formats that know puts and gets, and little else.

`Registers` picks what such a format can say out of a trace: transactions by session, and their puts and gets.
What it leaves out, or has to say in another way, is in `losses`: a history is converted only if whoever asks
for it has seen that list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from boomslang.distinct import distinct
from boomslang.trace.formats.format import Loss
from boomslang.trace.formats.initial import Mask
from boomslang.trace.formats.losses import unit_lost
from boomslang.trace.formats.spelling import counted
from boomslang.trace.formats.zeros import zero
from boomslang.trace.model import ABSENT, NO_TIME, Flag, Initial, Int32, Kind, Outcome, Trace
from boomslang.trace.scalars import INT, Scalars

FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")

INITIAL = -1
"""In place of a transaction: the one that writes the initial state."""


@dataclass(frozen=True)
class Registers:
    """What a format of puts and gets holds of `trace`; the fields say what else it can say."""

    trace: Trace
    aborted: bool = False
    unknown: bool = False
    failed: bool = False
    empty: bool = False
    """Transactions without operations."""
    deletes: bool = False
    scans: bool = False
    times: bool = False
    """Of transactions."""
    given: bool = False
    """An initial state."""
    zero_given: bool = False
    """An initial state in which keys are 0."""

    # --- what is written ---

    @cached_property
    def kept(self) -> Mask:
        """Of the transactions."""
        outcome = self.trace.txn_outcome
        kept: Mask = (outcome == Outcome.COMMITTED) | ((outcome == Outcome.UNKNOWN) & self.unknown)
        kept |= (outcome == Outcome.ABORTED) & self.aborted
        return kept

    @cached_property
    def rows(self) -> Mask:
        """Of the operations."""
        kinds = [Kind.PUT, Kind.GET, *[Kind.DELETE] * self.deletes, *[Kind.SCAN] * self.scans]
        rows = np.isin(self.trace.op_kind, kinds) & self.owner_kept
        return rows & (~self.errors | (self.failed & (self.trace.op_key >= 0)))

    @cached_property
    def errors(self) -> Mask:
        errors: Mask = (self.trace.op_flags & Flag.ERROR) != 0
        return errors

    @cached_property
    def owner_kept(self) -> Mask:
        return np.repeat(self.kept, np.diff(self.trace.txn_ops))

    @cached_property
    def loaded(self) -> list[tuple[int, int]]:
        """The part of the initial state that has to become a transaction: (key, value)."""
        trace = self.trace
        if trace.initial_mode != Initial.GIVEN or self.given:
            return []
        said = zero(trace.values) if self.zero_given else ABSENT
        pairs = zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True)
        return [(k, v) for k, v in pairs if v != said]

    def sessions(self) -> list[tuple[int, list[int]]]:
        """(session, transactions), in the order of the trace; a transaction without a session gets one.

        The transaction INITIAL, where there must be one, comes first. A new session has the number -1.
        """
        found: dict[int, list[int]] = {}
        alone = -2
        if self.loaded:
            found[-1] = [INITIAL]
        for t in np.flatnonzero(self.kept & ~self._empty if not self.empty else self.kept).tolist():
            session = int(self.trace.txn_session[t])
            if session < 0:
                session, alone = alone, alone - 1
            found.setdefault(session, []).append(t)
        return [(max(session, -1), transactions) for session, transactions in found.items()]

    def operations(self, t: int) -> Iterator[tuple[bool, int, int]]:
        """(is it a write, key, value) of a transaction's puts and gets, and deletes as writes of ABSENT."""
        if t == INITIAL:
            yield from ((True, k, v) for k, v in self.loaded)
            return
        kinds, keys, values, rows, borders = self._lists
        for row in range(borders[t], borders[t + 1]):
            if rows[row]:
                yield kinds[row] != Kind.GET, keys[row], values[row]

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int], list[bool], list[int]]:
        t = self.trace
        return (
            t.op_kind.tolist(),
            t.op_key.tolist(),
            t.op_value.tolist(),
            self.rows.tolist(),
            t.txn_ops.tolist(),
        )

    @cached_property
    def _empty(self) -> Mask:
        before = np.concatenate([[0], np.cumsum(self.rows)])
        empty: Mask = before[self.trace.txn_ops[1:]] == before[self.trace.txn_ops[:-1]]
        return empty

    # --- what is not ---

    def losses(self) -> list[Loss]:
        """Those that all such formats have in common."""
        trace = self.trace
        kind = trace.op_kind
        done = self.owner_kept & ~self.errors
        lost: list[Loss] = []

        def lose(number: int, text: str, noun: str = "transaction", *, fatal: bool = False) -> None:
            if number:
                lost.append(Loss(text.format(counted(number, noun)), fatal))

        def rows(where: Mask) -> int:
            return int(where.sum())

        if not self.unknown:
            lose(rows(trace.txn_outcome == Outcome.UNKNOWN), "{} with an unknown outcome", fatal=True)
        if not self.aborted:
            lose(rows(trace.txn_outcome == Outcome.ABORTED), "{} that aborted")
        if not self.deletes:
            lose(rows((kind == Kind.DELETE) & done), "{}", "delete")
        if not self.scans:
            lose(rows((kind == Kind.SCAN) & done), "{}", "scan")
        lose(rows((kind == Kind.SELECT) & done), "{}", "select")
        lose(rows((kind == Kind.ITERATOR) & done), "{} with all steps", "iterator")
        lose(rows(np.isin(kind, [Kind.APPEND, Kind.LIST]) & done), "{} on lists", "operation")
        lose(rows(self.errors & self.owner_kept & ~self.rows), "{} that failed", "operation")
        if not self.empty:
            lose(rows(self.kept & self._empty), "{} without operations that it could say")
        if not self.times:
            timed = (trace.txn_begin != NO_TIME) | (trace.txn_end != NO_TIME)
            lose(rows(timed), "the times of {}")
        else:
            lost += unit_lost(trace)
        for column in (trace.op_invoke, trace.op_return):
            if column is not None and (column != NO_TIME).any():
                lost.append(Loss("the times of single operations"))
                break
        if any(column is not None and (column >= 0).any() for column in (trace.txn_ctx, trace.op_ctx)):
            lost.append(Loss("hints (ctx)"))
        if trace.initial_mode == Initial.UNKNOWN:
            lost.append(Loss("that the initial state is unknown", fatal=True))
        if not self.sessions():
            lost.append(Loss("everything: no transaction is left", fatal=True))
        lose(len(self.loaded), "the initial state: {} would be written by a transaction of its own", "key")
        lose(rows(self.kept & (trace.txn_session < 0)), "that {} had no session: each gets one of its own")
        return lost

    def used_keys(self) -> Int32:
        """Ids of all keys that are written down."""
        given = self.trace.initial_key if self.trace.initial_mode == Initial.GIVEN else np.empty(0, np.int32)
        return distinct(np.concatenate([self.trace.op_key[self.rows], given]))

    def used_values(self) -> Int32:
        values = self.trace.op_value[self.rows & ~self.errors]
        given = (
            self.trace.initial_value if self.trace.initial_mode == Initial.GIVEN else np.empty(0, np.int32)
        )
        return distinct(np.concatenate([values[values != ABSENT], given]))

    def not_numbers(self, low: int, high: int | None) -> list[Loss]:
        """A loss for keys and one for values that are no integers from `low` to `high`."""
        lost = []
        for noun, table, used in (
            ("key", self.trace.keys, self.used_keys()),
            ("value", self.trace.values, self.used_values()),
        ):
            if wrong := int((~are_integers(table, used, low, high)).sum()):
                span = f"from {low}" + ("" if high is None else f" to {high}")
                lost.append(Loss(f"{counted(wrong, noun)} other than whole numbers {span}", fatal=True))
        return lost

    def absent_reads(self) -> Mask:
        """The operations that read absent."""
        absent: Mask = (self.trace.op_kind == Kind.GET) & (self.trace.op_value == ABSENT)
        absent &= self.rows & ~self.errors
        return absent

    def zeros(self) -> list[Loss]:
        """Losses of formats that write absent as 0: a key may have had both."""
        had = self._had_zero
        if number := int(had[self.trace.op_key[self.absent_reads()]].sum()):
            what = f"{counted(number, 'read')} of an absent key, which would look like a read of the 0 it also had"
            return [Loss(what, fatal=True), *self.unwritten_zeros()]
        return self.unwritten_zeros()

    def unwritten_zeros(self) -> list[Loss]:
        """A loss of formats in which a 0 that nobody wrote is the initial version."""
        trace = self.trace
        zeros = (
            (trace.op_kind == Kind.GET) & (trace.op_value == zero(trace.values)) & self.rows & ~self.errors
        )
        if number := int((~self._had_zero[trace.op_key[zeros]]).sum()):
            what = f"{counted(number, 'read')} of a 0 that nobody wrote, which would look like one of an absent key"
            return [Loss(what, fatal=True)]
        return []

    @cached_property
    def _had_zero(self) -> Mask:
        """The keys that were 0 at some time."""
        trace, nought = self.trace, zero(self.trace.values)
        puts = (trace.op_kind == Kind.PUT) & (trace.op_value == nought) & self.rows & ~self.errors
        return self._keys(trace.op_key[puts], trace.initial_key[trace.initial_value == nought])

    def _keys(self, *ids: Int32) -> Mask:
        mask = np.zeros(len(self.trace.keys), np.bool_)
        mask[np.concatenate(ids)] = True
        return mask

    def positions(self) -> list[Loss]:
        """Losses if sessions and transactions have other names than their positions."""
        sessions = (s for s, _ in self.sessions())
        if all(s >= 0 and self.trace.sessions[s] == str(n) for n, s in enumerate(sessions, 1)):
            return self.name_positions()
        return [Loss("the names of sessions: they are numbered", minor=True), *self.name_positions()]

    def name_positions(self) -> list[Loss]:
        """A loss if transactions have other names than their positions in their session."""
        trace = self.trace
        named = ((t, n) for _, txns in self.sessions() for n, t in enumerate(txns, 1) if t != INITIAL)
        names = ((trace.names[int(trace.txn_name[t])], n) for t, n in named)
        if all(type(name) is int and name == n for name, n in names):
            return []
        return [Loss("the names of transactions: they are numbered", minor=True)]

    def file_names(self) -> list[str]:
        """For formats with one file a session: its name, without a suffix, for each of `sessions()`."""
        names = [self.trace.sessions[s] if s >= 0 else "" for s, _ in self.sessions()]
        if self.sessions_can_name_files():
            taken = set(names)
        else:
            names, taken = [""] * len(names), set()
        fresh = (name for n in count(1) if (name := f"S{n}") not in taken)
        return [name or next(fresh) for name in names]

    def sessions_can_name_files(self) -> bool:
        return all(FILE_NAME.fullmatch(self.trace.sessions[s]) for s, _ in self.sessions() if s >= 0)

    def unnamed_files(self) -> list[Loss]:
        if self.sessions_can_name_files():
            return []
        return [Loss("the names of sessions, which are no names of files: they are numbered", minor=True)]


def are_integers(table: Scalars, ids: Int32, low: int, high: int | None) -> Mask:
    """Which of these scalars are integers in this range?"""
    good: Mask = table.type[ids] == INT
    first = table.data[table.offset[:-1][ids[good]]]
    size = np.diff(table.offset)[ids[good]]
    # Only those that may be beyond a bound need a closer look.
    long = size >= min(len(str(bound)) for bound in (low or 10**18, high or 10**18))
    for i in np.flatnonzero(good)[long | (first == ord("-"))].tolist():
        number = table[int(ids[i])]
        assert isinstance(number, int)
        good[i] = low <= number and (high is None or number <= high)
    return good

"""Phase 2: the Abstract Semantic Graph, what the trace says, whatever the level.

Three parts (section 4.2 of the paper, and its appendix):

- the *write history*: for each key, who finally wrote what (`write_*`, sorted by key, value, transaction);
- the *read lineage*: for each read of somebody else's value, who may have written it (`read_*`, grouped by
  transaction; `read_writer` is the only candidate, INITIAL, SEVERAL or NONE);
- the *known graph*: the edges of reads with one candidate, session order and real-time order, and the order of
  appends that list reads show.

A transaction's *state* is what we know of it: IN the history (it committed, or a read shows that it did), MAYBE
(outcome unknown) or OUT (aborted). Everything is arrays; the pass over the operations is native code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boomslang.asg import _analyse
from boomslang.distinct import distinct
from boomslang.errors import UsageError
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import ABSENT, NO_TIME, Initial, Outcome, Trace

if TYPE_CHECKING:
    from boomslang.asg.entries import Entries
    from boomslang.modules.module import Module

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]

PRESENT = -2
"""A read's pattern: any value, but not absent (a delete that found something)."""
UNKNOWN_INITIAL = -3
"""The initial value of a key that the trace leaves open."""
IMPOSSIBLE = -4
"""A read's pattern: a list that no order of whole transactions makes."""

INITIAL, SEVERAL, NONE = -1, -2, -3
"""`read_writer`, where it is not a transaction."""

IN, MAYBE, OUT = 0, 1, 2
"""`state` of a transaction."""

ITEM, PREDICATE = 0, 1
"""`read_kind`."""


FEW_READS = 64
"""So many are looked up one by one."""

Internal = tuple[Int32, Int32, Int32, Int32, Int32]


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists that were read (native/asg/lists.cpp): rows of transactions, each with all its appends to the key.

    Most reads of a key see the same list, some less of it; so a read is a reference to a list and a length.
    """

    of: Int32
    """Of each read: its list; -1 if it is no list read, or read the empty list. Empty if there are no lists at all."""
    length: Int32
    """Of each read: how many transactions of the list it saw."""
    key: Int32
    start: Int64
    txn: Int32
    """The transactions of list l: `start[l]` up to `start[l + 1]`."""

    def blocks(self, read: int) -> Int32:
        """The transactions in the list that this read saw, in order. None, if it is no list read."""
        if not len(self.of) or self.of[read] < 0:
            return self.txn[:0]
        first = int(self.start[self.of[read]])
        return self.txn[first : first + int(self.length[read])]

    def restrict(self, reads: Int64, new: Int32, key_new: Int32) -> Lists:
        """Those of these reads, with transactions and keys numbered anew."""
        if not len(self.of):
            return self
        of, length = self.of[reads], self.length[reads]
        used = distinct(of[of >= 0])
        longest = np.zeros(len(self.key), np.int64)
        np.maximum.at(longest, of[of >= 0], length[of >= 0])
        rows = [self.txn[self.start[u] : self.start[u] + longest[u]] for u in used.tolist()]
        renumbered = np.full(len(self.key) + 1, -1, np.int32)
        renumbered[used] = np.arange(len(used), dtype=np.int32)
        start = np.concatenate(([0], np.cumsum(longest[used]))).astype(np.int64)
        txn = new[np.concatenate(rows)] if rows else self.txn[:0]
        return Lists(renumbered[of], length, key_new[self.key[used]], start, txn)


@dataclass(frozen=True, eq=False)
class ASG:
    """The Abstract Semantic Graph of a trace, or of a part of it (then `txn_of` says which part)."""

    trace: Trace
    txn_of: Int64
    """The trace's number of each transaction here."""
    outcome: UInt8
    state: UInt8

    write_txn: Int32
    write_value: Int32
    write_op: Int32
    key_start: Int64
    """Of each key, where its writes start."""

    read_start: Int64
    """Of each transaction, where its reads start."""
    read_key: Int32
    read_value: Int32
    """A value, ABSENT or PRESENT."""
    read_op: Int32
    read_kind: UInt8
    read_writer: Int32

    initial: Int32
    """Of each key."""
    orphans: Int64
    """Reads without any candidate: the trace breaks every level from read committed up."""
    forced_by: Int64
    """Of a transaction of unknown outcome that is IN: the read that shows it. Else -1."""
    initial_by: Int64
    """Of a key whose initial value is unknown: the read that fixes it. Else -1. Empty if none is unknown."""

    internal: Internal
    """Reads that contradict the transaction's own writes: transaction, operation, key, seen, own value."""
    intermediate: tuple[Int32, Int32, Int32, Int32]
    """Writes that their own transaction overwrote: transaction, key, value, operation; sorted like the writes."""

    lists: Lists
    list_from: Int32
    list_to: Int32
    list_read: Int64
    """The order of appends, as edges between transactions, and of each edge a read that shows it (-1: none does, but it
    is known: see stream/window.py)."""
    doubtful: Int32
    """Transactions of unknown outcome whose list reads would say more about that order if they committed."""

    ordered: NDArray[np.bool_]
    """Has the transaction session and time edges? (In a part, only those that were kept.)"""
    supposed: dict[int, int] = field(default_factory=dict)
    """See `suppose`."""
    key_of: Int64 | None = None
    """The trace's number of each key here; None: the same."""
    own_reads: tuple[int, int] = (0, 0)
    """Reads of keys that their transaction had written: how many saw its own value, and how many another."""
    modules: tuple[Module, ...] = ()
    """What else is known: applied when this is lowered."""
    notes: tuple[str, ...] = ()
    """What the modules that changed it have to say."""
    entries: Entries | None = None
    """The keys beyond the trace's own, where it has selects."""
    part_of: Int64 | None = None
    """Where transactions were split: of each transaction of the trace, the number of the one it is a part of."""

    @property
    def transactions(self) -> int:
        return len(self.outcome)

    @property
    def keys(self) -> int:
        return len(self.initial)

    @cached_property
    def write_key(self) -> Int32:
        """Of each write, its key: made when somebody asks, for the long traces of which nobody does."""
        return np.repeat(np.arange(self.keys, dtype=np.int32), np.diff(self.key_start))

    @property
    def read_txn(self) -> Int32:
        """Of each read, its transaction."""
        counts = np.diff(self.read_start)
        return np.repeat(np.arange(self.transactions, dtype=np.int32), counts)

    def writes_of(self, key: int, pattern: int) -> slice:
        """The writes of a key that a read with this pattern may have seen (whoever wrote them)."""
        low, high = int(self.key_start[key]), int(self.key_start[key + 1])
        values = self.write_value[low:high]
        if pattern == PRESENT:
            return slice(low + int(np.searchsorted(values, ABSENT, side="right")), high)
        first, last = (
            np.searchsorted(values, [pattern], side="left"),
            np.searchsorted(values, [pattern], side="right"),
        )
        return slice(low + int(first[0]), low + int(last[0]))

    def candidates(self, read: int) -> tuple[list[int], bool]:
        """Who may have written what this read saw: transactions, and whether the initial state may have."""
        reader = int(np.searchsorted(self.read_start, read, side="right")) - 1
        key, pattern = int(self.read_key[read]), int(self.read_value[read])
        writers = self.write_txn[self.writes_of(key, pattern)].tolist()
        initial = int(self.initial[key])
        from_initial = initial == UNKNOWN_INITIAL or (
            initial != ABSENT if pattern == PRESENT else initial == pattern
        )
        return [w for w in writers if w != reader and self.state[w] != OUT], from_initial

    def cursor_reads(self) -> NDArray[np.bool_]:
        """Which reads are of a key that their transaction also writes; if operations are marked as cursor reads
        (`"ctx": {"cursor": true}`), only those."""
        txns = np.int64(max(1, self.transactions))
        written = self.write_key * txns + self.write_txn
        mine = np.isin(self.read_key * txns + self.read_txn, written)
        marked = self.trace.marked("cursor")
        return mine if marked is None else mine & marked[self.read_op]

    @cached_property
    def is_whole(self) -> bool:
        """Are these all transactions of the trace, under its own numbers?"""
        of = self.txn_of
        if len(of) != len(self.trace) or not len(of):
            return len(of) == len(self.trace)
        return int(of[-1] - of[0]) == len(of) - 1 and bool((of[1:] > of[:-1]).all())

    def of_trace(self, column: NDArray[Any]) -> NDArray[Any]:
        """Of each transaction here what a column of the trace says. Not a copy where none is needed."""
        return column if self.is_whole else column[self.txn_of]

    # --- the known graph, besides the reads' edges

    def session_edges(self) -> tuple[Int64, Int64]:
        """Session order as few edges: from the last committed transaction of the session before it to each
        transaction that is not out. None leaves a transaction of unknown outcome: its error was no return."""
        session = self.trace.txn_session[self.txn_of]
        t = np.flatnonzero((session >= 0) & (self.state != OUT) & self.ordered)
        few = (
            len(self.trace.sessions) <= np.iinfo(np.int16).max
        )  # which are sorted digit by digit, five times as fast
        t = t[np.argsort(session[t].astype(np.int16) if few else session[t], kind="stable")]
        committed = np.where(self.outcome[t] == Outcome.COMMITTED, np.arange(len(t)), -1)
        previous = np.concatenate(([-1], np.maximum.accumulate(committed)[:-1])) if len(t) else committed
        ok = previous >= 0
        ok[ok] = session[t[previous[ok]]] == session[t[ok]]
        return t[previous[ok]], t[ok]

    def time_edges(
        self, *, by_log: bool = False, slack: int = 0
    ) -> tuple[list[tuple[Int64, Int64, Int64, Int64, Int64]], int]:
        """Real-time order with O(n) helper nodes on a time line for each clock; or the log's, by its lines.

        A log is written a moment after things happened, so its lines order only what is some way apart. With `slack`,
        times too order only what is more than that apart.

        For each clock: (sources, helper each enters, helper chain, targets, helper each leaves), helpers numbered
        from 0 over all clocks. A helper stands for "all transactions that returned before this moment"; there is
        one for each moment at which some transaction begins and a new one has returned.
        """
        lines = []
        helpers = 0
        ids = self.txn_of
        clock = self.trace.txn_clock[ids]
        begin, end = self.trace.txn_begin[ids], self.trace.txn_end[ids]
        if by_log:
            clock = self.trace.txn_file[ids]
            lines_of = (self.trace.txn_begin_line[ids], self.trace.txn_end_line[ids])
            begin, end = (np.where(line > 0, line.astype(np.int64), NO_TIME) for line in lines_of)
            slack = 16 * max(1, len(self.trace.sessions))
        if slack:
            # What is beyond the last number is before no begin.
            last = np.iinfo(np.int64).max
            end = np.where(end != NO_TIME, np.where(end > last - slack, last, end + slack), NO_TIME)
        for c in distinct(clock):
            here = (clock == c) & self.ordered
            sources = np.flatnonzero(here & (self.outcome == Outcome.COMMITTED) & (end != NO_TIME))
            targets = np.flatnonzero(here & (self.state != OUT) & (begin != NO_TIME))
            sources = sources[np.argsort(end[sources], kind="stable")]
            returned = np.searchsorted(end[sources], begin[targets], side="left")
            targets, returned = targets[returned > 0], returned[returned > 0]
            moments = distinct(returned)
            if not len(moments):
                continue
            enters = np.searchsorted(moments, np.arange(1, moments[-1] + 1), side="left") + helpers
            leaves = np.searchsorted(moments, returned) + helpers
            chain = np.arange(helpers, helpers + len(moments))
            lines.append((sources[: moments[-1]], enters, chain, targets, leaves))
            helpers += len(moments)
        return lines, helpers

    def restrict(self, transactions: Int64, reads: Int64, internal: Int64 | None = None) -> ASG:
        """The weaker problem that keeps only these transactions and these of their reads (and of `internal`).

        A transaction that is not kept has an unknown outcome, no reads and no session or time edges; it stays a
        candidate. One that is no candidate of a kept read could be placed last, so it is left out altogether.
        """
        keep = np.zeros(self.transactions, bool)
        keep[transactions] = True
        needed = keep.copy()
        needed[self._who_may_have_written(reads)] = True
        for r in reads.tolist() if len(self.lists.of) else ():
            needed[self.lists.blocks(r)] = True
        old = np.flatnonzero(needed)
        new = np.full(self.transactions, -1, np.int32)
        new[old] = np.arange(len(old), dtype=np.int32)
        writes = np.flatnonzero(needed[self.write_txn])
        # Few keys are left of perhaps a million: number them anew.
        used = distinct(np.concatenate([self.write_key[writes], self.read_key[reads], self.internal[2]]))
        key_new = np.full(self.keys, -1, np.int32)
        key_new[used] = np.arange(len(used), dtype=np.int32)
        counts = np.bincount(key_new[self.write_key[writes]], minlength=len(used))
        reads = np.sort(reads)
        read_txn = np.searchsorted(self.read_start, reads, side="right") - 1
        reads = reads[keep[read_txn]]
        per_txn = np.bincount(new[read_txn[keep[read_txn]]], minlength=len(old))
        outcome = np.where(keep, self.outcome, np.uint8(Outcome.UNKNOWN))[old].astype(np.uint8)
        part = replace(
            self,
            txn_of=self.txn_of[old],
            outcome=outcome,
            write_txn=new[self.write_txn[writes]],
            write_value=self.write_value[writes],
            write_op=self.write_op[writes],
            key_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            read_start=np.concatenate(([0], np.cumsum(per_txn))).astype(np.int64),
            read_key=key_new[self.read_key[reads]],
            read_value=self.read_value[reads],
            read_op=self.read_op[reads],
            read_kind=self.read_kind[reads],
            initial=unsettled(self)[used],
            initial_by=_EMPTY64,
            lists=self.lists.restrict(reads, new, key_new),
            internal=self._internal_part(internal, keep, new, key_new),
            intermediate=_EMPTY4,
            list_from=_EMPTY,
            list_to=_EMPTY,
            list_read=_EMPTY64,
            ordered=(self.ordered & keep)[old],
            key_of=used if self.key_of is None else self.key_of[used],
        )
        return linked(part)

    def only_reads(self, kept: Int64 | NDArray[np.bool_]) -> ASG:
        """The ASG with these reads (numbers, or a mask), and no others. Not linked: candidates and states are still the
        old ones."""
        counts = np.bincount(self.read_txn[kept], minlength=self.transactions)
        lists = self.lists
        if len(lists.of):
            lists = replace(lists, of=lists.of[kept], length=lists.length[kept])
        return replace(
            self,
            read_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            read_key=self.read_key[kept],
            read_value=self.read_value[kept],
            read_op=self.read_op[kept],
            read_kind=self.read_kind[kept],
            lists=lists,
        )

    def _who_may_have_written(self, reads: Int64) -> Int32:
        """All who wrote what one of these reads saw; some perhaps several times."""
        key, pattern = self.read_key[reads].astype(np.int64), self.read_value[reads].astype(np.int64)
        if len(reads) < FEW_READS:
            slices = [self.writes_of(k, v) for k, v in zip(key.tolist(), pattern.tolist(), strict=True)]
            return np.concatenate([self.write_txn[:0], *(self.write_txn[s] for s in slices)])
        # Writes are sorted by key and value: as one number, all reads are looked up at once, and what several saw once.
        values = np.int64(len(self.trace.values) + 8)
        _, which = np.unique(key * values + pattern + 4, return_index=True)
        key, pattern = key[which], pattern[which]
        code = self.write_key * values + (self.write_value + 4)
        present = pattern == PRESENT
        low = np.searchsorted(code, key * values + np.where(present, ABSENT + 1, pattern) + 4, side="left")
        high = np.searchsorted(code, key * values + np.where(present, values - 5, pattern) + 4, side="right")
        counts = high - low
        at = np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        found: Int32 = self.write_txn[at]
        return found

    def _internal_part(
        self, kept: Int64 | None, keep: NDArray[np.bool_], new: Int32, key_new: Int32
    ) -> Internal:
        if kept is None or not len(kept):
            return _EMPTY5
        kept = kept[keep[self.internal[0][kept]]]
        txn, op, key, seen, own = (column[kept] for column in self.internal)
        return new[txn], op, key_new[key], seen, own

    @property
    def broken(self) -> Int64:
        """Those `internal` reads of transactions that are in: the trace breaks every level."""
        return np.flatnonzero(self.state[self.internal[0]] == IN)

    @property
    def given(self) -> Trace:
        """The trace, without the entries among its keys."""
        return self.trace if self.entries is None else self.entries.trace

    def entry(self, key: int) -> int | None:
        """The place of a key among the entries; None if it is one of the trace's own."""
        key, entries = self.trace_key(key), self.entries
        return None if entries is None or key < entries.first else key - entries.first

    def base_key(self, key: int) -> int:
        """The trace's key that a key is, or that settles it."""
        place, entries = self.entry(key), self.entries
        return self.trace_key(key) if place is None or entries is None else int(entries.base[place])

    def pair(self, read: int) -> tuple[int, int]:
        """What a core calls a read: its operation, and the trace's number of its key (or of what a select asked)."""
        return int(self.read_op[read]), self.pair_key(int(self.read_key[read]))

    def part_key(self, key: int) -> int | None:
        """Of an entry, what a core calls what is asked of its key alone."""
        place, entries = self.entry(key), self.entries
        return None if place is None or entries is None else entries.first + int(entries.base[place])

    def pair_key(self, key: int) -> int:
        """What a core calls a key."""
        key, entries = self.trace_key(key), self.entries
        return key if entries is None or key < entries.first else int(entries.number[key - entries.first])

    def witness_key(self, keys: Int32) -> NDArray[np.signedinteger[Any]]:
        """What a witness calls these keys (of the whole trace): of an entry, the key that settles it."""
        entries = self.entries
        if entries is None:
            return keys
        base = np.concatenate([np.arange(entries.first), entries.first + entries.base])
        found: NDArray[np.int64] = base[keys]
        return found

    def trace_key(self, key: int) -> int:
        """The trace's number of a key."""
        return key if self.key_of is None else int(self.key_of[key])


_EMPTY = np.zeros(0, np.int32)
_EMPTY64 = np.zeros(0, np.int64)
_EMPTY4 = (_EMPTY,) * 4
_EMPTY5 = (_EMPTY,) * 5


_SUPPOSED_IN = 3
"""In place of an outcome: unknown, but suppose that it committed."""


def suppose(asg: ASG, transactions: list[int], *, committed: bool) -> ASG:
    """The ASG if these transactions of unknown outcome committed, or if they did not."""
    outcome = _SUPPOSED_IN if committed else int(Outcome.ABORTED)
    return linked(replace(asg, supposed={**asg.supposed, **dict.fromkeys(transactions, outcome)}))


def unsettled(asg: ASG) -> Int32:
    """The initial values, without those that reads fixed: the reads that are left must fix them again."""
    if not len(asg.initial_by):
        return asg.initial
    return np.where(asg.initial_by >= 0, UNKNOWN_INITIAL, asg.initial).astype(np.int32)


def linked(part: ASG, seconds: float = 0.0, megabytes: float = 0.0, jobs: int = 1) -> ASG:
    """The ASG with candidates, states and the order of appends found anew. What else is known of the order of writers
    (see `list_read`) stays."""
    # A transaction that contradicts itself cannot have committed, if we do not know that it did.
    outcome = part.outcome
    impossible = part.internal[0][outcome[part.internal[0]] == Outcome.UNKNOWN]
    if len(impossible) or part.supposed:
        outcome = outcome.copy()
        outcome[list(part.supposed)] = list(part.supposed.values())
        outcome[impossible] = Outcome.ABORTED
    part = replace(part, initial=unsettled(part), initial_by=_EMPTY64)
    lists = part.lists
    links: dict[str, Any] = _analyse.link(
        outcome,
        part.read_start,
        part.read_key,
        part.read_value,
        part.key_start,
        part.write_txn,
        part.write_value,
        part.initial,
        lists.of,
        lists.length,
        lists.key,
        lists.start,
        lists.txn,
        seconds,
        megabytes,
        jobs,
    )
    if links["stopped"]:
        raise LimitReached(links["stopped"])
    given = np.flatnonzero(part.list_read < 0)
    for name in ("list_from", "list_to", "list_read") if len(given) else ():
        links[name] = np.concatenate([links[name], getattr(part, name)[given]])
    return replace(
        part,
        state=links["state"],
        read_writer=links["writer"],
        initial=links["init"],
        orphans=links["orphans"],
        forced_by=links["forced_by"],
        initial_by=links["init_by"],
        list_from=links["list_from"],
        list_to=links["list_to"],
        list_read=links["list_read"],
        doubtful=links["doubtful"],
    )


OWN_WRITES = ("must", "external", "either")
"""What a read sees of its own transaction's earlier writes, see `build_asg`."""


def build_asg(
    trace: Trace,
    *,
    seconds: float | None = None,
    megabytes: float | None = None,
    own_writes: str = "must",
    jobs: int = 1,
) -> ASG:
    """Parse a trace into its Abstract Semantic Graph; raises `LimitReached` if that takes too much.

    `own_writes`: a read of a key that its transaction has written sees that write (`must`), sees what others wrote as
    if it had not written (`external`), or `either`. It holds key by key inside scans and iterators, and for deletes.
    `jobs`: threads that may work on it.
    """
    start = time.monotonic()
    if max(len(trace.op_kind), 2 * len(trace)) >= 2**30:
        raise UsageError(f"{len(trace.op_kind)} operations are more than one check can take; split the trace")
    initial = np.full(
        len(trace.keys), UNKNOWN_INITIAL if trace.initial_mode == Initial.UNKNOWN else ABSENT, dtype=np.int32
    )
    initial[trace.initial_key] = trace.initial_value
    found = _analyse.extract(
        len(trace.keys),
        trace.txn_ops,
        trace.txn_outcome,
        trace.op_kind,
        trace.op_flags,
        trace.op_key,
        trace.op_value,
        trace.op_range if len(trace.range_lo) else _EMPTY,  # no copy of a column that is not really there
        trace.range_lo,
        trace.range_hi,
        trace.range_items,
        trace.item_key,
        trace.item_value,
        trace.key_rank,
        trace.keys.type,
        initial,
        OWN_WRITES.index(own_writes),
        seconds or 0.0,
        megabytes or 0.0,
        jobs,
    )
    if found["stopped"]:
        raise LimitReached(found["stopped"])
    write_txn, write_value, write_op, key_start = found["final"]
    read_start, read_key, read_value, read_op, read_kind = found["reads"]
    unlinked = ASG(
        trace=trace,
        txn_of=np.arange(len(trace), dtype=np.int64),
        outcome=trace.txn_outcome,
        state=trace.txn_outcome,
        write_txn=write_txn,
        write_value=write_value,
        write_op=write_op,
        key_start=key_start,
        read_start=read_start,
        read_key=read_key,
        read_value=read_value,
        read_op=read_op,
        read_kind=read_kind,
        read_writer=_EMPTY,
        initial=initial,
        orphans=_EMPTY64,
        forced_by=_EMPTY64,
        initial_by=_EMPTY64,
        lists=Lists(*found["lists"]),
        list_from=_EMPTY,
        list_to=_EMPTY,
        list_read=_EMPTY64,
        doubtful=_EMPTY,
        internal=found["internal"],
        intermediate=found["intermediate"],
        ordered=np.ones(len(trace), bool),
        own_reads=(int(found["own_seen"]), int(found["own_missed"])),
    )
    if trace.op_where is not None:
        from boomslang.asg.predicates import with_predicates

        unlinked = with_predicates(unlinked, own_writes)
    left = 0.0 if seconds is None else max(1e-3, seconds - (time.monotonic() - start))
    return linked(unlinked, left, megabytes or 0.0, jobs)

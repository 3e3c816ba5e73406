"""Is a window's core refuted by all that was recorded?

A window that has no order shows little: the state that it starts with was a choice. So its core (a few transactions,
and what they read) is asked as a part of the whole trace, with every transaction that may have written what one of its
reads saw, whenever that was. These are found by going through the files once more, block by block. What is neither in
the core nor such a writer may be left out of any order, so a core that is refuted with these refutes the trace
(solve/parts.py); it is explained as ever.

Of what was deleted (keep.py) nobody can be asked, so a read of what one of those may have written counts for nothing.

A read of something old may contradict only what the window started with. So whoever wrote what stands in a key of the
core when the window starts is asked, too. If that does not do, and no window is left to join, all who ever wrote the
core's keys are asked, with what they saw of them: a value that was overwritten, or deleted, long ago hangs on these.
And who of several came last may hang on who read a key since, and on the other keys that they wrote. So at last all
who wrote or read the core's keys, or another key that a writer of those wrote.

Where values repeat, a window is mostly refuted by a count, or by the states that can be reached (solve/repeated.py).
Then so is the whole, or it is not known: what is counted is all who ever wrote those keys, and nothing is searched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, PRESENT, UNKNOWN_INITIAL, linked
from boomslang.distinct import distinct, union
from boomslang.explain.parts import Parts
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.parts import reads_of, refuted_part
from boomslang.solve.repeated import refute_counted, refute_repeated
from boomslang.solve.solution import Limits, Solution
from boomslang.stream.live import LiveKeys
from boomslang.stream.window import Question, places
from boomslang.trace.blocks import SMALLEST_READ, Block, Blocks, Files, Lines, Source
from boomslang.trace.model import ABSENT, Kind, Outcome, Trace
from boomslang.trace.scalars import Code
from boomslang.verdict import INVALID, Verdict

if TYPE_CHECKING:
    from boomslang.stream.forward import Forward
    from boomslang.stream.keep import Forgotten

Int64 = NDArray[np.int64]

BYTES = 16 << 20
MOST = 100_000
"""Transactions that a core is asked with."""
MOST_COUNTED = 1_000_000
"""The same of one that is only counted."""
FEW = 1_000
"""Transactions of a core that is searched although a count has refuted the window, and not the whole."""
OFTEN = 3
"""Cores that are asked although the window alone does not refute them."""
CONFLICTS = 20_000
SECONDS = 10.0
"""For one search, of which nothing more hangs on than when an answer is there."""

WRITES = (Kind.PUT, Kind.DELETE, Kind.APPEND)

Wanted = tuple[Code, Code | None]
Read = tuple[int, ...] | None
"""Lines of each file; None: all that there are."""


@dataclass(frozen=True)
class Core:
    """What is asked, by what it is in every window."""

    transactions: frozenset[int]
    """Places of those that the window's refutation used, and of those that wrote what it started with."""
    reads: frozenset[tuple[int, int, Code]]
    """Those that it used: (place, number of the operation in its transaction, key)."""
    internal: frozenset[int]
    """Places of transactions that contradict themselves."""
    around: Int64
    """Places of all transactions of the window: there may be a smaller core among them, which is told instead."""
    values: frozenset[Wanted]
    """What any of those read: key and value, or absent."""
    present: frozenset[Code]
    """Keys of reads that saw something."""
    lists: frozenset[Code]
    """Keys of which any of those read the list."""
    keys: frozenset[Code] = frozenset()
    """Keys of which all who ever wrote them are asked, with what they read of these keys."""
    readers: bool = False
    """And all who ever read them?"""
    counted: bool = False
    """Is only asked what needs no search?"""
    lines: Read = None
    """So many lines of each file had been read when it was asked: only what stands in these was surely read from
    somebody who is on file. (Files may grow, and are looked at one after the other; see so_far.py.) None: all."""

    @property
    def most(self) -> int:
        """Transactions that it may be asked with."""
        return MOST_COUNTED if self.counted else MOST

    def of_keys(self, lines: Read) -> Core:
        """With all who ever wrote the keys of its reads."""
        return replace(self, keys=frozenset(key for *_, key in self.reads), lines=lines)

    def to_count(self, lines: Read) -> Core:
        """What is needed to count, and nobody else of the window."""
        around = np.array(sorted(self.transactions), np.int64)
        none: frozenset[Wanted] = frozenset()
        few = replace(self, around=around, values=none, present=frozenset(), lists=frozenset(), counted=True)
        return few.of_keys(lines)


class Past:
    """All that was recorded, to be gone through when a window fails. Called by `Forward`."""

    def __init__(
        self,
        sources: Callable[[ExitStack], list[Source]],
        limits: Limits | None = None,
        forgotten: Forgotten | None = None,
        *,
        growing: bool = False,
    ) -> None:
        """`growing`: the files may be longer than what has been read of them, and grow."""
        self.sources, self.limits, self.forgotten = sources, limits or Limits(), forgotten
        self.growing = growing
        self.bytes, self.smallest = BYTES, SMALLEST_READ
        self.in_vain = 0

    def __call__(self, forward: Forward, asked: Question, found: Solution) -> Verdict | None:
        started = time.monotonic()
        if forward.at_once:
            return self._all_of_it(forward, asked)
        blocks, lines = forward.blocks, None
        if self.growing:
            lines = tuple(blocks.lines_read(f) for f in range(len(blocks.sources)))
        if found.proof is not None:
            core = self._core(forward, asked, found)
            verdict = self._asked(forward, core.to_count(lines), started)
            if verdict is not None or forward.can_go_back or len(core.transactions) > FEW:
                return verdict
        elif not len(asked.everything.broken) and not self._plausible(asked, found):
            # Rather a wrong choice in one of the windows before than a violation.
            if forward.can_go_back or self.in_vain >= OFTEN:
                return None
            self.in_vain += 1
        core = self._core(forward, asked, found)
        verdict = self._asked(forward, core, started)
        if verdict is None and not forward.can_go_back:
            # What was read may have been overwritten long ago: then it hangs on who wrote since, and what they saw.
            core = core.of_keys(lines)
            verdict = self._asked(forward, core, started)
            if verdict is None and (keys := self._written_beside(core)) is not None:
                verdict = self._asked(forward, replace(core, keys=keys, readers=True), started)
        return verdict

    def _written_beside(self, core: Core) -> frozenset[Code] | None:
        """All keys that those wrote who ever wrote one of these; None: that would be too much."""
        block = self._gone_through(core)
        if block is None:
            return None
        trace, chosen = block.trace, _wrote_keys(block, core)
        rows = (
            np.isin(trace.op_kind, WRITES) & (trace.op_key >= 0) & np.repeat(chosen, np.diff(trace.txn_ops))
        )
        return core.keys | frozenset(trace.keys.codes(distinct(trace.op_key[rows])))

    def _asked(self, forward: Forward, core: Core, started: float) -> Verdict | None:
        forward.counted.asked += 1
        block = self._gone_through(core)
        if block is None:
            return None
        assert forward.initial is not None
        return self.verdict(forward.initial, forward.level, block, core, started)

    def _all_of_it(self, forward: Forward, asked: Question) -> Verdict | None:
        """The window is the whole trace: it is asked as ever."""
        from boomslang.checker import Checker

        trace = asked.block.with_places(asked.everything.trace)
        checker = Checker(trace, timeout=self.limits.seconds, memory=self.limits.megabytes)
        verdict = checker.check(forward.level)
        return verdict if verdict.invalid else None

    def _core(self, forward: Forward, asked: Question, found: Solution) -> Core:
        asg, trace = asked.everything, asked.everything.trace
        parts = Parts.used_by(asked.asg, found)
        txns = parts.transactions
        pinned = txns[asked.pinned[txns]]
        wanted = distinct(
            np.concatenate(
                [
                    self._among_all(asked, parts.reads),
                    reads_of(IR(asg, asked.ir.level, asked.ir.graph), pinned),
                ]
            )
        )
        place = asked.place
        transactions = {int(place[t]) for t in txns.tolist()}
        assert forward.live is not None
        reader, ordinal = asg.read_txn, asg.read_op - trace.txn_ops[asg.read_txn]
        keys, values = trace.keys.codes(), trace.values.codes()
        spoken = [keys[k] for k in asg.read_key[wanted].tolist()]
        core_reads = zip(place[reader[wanted]].tolist(), ordinal[wanted].tolist(), spoken, strict=True)
        for key in set(spoken):
            held = forward.live.get(key)
            if held is not None and held.writer >= 0:
                transactions.add(held.writer)
        around = asg.read_txn
        inside = np.flatnonzero(~asked.undecided[around])
        seen = list(zip(asg.read_key[inside].tolist(), asg.read_value[inside].tolist(), strict=True))
        return Core(
            frozenset(transactions),
            frozenset(core_reads),
            frozenset(int(place[asg.internal[0][i]]) for i in asg.broken.tolist()),
            place[~asked.undecided],
            frozenset((keys[k], None if v == ABSENT else values[v]) for k, v in seen if v >= ABSENT),
            frozenset(keys[k] for k, v in seen if v == PRESENT),
            frozenset(keys[k] for k in distinct(trace.op_key[trace.op_kind == Kind.LIST]).tolist()),
        )

    @staticmethod
    def _numbered(asg: ASG, place: Int64, core: Core) -> tuple[Int64, Int64]:
        """The core's transactions and reads in the numbers of this part of the trace."""
        of, trace = place[asg.txn_of], asg.trace
        txns = np.flatnonzero(np.isin(of, list(core.transactions)))
        reader = asg.read_txn
        maybe = np.flatnonzero(np.isin(reader, txns))
        reads = [
            r
            for r in maybe.tolist()
            if (
                int(of[reader[r]]),
                int(asg.read_op[r]) - int(trace.txn_ops[asg.txn_of[reader[r]]]),
                trace.keys.code(asg.trace_key(int(asg.read_key[r]))),
            )
            in core.reads
        ]
        return txns, np.array(reads, np.int64)

    @staticmethod
    def _among_all(asked: Question, reads: Int64) -> Int64:
        """Reads of the question among all reads."""
        everything = _codes_of(asked.everything)
        by = np.argsort(everything, kind="stable")
        return by[np.searchsorted(everything[by], _codes_of(asked.asg)[reads])]

    def _plausible(self, asked: Question, found: Solution) -> bool:
        """Is the core refuted even if nobody knows what the window started with?"""
        asg = asked.asg
        anything = linked(replace(asg, initial=np.full(asg.keys, UNKNOWN_INITIAL, np.int32)))
        parts = Parts.used_by(asg, found)
        limits = self._for_a_search()
        ir = IR(anything, asked.ir.level, lower(anything, asked.ir.level).graph)
        asked_of = union(parts.transactions, np.flatnonzero(_aborted(asg)))
        return refuted_part(ir, asked_of, parts.reads, limits) is not None

    def _for_a_search(self) -> Limits:
        seconds = SECONDS if self.limits.seconds is None else min(SECONDS, self.limits.seconds)
        return replace(self.limits, conflicts=CONFLICTS, seconds=seconds)

    def _gone_through(self, core: Core) -> Block | None:
        """The core's transactions and all who wrote what it read."""
        with ExitStack() as stack:
            blocks = Blocks(self.sources(stack), smallest=self.smallest)
            held: Files = []
            picked: Files = [Lines()] * len(blocks.sources)
            many = 0
            while True:
                new = blocks.more(self.bytes, held)
                held = held + [Lines()] * (len(new) - len(held))
                block = blocks.parsed([a + b for a, b in zip(held, new, strict=True)])
                blocks.forget_initial()
                chosen = spoken_of(block, core) & ~block.open
                many += int(chosen.sum())
                if many > core.most:
                    return None
                if chosen.any():
                    picked = [a + b for a, b in zip(picked, block.lines_of(chosen), strict=True)]
                held = block.going_on()
                if blocks.done:
                    return blocks.parsed(picked)

    def verdict(
        self, initial: LiveKeys, level: Level, block: Block, core: Core, started: float
    ) -> Verdict | None:
        """Is the level refuted by the core and these, which are all that wrote what it read?"""
        from boomslang.checker import Checker

        trace = initial.told_to(block.trace)
        trace, place = block.with_places(trace), places(block)
        checker = Checker(trace, timeout=self.limits.seconds, memory=self.limits.megabytes)
        asg = checker.asg
        limits = self._for_a_search()
        found: Solution | None = None
        internal = [i for i in asg.broken.tolist() if int(place[asg.internal[0][i]]) in core.internal]
        if internal:
            parts = Parts.of([int(asg.internal[0][internal[0]])], [], internal[:1])
        else:
            here = np.isin(place, core.around)
            who, on_file = _who(block, core), _on_file(block, core)
            writers = who & on_file & (trace.txn_outcome == Outcome.COMMITTED)
            txns = np.flatnonzero(here | writers | np.isin(place, list(core.transactions)) | _aborted(asg))
            # What the others read is of no interest, and their writers are not here.
            of_keys = _of_keys(asg, core)
            reads = (here[asg.read_txn] & (_looked_for(asg, core) | of_keys)) | (
                writers[asg.read_txn] & of_keys
            )
            if self.forgotten:
                reads &= ~self.forgotten.perhaps_wrote(asg)
            asg = asg.restrict(txns, np.flatnonzero(reads))
            inside, used = self._numbered(asg, place, core)
            inside = union(inside, np.flatnonzero(_aborted(asg)))
            if core.keys:
                all_of_them = np.flatnonzero(writers[asg.txn_of])
                inside = union(inside, all_of_them)
                mine = np.isin(asg.read_txn, all_of_them) & _of_keys(asg, core)
                used = union(used, np.flatnonzero(mine))
            # Where values repeat, a search may take minutes for what a count tells at once. The states that can be
            # reached are those of keys of which all who ever wrote them are asked.
            over = on_file & (trace.txn_outcome != Outcome.UNKNOWN)
            all_asked = bool(core.keys) and bool((over | ~who).all()) and not self.forgotten
            among = _among(trace, core)
            at_first = partial(refute_repeated, limits=limits, among=among) if all_asked else refute_counted
            search = None if core.counted else limits
            found = refuted_part(lower(asg, level), inside, used, search, at_first=at_first)
            if found is None:
                return None
            parts = Parts.used_by(asg, found)
        stats = {"solve": time.monotonic() - started}
        if found is not None and found.proof is not None:
            told = checker.explained_by_proof(asg, level, found.proof, parts, time.monotonic(), stats)
        else:
            told = checker.explained(asg, level, parts, time.monotonic(), 2.0)
        return Verdict(trace, level, INVALID, counterexample=told, stats=stats)


def _aborted(asg: ASG) -> NDArray[np.bool_]:
    """Who did not commit. Left out of a part they would count as possible writers."""
    found: NDArray[np.bool_] = asg.outcome == Outcome.ABORTED
    return found


def _looked_for(asg: ASG, core: Core) -> NDArray[np.bool_]:
    """Of which reads are all here who wrote what they saw? Not of what a scan did not return, if its window does not
    speak of the key: those that are here may have put it, and who deleted it is not."""
    trace = asg.trace
    pairs, of = np.unique(np.stack([asg.read_key, asg.read_value]), axis=1, return_inverse=True)
    found = np.zeros(pairs.shape[1], bool)
    for i, (k, v) in enumerate(pairs.T.tolist()):
        key = trace.keys.code(k)
        value = trace.values.code(v) if v >= 0 else None
        found[i] = (
            key in core.lists
            or (v >= ABSENT and (key, value) in core.values)
            or (v == PRESENT and key in core.present)
        )
    looked: NDArray[np.bool_] = found[of.reshape(-1)]
    return looked


def _codes_of(asg: ASG) -> Int64:
    """Of each read a number for its operation and its key."""
    codes: Int64 = asg.read_op.astype(np.int64) * asg.keys + asg.read_key
    return codes


def spoken_of(block: Block, core: Core) -> NDArray[np.bool_]:
    """Who is in the core, or wrote what it read."""
    known = union(np.array(sorted(core.transactions), np.int64), core.around)
    return _wrote(block, core) | _who(block, core) | np.isin(places(block), known)


def _of_keys(asg: ASG, core: Core) -> NDArray[np.bool_]:
    """Which reads are of keys of which all writers are here?"""
    keys = asg.read_key if asg.key_of is None else asg.key_of[asg.read_key]
    found: NDArray[np.bool_] = _among(asg.trace, core)[keys] if len(keys) else np.zeros(0, bool)
    return found


def _among(trace: Trace, core: Core) -> NDArray[np.bool_]:
    """Keys of which all writers are asked."""
    return np.array([code in core.keys for code in trace.keys.codes()], bool)


def _who(block: Block, core: Core) -> NDArray[np.bool_]:
    """Who is asked because of the keys."""
    found = _wrote_keys(block, core)
    if not core.readers:
        return found
    trace = block.trace
    wanted = _among(trace, core)
    owner = np.repeat(np.arange(len(trace)), np.diff(trace.txn_ops))
    read = ~np.isin(trace.op_kind, WRITES) & (trace.op_key >= 0)
    found[owner[read][wanted[trace.op_key[read]]]] = True
    ranges = np.flatnonzero(trace.op_range >= 0)
    items = trace.range_items
    for row in ranges.tolist():
        span = int(trace.op_range[row])
        keys = trace.item_key[items[span] : items[span + 1]]
        if wanted[keys[keys >= 0]].any():
            found[owner[row]] = True
    return found


def _wrote_keys(block: Block, core: Core) -> NDArray[np.bool_]:
    """Who wrote, at any time and with any outcome, one of the keys of which all writers are asked."""
    trace = block.trace
    chosen = np.zeros(len(trace), bool)
    if not core.keys:
        return chosen
    wanted = _among(trace, core)
    rows = np.flatnonzero(np.isin(trace.op_kind, WRITES) & (trace.op_key >= 0))
    rows = rows[wanted[trace.op_key[rows]]]
    chosen[np.searchsorted(trace.txn_ops, rows, side="right") - 1] = True
    return chosen


def _on_file(block: Block, core: Core) -> NDArray[np.bool_]:
    """Of whom is all that is on file in the lines that had been read?"""
    trace = block.trace
    if core.lines is None:
        return np.ones(len(trace), bool)
    lines = np.zeros(max(len(core.lines), len(trace.files)), np.int64)
    lines[: len(core.lines)] = core.lines
    read: NDArray[np.bool_] = block.last_lines() <= lines[trace.txn_file]
    return read


def _wrote(block: Block, core: Core) -> NDArray[np.bool_]:
    """Who wrote, at any time and with any outcome, what one of the reads saw."""
    trace = block.trace
    keys, values = trace.keys.codes(), trace.values.codes()
    put, gone = trace.op_kind == Kind.PUT, trace.op_kind == Kind.DELETE
    append = trace.op_kind == Kind.APPEND
    rows = np.flatnonzero((put & (trace.op_value >= 0)) | gone)  # one that failed may have none
    pairs = zip(trace.op_key[rows].tolist(), trace.op_value[rows].tolist(), put[rows].tolist(), strict=True)
    matches = [
        (keys[k], values[v] if written else None) in core.values or (written and keys[k] in core.present)
        for k, v, written in pairs
    ]
    if append.any():
        lists = np.array([key in core.lists for key in keys], bool)
        more = np.flatnonzero(append)
        rows, matches = np.append(rows, more), [*matches, *lists[trace.op_key[more]].tolist()]
    chosen = np.zeros(len(trace), bool)
    chosen[np.searchsorted(trace.txn_ops, rows[np.array(matches, bool)], side="right") - 1] = True
    return chosen

"""From "the engine refuted it" to a minimal core.

The engine's proof names the transactions and reads it used: refuted, but usually more than needed. Shrinking drops one
part after the other and keeps what is still refuted. Dropping only weakens the problem, so a part that could not be
dropped once can never be dropped later, and one pass makes the core minimal: it is refuted, and no longer once any one
part is dropped. Parts are dropped in blocks first, so that a large superset costs few questions.

What a core must hold beside the parts the proof used: aborted transactions that wrote a value which is read (dropped,
their outcome would be unknown and they would be candidates), and the reads that show that a transaction of unknown
outcome committed, or what a key held initially.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, OUT, linked
from boomslang.certify.certificate import Core
from boomslang.errors import UsageError
from boomslang.explain.parts import Parts, first_broken
from boomslang.explain.patience import now, on_the_day
from boomslang.ir.lower import lower
from boomslang.levels.level import Level
from boomslang.solve.native import solve_native
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import Initial, Outcome

Int64 = NDArray[np.int64]

LARGE = 2_000
"""Transactions of a core that is not shrunk when there is little time."""
MANY = 40
"""Transactions of a core whose reads are dropped first: that asks fewer questions. (Of a smaller one, transactions
are: there it matters more that few are left.)"""
FEW = 250
"""Transactions of a part that is searched without hints."""
A_MOMENT = 1.0
"""Seconds that are little."""


@dataclass(frozen=True, eq=False)
class MinimalCore:
    """A core, and the small ASG that holds it and all candidates of its reads."""

    core: Core
    asg: ASG
    minimal: bool
    """False: time ran out before every part had been tried."""


def complete(asg: ASG, parts: Parts) -> Parts:
    """Adds what makes the parts stand on their own (see above)."""
    transactions, reads = set(parts.transactions.tolist()), set(parts.reads.tolist())
    internal = set(parts.internal.tolist())
    read_txn, some_are_out = asg.read_txn, bool((asg.state == OUT).any())
    todo = sorted(reads)
    work = sorted(transactions)

    def take(read: int) -> None:
        if read >= 0 and read not in reads:
            reads.add(read)
            todo.append(read)

    while todo or work:
        while work:
            t = work.pop()
            if len(asg.forced_by) and asg.forced_by[t] >= 0:
                take(int(asg.forced_by[t]))
            internal.update(
                np.flatnonzero(asg.internal[0] == t).tolist() if asg.outcome[t] == Outcome.UNKNOWN else ()
            )
        while todo:
            r = todo.pop()
            key, pattern = int(asg.read_key[r]), int(asg.read_value[r])
            if len(asg.initial_by):
                take(int(asg.initial_by[key]))
            needed = {int(read_txn[r])}
            if some_are_out:
                writers = asg.write_txn[asg.writes_of(key, pattern)]
                seen = np.concatenate([writers, asg.lists.blocks(r)])
                needed.update(seen[asg.state[seen] == OUT].tolist())
            for t in sorted(needed - transactions):
                transactions.add(t)
                work.append(t)
    return Parts.of(sorted(transactions), sorted(reads), sorted(internal))


def refuted(asg: ASG, level: Level, parts: Parts, limits: Limits | None = None) -> Parts | None:
    """If these parts alone break the level: those of them that the refutation used. Else None."""
    part = asg.restrict(parts.transactions, parts.reads, parts.internal)
    used = first_broken(part)
    if used is None:
        found = _solved(part, level, limits)
        if found is None or found.status != "invalid":
            return None
        assert found.core_transactions is not None and found.core_reads is not None
        used = Parts(found.core_transactions, found.core_reads, np.zeros(0, np.int64))
    used = complete(part, used)
    kept = np.zeros(asg.transactions, bool)
    kept[parts.transactions] = True
    reader = np.searchsorted(asg.read_start, parts.reads, side="right") - 1
    old = np.searchsorted(asg.txn_of, part.txn_of[used.transactions])
    internal = parts.internal[kept[asg.internal[0][parts.internal]]]
    reads = parts.reads[kept[reader]]
    narrow = Parts(old[kept[old]], reads[used.reads], internal[used.internal])
    told = bool(asg.modules) or asg.entries is not None
    part = asg.restrict(narrow.transactions, narrow.reads, narrow.internal) if told else part
    if told and not breaks(part, level, limits):
        # What a module said of these, or a select over several columns, may rest on others, which the refutation did
        # not need to name.
        return Parts(parts.transactions, reads, internal)
    return narrow


def breaks(part: ASG, level: Level, limits: Limits | None = None, *, hints: bool = True) -> bool:
    """Does this part alone break the level?"""
    if first_broken(part) is not None:
        return True
    found = _solved(part, level, limits, hints=hints)
    return found is not None and found.status == "invalid"


def _solved(part: ASG, level: Level, limits: Limits | None, *, hints: bool = True) -> Solution | None:
    """The engine's answer about a part; None if a module cannot make sense of it, or not in time."""
    try:
        return solve_native(lower(part, level), limits, hints=hints)
    except LimitReached:
        return None
    except UsageError:
        if not part.modules:
            raise
        return None


def neighbours(asg: ASG, parts: Parts) -> Parts:
    """These parts, and all transactions that share a session or a key with one of them."""
    reader, session = asg.read_txn, asg.trace.txn_session[asg.txn_of]
    inside = np.zeros(asg.transactions, bool)
    inside[parts.transactions] = True
    keys = np.zeros(asg.keys, bool)
    keys[asg.read_key[inside[reader]]] = keys[asg.write_key[inside[asg.write_txn]]] = True
    inside |= (session >= 0) & np.isin(session, session[inside])
    inside[reader[keys[asg.read_key]]] = inside[asg.write_txn[keys[asg.write_key]]] = True
    return Parts.all_of(asg, np.flatnonzero(inside))


def shrink(asg: ASG, level: Level, found: Parts, seconds: float | None = None) -> MinimalCore:
    """A minimal core within these parts (which must be refuted)."""
    stop = None if seconds is None else now() + seconds
    small, parts = _part(asg, complete(asg, found))
    if seconds is not None and seconds < A_MOMENT and len(parts.transactions) > LARGE:
        # Refuting a large core again can take as long as the first time; with little time, do not start.
        return MinimalCore(_core(small, level, parts), small, False)
    made = _shrunk(small, level, parts, stop)
    if made is None and asg.modules and not _over(stop):
        small, parts = _part(asg, complete(asg, neighbours(asg, found)))
        made = _shrunk(small, level, parts, stop)
    if made is None and _over(stop) and not asg.modules:
        # These parts were refuted once; there was no time to do it again.
        return MinimalCore(_core(small, level, parts), small, False)
    if made is None:
        # The proof's account of itself was incomplete. The answer stands all the same; begin with everything.
        small, parts = _part(asg, _everything(asg))
        made = None if _over(stop) else _shrunk(small, level, parts, stop)
    if made is None and (asg.modules or _over(stop)):
        # A module that says less of a part than of the whole: then only the whole will do.
        return MinimalCore(_core(small, level, parts), small, False)
    if made is None:
        raise AssertionError("what the engine refuted is not refuted again")
    return made


def shrink_if_refuted(asg: ASG, level: Level, parts: Parts, stop: float | None = None) -> MinimalCore | None:
    """A minimal core within these parts, if they break the level."""
    small, inside = _part(asg, complete(asg, parts))
    return _shrunk(small, level, inside, stop)


def _shrunk(small: ASG, level: Level, parts: Parts, stop: float | None) -> MinimalCore | None:
    used = refuted(small, level, parts, None if stop is None else _left(stop))
    if used is None:
        return None
    told = bool(small.modules) or small.entries is not None
    may_go = _MayGo(small, level)
    reads = _Kind(_reads, _without_reads, None if told else may_go.without_read)
    transactions = _Kind(_transactions, _without_transactions, None if told else may_go.without_transaction)
    if len(used.transactions) > MANY and not told:
        parts, tried_reads = _drop(small, level, used, reads, stop)
        # Who goes takes its reads along: a transaction with a read that is needed is needed, and need not be tried.
        needed = _whose(small, parts) if tried_reads else set()
        parts, tried_transactions = _drop(small, level, parts, transactions, stop, needed)
    else:
        parts, tried_transactions = _drop(small, level, used, transactions, stop)
        parts, tried_reads = _drop(small, level, parts, reads, stop)
    rest = small.restrict(parts.transactions, parts.reads, parts.internal)
    # What was there initially, and nobody knows, ties conditions together that are asked one by one here.
    loose = small.entries is not None and small.trace.initial_mode == Initial.UNKNOWN
    return MinimalCore(_core(small, level, parts), rest, tried_transactions and tried_reads and not loose)


def _over(stop: float | None) -> bool:
    return stop is not None and now() > stop


def _left(stop: float) -> Limits:
    return Limits(seconds=on_the_day(max(0.05, stop - now())))


def _part(asg: ASG, whole: Parts) -> tuple[ASG, Parts]:
    """The small ASG that holds just these parts, of which all further questions are asked, and the parts in it."""
    small = asg.restrict(whole.transactions, whole.reads, whole.internal)
    inside = np.zeros(asg.transactions, bool)
    inside[whole.transactions] = True
    return small, Parts(
        np.flatnonzero(inside[np.searchsorted(asg.txn_of, small.txn_of)]),
        np.arange(len(small.read_key)),
        np.arange(len(small.internal[0])),
    )


def _everything(asg: ASG) -> Parts:
    return Parts(np.arange(asg.transactions), np.arange(len(asg.read_key)), np.arange(len(asg.internal[0])))


@dataclass(frozen=True)
class _Kind:
    """What is dropped: reads, or transactions."""

    of: Callable[[Parts], list[int]]
    without: Callable[[Parts, set[int]], Parts]
    may_go: Callable[[Parts, int, Limits | None], bool] | None
    """Asked of one alone before it is tried."""


def _drop(
    asg: ASG,
    level: Level,
    parts: Parts,
    kind: _Kind,
    stop: float | None,
    known: Collection[int] = (),
) -> tuple[Parts, bool]:
    """Drops what can be dropped, in blocks that halve when they cannot and double when they can. `known`: what is known
    to be needed."""
    needed = set(known)
    block = len(kind.of(parts)) // 2
    while rest := [x for x in kind.of(parts) if x not in needed]:
        if stop is not None and now() > stop:
            return parts, False
        block = max(1, min(block, len(rest)))
        # A question that is not answered in time is not answered with yes, and the next look at the clock ends this.
        limits = None if stop is None else _left(stop)
        if block == 1 and kind.may_go is not None and not kind.may_go(parts, rest[0], limits):
            needed.add(rest[0])
        elif (used := refuted(asg, level, kind.without(parts, set(rest[:block])), limits)) is not None:
            parts = used
            block *= 2
        elif block == 1:
            needed.add(rest[0])
        else:
            block //= 2
    return parts, stop is None or now() <= stop


class _MayGo:
    """Can parts be refuted without one of their reads, or transactions? Mostly not, and that is asked at half the price
    when it is asked of the same small ASG each time, and of a small one without hints: they are for long searches."""

    def __init__(self, asg: ASG, level: Level) -> None:
        self.asg, self.level = asg, level
        self.parts: Parts | None = None

    def _of(self, parts: Parts) -> ASG:
        if parts is not self.parts:
            self.parts = parts
            self.part = self.asg.restrict(parts.transactions, parts.reads, parts.internal)
            reads = np.sort(parts.reads)
            self.reads = reads[np.isin(self.asg.read_txn[reads], parts.transactions)]
        return self.part

    def without_read(self, parts: Parts, read: int, limits: Limits | None) -> bool:
        """True: perhaps."""
        part = self._of(parts)
        others = self.reads != read
        if read < 0 or others.all():
            return True
        return self._breaks(part.only_reads(others), limits)

    def without_transaction(self, parts: Parts, txn: int, limits: Limits | None) -> bool:
        """True: perhaps. Who goes is still a candidate, with an outcome that nobody knows."""
        part = self._of(parts)
        if len(part.internal[0]):  # an operation of its own that it contradicts would still count
            return True
        mine = np.flatnonzero(part.txn_of == self.asg.txn_of[txn])
        outcome, ordered = part.outcome.copy(), part.ordered.copy()
        outcome[mine], ordered[mine] = Outcome.UNKNOWN, False
        rest = replace(part.only_reads(~np.isin(part.read_txn, mine)), outcome=outcome, ordered=ordered)
        return self._breaks(rest, limits)

    def _breaks(self, part: ASG, limits: Limits | None) -> bool:
        return breaks(linked(part), self.level, limits, hints=part.transactions > FEW)


def _transactions(parts: Parts) -> list[int]:
    return [int(t) for t in parts.transactions]


def _without_transactions(parts: Parts, gone: set[int]) -> Parts:
    return Parts(
        np.array([t for t in parts.transactions.tolist() if t not in gone], np.int64),
        parts.reads,
        parts.internal,
    )


def _whose(asg: ASG, parts: Parts) -> set[int]:
    """The transactions of these reads."""
    return {*asg.read_txn[parts.reads].tolist(), *asg.internal[0][parts.internal].tolist()}


def _reads(parts: Parts) -> list[int]:
    """Reads, and internal reads as negative numbers."""
    return [*parts.reads.tolist(), *(~parts.internal).tolist()]


def _without_reads(parts: Parts, gone: set[int]) -> Parts:
    return Parts(
        parts.transactions,
        np.array([r for r in parts.reads.tolist() if r not in gone], np.int64),
        np.array([i for i in parts.internal.tolist() if ~i not in gone], np.int64),
    )


def _core(asg: ASG, level: Level, parts: Parts) -> Core:
    reads = [asg.pair(r) for r in parts.reads]
    reads += [(int(asg.internal[1][i]), asg.pair_key(int(asg.internal[2][i]))) for i in parts.internal]
    transactions = tuple(asg.txn_of[parts.transactions].tolist())
    return Core(level.name, transactions, tuple(sorted(set(reads))), tuple(m.spelled for m in asg.modules))

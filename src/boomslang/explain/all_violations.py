"""All violations of a level, and not only the first.

Which sets of transactions break a level can be without number: any superset of one does, and a busy part of a trace
may hold more cycles than there are transactions. So the list is made to be useful: each violation on it has something
of its own, a read (or, where it rests on none, a transaction) that is taken out of the trace once it is listed, and
those before it do not need what is taken out for those after it. No two are of the same transactions. When nothing is
left to be found, the list is *complete*: the trace without one read of each satisfies the level.

Three searches, each on what the one before it left:

1. reads that no order can explain (aborted, intermediate, from nowhere, contradicting one's own write): all of them;
2. cycles of what is known, all in one pass (known.py), each put to the engine on its own;
3. what only search finds: the engine is asked about the rest, what it refutes is shrunk and taken out, and it is asked
   again: about windows of neighbouring transactions first, so that not each costs a search through the whole.

The third may take forever, so it is bounded. If the bound is reached the list is not complete, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from boomslang.asg.entries import everything
from boomslang.asg.graph import ASG, OUT
from boomslang.certify.certificate import Core
from boomslang.certify.proof import Proof
from boomslang.certify.proved import fault_of_proof
from boomslang.distinct import distinct
from boomslang.errors import UsageError
from boomslang.explain.anomalies import Anomaly
from boomslang.explain.argument import Argument, Contradiction
from boomslang.explain.core import MinimalCore, breaks, complete
from boomslang.explain.counterexample import MOMENT, Counterexample, direct, explain
from boomslang.explain.known import clashes
from boomslang.explain.parts import Parts
from boomslang.explain.rest import Rest
from boomslang.ir.lower import lower
from boomslang.ir.model import IR
from boomslang.levels.level import Level
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.strategy import solve
from boomslang.trace.errors import LimitReached

BATCH = 64
"""Violations that are looked at together, in a part of the trace that holds them all."""
MOST_SEARCHED = 25
"""Violations that only search finds, if there is no time limit."""
WINDOW = 400
"""Transactions of a window."""
WINDOW_CONFLICTS = 500
SECONDS = 10.0
"""Of this process, for what only search finds, if there is no time limit: where the numbers do not bound it."""


@dataclass(frozen=True, eq=False)
class Violation:
    """A part of the trace that breaks the level on its own."""

    anomaly: Anomaly | None
    text: str
    """In one line."""
    core: Core
    found: Counterexample
    """With an argument that is at least this line."""


@dataclass(eq=False)
class Violations:
    """The list."""

    level: Level
    found: list[Violation] = field(default_factory=list)
    complete: bool = False
    """Does the trace without one read of each satisfy the level?"""
    reason: str = ""
    """Why it is not complete."""

    @cached_property
    def groups(self) -> dict[tuple[str, str], list[Violation]]:
        """By code and name, the largest group first."""
        groups: dict[tuple[str, str], list[Violation]] = {}
        for one in self.found:
            key = ("", "") if one.anomaly is None else (one.anomaly.code, one.anomaly.name)
            groups.setdefault(key, []).append(one)
        return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def all_violations(
    asg: ASG, level: Level, first: Counterexample, limits: Limits, *, told: int = 0
) -> Violations:
    """The violations of a level; `first` is one of them. Those `told` after it have stories of their own."""
    if not level.observes:
        from boomslang.explain.interleavings import all_interleavings

        return all_interleavings(asg.given, level, first)
    search = _Search(everything(asg), level, first, limits, told)
    try:
        search.run()
    except LimitReached as limit:
        search.made.reason = f"the {limit.reason} limit was reached"
    return search.made


class _Search:
    def __init__(self, asg: ASG, level: Level, first: Counterexample, limits: Limits, told: int) -> None:
        self.whole, self.level, self.limits = asg, level, limits
        self.rest = Rest(asg)
        self.made = Violations(level)
        self.told = told + 1
        self.start = time.monotonic()
        self.rank = priorities(asg)
        self.sets: set[tuple[int, ...]] = set()
        self._list(first)
        parts = _parts_of(asg, first.core)
        self._take_out([self._own(parts)])

    def run(self) -> None:
        self._unexplained()
        while self._known():
            self._unexplained()
        self._searched()

    def _is_new(self, before: ASG) -> bool:
        """May what is left show something that it did not show before? The order of a list may be shown by others too,
        and without a read others fix who committed, and what was there at first."""
        after = self.rest.asg
        same = np.array_equal(before.state, after.state) and np.array_equal(before.initial, after.initial)
        return bool(len(after.lists.key)) or not same

    # --- limits

    def left(self, conflicts: int | None = None) -> Limits:
        seconds = self.limits.seconds
        if seconds is not None:
            seconds -= time.monotonic() - self.start
            if seconds <= 0:
                raise LimitReached("time")
        return replace(self.limits, seconds=seconds, conflicts=conflicts)

    # --- the list

    def _list(self, found: Counterexample) -> bool:
        """Lists it, unless one of the same transactions is listed."""
        transactions = tuple(sorted({*found.core.transactions, *found.candidates}))
        if transactions in self.sets:
            return False
        self.sets.add(transactions)
        self.made.found.append(Violation(found.anomaly, _in_short(found), found.core, found))
        return True

    def _own(self, parts: Parts) -> Parts:
        """What is taken out for a violation: its last read; if it has none, its last transaction."""
        nothing = np.zeros(0, np.int64)
        if len(parts.internal):
            return Parts(nothing, nothing, parts.internal[-1:])
        if len(parts.reads):
            reader = np.searchsorted(self.whole.read_start, parts.reads, side="right") - 1
            last = np.argmax(self.rank[reader])
            return Parts(nothing, parts.reads[last : last + 1], nothing)
        last = np.argmax(self.rank[parts.transactions])
        return Parts(parts.transactions[last : last + 1], nothing, nothing)

    def _take_out(self, parts: list[Parts]) -> None:
        if parts:
            self.rest.take_out(
                np.concatenate([p.reads for p in parts]),
                np.concatenate([p.internal for p in parts]),
                np.concatenate([p.transactions for p in parts]),
            )

    # --- 1: what no order can explain

    def _unexplained(self) -> None:
        while len(self.rest.asg.broken) or len(self.rest.asg.orphans):
            asg = self.rest.asg
            broken = [Parts.of([int(asg.internal[0][i])], [], [int(i)]) for i in asg.broken]
            readers = (np.searchsorted(asg.read_start, asg.orphans, side="right") - 1).tolist()
            orphans = zip(readers, asg.orphans.tolist(), strict=True)
            suggested = broken + [Parts.of([t], [r], []) for t, r in orphans]
            for small, inside in in_batches(asg, suggested):
                self.left()
                part = small.restrict(inside.transactions, inside.reads, inside.internal)
                made = MinimalCore(_core(small, self.level, inside), part, True)
                why = direct(self.whole, made)
                assert why is not None
                self._list(Counterexample(asg.given, made.core, *why, True, _others(made), part))
            own = [Parts.of([], p.reads.tolist(), p.internal.tolist()) for p in suggested]
            self._take_out([self.rest.in_whole(p) for p in own])

    # --- 2: what is known

    def _known(self) -> bool:
        """Lists the cycles of what is known. May there be more of them?"""
        asg = self.rest.asg
        made = clashes(asg, self.level, self.left())
        own, listed, said = [], False, None
        batches = in_batches(asg, [clash.parts for clash in made.found])
        for clash, (small, inside) in zip(made.found, batches, strict=True):
            self.left()
            if said is None or said.small is not small:
                said = _Said(small, self.level)
            if not said.breaks(inside):
                continue  # what a module says may rest on transactions that a cycle does not show
            found = Counterexample(
                asg.given,
                _core(small, self.level, inside),
                Argument((), Contradiction(clash.text)),
                clash.anomaly,
                False,
            )
            if len(self.made.found) < self.told:
                found = self._explained(small, inside)
            self._list(found)
            listed = True
            txns = [clash.out_txn] if clash.out_txn >= 0 else []
            own.append(
                self.rest.in_whole(Parts.of(txns, [clash.out_read] if clash.out_read >= 0 else [], []))
            )
        self._take_out(own)
        return listed and self._is_new(asg)

    def _explained(self, asg: ASG, parts: Parts) -> Counterexample:
        return explain(asg, self.level, parts, self.left().seconds, smaller=False)

    # --- 3: what only search finds

    def _searched(self) -> None:
        begin, count, windows = time.process_time(), 0, False
        while True:
            solution = solve(lower(self.rest.asg, self.level), self._for_one_search(begin))
            if solution.status == "valid":
                self.made.complete = True
                return
            if solution.status == "unknown":
                self.made.reason = "whether there are more takes long to tell"
                return
            self._refuted(self.rest.asg, solution)
            count += 1
            if count >= 3 and not windows:
                windows = True
                count += self._in_windows(begin)
            if self._enough(begin, count):
                self.made.reason = "the search for more was stopped"
                return
            self._unexplained()

    def _for_one_search(self, begin: float) -> Limits:
        """If there is no time limit, one search must not go on for ever either."""
        limits = self.left()
        if limits.seconds is not None:
            return limits
        return replace(limits, seconds=max(1.0, SECONDS - (time.process_time() - begin)))

    def _enough(self, begin: float, count: int) -> bool:
        if self.limits.seconds is not None:
            return False
        return count >= MOST_SEARCHED or time.process_time() - begin > SECONDS

    def _refuted(self, asg: ASG, solution: Solution) -> None:
        """Lists what the engine refuted, and takes its own part out."""
        parts = Parts.used_by(asg, solution)
        found = self._proved(asg, parts, solution.proof) or self._explained(asg, parts)
        self._list(found)
        self._take_out([self._own(self.rest.in_whole(_parts_of(asg, found.core)))])

    def _proved(self, asg: ASG, parts: Parts, proof: Proof | None) -> Counterexample | None:
        """What a count or states refuted: a search might take for ever to refute it again. None, if it is so small
        that it can be argued step by step, or does not hold of the trace with what was taken out."""
        from boomslang.checker import FEW
        from boomslang.explain.by_proof import explain_by_proof

        if proof is None or len(parts.transactions) <= FEW:
            return None
        if fault_of_proof(asg.given, self.level.name, proof):
            return None
        seconds = SECONDS if (left := self.left().seconds) is None else left
        return explain_by_proof(asg, self.level, proof, parts, min(MOMENT, seconds))

    def _in_windows(self, begin: float) -> int:
        """Violations of neighbours, window by window. How many?"""
        count = 0
        inside = np.flatnonzero(self.rest.asg.state != OUT)
        inside = inside[np.argsort(self.rank[inside], kind="stable")]
        if len(inside) <= WINDOW:
            return 0
        for first in range(0, len(inside), WINDOW // 2):
            txns = np.sort(inside[first : first + WINDOW])
            while not self._enough(begin, count):
                parts = Parts.all_of(self.rest.asg, txns)
                part = self.rest.asg.restrict(parts.transactions, parts.reads)
                if len(part.orphans) or len(part.broken):
                    break
                try:
                    solution = solve_native(lower(part, self.level), self.left(WINDOW_CONFLICTS))
                except UsageError:
                    break
                if solution.status != "invalid" or solution.core_transactions is None:
                    break
                assert solution.core_reads is not None
                asg = self.rest.asg
                kept = np.searchsorted(asg.txn_of, part.txn_of[solution.core_transactions])
                used = replace(solution, core_transactions=kept, core_reads=parts.reads[solution.core_reads])
                self._refuted(asg, used)
                count += 1
        return count


def in_batches(asg: ASG, suggested: list[Parts]) -> Iterator[tuple[ASG, Parts]]:
    """For each of these parts a small ASG that holds it, and the part in the numbers of that.

    What is asked of a part costs as much as the ASG it is asked of, so it is asked of small ones.
    """
    for first in range(0, len(suggested), BATCH):
        some = suggested[first : first + BATCH]
        union = Parts(
            *(
                distinct(np.concatenate([getattr(p, name) for p in some])).astype(np.int64)
                for name in ("transactions", "reads", "internal")
            )
        )
        union = complete(asg, union)
        small = asg.restrict(union.transactions, union.reads, union.internal)
        for p in some:
            yield (
                small,
                complete(
                    small,
                    Parts(
                        np.searchsorted(small.txn_of, asg.txn_of[p.transactions]),
                        np.searchsorted(union.reads, p.reads),
                        np.searchsorted(union.internal, p.internal),
                    ),
                ),
            )


class _Said:
    """What modules say of a small ASG, of whose parts many are asked about. What they know of it holds of its parts, so
    they are asked again only where that is not enough."""

    def __init__(self, small: ASG, level: Level) -> None:
        self.small, self.level = small, level
        self.ir: IR | None = None
        if not small.modules:
            return
        try:
            ir = lower(small, level)
        except UsageError:
            return
        if ir.level is level and not ir.weakened_by:
            self.ir = ir

    def breaks(self, parts: Parts) -> bool:
        """Do these parts alone break the level?"""
        part = self.small.restrict(parts.transactions, parts.reads, parts.internal)
        if self.ir is not None:
            asked = self._with_known_edges(self.ir, part, parts)
            if solve_native(asked).status == "invalid":
                return True
        try:
            return breaks(part, self.level)
        except UsageError:  # a module that cannot make sense of a part
            return False

    def _with_known_edges(self, said: IR, part: ASG, parts: Parts) -> IR:
        """The part without modules, and those known edges of theirs that join its transactions."""
        asked = lower(part, self.level, ())
        points = asked.graph.points
        place = np.full(said.graph.nodes, -1, np.int64)
        here = np.searchsorted(part.txn_of, self.small.txn_of[parts.transactions])
        for point in range(points):
            place[points * parts.transactions + point] = points * here + point
        place[points * self.small.transactions :] = asked.graph.nodes + np.arange(said.graph.helpers)
        asked.graph.helpers += said.graph.helpers
        for told in said.told:
            for sources, targets, kind in said.graph.chunks[told.chunks : told.chunks_end]:
                a, b = place[sources], place[targets]
                inside = (a >= 0) & (b >= 0)
                asked.graph.chunks.append((a[inside], b[inside], kind))
        return asked


def _core(asg: ASG, level: Level, parts: Parts) -> Core:
    reads = [asg.pair(r) for r in parts.reads]
    reads += [(int(asg.internal[1][i]), asg.pair_key(int(asg.internal[2][i]))) for i in parts.internal]
    transactions = tuple(asg.txn_of[parts.transactions].tolist())
    return Core(level.name, transactions, tuple(sorted(set(reads))), tuple(m.spelled for m in asg.modules))


def _parts_of(asg: ASG, core: Core) -> Parts:
    """A core's parts in the numbers of an ASG that holds them."""
    wanted = set(core.reads)
    rows = np.array(sorted({row for row, _ in wanted}), np.int64)
    reads = [
        r
        for r in np.flatnonzero(np.isin(asg.read_op, rows)).tolist()
        if asg.pair(r) in wanted or (int(asg.read_op[r]), asg.part_key(int(asg.read_key[r]))) in wanted
    ]
    inner = [
        i
        for i in np.flatnonzero(np.isin(asg.internal[1], rows)).tolist()
        if (int(asg.internal[1][i]), asg.pair_key(int(asg.internal[2][i]))) in wanted
    ]
    return Parts.of(np.searchsorted(asg.txn_of, np.array(core.transactions, np.int64)).tolist(), reads, inner)


def _others(made: MinimalCore) -> tuple[int, ...]:
    return tuple(sorted(set(made.asg.txn_of.tolist()) - set(made.core.transactions)))


def _in_short(found: Counterexample) -> str:
    """The end of the argument; where it has cases, what probably happened, or whom it is about."""
    end = None if found.argument is None else found.argument.contradiction
    if end is not None:
        return end.text
    if found.likely is not None and found.likely.argument.contradiction is not None:
        many = f"a core of {len(found.core.transactions):,} transactions"
        return f"{many}, probably {found.likely.argument.contradiction.text}"
    names = [f"T{t}" for t in found.core.transactions]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{', '.join(names[:8])}{more} ({found.trace.where(found.core.transactions[0])})"

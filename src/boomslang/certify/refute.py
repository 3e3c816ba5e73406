"""Refute a core with Z3: a second, unrelated solver agrees that these few parts already break the level.

A core is a set of transactions and a set of reads, each an (operation, key) pair. It stands for a weakened
problem: a transaction outside the core may have committed or not, whatever its outcome was, read nothing
and is in no session and at no time, but it did write what it wrote. A kept transaction keeps its outcome,
its session and time order with other kept ones, and those of its reads that are in the core. What a kept
read may have read from is worked out from the whole trace again. If this much has no solution, neither
has the trace.

Adya's dependencies (thesis, 1999, chapter 4) are put as places on a line, after the "polygraph"
constraints of Papadimitriou (The serializability of concurrent database updates, JACM 1979): for a read
that takes w's version of x, every other writer of x is placed before w or after the reader. A transaction
outside the core that no kept read could have read from need not commit, and is left out; the others are
few. A list read takes the version of the last transaction in the list, and says that those in it appended in
that order and nobody else before its last. Nothing here is shared with the solver that found the core.

Where values repeat, a large core has thousands of transactions that its reads may have read from, and no solver comes
to an end of that. Whoever does not want to wait sets a moment (`deadline.until`); LimitReached says that it has passed,
and that is no answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from boomslang.certify.seen import (
    CONTRADICTS,
    SOME_VALUE,
    Seen,
    all_writers,
    fits,
    look,
    of_others,
    rows_of,
    written,
)
from boomslang.certify.selects import Asked, asked
from boomslang.certify.slack import slack_of
from boomslang.deadline import left as seconds_left
from boomslang.deadline import look as look_at_the_clock
from boomslang.deadline import until
from boomslang.extras import how_to_install
from boomslang.trace import ABSENT, NO_TIME, Flag, Initial, Kind, Outcome, Trace
from boomslang.trace.conditions import ConditionError
from boomslang.trace.errors import LimitReached

if TYPE_CHECKING:
    from boomslang.certify.certificate import Core

Part = int | tuple[int, int]  # a transaction, or a read: (operation, key)

INITIAL = -1  # writer: the initial state

# For each level: has it two points a transaction, do item reads and predicate reads see the latest version,
# does real time count?
LEVELS = {
    "read-uncommitted": (False, False, False, False),
    "read-committed": (False, False, False, False),
    "read-committed-be": (False, False, False, False),
    "cursor-stability": (False, False, False, False),
    "read-atomic": (False, False, False, False),
    "causal": (False, False, False, False),
    "consistent-view": (False, False, False, False),
    "forward-consistent-view": (False, False, False, True),
    "prefix": (True, True, True, False),
    "repeatable-read": (False, True, False, False),
    "snapshot-isolation": (True, True, True, False),
    "serializable": (False, True, True, False),
    "strict-serializable": (False, True, True, True),
}


# Levels that forbid cycles with one anti-dependency: may the other edges be overwrites, may there be several, do only
# reads count that come earlier in the transaction? (The rest are reads from one another, so and rt.)
ONCE = {
    "read-committed-be": (False, False, True),
    "read-atomic": (False, False, False),
    "causal": (False, True, False),
    "consistent-view": (True, True, False),
    "forward-consistent-view": (True, True, False),
}


class MissingSolver(RuntimeError):
    """Z3 is an extra, and it is not installed."""


class CoreError(ValueError):
    """The core speaks of transactions or reads that the trace does not have."""


def refute(trace: Trace, core: Core) -> bool:
    """True if Z3 proves that the core alone cannot satisfy its level."""
    return _unsatisfiable(trace, core.level, set(core.transactions), set(core.reads))


def minimal(trace: Trace, core: Core) -> list[Part]:
    """The parts that could be dropped, each by itself, with the refutation still standing.

    An empty list says that the core is minimal. Dropping a transaction drops its reads with it.
    """
    return needless_parts(core, lambda fewer: refute(trace, fewer))[0]


def needless_parts(
    core: Core, refutes: Callable[[Core], bool], seconds: float | None = None
) -> tuple[list[Part], int]:
    """The same by whatever refutes, as far as it came in so many seconds; and how many parts were not tried to the
    end."""
    parts: list[Part] = [*core.transactions, *core.reads]
    spare: list[Part] = []
    limits = [limit for limit in (seconds, seconds_left()) if limit is not None]
    with until(time.monotonic() + min(limits) if limits else None):
        for n, part in enumerate(parts):
            try:
                look_at_the_clock()
                if refutes(_without(core, part)):
                    spare.append(part)
            except LimitReached:
                return spare, len(parts) - n
    return spare, 0


def _without(core: Core, part: Part) -> Core:
    if isinstance(part, int):
        return replace(core, transactions=tuple(t for t in core.transactions if t != part))
    return replace(core, reads=tuple(read for read in core.reads if read != part))


def _blocks(trace: Trace, reader: int, key: int, elements: tuple[int, ...]) -> list[int] | None:
    """The transactions whose appends to the key, one after the other, make this list. None: no such row."""
    rows = np.flatnonzero((trace.op_kind == Kind.APPEND) & (trace.op_key == key))
    rows = rows[trace.op_flags[rows] & Flag.ERROR == 0]
    appended: dict[int, list[int]] = {}
    for row, t in zip(
        rows.tolist(), (np.searchsorted(trace.txn_ops, rows, side="right") - 1).tolist(), strict=True
    ):
        appended.setdefault(t, []).append(int(trace.op_value[row]))
    by_first = {block[0]: t for t, block in appended.items()}
    row_of: list[int] = []
    at = 0
    while at < len(elements):
        t = by_first.get(elements[at], reader)
        if t == reader or t in row_of or list(elements[at : at + len(appended[t])]) != appended[t]:
            return None
        row_of.append(t)
        at += len(appended[t])
    return row_of


# --- the encoding -----------------------------------------------------------------------------------------


def _unsatisfiable(trace: Trace, level: str, kept: set[int], reads: set[tuple[int, int]]) -> bool:
    try:
        import z3
    except ImportError as error:
        raise MissingSolver(f"refuting a core needs Z3: {how_to_install('z3')}") from error
    try:
        level, slack = slack_of(level, trace)
    except ValueError as error:
        raise CoreError(str(error)) from None
    strong_session = level.startswith("strong-session-")
    base = level.removeprefix("strong-session-").removeprefix("strong-")
    if base not in LEVELS:
        raise CoreError(f"unknown level {level!r}")
    two, item_rw, predicate_rw, strict = LEVELS[base]
    session = strong_session or base == "read-committed-be"
    timed = strict or slack is not None or (level.startswith("strong-") and not strong_session)

    def in_time(a: int, b: int) -> bool:
        return timed and _returned_before(trace, a, b, slack or 0)

    rows = {read for read in reads if read[1] >= len(trace.key_rank)}
    internal, external = _binding_reads(trace, kept, reads - rows)
    selects = _binding_selects(trace, kept, rows)
    if base == "read-uncommitted":
        return _appends_contradict(trace, kept, reads)
    lists: list[tuple[int, int, int, list[int]]] = []
    for t, key, seen in external:
        if seen.elements is not None:
            row = _blocks(trace, t, key, seen.elements)
            if row is None:
                internal.add(t)
            else:
                lists.append((t, key, seen.since, row))
    external = [read for read in external if read[2].elements is None]
    keys = {key for _, key, _ in external} | {key for _, key, _, _ in lists}
    left = all_writers(trace, keys | {key for a in selects for key in a.keys})
    aborted = {t for t in kept if trace.txn_outcome[t] == Outcome.ABORTED}
    sources = [
        [w for w, value in left[key].items() if w != t and w not in aborted and fits(seen.value, value)]
        for t, key, seen in external
    ]
    seen_by_selects = [left[key].keys() - aborted for a in selects for key in a.keys]
    actors = sorted(
        (kept - aborted).union(*sources, *(set(row) - aborted for *_, row in lists), *seen_by_selects)
    )
    look_at_the_clock()
    finals = {t: {k: v for _, k, v in written(trace, rows_of(trace, t))} for t in actors}

    solver = z3.Solver()
    committed = {t: z3.Bool(f"committed {t}") for t in actors}
    begin = {t: z3.Int(f"begin {t}") for t in actors}
    commit = {t: z3.Int(f"commit {t}") for t in actors} if two else begin
    first: dict[int, Any] = {key: z3.Int(f"initial {key}") for _, key, _ in external}
    first |= {key: z3.Int(f"initial {key}") for a in selects for key in a.keys}

    for t in actors:
        if two:
            solver.add(begin[t] < commit[t])
        if t in kept and trace.txn_outcome[t] == Outcome.COMMITTED:
            solver.add(committed[t])
    solver.add(*(z3.Not(committed[t]) for t in internal))
    if trace.initial_mode != Initial.UNKNOWN:
        given = dict(zip(trace.initial_key.tolist(), trace.initial_value.tolist(), strict=True))
        solver.add(*(value == given.get(key, ABSENT) for key, value in first.items()))

    for b in kept - aborted:
        look_at_the_clock()
        others = kept - aborted - {b}
        ahead = [a for a in others if session and _in_session_order(trace, a, b)]
        returned = [a for a in others if in_time(a, b)]
        if returned:
            # Who had returned before the last of these was invoked is before that one, and so before b.
            last = max(returned, key=lambda c: int(trace.txn_begin[c]))
            ahead += [a for a in returned if not in_time(a, last)]
        for a in ahead:
            solver.add(z3.Implies(committed[b], commit[a] < begin[b]))

    # Writers of one key have an order. Where a transaction is one point, any placement can be made to have no
    # ties, as all constraints are strict; where it is two, one must commit before the other begins.
    # (Prefix lets them overlap, and orders their commits. Where paths of overwrites count, ties must not hide them.)
    overwrite_ends = commit if base == "prefix" else begin
    if two or base in ONCE:
        for a, b in combinations(actors, 2):
            look_at_the_clock()
            if finals[a].keys() & finals[b].keys():
                apart = z3.Or(commit[a] < overwrite_ends[b], commit[b] < overwrite_ends[a])
                solver.add(z3.Implies(z3.And(committed[a], committed[b]), apart))

    taken: list[
        tuple[int, int, int, dict[int, Any]]
    ] = []  # transaction, key, operation, {writer: it took that}
    marked = trace.marked("cursor")

    def versions(t: int, key: int, row: int, writers: list[int], item: bool, holds: Any) -> dict[int, Any]:
        """For each writer, that the operation took its version of the key; `holds` is what the initial one
        must be."""
        others = [p for p in actors if key in finals[p] and p != t]
        latest = item_rw if item else predicate_rw
        if base == "cursor-stability" and item and key in finals[t]:
            latest = marked is None or bool(marked[row])
        options: dict[int, Any] = {}
        for w in [INITIAL, *writers]:
            look_at_the_clock()
            option = [holds] if w == INITIAL else [committed[w], commit[w] < begin[t]]
            for p in others:
                if latest and p != w:
                    overwritten = [] if w == INITIAL else [commit[p] < overwrite_ends[w]]
                    option.append(z3.Or(z3.Not(committed[p]), begin[t] < commit[p], *overwritten))
            options[w] = z3.Bool(f"operation {row} takes {key} from {w}, {'read' if item else 'asked'}")
            solver.add(z3.Implies(options[w], z3.And(*option)))
        solver.add(z3.Implies(committed[t], z3.Or(*options.values())))
        taken.append((t, key, row, options))
        return options

    for (t, key, seen), writers in zip(external, sources, strict=True):
        holds = first[key] != ABSENT if seen.value == SOME_VALUE else first[key] == seen.value
        versions(t, key, seen.row, writers, seen.item, holds)
    for said in selects:
        every = []
        for key in said.keys:
            writers = [w for w in left[key] if w != said.txn and w not in aborted]
            options = versions(said.txn, key, said.row, writers, False, z3.BoolVal(True))
            # It sees one version, so that what it saw is one value.
            for v, w in combinations(options.values(), 2):
                solver.add(z3.Not(z3.And(v, w)))
            saw: dict[int, list[Any]] = {}
            for w, takes in options.items():
                if w != INITIAL:
                    saw.setdefault(left[key][w], []).append(takes)
            for v in _initially(trace, key):
                saw.setdefault(v, []).append(z3.And(options[INITIAL], first[key] == v))
            every.append(saw)
        for values in product(*every):
            if not _fits(trace, said, values):
                saw_them = [z3.Or(*saw[v]) for saw, v in zip(every, values, strict=True)]
                solver.add(z3.Implies(committed[said.txn], z3.Not(z3.And(*saw_them))))
    for t, key, at, row in lists:
        if aborted & set(row):
            solver.add(z3.Not(committed[t]))
            continue
        says = [committed[w] for w in row] + [commit[a] < overwrite_ends[b] for a, b in pairwise(row)]
        says += [commit[w] < begin[t] for w in row[-1:]]
        for p in actors:
            if key in finals[p] and p not in row:
                after = [commit[w] < overwrite_ends[p] for w in row[-1:]]
                cursor = base == "cursor-stability" and key in finals[t] and (marked is None or marked[at])
                if p != t and (item_rw or cursor):
                    after.append(begin[t] < commit[p])
                says.append(z3.Implies(committed[p], z3.And(*after)))
        solver.add(z3.Implies(committed[t], z3.And(*says)))
        taken.append((t, key, at, {(row or [INITIAL])[-1]: committed[t]}))
    if base in ONCE:
        so = [(a, b) for a in kept for b in kept if session and _in_session_order(trace, a, b)]
        so = [] if base == "read-committed-be" else so
        rt = [(a, b) for a in kept for b in kept if in_time(a, b)]
        order = [(a, b) for a, b in so + rt if a in committed and b in committed]
        for said in _no_paths(z3, base, actors, finals, committed, begin, taken, order):
            look_at_the_clock()
            solver.add(said)
    return _no_solution(z3, solver)


def _no_solution(z3: Any, solver: Any) -> bool:
    look_at_the_clock()
    seconds = seconds_left()
    if seconds is not None:
        solver.set("timeout", max(1, int(seconds * 1000)))
    answer = solver.check()
    if answer == z3.unknown:
        raise LimitReached("time" if seconds is not None else str(solver.reason_unknown()))
    return bool(answer == z3.unsat)


def _no_paths(
    z3: Any,
    base: str,
    actors: list[int],
    finals: dict[int, dict[int, int]],
    committed: dict[int, Any],
    place: dict[int, Any],
    taken: list[tuple[int, int, int, dict[int, Any]]],
    order: list[tuple[int, int]],
) -> Iterable[Any]:
    """If t took w's version of a key and p wrote a later one, no path leads from p to t."""
    overwrites, several, earlier = ONCE[base]
    reach = {(a, b): z3.Bool(f"path from {a} to {b}") for a in actors for b in actors}
    steps = [(a, b, committed[b]) for a, b in order]
    steps += [(w, t, take) for t, _, _, takes in taken for w, take in takes.items() if w != INITIAL]
    if overwrites:
        for a in actors:
            for b in actors:
                if a != b and finals[a].keys() & finals[b].keys():
                    steps.append((a, b, z3.And(committed[a], committed[b], place[a] < place[b])))
    for a, b, holds in steps if several else ():
        yield z3.Implies(holds, reach[a, b])
        for c in actors:
            yield z3.Implies(z3.And(holds, reach[b, c]), reach[a, c])
    for t, key, at, takes in taken:
        for w, take in takes.items():
            for p in actors:
                if key not in finals[p] or p in (w, t):
                    continue
                missed = [take, committed[t], committed[p], *([] if w == INITIAL else [place[w] < place[p]])]
                if several:
                    path = reach[p, t]
                else:
                    direct = [
                        other.get(p) for u, _, row, other in taken if u == t and (row < at or not earlier)
                    ]
                    direct = [step for step in direct if step is not None]
                    path = z3.Or(*direct, (p, t) in order)
                yield z3.Not(z3.And(*missed, path))


def _appends_contradict(trace: Trace, kept: set[int], reads: set[tuple[int, int]]) -> bool:
    """Read uncommitted: do the lists show a cycle of overwrites? (No solver is needed to see it.)"""
    certain = {t for t in kept if trace.txn_outcome[t] == Outcome.COMMITTED}
    follows: dict[int, set[int]] = {t: set() for t in certain}
    for row, key in reads:
        seen = look(trace, row, key)
        reader = int(np.searchsorted(trace.txn_ops, row, side="right")) - 1
        if seen is None or seen.elements is None or reader not in certain:
            continue
        rows = np.flatnonzero((trace.op_kind == Kind.APPEND) & (trace.op_key == key))
        rows = rows[trace.op_flags[rows] & Flag.ERROR == 0]
        writer = dict(
            zip(
                trace.op_value[rows].tolist(),
                (np.searchsorted(trace.txn_ops, rows, side="right") - 1).tolist(),
                strict=True,
            )
        )
        row_of = [writer[e] for e in seen.elements if writer.get(e) in certain]
        for a, b in pairwise(row_of):
            if a != b:
                follows[a].add(b)
    while free := [t for t in follows if not any(t in later for later in follows.values())]:
        for t in free:
            del follows[t]
    return bool(follows)


def _binding_reads(
    trace: Trace, kept: set[int], reads: set[tuple[int, int]]
) -> tuple[set[int], list[tuple[int, int, Seen]]]:
    """The transactions that contradict their own writes, and reads of others' values: (txn, key, seen)."""
    if any(not 0 <= t < len(trace.txn_outcome) for t in kept):
        raise CoreError("the core has a transaction that is not in the trace")
    internal, external = set(), []
    for row, key in sorted(reads):
        if not (0 <= row < len(trace.op_kind) and 0 <= key < len(trace.key_rank)):
            raise CoreError(f"the core has a read (operation {row}, key {key}) that is not in the trace")
        seen = look(trace, row, key)
        if seen is None:
            raise CoreError(f"operation {row} of the core does not read {trace.keys[key]!r}")
        t = int(np.searchsorted(trace.txn_ops, row, side="right")) - 1
        if t not in kept or trace.txn_outcome[t] == Outcome.ABORTED:
            continue
        outside = of_others(trace, t, key, seen)
        if isinstance(outside, Seen):
            external.append((t, key, outside))
        elif outside == CONTRADICTS:
            internal.add(t)
    return internal, external


def _binding_selects(trace: Trace, kept: set[int], rows: set[tuple[int, int]]) -> list[Asked]:
    """What the kept selects say of rows."""
    found = []
    for row, number in sorted(rows):
        said = asked(trace, row, number) if 0 <= row < len(trace.op_kind) else None
        if said is None:
            raise CoreError(f"the core has a read (operation {row}, key {number}) that is not in the trace")
        if said.txn in kept and trace.txn_outcome[said.txn] != Outcome.ABORTED:
            found.append(said)
    return found


def _initially(trace: Trace, key: int) -> set[int]:
    """What the key may have held, as far as anybody has seen or written it. (Anything else is not looked
    at, and fits.)"""
    if trace.initial_mode != Initial.UNKNOWN:
        return {ABSENT, *trace.initial_value[trace.initial_key == key].tolist()}
    held = {*trace.op_value[trace.op_key == key].tolist(), *trace.item_value[trace.item_key == key].tolist()}
    return {ABSENT, *held}


def _fits(trace: Trace, said: Asked, values: tuple[int, ...]) -> bool:
    try:
        return said.fits(trace, values)
    except ConditionError:  # an initial value of another type, which it was not
        return False


def _in_session_order(trace: Trace, a: int, b: int) -> bool:
    same = trace.txn_session[a] == trace.txn_session[b] and trace.txn_session[a] >= 0
    return bool(same and a < b and trace.txn_outcome[a] == Outcome.COMMITTED)


def _returned_before(trace: Trace, a: int, b: int, slack: int) -> bool:
    recorded = trace.txn_end[a] != NO_TIME and trace.txn_begin[b] != NO_TIME
    same = trace.txn_clock[a] == trace.txn_clock[b] and trace.txn_outcome[a] == Outcome.COMMITTED
    return bool(recorded and same and int(trace.txn_end[a]) + slack < int(trace.txn_begin[b]))

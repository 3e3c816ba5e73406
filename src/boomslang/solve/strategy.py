"""How the native engine is used: what is tried first, and what when it does not come to an end.

0. Weak levels need no search where each read has one possible writer: what they ask follows from the reads (forced.py).
   Where values repeat, ask without a search whether the reads with one writer break the level, and whether the likely
   writers of the others keep it (likely.py); then whether a count or the states that can be reached refute the
   trace (repeated.py), and, where all who write have seen everything, whether there is a tour of the states (tours.py).
1. A long trace is asked in windows that fit together (windows/), at the levels at which an order settles everything.
   They give both answers; where they do not fit, the trace is asked in one piece, as follows.
2. If the trace has times that the level does not demand, and reads with several candidates, first ask for more than
   the level does: real-time order. An order that keeps it is an order; and where values say little, times say much.
   Without times, the order of the lines of one log says nearly as much. Likewise, where the level forbids only some
   cycles, first ask for a snapshot or a serial order: most databases do better than they promise. (Not for a serial
   order once there is no snapshot's: it would be one.) A snapshot's in real time is asked for before all else. Where
   the engine does not find an order in real time soon, a sweep along the clock may (sweep.py); where values say next
   to nothing it is tried before windows.
   Where values repeat, also walk from value to value, in whatever order that gives: one far from real time (trails.py);
   or along the clock, with others like them in the place of those that find none there (stand_ins.py). And if it was
   refuted that there is an order in real time, ask for one that is some transactions' length away. Within a bound, look
   for what breaks it where real time is broken, a few keys at a time (nearby.py).
3. The problem itself, for a while, beginning with the order of the clock if that was refuted to be one; at plain
   levels first with transactions that nothing tells apart in one order (interchangeable.py), and so again in step 6.
   Where session order counts and that takes long, how far each session can come may decide it either way
   (frontiers.py). Within a bound of real time, transactions that nothing tells apart are then put into one order, too.
4. If that takes long and the trace is small enough, write down what follows from the known edges before guessing
   (native/engine/saturate.hpp). It helps when nothing suggests an order: no sessions, no times, a shuffled log. With
   begin and commit points, first as if they were one: a serial order is also an order of begins and commits.
5. If that takes long too, look for a small contradiction: ask neighbouring transactions alone, as parts of the whole
   (parts.py).
6. The problem itself, to the end.

Steps 2 and 5, and step 0 where values repeat, can only give the answer they are sound for; which step answered is
told in the statistics.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from boomslang.asg.graph import ASG, OUT
from boomslang.ir.lower import lower
from boomslang.ir.model import IR, ambiguous_reads
from boomslang.levels.catalog import SERIALIZABLE, SNAPSHOT_ISOLATION
from boomslang.levels.level import Dependency, Level, Point
from boomslang.solve.forced import solve_forced
from boomslang.solve.frontiers import solve_frontiers
from boomslang.solve.interchangeable import ranked, with_all_reads
from boomslang.solve.likely import refute_known, solve_likely
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.nearby import refute_nearby
from boomslang.solve.parts import reads_of, refuted_part
from boomslang.solve.repeated import refute_repeated
from boomslang.solve.solution import Limits, Solution
from boomslang.solve.stand_ins import solve_stand_ins
from boomslang.solve.sweep import sweep
from boomslang.solve.tours import solve_tour
from boomslang.solve.trails import solve_trails
from boomslang.trace.lengths import usual_length
from boomslang.windows.worth import worth_windows

EAGER_CONFLICTS = 2_000
FIRST_CONFLICTS = 3_000
BLIND_CONFLICTS = 300
"""Where nothing suggests an order, trying without saturation is hardly worth it."""
LONG_CONFLICTS = 20_000
WITHIN_CONFLICTS = 80_000
"""Within a bound of real time, contradictions are hardly ever between neighbours alone: going on is better."""
SATURATED_NODES = 45_000
"""Reachability is a bit for each pair of nodes: 250 MB at this size."""
SOON_CONFLICTS = 300
SHORT = 3_000
"""Transactions of a trace in which a path is searched for in a moment."""
MANY_VERSIONS = 100
NEARBY = (1, 10, 100)
"""Lengths of a usual transaction that an order may be away from real time, if it must."""
NEIGHBOURS = (64, 256, 1024)
NEIGHBOURS_CONFLICTS = 2_000
NEIGHBOURS_SECONDS = 5.0


def solve(ir: IR, limits: Limits | None = None) -> Solution:
    """Decides an IR, with the strategy above."""
    looked_at: dict[str, int] = {}
    found = _solve(ir, _Clock(limits or Limits()), looked_at)
    return replace(found, stats={**found.stats, **looked_at}) if looked_at else found


def _solve(ir: IR, clock: _Clock, looked_at: dict[str, int]) -> Solution:
    """The same; what refutations without a search looked at goes into `looked_at`, for the statistics."""
    asg = ir.asg
    if (sure := solve_forced(ir, clock.left(None))) is not None:
        return _by(sure, "what the reads force")
    timed, logged = asg.trace.has_times, asg.trace.is_one_log
    ambiguous = ambiguous_reads(asg) > 0
    alone = not (asg.modules or ir.superpositions or ir.expressions)
    if ambiguous and ir.level.once is not None and alone:
        if (sure := refute_known(ir, clock.left(None))) is not None:
            return _by(sure, "what the known reads force")
        if (sure := solve_likely(ir, clock.left(None))) is not None:
            return _by(sure, "likely writers")
    windows = worth_windows(ir, clock.limits)
    walks = windows and clock.limits.window is None
    if windows:
        from boomslang.windows.solve import solve_in_windows, walk_through
    if ambiguous and walks:
        walked, done = walk_through(ir, clock.left(None), in_time=True)
        looked_at |= done
        if walked is not None:
            return _by(walked, "a walk")
    if ambiguous and not asg.modules:
        sure = _refuted_repeated(ir, clock, looked_at)
        if sure is not None:
            return sure
        if alone and (toured := solve_tour(ir, clock.left(None))) is not None:
            return _by(toured, "a tour of states")
    if ambiguous and timed and alone and ir.level.once is None and _values_say_little(asg):
        swept = sweep(_closer(ir, 0), clock.half())
        if swept is not None:
            return _by(swept, "a sweep along the clock")
    if ambiguous and ir.level.slack == 0 and (part := refute_nearby(ir, None, clock.half())) is not None:
        return _by(part, "a few keys")
    if windows:
        first = walks and not ambiguous
        pieced, done = solve_in_windows(ir, clock.left(None), in_time=ambiguous, walk=first)
        looked_at |= done
        if pieced is not None:
            return _by(pieced, "windows" if done.get("windows: windows") or not first else "a walk")
    beyond = timed or logged if not ir.level.needs_times else timed and ir.level.slack > 0
    in_time = "in real time" if timed else "in the order of the log"
    refuted, strictly = False, None
    if beyond and ambiguous:
        if ir.level.once is not None and not asg.modules:
            # Searching for paths takes far longer than for an order.
            found = _more(ir, SNAPSHOT_ISOLATION, clock, in_time=True)
            if found.status == "valid":
                return _by(found, f"snapshot isolation, {in_time}")
        patience = EAGER_CONFLICTS + asg.transactions // 50
        closer = _closer(ir, 0)
        strictly = refute_nearby(closer, None, clock.half()) or _in_time(closer, clock, patience, strict=True)
        if strictly.status == "valid":
            return _by(strictly, "real-time order" if timed else "the order of the log")
        refuted = strictly.status == "invalid"
    if asg.modules:
        # What a module says at another level, or of a part of the trace, need not be what it says here.
        return _by(solve_native(ir, clock.left(None)), "direct")
    free = not ir.level.needs_times or ir.level.slack > 0
    if ambiguous and not free and ir.level.once is None:
        found = _in_time(ir, clock, FIRST_CONFLICTS, strict=True)
        if found.reason != "conflicts":
            return _by(found, "direct")
    if ambiguous and free and alone and (walked := solve_trails(ir, clock.left(None))) is not None:
        return _by(walked, "trails of values")
    if ambiguous and free and (walked := solve_stand_ins(ir, clock.left(None))) is not None:
        return _by(walked, "stand-ins")
    if ambiguous and free and beyond and (part := refute_nearby(ir, strictly, clock.half())) is not None:
        return _by(part, "a few keys")
    # Where values repeat, the order of the clock has far fewer violations than one that the engine makes up, and those
    # are where it is broken.
    as_timed = priorities(asg) if refuted and timed else None
    if ir.level.once is not None and as_timed is not None:
        # Nothing in real time: it may well be broken, and then a stronger level says nothing.
        patience = BLIND_CONFLICTS + asg.transactions // 5
        if ir.level.slack > 0 and asg.transactions <= SHORT:
            patience = FIRST_CONFLICTS
        found = solve_native(ir, clock.left(patience), rank=as_timed)
        if found.status != "unknown":
            return _by(found, "direct")
    for slack in _slacks(ir) if refuted else ():  # with more slack it will not be easier for the engine
        patience = EAGER_CONFLICTS + asg.transactions // 50 if ir.level.once is None else SOON_CONFLICTS
        found = solve_native(_closer(ir, slack), clock.left(patience), rank=as_timed)
        if found.status == "valid":
            return _by(found, "an order close to real time")
        if found.status == "unknown":
            refuted = slack > NEARBY[0] * usual_length(asg.trace)
            break
        if found.stats.get("conflicts", 0) * 3 > patience:
            break  # the looser the bound the more it takes, and it would not come to its end
    alike = ranked(ir) if ambiguous and not ir.level.needs_times else None
    if alike is not None:
        found = solve_native(alike[0], clock.left(FIRST_CONFLICTS), hints=False)
        if found.status != "unknown":
            return _by(with_all_reads(asg, alike[1], found), "interchangeable transactions")
    if ir.level.once is not None:
        for level, what in ((SNAPSHOT_ISOLATION, "snapshot isolation"), (SERIALIZABLE, "a serial order")):
            if (found := _more(ir, level, clock)).status == "valid":
                return _by(found, what)
            if found.status == "invalid":
                break  # a serial order would have been a snapshot's, too
    if ir.level.once is not None and ambiguous and ir.level.slack > 0 and ir.graph.nodes <= SATURATED_NODES:
        for level, what in ((SERIALIZABLE, "a serial order"), (SNAPSHOT_ISOLATION, "snapshot isolation")):
            if (found := _more(ir, level, clock, saturate=True)).status == "valid":
                return _by(found, what)
    small = ir.graph.nodes <= SATURATED_NODES and ir.level.once is None
    if not small:
        patience = LONG_CONFLICTS + asg.transactions // 10
    else:
        patience = FIRST_CONFLICTS if asg.trace.has_sessions or asg.trace.has_times else BLIND_CONFLICTS
    found = solve_native(ir, clock.left(patience), rank=as_timed)
    if found.reason != "conflicts":
        return _by(found, "direct")
    if ambiguous and (visited := solve_frontiers(ir, clock.half())) is not None:
        return _by(visited, "how far sessions come")
    if ambiguous and ir.level.slack > 0 and (near := ranked(ir)) is not None:
        found = solve_native(near[0], clock.left(LONG_CONFLICTS))
        if found.status != "unknown":
            return _by(with_all_reads(asg, near[1], found), "interchangeable transactions")
    if small:
        if ir.graph.points == 2 and (found := _serially(ir, clock)).status == "valid":
            return _by(found, "a serial order")
        patience = LONG_CONFLICTS if ir.level.slack == 0 else WITHIN_CONFLICTS
        found = solve_native(ir, clock.left(patience), saturate=True)
        if found.reason != "conflicts":
            return _by(found, "saturation")
    if (part := _refuted_neighbours(ir, clock)) is not None:
        return _by(part, "neighbours")
    if alike is not None:
        found = solve_native(alike[0], clock.left(None), hints=False)
        return _by(with_all_reads(asg, alike[1], found), "interchangeable transactions")
    return _by(solve_native(ir, clock.left(None), saturate=small), "direct")


def _refuted_repeated(ir: IR, clock: _Clock, looked_at: dict[str, int]) -> Solution | None:
    """The arguments without a search are about the trace's own keys: what selects say beside that is left out."""
    if ir.asg.entries is None:
        return refute_repeated(ir, clock.left(None), looked_at)
    from boomslang.asg.entries import without_entries

    asg, reads = without_entries(ir.asg)
    if len(asg.orphans) or len(asg.broken) or not ambiguous_reads(asg):
        return None
    found = refute_repeated(lower(asg, ir.level), clock.left(None), looked_at)
    return (
        found
        if found is None or found.core_reads is None
        else replace(found, core_reads=reads[found.core_reads])
    )


def _by(solution: Solution, what: str) -> Solution:
    return replace(solution, decided_by=what)


class _Clock:
    """The limits, less the time that has passed."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.start = time.monotonic()

    def left(self, conflicts: int | None) -> Limits:
        return replace(self.limits.since(self.start), conflicts=conflicts)

    def half(self) -> Limits:
        """Half of the time that is left."""
        limits = self.left(None)
        return limits if limits.seconds is None else replace(limits, seconds=limits.seconds / 2)


def _in_time(ir: IR, clock: _Clock, conflicts: int, *, strict: bool) -> Solution:
    """What the engine makes of it. If that is asked for real-time order and does not come to an end soon, a sweep along
    the clock comes in between."""
    if strict and ir.asg.trace.has_times and not ir.asg.modules and ambiguous_reads(ir.asg):
        found = solve_native(ir, clock.left(SOON_CONFLICTS))
        if found.reason != "conflicts":
            return found
        if (swept := sweep(ir, clock.half())) is not None:
            return swept
    return solve_native(ir, clock.left(conflicts))


def _values_say_little(asg: ASG) -> bool:
    """Was each value of a key written so often that it hardly matters who read which?"""
    key, value = asg.write_key, asg.write_value  # sorted
    different = np.count_nonzero((key[1:] != key[:-1]) | (value[1:] != value[:-1])) + 1
    return bool(len(key) >= MANY_VERSIONS * different)


def _slacks(ir: IR) -> Iterator[int]:
    """How far from real time an order may be that is asked for next: some transactions' length."""
    if ir.asg.trace.has_times and not ir.asg.modules:
        for slack in (usual_length(ir.asg.trace) * many for many in NEARBY):
            if not ir.level.needs_times or slack < ir.level.slack:
                yield slack


def _closer(ir: IR, slack: int) -> IR:
    """The same question, for orders that are that close to real time, or to the log."""
    closer = lower(ir.asg, replace(ir.level, slack=slack))
    if not ir.level.needs_times:
        closer.graph.add_time_line(ir.asg, by_log=not ir.asg.trace.has_times, slack=slack)
    return closer


def _more(
    ir: IR, stronger: Level, clock: _Clock, *, in_time: bool = False, saturate: bool = False
) -> Solution:
    """Does the trace even satisfy this level, with the session or real-time order of the one asked for? `in_time`: with
    real-time order (or that of the log) in any case. `saturate`: with what follows from the known edges."""
    forward = stronger.edges[Dependency.WR]
    order = {d: forward for d in (Dependency.SO, Dependency.RT) if ir.level.has(d)}
    stronger = replace(
        stronger, edges={**stronger.edges, **order}, slack=ir.level.slack, slack_unit=ir.level.slack_unit
    )
    if in_time:
        stronger = replace(stronger, slack=0)
    more = lower(ir.asg, stronger)
    if in_time and not stronger.needs_times:
        more.graph.add_time_line(ir.asg, by_log=not ir.asg.trace.has_times)
    strict = in_time or (stronger.needs_times and stronger.slack == 0)
    if saturate:
        patience = WITHIN_CONFLICTS if stronger.points == 1 else LONG_CONFLICTS
        found = solve_native(more, clock.left(patience), saturate=True)
    else:
        found = _in_time(more, clock, FIRST_CONFLICTS, strict=strict and ir.asg.trace.has_times)
    if found.order is None or stronger.points == 1:
        return found
    return replace(found, order=found.order[found.order % 2 == 1] // 2)


def _serially(ir: IR, clock: _Clock) -> Solution:
    """Is there even an order of whole transactions? Then begin and commit stand side by side in it."""
    edges = dict.fromkeys(ir.level.edges, (Point.ONLY, Point.ONLY))
    found = solve_native(
        lower(ir.asg, replace(ir.level, edges=edges)), clock.left(FIRST_CONFLICTS), saturate=True
    )
    if found.order is None:
        return found
    return replace(found, order=np.stack([2 * found.order, 2 * found.order + 1], axis=1).ravel())


def _refuted_neighbours(ir: IR, clock: _Clock) -> Solution | None:
    """Neighbouring transactions that are refuted on their own, or None."""
    asg = ir.asg
    inside = np.flatnonzero(asg.state != OUT)
    inside = inside[np.argsort(priorities(asg)[inside], kind="stable")]
    stop = time.monotonic() + NEIGHBOURS_SECONDS
    for size in NEIGHBOURS:
        if size >= len(inside):
            break
        for first in range(0, len(inside), size // 2):
            limits = clock.left(NEIGHBOURS_CONFLICTS)
            if time.monotonic() > stop or (limits.seconds is not None and limits.seconds < 0.1):
                return None
            txns = np.sort(inside[first : first + size])
            if (found := refuted_part(ir, txns, reads_of(ir, txns), limits)) is not None:
                return found
    return None

"""What probably happened: two or three transactions that a person can look at, where the proof has too many.

Where values repeat, a core can hold a hundred transactions: it proves everything and explains nothing. But somebody was
read, and what the trace suggests says who. Three ways to find out, the better one first:

- The level is broken, but snapshot isolation may hold. The order that shows it, close to real time or at least to the
  sessions, says whom each read saw; in it, the clash at the level that was asked for is a short cycle.
- Else each value is taken from the latest who wrote it before, by time or by the log (solve/likely.py). Where nearly
  all write without having read, so that nothing shows who overwrote whom, that too is as times or the log have it.
- Else the order of a much weaker level has to do.

Where no value repeats, all reads are known, and what is left to guess is who overwrote whom: the order says that, too.

Nothing rests on it: it is marked as likely, with the proof beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from boomslang.asg.graph import ASG, INITIAL
from boomslang.distinct import among
from boomslang.explain.anomalies import Anomaly
from boomslang.explain.argument import Argument, Contradiction, Step
from boomslang.explain.known import Clash, Moments, clashes, suggested_moments
from boomslang.explain.names import Names
from boomslang.explain.overlap import duration, overlap
from boomslang.explain.patience import now
from boomslang.ir.expression import Edge
from boomslang.ir.lower import lower
from boomslang.ir.model import IR, ambiguous_reads
from boomslang.levels import LEVELS, implies, maximal
from boomslang.levels.catalog import (
    CAUSAL,
    FORWARD_CONSISTENT_VIEW,
    SNAPSHOT_ISOLATION,
    STRONG_SNAPSHOT_ISOLATION,
)
from boomslang.levels.level import Dependency, Level
from boomslang.solve.likely import likely_writers
from boomslang.solve.native import priorities, solve_native
from boomslang.solve.solution import Ints, Limits
from boomslang.trace.errors import LimitReached
from boomslang.trace.model import NO_TIME
from boomslang.windows.solve import solve_in_windows
from boomslang.windows.worth import worth_windows

CONFLICTS = 2_000
"""Of the engine, for an order at a weaker level."""
MOST_CLASHES = 400
FEW = 4
"""Transactions of a cycle that is still looked at."""
LARGE = 200_000
"""Transactions of a trace that is not looked at."""


@dataclass(frozen=True, eq=False)
class Likely:
    """A clash that the trace suggests."""

    how: str
    """Why it is likely: whom the reads were taken to have seen."""
    anomaly: Anomaly
    argument: Argument
    """Its edges join transactions of the trace, by their numbers."""
    transactions: tuple[int, ...]
    when: str = ""
    """How they lie in time, if the trace has times."""


def what_probably_happened(
    asg: ASG,
    level: Level,
    core: tuple[int, ...],
    seconds: float,
    *,
    near: int | None = None,
    lost: int | None = None,
) -> Likely | None:
    """The shortest clash, of those within the core if there are any; near to a transaction, if one is given; a lost
    update of a key (of the trace), if one is given."""
    if asg.modules or asg.transactions > LARGE:
        return None
    stop = now() + seconds
    inside, rank = set(core), priorities(asg)
    at = None if near is None else int(rank[int(np.searchsorted(asg.txn_of, near))])

    def worth(clash: Clash) -> tuple[bool, int, int, int, bool, int, bool, int]:
        other = lost is not None and not _loses(asg, clash, lost)
        txns = sorted(_around(clash.edges, level))
        last = max(int(rank[t]) for t in txns)
        away = 0 if at is None else abs(at - last)
        outside = not {int(asg.txn_of[t]) for t in txns} <= inside
        spread = last - min(int(rank[t]) for t in txns)
        vague, trust = _same_again(asg, clash, level), _taken_on_trust(clash, level)
        back = _against_the_clock(asg, clash, level)
        return other, back, len(txns), vague, outside, trust, at is not None and last > at, away + spread

    if lost is not None:  # whoever was before whom in time, two overwrote the same version
        level = _without_times(level)
    for reading in _readings(asg, level, stop, lost is not None):
        left = stop - now()
        if left <= 0:
            return None
        supposed = replace(asg, read_writer=reading.writers)
        try:
            limits, order = Limits(seconds=left), reading.overwriting
            made = clashes(supposed, level, limits, MOST_CLASHES, overwriting=order, some_will_do=True)
        except LimitReached:
            return None
        found = [clash for clash in made.found if len(_around(clash.edges, level)) <= FEW]
        if found:
            return _told(supposed, level, min(found, key=worth), reading.how)
    return None


def _mostly_blind(asg: ASG) -> bool:
    """Have nearly all who wrote a key not read it before, and does the trace suggest who came after whom?"""
    if not asg.trace.has_times and len(asg.trace.files) > 1:
        return False
    keys = np.int64(max(1, asg.keys))
    read = asg.read_txn.astype(np.int64) * keys + asg.read_key
    wrote = asg.write_txn.astype(np.int64) * keys + asg.write_key
    return bool(np.count_nonzero(among(wrote, read)) * 5 < len(wrote))


def _against_the_clock(asg: ASG, clash: Clash, level: Level) -> int:
    """Edges to one that had returned before the other began, at a level that does not speak of time."""
    if level.needs_times or not asg.trace.has_times:
        return 0
    trace, back = asg.trace, 0
    for edge in clash.edges:
        a, b = (int(asg.txn_of[end // level.points]) for end in (edge.source, edge.target))
        begin, end = int(trace.txn_begin[a]), int(trace.txn_end[b])
        back += trace.txn_clock[a] == trace.txn_clock[b] and NO_TIME not in (begin, end) and end < begin
    return back


def _same_again(asg: ASG, clash: Clash, level: Level) -> int:
    """Reads that are said not to have seen a write of the very value that they saw: nobody nods at that."""
    found = 0
    for edge in clash.edges:
        if edge.kind in (Dependency.RW, Dependency.PRW):
            read = _read(asg, edge.source // level.points, edge.key)
            wrote = _write(asg, edge.target // level.points, edge.key)
            found += bool(read is not None and wrote and asg.read_value[read] == asg.write_value[wrote[0]])
    return found


def _taken_on_trust(clash: Clash, level: Level) -> int:
    """Overwrites that the two do not show: that one was later is derived from what others read."""
    ww = [
        (e.source // level.points, e.target // level.points) for e in clash.edges if e.kind is Dependency.WW
    ]
    return 0 if set(clash.parts.transactions.tolist()) <= _around(clash.edges, level) else len(ww)


def _loses(asg: ASG, clash: Clash, key: int) -> bool:
    return clash.anomaly.code == "lost-update" and all(asg.trace_key(e.key) == key for e in clash.edges)


def _without_times(level: Level) -> Level:
    """The strongest level below it that needs neither times nor sessions."""
    if not level.needs_times:
        return level
    below = [o for o in LEVELS if implies(level, o) and not o.needs_times and not o.needs_sessions]
    return maximal(below)[0] if below else level


@dataclass(frozen=True, eq=False)
class _Reading:
    """A guess of what the trace leaves open."""

    how: str
    """Why one would think so."""
    writers: NDArray[np.int32]
    """Whom each read saw."""
    overwriting: Moments | None = None
    """Where it also says who overwrote whom: the moments by which they did."""


def _readings(asg: ASG, level: Level, stop: float, lost: bool) -> Iterator[_Reading]:
    blind = not lost and _mostly_blind(asg)
    returned = suggested_moments(asg) if blind else None
    timed = asg.trace.has_times
    weaker = [STRONG_SNAPSHOT_ISOLATION, FORWARD_CONSISTENT_VIEW] if timed else [SNAPSHOT_ISOLATION, CAUSAL]
    before = "by time" if timed else "by the log" if len(asg.trace.files) <= 1 else "by session"
    overwrites = ", and those who wrote a key as they returned" if blind else ""
    how = f"taking each value from the latest who had written it, {before}{overwrites}"
    if ambiguous_reads(asg) == 0:
        yield from _of_known_reads(asg, level, [] if lost else weaker, stop)
        if blind:
            yield _Reading(how, asg.read_writer, returned)
        return
    if not timed and asg.trace.has_sessions:  # an order against them is nobody's idea of what happened
        weaker = [other.strong_session() for other in weaker]
    if not lost:  # what forbids no lost updates is too weak to say who was read
        yield from _in_an_order(asg, level, weaker[0], stop)
    for writers in likely_writers(asg, Limits(seconds=max(0.05, stop - now()))):
        yield _Reading(how, writers, returned)
    if not lost:
        yield from _in_an_order(asg, level, weaker[1], stop)


def _of_known_reads(asg: ASG, level: Level, weaker: list[Level], stop: float) -> Iterator[_Reading]:
    """Who overwrote whom in an order of the first of these levels that can be kept."""
    for other in weaker:
        left = stop - now()
        if implies(other, level) or left <= 0:
            continue
        ir, limits = lower(asg, other), Limits(seconds=max(0.05, 0.7 * left), conflicts=CONFLICTS)
        found = solve_in_windows(ir, limits, walk=True)[0] if worth_windows(ir, limits) else None
        found = found or solve_native(ir, limits)
        if found.order is not None:
            how = f"as an order that keeps {other.title} has it"
            yield _Reading(how, asg.read_writer, _moments(ir, found.order))
        if (
            found.status != "invalid"
        ):  # it may well be kept, and then a weaker one tells of the wrong anomalies
            return


def _in_an_order(asg: ASG, level: Level, other: Level, stop: float) -> Iterator[_Reading]:
    """Whom the reads see in an order that keeps another level, if there is one: a weaker one than asked for, or its
    strong form, which is stronger in one way and so may be broken as well."""
    left = stop - now()
    if implies(other, level) or left <= 0:
        return
    found = solve_native(lower(asg, other), Limits(seconds=max(0.05, left / 2), conflicts=CONFLICTS))
    if found.status == "valid" and found.read_writer is not None:
        taken = np.where(found.read_writer > -2, found.read_writer, asg.read_writer)
        yield _Reading(f"as an order that keeps {other.title} has it", taken.astype(np.int32))


def _moments(ir: IR, order: Ints) -> Moments:
    """The places of begins and commits in an order; who is not in it comes last."""
    points = ir.graph.points
    order = order[order < points * ir.asg.transactions]
    place = np.full(points * ir.asg.transactions, len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[::points], place[points - 1 :: points]


def _around(edges: tuple[Edge, ...], level: Level) -> set[int]:
    return {end // level.points for edge in edges for end in (edge.source, edge.target)}


def _told(asg: ASG, level: Level, clash: Clash, how: str) -> Likely:
    names = Names(asg)
    steps = []
    for number, edge in enumerate(clash.edges, 1):
        a, b = edge.source // level.points, edge.target // level.points
        text, rows = _reason(asg, names, edge, a, b)
        key = asg.trace_key(edge.key) if edge.key >= 0 else edge.key
        joined = Edge(int(asg.txn_of[a]), int(asg.txn_of[b]), edge.kind, key)
        steps.append(Step(text, edge=joined, number=number, operations=rows, supposed=True))
    row = tuple(steps)
    what = f"{clash.anomaly.name}{_of_whose(asg, level, names, clash)}"
    text = f"{what}: {clash.text.removeprefix('a cycle: ')}"
    argument = Argument(row, Contradiction(text, row))
    transactions = tuple(sorted(int(asg.txn_of[t]) for t in _around(clash.edges, level)))
    return Likely(how, clash.anomaly, argument, transactions, overlap(asg.trace, transactions))


def _of_whose(asg: ASG, level: Level, names: Names, clash: Clash) -> str:
    """Of a lost update, the version that both overwrote."""
    if clash.anomaly.code != "lost-update":
        return ""
    rows = [_read(asg, txn, clash.edges[0].key) for txn in _around(clash.edges, level)]
    saw = {int(asg.read_writer[row]) for row in rows if row is not None}
    if len(saw) != 1 or None in rows:
        return ""
    writer = saw.pop()
    if writer == INITIAL:
        return " of the first value"
    return f" of what {names.txn(writer)} wrote" if writer >= 0 else ""


def _reason(asg: ASG, names: Names, edge: Edge, a: int, b: int) -> tuple[str, tuple[int, ...]]:
    """An edge in words, and the operations that it speaks of."""
    one, two, trace = names.txn(a), names.txn(b), asg.trace
    if edge.kind is Dependency.RT:
        by = int(trace.txn_begin[asg.txn_of[b]]) - int(trace.txn_end[asg.txn_of[a]])
        earlier = f"{duration(trace, by)} " if by > 0 else ""
        return f"{one} had returned {earlier}before {two} began", ()
    if edge.kind is Dependency.SO:
        return f"{one} came before {two} in session {names.session(a)}", ()
    key, wrote = names.key(edge.key), _write(asg, b if edge.kind is not Dependency.WR else a, edge.key)
    left = _value(asg, names, wrote)
    if edge.kind in (Dependency.RW, Dependency.PRW):
        read = _read(asg, a, edge.key)
        saw = "" if read is None else f" = {names.seen(read)}{names.at([int(asg.read_op[read])])}"
        rows = () if read is None else (int(asg.read_op[read]),)
        text = f"{one} saw {key}{saw}, and not yet that {two} made it {left}{names.at(wrote[1:])}"
        return text, (*rows, *wrote[1:])
    if edge.kind is Dependency.WW:
        return f"{two} made {key} {left}{names.at(wrote[1:])} after {one} had written it", wrote[1:]
    read = _read(asg, b, edge.key)
    rows = () if read is None else (int(asg.read_op[read]),)
    saw = "" if read is None else f" = {names.seen(read)}{names.at(rows)}"
    return f"{two} saw {key}{saw} as {one} had left it", (*rows, *wrote[1:])


def _value(asg: ASG, names: Names, wrote: tuple[int, ...]) -> str:
    return names.value(int(asg.write_value[wrote[0]])) if wrote else "something else"


def _write(asg: ASG, txn: int, key: int) -> tuple[int, ...]:
    """The row of a transaction's write of a key in the ASG, and the operation; nothing, if it has none."""
    low, high = int(asg.key_start[key]), int(asg.key_start[key + 1])
    mine = low + np.flatnonzero(asg.write_txn[low:high] == txn)
    return (int(mine[0]), int(asg.write_op[mine[0]])) if len(mine) else ()


def _read(asg: ASG, txn: int, key: int) -> int | None:
    mine = np.arange(asg.read_start[txn], asg.read_start[txn + 1])
    mine = mine[asg.read_key[mine] == key]
    return int(mine[0]) if len(mine) else None

"""The bounded answer: what can still be said of a plain level when it ends unknown.

Where values repeat, to show that *no* order explains a trace may take longer than anybody waits. Orders that stay close
to real time are far fewer, and a tester asks mostly about those: "no order within 1 s of real time" is a finding. So,
if a level takes a bound (levels/within.py) and the trace has times, a part of the time limit is kept back, and when the
level has come to nothing the bounds are asked: first 0, then the length of a usual transaction, then ten times as much
as long as that is refuted, then between the longest that was and the shortest that was not. The verdict stays unknown,
and says up to which bound the level is broken. Should a bound turn out to hold, so does the level, by the same order.

Without times there is nothing to bound: then the answer says what would have helped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any

from boomslang.distinct import distinct
from boomslang.ir.lower import lower
from boomslang.ir.model import ambiguous_reads
from boomslang.levels.catalog import LEVELS, find_level
from boomslang.levels.level import Level
from boomslang.levels.within import takes_bound, words, written
from boomslang.solve.solution import Limits, Solution
from boomslang.trace.errors import LimitReached
from boomslang.trace.lengths import rounded, usual_length
from boomslang.trace.model import NO_TIME, Outcome, Trace

if TYPE_CHECKING:
    from boomslang.checker import Checker

KEPT = 0.25
"""Of the time limit."""
UNLIMITED_SECONDS = 5.0
"""Where there is no time limit, and memory or the solver came to its end."""
LEAST_SECONDS = 0.02
GROWTH = 10


@dataclass(frozen=True)
class Bounded:
    """Up to which slack a level is refuted that is unknown."""

    refuted_within: int
    unit: str

    def to_json(self) -> dict[str, Any]:
        return {"refuted_within": self.refuted_within, "unit": self.unit or None}


@dataclass(frozen=True)
class Attempt:
    """What the bounds had to say."""

    holds: Solution | None = None
    """An order that keeps within some bound: it is one for the level."""
    refuted: Bounded | None = None
    reason: str = ""
    """To be added to why the level is unknown."""


def can_be_bounded(checker: Checker, level: Level) -> bool:
    """Is there a bounded answer to this question?"""
    asked = checker.encoding is None and not checker.modules and checker.trace.op_where is None
    return asked and takes_bound(_plain(level)) and checker.trace.has_times


def kept_back(checker: Checker, level: Level, limits: Limits) -> Limits:
    """What is left for the level itself."""
    if limits.seconds is None or checker.limits.seconds is None or not can_be_bounded(checker, level):
        return limits
    return replace(limits, seconds=max(1e-3, limits.seconds - KEPT * checker.limits.seconds))


def attempt(checker: Checker, level: Level, begin: float) -> Attempt:
    """Asks for bounds, in the time that is left of a check that began at `begin`."""
    if not can_be_bounded(checker, level):
        return Attempt(reason=_what_would_help(checker))
    seconds = checker.left(begin).seconds
    stop = time.monotonic() + (UNLIMITED_SECONDS if seconds is None else seconds)
    bounds = _Bounds(checker.trace, level.slack if level.bound else None)
    for slack in bounds:
        left = stop - time.monotonic()
        if left < LEAST_SECONDS:
            break
        limits = replace(checker.limits, seconds=left / 2)
        try:
            found = checker.solve(lower(checker.asg, _within(level, slack, checker.trace.unit)), limits)
        except LimitReached:
            break
        if found.status == "valid":
            return Attempt(holds=replace(found, decided_by="an order close to real time"))
        bounds.told(slack, found.status == "invalid")
    if bounds.refuted is None:
        return Attempt()
    known = Bounded(bounds.refuted, checker.trace.unit)
    return Attempt(refuted=known, reason=_told(level, known))


class _Bounds(Iterator[int]):
    """The slacks to ask, each chosen by the answers so far."""

    def __init__(self, trace: Trace, asked: int | None) -> None:
        self.typical, self.span = usual_length(trace), _longest(trace)
        if asked is not None:
            self.span = min(self.span, asked)
        self.refuted: int | None = None
        self.open: int | None = None
        """The shortest that came to nothing."""

    def told(self, slack: int, refuted: bool) -> None:
        if refuted:
            self.refuted = slack
        else:
            self.open = slack

    def __next__(self) -> int:
        if self.refuted is None:
            if self.open is not None:
                raise StopIteration
            return 0
        top = self.span if self.open is None else self.open
        if self.refuted == 0:
            # If the typical length is too long already, what is shorter.
            slack = self.typical if self.open is None else rounded(self.open // GROWTH)
        elif self.refuted * GROWTH < top and self.open is None:
            slack = self.refuted * GROWTH
        else:
            slack = rounded(isqrt(self.refuted * top))
        if not self.refuted < slack < top:
            raise StopIteration
        return slack


def _longest(trace: Trace) -> int:
    """The longest time between an end and a later begin: a slack of that orders nothing."""
    span = 0
    for clock in distinct(trace.txn_clock).tolist():
        here = trace.txn_clock == clock
        ends = trace.txn_end[here & (trace.txn_end != NO_TIME) & (trace.txn_outcome == Outcome.COMMITTED)]
        begins = trace.txn_begin[here & (trace.txn_begin != NO_TIME)]
        if len(ends) and len(begins):
            span = max(span, int(begins.max()) - int(ends.min()))
    return min(span, 2**63 - 1)


def _plain(level: Level) -> Level:
    """The level without its bound, if it has one."""
    return find_level(level.name.removesuffix(f"-within-{level.bound}")) if level.bound else level


def _within(level: Level, slack: int, unit: str) -> Level:
    return _plain(level).within(slack, unit, written(slack, unit), words(slack, unit))


def _told(level: Level, known: Bounded) -> str:
    """The words for people."""
    bounded = _within(level, known.refuted_within, known.unit)
    if known.refuted_within:
        title = f"{bounded.title} of real time"
    else:  # that has a name of its own, for most levels
        same = (x for x in LEVELS if x.edges == bounded.edges and x.once == bounded.once)
        title = next((x.title for x in same), bounded.title)
    ask = f"boomslang check --level {_plain(level).short} --within {bounded.bound}"
    return f"but it is not {title} ({ask} shows why)"


def _what_would_help(checker: Checker) -> str:
    """Of a trace without times whose values repeat."""
    if checker.modules or checker.trace.has_times or not ambiguous_reads(checker.asg):
        return ""
    return (
        "values repeat: times in the trace, or a version column beside them, would help "
        "(docs/record-your-database.md)"
    )

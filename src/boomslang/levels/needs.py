"""What a level needs that not every trace has: times, sessions. A level is never reported to hold for want of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from boomslang.levels.catalog import LEVELS
from boomslang.levels.level import Dependency, Level

if TYPE_CHECKING:
    from boomslang.trace.model import Trace
    from boomslang.verdict import Verdict


def lacks(level: Level, trace: Trace) -> dict[Dependency, str]:
    """What the level needs and the trace lacks: the order that it would give, and the word for it."""
    found = {}
    if level.needs_times and not trace.has_times:
        found[Dependency.RT] = "times"
    if level.needs_sessions and not trace.has_sessions:
        found[Dependency.SO] = "sessions"
    return found


def without_what_is_lacking(verdict: Verdict) -> Verdict:
    """A valid verdict as it may be reported: unknown, if the trace lacks what the level needs."""
    level, lacking = verdict.level, lacks(verdict.level, verdict.trace)
    if not lacking:
        return verdict
    edges = {d: ends for d, ends in level.edges.items() if d not in lacking}
    once = level.once and replace(level.once, kinds=level.once.kinds - lacking.keys())
    rest = (edges, once, level.cursor)
    same = next((a for a in LEVELS if (dict(a.edges), a.once, a.cursor) == rest), None)
    holds = "all else that it asks holds" if same is None else f"same as {same.title}, which holds"
    reason = f"no {' and '.join(lacking.values())} in the trace: {holds}"
    return replace(verdict, status="unknown", reason=reason, witness=None)

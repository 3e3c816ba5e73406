"""The bound in a level's name, for the two programs that check certificates: `serializable-within-1s`.

A bound without a unit is in the trace's; one with a unit needs a trace that says its own. What does not come out as
a whole number of the trace's ticks is nobody's level. (levels/within.py reads the same names; this shares nothing
with it.)
"""

from __future__ import annotations

from boomslang.trace import Trace

NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
BOUNDED = ("serializable", "snapshot-isolation", "consistent-view")


def slack_of(level: str, trace: Trace) -> tuple[str, int | None]:
    """The level without its bound, and the bound in the trace's unit; None if it has none. Raises ValueError."""
    plain, _, bound = level.partition("-within-")
    if not bound:
        return level, None
    digits = bound.rstrip("nums")
    unit = bound[len(digits) :]
    if not (digits.isascii() and digits.isdigit()) or plain.removeprefix("strong-session-") not in BOUNDED:
        raise ValueError(f"there is no level {level!r}")
    if not unit or not trace.has_times:  # without times it orders nothing, whatever it is
        return plain, int(digits)
    if unit not in NANOSECONDS or trace.unit not in NANOSECONDS:
        raise ValueError(f"the bound of {level!r} is in {unit}, the times are in {trace.unit or 'no unit'}")
    ticks, rest = divmod(int(digits) * NANOSECONDS[unit], NANOSECONDS[trace.unit])
    if rest:
        raise ValueError(f"the bound of {level!r} is no whole number of {trace.unit}, as the times are")
    return plain, ticks

"""Levels within a bound: serializable within 1 s.

Real time orders two transactions only if the first one had returned more than the bound before the other was invoked.
A bound of 0 is the level with real-time order (serializable: strict serializable), one as long as the trace is the
plain level, and what holds within a bound holds within every longer one. Each bound makes a level of its own, with the
bound in its name, so that it can be asked for, written into a certificate and found again: `serializable-within-1s`.

Times in a trace are integers. `1000` is in the unit of the trace, whichever that is; `1s` needs a trace that says its
unit. A level is found before the trace is read, so its slack is first in the unit that was written, and `fitted` puts
it into the trace's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from boomslang.errors import UsageError
from boomslang.levels.level import Level
from boomslang.trace.units import UNITS

if TYPE_CHECKING:
    from boomslang.trace.model import Trace

LONGEST = 2**63 - 1
_ALSO = {"m": 60 * UNITS["s"], "min": 60 * UNITS["s"], "h": 3600 * UNITS["s"], "µs": UNITS["us"]}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]*)", re.IGNORECASE)
_NAME = re.compile(r"(.+?)[\s_-]*within[\s_-]*([0-9.]+\s*[a-zµ]*)", re.IGNORECASE)
_EXPECTED = "expected a time such as 1s, 500ms, 20us or 10ns, or a whole number in the unit of the trace, such as 1000"


def takes_bound(level: Level) -> bool:
    """Serializable, snapshot isolation and consistent view, with session order or without: what has a form with
    real-time order of its own, and is not that form."""
    plain = level.name.removeprefix("strong-session-")
    return plain in ("serializable", "snapshot-isolation", "consistent-view")


def bounded(level: Level, amount: str | int) -> Level:
    """The level within this bound: `1s`, or 1000 (in the trace's unit)."""
    if not takes_bound(level):
        why = (
            " already asks for real-time order" if level.needs_times else " has no form with real-time order"
        )
        raise UsageError(
            f"found a bound (within {amount}) on {level.title}, which{why}; expected serializable (ser), snapshot "
            "isolation (si) or consistent view (pl-2+), or their strong-session- forms"
        )
    slack, unit = _read(str(amount))
    return level.within(slack, unit, f"{slack}{unit}", words(slack, unit))


def named_bounded(name: str) -> tuple[str, str] | None:
    """`serializable-within-1s`, or `serializable within 1 s`: the level's name and the bound."""
    found = _NAME.fullmatch(name.strip())
    return None if found is None else (found[1], found[2])


def fitted(level: Level, trace: Trace) -> Level:
    """The level with its slack in the unit of the trace. Its name stays."""
    if not level.bound or level.slack_unit == trace.unit:
        return level
    if not level.slack_unit:  # it was in the trace's unit all along
        title = level.title.rpartition(" within ")[0]
        title = f"{title} within {words(level.slack, trace.unit)}"
        return replace(level, slack_unit=trace.unit, title=title)
    if not trace.has_times:  # there is nothing to order, whatever the bound
        return level
    asked = words(level.slack, level.slack_unit)
    if not trace.unit:
        raise UsageError(
            f"found a bound of {asked} on a trace that does not say the unit of its times; expected a bound in the "
            "trace's own unit, such as --within 1000; or add the unit to the header of the trace: "
            '{"boomslang": 1, "unit": "ns"} (ns, us, ms or s)'
        )
    slack, rest = divmod(level.slack * UNITS[level.slack_unit], UNITS[trace.unit])
    if rest:
        raise UsageError(
            f"found a bound of {asked} on a trace whose times are whole numbers of {trace.unit}; expected a bound "
            f"of whole {trace.unit}"
        )
    if slack > LONGEST:
        raise UsageError(
            f"found a bound of {asked}, which is longer than any times in {trace.unit}; {_EXPECTED}"
        )
    return replace(level, slack=slack, slack_unit=trace.unit)


def within(level: Level, amount: str | int, trace: Trace) -> Level:
    """The level within this bound, for this trace."""
    return fitted(bounded(level, amount), trace)


def no_longer(a: Level, b: Level) -> bool:
    """Is a's slack at most b's, whatever the trace?"""
    if a.slack == 0 or (a.slack_unit == b.slack_unit and a.slack <= b.slack):
        return True
    if not a.slack_unit or not b.slack_unit:
        return False
    return a.slack * UNITS[a.slack_unit] <= b.slack * UNITS[b.slack_unit]


def words(ticks: int, unit: str) -> str:
    """A time for people, in the largest unit that makes it at least 1: 1.5 s; 1000 without a unit."""
    if not unit:
        return str(ticks)
    size = next((u for u in reversed(UNITS) if ticks * UNITS[unit] >= UNITS[u]), unit)
    amount = Fraction(ticks * UNITS[unit], UNITS[size])
    if amount.denominator == 1:
        return f"{int(amount)} {size}"
    return f"{float(amount):.9f}".rstrip("0") + f" {size}"


def roughly(ticks: int, unit: str) -> str:
    """The same with three digits, for what was measured."""
    if not unit or ticks == 0:
        return words(ticks, unit)
    size = next((u for u in reversed(UNITS) if abs(ticks) * UNITS[unit] >= UNITS[u]), unit)
    amount = ticks * UNITS[unit] / UNITS[size]
    return f"{amount:,.0f} {size}" if abs(amount) >= 100 else f"{amount:.3g} {size}"


def written(ticks: int, unit: str) -> str:
    """A time as `--within` takes it, short and exact: 2s, 1500ms, 1000."""
    if not unit:
        return str(ticks)
    whole = ticks * UNITS[unit]
    size = next(u for u in reversed(UNITS) if whole % UNITS[u] == 0)
    return f"{whole // UNITS[size]}{size}"


def _read(text: str) -> tuple[int, str]:
    """A time as a whole number of one of `UNITS`, or of the trace's unit."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"found {text!r} as a bound; {_EXPECTED}")
    number, unit = Fraction(found[1]), found[2].lower()
    size = {**UNITS, **_ALSO}.get(unit) if unit else None
    if unit and size is None:
        raise UsageError(f"found the unit {found[2]!r} in the bound {text!r}; {_EXPECTED}")
    if size is None:
        if number.denominator != 1:
            raise UsageError(f"found {text!r} as a bound; {_EXPECTED}")
        slack, unit = int(number), ""
    else:
        whole = number * size
        if whole.denominator != 1:
            raise UsageError(
                f"found {text!r} as a bound, which is no whole number of nanoseconds; {_EXPECTED}"
            )
        unit = next(u for u in reversed(UNITS) if int(whole) % UNITS[u] == 0)
        slack = int(whole) // UNITS[unit]
    if slack > LONGEST:
        raise UsageError(f"found {text!r} as a bound, which is longer than any trace; {_EXPECTED}")
    return slack, unit

"""Boomslang: did your database keep its isolation promise?

A trace goes in (what clients sent and got back), a verdict with a certificate comes out:

    >>> import boomslang
    >>> b = boomslang.TraceBuilder()
    >>> with b.transaction(session="alice") as t:
    ...     t.get("x", boomslang.Absent); t.put("y", 1)
    >>> boomslang.check(b.build(), level="serializable")
    <ser: valid>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boomslang.assertion import assert_isolation
    from boomslang.checker import Checker, check
    from boomslang.errors import UsageError
    from boomslang.levels import LEVELS, Level
    from boomslang.modules import Hints, Module, module, register_user_module
    from boomslang.record import Tracer
    from boomslang.trace import Absent, Trace, TraceBuilder, TraceError, read_trace
    from boomslang.verdict import Verdict

__all__ = [
    "LEVELS",
    "Absent",
    "Checker",
    "Hints",
    "Level",
    "Module",
    "Trace",
    "TraceBuilder",
    "TraceError",
    "Tracer",
    "UsageError",
    "Verdict",
    "assert_isolation",
    "check",
    "module",
    "read_trace",
    "register_user_module",
]

__version__ = "0.1.0"

_HOMES = {
    "boomslang.assertion": ("assert_isolation",),
    "boomslang.checker": ("Checker", "check"),
    "boomslang.errors": ("UsageError",),
    "boomslang.levels": ("LEVELS", "Level"),
    "boomslang.modules": ("Hints", "Module", "module", "register_user_module"),
    "boomslang.record": ("Tracer",),
    "boomslang.trace": ("Absent", "Trace", "TraceBuilder", "TraceError", "read_trace"),
    "boomslang.verdict": ("Verdict",),
}
"""Where each name lives. It is loaded when it is first used (PEP 562): a check needs no recorder, and no start-up
should pay for one."""
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'boomslang' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

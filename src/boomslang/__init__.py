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

from boomslang.lazily import lazily

TYPE_CHECKING = False  # typing's own is not imported: it takes half of what Python's start takes
if TYPE_CHECKING:
    from boomslang.assertion import assert_isolation
    from boomslang.checker import Checker, check
    from boomslang.errors import UsageError
    from boomslang.levels import LEVELS, Level, level
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
    "level",
    "module",
    "read_trace",
    "register_user_module",
]

__version__ = "0.1.0"

__getattr__, __dir__ = lazily(
    __name__,
    {
        "assertion": "assert_isolation",
        "checker": "Checker check",
        "errors": "UsageError",
        "levels": "LEVELS Level level",
        "modules": "Hints Module module register_user_module",
        "record": "Tracer",
        "trace": "Absent Trace TraceBuilder TraceError read_trace",
        "verdict": "Verdict",
    },
)

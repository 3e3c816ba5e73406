"""Phase 1, the trace: what clients sent to the database and got back, read into columns.

`read_trace` reads files, `TraceBuilder` takes a history from a program, `write_trace` writes one down; all
give or take a `Trace`. The file format is documented in docs/trace-format.md and in schema.json beside this
file.
"""

from __future__ import annotations

from boomslang.lazily import lazily

TYPE_CHECKING = False  # typing's own is not imported: it takes half of what Python's start takes
if TYPE_CHECKING:
    from boomslang.trace.builder import TraceBuilder
    from boomslang.trace.errors import LimitReached, TraceError
    from boomslang.trace.model import (
        ABSENT,
        NO_TIME,
        Flag,
        Initial,
        Kind,
        Operation,
        Outcome,
        Trace,
        Transaction,
    )
    from boomslang.trace.reader import read_trace
    from boomslang.trace.rows import row_key
    from boomslang.trace.scalars import Absent, Scalar, Scalars, Unbounded, same, typed
    from boomslang.trace.writer import write_trace

__all__ = [
    "ABSENT",
    "NO_TIME",
    "Absent",
    "Flag",
    "Initial",
    "Kind",
    "LimitReached",
    "Operation",
    "Outcome",
    "Scalar",
    "Scalars",
    "Trace",
    "TraceBuilder",
    "TraceError",
    "Transaction",
    "Unbounded",
    "read_trace",
    "row_key",
    "same",
    "typed",
    "write_trace",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "builder": "TraceBuilder",
        "errors": "LimitReached TraceError",
        "model": "ABSENT NO_TIME Flag Initial Kind Operation Outcome Trace Transaction",
        "reader": "read_trace",
        "rows": "row_key",
        "scalars": "Absent Scalar Scalars Unbounded same typed",
        "writer": "write_trace",
    },
)

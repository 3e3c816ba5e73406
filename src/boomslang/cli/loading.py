"""What the commands that read a trace share."""

from __future__ import annotations

import math

from boomslang.cli.watch import Watch
from boomslang.trace import Trace, read_trace

TRACE = "a trace: a file, or a folder with one file a session"
"""What commands say of that argument."""


def load(path: str, watch: Watch, *, deadline: float | None = None, memory: float | None = None) -> Trace:
    """Reads the trace; `deadline` and `memory` are `read_trace`'s."""
    watch.begin("reading the trace")
    limit = None if memory is None else math.ceil(memory)
    return read_trace(path, deadline=deadline, memory=limit, progress=watch.bytes_read)


def free_ctrl_c() -> None:
    """Z3 takes Ctrl-C for itself and calls the answer unknown. It is ours."""
    try:
        import z3
    except ImportError:
        return  # whoever needs it will say so
    z3.set_param("ctrl_c", False)

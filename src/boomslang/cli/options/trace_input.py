"""What the commands that read a trace share."""

from __future__ import annotations

import argparse
import math

from boomslang.cli.progress import Watch
from boomslang.errors import UsageError
from boomslang.trace import Trace, read_trace
from boomslang.trace.formats import NAMES, find

TRACE = "a trace: a file, or a folder with one file a session, here or at s3://, gs:// or az://; - is standard input"
"""What commands say of that argument."""


def add_format(parser: argparse.ArgumentParser) -> None:
    """The option --format of a command that reads a trace."""
    parser.add_argument(
        "--format",
        metavar="NAME",
        type=_format,
        help=f"the trace's format, if its content does not tell: {', '.join(NAMES)}",
    )


def _format(name: str) -> str:
    try:
        return find(name).name
    except UsageError as unknown:
        raise argparse.ArgumentTypeError(str(unknown)) from None


def load(
    path: str,
    watch: Watch,
    *,
    format: str | None = None,
    deadline: float | None = None,
    memory: float | None = None,
    jobs: int | None = None,
) -> Trace:
    """Reads the trace; `format`, `deadline`, `memory` and `jobs` are `read_trace`'s."""
    if not path:  # which would be the current folder
        raise UsageError("found an empty path; expected a trace: a file or a folder; fix: name it")
    watch.begin("reading the trace")
    limit = None if memory is None else math.ceil(memory)
    return read_trace(
        path, format=format, deadline=deadline, memory=limit, progress=watch.bytes_read, jobs=jobs
    )


def free_ctrl_c() -> None:
    """Z3 takes Ctrl-C for itself and calls the answer unknown. It is ours."""
    try:
        import z3
    except ImportError:
        return  # whoever needs it will say so
    z3.set_param("ctrl_c", False)

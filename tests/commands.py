"""Run a command of the program in this process, and see what it prints; or make the environment for another one."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from boomslang.cli.main import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def command(*words: object) -> Ran:
    limit = getattr(sys, "get_int_max_str_digits", lambda: 0)()
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(word) for word in words])
    finally:
        getattr(sys, "set_int_max_str_digits", lambda digits: None)(limit)
    return Ran(code, out.getvalue(), err.getvalue())


def environment(*folders: Path) -> dict[str, str]:
    """For a process of its own: this one's PYTHONPATH, good everywhere, and these folders before it.

    Not what sys.path has become: tests of benchmarks add their folder, and one of those is called as a standard module.
    """
    given = [Path(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(p.resolve()) for p in (*folders, *given))}

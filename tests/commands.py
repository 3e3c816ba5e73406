"""Run a command of the program in this process, and see what it prints."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
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

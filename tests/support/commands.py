"""The program as tests run it: in this process or as one of its own, and a trace that no output may repeat as it is."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from boomslang.cli.main import main

PROGRAM = [sys.executable, "-m", "boomslang"]


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


def environment(*folders: Path, **more: str) -> dict[str, str]:
    """For a process of its own: these folders on its path beside this one's PYTHONPATH, and no say about colours.

    Not what sys.path has become: tests of benchmarks add their folder.
    """
    mute = ("NO_COLOR", "FORCE_COLOR", "BOOMSLANG_DEBUG")
    kept = {k: v for k, v in os.environ.items() if k not in mute}
    given = [Path(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    path = os.pathsep.join(str(p.resolve()) for p in (*folders, *given))
    return {**kept, "PYTHONPATH": path, "TERM": "xterm-256color", **more}


def program(*words: object, **more: str) -> Ran:
    """The real program, with pipes for output."""
    done = subprocess.run(
        [*PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment(**more), check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write(path: Path, *operations: dict[str, Any] | str) -> Path:
    lines = [op if isinstance(op, str) else json.dumps(op) for op in operations]
    path.write_text("\n".join(lines) + "\n")
    return path


# --- what must never reach a terminal

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\n\t\x00\u2028é"


def printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def evil_trace(path: Path) -> Path:
    """A read from nowhere, with escape sequences wherever a trace can hold them."""
    return write(
        path,
        {"boomslang": 1, "clock": EVIL, "initial": {"items": [[EVIL, EVIL]]}},
        {"session": EVIL, "txn": EVIL, "op": "begin", "ctx": {EVIL: EVIL}},
        {"session": EVIL, "txn": EVIL, "op": "put", "key": "z", "error": EVIL},
        {"session": EVIL, "txn": EVIL, "op": "get", "key": EVIL, "value": EVIL + "!"},
        {"session": EVIL, "txn": EVIL, "op": "commit"},
    )

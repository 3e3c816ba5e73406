"""Where the command starts.

A check of a long trace begins with reading it, on all cores but the one that imports the rest of the program
(trace/begun.py). So this imports next to nothing before that.
"""

from __future__ import annotations

import sys


def run() -> None:
    """The entry point of the command."""
    if sys.argv[1:2] == ["check"]:
        from boomslang.trace.begun import begin

        begin(sys.argv[2:])
    from boomslang.cli.main import run as run_command

    run_command()

"""The command `boomslang`: its parser, and what becomes of errors.

Errors a user can act on end in one clear line and exit code 254. Anything else is a bug of ours: it ends in
255 with a request to report it, and shows its traceback only if BOOMSLANG_DEBUG is set.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import boomslang
from boomslang.cli import (
    cat,
    check,
    convert,
    db,
    exits,
    explain,
    export,
    hunt,
    ir,
    levels,
    modules,
    stats,
    verify,
    workloads,
)
from boomslang.cli import run as run_command
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.trace import TraceError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]


class Parser(argparse.ArgumentParser):
    """argparse, but its errors are ours: exit code 254 and not 2, which is a verdict."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Each command says itself which words it does not know, with its own usage."""
        known, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return known, others

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}\nTry: {self.prog} --help")


def make_parser() -> Parser:
    parser = Parser(
        prog="boomslang",
        description="Did your database keep its isolation promise? Checks a trace of what clients saw, "
        "and proves its answer.",
        epilog="Exit codes: 0 valid, 1 invalid, 2 unknown, 254 wrong use or bad input, 255 internal error.",
    )
    parser.add_argument("--version", action="version", version=f"boomslang {boomslang.__version__}")
    commands: Commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for command in (
        check,
        explain,
        verify,
        run_command,
        hunt,
        workloads,
        db,
        stats,
        cat,
        convert,
        ir,
        export,
        levels,
        modules,
    ):
        command.add(commands)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. Ctrl-C passes through."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # a trace may hold integers of any length
    screen = Screen()
    try:
        parser = make_parser()
        arguments = parser.parse_args(words)
        if arguments.command is None:
            parser.error("which command?")
        screen.quiet = getattr(arguments, "quiet", False)
        code: int = arguments.run(arguments, screen)
        screen.flush()
        return code
    except (UsageError, TraceError) as problem:
        screen.error(str(problem))
        return exits.USAGE
    except Exception as bug:
        if isinstance(bug, OSError) and bug.filename is not None:
            screen.error(f"{bug.filename}: {bug.strerror}")
            return exits.USAGE
        return _internal(bug, screen)


def _internal(bug: Exception, screen: Screen) -> int:
    if os.environ.get("BOOMSLANG_DEBUG"):
        for line in "".join(traceback.format_exception(bug)).splitlines():
            screen.error(line)
    screen.error(
        f"internal error: {type(bug).__name__}: {bug}\n"
        f"This is a bug in Boomslang {boomslang.__version__}, not in your trace. Please report it, with the "
        "command, its output under BOOMSLANG_DEBUG=1 and, if you may share it, the trace."
    )
    return exits.INTERNAL


def run() -> NoReturn:
    """The entry point of the command."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    try:
        code = main()
    except KeyboardInterrupt:
        # Not sys.exit: the worker may be deep in native code, and Ctrl-C means now.
        print("boomslang: interrupted", file=sys.stderr, flush=True)
        os._exit(exits.INTERRUPTED)
    sys.exit(code)

"""The command `boomslang`: its parser, and what becomes of errors.

Errors a user can act on end in one clear line and exit code 254. Anything else is a bug of ours: it ends in
255 with a request to report it, and shows its traceback only if BOOMSLANG_DEBUG is set.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from boomslang import __version__
from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError, did_you_mean

COMMANDS = {
    "check": "check a trace against isolation levels",
    "watch": "check a trace while it is being written",
    "explain": "say why a trace breaks a level",
    "advise": "say which anomalies an application met, and what would have forbidden them",
    "verify": "check a certificate",
    "run": "put load on a database, record it, and check it",
    "hunt": "run and check again and again, until a level is broken",
    "proxy": "record an application on the wire, in any language",
    "workloads": "list the workloads",
    "db": "list the databases that can be recorded, or start one",
    "stats": "count what a trace is made of",
    "compare": "put two traces or two hunts side by side",
    "cat": "show transactions of a trace",
    "convert": "write a trace in another format",
    "ir": "show what the solver is given",
    "export": "write the question for another solver",
    "levels": "list the isolation levels",
    "modules": "list the modules",
    "doctor": "say what is installed, what is missing, and what helps",
    "completion": "complete commands, options and names in the shell",
}
"""Each is a file in cli/commands. Only the one that is asked for is loaded: most of the start-up would be theirs."""


class Formatter(argparse.HelpFormatter):
    """argparse makes one for every option and asks for the terminal's width each time, which loads half of `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """argparse, but its errors are ours: exit code 254 and not 2, which is a verdict."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Formatter, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Each command says itself which words it does not know, with its own usage; and that before what is missing,
        for a mistyped option is often both."""
        words = list(sys.argv[1:] if args is None else args)
        if self._subparsers is None:
            until = words.index("--") if "--" in words else len(words)
            options = [word.split("=")[0] for word in words[:until] if word.startswith("--")]
            self._refuse([word for word in options if word not in self._option_string_actions])
        known, others = super().parse_known_args(words, namespace)
        self._refuse(others)
        return known, others

    def _refuse(self, words: list[str]) -> None:
        if words:
            meant = (self._meant(word.split("=")[0]) for word in words if word.startswith("-"))
            self.error(f"unrecognized arguments: {' '.join(words)}{''.join(meant)}")

    def _meant(self, option: str) -> str:
        return did_you_mean(option, (name for name in self._option_string_actions if len(name) > 2))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            words = f"found {value!r}{did_you_mean(str(value), known)}; expected one of {', '.join(known)}"
            raise argparse.ArgumentError(action, words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().strip()}\nTry: {self.prog} --help")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The words of a command line as its command wants them."""
    if words and words[0] in COMMANDS:
        parser = Parser(prog=f"boomslang {words[0]}")
        import_module(f"boomslang.cli.commands.{words[0]}").add(parser)
        return _with_vendors_levels(parser.parse_args(words[1:]))
    parser = Parser(
        prog="boomslang",
        description="Did your database keep its isolation promise? Checks a trace of what clients saw, "
        "and proves its answer.",
        epilog="Exit codes: 0 valid, 1 invalid, 2 unknown, 130 interrupted, 254 wrong use or bad input, "
        "255 internal error.",
    )
    parser.add_argument("--version", action="version", version=f"boomslang {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    if words and not words[0].startswith("-"):
        known = ", ".join(COMMANDS)
        parser.error(
            f"unknown command {words[0]!r}{did_you_mean(words[0], COMMANDS)}; the commands are {known}"
        )
    parser.parse_args(words)
    raise UsageError(f"which command?\n{parser.format_usage().strip()}\nTry: boomslang --help")


def _with_vendors_levels(arguments: argparse.Namespace) -> argparse.Namespace:
    """`--level mariadb-repeatable-read` is `--level si --module mariadb-repeatable-read`."""
    level, modules = getattr(arguments, "level", None), getattr(arguments, "module", None)
    words = [level] if isinstance(level, str) else level
    if not words or modules is None or not any("-" in word and "strong" not in word for word in words):
        return arguments
    from boomslang.levels.vendors import taken_apart

    names = [name for word in words for name in word.split(",")]
    levels, arguments.module = taken_apart(names, modules)
    arguments.level = ",".join(levels) if isinstance(level, str) else levels
    return arguments


def _columns() -> int:
    """How wide help may be: what COLUMNS says, else the terminal, else 80."""
    if (said := os.environ.get("COLUMNS", "")).isdigit() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return 80


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. Ctrl-C passes through."""
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)  # a trace may hold integers of any length
    screen = Screen()
    try:
        arguments = parse(sys.argv[1:] if words is None else words)
        gc.set_threshold(50_000)  # most commands import more: see `run`
        gc.enable()
        screen.quiet = getattr(arguments, "quiet", False)
        code: int = arguments.run(arguments, screen)
        screen.flush()
        return code
    except Exception as problem:
        code, words = failure(problem)
        screen.error(words)
        return code


def failure(problem: Exception) -> tuple[int, str]:
    """The exit code of an error, and what to say of it."""
    from boomslang.trace.errors import TraceError

    if isinstance(problem, UsageError | TraceError):
        return exit_codes.USAGE, str(problem)
    if isinstance(problem, OSError) and problem.filename is not None:
        return exit_codes.USAGE, f"{problem.filename}: {problem.strerror}"
    words = (
        f"internal error: {type(problem).__name__}: {problem}\n"
        f"This is a bug in Boomslang {__version__}, not in your trace. Please report it, with the "
        "command, its output under BOOMSLANG_DEBUG=1 and, if you may share it, the trace."
    )
    if os.environ.get("BOOMSLANG_DEBUG"):
        import traceback

        words = "".join(traceback.format_exception(problem)) + words
    return exit_codes.INTERNAL, words


LEAVE_THINGS = ("run", "hunt", "db", "proxy")
"""Commands with servers and temporary folders, which go when Python ends as it does by itself."""


def run() -> NoReturn:
    """Runs the command that the program was started with, and ends the program."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: `>&-`
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    # NumPy's library for matrices, which nothing here needs, starts threads that turn idly for a tenth of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # what is imported stays; looking for garbage in it would be a tenth of the start-up
    try:
        code = main()
    except KeyboardInterrupt:
        # Not sys.exit: the worker may be deep in native code, and Ctrl-C means now.
        print("boomslang: interrupted", file=sys.stderr, flush=True)
        os._exit(exit_codes.INTERRUPTED)
    if sys.argv[1:2] and sys.argv[1] in LEAVE_THINGS:
        sys.exit(code)
    # Nothing is left to do, and taking a long trace apart piece by piece takes a while.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)

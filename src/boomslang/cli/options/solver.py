"""The options that say how a question is solved: which solver, which passes before it, and whose encoding."""

from __future__ import annotations

import argparse
from typing import Any

from boomslang.errors import UsageError
from boomslang.solve.names import ENCODINGS, NATIVE, PASSES, SOLVERS


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--solver",
        choices=SOLVERS,
        help=f"{NATIVE} (the default), or one that is slow and independent of it: {', '.join(SOLVERS[1:])}",
    )
    add_passes(parser)
    parser.add_argument(
        "--encoding",
        choices=ENCODINGS,
        help="ask an eager solver the way an earlier checker did, under its assumptions",
    )


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--window",
        type=_window,
        metavar="N",
        help="transactions of one window of a long trace; 0: ask in one piece; the answer is the same with any number",
    )


def _window(text: str) -> int:
    if not text.isdecimal() or int(text) == 1 or len(text) > 9:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected 0, or a number of transactions above 1")
    return int(text)


def add_passes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--passes",
        metavar="NAMES",
        help=f"of an eager solver: only these passes before it, or none (all: {','.join(PASSES)})",
    )
    parser.add_argument(
        "--no-pass", action="append", default=[], metavar="NAME", help="not this pass; can be repeated"
    )


def passes(arguments: argparse.Namespace) -> tuple[str, ...] | None:
    """The passes asked for; None if nothing was said of them."""
    if arguments.passes is None and not arguments.no_pass:
        return None
    given = (
        None if arguments.passes is None else [n.strip() for n in arguments.passes.split(",") if n.strip()]
    )
    from boomslang.passes import chosen

    return chosen([] if given == ["none"] else given, arguments.no_pass)


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a checker is told."""
    asked = passes(arguments)
    if asked is not None and arguments.encoding is None and arguments.solver in (None, NATIVE):
        raise UsageError("--passes and --no-pass are for eager solvers; add, for example, --solver z3")
    return {
        "solver": arguments.solver,
        "passes": asked,
        "encoding": arguments.encoding,
        "jobs": getattr(arguments, "jobs", None),
        "window": getattr(arguments, "window", None),
    }

"""Options of everything that follows a trace while it is being written."""

from __future__ import annotations

import argparse
import re

from boomslang.errors import UsageError

UNITS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
IDLE = 5.0
SEARCH = 120.0


def add_following(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--idle",
        type=duration,
        default=IDLE,
        metavar="TIME",
        help=f"how long a session that says nothing is waited for; else {IDLE:.0f}s",
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=duration,
        default=SEARCH,
        metavar="TIME",
        help="answer unknown once a few thousand neighbouring transactions (a window) are not decided for so long; "
        f"else {SEARCH / 60:.0f}m",
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep",
        type=duration,
        metavar="TIME",
        help="delete what is checked and older than this (10m), so that it can go on for days on a disk that does not "
        "fill; what is left cannot be checked again",
    )


def refuse_with_keep(arguments: argparse.Namespace, *options: str) -> None:
    """Raises if something is asked for that needs all that was recorded."""
    for option in options:
        if arguments.keep is not None and getattr(arguments, option) is not None:
            raise UsageError(
                f"found --{option} with --keep; expected one of them: it is about all that was recorded, and --keep "
                "deletes most of that"
            )


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--page",
        nargs="?",
        type=_port,
        const=0,
        metavar="PORT",
        help="show how it goes on a web page of this machine, too; its address is printed",
    )


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected the number of a port, 1 to 65535")
    return int(text)


def duration(text: str) -> float:
    """Seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|[smh]?)", text)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a time such as 90s, 10m or 2h")
    return float(match[1]) * UNITS[match[2]]

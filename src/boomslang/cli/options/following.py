"""Options of everything that follows a trace while it is being written."""

from __future__ import annotations

import argparse
import re

UNITS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
IDLE = 5.0


def add_following(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--idle",
        type=duration,
        default=IDLE,
        metavar="TIME",
        help=f"how long a session that says nothing is waited for; else {IDLE:.0f}s",
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

"""Options of everything that follows a trace while it is being written."""

from __future__ import annotations

import argparse
import re

UNITS = {"": 1, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
IDLE = 5.0


def add_following(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--idle",
        type=duration,
        default=IDLE,
        metavar="TIME",
        help=f"how long a session that says nothing is waited for; else {IDLE:.0f}s",
    )


def duration(text: str) -> float:
    """Seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd]?)", text)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a time such as 90s, 10m or 2h")
    return float(match[1]) * UNITS[match[2]]

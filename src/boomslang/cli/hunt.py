"""`boomslang hunt`: runs and checks, run after run, until the database breaks its promise or the time is over."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from boomslang.cli import loads
from boomslang.cli.screen import Screen

if TYPE_CHECKING:
    from boomslang.cli.main import Commands

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "hunt",
        help="run and check again and again, until a level is broken",
        description="Runs a workload again and again, with other seeds and other contention each time, and checks "
        "each run while the next one goes. Stops at the first trace that breaks the level, keeps it with its "
        "certificate, and tells the story. Exit code 1: found; 0: nothing found; 2: nothing found, and no check "
        "came to an end.",
    )
    loads.add(parser, txns=1000, txns_are="in each run", sessions=None)
    add_argument = parser.add_argument
    add_argument("--level", metavar="LEVEL", help="the level to break; else what the database promises")
    add_argument(
        "--for",
        dest="seconds",
        type=_duration,
        default=60.0,
        metavar="TIME",
        help="how long: 90s, 10m, 2h; else 60s",
    )
    add_argument("--collect", action="store_true", help="do not stop at the first")
    add_argument(
        "--out",
        default="hunt",
        metavar="DIR",
        help="what is found is kept here; must be new or empty; else hunt",
    )
    loads.add_answer(parser)
    parser.set_defaults(run=run)


def _duration(text: str) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", text)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a time such as 90s, 10m or 2h")
    return float(match[1]) * UNITS[match[2]]


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli.hunting import run

    return run(arguments, screen)

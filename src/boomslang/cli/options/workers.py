"""`--jobs` and `--on`: how many pieces of work are done at a time, and where."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from boomslang.storage import is_address

if TYPE_CHECKING:
    from boomslang.workers import Workers


def add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help="of several traces, check so many at a time, each in a process of its own; else one a core",
    )


def several(arguments: argparse.Namespace) -> bool:
    """Is there more than one piece of work?"""
    return len(arguments.traces) > 1 or (is_address(arguments.traces[0]) and "*" in arguments.traces[0])


def find_workers(arguments: argparse.Namespace, count: int, *, preload: str) -> Workers:
    """Who does so many pieces of work; `preload` names the module of the function."""
    from boomslang.workers.processes import Processes, cores

    return Processes(min(arguments.jobs or cores(), count), preload=preload)


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number above 0")
    return int(text)

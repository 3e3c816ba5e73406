"""`--jobs`: how many threads may work at a time, for every command that reads or checks."""

from __future__ import annotations

import argparse
import re

MOST = 1024


def add_jobs(parser: argparse.ArgumentParser, what: str = "threads that work at a time") -> None:
    parser.add_argument(
        "--jobs",
        type=_count,
        metavar="N",
        help=f"{what}; else as many as there are cores; the answer is the same with any number",
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number above 0")
    return min(int(text), MOST)

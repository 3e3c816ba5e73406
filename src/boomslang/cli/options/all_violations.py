"""`--all`: every violation, not only the first that was found."""

from __future__ import annotations

import argparse
import re

FEW = 10
"""Violations of a name that are told if the user does not say how many."""


def add_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        nargs="?",
        type=_count,
        const=FEW,
        metavar="N",
        help=f"list all violations, by name and with counts; the first N of each name are told (else {FEW})",
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a number above 0, or nothing (then TRACE comes before it)"
        )
    return int(text)

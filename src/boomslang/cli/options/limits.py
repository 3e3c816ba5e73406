"""`--timeout` and `--memory`: how long a check may take and how much it may use, for every command that checks."""

from __future__ import annotations

import argparse
import math


def add_limits(parser: argparse.ArgumentParser, give_up: str = "give up", included: str = "") -> None:
    """Adds the two options; `give_up` says of what, `included` what else counts."""
    add_argument = parser.add_argument
    add_argument("--timeout", type=positive, metavar="S", help=f"{give_up} after S seconds{included}")
    add_argument("--memory", type=positive, metavar="MB", help=f"{give_up} beyond MB megabytes of memory")


def positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number above 0")
    return number

"""For whom the answer is: people, or programs."""

from __future__ import annotations

import argparse

from boomslang.explain.outputs import OUTPUTS


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options that say for whom the answer is."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--output",
        choices=("text", "json", *OUTPUTS),
        default="text",
        help="for people (text), or for programs: JSON (see docs/how-it-works.md), Graphviz, SARIF 2.1.0, JUnit XML",
    )
    how.add_argument(
        "--json", dest="output", action="store_const", const="json", help="same as --output json"
    )
    how.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")

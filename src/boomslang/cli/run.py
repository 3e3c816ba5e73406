"""`boomslang run`: puts load on a database, records what its clients saw, and asks for the verdict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from boomslang.cli import loads
from boomslang.cli.screen import Screen

if TYPE_CHECKING:
    from boomslang.cli.main import Commands

PROMISED = ""
"""`--check` without a level."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "run",
        help="put load on a database, record it, and check it",
        description="Runs a workload on a database and records what its clients saw as a trace. With --check the "
        "trace is checked at once, and the exit code is the verdict's: 0 valid, 1 invalid, 2 unknown.",
    )
    loads.add(parser, txns=1000, txns_are="in all", sessions=8)
    add_argument = parser.add_argument
    add_argument("--out", required=True, metavar="DIR", help="the trace's folder; must be new or empty")
    add_argument(
        "--check",
        nargs="?",
        const=PROMISED,
        metavar="LEVEL",
        help="check the trace at a level, or several (ser,si); without one, at what the database promises",
    )
    add_argument("--certificate", metavar="FILE", help="with --check: write what proves the answer")
    loads.add_answer(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli.running import run

    return run(arguments, screen)

"""`boomslang levels`: what can be asked for, under which names, and where it is defined."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from boomslang.cli import exits
from boomslang.cli.screen import Screen
from boomslang.levels import LEVELS, Level, minimal, strictly_stronger

if TYPE_CHECKING:
    from boomslang.cli.main import Commands


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "levels",
        help="list the isolation levels",
        description="Lists the isolation levels: their names, what they forbid, what implies them.",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    for level in LEVELS:
        screen.line((level.name, "bold cyan"), f" ({level.short})")
        for title, text in _facts(level):
            screen.line((f"{title:12}", "dim"), text, indent=2, hang=12)
        screen.line()
    screen.line("Names may be written in any case, with spaces, hyphens or underscores.")
    return exits.VALID


def _facts(level: Level) -> list[tuple[str, str]]:
    needs = (("sessions", level.needs_sessions), ("times", level.needs_times))
    facts = [
        ("forbids", level.forbids),
        ("needs", " and ".join(word for word, needed in needs if needed)),
        ("implied by", ", ".join(above.short for above in minimal(strictly_stronger(level)))),
        ("also called", ", ".join(level.aliases)),
        ("see", level.citation),
    ]
    return [(title, text) for title, text in facts if text]

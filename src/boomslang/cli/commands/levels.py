"""`boomslang levels`: what can be asked for, under which names, what implies what, and where it is defined."""

from __future__ import annotations

import argparse
from typing import Any

from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen
from boomslang.levels import (
    Level,
    find_level,
    implies,
    known_levels,
    maximal,
    minimal,
    names_of,
    strictly_stronger,
)
from boomslang.levels.names import ELSEWHERE, NOT_SUPPORTED

GROUPS = (
    ("Levels that know neither sessions nor times", (False, False)),
    ("With session order: what a session did earlier comes first", (True, False)),
    ("With real-time order: what had returned before comes first", (False, True)),
    ("With both", (True, True)),
)
"""Title, and whether the levels need sessions and times."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists the isolation levels, the strongest of each group first: their names, what they forbid, "
        "what they imply."
    )
    parser.add_argument("level", nargs="*", metavar="LEVEL", help="only these levels (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    asked = [find_level(name) for name in arguments.level] or list(known_levels())
    if arguments.json:
        screen.document(to_json(asked))
        return exit_codes.VALID
    for title, needs in GROUPS:
        group = [level for level in asked if (level.needs_sessions, level.needs_times) == needs]
        if not group:
            continue
        screen.line((title, "bold"))
        screen.line()
        for level in sorted(group, key=lambda level: -sum(implies(level, other) for other in known_levels())):
            screen.line((level.name, "bold cyan"), f" ({level.short})", indent=2)
            for fact, text in _facts(level):
                screen.line((f"{fact:12}", "dim"), text, indent=4, hang=12)
            screen.line()
    screen.line("A level also implies all that is implied by what it implies.")
    screen.line("Names may be written in any case, with spaces, hyphens, underscores or without.")
    return exit_codes.VALID


def _weaker(level: Level) -> list[Level]:
    """Those right below it."""
    return maximal(other for other in known_levels() if other is not level and implies(level, other))


def _other_names(level: Level) -> list[str]:
    return [name for name in names_of(level) if name not in (level.name, level.short)]


def _needs(level: Level) -> list[str]:
    needs = (("sessions", level.needs_sessions), ("times", level.needs_times))
    return [word for word, needed in needs if needed]


def _facts(level: Level) -> list[tuple[str, str]]:
    elsewhere = [f"{known.name} of {known.who}" for known in ELSEWHERE if known.level == level.name]
    facts = [
        ("forbids", level.forbids),
        ("implies", ", ".join(below.short for below in _weaker(level))),
        ("implied by", ", ".join(above.short for above in minimal(strictly_stronger(level, known_levels())))),
        ("needs", " and ".join(_needs(level))),
        ("also called", ", ".join(_other_names(level))),
        ("is", "; ".join(elsewhere)),
        ("see", level.citation),
        ("from", level.owner),
    ]
    return [(title, text) for title, text in facts if text]


def to_json(levels: list[Level]) -> dict[str, Any]:
    """The lattice as data; `implies` and `implied_by` name the neighbours only."""
    return {
        "levels": [
            {
                "name": level.name,
                "short": level.short,
                "title": level.title,
                "aliases": _other_names(level),
                "forbids": level.forbids,
                "edges": {kind.value: f"{a.value}->{b.value}" for kind, (a, b) in level.edges.items()},
                "needs": _needs(level),
                "implies": [below.name for below in _weaker(level)],
                "implied_by": [above.name for above in minimal(strictly_stronger(level, known_levels()))],
                "elsewhere": [
                    {"who": known.who, "name": known.name, "note": known.note}
                    for known in ELSEWHERE
                    if known.level == level.name
                ],
                "citation": level.citation,
            }
            for level in levels
        ],
        "not_supported": [
            {
                "name": known.name,
                "aliases": list(known.aliases),
                "source": known.source,
                "stronger": list(known.stronger),
                "weaker": list(known.weaker),
            }
            for known in NOT_SUPPORTED
        ],
    }

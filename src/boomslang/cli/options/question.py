"""What is asked of a trace: levels, and modules that say what else is known."""

from __future__ import annotations

import argparse

from boomslang.errors import UsageError
from boomslang.levels import Level, find_level

STRONGEST = "strongest"


def add_module(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="MODULE",
        help="what else is known or asked for: a module's name (see `boomslang modules`) or a Python file, which "
        "is run; parameters after a colon: bounded-staleness:time=100; may be given several times",
    )


def look_at_modules(words: list[str]) -> None:
    """A wrong name should not wait for the trace to be read."""
    if words:
        from boomslang.modules import find_modules

        find_modules(words)


def asked_levels(words: list[str]) -> list[Level] | None:
    """The levels of `--level`, each once, in the order given. None: find the strongest."""
    names = [name for word in words for name in word.split(",") if name.strip()]
    if any(name.strip().lower() == STRONGEST for name in names):
        if len(names) > 1:
            raise UsageError("--level strongest asks every level; give no other beside it")
        return None
    if not names:
        raise UsageError(
            "which level? For example: --level serializable, --level ser,si or --level strongest"
        )
    return list({level.name: level for level in map(find_level, names)}.values())

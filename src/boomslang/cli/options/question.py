"""What is asked of a trace: levels, and modules that say what else is known."""

from __future__ import annotations

import argparse

from boomslang.errors import UsageError
from boomslang.levels import Level, bounded, find_level

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


def add_within(parser: argparse.ArgumentParser, *, of: str = "the levels asked for") -> None:
    parser.add_argument(
        "--within",
        metavar="TIME",
        help=f"{of} within a bound of real time: only orders count in which nothing stands before what had returned "
        "more than this earlier; 1s, 500ms, or a number in the unit of the trace; for ser, si and pl-2+, and their "
        "strong-session- forms",
    )


def look_at_modules(words: list[str]) -> None:
    """A wrong name should not wait for the trace to be read."""
    if words:
        from boomslang.modules import find_modules

        find_modules(words)


def asked_levels(words: list[str], within: str | None = None) -> list[Level] | None:
    """The levels of `--level`, within the bound of `--within`, each once, in the order given. None: the strongest."""
    names = [name for word in words for name in word.split(",") if name.strip()]
    if any(name.strip().lower() == STRONGEST for name in names):
        if len(names) > 1:
            raise UsageError("--level strongest asks every level; give no other beside it")
        if within is not None:
            raise UsageError(
                "--within is for some levels, and --level strongest asks all; name those you mean"
            )
        return None
    if not names:
        raise UsageError(
            "which level? For example: --level serializable, --level ser,si or --level strongest"
        )
    levels = [find_level(name) if within is None else bounded(find_level(name), within) for name in names]
    return list({level.name: level for level in levels}.values())

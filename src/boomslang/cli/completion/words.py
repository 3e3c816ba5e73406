"""What may follow what on the command line, read off the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module

FILES = ("*files*",)
"""In place of words: the shell's own files."""


@dataclass
class Command:
    """A command, or an action of one."""

    summary: str
    options: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    """Each option with what may follow: None, nothing; (), something that nobody can guess."""
    about: dict[str, str] = field(default_factory=dict)
    """Of an option, its help in a few words."""
    words: tuple[str, ...] = ()
    """What may stand alone."""
    actions: dict[str, Command] = field(default_factory=dict)


def commands() -> dict[str, Command]:
    """All of them."""
    from boomslang.cli.main import COMMANDS, Parser

    named = names()
    found = {}
    for name, summary in COMMANDS.items():
        parser = Parser(prog=f"boomslang {name}")
        import_module(f"boomslang.cli.commands.{name}").add(parser)
        found[name] = _read(parser, summary, named)
    return found


def names() -> dict[str, tuple[str, ...]]:
    """By the destination of an option: the names that it takes."""
    from boomslang.databases import ADAPTERS
    from boomslang.levels import LEVELS
    from boomslang.modules import known_modules
    from boomslang.trace.formats import NAMES
    from boomslang.workloads import WORKLOADS

    levels = tuple(sorted(level.short for level in LEVELS))
    formats = tuple(sorted(NAMES))
    return {
        "level": (*levels, "strongest"),
        "check": levels,
        "db": tuple(sorted(ADAPTERS)),
        "workload": tuple(sorted(WORKLOADS)),
        "format": formats,
        "source": formats,
        "to": formats,
        "module": tuple(sorted(known_modules())),
        "distribution": ("uniform", "zipf", "hotspot"),
    }


def _read(parser: argparse.ArgumentParser, summary: str, named: Mapping[str, tuple[str, ...]]) -> Command:
    made = Command(summary)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            for name, child in action.choices.items():
                made.actions[name] = _read(child, helps.get(name, ""), named)
        elif action.option_strings:
            takes = None if action.nargs == 0 else _values(action, named)
            for option in action.option_strings:
                made.options[option] = takes
                made.about[option] = _short(action.help)
        else:
            made.words += _values(action, named)
    return made


def _values(action: argparse.Action, named: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    if action.metavar in ("FILE", "DIR", "FOLDER", "TRACE", "RUN", "CERTIFICATE", "IN", "OUT"):
        return FILES
    return named.get(action.dest, ())


def _short(text: str | None) -> str:
    """The first words of an option's help."""
    return (text or "").partition(";")[0].partition(" (")[0].partition(":")[0].replace("%%", "%")

"""`boomslang modules`: what can be known or asked for beside a level."""

from __future__ import annotations

import argparse

from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen
from boomslang.modules import known_modules
from boomslang.modules.module import REQUIRED


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists the modules for `check --module`: what they say of a database, their parameters and "
        "whose they are. docs/write-a-module.md tells how to write one."
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    for m in known_modules().values():
        screen.line((m.name, "bold cyan"), "" if m.owner == "boomslang" else f" (of {m.owner})")
        screen.line(m.description, indent=2)
        for name, value in m.parameters.items():
            said = "must be given" if value is REQUIRED else f"else {value}"
            screen.line((f"{name}: ", "dim"), said, indent=2)
    return exit_codes.VALID

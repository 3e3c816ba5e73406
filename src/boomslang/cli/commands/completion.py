"""`boomslang completion`: a script that teaches the shell what may follow `boomslang`."""

from __future__ import annotations

import argparse

from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen

SHELLS = ("bash", "zsh", "fish")


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints a script that completes commands, options, levels, databases, workloads, formats and modules. For "
        "good: bash: boomslang completion bash > ~/.local/share/bash-completion/completions/boomslang; "
        "zsh: boomslang completion zsh > _boomslang, in a folder of $fpath; "
        "fish: boomslang completion fish > ~/.config/fish/completions/boomslang.fish."
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli.completion import shells
    from boomslang.cli.completion.words import commands

    screen.text(shells.SHELLS[arguments.shell](commands()))
    return exit_codes.VALID

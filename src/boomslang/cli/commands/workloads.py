"""`boomslang workloads`: the loads for `run` and `hunt`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from boomslang.cli import exit_codes
from boomslang.cli.screen import Screen

if TYPE_CHECKING:
    from boomslang.workloads import Workload


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists the workloads for `run` and `hunt`, with the settings that make a difference and what "
        "they are if nothing else is said. docs/run-and-hunt.md tells where each comes from."
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.workloads import WORKLOADS

    for name, workload in WORKLOADS.items():
        screen.line((name, "bold cyan"))
        screen.line(workload.about, indent=2)
        screen.line(("settings: ", "dim"), settings(workload), indent=2)
        if workload.needs:
            screen.line(
                ("needs: ", "dim"), f"a database with {' and '.join(sorted(workload.needs))}", indent=2
            )
    return exit_codes.VALID


def settings(workload: type[Workload]) -> str:
    """Those that make a difference, with their defaults."""
    chosen = workload.defaults.to_json()
    shown = [
        f"--{name} {chosen[name]}"
        for name in ("keys", "ops", "values", "distribution")
        if name in workload.uses
    ]
    if "keys" in workload.uses and workload.keys_are != "keys":
        shown[0] += f" ({workload.keys_are})"
    return ", ".join(shown)

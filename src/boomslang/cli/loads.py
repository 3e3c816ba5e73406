"""The options that say which load is put on which database: what `run` and `hunt` share."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from boomslang.cli.screen import Screen
from boomslang.databases import Database, Offered
from boomslang.levels import find_level
from boomslang.run import Plan, parse_faults
from boomslang.workloads import Workload

SETTINGS = ("sessions", "keys", "ops", "values", "distribution")
"""Options that become a workload's settings."""

Check = Callable[[Screen], int]


def add(parser: argparse.ArgumentParser, *, txns: int, txns_are: str, sessions: int | None) -> None:
    def option(name: str, help: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", help=help, **more)

    number = {"type": _any_count, "metavar": "N"}
    count = {"type": _count, "metavar": "N"}
    several: dict[str, Any] = {"action": "append", "default": []}
    else_sessions = "" if sessions is None else f"; else {sessions}"
    option(
        "db",
        "a database or its address (see `boomslang db list`); else sqlite",
        default="sqlite",
        metavar="DB",
    )
    option(
        "db-level", "the level the database is asked for, by its own name; else its default", metavar="NAME"
    )
    option("workload", "the load (see `boomslang workloads`)", required=True, metavar="NAME")
    option("sessions", f"clients at a time{else_sessions}", default=sessions, **count)
    option("txns", f"transactions {txns_are}; else {txns:,}", default=txns, **count)
    option("keys", "how many keys (or users, accounts, ...: `boomslang workloads` says of what)", **count)
    option("ops", "operations in a transaction", **count)
    option("values", "distinct values; 0: no value is written twice", **number)
    option("distribution", "of keys: uniform, zipf[:EXPONENT] or hotspot[:KEYS:ACCESSES]", metavar="NAME")
    option("seed", "the same seed gives the same transactions; else 0", default=0, **number)
    option("retries", "try what the database aborted up to N times more", default=0, **number)
    option(
        "fault",
        "kill-client=N, kill-server=N or cut=N: so often in a run; may be given several times",
        metavar="FAULT",
        **several,
    )
    option(
        "module",
        "for the check, what else is known or asked for (see `boomslang check --help`)",
        metavar="MODULE",
        **several,
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """The options of the check that follows, and of the answer."""
    add_argument = parser.add_argument
    add_argument("--timeout", type=_positive, metavar="S", help="give up the check after S seconds")
    add_argument(
        "--memory", type=_positive, metavar="MB", help="give up the check beyond MB megabytes of memory"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")


def check(
    arguments: argparse.Namespace, trace: Path, level: str, modules: Sequence[str], certificate: str | None
) -> Check:
    """`boomslang check` of a trace, with the options that were given."""
    from boomslang.cli.main import make_parser

    words = ["check", f"--level={level}", *(f"--module={module}" for module in modules)]
    words += [
        f"--{name}={given}"
        for name in ("timeout", "memory")
        if (given := getattr(arguments, name)) is not None
    ]
    words += [f"--{name}" for name in ("json", "quiet") if getattr(arguments, name)]
    if certificate is not None:
        words.append(f"--certificate={certificate}")
    parsed = make_parser().parse_args([*words, "--", str(trace)])
    return lambda screen: int(parsed.run(parsed, screen))


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number above 0")
    return number


def _any_count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a whole number")
    return int(text)


def _count(text: str) -> int:
    if (number := _any_count(text)) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected 1 or more")
    return number


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload's settings that were given; None for those that were not."""
    return {name: getattr(arguments, name) for name in SETTINGS}


def plan(arguments: argparse.Namespace, database: Database, workload: Workload) -> Plan:
    faults = parse_faults(arguments.fault)
    level = database.level(arguments.db_level)
    return Plan(database, workload, level, arguments.txns, arguments.retries, faults)


def question(asked: str | None, offered: Offered, modules: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Level and modules to check: those asked for, or what the database promises."""
    if asked is None:
        return offered.promises, (*offered.modules, *modules)
    return asked, tuple(modules)


def headline(made: Plan, screen: Screen) -> None:
    """What is run, in a line."""
    promised = find_level(made.level.promises).title
    with_modules = f" with {' and '.join(made.level.modules)}" if made.level.modules else ""
    screen.line(
        (made.database.version(), "bold"),
        f" at {made.level.name!r}, which promises {promised}{with_modules}",
    )


def settings(made: Plan) -> str:
    """The workload and its settings, in a line."""
    workload, chosen = made.workload, made.workload.settings
    parts = [workload.name, f"{made.sessions} session{'s' * (made.sessions > 1)}"]
    if "keys" in workload.uses:
        parts.append(f"{chosen.keys:,} {workload.keys_are}")
    if "distribution" in workload.uses and chosen.distribution != "uniform":
        parts.append(chosen.distribution)
    return ", ".join([*parts, f"seed {chosen.seed}"])

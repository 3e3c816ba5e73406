"""From options to a load on a database and the check of what it recorded: what `run` and `hunt` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from boomslang.cli.commands.check import prepare_files
from boomslang.cli.options.question import asked_levels
from boomslang.cli.screen import Screen
from boomslang.databases import Database, DatabaseError, Offered
from boomslang.errors import UsageError
from boomslang.levels import find_level
from boomslang.run import Plan, parse_faults
from boomslang.run.fault_schedule import parse_schedule
from boomslang.workloads import Workload

SETTINGS = ("sessions", "keys", "ops", "values", "distribution", "reads", "appends", "width", "pause")
"""Options that become a workload's settings."""

Check = Callable[[Screen], int]


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload's settings that were given; None for those that were not."""
    return {name: getattr(arguments, name) for name in SETTINGS}


def planned(arguments: argparse.Namespace, database: Database, workload: Workload) -> Plan:
    faults = parse_faults(arguments.fault)
    level = database.level(arguments.db_level)
    schedule = parse_schedule(arguments.faults)
    others = None if arguments.others_at is None else database.level(arguments.others_at)
    return Plan(database, workload, level, arguments.txns, arguments.retries, faults, schedule, others)


def question(asked: str | None, offered: Offered, modules: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Level and modules to check: those asked for, or what the database promises."""
    if asked is None:
        return offered.promises, (*offered.modules, *modules)
    return asked, tuple(modules)


def within(words: str, bound: str | None) -> str:
    """These levels within a bound, by their names. Raises if there is no such level."""
    levels = asked_levels([words], bound)
    return words if levels is None else ",".join(level.name for level in levels)


def version_of(database: Database) -> str:
    """Its name and version, which a server must be asked for."""
    try:
        return database.version()
    except DatabaseError as error:
        raise _unreachable(database, error) from None


def _unreachable(database: Database, error: DatabaseError) -> UsageError:
    return UsageError(
        f"{database.title} cannot be reached: {error}; fix: start it, or correct the address after --db"
    )


@contextmanager
def claimed(database: Database) -> Iterator[None]:
    """Nobody else's run comes between several of ours."""
    with ExitStack() as stack:
        try:
            stack.enter_context(database.claimed())
        except DatabaseError as error:
            raise _unreachable(database, error) from None
        yield


def headline(made: Plan, version: str, screen: Screen) -> None:
    """What is run, in a line."""
    promised = find_level(made.level.promises).title
    with_modules = f" with {' and '.join(made.level.modules)}" if made.level.modules else ""
    screen.line(
        (version, "bold"),
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


def what(made: Plan, version: str, load: str) -> dict[str, str]:
    """What a report says of the run beside the trace."""
    said = {"Database": f"{version} at {made.level.name!r}", "Workload": load}
    if made.database.settings:
        said["Settings"] = ", ".join(f"{name}={value}" for name, value in made.database.settings.items())
    return said | ({"Faults": "; ".join(map(str, made.schedule))} if made.schedule else {})


def check_command(
    arguments: argparse.Namespace,
    trace: Path,
    level: str,
    modules: Sequence[str],
    certificate: str | None,
    about: Mapping[str, str],
) -> Check:
    """`boomslang check` of a trace, with the options that were given."""
    from boomslang.cli.main import parse

    words = ["check", f"--level={level}", *(f"--module={module}" for module in modules)]
    words += [
        f"--{name}={given}"
        for name in ("timeout", "memory")
        if (given := getattr(arguments, name)) is not None
    ]
    words += [f"--{name}" for name in ("json", "quiet") if getattr(arguments, name)]
    for name, file in (("certificate", certificate), ("report", arguments.report)):
        if file is not None:
            words.append(f"--{name}={file}")
    parsed = parse([*words, "--", str(trace)])
    parsed.about, parsed.trace = about, str(trace)
    parsed.explaining = getattr(arguments, "explaining", None)  # only `hunt` is in a hurry
    prepare_files(parsed)
    return lambda screen: int(parsed.run(parsed, screen))

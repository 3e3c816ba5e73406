"""What `run` does, and what `hunt` shares with it. Apart from their options: other commands start without databases."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boomslang.cli import exits
from boomslang.cli.check import asked_levels, prepare_files
from boomslang.cli.screen import Screen
from boomslang.cli.watch import Watch, watched
from boomslang.databases import Database, DatabaseError, Offered, find_database
from boomslang.errors import UsageError
from boomslang.levels import find_level
from boomslang.modules import find_modules
from boomslang.run import Plan, Ran, Speed, parse_faults
from boomslang.run import run as run_plan
from boomslang.workloads import Workload, find_workload

SETTINGS = ("sessions", "keys", "ops", "values", "distribution")
"""Options that become a workload's settings."""

Check = Callable[[Screen], int]


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    asked = arguments.check or None  # --check without a level: what is promised
    if asked is not None:
        asked_levels([asked])  # a wrong name should not wait for the run
    if arguments.check is None and arguments.certificate is not None:
        raise UsageError("--certificate is for --check: there is nothing to prove without it")
    if arguments.check is None and arguments.report is not None:
        raise UsageError("--report is for --check: there is nothing to show without it")
    if arguments.check is None and arguments.module:
        raise UsageError("--module is for --check: there is nothing to ask without it")
    find_modules(arguments.module)
    workload = find_workload(arguments.workload).with_settings(**given(arguments), seed=arguments.seed)
    with find_database(arguments.db) as database:
        plan = planned(arguments, database, workload)
        level, modules = question(asked, plan.level, arguments.module)
        # Made before the run, so that a wrong option does not wait for it.
        about = what(plan, version_of(database), settings(plan))
        check = check_command(arguments, Path(arguments.out), level, modules, arguments.certificate, about)
        ran = watched(lambda watch: _run(plan, arguments.out, watch), quiet=arguments.quiet)
    for problem in ran.problems:
        screen.warning(problem)
    if ran.problems and not ran.committed:
        raise UsageError(f"no transaction committed; {ran.folder} holds what was recorded")
    if not arguments.json:
        show(ran, screen)
    if arguments.check is None:
        if arguments.json:
            screen.document(ran.to_json())
        return exits.VALID
    if not arguments.json:
        screen.line()
    return check(screen)


def _run(plan: Plan, out: str, watch: Watch) -> Ran:
    watch.begin(f"{plan.workload.name} on {plan.database.title}")

    def progress(speed: Speed) -> None:
        watch.done, watch.total, watch.note = speed.begun, speed.total, str(speed)

    return run_plan(plan, out, progress=progress)


def show(ran: Ran, screen: Screen) -> None:
    """What was run, and how it went."""
    headline(ran.plan, ran.version, screen)
    screen.line(settings(ran.plan), indent=2)
    unknown = f", {ran.unknown:,} of unknown outcome" if ran.unknown else ""
    screen.line(
        f"{ran.committed:,} transactions committed, {ran.aborted:,} aborted{unknown} in {ran.seconds:.1f} s: ",
        str(ran.speed),
        indent=2,
    )
    if ran.faults:
        screen.line(f"faults: {', '.join(ran.faults)}", indent=2)
    screen.line(f"recorded in {ran.folder}", indent=2)


# --- what a hunt needs too


def given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The workload's settings that were given; None for those that were not."""
    return {name: getattr(arguments, name) for name in SETTINGS}


def planned(arguments: argparse.Namespace, database: Database, workload: Workload) -> Plan:
    faults = parse_faults(arguments.fault)
    level = database.level(arguments.db_level)
    return Plan(database, workload, level, arguments.txns, arguments.retries, faults)


def question(asked: str | None, offered: Offered, modules: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Level and modules to check: those asked for, or what the database promises."""
    if asked is None:
        return offered.promises, (*offered.modules, *modules)
    return asked, tuple(modules)


def version_of(database: Database) -> str:
    """Its name and version, which a server must be asked for."""
    try:
        return database.version()
    except DatabaseError as error:
        raise UsageError(
            f"{database.title} cannot be reached: {error}; fix: start it, or correct the address after --db"
        ) from None


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
    return {"Database": f"{version} at {made.level.name!r}", "Workload": load}


def check_command(
    arguments: argparse.Namespace,
    trace: Path,
    level: str,
    modules: Sequence[str],
    certificate: str | None,
    about: Mapping[str, str],
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
    for name, file in (("certificate", certificate), ("report", arguments.report)):
        if file is not None:
            words.append(f"--{name}={file}")
    parsed = make_parser().parse_args([*words, "--", str(trace)])
    parsed.about = about
    prepare_files(parsed)
    return lambda screen: int(parsed.run(parsed, screen))

"""`boomslang run`: puts load on a database, records what its clients saw, and asks for the verdict."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from boomslang.cli import exits, loads
from boomslang.cli.check import asked_levels
from boomslang.cli.screen import Screen
from boomslang.cli.watch import Watch, watched
from boomslang.databases import find_database
from boomslang.errors import UsageError
from boomslang.modules import find_modules
from boomslang.run import Ran, Speed
from boomslang.run import run as run_plan
from boomslang.workloads import find_workload

if TYPE_CHECKING:
    from boomslang.cli.main import Commands
    from boomslang.run import Plan

PROMISED = ""
"""`--check` without a level."""


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "run",
        help="put load on a database, record it, and check it",
        description="Runs a workload on a database and records what its clients saw as a trace. With --check the "
        "trace is checked at once, and the exit code is the verdict's: 0 valid, 1 invalid, 2 unknown.",
    )
    loads.add(parser, txns=1000, txns_are="in all", sessions=8)
    add_argument = parser.add_argument
    add_argument("--out", required=True, metavar="DIR", help="the trace's folder; must be new or empty")
    add_argument(
        "--check",
        nargs="?",
        const=PROMISED,
        metavar="LEVEL",
        help="check the trace at a level, or several (ser,si); without one, at what the database promises",
    )
    add_argument("--certificate", metavar="FILE", help="with --check: write what proves the answer")
    loads.add_answer(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    asked = None if arguments.check in (None, PROMISED) else arguments.check
    if asked is not None:
        asked_levels([asked])  # a wrong name should not wait for the run
    if arguments.check is None and arguments.certificate is not None:
        raise UsageError("--certificate is for --check: there is nothing to prove without it")
    find_modules(arguments.module)
    workload = find_workload(arguments.workload).with_settings(**loads.given(arguments), seed=arguments.seed)
    with find_database(arguments.db) as database:
        plan = loads.plan(arguments, database, workload)
        level, modules = loads.question(asked, plan.level, arguments.module)
        # Made before the run, so that a wrong option does not wait for it.
        check = loads.check(arguments, Path(arguments.out), level, modules, arguments.certificate)
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
    loads.headline(ran.plan, screen)
    screen.line(loads.settings(ran.plan), indent=2)
    unknown = f", {ran.unknown:,} of unknown outcome" if ran.unknown else ""
    screen.line(
        f"{ran.committed:,} transactions committed, {ran.aborted:,} aborted{unknown} in {ran.seconds:.1f} s: ",
        str(ran.speed),
        indent=2,
    )
    if ran.faults:
        screen.line(f"faults: {', '.join(ran.faults)}", indent=2)
    screen.line(f"recorded in {ran.folder}", indent=2)

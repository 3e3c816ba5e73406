"""`boomslang run`: puts load on a database, records what its clients saw, and asks for the verdict."""

from __future__ import annotations

import argparse
from pathlib import Path

from boomslang.cli import exit_codes, load_plan
from boomslang.cli.options import load as load_options
from boomslang.cli.options.following import add_following, add_keep, add_page, duration, refuse_with_keep
from boomslang.cli.options.question import add_within
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.databases import find_database
from boomslang.errors import UsageError
from boomslang.modules import find_modules
from boomslang.run import Plan, Ran, Speed
from boomslang.run import run as run_plan
from boomslang.workloads import find_workload

PROMISED = ""
"""`--check` without a level."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Runs a workload on a database and records what its clients saw as a trace. With --check the "
        "trace is checked at once, and the exit code is the verdict's: 0 valid, 1 invalid, 2 unknown. "
        "254: every client gave up before its time (and nothing that was recorded breaks a level)."
    )
    load_options.add(parser, txns=1000, txns_are="in all", sessions=8)
    add_argument = parser.add_argument
    add_argument("--out", required=True, metavar="DIR", help="the trace's folder; must be new or empty")
    add_argument(
        "--check",
        nargs="?",
        const=PROMISED,
        metavar="LEVEL",
        help="check the trace at a level, or several (ser,si); without one, at what the database promises",
    )
    add_within(parser, of="with --check: the levels")
    add_argument("--certificate", metavar="FILE", help="with --check: write what proves the answer")
    add_argument(
        "--watch",
        action="store_true",
        help="check while the load runs, and stop it at the first violation (see docs/watch.md); at one level, that of "
        "--check or what the database promises",
    )
    add_following(parser)
    add_keep(parser)
    add_page(parser)
    add_argument(
        "--for", dest="seconds", type=duration, metavar="TIME", help="end after so long: 90s, 10m, 2h"
    )
    load_options.add_answer(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.watch and arguments.check is None:
        arguments.check = PROMISED
    asked = arguments.check or None  # --check without a level: what is promised
    if asked is not None:
        load_plan.within(asked, arguments.within)  # a wrong name should not wait for the run
    if arguments.keep is not None and not arguments.watch:
        raise UsageError("--keep is for --watch: only what is checked while it runs can be deleted meanwhile")
    refuse_with_keep(arguments, "certificate", "report")
    if arguments.check is None and arguments.within is not None:
        raise UsageError("--within is for --check: there is nothing to ask without it")
    if arguments.check is None and arguments.certificate is not None:
        raise UsageError("--certificate is for --check: there is nothing to prove without it")
    if arguments.check is None and arguments.report is not None:
        raise UsageError("--report is for --check: there is nothing to show without it")
    if arguments.check is None and arguments.module:
        raise UsageError("--module is for --check: there is nothing to ask without it")
    find_modules(arguments.module)
    workload = find_workload(arguments.workload).with_settings(
        **load_plan.given(arguments), seed=arguments.seed
    )
    with find_database(arguments.db) as database:
        plan = load_plan.planned(arguments, database, workload)
        level, modules = load_plan.question(asked, plan.level, arguments.module)
        level = load_plan.within(level, arguments.within)
        # Made before the run, so that a wrong option does not wait for it.
        about = load_plan.what(plan, load_plan.version_of(database), load_plan.settings(plan))
        check = load_plan.check_command(
            arguments, Path(arguments.out), level, modules, arguments.certificate, about
        )
        if arguments.watch:
            from boomslang.cli.watched_run import run_and_watch

            ran, told = run_and_watch(arguments, plan, level, modules, screen)
        else:
            ran, told = (
                watched(lambda watch: _run(plan, arguments, watch), quiet=arguments.quiet),
                None,
            )
    for problem in ran.problems:
        screen.warning(problem)
    if ran.problems and not ran.committed:
        raise UsageError(f"no transaction committed; {ran.folder} holds what was recorded")
    if not arguments.json:
        show(ran, screen)
    if arguments.check is None:
        if arguments.json:
            screen.document(ran.to_json())
        code = exit_codes.VALID
    else:
        if not arguments.json:
            screen.line()
        if told is None:
            code = check(screen)
        else:
            from boomslang.cli.watched_run import answer

            code = answer(arguments, told, level, check, screen)
    if not ran.gave_up:
        return code
    # A violation is one, however little was run. Anything else would be an answer to another question.
    screen.error(
        f"every client gave up before its time: {ran.speed.begun:,} of {plan.txns:,} transactions were run, and "
        f"{ran.folder} holds them; the warnings above say why"
    )
    return code if code == exit_codes.INVALID else exit_codes.USAGE


def _run(plan: Plan, arguments: argparse.Namespace, watch: Watch) -> Ran:
    watch.begin(f"{plan.workload.name} on {plan.database.title}")

    def progress(speed: Speed) -> None:
        watch.done, watch.total, watch.note = speed.begun, speed.total, str(speed)

    return run_plan(plan, arguments.out, seconds=arguments.seconds, progress=progress)


def show(ran: Ran, screen: Screen) -> None:
    """What was run, and how it went."""
    load_plan.headline(ran.plan, ran.version, screen)
    screen.line(load_plan.settings(ran.plan), indent=2)
    unknown = f", {ran.unknown:,} of unknown outcome" if ran.unknown else ""
    screen.line(
        f"{ran.committed:,} transactions committed, {ran.aborted:,} aborted{unknown} in {ran.seconds:.1f} s: ",
        str(ran.speed),
        indent=2,
    )
    if ran.faults:
        screen.line(f"faults: {', '.join(ran.faults)}", indent=2)
    screen.line(f"recorded in {ran.folder}", indent=2)

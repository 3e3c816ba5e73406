"""`boomslang hunt`: runs and checks, run after run, until the database breaks its promise or the time is over."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boomslang
from boomslang.cli import exit_codes, load_plan
from boomslang.cli.coloured_story import show_story
from boomslang.cli.options import load as load_options
from boomslang.cli.options.following import add_following, add_keep, duration, refuse_with_keep
from boomslang.cli.options.question import add_within
from boomslang.cli.options.report import prepare_report
from boomslang.cli.options.workers import add_on
from boomslang.cli.output_files import write_whole
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.databases import Database, Offered, find_database
from boomslang.errors import UsageError
from boomslang.levels import Level, bounded, find_level
from boomslang.modules import find_modules
from boomslang.run import Hunted, Plan, Quarry, Speed, Tried, Variations, variations
from boomslang.run import hunt as hunt_plans
from boomslang.run.fault_schedule import possible_schedules
from boomslang.run.faults import possible_faults
from boomslang.run.hunt import EXPLAINING
from boomslang.run.runner import promises_no_less
from boomslang.trace.files import DELETED
from boomslang.verdict import INVALID, UNKNOWN
from boomslang.workloads import Workload, find_workload


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Runs a workload again and again, with other seeds and other contention each time, and checks "
        "each run while the next one goes. Stops at the first trace that breaks the level, keeps it with its "
        "certificate, and tells the story. Exit code 1: found; 0: nothing found; 2: nothing found, and no check "
        "came to an end; 254: nothing found, and every client of a run gave up before its time. With --on the runs are "
        "spread over the machines of a cluster, each with a database of its own."
    )
    load_options.add(parser, txns=1000, txns_are="in each run", sessions=None)
    add_argument = parser.add_argument
    add_argument("--level", metavar="LEVEL", help="the level to break; else what the database promises")
    add_within(parser, of="that level")
    add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=60.0,
        metavar="TIME",
        help="how long: 90s, 10m, 2h; else 60s",
    )
    add_argument(
        "--watch",
        action="store_true",
        help="check each run while it goes, and end it when the level is broken (see docs/watch.md)",
    )
    add_following(parser)
    add_keep(parser)
    add_argument("--collect", action="store_true", help="do not stop at the first")
    add_argument(
        "--bisect",
        metavar="DB:V..W",
        help="between which versions the violation appears or goes, and how sure that is: postgres:12.0..12.6; "
        "takes the place of --db, and --for is for each version",
    )
    add_argument(
        "--out",
        default="hunt",
        metavar="DIR",
        help="what is found is kept here; must be new or empty; else hunt",
    )
    add_on(parser, "hunt on the machines of a cluster")
    load_options.add_answer(parser)
    parser.set_defaults(run=run)


def _level(name: str, within: str | None) -> Level:
    level = find_level(name)
    return level if within is None else bounded(level, within)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    workload = find_workload(arguments.workload)
    first = next(variations(workload, load_plan.given(arguments), arguments.seed))
    if arguments.level is not None:
        _level(arguments.level, arguments.within)
    find_modules(arguments.module)
    if arguments.bisect is not None:
        return _bisected(arguments, screen)
    prepare_report(arguments.report, arguments.out)
    with find_database(arguments.db) as database, load_plan.claimed(database):
        plan = load_plan.planned(arguments, database, first)
        asked, modules = load_plan.question(arguments.level, plan.level, arguments.module)
        level = _level(asked, arguments.within)
        if arguments.watch:
            _look_at_watch(arguments, level, modules)
        elif arguments.keep is not None:
            raise UsageError(
                "--keep is for --watch: only what is checked while it runs can be deleted meanwhile"
            )
        about = {name: plan.to_json()[name] for name in ("database", "level", "promises", "workload")}
        about["version"] = load_plan.version_of(database)  # before: at the end it may be gone
        hunted = (
            _hunted(arguments, database, workload, level, modules)
            if arguments.on is None
            else _hunted_on_cluster(arguments, database, level, modules)
        )
        if not arguments.json:
            load_plan.headline(plan, about["version"], screen)
    for problem in hunted.problems:
        screen.warning(problem)
    for quarry in hunted.of(UNKNOWN):
        screen.warning(f"{quarry.trace}: {quarry.reason}; kept")
    code = _exit_code(hunted)
    page = _page(arguments, hunted, plan, about["version"], level)
    broken = hunted.of(INVALID)
    asked_for = {"asked": level.name, "modules": list(modules)}
    document = {
        "boomslang": boomslang.__version__,
        **about,
        **asked_for,
        **hunted.to_json(),
        "page": str(page),
        "exit": code,
    }
    write_whole(
        page.with_name("hunt.json"), [json.dumps(document, indent=1), "\n"]
    )  # for `boomslang compare`
    if arguments.json:
        screen.document(document)
        arguments.json, arguments.quiet, screen.quiet = (
            False,
            True,
            True,
        )  # what follows is for the report alone
    else:
        _show(hunted, plan, level, screen)
        screen.line(f"all of it, run by run: {page}", indent=2)
    if broken and (not arguments.quiet or arguments.report is not None):
        first_broken = broken[0]
        screen.line()
        if (first_broken.trace / DELETED).exists():  # what is left of it cannot be asked again
            show_story(first_broken.story, screen)
            return code
        certificate = None if first_broken.certificate is None else str(first_broken.certificate)
        load = f"{plan.workload.name}, {_how(first_broken, plan)}"
        told = load_plan.what(plan, about["version"], load)
        arguments.explaining = EXPLAINING
        load_plan.check_command(arguments, first_broken.trace, level.name, modules, certificate, told)(screen)
    return code


def _bisected(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli.bisected_hunt import run_bisect

    for name in ("on", "report"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"found --{name} with --bisect; expected one of them")
    if arguments.watch:
        raise UsageError("found --watch with --bisect; expected one of them")
    return run_bisect(arguments, lambda asked: _level(asked, arguments.within), screen)


def _look_at_watch(arguments: argparse.Namespace, level: Level, modules: tuple[str, ...]) -> None:
    """Raises if this cannot be watched."""
    from boomslang.cli.watched_run import watched_level

    refuse_with_keep(arguments, "report")
    if arguments.on is not None:
        raise UsageError(
            "found --watch with --on; expected one of them: on a cluster each run is checked after it"
        )
    watched_level(level.name, modules)


def _hunted(
    arguments: argparse.Namespace,
    database: Database,
    workload: type[Workload],
    level: Level,
    modules: tuple[str, ...],
) -> Hunted:
    level_there = database.level(arguments.db_level)
    free = database.options_to_vary(level_there)
    around = _around(arguments, database, level_there)
    row = Variations(workload, load_plan.given(arguments), arguments.seed, free, around)
    return watched(
        lambda watch: hunt_plans(
            _plans(arguments, database, row),
            arguments.out,
            level,
            modules=modules,
            seconds=arguments.seconds,
            collect=arguments.collect,
            timeout=arguments.timeout,
            memory=arguments.memory,
            status=_status(watch, arguments.seconds),
            watch=arguments.idle if arguments.watch else None,
            keep=arguments.keep,
            learn=lambda tried: _learn(row, tried),
        ),
        quiet=arguments.quiet,
    )


def _around(arguments: argparse.Namespace, database: Database, level: Offered) -> dict[str, tuple[str, ...]]:
    """What may happen around the load, as options say it, as far as none of it was given."""
    around = {}
    others = tuple(
        other.name
        for name in database.levels
        if (other := database.level(name)).name != level.name and promises_no_less(other, level)
    )
    if arguments.others_at is None and others:
        around["others_at"] = others
    if not arguments.fault and not arguments.faults:
        around["fault"] = possible_faults(database)
        if scheduled := possible_schedules(database):
            around["faults"] = scheduled
    return around


def _learn(row: Variations, tried: Tried) -> None:
    if tried.near is not None:
        close = tried.near.overwritten + tried.about["aborted"]
        kinds = {"births": tried.near.births, "passed": tried.near.passed}
        row.learn(tried.number - 1, tried.near.dangerous, tried.about["seconds"], close=close, kinds=kinds)


def _hunted_on_cluster(
    arguments: argparse.Namespace, database: Database, level: Level, modules: tuple[str, ...]
) -> Hunted:
    from boomslang.cli.hunt_blocks import hunt_on_cluster, refuse_shared

    refuse_shared(arguments.db, database)
    return hunt_on_cluster(arguments, level, modules)


def _show(hunted: Hunted, plan: Plan, level: Level, screen: Screen) -> None:
    runs = f"{hunted.runs:,} run{'s' * (hunted.runs != 1)} of {plan.workload.name}"
    tried = f"{runs}, {hunted.committed:,} commits in those checked, {hunted.seconds:.1f} s: "
    broken = hunted.of(INVALID)
    if not broken:
        screen.line(tried, f"no violation of {level.title} found", indent=2)
        return
    screen.line(tried, (f"{level.title} is broken", "bold red"), indent=2)
    for quarry in broken:
        screen.line(
            f"{quarry.trace}: {quarry.reason or 'an anomaly without a name'} ({_how(quarry, plan)})", indent=2
        )


def _page(arguments: argparse.Namespace, hunted: Hunted, plan: Plan, version: str, level: Level) -> Path:
    """Writes the page of the hunt, beside what was found."""
    from boomslang.report.hunt_page import write_hunt_page

    page = Path(arguments.out) / "hunt.html"
    write_hunt_page(page, hunted, load_plan.what(plan, version, plan.workload.name), level.title)
    return page


def _how(quarry: Quarry, plan: Plan) -> str:
    """The settings of one run, as far as they are not the workload's own."""
    about, usual = quarry.about, plan.workload.defaults.to_json()
    said = [f"{about['sessions']} sessions", f"{about['keys']:,} {plan.workload.keys_are}"]
    for name in ("ops", "values", "distribution", "reads", "appends", "width", "pause"):
        if about[name] != usual[name]:
            said.append(f"{name} {about[name]}")
    said += [f"{name.replace('_', ' ')} {about[name]}" for name in ("others_at", "schedule") if about[name]]
    said += [f"{kind}={count}" for kind, count in about["faults"].items()]
    said += [
        f"{name}={value}"
        for name, value in about["options"].items()
        if value != plan.database.options.get(name)
    ]
    return ", ".join([*said, f"seed {about['seed']}"])


def _status(watch: Watch, seconds: float) -> Callable[[Hunted, Speed | None], None]:
    start = time.monotonic()
    watch.begin("hunting")

    def tell(hunted: Hunted, speed: Speed | None) -> None:
        watch.done, watch.total = int(time.monotonic() - start), math.ceil(seconds)
        found = f", {len(hunted.of(INVALID))} found" if hunted.of(INVALID) else ""
        watch.note = f"{hunted.runs:,} runs{found}" + ("" if speed is None else f"; {speed}")

    return tell


def _plans(arguments: argparse.Namespace, database: Database, row: Variations) -> Iterator[Plan]:
    for made in row:
        asked = argparse.Namespace(**vars(arguments))
        if made.around.get("fault"):
            asked.fault = [made.around["fault"]]
        if made.around.get("faults"):
            asked.faults = made.around["faults"]
        if made.around.get("others_at"):
            asked.others_at = made.around["others_at"]
        yield load_plan.planned(asked, database.with_options(made.options), made.workload)


def _exit_code(hunted: Hunted) -> int:
    if hunted.of(INVALID):
        return exit_codes.INVALID
    if hunted.gave_up:
        return exit_codes.USAGE
    return exit_codes.UNKNOWN if hunted.found and not hunted.valid else exit_codes.VALID

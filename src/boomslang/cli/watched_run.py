"""`run --watch`: the load and the check at the same time.

The check has a process of its own (stream/beside.py). When it finds a violation the load is stopped, and the trace is
checked as it is then, so that story, certificate and report are those of the files that are there. When it finds
none, its answer is the answer: nobody checks twice.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from boomslang.cli import exit_codes, watch_answer
from boomslang.cli.coloured_story import show_story
from boomslang.cli.interruptible import in_thread
from boomslang.cli.live_status import USUAL, LiveStatus, page_of
from boomslang.cli.load_plan import Check
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.levels import Level, find_level
from boomslang.record.rules import ROTATED
from boomslang.run import Plan, Ran, Speed
from boomslang.run import run as run_plan
from boomslang.storage import located
from boomslang.stream.beside import Beside, Told
from boomslang.stream.tally import Status
from boomslang.stream.watcher import CannotWatch, Watched, refuse_level
from boomslang.trace.errors import TraceError
from boomslang.verdict import INVALID, UNKNOWN, VALID

CHECKED_AT_THE_END = "it is checked now that it is finished"


def run_and_watch(
    arguments: argparse.Namespace, plan: Plan, level: str, modules: Sequence[str], screen: Screen
) -> tuple[Ran, Told]:
    """Runs and watches, until the load has ended or the level is broken."""
    asked = watched_level(level, modules)
    stop = threading.Event()

    def enough() -> None:
        screen.note("stopping the load; Ctrl-C again to leave now")
        stop.set()

    speeds: list[Speed] = []
    certificate = None if arguments.certificate is None else located(arguments.certificate)
    with Beside(
        Path(arguments.out),
        asked,
        idle=arguments.idle,
        memory=arguments.memory,
        certificate=certificate,
        keep=arguments.keep,
    ) as beside:

        def work() -> tuple[Ran, Told]:
            ran = run_plan(
                plan,
                arguments.out,
                seconds=arguments.seconds,
                until=lambda: stop.is_set() or beside.found(),
                progress=lambda speed: speeds.__setitem__(slice(None), [speed]),
                rotate=None if arguments.keep is None else arguments.keep * ROTATED,
            )
            beside.end()
            return ran, answer_of(beside)

        title = f"{plan.workload.name} on {plan.database.title} at {asked.title}"
        with page_of(arguments.page, title, screen) as page:
            with LiveStatus(screen, quiet=arguments.quiet or arguments.json, page=page) as live:
                ran, told = in_thread(
                    work,
                    lambda: live.show(_with_load(beside.status, speeds, plan)),
                    enough,
                )
            if page is not None:
                page.show(told.last)
                page.answer(told.status, told.reason, told.story, told.notes)
            return ran, told


def _with_load(status: Status, speeds: list[Speed], plan: Plan) -> Status:
    if not speeds or status.phase == "checking what is left":
        return status
    load = f"{plan.workload.name} on {plan.database.title}: {speeds[0].begun:,} of {plan.txns:,}"
    return replace(status, phase=load if status.phase in USUAL else f"{load}; {status.phase}")


def watched_level(level: str, modules: Sequence[str]) -> Level:
    """The level that is watched. Raises if it cannot be."""
    if "," in level:
        raise UsageError(
            f"found --check {level} with --watch; expected one level: the load stops when it is broken"
        )
    if modules:
        raise UsageError(
            f"found the module {modules[0]} with --watch; expected a level alone, for modules look at whole traces; "
            "fix: leave --watch out, or ask for a level with --check"
        )
    found = find_level(level)
    refuse_level(found)
    return found


def answer_of(beside: Beside) -> Told:
    """What it has to say; what keeps it from saying anything is no reason to lose a run."""
    try:
        return beside.answer()
    except (CannotWatch, UsageError, TraceError) as why:
        return Told(UNKNOWN, str(why), beside.status)


def answer(arguments: argparse.Namespace, told: Told, level: str, check: Check, screen: Screen) -> int:
    """Shows the answer, and returns the exit code."""
    if told.last.deleted and told.status != VALID:
        return _of_what_is_left(arguments, told, find_level(level), screen)
    if told.status == UNKNOWN:
        screen.warning(f"{told.reason}; {CHECKED_AT_THE_END}")
        return check(screen)
    if told.status == INVALID:
        code = check(screen)
        if code == exit_codes.INVALID:
            return code
        screen.line()
        screen.line(("But what was recorded when the load was stopped broke it:", "bold"))
        show_story(told.story, screen)
        for note in told.notes:
            screen.line((note, "dim"), indent=2)
        return exit_codes.INVALID
    if arguments.report is not None:
        return check(screen)  # which it is made of
    _show(arguments, told, find_level(level), screen)
    if told.uncertified:
        raise UsageError(told.uncertified)
    return exit_codes.VALID


def _show(arguments: argparse.Namespace, told: Told, level: Level, screen: Screen) -> None:
    """The answer of the watch itself."""
    watched = Watched(told.status, told.reason, told.last)
    report = watch_answer.report_of(arguments.out, level, watched)
    if told.status == VALID and arguments.certificate is not None and not told.uncertified:
        report.answers[0].certificate = located(arguments.certificate)
    if arguments.json:
        story = {"story": list(told.story)} if told.story else {}
        screen.document({**watch_answer.json_of(report, watched), **story})
    else:
        watch_answer.show_watched(report, level, watched, screen)


def _of_what_is_left(arguments: argparse.Namespace, told: Told, level: Level, screen: Screen) -> int:
    """A part of the trace was deleted (--keep), so nobody but the watch can say anything about it."""
    _show(arguments, told, level, screen)
    if told.story and not arguments.json:
        screen.line()
        show_story(told.story, screen)
        for note in told.notes:
            screen.line((note, "dim"), indent=2)
    return watch_answer.CODES[told.status]

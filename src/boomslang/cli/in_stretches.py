"""`boomslang check TRACE --on ray`: stretches of one long trace, each as a task on the cluster (stretches/).

What cannot be decided so (other formats, levels that windows do not serve, packed files, lists) is checked as one task,
with a word that says why; a trace that is short, without one.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from functools import partial

from boomslang.certify.lines.writer import Writer
from boomslang.cli.answer import Answer, Report
from boomslang.cli.certificate_files import Certificates
from boomslang.cli.going_by import certify, needs_memory
from boomslang.cli.options.workers import on_cluster
from boomslang.cli.screen import Screen
from boomslang.levels import Level
from boomslang.storage import located
from boomslang.stream.check import why_not
from boomslang.stream.taken import Taken
from boomslang.stretches.check import Cost, OnOneMachine, check_in_stretches
from boomslang.stretches.slices import SHORT, NotSliced
from boomslang.trace.blocks import files_of
from boomslang.verdict import VALID


def answers_in_stretches(
    arguments: argparse.Namespace, asked: list[Level] | None, certificates: Certificates, screen: Screen
) -> Report | None:
    """The answers; None: it is to be checked as one task."""
    path = located(arguments.trace)
    if arguments.trace == "-" or not path.exists():
        return None
    reason = needs_memory(arguments, asked) or next(
        (why for level in asked or [] if (why := why_not(path, level))), ""
    )
    if reason:
        screen.warning(f"{arguments.trace}: checked as one task: {reason}")
        return None
    report = Report(arguments.trace)
    start = time.monotonic()
    names = [file.name for file in files_of(path)]
    try:
        with on_cluster(arguments.on, memory=arguments.memory, jobs=arguments.jobs) as workers:
            if workers.obstacle:
                screen.warning(workers.obstacle)
            for level in asked or []:
                target = certificates.path(level)
                left = None if arguments.timeout is None else arguments.timeout - (time.monotonic() - start)
                with ExitStack() as stack:
                    take = None
                    if target is not None:
                        writer = stack.enter_context(
                            Writer(target, level.name, level.points, names.__getitem__)
                        )
                        take = partial(_written_to, writer)
                    seconds = None if left is None else max(0.001, left)
                    found, cost = check_in_stretches(path, level, workers, seconds=seconds, take=take)
                    if take is not None and found.status == VALID:
                        writer.finish(found.counted.operations)
                report.went_by = found.counted
                if found.verdict is not None:
                    report.trace = found.verdict.trace
                answer = Answer(level, found.status, found.reason, found.verdict)
                report.answers.append(answer)
                certify(answer, certificates)
                if arguments.stats and arguments.output == "text":
                    screen.warning(_told(level, cost))
    except (NotSliced, OnOneMachine) as why:
        if str(why) != SHORT:
            screen.warning(f"{arguments.trace}: checked as one task: {why}")
        return None
    report.seconds = time.monotonic() - start
    return report


def _written_to(writer: Writer, taken: Taken) -> None:
    taken.write_to(writer)


def _told(level: Level, cost: Cost) -> str:
    return (
        f"{level.title}: {cost.slices} slices, {cost.seams} seams, {cost.stretches} stretches decided, of which "
        f"{cost.again} again from another start; {cost.joins} joined"
    )

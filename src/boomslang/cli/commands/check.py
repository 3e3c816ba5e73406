"""`boomslang check`: the main job. Reads the trace, asks each level, and hands the answers to cli/answer.py.

Several traces are several such jobs, for cli/many_traces.py to hand out.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from boomslang.cli.answer import Answer, Report, explanations, show, to_json
from boomslang.cli.certificate_files import Certificates
from boomslang.cli.options import solver as solver_options
from boomslang.cli.options.all_violations import add_all
from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.output import add_output
from boomslang.cli.options.question import add_module, add_within, asked_levels, look_at_modules
from boomslang.cli.options.report import prepare_report, report_option, write_report
from boomslang.cli.options.trace_input import TRACE, add_format, free_ctrl_c, load
from boomslang.cli.options.workers import add_workers, one_on_cluster, several
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.cli.watched_checker import WatchedChecker
from boomslang.explain.outputs import OUTPUTS, write
from boomslang.free_memory import give_large_back_at_once
from boomslang.levels import LEVELS, Level
from boomslang.levels.needs import lacks
from boomslang.trace import LimitReached
from boomslang.trace.begun import given_up
from boomslang.verdict import UNKNOWN, Verdict

OUT_OF_MEMORY = "the memory of the machine ran out"


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Does a trace satisfy an isolation level? Exit code 0: yes; 1: no; 2: unknown. With "
        "several levels or traces: 1 if any is invalid, else 2 if any is unknown, else 0. With --level strongest: 0 "
        "once all are decided. A trace that cannot be read is told, the others are checked all the same, and the "
        "exit code is 254."
    )
    add_argument = parser.add_argument
    add_argument(
        "traces",
        nargs="+",
        metavar="TRACE",
        help=f"{TRACE}. Several: an answer for each, and a table at the end",
    )
    add_argument(
        "--level",
        required=True,
        action="append",
        metavar="LEVEL",
        help="an isolation level (see `boomslang levels`); several: ser,si,rc; or: strongest",
    )
    add_within(parser)
    add_module(parser)
    add_all(parser)
    add_argument(
        "--certificate",
        metavar="FILE",
        help="write what proves the answer, for `boomslang verify`; with several levels one file each, "
        "with the level's short name before the suffix: proof.json becomes proof.ser.json; with several traces "
        "each one's name before that: proof.run-1.ser.json; so does --report",
    )
    report_option(parser)
    add_format(parser)
    add_limits(parser, included=", reading included; of several traces, each")
    add_workers(parser)
    solver_options.add(parser)
    solver_options.add_window(parser)
    add_argument(
        "--stream",
        action="store_true",
        help="read, check and forget the trace window by window, as is done if it is larger than --memory",
    )
    add_argument("--stats", action="store_true", help="show where the time went, and the solver's counters")
    add_output(parser)
    parser.set_defaults(run=run)


def prepare_files(arguments: argparse.Namespace) -> Certificates:
    """Where the certificates of `arguments.trace` go. Raises if they, or the report, could not be written there."""
    asked = asked_levels(arguments.level, arguments.within)
    certificates = Certificates(
        arguments.certificate, arguments.trace, several=asked is None or len(asked) > 1
    )
    for level in LEVELS if asked is None else asked:
        certificates.prepare(level)
        certificates.keep_apart(level, arguments.report)
    prepare_report(arguments.report, arguments.trace)
    return certificates


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    asked = asked_levels(arguments.level, arguments.within)
    look_at_modules(arguments.module)
    if several(arguments) and not one_on_cluster(arguments):
        return _check_all(arguments, screen)
    arguments.trace = arguments.traces[0]
    certificates = prepare_files(arguments)
    if arguments.on is not None:
        from boomslang.cli.in_stretches import answers_in_stretches

        spread = answers_in_stretches(arguments, asked, certificates, screen)
        if spread is None:
            return _check_all(arguments, screen)
        report = spread
    else:
        went_by = None
        if goes_by(arguments, asked):
            from boomslang.cli.going_by import answers_as_it_goes_by

            given_up()
            went_by = answers_as_it_goes_by(arguments, asked, certificates)
        if went_by is None:
            give_large_back_at_once()
        report = went_by or watched_answers(arguments, asked)
    for warning in report.trace.warnings if report.trace is not None else ():
        screen.warning(warning)
    if report.went_by is None:  # else it grew as the trace went by
        for answer in report.answers:
            certificates.write(answer)
    if arguments.output == "json":
        screen.document(to_json(report))
    elif arguments.output in OUTPUTS:
        told = explanations(report, each=arguments.output != "dot")
        screen.text(write(arguments.output, report.path, told))
    else:
        show(report, screen, stats=arguments.stats)
    if report.interrupted:  # whoever pressed Ctrl-C does not want to wait for a page
        screen.flush()
        raise KeyboardInterrupt
    write_report(
        arguments.report,
        verdicts_of(report),
        screen,
        trace_path=report.path,
        about=getattr(arguments, "about", None),  # `run` and `hunt` know the database
        load_seconds=report.load_seconds,
        quiet=arguments.output != "text" or arguments.quiet,
    )
    certificates.complain(screen)
    return report.exit_code


def _check_all(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli.many_traces import check_all

    given_up()
    return check_all(arguments, screen)


WORTH_A_LOOK = 256 << 20
"""Bytes. What is shorter than this, packed or not, fits into memory in any case."""


def _bytes_of(trace: str) -> int:
    """Of a file, or of the files of a folder; nothing of what is neither."""
    path = Path(trace)
    try:
        files = path.iterdir() if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0


def goes_by(arguments: argparse.Namespace, asked: list[Level] | None) -> bool:
    """Is the trace checked window by window, and never in memory as a whole?"""
    if not arguments.stream and arguments.memory is None and _bytes_of(arguments.trace) < WORTH_A_LOOK:
        return False
    from boomslang.cli.going_by import wants_to_go_by

    return wants_to_go_by(arguments, asked)


def watched_answers(arguments: argparse.Namespace, asked: list[Level] | None) -> Report:
    """The answers about `arguments.trace`; after Ctrl-C those that there are, if there are any."""
    if arguments.solver == "z3" or arguments.encoding is not None:
        free_ctrl_c()
    start = time.monotonic()
    report = Report(arguments.trace, strongest=asked is None)
    try:
        watched(
            lambda watch: answers(arguments, asked, watch, report),
            quiet=arguments.quiet,
            seconds=arguments.timeout,
        )
        return report
    except KeyboardInterrupt:
        if not report.settled:
            raise
        reason, interrupted = "interrupted", True
    except LimitReached as limit:
        reason, interrupted = limit.reason, False
    # The worker may still be at it, with the report in its hands: this is another one.
    seconds = time.monotonic() - start
    so_far = replace(report, settled=dict(report.settled), interrupted=interrupted, seconds=seconds)
    conclude(so_far, arguments, asked, reason)
    return so_far


def verdicts_of(report: Report) -> list[Verdict]:
    """What there is to show. Where a limit came first, that is; where it came before the trace was read, nothing."""
    if report.trace is None:
        return []
    return [
        Verdict(report.trace, a.level, a.status, a.reason) if a.verdict is None else a.verdict
        for a in report.answers
    ]


def answers(arguments: argparse.Namespace, asked: list[Level] | None, watch: Watch, report: Report) -> None:
    """Fills the report."""
    start = time.monotonic()
    deadline = None if arguments.timeout is None else start + arguments.timeout
    reason = ""
    try:
        if arguments.memory is not None:
            from boomslang.trace.size import larger_than

            too_large = larger_than(arguments.memory, arguments.trace, format=arguments.format)
            if too_large is not None:
                raise LimitReached(too_large.reason)
        report.trace = load(
            arguments.trace,
            watch,
            format=arguments.format,
            deadline=deadline,
            memory=arguments.memory,
            jobs=getattr(arguments, "jobs", None),  # `run` and `hunt` have no such option
        )
        report.load_seconds = time.monotonic() - start
        watch.begin("analysing")
        checker = WatchedChecker(report.trace, arguments, deadline, watch)
        if asked is None:
            checker.strongest(settled=report.settled)
        else:
            for level in asked:
                report.settled[level.name] = checker.check(level)
        if (few := getattr(arguments, "all", None)) is not None:  # `run` and `hunt` have no such option
            from boomslang.cli.violation_list import list_all

            report.few = few
            report.lists = list_all(checker, report.settled.values(), few, deadline, watch)
    except (LimitReached, MemoryError) as limit:
        reason = limit.reason if isinstance(limit, LimitReached) else OUT_OF_MEMORY
    conclude(report, arguments, asked, reason)
    report.seconds = time.monotonic() - start


def conclude(report: Report, arguments: argparse.Namespace, asked: list[Level] | None, reason: str) -> None:
    """An answer for each level: its verdict, or else `reason`, which is why there is none."""
    levels = asked
    if levels is None:
        spoken_of = [level for level in LEVELS if level.observes or not arguments.module]
        lacking = [x for x in spoken_of if report.trace is not None and lacks(x, report.trace)]
        report.undecidable = lacking
        levels = [level for level in spoken_of if level not in lacking]
    report.answers = [
        Answer(level, UNKNOWN, reason)
        if (v := report.settled.get(level.name)) is None
        else Answer(v.level, v.status, v.reason, v, violations=report.lists.get(level.name))
        for level in levels
    ]

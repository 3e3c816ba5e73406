"""`boomslang check`: the main job. Reads the trace, asks each level, and hands the answers to report.py."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from boomslang.check import Checker, Progress
from boomslang.cli import solving
from boomslang.cli.certificates import Certificates
from boomslang.cli.limits import add_limits
from boomslang.cli.loading import TRACE, add_format, free_ctrl_c, load
from boomslang.cli.report import Answer, Report, explanation, show, to_json
from boomslang.cli.reporting import prepare_report, report_option, write_report
from boomslang.cli.screen import Screen
from boomslang.cli.watch import Watch, watched
from boomslang.errors import UsageError
from boomslang.explain.outputs import OUTPUTS
from boomslang.levels import LEVELS, Level, find_level
from boomslang.modules import find_modules
from boomslang.trace import LimitReached, Trace
from boomslang.verdict import UNKNOWN, Verdict

if TYPE_CHECKING:
    from boomslang.cli.main import Commands

STRONGEST = "strongest"
OUT_OF_TIME = "the time limit was reached"
OUT_OF_MEMORY = "the memory of the machine ran out"


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="check a trace against isolation levels",
        description="Does a trace satisfy an isolation level? Exit code 0: yes; 1: no; 2: unknown. With "
        "several levels: 1 if any is invalid, else 2 if any is unknown, else 0. With --level strongest: 0 "
        "once all are decided.",
    )
    add_argument = parser.add_argument
    add_argument("trace", metavar="TRACE", help=TRACE)
    add_argument(
        "--level",
        required=True,
        action="append",
        metavar="LEVEL",
        help="an isolation level (see `boomslang levels`); several: ser,si,rc; or: strongest",
    )
    add_module(parser)
    add_argument(
        "--certificate",
        metavar="FILE",
        help="write what proves the answer, for `boomslang verify`; with several levels one file each, "
        "with the level's short name before the suffix: proof.json becomes proof.ser.json",
    )
    report_option(parser)
    add_format(parser)
    add_limits(parser, included=", reading included")
    solving.add(parser)
    add_argument("--stats", action="store_true", help="show where the time went, and the solver's counters")
    add_output(parser)
    parser.set_defaults(run=run)


def add_module(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        metavar="MODULE",
        help="what else is known or asked for: a module's name (see `boomslang modules`) or a Python file, which "
        "is run; parameters after a colon: bounded-staleness:time=100; may be given several times",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """The options that say for whom the answer is."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--output",
        choices=("text", "json", *OUTPUTS),
        default="text",
        help="for people (text), or for programs: JSON (see docs/how-it-works.md), Graphviz, SARIF 2.1.0, JUnit XML",
    )
    how.add_argument(
        "--json", dest="output", action="store_const", const="json", help="same as --output json"
    )
    how.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")


def prepare_files(arguments: argparse.Namespace) -> Certificates:
    """Where the certificates go. Raises if they, or the report, could not be written there."""
    asked = asked_levels(arguments.level)
    certificates = Certificates(
        arguments.certificate, arguments.trace, several=asked is None or len(asked) > 1
    )
    for level in LEVELS if asked is None else asked:
        certificates.prepare(level)
        certificates.keep_apart(level, arguments.report)
    prepare_report(arguments.report, arguments.trace)
    return certificates


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    asked = asked_levels(arguments.level)
    find_modules(arguments.module)  # a wrong name should not wait for the trace to be read
    certificates = prepare_files(arguments)
    if arguments.solver == "z3" or arguments.encoding is not None:
        free_ctrl_c()
    report = watched(lambda watch: answers(arguments, asked, watch), quiet=arguments.quiet)
    for warning in report.trace.warnings if report.trace is not None else ():
        screen.warning(warning)
    for answer in report.answers:
        certificates.write(answer)
    if arguments.output == "json":
        screen.document(to_json(report))
    elif arguments.output in OUTPUTS:
        screen.text(
            OUTPUTS[arguments.output](report.path, [explanation(answer) for answer in report.answers])
        )
    else:
        show(report, screen, stats=arguments.stats)
    write_report(
        arguments.report,
        _verdicts(report),
        screen,
        trace_path=report.path,
        about=getattr(arguments, "about", None),  # `run` and `hunt` know the database
        load_seconds=report.load_seconds,
        quiet=arguments.output != "text" or arguments.quiet,
    )
    certificates.complain(screen)
    return report.exit_code


def _verdicts(report: Report) -> list[Verdict]:
    """What there is to show. Where a limit came first, that is; where it came before the trace was read, nothing."""
    if report.trace is None:
        return []
    return [
        Verdict(report.trace, a.level, a.status, a.reason) if a.verdict is None else a.verdict
        for a in report.answers
    ]


def asked_levels(words: list[str]) -> list[Level] | None:
    """The levels of `--level`, each once, in the order given. None: find the strongest."""
    names = [name for word in words for name in word.split(",") if name.strip()]
    if any(name.strip().lower() == STRONGEST for name in names):
        if len(names) > 1:
            raise UsageError("--level strongest asks every level; give no other beside it")
        return None
    if not names:
        raise UsageError(
            "which level? For example: --level serializable, --level ser,si or --level strongest"
        )
    return list({level.name: level for level in map(find_level, names)}.values())


def answers(arguments: argparse.Namespace, asked: list[Level] | None, watch: Watch) -> Report:
    start = time.monotonic()
    deadline = None if arguments.timeout is None else start + arguments.timeout
    report = Report(arguments.trace, strongest=asked is None)
    try:
        report.trace = load(
            arguments.trace, watch, format=arguments.format, deadline=deadline, memory=arguments.memory
        )
        report.load_seconds = time.monotonic() - start
        watch.begin("analysing")
        checker = WatchedChecker(report.trace, arguments, deadline, watch)
        if asked is None:
            verdicts = list(checker.strongest().values())
            decided = {verdict.level.name for verdict in verdicts}
            report.undecidable = [
                level
                for level in LEVELS
                if level.name not in decided and (level.observes or not arguments.module)
            ]
        else:
            verdicts = [checker.check(level) for level in asked]
        report.answers = [Answer(v.level, v.status, v.reason, v) for v in verdicts]
    except (LimitReached, MemoryError) as limit:
        reason = limit.reason if isinstance(limit, LimitReached) else OUT_OF_MEMORY
        report.answers = [Answer(level, UNKNOWN, reason) for level in (LEVELS if asked is None else asked)]
    report.seconds = time.monotonic() - start
    return report


class WatchedChecker(Checker):
    """A checker whose time is for all its levels together, and that says what it is doing."""

    def __init__(
        self, trace: Trace, arguments: argparse.Namespace, deadline: float | None, watch: Watch
    ) -> None:
        progress: Progress = watch.solving
        super().__init__(
            trace,
            memory=arguments.memory,
            progress=progress,
            modules=arguments.module,
            **solving.options(arguments),
        )
        self.deadline = deadline
        self.watch = watch

    def check(self, level: str | Level) -> Verdict:
        level = find_level(level)
        self.watch.begin(f"checking {level.title}")
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                return Verdict(self.trace, level, UNKNOWN, OUT_OF_TIME)
            self.limits = replace(self.limits, seconds=left)
        return super().check(level)

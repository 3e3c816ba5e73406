"""`boomslang watch`: checks a trace while its recorder is still writing it.

The first Ctrl-C, or SIGTERM, means that nobody wants to wait for more: what was recorded so far is decided and
answered. The second one means now (see cli/interruptible.py).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from boomslang.cli.certificate_files import Certificates
from boomslang.cli.commands.check import verdicts_of
from boomslang.cli.interruptible import in_thread
from boomslang.cli.live_status import EVERY, LiveStatus, page_of
from boomslang.cli.options.following import (
    add_following,
    add_keep,
    add_page,
    add_search,
    duration,
    refuse_with_keep,
)
from boomslang.cli.options.limits import positive
from boomslang.cli.options.question import asked_levels
from boomslang.cli.options.report import prepare_report, report_option, write_report
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.storage import is_address

SO_FAR = "deciding what was recorded so far; Ctrl-C again to leave now"


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Checks a trace while it is being written, and stops at the first violation. Exit code 1: the level is broken "
        "by what was recorded so far; 0: Ctrl-C (or --until-idle) came first, and the level holds for all that was "
        "recorded by then; 2: it could not be decided. A second Ctrl-C leaves at once, with 130."
    )
    add_argument = parser.add_argument
    add_argument(
        "trace",
        metavar="TRACE",
        help="the folder of a recorder, in which files *.jsonl grow and appear; or one log, *.jsonl. It need not be "
        "there yet",
    )
    add_argument(
        "--level", required=True, metavar="LEVEL", help="an isolation level (see `boomslang levels`)"
    )
    add_following(parser)
    add_search(parser)
    add_keep(parser)
    add_page(parser)
    add_argument(
        "--until-idle",
        type=duration,
        metavar="TIME",
        help="answer once nothing was recorded for so long, as if the recorder had ended then",
    )
    add_argument(
        "--certificate",
        metavar="FILE",
        help="write what proves the answer, for `boomslang verify`: it is about what was recorded up to then",
    )
    report_option(parser)
    add_argument("--memory", type=positive, metavar="MB", help="give up beyond MB megabytes of memory")
    add_argument(
        "--every", type=duration, default=EVERY, metavar="TIME",
        help=f"where there is no terminal, and with --json: say how it goes this often; else {EVERY:.0f}s",
    )  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--json", action="store_true", help="print JSON Lines: how it goes, and at last the answer"
    )
    how.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")
    parser.set_defaults(run=run)


def one_level(word: str) -> Level:
    levels = asked_levels([word])
    if levels is None or len(levels) > 1:
        raise UsageError(f"found --level {word}; expected one level: a watch stops when it is broken")
    return levels[0]


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    from boomslang.cli import watch_answer
    from boomslang.stream.watcher import Watcher
    from boomslang.verdict import VALID

    level = one_level(arguments.level)
    path = followed(arguments.trace)
    refuse_with_keep(arguments, "certificate")
    if arguments.keep is not None and path.is_file():
        raise UsageError(
            f"found --keep with the one log {arguments.trace}; expected a folder: whole files are deleted, once their "
            "recorder goes on in others"
        )
    certificates = Certificates(arguments.certificate, arguments.trace, several=False)
    certificates.prepare(level)
    certificates.keep_apart(level, arguments.report)
    prepare_report(arguments.report, arguments.trace)
    watcher = Watcher(
        path,
        level,
        memory=arguments.memory,
        idle=arguments.idle,
        until_idle=arguments.until_idle,
        certificate=certificates.path(level),
        keep=arguments.keep,
        search=arguments.timeout,
    )

    def enough() -> None:
        screen.note(SO_FAR)
        watcher.end()

    with page_of(arguments.page, f"{arguments.trace} at {level.title}", screen) as page:
        with LiveStatus(
            screen, json_lines=arguments.json, quiet=arguments.quiet, every=arguments.every, page=page
        ) as live:
            watched = in_thread(watcher.run, lambda: live.show(watcher.status), enough)
        if page is not None:
            page.show(watched.last)
            notes = () if watched.verdict is None else watched.verdict.notes
            page.answer(watched.status, watched.reason, watch_answer.story_of(watched), notes)
    report = watch_answer.report_of(arguments.trace, level, watched)
    for warning in report.trace.warnings if report.trace is not None else ():
        screen.warning(warning)
    if watched.status != VALID:
        certificates.write(report.answers[0])
    elif watcher.certificate.problem:
        certificates.problems.append(watcher.certificate.problem)
    else:  # it was written as it grew
        report.answers[0].certificate = certificates.path(level)
    if arguments.json:
        watch_answer.print_json(report, watched, screen)
    else:
        watch_answer.show_watched(report, level, watched, screen)
    write_report(
        arguments.report,
        verdicts_of(report),
        screen,
        trace_path=report.path,
        quiet=arguments.json or arguments.quiet,
    )
    certificates.complain(screen)
    return watch_answer.CODES[watched.status]


def followed(trace: str) -> Path:
    """The path of what is to be followed."""
    if trace == "-" or is_address(trace):
        raise UsageError(
            f"found {trace}; expected a folder or a file of this machine, which a recorder is writing; fix: name one, "
            "or use `boomslang check`"
        )
    path = Path(trace)
    if not trace or not path.absolute().parent.is_dir():
        raise UsageError(
            f"found no folder that {trace!r} could appear in; expected the path of a trace; fix: name it"
        )
    if path.exists() and not (path.is_dir() or path.is_file()):
        raise UsageError(
            f"found {trace}, which is no file; expected a folder or a file that a recorder is writing"
        )
    return path

"""`--report FILE`: the option and the writing, for every command that has verdicts to show."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from boomslang.cli.output_files import obstacle, write_whole
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.storage import located
from boomslang.verdict import Verdict


def report_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--report`."""
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write an HTML page that shows the answer: the argument, a graph, a timeline (see docs/report.md)",
    )


def prepare_report(file: str | None, trace: str | None = None) -> None:
    """Raises if the report could not be written; to be called before the work begins."""
    if file is None:
        return
    problem = obstacle(located(file), None if trace is None else located(trace))
    if problem:
        raise UsageError(f"{located(file)}: cannot write the report: {problem}")


def write_page(file: str, page: str) -> None:
    """Writes a page that is made already, whole or not at all."""
    try:
        write_whole(located(file), [page])
    except OSError as problem:
        raise UsageError(f"{file}: cannot write the report: {problem.strerror}") from None


def write_report(
    file: str | None,
    verdicts: Sequence[Verdict],
    screen: Screen,
    *,
    trace_path: str = "",
    about: Mapping[str, str] | None = None,
    load_seconds: float | None = None,
    quiet: bool = False,
) -> None:
    """Writes the report, if one was asked for, and says where it is unless `quiet`."""
    if file is None:
        return
    if not verdicts:
        screen.warning("no report was written: there is no answer to show")
        return
    from boomslang import report  # what draws pages is not loaded for those who ask for none

    def work(watch: Watch) -> None:
        watch.begin("writing the report")
        report.write_report(verdicts, file, trace_path=trace_path, about=about, load_seconds=load_seconds)

    try:
        watched(work, quiet=quiet)
    except OSError as problem:
        raise UsageError(f"{file}: cannot write the report: {problem.strerror}") from None
    if not quiet:
        screen.line()
        screen.line(f"report: {file}")

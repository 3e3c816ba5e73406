"""`boomslang check` of a trace that does not fit into `--memory`: it goes by, window by window (stream/check.py)."""

from __future__ import annotations

import argparse
import time
from functools import partial

from boomslang.certify.lines.writer import Writer, refutation
from boomslang.cli.answer import Answer, Report
from boomslang.cli.certificate_files import Certificates
from boomslang.cli.output_files import write_whole
from boomslang.cli.progress import Watch, watched
from boomslang.errors import UsageError
from boomslang.levels import Level
from boomslang.solve.names import NATIVE
from boomslang.storage import located
from boomslang.stream.check import WentBy, check_as_it_goes_by, why_not
from boomslang.stream.forward import Forward
from boomslang.trace.blocks import files_of
from boomslang.trace.errors import LimitReached, TraceError
from boomslang.trace.reader import resident_mb
from boomslang.trace.size import CHECKING, estimated_megabytes
from boomslang.verdict import UNKNOWN, VALID

LARGE = 2_000
"""MB. A check that would take more than this in memory goes by, if nobody has said how much it may take."""


def wants_to_go_by(arguments: argparse.Namespace, asked: list[Level] | None) -> bool:
    """Is it larger than `--memory`, or does the user want it so? Raises if that is asked for and cannot be."""
    reason = _why_not(arguments, asked)
    if arguments.stream:
        if reason:
            raise UsageError(f"found --stream; {reason}; fix: leave it out")
        return True
    if reason or (arguments.memory is None and len(asked or []) > 1):  # it would go by once for each level
        return False
    try:
        needed = estimated_megabytes(located(arguments.trace), format=arguments.format)
    except (TraceError, OSError):
        return False  # whoever reads it says what is wrong
    limit = LARGE if arguments.memory is None else float(arguments.memory)
    return resident_mb() + CHECKING * needed > limit


def needs_memory(arguments: argparse.Namespace, asked: list[Level] | None) -> str:
    """Why such a question is about a trace that is in memory; nothing if it need not be."""
    if asked is None:
        return "the strongest level is looked for in a trace that is in memory"
    if arguments.module or arguments.all is not None or arguments.encoding is not None:
        return "with --module, --all or --encoding a trace must be in memory"
    if (arguments.solver or NATIVE) != NATIVE:
        return "only the native engine checks a trace window by window"
    return ""


def _why_not(arguments: argparse.Namespace, asked: list[Level] | None) -> str:
    if reason := needs_memory(arguments, asked):
        return reason
    path = located(arguments.trace)
    if arguments.trace == "-" or not path.exists() or not (path.is_file() or path.is_dir()):
        return "only files can be gone through window by window"
    if "://" in arguments.trace:
        return "only files can be gone through window by window"
    return next((why for level in asked or [] if (why := why_not(path, level))), "")


def answers_as_it_goes_by(
    arguments: argparse.Namespace, asked: list[Level] | None, certificates: Certificates
) -> Report | None:
    """An answer for each level: the trace goes by once for each. None: nobody has asked for that, and it must be in
    memory to be decided."""
    report = Report(arguments.trace)
    start = time.monotonic()
    for level in asked or []:
        work = partial(_went_by, arguments, level, certificates, start)
        try:
            found = watched(work, quiet=arguments.quiet, seconds=arguments.timeout)
        except LimitReached as limit:
            report.answers.append(Answer(level, UNKNOWN, limit.reason))
            continue
        if found.forgetting and arguments.memory is None and not arguments.stream:
            if arguments.timeout is not None:
                arguments.timeout = max(0.001, arguments.timeout - (time.monotonic() - start))
            return None
        report.went_by = found.counted
        if found.verdict is not None:
            report.trace = found.verdict.trace
        answer = Answer(level, found.status, found.reason, found.verdict)
        report.answers.append(answer)
        certify(answer, certificates)
    report.seconds = time.monotonic() - start
    return report


def certify(answer: Answer, certificates: Certificates) -> None:
    """That of valid was written as it grew; that of invalid is a line."""
    target = certificates.path(answer.level)
    if target is None:
        return
    if answer.status == UNKNOWN:
        certificates.missing.append(answer.level.title)
        return
    if answer.verdict is not None and answer.counterexample is not None:
        told = answer.counterexample
        pieces = refutation(answer.verdict.trace, told.core, explanation=told.to_json())
        try:
            write_whole(target, pieces)
        except OSError as problem:
            certificates.problems.append(f"{target}: cannot write the certificate: {problem.strerror}")
            return
    answer.certificate = target


def _went_by(
    arguments: argparse.Namespace, level: Level, certificates: Certificates, start: float, watch: Watch
) -> WentBy:
    watch.begin(f"checking {level.title}, window by window")
    path = located(arguments.trace)
    files = path.iterdir() if path.is_dir() else [path]
    watch.total = sum(file.stat().st_size for file in files if file.is_file())

    def show(forward: Forward) -> None:
        watch.done = forward.blocks.bytes
        watch.note = f"{forward.counted.transactions:,} transactions decided"

    left = None if arguments.timeout is None else max(0.001, arguments.timeout - (time.monotonic() - start))
    target = certificates.path(level)
    ask = partial(
        check_as_it_goes_by,
        path,
        level,
        seconds=left,
        megabytes=arguments.memory,
        jobs=arguments.jobs,
        progress=show,
    )
    if target is None:
        return ask()
    names = [file.name for file in files_of(path)]
    with Writer(target, level.name, level.points, names.__getitem__) as writer:
        found = ask(take=lambda taken: taken.write_to(writer), mend=writer.rearrange)
        if found.status == VALID:
            writer.finish(found.counted.operations)
        return found

"""Several traces in one command: each is checked by a worker, told in its turn, and a table ends it all.

A worker sends back plain data: the lines for people or the document for programs, the row of the table, the
texts of certificates and reports. The trace and the verdict stay where they were made. All files are
written here, by the command that was asked for them, wherever its workers are; so it makes no difference
whether they are processes or machines.

A trace that cannot be read is told at its place and in the table, and the others are checked all the same.
The exit code is 254 then, whatever the others' answers are: something was asked that got no answer, and the
caller has to do something.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.answer import FORMAT, SHOWN, Report, explanations, show, to_json
from boomslang.cli.certificate_files import Certificates, certificate_of
from boomslang.cli.commands.check import conclude, prepare_files, verdicts_of, watched_answers
from boomslang.cli.main import failure
from boomslang.cli.options.question import asked_levels
from boomslang.cli.options.workers import find_workers
from boomslang.cli.output_files import write_whole
from boomslang.cli.screen import Part, Screen
from boomslang.errors import UsageError
from boomslang.explain.outputs import OUTPUTS, write_several
from boomslang.levels import Level, maximal
from boomslang.storage import located, matching
from boomslang.trace.packed import SUFFIXES as PACKED
from boomslang.trace.reader import STANDARD_INPUT
from boomslang.verdict import INVALID, UNKNOWN, VALID
from boomslang.workers import Lost

GRAVEST = (
    exit_codes.INTERRUPTED,
    exit_codes.INTERNAL,
    exit_codes.USAGE,
    exit_codes.INVALID,
    exit_codes.UNKNOWN,
    exit_codes.VALID,
)
"""Of several exit codes the first of these is that of all."""


@dataclass
class Told:
    """What became of one trace."""

    path: str
    code: int = exit_codes.VALID
    error: str = ""
    """Why there is no answer: it could not be read."""
    warnings: list[str] = field(default_factory=list)
    lines: list[tuple[tuple[Part, ...], int, int]] = field(default_factory=list)
    """For people: what `Screen.line` is to be given."""
    row: list[Part] = field(default_factory=list)
    """Of the table."""
    document: dict[str, Any] | None = None
    """For programs, with `--output json`."""
    explanations: list[dict[str, Any]] = field(default_factory=list)
    """The same, with `--output dot` and the like."""
    files: list[tuple[str, str, str]] = field(default_factory=list)
    """What is to be written: "certificate" or "report", where, and the text."""


class _Kept(Screen):
    """A screen that keeps what it is told."""

    def __init__(self, told: Told) -> None:
        super().__init__()
        self.told = told

    def line(self, *parts: Part, indent: int = 0, hang: int = 2) -> None:
        self.told.lines.append((parts, indent, hang))


# --- where the command was given


def check_all(arguments: argparse.Namespace, screen: Screen) -> int:
    """Checks all of `arguments.traces`, and returns the exit code."""
    tasks = _tasks(arguments)
    traces = {located(task.trace).absolute() for task in tasks}
    for task in tasks:
        for path in prepare_files(task).paths:
            if path.absolute() in traces:
                raise UsageError(f"{path}: cannot write the certificate: it is a trace")
    told: list[Told | None] = [None] * len(tasks)
    problems: list[str] = []
    turn, interrupted = 0, False
    try:
        with find_workers(arguments, len(tasks), preload=__name__) as workers:
            if workers.obstacle:
                screen.warning(workers.obstacle)
            for task in tasks:
                task.memory = workers.megabytes if task.memory is None else task.memory
            for number, result in workers.map(checked, tasks):
                one = unanswered(tasks[number], result.reason) if isinstance(result, Lost) else result
                told[number] = one
                problems += _write_files(one)
                while turn < len(told) and (next_one := told[turn]) is not None:
                    _tell(next_one, screen, first=turn == 0)
                    turn += 1
    except KeyboardInterrupt:
        interrupted = True
    every = [
        unanswered(task, "interrupted", interrupted=True) if one is None else one
        for one, task in zip(told, tasks, strict=True)
    ]
    for at in range(turn, len(every)):
        _tell(every[at], screen, first=at == 0)
    codes = {one.code for one in every} | ({exit_codes.USAGE} if problems else set())
    code = next(code for code in GRAVEST if code in codes)
    _finish(arguments, every, code, screen)
    if interrupted:
        screen.flush()
        raise KeyboardInterrupt
    if problems:
        raise UsageError("\n".join(problems))
    return code


def _tasks(arguments: argparse.Namespace) -> list[argparse.Namespace]:
    """The arguments of each trace's check."""
    traces = [trace for given in arguments.traces for trace in matching(given)]
    if len(traces) > 1 and STANDARD_INPUT in traces:
        raise UsageError("found - among several traces; expected standard input alone; fix: name a file")
    if arguments.on is not None and STANDARD_INPUT in traces:
        raise UsageError(
            "found - with --on; expected a trace that other machines can read too; fix: name a file"
        )
    names = names_of(traces) if len(traces) > 1 else [""]
    made = []
    for trace, name in zip(traces, names, strict=True):
        task = copy(arguments)
        task.trace = trace
        task.jobs = 1  # cores are given to traces, and not to the windows of each as well
        task.certificate = named(arguments.certificate, name)
        task.report = named(arguments.report, name)
        made.append(task)
    return made


def named(file: str | None, name: str) -> str | None:
    """The file with a name before its suffix; in the same folder, whatever kind of place that is."""
    if file is None or not name:
        return file
    folder, slash, last = file.rpartition("/")
    path = PurePosixPath(last)
    return f"{folder}{slash}{path.stem}.{name}{path.suffix}"


def names_of(traces: Sequence[str]) -> list[str]:
    """A name for each, to be part of a file's: its own without the suffix, if that tells them apart; else with the
    folders that do; else with a number."""
    paths = [PurePosixPath(os.path.normpath(trace)) for trace in traces]
    common = PurePosixPath(os.path.commonpath([path.parent for path in paths])) if _alike(paths) else None
    longer = [path if common is None else path.relative_to(common) for path in paths]
    folders = ["".join(f"{part}-" for part in path.parts[:-1] if part != "/") for path in longer]
    for made in (
        [_stem(path.name) for path in paths],
        [folder + _stem(path.name) for folder, path in zip(folders, longer, strict=True)],
        [folder + path.name for folder, path in zip(folders, longer, strict=True)],
    ):
        if len(set(made)) == len(made):
            return made
    return [f"{number}-{_stem(path.name)}" for number, path in enumerate(paths, 1)]


def _alike(paths: Sequence[PurePosixPath]) -> bool:
    return len({path.is_absolute() for path in paths}) == 1


def _stem(name: str) -> str:
    for suffix in PACKED:
        name = name.removesuffix(suffix)
    return PurePosixPath(name).stem or name


def _write_files(told: Told) -> list[str]:
    """Writes what a trace's answer brought, and returns what went wrong."""
    problems = []
    for what, path, text in told.files:
        try:
            write_whole(located(path), [text])
        except OSError as problem:
            problems.append(f"{path}: cannot write the {what}: {problem.strerror}")
    told.files.clear()
    return problems


def _tell(told: Told, screen: Screen, *, first: bool) -> None:
    for warning in told.warnings:
        screen.warning(warning)
    if told.error:
        screen.error(told.error)
    if told.lines and not first:
        screen.line()
    for parts, indent, hang in told.lines:
        screen.line(*parts, indent=indent, hang=hang)
    told.lines.clear()


def _finish(arguments: argparse.Namespace, every: list[Told], code: int, screen: Screen) -> None:
    """What comes when all is known: the table, or the document."""
    alone = len(every) == 1
    if arguments.output == "json":
        answers = [one.document or _no_answer(one) for one in every]
        if not alone:
            screen.document(
                {"boomslang": boomslang.__version__, "format": FORMAT, "traces": answers, "exit": code}
            )
        elif every[0].document is not None:
            screen.document(every[0].document)
    elif arguments.output in OUTPUTS:
        if not (alone and every[0].error):
            screen.text(
                write_several(arguments.output, [(one.path, one.explanations, one.error) for one in every])
            )
    elif not alone:
        _show_table(arguments, every, screen)


def _no_answer(told: Told) -> dict[str, Any]:
    return {"path": told.path, "error": told.error, "exit": told.code}


def _show_table(arguments: argparse.Namespace, every: list[Told], screen: Screen) -> None:
    asked = asked_levels(arguments.level, arguments.within)
    titles = ["strongest that hold"] if asked is None else [level.short for level in asked]
    rows: list[list[Part]] = [["", *((title, "bold") for title in titles)]]
    rows += [[one.path, *one.row] for one in every]
    widths = [
        max(len(_text(row[at])) for row in rows if at < len(row) - 1 or at == 0) for at in range(len(titles))
    ]
    screen.line()
    for row in rows:
        parts: list[Part] = []
        for at, cell in enumerate(row):
            text = _text(cell) if at == len(row) - 1 else f"{_text(cell):{widths[at]}}  "
            parts.append(text if isinstance(cell, str) else (text, cell[1]))
        screen.line(*parts, hang=widths[0] + 2)
    screen.line()
    screen.line(_sum(every, "valid" if asked else "decided"))


def _text(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _sum(every: list[Told], good: str) -> str:
    words = {
        exit_codes.VALID: good,
        exit_codes.INVALID: "invalid",
        exit_codes.UNKNOWN: "unknown",
        exit_codes.USAGE: "could not be read",
        exit_codes.INTERNAL: "ended in an error of ours",
        exit_codes.INTERRUPTED: "interrupted",
    }
    counts = {code: sum(one.code == code for one in every) for code in words}
    return f"{len(every):,} traces: " + ", ".join(f"{n:,} {words[code]}" for code, n in counts.items() if n)


# --- where the work is done


def checked(task: argparse.Namespace) -> Told:
    """All that there is to say about one trace."""
    told = Told(task.trace)
    try:
        asked = asked_levels(task.level, task.within)
        _answered(task, watched_answers(_quietly(task), asked), told)
    except Exception as problem:
        told = Told(task.trace)
        told.code, told.error = failure(problem)
        if task.on is not None and told.code == exit_codes.USAGE:
            told.error += (
                f" (as seen on {platform.node()}, which must reach it: a shared disk, or object storage)"
            )
        told.row = [("bad input" if told.code == exit_codes.USAGE else "internal error", "bold red")]
    return told


def unanswered(task: argparse.Namespace, reason: str, *, interrupted: bool = False) -> Told:
    """The same of a trace that nobody came to an end with."""
    told = Told(task.trace)
    report = Report(task.trace, interrupted=interrupted)
    asked = asked_levels(task.level, task.within)
    report.strongest = asked is None
    conclude(report, task, asked, reason)
    _answered(task, report, told)
    return told


def _quietly(task: argparse.Namespace) -> argparse.Namespace:
    """Without a bar, which a worker could not show."""
    quiet = copy(task)
    quiet.quiet = True
    return quiet


def _answered(task: argparse.Namespace, report: Report, told: Told) -> None:
    told.code = report.exit_code
    told.warnings = [] if report.trace is None else [_named(w, task) for w in report.trace.warnings]
    told.files = [*_certificates(task, report, told), *_report(task, report, told)]
    told.row = list(_row(report))
    if task.output == "json":
        told.document = to_json(report)
    elif task.output in OUTPUTS:
        told.explanations = explanations(report, each=task.output != "dot")
    elif not task.quiet:
        show(report, _Kept(told), stats=task.stats)
        for what, path, _ in told.files:
            if what == "report":
                told.lines.append(((f"report: {path}",), 0, 2))


def _named(warning: str, task: argparse.Namespace) -> str:
    """A warning that says of which trace it is."""
    return warning if warning.startswith(task.trace) else f"{task.trace}: {warning}"


def _certificates(task: argparse.Namespace, report: Report, told: Told) -> Iterator[tuple[str, str, str]]:
    if task.certificate is None:
        return
    certificates = Certificates(
        task.certificate, task.trace, several=report.strongest or len(report.answers) > 1
    )
    for answer in report.answers:
        path = certificates.path(answer.level)
        pieces = certificate_of(answer)
        if pieces is not None:
            answer.certificate = path
            yield "certificate", str(path), "".join(pieces)
        elif answer.status == UNKNOWN:
            told.warnings.append(
                f"{task.trace}: no certificate of {answer.level.title} was written: there is none for unknown"
            )


def _report(task: argparse.Namespace, report: Report, told: Told) -> Iterator[tuple[str, str, str]]:
    if task.report is None or report.interrupted:
        return
    if not (verdicts := verdicts_of(report)):
        told.warnings.append(f"{task.trace}: no report was written: there is no answer to show")
        return
    from boomslang.report.write import render_report

    page = render_report(verdicts, trace_path=report.path, load_seconds=report.load_seconds)
    yield "report", task.report, page


def _row(report: Report) -> Iterator[Part]:
    if not report.strongest:
        yield from (SHOWN[answer.status] for answer in report.answers)
        return
    hold: list[Level] = maximal(report.of(VALID))
    titles = ", ".join(level.title for level in hold)
    unknown = f"{titles and '; '}{len(report.of(UNKNOWN))} unknown" if report.of(UNKNOWN) else ""
    style = SHOWN[VALID if hold else UNKNOWN if unknown else INVALID][1]
    yield (titles + unknown or "none", style)

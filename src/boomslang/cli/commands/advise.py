"""`boomslang advise`: from traces of an application, which anomalies it met, what would have forbidden them, and which
of its transactions were involved."""

from __future__ import annotations

import argparse
import time
from typing import Any

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.answer import FORMAT
from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.question import add_module, look_at_modules
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.cli.violation_list import list_all
from boomslang.cli.watched_checker import WatchedChecker
from boomslang.explain.met import Meeting, Met
from boomslang.explain.shapes import Shape
from boomslang.levels import find_level, minimal
from boomslang.trace import LimitReached
from boomslang.verdict import UNKNOWN

SHOWN = 12
"""Statements of a transaction."""
LONGEST = 160
"""Characters of a statement."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Which anomalies did an application meet, at the level at which it was recorded? Lists them with the levels "
        "that would have forbidden them and the transactions that were involved, by their statements, most frequent "
        "first. Exit code 0: none; 1: some; 2: unknown."
    )
    parser.add_argument("traces", metavar="TRACE", nargs="+", help=TRACE)
    parser.add_argument(
        "--level",
        default="serializable",
        metavar="LEVEL",
        help="what counts as an anomaly: what this level forbids (else serializable)",
    )
    add_module(parser)
    add_format(parser)
    add_limits(parser, included=", for all traces together, reading included")
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="for people, or for programs"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors and warnings")
    parser.set_defaults(run=run, solver=None, passes=None, no_pass=[], encoding=None)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    level = find_level(arguments.level)
    look_at_modules(arguments.module)
    deadline = None if arguments.timeout is None else time.monotonic() + arguments.timeout
    met, reasons = Met(), []

    def work(watch: Watch) -> None:
        for path in arguments.traces:
            try:
                trace = load(path, watch, format=arguments.format, deadline=deadline, memory=arguments.memory)
                checker = WatchedChecker(trace, arguments, deadline, watch)
                verdict = checker.check(level)
                if verdict.status == UNKNOWN:
                    reasons.append(f"{path}: {verdict.reason}")
                listed = list_all(checker, [verdict], 1_000_000, deadline, watch)
                met.look_at(trace, next(iter(listed.values()), None))
            except LimitReached as limit:
                reasons.append(f"{path}: {limit.reason}")

    watched(work, quiet=arguments.quiet, seconds=arguments.timeout)
    for reason in reasons:
        screen.warning(f"not decided: {reason}")
    code = exit_codes.INVALID if met.meetings else exit_codes.UNKNOWN if reasons else exit_codes.VALID
    if arguments.output == "json":
        screen.document(to_json(met, level.name, reasons, code))
    else:
        show(met, level.title, screen)
    return code


def names_of(met: Met) -> dict[Shape, str]:
    """A letter for each shape that was involved, in the order in which they are told."""
    involved = dict.fromkeys(shape for m in met.most_frequent for shape in m.shapes)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return {shape: letters[n] if n < len(letters) else f"S{n}" for n, shape in enumerate(involved)}


def to_json(met: Met, level: str, reasons: list[str], code: int) -> dict[str, Any]:
    names = names_of(met)
    return {
        "boomslang": boomslang.__version__,
        "format": FORMAT,
        "level": level,
        "recorded_at": [at for at in met.recorded_at if at],
        "transactions": met.transactions,
        "complete": met.complete and not reasons,
        "anomalies": [_meeting(one, names) for one in met.most_frequent],
        "would_do": [one.name for one in met.would_do],
        "shapes": {
            name: {"statements": list(shape), "transactions": met.executed[shape]}
            for shape, name in names.items()
        },
        "reasons": reasons,
        "exit": code,
    }


def _meeting(one: Meeting, names: dict[Shape, str]) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": one.name,
        "count": one.count,
        "transactions": [names[shape] for shape in one.shapes],
        "forbidden_by": [level.name for level in minimal(one.forbidden_by)],
        "example": one.example,
    }


def show(met: Met, level: str, screen: Screen) -> None:
    at = ", ".join(at for at in met.recorded_at if at)
    screen.line(f"{met.transactions:,} transactions{f', recorded on {at}' if at else ''}")
    if not met.meetings:
        screen.line(f"Nothing was met that {level} forbids.")
        return
    names = names_of(met)
    screen.line()
    for one in met.most_frequent:
        what = f"{one.count:,} x {one.name or 'without a name'}"
        screen.line((what, "bold"), f": {' with '.join(names[shape] for shape in one.shapes)}")
        weakest = " and ".join(level.title for level in minimal(one.forbidden_by))
        screen.line(f"forbidden by {weakest}, and all that imply it; such as {one.example}", indent=4)
    if not met.complete:
        screen.line("(At least: not all could be found.)")
    for shape, name in names.items():
        screen.line()
        screen.line((f"{name}: {met.executed[shape]:,} transactions", "bold"))
        for text in shape[:SHOWN]:
            screen.line(text if len(text) <= LONGEST else f"{text[:LONGEST]}...", indent=4)
        if len(shape) > SHOWN:
            screen.line(f"... and {len(shape) - SHOWN} more statements", indent=4)
    if met.would_do:
        screen.line()
        weakest = " or ".join(level.title for level in met.would_do)
        screen.line(f"The weakest level that forbids all of this: {weakest}.")

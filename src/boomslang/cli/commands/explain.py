"""`boomslang explain`: why a trace breaks a level, and nothing else.

Without a level it looks for the weakest that are broken: what breaks those breaks all that imply them. Several of them
often break because of the same transactions; those are told of once. `--all` lists all violations of each of them
(cli/violation_list.py).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.answer import FORMAT, size
from boomslang.cli.coloured_story import show_story
from boomslang.cli.options.all_violations import add_all
from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.output import add_output
from boomslang.cli.options.question import add_module, add_within, asked_levels, look_at_modules
from boomslang.cli.options.replay import add_replay, look_at_replay, replay_text
from boomslang.cli.options.report import prepare_report, report_option, write_report
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.cli.violation_list import further, list_all, list_json, show_list
from boomslang.cli.watched_checker import WatchedChecker
from boomslang.errors import UsageError
from boomslang.explain.all_violations import Violations
from boomslang.explain.document import document
from boomslang.explain.outputs import OUTPUTS, write
from boomslang.levels import Level, maximal, minimal
from boomslang.trace import LimitReached, Trace
from boomslang.verdict import INVALID, UNKNOWN, Verdict


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Why does a trace break an isolation level? Names the anomaly and tells its story: the fewest "
        "transactions that show it, and step by step why no order explains them. Exit code 0: no level asked for is "
        "broken; 1: one is; 2: unknown."
    )
    add_argument = parser.add_argument
    add_argument("trace", metavar="TRACE", help=TRACE)
    add_argument(
        "--level",
        action="append",
        metavar="LEVEL",
        help="an isolation level, or several: ser,si; without it, the weakest levels that are broken",
    )
    add_within(parser)
    add_module(parser)
    add_all(parser)
    add_format(parser)
    add_limits(parser, included=", reading included")
    add_output(parser)
    add_replay(parser)
    report_option(parser)
    parser.set_defaults(run=run, solver=None, passes=None, no_pass=[], encoding=None)


@dataclass
class Told:
    """All that is to be said."""

    trace: Trace | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    """The levels asked for; or the weakest that are broken; or, if none is, the strongest that hold."""
    lists: dict[str, Violations] = field(default_factory=dict)
    """With `--all`: of each broken level, all its violations."""
    few: int = 0
    """Of each name, how many are told."""

    @property
    def broken(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.counterexample is not None]

    @property
    def exit_code(self) -> int:
        statuses = {verdict.status for verdict in self.verdicts}
        if INVALID in statuses:
            return exit_codes.INVALID
        return exit_codes.UNKNOWN if UNKNOWN in statuses or not self.verdicts else exit_codes.VALID


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.within is not None and not arguments.level:
        raise UsageError("--within is for some levels: name those you mean with --level")
    asked = asked_levels(arguments.level, arguments.within) if arguments.level else None
    look_at_modules(arguments.module)
    look_at_replay(arguments)
    prepare_report(arguments.report, arguments.trace)
    try:
        told = watched(
            lambda watch: _told(arguments, asked, watch), quiet=arguments.quiet, seconds=arguments.timeout
        )
    except LimitReached as limit:
        screen.error(f"{arguments.trace}: {limit.reason}")
        return exit_codes.UNKNOWN
    assert told.trace is not None
    for warning in told.trace.warnings:
        screen.warning(warning)
    if arguments.replay is not None:
        screen.text(replay_text(arguments, told.verdicts))
    elif arguments.output == "json":
        screen.document(to_json(arguments.trace, told))
    elif arguments.output in OUTPUTS:
        each = arguments.output != "dot"  # a drawing is for the few that are told
        screen.text(write(arguments.output, arguments.trace, documents(told, each=each)))
    else:
        show(arguments.trace, told, screen)
    quiet = arguments.output != "text" or arguments.quiet
    write_report(arguments.report, _all(told), screen, trace_path=arguments.trace, quiet=quiet)
    return told.exit_code


def _told(arguments: argparse.Namespace, asked: list[Level] | None, watch: Watch) -> Told:
    deadline = None if arguments.timeout is None else time.monotonic() + arguments.timeout
    memory, format = arguments.memory, arguments.format
    told = Told(load(arguments.trace, watch, format=format, deadline=deadline, memory=memory))
    assert told.trace is not None
    checker = WatchedChecker(told.trace, arguments, deadline, watch)
    if asked is None:
        verdicts = checker.strongest()
        broken = minimal(v.level for v in verdicts.values() if v.invalid)
        shown = broken or maximal(v.level for v in verdicts.values() if v.valid)
        told.verdicts = [verdicts[level.name] for level in shown]
        told.verdicts += [v for v in verdicts.values() if v.status == UNKNOWN]
    else:
        told.verdicts = [checker.check(level) for level in asked]
    if arguments.all is not None:
        told.few = arguments.all
        told.lists = list_all(checker, told.broken, told.few, deadline, watch)
    return told


# --- for programs


def documents(told: Told, *, each: bool = False) -> list[dict[str, Any]]:
    """All explanations; of further violations those that are told, or each."""
    return [document(verdict) for verdict in _all(told, each=each)]


def _all(told: Told, *, each: bool = False) -> list[Verdict]:
    """The verdicts, and one for each further violation."""
    most = None if each else told.few
    lists = [(v, told.lists[v.level.name]) for v in told.broken if v.level.name in told.lists]
    return [*told.verdicts, *(one for v, listed in lists for one in further(v, listed, most))]


def to_json(path: str, told: Told) -> dict[str, Any]:
    made = documents(told)
    return {
        "boomslang": boomslang.__version__,
        "format": FORMAT,
        "path": path,
        "explanations": made[: len(told.verdicts)],
        "further": made[len(told.verdicts) :],
        "violations": [list_json(listed) for listed in told.lists.values()],
        "exit": told.exit_code,
    }


# --- for people


def show(path: str, told: Told, screen: Screen) -> None:
    """One story for each reason, then the lists."""
    assert told.trace is not None
    screen.line((path, "bold"), ": ", size(told.trace))
    reasons: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in told.broken:
        assert verdict.counterexample is not None
        core = verdict.counterexample.core
        said = (verdict.broken_by, verdict.perhaps_by)
        reasons.setdefault((core.transactions, core.reads, said), []).append(verdict)
    for verdicts in reasons.values():
        _show_reason(verdicts, screen)
    for verdict in told.verdicts:
        if verdict.counterexample is None:
            why = f": {verdict.reason}" if verdict.reason else ""
            style = {"valid": "bold green", "unknown": "bold yellow"}.get(verdict.status, "bold red")
            screen.line()
            screen.line(f"{verdict.level.title}: ", (verdict.status, style), why)
    for listed in told.lists.values():
        show_list(listed, told.few, screen)


def _show_reason(verdicts: list[Verdict], screen: Screen) -> None:
    first = verdicts[0]
    assert first.counterexample is not None
    screen.line()
    screen.line((f"Why it is not {first.title}:", "bold"))
    show_story(first.counterexample.lines(), screen)
    if first.counterexample.cut_short:
        screen.line(("(Time ran out before every part had been tried: fewer may do.)", "dim"), indent=2)
    if others := ", ".join(verdict.level.title for verdict in verdicts[1:]):
        words = f"The same transactions break {others}; --level tells that in its terms."
        screen.line((words, "dim"), indent=2)

"""`boomslang explain`: why a trace breaks a level, and nothing else.

Without a level it looks for the weakest that are broken: what breaks those breaks all that imply them. Several of them
often break because of the same transactions; those are told of once. `--all` goes on to further violations, each of
other transactions than all before it.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.answer import FORMAT, size
from boomslang.cli.coloured_story import show_story, styled
from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.output import add_output
from boomslang.cli.options.question import add_module, asked_levels, look_at_modules
from boomslang.cli.options.report import prepare_report, report_option, write_report
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.cli.watched_checker import WatchedChecker
from boomslang.errors import UsageError
from boomslang.explain.counterexample import Counterexample
from boomslang.explain.document import document
from boomslang.explain.further import further
from boomslang.explain.outputs import OUTPUTS, write
from boomslang.levels import Level, maximal, minimal
from boomslang.trace import LimitReached, Trace
from boomslang.verdict import INVALID, UNKNOWN, Verdict

MOST_FURTHER = 10
"""Further violations that are looked for if the user does not say how many."""


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
    add_module(parser)
    add_argument(
        "--all",
        nargs="?",
        type=_count,
        const=MOST_FURTHER,
        metavar="N",
        help=f"list further violations, of other transactions: at most N (else {MOST_FURTHER})",
    )
    add_format(parser)
    add_limits(parser, included=", reading included")
    add_output(parser)
    report_option(parser)
    parser.set_defaults(run=run, solver=None, passes=None, no_pass=[], encoding=None)


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a number above 0, or nothing (then TRACE comes before it)"
        )
    return int(text)


@dataclass
class Told:
    """All that is to be said."""

    trace: Trace | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    """The levels asked for; or the weakest that are broken; or, if none is, the strongest that hold."""
    further: list[tuple[Level, Counterexample]] = field(default_factory=list)

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
    asked = asked_levels(arguments.level) if arguments.level else None
    if arguments.module and arguments.all is not None:
        raise UsageError("--all takes no modules: what one says may rest on transactions that are taken out")
    look_at_modules(arguments.module)
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
    if arguments.output == "json":
        screen.document(to_json(arguments.trace, told))
    elif arguments.output in OUTPUTS:
        screen.text(write(arguments.output, arguments.trace, documents(told)))
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
    if arguments.all is not None and told.broken:
        first = told.broken[0]
        assert first.counterexample is not None
        watch.begin("looking for further violations")
        left = None if deadline is None else max(0.1, deadline - time.monotonic())
        limits = replace(checker.limits, seconds=left)
        found = further(checker.asg, first.level, first.counterexample, limits)
        told.further = [(first.level, one) for one in islice(found, arguments.all)]
    return told


# --- for programs


def documents(told: Told) -> list[dict[str, Any]]:
    """All explanations, the further ones too."""
    return [document(verdict) for verdict in _all(told)]


def _all(told: Told) -> list[Verdict]:
    """The verdicts, and one for each further violation."""
    assert told.trace is not None
    more = [Verdict(told.trace, level, INVALID, counterexample=one) for level, one in told.further]
    return [*told.verdicts, *more]


def to_json(path: str, told: Told) -> dict[str, Any]:
    made = documents(told)
    return {
        "boomslang": boomslang.__version__,
        "format": FORMAT,
        "path": path,
        "explanations": made[: len(told.verdicts)],
        "further": made[len(told.verdicts) :],
        "exit": told.exit_code,
    }


# --- for people


def show(path: str, told: Told, screen: Screen) -> None:
    """One story for each reason, then the further violations."""
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
    _show_further(told, screen)


def _show_reason(verdicts: list[Verdict], screen: Screen) -> None:
    first = verdicts[0]
    assert first.counterexample is not None
    screen.line()
    screen.line((f"Why it is not {first.title}:", "bold"))
    show_story(first.counterexample.lines(), screen)
    if not first.counterexample.minimal:
        screen.line(("(Time ran out before every part had been tried: fewer may do.)", "dim"), indent=2)
    if others := ", ".join(verdict.level.title for verdict in verdicts[1:]):
        words = f"The same transactions break {others}; --level tells that in its terms."
        screen.line((words, "dim"), indent=2)


def _show_further(told: Told, screen: Screen) -> None:
    if not told.further:
        return
    screen.line()
    screen.line(("Further violations, each of other transactions:", "bold"))
    for _, one in told.further:
        name = "" if one.anomaly is None else f"{one.anomaly.code} ({one.anomaly.name}): "
        screen.line(*styled(f"{name}{_in_short(one)}"), indent=2, hang=4)


def _in_short(found: Counterexample) -> str:
    """The end of the argument; where it has cases, whom it is about."""
    end = None if found.argument is None else found.argument.contradiction
    if end is not None:
        return end.text
    names = [f"T{t}" for t in found.core.transactions]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"{', '.join(names[:8])}{more} ({found.trace.where(found.core.transactions[0])})"

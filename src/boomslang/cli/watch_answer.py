"""The answer of a watch, in the form of `boomslang check`'s.

What is invalid has a trace, a story, a certificate and a report like any other. What is valid, or unknown, was
forgotten as it went by, so there are counts instead.
"""

from __future__ import annotations

import json
from typing import Any

from boomslang.cli import exit_codes
from boomslang.cli.answer import SHOWN, Answer, Report, show, to_json
from boomslang.cli.live_status import behind
from boomslang.cli.screen import Screen
from boomslang.levels import Level
from boomslang.stream.tally import Status
from boomslang.stream.watcher import Watched
from boomslang.verdict import INVALID, UNKNOWN, VALID

CODES = {VALID: exit_codes.VALID, INVALID: exit_codes.INVALID, UNKNOWN: exit_codes.UNKNOWN}


def report_of(path: str, level: Level, watched: Watched) -> Report:
    verdict = watched.verdict
    report = Report(path, trace=None if verdict is None else verdict.trace, seconds=watched.last.seconds)
    report.answers = [Answer(level, watched.status, watched.reason, verdict)]
    return report


def story_of(watched: Watched) -> list[str]:
    found = None if watched.verdict is None else watched.verdict.counterexample
    return [] if found is None else list(found.lines())


def show_watched(report: Report, level: Level, watched: Watched, screen: Screen) -> None:
    """For people."""
    if report.trace is not None:
        show(report, screen, stats=False)
        return
    last = watched.last
    screen.line((report.path, "bold"), ": ", counts(last))
    screen.line()
    word, style = SHOWN[watched.status]
    told = watched.reason or "all that was recorded so far"
    screen.line(f"{level.title}  ", (f"{word:7}", style), f"  {told}", indent=2)
    screen.line()
    if (written := report.answers[0].certificate) is not None:
        screen.line(f"certificate of {level.title}: {written}")
        screen.line()
    screen.line((how(last), "dim"))


def counts(last: Status) -> str:
    aborted = f" ({last.aborted:,} aborted)" if last.aborted else ""
    return f"{last.committed + last.aborted:,} transactions{aborted}, {last.keys:,} keys"


def how(last: Status) -> str:
    parts = [f"watched for {last.seconds:.1f} s, {last.windows:,} windows", behind(last)]
    return ", ".join([*parts, f"{last.megabytes:,.0f} MB"])


def json_of(report: Report, watched: Watched) -> dict[str, Any]:
    """For programs: the document of `boomslang check --json`, and how the watch went."""
    data = to_json(report)
    for level in data["levels"]:
        level["reason"] = level["reason"] or None
    return {**data, "watch": watched.last.to_json()}


def print_json(report: Report, watched: Watched, screen: Screen) -> None:
    screen.json_line(json.dumps(json_of(report, watched)))

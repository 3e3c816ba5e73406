"""What a report shows, as data: the answers, the stories of what broke, the witnesses and the figures.

Its size is bounded whatever the trace is: the explanation of a core is cut to its cycle where it is long, lists have
an end, and values of more than a few kilobytes stay shortened.
"""

from __future__ import annotations

from typing import Any

import boomslang
from boomslang.levels import Level, maximal, minimal
from boomslang.report.faults import faults_beside, faults_of
from boomslang.report.figures import figures, size
from boomslang.report.story import Story
from boomslang.report.values import NAME, Values, clipped, printable
from boomslang.report.witness import witnesses
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict

STORIES = 12
"""That are told; further levels that broke are listed."""
TITLES = 3
"""Levels that the headline names."""

Json = dict[str, Any]


def contents(
    verdicts: list[Verdict], path: str, about: dict[str, str], load_seconds: float | None = None
) -> Json:
    """All that the page draws, with everything that is not printable spelled out."""
    trace = verdicts[0].trace
    values = Values(trace)
    stories, told = _stories(verdicts, values)
    faults = faults_of(path)
    for story in stories:
        if "axis" in story:
            story["faults"] = faults_beside(faults, story)
    answers = _answers(verdicts)
    made: Json = {
        "boomslang": boomslang.__version__,
        "path": clipped(path, 4 * NAME),
        "headline": headline(answers),
        "size": size(trace),
        "about": [[label, text] for label, text in about.items()],
        "levels": [_level(v, told.get(id(v))) for v in answers],
        "stories": stories,
        "witnesses": witnesses(answers, values),
        "figures": figures(answers, load_seconds, values),
    }
    spelled: Json = _spelled(made)
    return spelled


def _answers(verdicts: list[Verdict]) -> list[Verdict]:
    """One for each level: those that come later are further violations, and have a story only."""
    answers: dict[str, Verdict] = {}
    for verdict in verdicts:
        answers.setdefault(verdict.level.name, verdict)
    return list(answers.values())


def headline(verdicts: list[Verdict]) -> str:
    """The answer in one line."""
    if len(verdicts) == 1:
        verdict = verdicts[0]
        what = verdict.title
        if verdict.status == UNKNOWN:
            return f"Unknown whether it is {what}: {verdict.reason}"
        if verdict.status == VALID:
            return f"Valid: it is {what}"
        return f"Not {what}" + (f": {_anomaly(verdict)}" if _anomaly(verdict) else "")
    broken = minimal([v.level for v in verdicts if v.status == INVALID])
    held = maximal([v.level for v in verdicts if v.status == VALID])
    parts = []
    if broken:
        parts.append(f"Not {_titles(broken, ' and not ')}")
    if held:
        parts.append(f"{'Valid: it is ' if not broken else 'but '}{_titles(held, ' and ')}")
    if not parts:
        return "Unknown: no level could be decided"
    left = sum(v.status == UNKNOWN for v in verdicts)
    return ", ".join(parts) + (f" ({left} {'level' if left == 1 else 'levels'} unknown)" if left else "")


def _titles(levels: list[Level], between: str) -> str:
    shown = [level.title for level in levels[:TITLES]]
    left = len(levels) - len(shown)
    return between.join(shown) + (f"{between}{left} more" if left else "")


def _anomaly(verdict: Verdict) -> str:
    found = verdict.counterexample
    return "" if found is None or found.anomaly is None else found.anomaly.name


def _level(verdict: Verdict, story: int | None) -> Json:
    says = [word for word in (_anomaly(verdict), verdict.reason) if word]
    return {
        "name": verdict.level.name,
        "title": verdict.level.title,
        "status": verdict.status,
        "says": "; ".join(says),
        "notes": list(verdict.notes),
        "story": story,
    }


def _stories(verdicts: list[Verdict], values: Values) -> tuple[list[Json], dict[int, int]]:
    """The stories, and which verdict has which. Levels often break for the same reason: it is told once."""
    reasons: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in verdicts:
        if (found := verdict.counterexample) is not None:
            told_in_words = () if found.argument is None else tuple(found.argument.lines())
            reason = (
                found.anomaly,
                found.core.transactions,
                found.core.reads,
                verdict.broken_by,
                verdict.perhaps_by,
                told_in_words,
            )
            reasons.setdefault(reason, []).append(verdict)
    first = set(map(id, _answers(verdicts)))
    stories: list[Json] = []
    told: dict[int, int] = {}
    for members in list(reasons.values())[:STORIES]:
        titles = [v.title for v in members]
        further = not any(id(v) in first for v in members)
        stories.append(Story(members[0], titles, f"v{len(stories)}", values, further=further).to_json())
        told |= dict.fromkeys(map(id, members), len(stories) - 1)
    return stories, told


def _spelled(x: Any) -> Any:
    if isinstance(x, str):
        return printable(x)
    if isinstance(x, list):
        return [_spelled(y) for y in x]
    return {name: _spelled(y) for name, y in x.items()} if isinstance(x, dict) else x

"""`--all`: every violation of each broken level, by name with counts, and the first few of each name told.

For `check` and `explain` alike. What "all" means is explain/all_violations.py's to say; here it is asked for and shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from boomslang.checker import Checker
from boomslang.cli.coloured_story import styled
from boomslang.cli.progress import Watch
from boomslang.cli.screen import Screen
from boomslang.explain.all_violations import Violation, Violations, all_violations
from boomslang.verdict import INVALID, Verdict


def list_all(
    checker: Checker, verdicts: Iterable[Verdict], few: int, deadline: float | None, watch: Watch
) -> dict[str, Violations]:
    """Of each level that is broken, by its name: its violations."""
    made = {}
    for verdict in verdicts:
        if verdict.counterexample is None:
            continue
        watch.begin(f"listing violations of {verdict.level.title}")
        left = None if deadline is None else max(0.1, deadline - time.monotonic())
        limits = replace(checker.limits, seconds=left)
        made[verdict.level.name] = all_violations(
            checker.asg, verdict.level, verdict.counterexample, limits, told=few
        )
    return made


def further(verdict: Verdict, listed: Violations, most: int | None = None) -> list[Verdict]:
    """A verdict for each violation after the first, of which there is one."""
    rest = listed.found[1:] if most is None else listed.found[1 : 1 + most]
    return [
        Verdict(
            verdict.trace,
            verdict.level,
            INVALID,
            counterexample=one.found,
            modules=verdict.modules,
            broken_by=verdict.broken_by,
        )
        for one in rest
    ]


# --- for people


def show_list(listed: Violations, few: int, screen: Screen) -> None:
    """Names with counts, the largest first, and a line for each of the first few."""
    screen.line()
    count = len(listed.found)
    least = "" if listed.complete else "at least "
    title = f"Violations of {listed.level.title}: {least}{count:,}"
    screen.line((title, "bold"), f" ({_how_far(listed)})")
    for (code, name), group in listed.groups.items():
        what = f"{code} ({name})" if code else "without a name"
        screen.line((f"{len(group):,} x {what}", "bold"), indent=2)
        for one in group[:few]:
            screen.line(*styled(one.text), indent=4, hang=4)
        if len(group) > few:
            screen.line((f"... and {len(group) - few:,} more", "dim"), indent=4)


def _how_far(listed: Violations) -> str:
    if listed.complete:
        each = "that" if len(listed.found) == 1 else "each"
        return f"all: with one read of {each} left out, the rest is {listed.level.title}"
    return listed.reason


# --- for programs


def list_json(listed: Violations) -> dict[str, Any]:
    return {
        "level": listed.level.name,
        "count": len(listed.found),
        "complete": listed.complete,
        "reason": listed.reason or None,
        "groups": [
            {"code": code or None, "name": name or None, "count": len(group)}
            for (code, name), group in listed.groups.items()
        ],
        "violations": [_one(one) for one in listed.found],
    }


def _one(one: Violation) -> dict[str, Any]:
    return {
        "code": None if one.anomaly is None else one.anomaly.code,
        "name": None if one.anomaly is None else one.anomaly.name,
        "text": one.text,
        "transactions": list(one.core.transactions),
    }

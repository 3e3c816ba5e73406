"""A trace, as it is compared: its figures, its verdicts at some levels, and what `boomslang run` wrote beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from boomslang.activity import TRANSACTION, Activity, in_seconds
from boomslang.asg import build_asg
from boomslang.checker import Checker
from boomslang.compare.side import Answered, Figure, Side
from boomslang.levels import Level
from boomslang.statistics import Statistics
from boomslang.trace.model import Trace
from boomslang.verdict import Verdict

ABOUT = "run.json"
SETTINGS = (
    "database", "version", "level", "workload", "sessions", "txns", "keys", "ops", "values", "distribution", "reads",
    "appends", "width", "options", "settings", "retries", "faults", "schedule", "seed",
)  # fmt: skip
"""Of run.json: what makes a run another one."""

ANOMALIES, OPERATIONS, STATEMENTS = "anomalies", "operations", "statements"


def side_of_trace(
    path: str,
    trace: Trace,
    levels: Iterable[Level],
    *,
    timeout: float | None = None,
    memory: float | None = None,
    begin: Callable[[str], object] = lambda _: None,
) -> Side:
    """`levels` are asked, each within `timeout` seconds; `begin` is told what is being done."""
    begin(f"counting {path}")
    about = run_of(path)
    activity = Activity(trace)
    answers: dict[str, Answered] = {}
    anomalies: set[str] = set()
    checker = Checker(trace, timeout=timeout, memory=memory)
    for level in levels:
        begin(f"checking {path}: {level.title}")
        verdict = checker.check(level)
        found = _anomaly(verdict)
        answers[level.title] = Answered(verdict.status, found or verdict.reason)
        if verdict.invalid:
            anomalies.add(found or "an anomaly without a name")
    kinds = {kind.kind for kind in activity.kinds if kind.kind != TRANSACTION}
    seen = {ANOMALIES: anomalies, OPERATIONS: kinds}
    if trace.coverage is not None:
        seen[STATEMENTS] = {" ".join(each.text.split()) for each in trace.coverage.statements}
    notes = [f"{problem}" for problem in about.get("problems", ())]
    return Side(
        path, "trace", settings_of(about), _figures(trace, activity, about), answers, seen,
        activity.curves[0] if len(activity.curves) == 1 else None, trace.unit, notes=notes,
    )  # fmt: skip


def run_of(path: str) -> dict[str, Any]:
    """What `boomslang run` wrote beside the trace; nothing of a trace of another origin."""
    try:
        told = json.loads((Path(path) / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def settings_of(about: dict[str, Any]) -> dict[str, str]:
    said = {}
    for name in SETTINGS:
        value = about.get(name)
        if value in (None, "", {}, []):
            continue
        said[name] = (
            ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        )
    return said


def _anomaly(verdict: Verdict) -> str:
    found = verdict.counterexample
    return "" if found is None or found.anomaly is None else found.anomaly.name


def _figures(trace: Trace, activity: Activity, about: dict[str, Any]) -> dict[Figure, float]:
    made = Statistics(build_asg(trace))
    outcomes = made.outcomes
    found: dict[Figure, float] = {
        Figure("transactions"): len(trace),
        Figure("committed"): outcomes["committed"],
        Figure("aborted"): outcomes["aborted"],
        Figure("unknown outcome"): outcomes["unknown"],
        Figure("aborted, of all", "%", -1): outcomes["aborted"] / max(1, len(trace)),
    }
    seconds = activity.seconds
    if seconds is None and isinstance(about.get("seconds"), int | float):
        seconds = float(about["seconds"])
    if seconds:
        found[Figure("time", "s")] = seconds
        found[Figure("commits a second", "", 1)] = outcomes["committed"] / seconds
        found[Figure("aborts a second", "", -1)] = outcomes["aborted"] / seconds
    for kind in activity.kinds:
        if kind.latency is not None and trace.unit:
            for name, ticks in (("median", kind.latency.median), ("99 %", kind.latency.ninety_nine)):
                found[Figure(f"{kind.kind}, {name}", "s", -1)] = in_seconds(ticks, trace.unit)
    median, most = made.writers_of_a_key
    failed = int(made.failed.sum())
    return found | {
        Figure("operations"): len(trace.op_kind),
        Figure("failed operations", "", -1): failed,
        Figure("sessions"): len(trace.sessions),
        Figure("keys"): made.keys,
        Figure("writers of a key, median"): median,
        Figure("writers of a key, most"): most,
        Figure("ambiguous reads, of all", "%", -1): made.ambiguity.share,
    }

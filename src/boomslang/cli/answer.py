"""The answers of `boomslang check`, for people and for programs.

A person wants the verdict first, then why, then what it took. A program wants fields that do not move; they
are described in docs/how-it-works.md, under "JSON output".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.screen import Part, Screen
from boomslang.levels import Level, maximal, minimal
from boomslang.trace import Outcome, Trace
from boomslang.verdict import INVALID, UNKNOWN, VALID, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from boomslang.explain.all_violations import Violations
    from boomslang.explain.counterexample import Counterexample
    from boomslang.stream.counted import Counted

FORMAT = 1
"""Of the JSON output; grows when a field changes its meaning or goes."""
MOST_TITLES = 4
"""Of levels that cannot be decided; more are counted."""
_GOOD, _BAD, _OPEN = "bold green", "bold red", "bold yellow"
SHOWN = {VALID: ("valid", _GOOD), INVALID: ("INVALID", _BAD), UNKNOWN: ("unknown", _OPEN)}


@dataclass
class Answer:
    """What was found at one level. `verdict` is None if a limit came before there was one."""

    level: Level
    status: str
    reason: str = ""
    verdict: Verdict | None = None
    certificate: Path | None = None
    violations: Violations | None = None
    """With `--all`: all of them."""

    @property
    def counterexample(self) -> Counterexample | None:
        return None if self.verdict is None else self.verdict.counterexample


@dataclass
class Report:
    """All that `boomslang check` has to say."""

    path: str
    strongest: bool = False
    trace: Trace | None = None
    """None: a limit was reached while it was read."""
    answers: list[Answer] = field(default_factory=list)
    settled: dict[str, Verdict] = field(default_factory=dict)
    """Verdicts so far, by the level's name."""
    interrupted: bool = False
    """Ctrl-C came first: what is not settled is unknown."""
    undecidable: list[Level] = field(default_factory=list)
    """With `strongest`: levels that need what the trace lacks."""
    load_seconds: float = 0.0
    seconds: float = 0.0
    went_by: Counted | None = None
    """The trace was checked as it went by, and never was in memory as a whole."""
    few: int = 0
    """With `--all`: of each name, how many violations are told."""
    lists: dict[str, Violations] = field(default_factory=dict)
    """With `--all`: by the name of each broken level, its violations."""

    def of(self, status: str) -> list[Level]:
        return [answer.level for answer in self.answers if answer.status == status]

    def lacking(self) -> list[tuple[Level, list[str]]]:
        """The undecidable levels, and what they need that the trace does not have."""
        if self.trace is None:
            return []
        has = {"times": self.trace.has_times, "sessions": self.trace.has_sessions}
        needs = [(a, {"times": a.needs_times, "sessions": a.needs_sessions}) for a in self.undecidable]
        return [(level, [word for word in need if need[word] and not has[word]]) for level, need in needs]

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return exit_codes.INTERRUPTED
        if self.of(INVALID) and not self.strongest:
            return exit_codes.INVALID
        return exit_codes.UNKNOWN if self.of(UNKNOWN) else exit_codes.VALID


# --- for people


def show(report: Report, screen: Screen, *, stats: bool) -> None:
    """The answers in a few lines."""
    read = "not read" if report.trace is None else size(report.trace)
    screen.line((report.path, "bold"), ": ", read if report.went_by is None else _passed(report.went_by))
    screen.line()
    if report.strongest:
        _show_strongest(report, screen)
    else:
        width = max(len(answer.level.title) for answer in report.answers)
        for answer in report.answers:
            screen.line(f"{answer.level.title:{width}}  ", *_verdict(answer), indent=2)
    _show_notes(report, screen)
    _show_reasons(report, screen)
    for answer in report.answers:
        if answer.violations is not None:
            from boomslang.cli.violation_list import show_list

            show_list(answer.violations, report.few, screen)
    if written := [answer for answer in report.answers if answer.certificate is not None]:
        screen.line()
        for answer in written:
            screen.line(f"certificate of {answer.level.title}: {answer.certificate}")
    if stats:
        _show_stats(report, screen)
    screen.line()
    times = f"read in {report.load_seconds:.2f} s, checked in {report.seconds - report.load_seconds:.2f} s"
    if report.went_by is not None:
        times = f"read and checked, window by window, in {report.seconds:.2f} s"
    elif report.trace is None:
        times = f"gave up after {report.seconds:.2f} s"
    screen.line((times, "dim"))


def _passed(counted: Counted) -> str:
    """How much of a trace has gone by."""
    if not counted.windows:
        return "nothing of it had been decided before the answer was there"
    odd = f" ({counted.aborted:,} aborted)" if counted.aborted else ""
    parts = [
        _count(counted.transactions + counted.aborted, "transaction") + odd,
        _count(counted.operations, "operation"),
        _count(counted.keys, "key"),
    ]
    return ", ".join(parts) + f"; it went by in {_count(counted.windows, 'window')}"


def _verdict(answer: Answer) -> Iterator[Part]:
    word, style = SHOWN[answer.status]
    found = answer.counterexample
    reason = found.anomaly.name if found is not None and found.anomaly is not None else answer.reason
    told = () if answer.verdict is None else (*answer.verdict.broken_by, *answer.verdict.perhaps_by)
    if told and reason != answer.reason:
        reason = f"{reason}; {answer.reason}"
    yield (f"{word:7}" if reason else word, style)
    if reason:
        yield f"  {reason}"


def size(trace: Trace) -> str:
    odd = [
        f"{count:,} {word}"
        for outcome, word in ((Outcome.ABORTED, "aborted"), (Outcome.UNKNOWN, "of unknown outcome"))
        if (count := int(np.count_nonzero(trace.txn_outcome == outcome)))
    ]
    parts = [
        _count(len(trace), "transaction") + (f" ({', '.join(odd)})" if odd else ""),
        _count(len(trace.op_kind), "operation"),
        _count(len(trace.sessions), "session"),
        _count(_keys(trace), "key"),
    ]
    return ", ".join(parts)


def _keys(trace: Trace) -> int:
    """How many keys something was done to; a key that only bounds a range is none."""
    if not len(trace.range_lo):
        return len(trace.keys)
    seen = np.zeros(len(trace.keys) + 1, bool)
    for column in (trace.op_key, trace.item_key, trace.initial_key):
        seen[column] = True  # -1, no key, is the place beyond the last
    return int(seen[:-1].sum())


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s" if n else f"no {what}s"


def _show_strongest(report: Report, screen: Screen) -> None:
    def row(title: str, levels: list[Level], style: str, reason: str = "") -> None:
        titles = ", ".join(level.title for level in levels)
        name = (titles or "none", style if levels else "")
        screen.line(f"{title:22}", name, reason, indent=2, hang=22)

    row("strongest that hold", maximal(report.of(VALID)), _GOOD)
    row("weakest that do not", minimal(report.of(INVALID)), _BAD)
    unknown: dict[str, list[Level]] = {}
    for answer in report.answers:
        if answer.status == UNKNOWN:
            unknown.setdefault(answer.reason, []).append(answer.level)
    for reason, levels in unknown.items():
        row("unknown", levels, _OPEN, f": {reason}")
    lacking: dict[str, list[Level]] = {}
    for level, words in report.lacking():
        lacking.setdefault(" and no ".join(words), []).append(level)
    for what, levels in lacking.items():
        if len(levels) <= MOST_TITLES:
            row("cannot be decided", levels, "", f": the trace has no {what}")
        else:  # `boomslang levels` says which they are
            text = f"the {len(levels)} levels that need {what}: the trace has none"
            screen.line(f"{'cannot be decided':22}", text, indent=2, hang=22)


def _show_notes(report: Report, screen: Screen) -> None:
    """What modules have to say about the answers."""
    notes = [note for a in report.answers if a.verdict is not None for note in a.verdict.notes]
    if notes:
        screen.line()
    for note in dict.fromkeys(notes):
        screen.line((note, "dim"), indent=2)


def _show_reasons(report: Report, screen: Screen) -> None:
    """Why what is invalid is. Several levels often break for the same reason: it is told once."""
    told = {level.name for level in (minimal if report.strongest else list)(report.of(INVALID))}
    reasons: dict[tuple[str, ...], list[Answer]] = {}
    for answer in report.answers:
        if answer.counterexample is not None and answer.level.name in told:
            reasons.setdefault(tuple(answer.counterexample.lines()), []).append(answer)
    for lines, answers in reasons.items():
        from boomslang.cli.coloured_story import show_story

        screen.line()
        titles = [a.level.title if a.verdict is None else a.verdict.title for a in answers]
        screen.line((f"Why it is not {' and not '.join(titles)}:", "bold"))
        show_story(lines, screen)
        if any(a.counterexample is not None and a.counterexample.cut_short for a in answers):
            screen.line(("(Time ran out before every part had been tried: fewer may do.)", "dim"), indent=2)


def _show_stats(report: Report, screen: Screen) -> None:
    if report.went_by is not None:
        screen.line()
        for name, value in vars(report.went_by).items():
            screen.line(f"{name.replace('_', ' '):18}{value!s:>12}", indent=2)
    for answer in report.answers:
        if answer.verdict is None or not answer.verdict.stats:
            continue
        screen.line()
        screen.line((f"{answer.level.title}:", "bold"))
        for name, value in answer.verdict.stats.items():
            shown = f"{value:12.3f} s" if isinstance(value, float) else f"{value!s:>12}"
            screen.line(f"{name.replace('_', ' '):18}{shown}", indent=2)


# --- for programs


def to_json(report: Report) -> dict[str, Any]:
    """The answers as data."""
    data: dict[str, Any] = {
        "boomslang": boomslang.__version__,
        "format": FORMAT,
        "path": report.path,
        "trace": None if report.trace is None else _trace_json(report.trace),
        "levels": [_answer_json(answer) for answer in report.answers],
        "seconds": {"load": report.load_seconds, "total": report.seconds},
        "exit": report.exit_code,
    }
    if report.went_by is not None:
        data["went_by"] = dict(vars(report.went_by))
    if report.strongest:
        data["strongest"] = {
            "hold": [level.name for level in maximal(report.of(VALID))],
            "broken": [level.name for level in minimal(report.of(INVALID))],
            "unknown": [level.name for level in report.of(UNKNOWN)],
            "undecidable": [{"level": level.name, "lacks": words} for level, words in report.lacking()],
        }
    return data


def _answer_json(answer: Answer) -> dict[str, Any]:
    told: dict[str, Any] = {"level": answer.level.name, "status": answer.status, "reason": answer.reason}
    nothing: dict[str, Any] = {
        "counterexample": None,
        "modules": [],
        "broken_by": [],
        "notes": [],
        "bounded": None,
        "stats": {},
    }
    told |= nothing if answer.verdict is None else answer.verdict.to_json()
    told["violations"] = None
    if answer.violations is not None:
        from boomslang.cli.violation_list import list_json

        told["violations"] = list_json(answer.violations)
    told["explanation"] = None if answer.counterexample is None else explanation(answer)
    return {**told, "certificate": None if answer.certificate is None else str(answer.certificate)}


def explanation(answer: Answer) -> dict[str, Any]:
    """The answer as the document of explain/document.py."""
    from boomslang.explain.document import document, undecided

    return undecided(answer.level, answer.reason) if answer.verdict is None else document(answer.verdict)


def explanations(report: Report, *, each: bool) -> list[dict[str, Any]]:
    """The documents of all answers; with `--all`, of further violations those that are told, or each."""
    made = []
    for answer in report.answers:
        made.append(explanation(answer))
        if answer.violations is not None and answer.verdict is not None:
            from boomslang.cli.violation_list import further
            from boomslang.explain.document import document

            more = further(answer.verdict, answer.violations, None if each else report.few)
            made += [document(verdict) for verdict in more]
    return made


def _trace_json(trace: Trace) -> dict[str, Any]:
    counts = {
        outcome.name.lower(): int(np.count_nonzero(trace.txn_outcome == outcome))
        for outcome in (Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN)
    }
    return {
        "transactions": len(trace),
        **counts,
        "operations": len(trace.op_kind),
        "sessions": len(trace.sessions),
        "keys": _keys(trace),
        "files": len(trace.files),
        "has_times": trace.has_times,
        "unit": trace.unit or None,
        "has_sessions": trace.has_sessions,
        "warnings": list(trace.warnings),
        "coverage": None if trace.coverage is None else trace.coverage.to_json(),
    }

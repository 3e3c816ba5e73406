"""`boomslang stats`: what a trace is made of, and how much of it is unknown, without checking it."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import boomslang
from boomslang.activity import Activity
from boomslang.asg import build_asg
from boomslang.cli import exit_codes
from boomslang.cli.options.jobs import add_jobs
from boomslang.cli.options.report import prepare_report, write_page
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.explain.names import short
from boomslang.levels.within import roughly
from boomslang.recording_advice import advice
from boomslang.statistics import Longest, Reads, Statistics
from boomslang.trace.scalars import Scalar

STATEMENTS = 40
"""That are shown."""
FORMAT = 1
"""Of the JSON output (stats.schema.json); grows when a field changes its meaning or goes."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Counts what a trace is made of: sessions, transactions, operations, keys; how its keys are "
        "contended; how many reads are ambiguous, and what to record so that they are not; how many superpositions "
        "a level has. With --report all of it in pictures, and how fast it went where the trace has times."
    )
    parser.add_argument("trace", metavar="TRACE", help=TRACE)
    add_format(parser)
    add_jobs(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (see docs/how-it-works.md)")
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write an HTML page: transactions over time, latency and aborts by kind of operation, contention, "
        "ambiguity (see docs/report.md)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    start = time.monotonic()
    prepare_report(arguments.report, arguments.trace)

    def work(watch: Watch) -> tuple[Statistics, float, dict[str, Any]]:
        trace = load(arguments.trace, watch, format=arguments.format, jobs=arguments.jobs)
        loaded = time.monotonic() - start
        watch.begin("counting")
        made = Statistics(build_asg(trace))
        data = to_json(made)
        if arguments.json:
            data["kinds"] = [kind.to_json() for kind in Activity(trace).kinds]
        if arguments.report is not None:
            watch.begin("writing the report")
            _write_page(arguments, made)
        return made, loaded, data

    made, loaded, data = watched(work)
    for warning in made.trace.warnings:
        screen.warning(warning)
    if arguments.json:
        seconds = {"load": round(loaded, 3), "total": round(time.monotonic() - start, 3)}
        head = {"boomslang": boomslang.__version__, "format": FORMAT, "path": arguments.trace}
        screen.document({**head, **data, "warnings": made.trace.warnings, "seconds": seconds})
    else:
        show(arguments.trace, made, data, screen)
        if arguments.report is not None:
            screen.line()
            screen.line(f"report: {arguments.report}")
    return exit_codes.VALID


def _write_page(arguments: argparse.Namespace, made: Statistics) -> None:
    from boomslang.report.stats_page import (
        stats_page,
    )  # what draws pages is not loaded for those who ask for none

    write_page(arguments.report, stats_page(arguments.trace, made, Activity(made.trace)))


# --- for programs


def to_json(made: Statistics) -> dict[str, Any]:
    trace = made.trace
    median, most = made.writers_of_a_key
    return {
        "sessions": len(trace.sessions),
        "files": len(trace.files),
        "notes": json.loads(trace.notes or "{}"),
        "transactions": {
            "total": len(trace),
            **made.outcomes,
            "shown_to_have_committed": made.shown_to_have_committed,
        },
        "operations": {
            "total": len(trace.op_kind),
            "by_kind": made.operations,
            "failed": int(made.failed.sum()),
            "failed_by_kind": made.failures,
        },
        "keys": made.keys,
        "lists": made.lists,
        "values": made.values,
        "initial": {"state": made.initial, "keys": len(trace.initial_key)},
        "contention": {
            "written_keys": int((made.writers > 0).sum()),
            "writers": {"median": median, "max": most},
            "hottest": [
                {
                    "key": _key(hot.key),
                    "operations": hot.operations,
                    "share": round(hot.operations / len(trace.op_kind), 6),
                    "writers": hot.writers,
                }
                for hot in made.hottest
            ],
        },
        "reads": {
            "items": vars(made.items),
            "absences": vars(made.absences),
            "contradictions": made.contradictions,
        },
        "ambiguity": {
            "reads": made.ambiguity.reads,
            "share": round(made.ambiguity.share, 6),
            "candidates": {"median": made.ambiguity.median, "max": made.ambiguity.most},
            "keys": [{**vars(key), "key": _key(key.key)} for key in made.ambiguity.keys],
        },
        "advice": [vars(piece) for piece in advice(made)],
        "superpositions": {
            "version_order_pairs": made.version_order_pairs,
            "read_lineages": made.read_lineages,
            "levels": [
                {"level": level.name, "superpositions": count, "anti_dependencies": brought}
                for level, count, brought in made.by_level
            ],
        },
        "clocks": [
            {"clock": s.clock, "transactions": s.transactions, "first": s.first, "last": s.last}
            for s in made.spans
        ],
        "longest": {"operations": _longest(made.most_operations), "time": _longest(made.longest_time)},
        "coverage": None if trace.coverage is None else trace.coverage.to_json(),
    }


def _key(key: Scalar) -> Any:
    return {"bytes": key.hex()} if isinstance(key, bytes) else key


def _longest(longest: Longest | None) -> dict[str, Any] | None:
    return None if longest is None else vars(longest)


# --- for people


def show(path: str, made: Statistics, data: dict[str, Any], screen: Screen) -> None:
    screen.line((path, "bold"))
    for title, rows in (
        ("notes", _notes(data)),
        ("size", _size(data)),
        ("contention", _contention(made, data)),
        ("reads of what others wrote", _reads(made)),
        ("ambiguous reads", _ambiguity(made)),
        ("superpositions", _superpositions(made)),
        ("time", _time(made)),
        ("statements", _statements(made)),
        ("what would help", ((piece["add"], piece["text"]) for piece in data["advice"])),
    ):
        shown = list(rows)
        if not shown:
            continue
        screen.line()
        screen.line((title, "bold cyan"))
        width = max(24, *(len(name) + 2 for name, _ in shown))
        for name, text in shown:
            screen.line(f"{name:{width}}", text, indent=2, hang=width)


def _notes(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the header says of the trace."""
    for name, said in data["notes"].items():
        yield name if name.isidentifier() else short(name), short(said)


def _size(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    txns, ops = data["transactions"], data["operations"]
    yield "sessions", f"{data['sessions']:,}"
    parts = [f"{txns[name]:,} {name}" for name in ("committed", "aborted", "unknown") if txns[name]]
    yield "transactions", _with(txns["total"], parts)
    if txns["shown_to_have_committed"]:
        shown = f"{txns['shown_to_have_committed']:,} of the unknown are shown to have committed, by reads"
        yield "", shown
    yield "operations", _with(ops["total"], [f"{n:,} {kind}" for kind, n in ops["by_kind"].items()])
    if ops["failed"]:
        yield (
            "failed operations",
            _with(ops["failed"], [f"{n:,} {k}" for k, n in ops["failed_by_kind"].items()]),
        )
    yield "keys", _with(data["keys"], [f"{data['lists']:,} of them lists"] if data["lists"] else [])
    yield "distinct values", f"{data['values']:,}"
    initial = data["initial"]
    yield "initial state", f"{initial['keys']:,} keys" if initial["state"] == "given" else initial["state"]
    longest = data["longest"]["operations"]
    if longest is not None:
        text = f"T{longest['transaction']} with {_count(longest['length'], 'operation')} ({longest['where']})"
        yield "longest transaction", text


def _statements(made: Statistics) -> Iterator[tuple[str, str]]:
    """Of an application whose SQL was recorded: what was understood, and what not and why."""
    coverage = made.trace.coverage
    if coverage is None:
        return
    yield "in all", coverage.sentence()
    for statement in coverage.statements[:STATEMENTS]:
        became = [
            f"{count:,} {word}"
            for count, word in (
                (statement.failed, "failed"),
                (statement.partly, "in part"),
                (statement.left_out, "left out"),
            )
            if count
        ]
        why = f": {'; '.join(statement.reasons)}" if statement.reasons else ""
        yield _with(statement.executed, became), f"{' '.join(statement.text.split())[:300]}{why}"
    if len(coverage.statements) > STATEMENTS:
        yield "", f"and {len(coverage.statements) - STATEMENTS:,} more (--json has them all)"


def _with(total: int, parts: list[str]) -> str:
    return f"{total:,}" + (f" ({', '.join(parts)})" if parts else "")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _contention(made: Statistics, data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    contention = data["contention"]
    if contention["written_keys"]:
        writers = contention["writers"]
        yield "keys that were written", f"{contention['written_keys']:,}"
        yield "writers of a key", f"{writers['median']:,g} in the median, {writers['max']:,} at most"
    total = len(made.trace.op_kind)
    for n, hot in enumerate(made.hottest):
        share = f"{hot.operations / total:.1%}"
        text = f"{short(hot.key)}: {_count(hot.operations, 'operation')} ({share}), {_count(hot.writers, 'writer')}"
        yield "" if n else "hottest keys", text


def _reads(made: Statistics) -> Iterator[tuple[str, str]]:
    yield from _reads_of("reads", made.items)
    if made.absences.total:
        yield from _reads_of("absent keys in ranges", made.absences)
    if made.contradictions:
        yield "against own writes", f"{made.contradictions:,}: the trace breaks every level"


def _reads_of(what: str, reads: Reads) -> Iterator[tuple[str, str]]:
    yield what, f"{reads.total:,}"
    yield "  one candidate", f"{reads.known:,}"
    yield "  initial state", f"{reads.initial:,}"
    yield "  several candidates", f"{reads.ambiguous:,}"
    if reads.unexplained:
        yield "  no candidate", f"{reads.unexplained:,}: nobody wrote what they saw"


def _ambiguity(made: Statistics) -> Iterator[tuple[str, str]]:
    found = made.ambiguity
    if not found.reads:
        return
    yield "several candidates", f"{found.reads:,} ({found.share:.1%} of all reads)"
    yield "candidates of one", f"{found.median:,g} in the median, {found.most:,} at most"
    for n, key in enumerate(found.keys):
        text = f"{short(key.key)}: {_count(key.reads, 'read')}, {_count(key.writers, 'writer')}"
        yield "" if n else "most repeated", f"{text} of {_count(key.values, 'value')}"


def _superpositions(made: Statistics) -> Iterator[tuple[str, str]]:
    pairs, lineages = made.version_order_pairs, made.read_lineages
    yield "in all", f"{pairs + lineages:,} ({pairs:,} pairs of writers of a key, {lineages:,} open reads)"
    groups: dict[int, list[str]] = {}
    for level, _, brought in made.by_level:
        if not level.needs_sessions and not level.needs_times:
            groups.setdefault(brought, []).append(level.short)
    for brought, levels in groups.items():
        yield f"at {', '.join(levels)}", f"{brought:,} implied anti-dependencies"


def _time(made: Statistics) -> Iterator[tuple[str, str]]:
    unit = made.trace.unit

    def length(ticks: int) -> str:
        return roughly(ticks, unit) if unit else f"{ticks:,} units"

    for span in made.spans:
        name = f"clock {short(span.clock)}" if span.clock else "clock"
        text = f"{span.first:,} to {span.last:,}: {length(span.last - span.first)}, {span.transactions:,} transactions"
        yield name, text
    longest = made.longest_time
    if longest is not None:
        yield "longest transaction", f"T{longest.transaction}: {length(longest.length)} ({longest.where})"

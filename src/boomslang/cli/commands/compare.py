"""`boomslang compare`: two traces or two hunts side by side, and what is new in the second."""

from __future__ import annotations

import argparse
import time

import boomslang
from boomslang.cli import exit_codes
from boomslang.cli.options.jobs import add_jobs
from boomslang.cli.options.limits import add_limits
from boomslang.cli.options.question import STRONGEST, asked_levels
from boomslang.cli.options.report import prepare_report, write_page
from boomslang.cli.options.trace_input import add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.compare import Comparison, Side, compare, hunt_file, side_of_hunt, side_of_trace
from boomslang.compare.comparison import change, shown, verdict_of
from boomslang.errors import UsageError
from boomslang.levels import Level

LEVELS = "ser,si,rc"
FORMAT = 1
"""Of the JSON output (compare.schema.json); grows when a field changes its meaning or goes."""
WIDTH = 26


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Two runs side by side: what was run otherwise, throughput, aborts, latency, verdicts at levels, and what "
        "is new in the second. Either two traces (folders of `boomslang run` tell more) or two hunts. Exit code 1: the "
        "second breaks a level that the first does not; 2: a level that the first keeps is unknown of the second; 0: "
        "neither."
    )
    add_argument = parser.add_argument
    for name in ("first", "second"):
        add_argument(name, metavar="RUN", help="a trace, or the folder or JSON of a hunt")
    add_argument(
        "--level",
        action="append",
        metavar="LEVEL",
        help=f"levels to ask of both traces; several: ser,si; else {LEVELS}. A hunt has asked its own",
    )
    add_argument("--no-check", action="store_true", help="compare figures only")
    add_format(parser)
    add_limits(parser, "give up a level", "")
    add_jobs(parser)
    add_argument("--json", action="store_true", help="print JSON (see docs/how-it-works.md)")
    add_argument("--report", metavar="FILE", help="write an HTML page with plots (see docs/report.md)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.no_check and arguments.level:
        raise UsageError("found --level with --no-check; expected one of them")
    levels = [] if arguments.no_check else asked_levels(arguments.level or [LEVELS])
    if levels is None:
        raise UsageError(f"found --level {STRONGEST}; expected levels to compare, such as --level {LEVELS}")
    for path in (arguments.first, arguments.second):
        prepare_report(arguments.report, path)
    start = time.monotonic()
    made = watched(lambda watch: _compared(arguments, levels, watch))
    if arguments.report is not None:
        from boomslang.report.compare_page import compare_page

        write_page(arguments.report, compare_page(made))
    code = _exit_code(made)
    if arguments.json:
        head = {"boomslang": boomslang.__version__, "format": FORMAT}
        seconds = round(time.monotonic() - start, 3)
        screen.document({**head, **made.to_json(), "seconds": seconds, "exit": code})
        return code
    show(made, screen)
    if arguments.report is not None:
        screen.line()
        screen.line(f"report: {arguments.report}")
    return code


def _compared(arguments: argparse.Namespace, levels: list[Level], watch: Watch) -> Comparison:
    paths = arguments.first, arguments.second
    hunts = [hunt_file(path) for path in paths]
    if any(hunts) and not all(hunts):
        one, other = (paths[hunts.index(None)], next(p for p, h in zip(paths, hunts, strict=True) if h))
        raise UsageError(f"found a hunt ({other}) and a trace ({one}); expected two traces or two hunts")
    if arguments.level and any(hunts):
        raise UsageError("found --level with two hunts; expected none: each has asked its own")

    def side(path: str) -> Side:
        trace = load(path, watch, format=arguments.format, jobs=arguments.jobs)
        return side_of_trace(
            path, trace, levels, timeout=arguments.timeout, memory=arguments.memory, begin=watch.begin
        )

    sides = [
        side(path) if hunt is None else side_of_hunt(path, hunt)
        for path, hunt in zip(paths, hunts, strict=True)
    ]
    return compare(sides[0], sides[1])


def _exit_code(made: Comparison) -> int:
    if made.newly_broken:
        return exit_codes.INVALID
    return exit_codes.UNKNOWN if made.no_longer_known else exit_codes.VALID


# --- for people


def show(made: Comparison, screen: Screen) -> None:
    one, two = made.first, made.second
    screen.line("first   ", (one.path, "bold"))
    screen.line("second  ", (two.path, "bold"))
    _table("run otherwise", [(name, a or "-", b or "-", "") for name, a, b in made.settings], screen)
    answers = [
        (level, a.status if a else "not asked", b.status if b else "not asked", _why(a, b))
        for level, a, b in made.answers
    ]
    _table("answers", answers, screen)
    figures = []
    for figure, a, b in made.figures:
        words = [word for word in (change(figure, a, b), verdict_of(figure, a, b)) if word]
        figures.append((figure.name, shown(figure, a), shown(figure, b), ", ".join(words)))
    _table("figures", figures, screen)
    for title, lines in (("new in the second", made.new), ("gone in the second", made.gone)):
        if lines:
            screen.line()
            screen.line((title, "bold cyan"))
            for line in lines:
                screen.line(line, indent=2)


def _why(a: object, b: object) -> str:
    reasons = [getattr(answer, "reason", "") for answer in (a, b)]
    if reasons[0] == reasons[1]:
        return reasons[0]
    return "; ".join(
        f"{which}: {reason}" for which, reason in zip(("first", "second"), reasons, strict=True) if reason
    )


def _table(title: str, rows: list[tuple[str, str, str, str]], screen: Screen) -> None:
    if not rows:
        return
    screen.line()
    screen.line((title, "bold cyan"))
    wide = [max(floor, *(len(row[n]) + 2 for row in rows)) for n, floor in ((0, WIDTH), (1, 14), (2, 14))]
    for row in rows:
        cells = "".join(f"{cell:{width}}" for cell, width in zip(row, wide, strict=False))
        screen.line((cells + row[3]).rstrip(), indent=2, hang=wide[0])

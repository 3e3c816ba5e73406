"""`boomslang ir`: what the solver is given, in its printed form."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from boomslang.asg import build_asg
from boomslang.asg.entries import everything
from boomslang.cli import exit_codes
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.errors import UsageError
from boomslang.ir import IR, lower, print_ir
from boomslang.levels import find_level
from boomslang.modules import find_modules
from boomslang.modules.module import prepare
from boomslang.passes import PASSES, chosen, expand, optimise, print_problem
from boomslang.solve.solution import Solution

_SHOWN = tuple(name for name in PASSES if name != "segments")  # that one asks a solver


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints the intermediate representation of a trace at a level: the known graph, and the "
        "families of what is not known (see docs/how-it-works.md)."
    )
    parser.add_argument("trace", metavar="TRACE", help=TRACE)
    parser.add_argument(
        "--level", required=True, metavar="LEVEL", help="one isolation level (see `boomslang levels`)"
    )
    parser.add_argument(
        "--module", action="append", default=[], metavar="MODULE", help="as for `check`; its words come last"
    )
    parser.add_argument(
        "--expand", action="store_true", help="write the families out; quadratic in the writers of a key"
    )
    add_format(parser)
    parser.add_argument(
        "--passes",
        metavar="NAMES",
        help="write the families out, and show what these passes leave of them: " + ",".join(_SHOWN),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    level = find_level(arguments.level)
    modules = find_modules(arguments.module)

    def work(watch: Watch) -> tuple[IR, list[str]]:
        trace = load(arguments.trace, watch, format=arguments.format)
        watch.begin("analysing")
        return lower(everything(prepare(build_asg(trace), modules)), level), trace.warnings

    ir, warnings = watched(work)
    for text in warnings:
        screen.warning(text)
    for line in (
        print_ir(ir, expand=arguments.expand) if arguments.passes is None else _after(ir, arguments.passes)
    ):
        screen.line(line)
        if screen.closed:
            break
    return exit_codes.VALID


def _after(ir: IR, names: str) -> Iterator[str]:
    """The problem after these passes, with what each of them did."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in _SHOWN]:
        raise UsageError(f"no pass {unknown[0]!r} to show; there are: {', '.join(_SHOWN)}")
    problem, effects = optimise(expand(ir), chosen(wanted), lambda part, limits: Solution("unknown"))
    for effect in effects:
        yield f"# {effect.name}: {effect}"
    yield from print_problem(problem)

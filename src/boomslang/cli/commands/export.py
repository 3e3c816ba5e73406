"""`boomslang export`: the question as text, for a solver that is not built in."""

from __future__ import annotations

import argparse
from pathlib import Path

from boomslang.asg import build_asg
from boomslang.asg.entries import everything
from boomslang.cli import exit_codes
from boomslang.cli.options import solver as solver_options
from boomslang.cli.options.trace_input import TRACE, add_format, load
from boomslang.cli.output_files import obstacle, write_whole
from boomslang.cli.progress import Watch, watched
from boomslang.cli.screen import Screen
from boomslang.encodings import ENCODINGS, find_encoding
from boomslang.errors import UsageError
from boomslang.explain.parts import first_broken
from boomslang.ir import lower
from boomslang.ir.expression import FALSE
from boomslang.levels import find_level
from boomslang.modules import find_modules
from boomslang.modules.module import prepare
from boomslang.passes import Problem, chosen, expand, optimise
from boomslang.solve.export import FORMATS
from boomslang.solve.solution import Limits, Solution


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes what an eager solver is asked about a trace at a level, as text: satisfiable if the "
        "trace satisfies the level. smtlib is SMT-LIB 2.6 (QF_IDL); dimacs-graph is DIMACS CNF with a graph, which "
        "is MonoSAT's GNF (see docs/how-it-works.md)."
    )
    parser.add_argument("trace", metavar="TRACE", help=TRACE)
    parser.add_argument("out", metavar="OUT", help="the file to write; - for the screen")
    parser.add_argument(
        "--level", required=True, metavar="LEVEL", help="one isolation level (see `boomslang levels`)"
    )
    parser.add_argument("--to", required=True, choices=FORMATS, help="the form of the text")
    add_format(parser)
    solver_options.add_passes(parser)
    parser.add_argument("--encoding", choices=ENCODINGS, help="as an earlier checker asked")
    parser.add_argument(
        "--module", action="append", default=[], metavar="MODULE", help="as for `check`; its words come last"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    level = find_level(arguments.level)
    if not level.observes:
        raise UsageError(f"{level.name} is decided without a solver: there is nothing to export")
    modules = find_modules(arguments.module)
    if modules and arguments.encoding is not None:
        raise UsageError("an encoding is an earlier checker's whole way to ask; it takes no modules")
    problem = "" if arguments.out == "-" else obstacle(Path(arguments.out), Path(arguments.trace))
    if problem:
        raise UsageError(f"{Path(arguments.out)}: cannot write the question: {problem}")
    # Without being asked for, no pass: what is written should be the question, not half of the answer.
    wanted = solver_options.passes(arguments) or ()
    passes = [
        name for name in wanted if name not in ("segments", "prioritize")
    ]  # these need or tell a solver

    def work(watch: Watch) -> tuple[Problem, list[str]]:
        trace = load(arguments.trace, watch, format=arguments.format)
        watch.begin("analysing")
        asg = everything(prepare(build_asg(trace), modules))
        if asg.entries is not None and arguments.encoding is not None:
            raise UsageError("the trace has selects, which no earlier checker knows; ask without an encoding")
        if first_broken(asg) is not None:  # no choice is left to a solver
            return Problem(lower(asg, level), (), (), (FALSE,)), trace.warnings
        watch.begin("writing")
        encode = None if arguments.encoding is None else find_encoding(arguments.encoding).encode
        problem = expand(lower(asg, level)) if encode is None else encode(asg, level)
        return optimise(problem, chosen(passes), _nobody)[0], trace.warnings

    asked, warnings = watched(work)
    for text in warnings:
        screen.warning(text)
    lines = FORMATS[arguments.to](asked)
    if arguments.out == "-":
        for line in lines:
            screen.line(line)
            if screen.closed:
                break
    else:
        try:
            write_whole(Path(arguments.out), (f"{line}\n" for line in lines))
        except OSError as failure:
            raise UsageError(f"{arguments.out}: cannot write the question: {failure.strerror}") from None
    return exit_codes.VALID


def _nobody(problem: Problem, limits: Limits) -> Solution:
    return Solution("unknown")

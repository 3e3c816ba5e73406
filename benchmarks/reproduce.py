"""The paper's evaluation, figure by figure: the paper's number beside ours, on one page, `docs/evaluation.md`.

Every measurement is a *cell*, made in a fresh process with a limit and kept in `benchmarks/evaluation.json`, so that an
interrupted run goes on where it stopped, and one figure can be measured alone: the others are shown as they were
measured last. A cell counts only for the machine and the program that made it. What cannot be had here says "not here"
and what it needs. The figures are in `evaluation/`.

    python benchmarks/reproduce.py                         all figures, 60 s a cell: 100 minutes on two cores, half an
                                                           hour more with others' checkers
    python benchmarks/reproduce.py --only ablation         one of them
    python benchmarks/reproduce.py --page                  nothing is measured; the page of what is kept
    make reproduce QUICK=1                                 smaller sizes, same page: about ten minutes
    make reproduce LIMIT=600                               the paper's limit
    make reproduce CHECKERS=my-checkers.toml               others beside us (see checkers.toml)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation import beside_others, growth, lines_of_code, plots
from evaluation.answers import Answers, program
from evaluation.case_studies import case_studies
from evaluation.checkers import MEMORY, Checkers
from evaluation.combinations import combinations
from evaluation.encodings import fair, same
from evaluation.figure import Figure
from evaluation.passes import ablation
from evaluation.plan import LONGEST, Plan
from evaluation.violations import violations
from phases import DOCS, PATIENCE
from run import machine
from simulate import HERE

FIGURES = (
    Figure(
        "combinations",
        "Various combinations",
        'Figure "Boomslang can check various combinations of isolation levels, databases, and workloads": twenty '
        "traces, each checked in 0.2 to 371 seconds.",
        combinations,
    ),
    Figure("case-studies", "Case studies", "Nine cases in the text.", case_studies),
    Figure(
        "loc",
        "Lines of code of each checker",
        'Figure "Lines of code (LOC) for each checker component": 238 to 364 lines a checker.',
        lines_of_code.per_level,
    ),
    Figure(
        "loc-earlier",
        "Lines of code of earlier checkers",
        'Figure "Lines of code (LOC) for Cobra/Viper/PolySI\'s original system and their implementations".',
        lines_of_code.per_encoding,
    ),
    Figure(
        "encodings",
        "PolySI's and Viper's encodings of SI",
        "Figure \"Checking SI: a fair comparison between PolySI's and Viper's encodings\", BlindW-C with 10K to 80K "
        "transactions: Viper's slightly outperforms PolySI's.",
        fair,
    ),
    Figure(
        "cobra",
        "Serializability: beside Cobra",
        'Figure "Checking serializability: Boomslang and Cobra", CobraBench with 10K transactions: comparable or '
        "better, except for TPC-C.",
        beside_others.cobra,
    ),
    Figure(
        "si-checkers",
        "SI: beside Viper and PolySI",
        'Figure "Checking SI: Boomslang, Viper, and PolySI", 50K transactions.',
        beside_others.si,
    ),
    Figure(
        "elle",
        "Serializability: beside Elle",
        'Figure "Checking serializability: Boomslang and Elle", checking time over collection time: comparable, with a '
        "greater slope than Elle's.",
        beside_others.elle,
    ),
    Figure(
        "ablation",
        "Decomposition of run time",
        'Figure "Decomposition of runtime of BlindW-C (2K keys, 32 threads, 10K txns) under different settings": over '
        "600 seconds without optimisations; prioritization makes it solvable, pruning more so.",
        ablation,
    ),
    Figure(
        "superpositions",
        "Run time over superpositions",
        'Figure "Checking SER: runtime grows superlinearly with the number of superpositions".',
        growth.superpositions,
    ),
    Figure(
        "violations",
        "Real-world violations",
        'Figure "Boomslang detects real-world violations": eighteen traces, each within 26 seconds.',
        violations,
    ),
    Figure(
        "scaling",
        "Time over transactions",
        'Figure "Scalability on checking SER, SI, and RC" of the appendix: up to 80K transactions; RC is the fastest, '
        "SI takes longest.",
        growth.time,
    ),
    Figure(
        "memory",
        "Memory over transactions",
        "The same figure for memory: superlinear, around 40 GB for SI at 80K.",
        growth.memory,
    ),
    Figure(
        "same-encodings",
        "Same encoding, different implementations",
        'Figure "Comparison of encoding implementations" of the appendix: faster than all of its counterparts.',
        same,
    ),
    Figure(
        "others",
        "Everybody else",
        "No such figure. Every checker that is there, at each of its levels.",
        beside_others.everybody,
    ),
)


def section(figure: Figure, plan: Plan, images: Path, with_plots: bool) -> list[str]:
    """A figure's part of the page; its plots are drawn beside."""
    plan.used = []
    try:
        shown = figure.make(plan)
    finally:
        plan.close()
    lines = [f"## {figure.title}", "", f"The paper: {figure.paper}", "", *shown.lines, ""]
    for plot in shown.plots if with_plots else ():
        plot.draw(images / f"{plot.name}.svg")
        lines += [f"![{plot.alt}]({images.name}/{plot.name}.svg)", ""]
    if plan.used:
        lines += [f"*{when(plan.used)}*", ""]
    return lines


def when(used: Sequence[dict[str, Any]]) -> str:
    """On which days, on how busy a machine; and whether it was this program (with --page what is kept may be older)."""
    days = sorted({answer["date"] for answer in used})
    loads = [answer["load"] for answer in used]
    day = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    before = sum(answer["program"] != program() for answer in used)
    older = (
        f"; {'all' if before == len(used) else before} by an earlier version of the program" if before else ""
    )
    return f"{len(used)} cells, measured {day}{older}; load average {min(loads):.1f} to {max(loads):.1f}."


def page(plan: Plan, only: Sequence[str], arguments: Sequence[str], out: Path, with_plots: bool) -> str:
    command = " ".join(["python benchmarks/reproduce.py", *arguments])
    lines = [
        "# The paper's evaluation, and ours",
        "",
        f"Measured by `{command}` on {machine()}.",
        "",
        "Every table and plot of the evaluation in the paper that this project is built after, with the paper's number "
        "beside ours. The paper's machine has 12 cores (AMD Ryzen 5900) and 64 GB; its seconds are by the clock, ours "
        "are CPU seconds, user and system. Each cell is a fresh process that may take "
        f"{plan.limit:g} CPU seconds (by the clock {PATIENCE} times as many) and {MEMORY:,} MB. *over "
        f"{plan.limit:g}* is that limit; *a picture* says that "
        'the paper has a plot without the number in its text; *not here* says what is missing. "Native engine" is this '
        "program's own solver, which `boomslang check` uses; clingo stands where the paper has MonoSAT, which only the "
        "figure on passes has, too. Databases "
        f"are recorded until as many transactions as in the paper were tried, or for {LONGEST:g} s.",
        "",
    ]
    if plan.quick:
        lines += ["The sizes are small ones (`QUICK=1`); without it they are the paper's.", ""]
    images = out.parent / out.stem
    for figure in FIGURES:
        asked = replace(plan, measure=plan.measure and (not only or figure.name in only))
        if asked.measure:
            print(f"{figure.name} ...", flush=True)
        lines += section(figure, asked, images, with_plots)
    for old in images.glob("*.svg") if with_plots else ():
        if not any(f"({images.name}/{old.name})" in line for line in lines):
            old.unlink()  # of other sizes
    return "\n".join(lines[:-1]) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="reproduce.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        choices=[f.name for f in FIGURES],
        help="measure only this figure",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes, same page")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds a cell")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what is kept")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept first")
    parser.add_argument("--checkers", type=Path, default=HERE / "checkers.toml", help="where the others are")
    parser.add_argument("--no-plots", action="store_true", help="tables only")
    parser.add_argument("--divide", type=int, default=1, help="all sizes by this")
    parser.add_argument(
        "--answers", type=Path, default=HERE / "evaluation.json", help="where answers are kept"
    )
    parser.add_argument("--out", type=Path, default=DOCS / "evaluation.md")
    given = parser.parse_args(arguments)
    if not given.no_plots and not plots.available():
        parser.error("plots need matplotlib: pip install '.[reproduce]' (or: --no-plots)")
    answers = Answers(given.answers)
    if given.fresh:
        answers.forget()
    checkers = Checkers.read(given.checkers)
    # As an answer is found by its limit, 60 is to be the same as 60.0.
    limit = int(given.limit) if given.limit.is_integer() else given.limit
    plan = Plan(answers, checkers, given.quick, limit, given.divide, not given.page)
    given.out.write_text(page(plan, given.only, _said(arguments), given.out, not given.no_plots))
    print(f"wrote {given.out}")
    return 0


def _said(arguments: Sequence[str]) -> list[str]:
    """As they were given, without the folders of this machine, and without what only says what to do now."""
    words = [Path(word).name if "/" in word else word for word in arguments]
    return [
        word
        for before, word in zip(["", *words], words, strict=False)
        if word not in ("--page", "--fresh", "--only") and before != "--only"
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Figures of lines of code: what a level costs, phase by phase, and what an earlier checker costs as an encoding.

The paper's checkers each generate their IR, prune, and generate SMT, and share some of that. Here a level is data, and
all of the three are shared: so the level's own lines stand beside those of the folder that makes it an IR, of the pass
that prunes, and of the back end. Counted as in `loc.py`: no blank lines, no comments, no documentation.
"""

from __future__ import annotations

import loc

from evaluation.figure import Plot, Shown, table
from evaluation.plan import Plan
from evaluation.plots import bars

LEVELS = (
    ("SSER", "strict-serializable", 55, 10, 180),
    ("SER", "serializable", 51, 10, 180),
    ("RR", "repeatable-read", 59, 10, 180),
    ("SI", "snapshot-isolation", 95, 10, 180),
    ("RC", "read-committed", 48, 10, 180),
    ("PL-2+", "consistent-view", 51, 36, 178),
    ("CS", "cursor-stability", 51, 36, 277),
    ("PL-FCV", "forward-consistent-view", 51, 36, 226),
)
"""The paper's: lines of IR generation, of pruning, of SMT."""
EARLIER = (("Cobra", "cobra", 16_600, 271), ("Viper", "viper", 2_900, 281), ("PolySI", "polysi", 3_400, 386))
IR = ("ir/lower.py", "ir/families.py", "ir/relations.py", "ir/model.py", "ir/expression.py")
EXPAND = ("passes/problem.py", "passes/columns/expand.py", "passes/columns/table.py", "passes/columns/of.py")
PRUNE = ("passes/prune.py", "passes/reach.py", "passes/simplify.py", "passes/columns/propagate.py")
BACK_END = ("solve/clingo_solver.py", "solve/cnf.py", "passes/columns/solved.py", "passes/skeleton.py")


def lines_of(paths: tuple[str, ...] | list[str]) -> int:
    return sum(len(loc.code_lines((loc.SOURCE / path).read_text())) for path in paths)


def per_level(plan: Plan) -> Shown:
    own = dict(loc.levels())
    rows, labels, paper, ours = [], [], [], []
    for short, name, ir, pruning, smt in LEVELS:
        rows.append([short, str(ir), str(pruning), str(smt), str(ir + pruning + smt), str(own[name])])
        labels.append(short)
        paper.append(ir + pruning + smt)
        ours.append(own[name])
    shared = [
        ["from a level to the IR", "48 to 95 (Gen. IR)", str(lines_of(IR))],
        ["the IR written out for eager solvers", "", str(lines_of(EXPAND))],
        ["pruning", "10 and 36 (Pruning)", str(lines_of(PRUNE))],
        ["clauses, and the solver's calls (clingo)", "178 to 277 (Gen. SMT)", str(lines_of(BACK_END))],
    ]
    text = [
        *table(("level", "paper: IR", "pruning", "SMT", "total", "here: the level itself"), rows),
        "",
        "Every level has the same code behind it, which takes every operation, unknown outcomes, values that repeat:",
        "",
        *table(("phase, shared by all levels", "the paper's", "here"), shared),
        "",
        "[All lines](loc.md), by level, pass, back end, module and encoding.",
    ]
    series = {"here: the level": ours, "the paper's checker": paper}
    alt = "lines of code of each level"
    return Shown(
        text, [Plot("loc", alt, lambda path: bars(path, labels, series, "lines of code", log=False))]
    )


def per_encoding(plan: Plan) -> Shown:
    shared = lines_of(["encodings/polygraph.py"])
    rows, labels, original, papers, ours = [], [], [], [], []
    for title, name, theirs, paper in EARLIER:
        lines = lines_of([f"encodings/{name}.py"])
        rows.append([title, f"{theirs:,}", str(paper), str(lines), str(lines + shared)])
        labels.append(title)
        original.append(theirs)
        papers.append(paper)
        ours.append(lines + shared)
    for title, name in (("Emme", "emme"), ("Elle", "elle")):
        lines = lines_of([f"encodings/{name}.py"])
        rows.append([title, "", "", str(lines), str(lines)])
    names = (
        "checker",
        "its own lines, by the paper",
        "in the paper's Boomslang",
        "here, of its own",
        "here, with the polygraph",
    )
    text = [
        *table(names, rows),
        "",
        "Cobra, Viper and PolySI share the polygraph (`encodings/polygraph.py`); passes and back ends are everybody's.",
    ]
    series = {"here": ours, "the original": original, "in the paper's Boomslang": papers}
    alt = "lines of code of earlier checkers, of the paper's versions of them, and of those here"
    return Shown(text, [Plot("loc-earlier", alt, lambda path: bars(path, labels, series, "lines of code"))])

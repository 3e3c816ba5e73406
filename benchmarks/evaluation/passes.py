"""Figure "Decomposition of runtime": what each pass is worth, and where the time goes.

The paper switches prioritization and reachability pruning on and off; here there are four passes: none of them, each
alone, all but each, and all. With clingo, and with MonoSAT, which is the paper's, where its module is there.
"""

from __future__ import annotations

from dataclasses import replace

from phases import PHASES, Way
from simulate import BLINDW

from boomslang.solve.backends import EAGER
from evaluation.figure import NOT_HERE, Plot, Shown, over, table
from evaluation.plan import PAPERS_LIMIT, Plan
from evaluation.plots import stacked

PAPERS_SIZE = 10_000
PASSES = ("prune", "merge", "prioritize", "segments")
SETTINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("none", "noOpt: over 600", ()),
    *((name, "", (name,)) for name in PASSES),
    *((f"all but {name}", "", tuple(p for p in PASSES if p != name)) for name in PASSES),
    ("all", "Boomslang: a picture", PASSES),
)
UNFINISHED = "stopped in a later phase"
PAPER = {"all but prioritize": "noPrio: a picture", "all but prune": "noReach: a picture, slower than noPrio"}


def ablation(plan: Plan) -> Shown:
    """In sizes of which the last is the paper's."""
    lines: list[str] = []
    plots: list[Plot] = []
    sizes = (500,) if plan.quick else (2_000, PAPERS_SIZE)
    for solver, name in (("clingo", "clingo"), ("monosat", "MonoSAT")):
        used = len(plan.used)
        asked = replace(plan, measure=plan.measure and EAGER[solver].installed)
        shown = [_of_size(asked, plan.size(size, size), size == PAPERS_SIZE, solver, name) for size in sizes]
        there = asked.measure or len(plan.used) > used or solver == "clingo"
        for text, plot in shown if there else ():
            lines += ["", *text] if lines else text
            plots.append(plot)
        if not there:
            lines += ["", f"{name}: {NOT_HERE} its Python module, which is in no package registry."]
    return Shown(lines, plots)


def _of_size(plan: Plan, size: int, papers: bool, solver: str, name: str) -> tuple[list[str], Plot]:
    history = replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)
    longer = papers and solver == "clingo"
    rows, labels, notes = [], [], []
    parts: dict[str, list[float]] = {phase: [] for phase in (*PHASES, UNFINISHED)}
    for label, paper, passes in SETTINGS:
        limit = max(plan.limit, PAPERS_LIMIT) if longer and "prune" in passes else plan.limit
        found = plan.phases(history, Way("ser", solver, passes), limit)
        told = found or {"status": "not measured", "phases": {}, "seconds": 0.0}
        each = [told.get("phases", {}).get(phase, 0.0) for phase in PHASES]
        status = f"over {limit:g} s" if over(told) else str(told["status"])
        # Of a phase that it did not come to the end of nothing is known.
        times = [f"{x:.2f}" if x or told["status"] in ("valid", "invalid") else "" for x in each]
        counts = [f"{told.get('superpositions', 0):,}", f"{told.get('left', 0):,}"]
        total = f"{told['seconds']:.2f}" if told["seconds"] and not over(told) else ""
        paper = PAPER.get(label, paper)
        rows.append([label, paper, status, *times, total, f"{told.get('megabytes', 0):.0f}", *counts])
        labels.append(label)
        notes.append("" if status == "valid" else status)
        for phase, took in zip(PHASES, each, strict=True):
            parts[phase].append(took)
        # Or the rows that took longest would have the shortest bars.
        parts[UNFINISHED].append(max(0.0, limit - sum(each)) if over(told) else 0.0)
    about = (
        f"BlindW, {size:,} transactions, {history.keys:,} keys, 32 sessions, serializable; {name}. *left* are the "
        "superpositions after the passes."
    )
    if longer:
        about += f" Rows with *prune* may take the paper's {PAPERS_LIMIT:g} s, the others {plan.limit:g} s."
    names = ("passes", "paper s", "verdict", *PHASES, "CPU s", "MB", "superpositions", "left")
    alt = f"CPU seconds of each phase with {name} for {size:,} transactions, by the passes that are used"
    file = f"ablation-{size}" if solver == "clingo" else f"ablation-{solver}-{size}"
    parts = {name: took for name, took in parts.items() if name != UNFINISHED or any(took)}
    plot = Plot(file, alt, lambda path: stacked(path, labels, parts, "CPU seconds", notes))
    return [about, "", *table(names, rows)], plot

"""Figure "Decomposition of runtime": what each pass is worth, and where the time goes.

The paper switches prioritization and reachability pruning on and off; here there are four passes: none of them, each
alone, all but each, and all.
"""

from __future__ import annotations

from dataclasses import replace

from phases import PHASES, Way
from simulate import BLINDW

from evaluation.figure import Plot, Shown, table
from evaluation.plan import OVER, PAPERS_LIMIT, Plan
from evaluation.plots import stacked

PAPERS_SIZE = 10_000
PASSES = ("prune", "merge", "prioritize", "segments")
SETTINGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("none", "noOpt: over 600", ()),
    *((name, "", (name,)) for name in PASSES),
    *((f"all but {name}", "", tuple(p for p in PASSES if p != name)) for name in PASSES),
    ("all", "Boomslang: a picture", PASSES),
)
PAPER = {"all but prioritize": "noPrio: a picture", "all but prune": "noReach: a picture, slower than noPrio"}


def ablation(plan: Plan) -> Shown:
    """In sizes of which the last is the paper's."""
    lines, plots = [], []
    for paper in (500,) if plan.quick else (2_000, PAPERS_SIZE):
        text, plot = _of_size(plan, plan.size(paper, paper), paper == PAPERS_SIZE)
        lines += ["", *text] if lines else text
        plots.append(plot)
    return Shown(lines, plots)


def _of_size(plan: Plan, size: int, papers: bool) -> tuple[list[str], Plot]:
    history = replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)
    rows, labels, notes = [], [], []
    parts: dict[str, list[float]] = {phase: [] for phase in PHASES}
    for label, paper, passes in SETTINGS:
        limit = max(plan.limit, PAPERS_LIMIT) if papers and "prune" in passes else plan.limit
        found = plan.phases(history, Way("ser", "clingo", passes), limit)
        told = found or {"status": "not measured", "phases": {}, "seconds": 0.0}
        each = [told.get("phases", {}).get(phase, 0.0) for phase in PHASES]
        status = f"over {limit:g} s" if told["status"] in OVER else str(told["status"])
        times = [f"{x:.2f}" for x in each] if any(each) else [""] * len(PHASES)
        counts = [f"{told.get('superpositions', 0):,}", f"{told.get('left', 0):,}"]
        total = f"{told['seconds']:.2f}" if told["seconds"] and told["status"] not in OVER else ""
        paper = PAPER.get(label, paper)
        rows.append([label, paper, status, *times, total, f"{told.get('megabytes', 0):.0f}", *counts])
        labels.append(label)
        notes.append("" if status == "valid" else status)
        for phase, took in zip(PHASES, each, strict=True):
            parts[phase].append(took)
    about = (
        f"BlindW, {size:,} transactions, {history.keys:,} keys, 32 sessions, serializable; clingo. *left* are the "
        "superpositions after the passes."
    )
    if papers:
        about += f" Rows with *prune* may take the paper's {PAPERS_LIMIT:g} s, the others {plan.limit:g} s."
    names = ("passes", "paper s", "verdict", *PHASES, "CPU s", "MB", "superpositions", "left")
    alt = f"CPU seconds of each phase for {size:,} transactions, by the passes that are used"
    plot = Plot(f"ablation-{size}", alt, lambda path: stacked(path, labels, parts, "CPU seconds", notes))
    return [about, "", *table(names, rows)], plot

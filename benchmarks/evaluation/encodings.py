"""Figures about encodings: Viper's and PolySI's on one back end, and earlier encodings here beside the originals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from earlier_checkers import versioned
from phases import Way
from simulate import BLINDW, History, stored

from evaluation.figure import NOT_HERE, PICTURE, Plot, Shown, bar, seconds, table, value
from evaluation.passes import PASSES
from evaluation.plan import PAPERS_LIMIT, Plan
from evaluation.plots import bars, lines

FAIR = (2_500, 5_000, 10_000, 20_000, 40_000, 80_000)
"""The last four are the paper's."""
PAPERS_SMALLEST = 10_000
"""Which may take the paper's limit, so that its end is seen."""


def blindw(size: int) -> History:
    """BlindW-C, with as many keys for a transaction as in the paper's figure on passes: 2,000 for 10,000."""
    return replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)


def fair(plan: Plan) -> Shown:
    columns = {
        "Viper's": Way("strong-session-si", "clingo", PASSES, "viper"),
        "PolySI's": Way("strong-session-si", "clingo", PASSES, "polysi"),
        "Boomslang's own": Way("strong-session-si", "clingo", PASSES),
        "native engine": Way("strong-session-si"),
    }
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in columns}
    smaller: dict[str, dict[str, Any] | None] = dict.fromkeys(columns)
    rows = []
    for paper in FAIR:
        size = plan.size(paper, paper // 40)
        cells = [f"{size:,}", PICTURE if paper >= PAPERS_SMALLEST else ""]
        for name, way in columns.items():
            limit = max(plan.limit, PAPERS_LIMIT) if paper == PAPERS_SMALLEST else None
            found = plan.phases(blindw(size), way, limit, smaller[name])
            smaller[name] = found
            cells.append(seconds(found, plan.limit))
            if (took := value(found)) is not None:
                points[name].append((size, took))
        rows.append(cells)
    names = (
        "transactions",
        "paper",
        "Viper's encoding s",
        "PolySI's s",
        "Boomslang's own s",
        "native engine s",
    )
    about = (
        "BlindW of a simulated serializable database at strong session SI, 5 transactions for a key, 32 sessions; "
        "all passes, clingo. The native engine takes no encoding and stands there as a scale. The paper's smallest "
        f"size may take the paper's {PAPERS_LIMIT:g} s; *skipped* is what took longer than its limit at a smaller size."
    )
    alt = "seconds over transactions for each encoding of snapshot isolation"
    plot = Plot("encodings", alt, lambda p: lines(p, points, "transactions", "CPU seconds", limit=plan.limit))
    return Shown([about, "", *table(names, rows)], [plot] if any(points.values()) else [])


SAME = (
    ("Cobra", "cobra", "strong-session-ser", 10_000),
    ("Viper", "viper", "strong-session-si", 10_000),
    ("PolySI", "polysi", "strong-session-si", 10_000),
    ("PolySI", "polysi", "strong-session-si", 50_000),
    ("Emme", "emme", "strong-session-ser", 10_000),
)


def same(plan: Plan) -> Shown:
    """Each earlier checker's encoding here, and the checker itself, if there is an executable."""
    rows, labels, origin, ours = [], [], [], []
    for title, encoding, level, paper in SAME:
        size = plan.size(paper, paper // 20)
        trace: History | Path = blindw(size) if encoding != "emme" else versioned(size)
        found = plan.phases(trace, Way(level, "clingo", PASSES, encoding))
        missing = plan.checkers.missing(title)
        if missing:
            theirs, shown = f"{NOT_HERE} {missing}", "not here"
        else:
            path = trace if isinstance(trace, Path) else stored(trace)
            answer = plan.checked_by(title, path, level, f"BlindW {size}")
            theirs, shown = seconds(answer, plan.limit), bar(answer, plan.limit)
        rows.append(
            [f"{title} ({paper // 1000}K)", f"{size:,}", level, PICTURE, theirs, seconds(found, plan.limit)]
        )
        labels.append(f"{title} ({size:,})")
        origin.append(shown)
        ours.append(bar(found, plan.limit))
    names = (
        "encoding, as in the paper",
        "transactions here",
        "level",
        "paper",
        "the original, CPU s",
        "here, CPU s",
    )
    series = {"here": ours, "the original": origin}
    alt = "seconds of earlier encodings, the original and here"
    about = (
        "All passes, clingo. Emme's load here is BlindW with each version's place told, as Emme reads it off the "
        "database; the paper's is RandomRMWRange."
    )
    plot = Plot("same-encodings", alt, lambda p: bars(p, labels, series, "CPU seconds"))
    noted = plan.checkers.noted(dict.fromkeys(title for title, *_ in SAME))
    return Shown([about, "", *table(names, rows), *noted], [plot])

"""Figures about encodings: Viper's and PolySI's on one back end, and earlier encodings here beside the originals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from earlier_checkers import versioned
from phases import Way
from simulate import BLINDW, History, stored

from evaluation.figure import NOT_HERE, PICTURE, Plot, Shown, bar, seconds, table, value
from evaluation.passes import PASSES
from evaluation.plan import Plan
from evaluation.plots import bars, lines

FAIR = (10_000, 20_000, 40_000, 80_000)


def blindw(size: int) -> History:
    """BlindW-C, with as many keys for a transaction as in the paper's figure on passes: 2,000 for 10,000."""
    return replace(BLINDW, transactions=size, keys=max(3, size // 5), sessions=32)


def fair(plan: Plan) -> Shown:
    sizes = [plan.size(n, n // 40) for n in FAIR]
    columns = {"Viper's": "viper", "PolySI's": "polysi", "Boomslang's own": None}
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in (*columns, "native engine")}
    rows = []
    for size in sizes:
        cells = [f"{size:,}", PICTURE]
        for name, encoding in columns.items():
            found = plan.phases(blindw(size), Way("strong-session-si", "clingo", PASSES, encoding))
            cells.append(seconds(found, plan.limit))
            if (took := value(found)) is not None:
                points[name].append((size, took))
        native = plan.phases(blindw(size), Way("strong-session-si"))
        cells.append(seconds(native, plan.limit))
        if (took := value(native)) is not None:
            points["native engine"].append((size, took))
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
        "all passes, clingo. The native engine takes no encoding and stands there as a scale."
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
    return Shown([about, "", *table(names, rows)], [plot])

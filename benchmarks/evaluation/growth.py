"""Figures on growth: time over superpositions, time and memory over transactions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from phases import Way
from run import slope
from simulate import BLINDW

from evaluation.figure import PICTURE, Plot, Shown, megabytes, seconds, table, value
from evaluation.passes import PASSES
from evaluation.plan import Plan
from evaluation.plots import lines

SIZES = (2_500, 5_000, 10_000, 20_000, 40_000, 80_000)
PAPERS = 10_000
"""The least that the paper has; the smaller ones are for back ends that end only there within a short limit."""
LEVELS = ("ser", "si", "rc")


def superpositions(plan: Plan) -> Shown:
    """Fewer keys for the same transactions make more superpositions."""
    size = plan.size(4_000, 500)
    rows = []
    points: dict[str, list[tuple[float, float]]] = {"clingo, all passes": [], "native engine": []}
    for share in (1, 2, 4, 8, 16):
        history = replace(BLINDW, transactions=size, keys=max(3, size // share), sessions=32)
        found = plan.phases(history, Way("ser", "clingo", PASSES))
        native = plan.phases(history, Way("ser"))
        count = (found or {}).get("superpositions", 0)
        left = f"{(found or {}).get('left', 0):,}"
        rows.append(
            [
                f"{history.keys:,}",
                f"{count:,}",
                left,
                PICTURE,
                seconds(found, plan.limit),
                seconds(native, plan.limit),
            ]
        )
        for name, answer in zip(points, (found, native), strict=True):
            if count and (took := value(answer)) is not None:
                points[name].append((count, took))
    grown = points["clingo, all passes"]
    exponent = (
        f"The exponent of clingo's time over superpositions is {slope(grown):.2f} (1 is linear)."
        if len(grown) > 1
        else ""
    )
    about = f"BlindW, {size:,} transactions, 32 sessions, serializable; fewer keys make more superpositions. {exponent}"
    names = ("keys", "superpositions", "left by the passes", "paper", "clingo, CPU s", "native engine, CPU s")
    plot = Plot(
        "superpositions",
        "CPU seconds over superpositions",
        lambda path: lines(path, points, "superpositions", "CPU seconds", limit=plan.limit),
    )
    return Shown([about, "", *table(names, rows)], [plot] if any(points.values()) else [])


def _cells(plan: Plan) -> list[tuple[int, str, str, dict[str, Any] | None]]:
    """Size, level, who, and what came of it."""
    found = []
    smaller: dict[tuple[str, str], dict[str, Any] | None] = {}
    for paper in SIZES:
        size = plan.size(paper, paper // 20)
        history = replace(BLINDW, transactions=size, sessions=32)
        for level in LEVELS:
            for who, way in (("native engine", Way(level)), ("clingo", Way(level, "clingo", PASSES))):
                answer = plan.phases(history, way, smaller=smaller.get((level, who)))
                smaller[level, who] = answer
                found.append((size, level, who, answer))
    return found


ABOUT = (
    "BlindW with 10,000 keys, 32 sessions, of a serializable database. *clingo* is the eager pipeline, all passes; "
    "*skipped* is what was over the limit at a smaller size."
)


def time(plan: Plan) -> Shown:
    return _shown(plan, "scaling", "CPU s", lambda answer: seconds(answer, plan.limit), value)


def memory(plan: Plan) -> Shown:
    def peak(answer: dict[str, Any] | None) -> float | None:
        return float(answer["megabytes"]) if value(answer) is not None and answer is not None else None

    def shown(answer: dict[str, Any] | None) -> str:
        return megabytes(answer) if value(answer) is not None else seconds(answer, plan.limit)

    return _shown(plan, "memory", "MB", shown, peak)


def _shown(plan: Plan, name: str, unit: str, word: Any, number: Any) -> Shown:
    cells = _cells(plan)
    columns = [(level, who) for who in ("native engine", "clingo") for level in LEVELS]
    rows = []
    for size, paper in zip(dict.fromkeys(size for size, *_ in cells), SIZES, strict=False):
        by = {(level, who): answer for n, level, who, answer in cells if n == size}
        rows.append(
            [f"{size:,}", PICTURE if paper >= PAPERS else "", *(word(by[column]) for column in columns)]
        )
    plots = []
    for who in ("native engine", "clingo"):
        points = {
            level.upper(): [
                (n, found)
                for n, asked, w, a in cells
                if (asked, w) == (level, who) and (found := number(a)) is not None
            ]
            for level in LEVELS
        }
        if not any(points.values()):
            continue
        alt = f"{unit} over transactions: SER, SI and RC, {who}"
        limit = plan.limit if unit == "CPU s" and who == "clingo" else None
        plots.append(
            Plot(
                f"{name}-{who.split()[0]}",
                alt,
                lambda path, points=points, who=who, limit=limit: lines(  # type: ignore[misc]
                    path, points, "transactions", f"{unit}, {who}", limit=limit
                ),
            )
        )
    names = ("transactions", "paper", *(f"{who} {level.upper()}, {unit}" for level, who in columns))
    return Shown([ABOUT, "", *table(names, rows)], plots)

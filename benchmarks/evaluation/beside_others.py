"""Figures beside other checkers: Cobra at serializability, Viper and PolySI at SI, Elle on lists, and whoever is there.

The traces are recorded from PostgreSQL with CobraBench's loads and an id in each value that is written, as the paper's
are. Whose executable is not there has
"not here" in its column; our own columns need nobody.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import peers
from simulate import BLINDW

from evaluation.checkers import NAMES
from evaluation.figure import (
    NOT_HERE,
    NOT_MEASURED,
    PICTURE,
    Plot,
    Shown,
    bar,
    megabytes,
    seconds,
    table,
    value,
)
from evaluation.plan import Plan, Recording
from evaluation.plots import bars, lines

COBRABENCH = (("BlindW-C", "blindw-rw"), ("RUBiS", "rubis"), ("Twitter", "twitter"), ("TPC-C", "tpcc"))
SI_PAPER = {
    ("RUBiS", "Boomslang"): "78.9",
    ("RUBiS", "PolySI"): "109.4",
    ("RUBiS", "Viper"): "over 600",
    ("Twitter", "Boomslang"): "117.2",
    ("Twitter", "PolySI"): "234.6",
    ("Twitter", "Viper"): "over 600",
    ("BlindW-C", "Viper"): "over 600",
    ("TPC-C", "Boomslang"): "out of memory",
    ("TPC-C", "PolySI"): "out of memory",
}


def _beside(
    plan: Plan,
    name: str,
    size: int,
    database: tuple[str, str],
    level: str,
    others: tuple[str, ...],
    paper: dict[Any, str],
) -> Shown:
    rows, labels = [], []
    series: dict[str, list[Any]] = {"Boomslang": [], **{other: [] for other in others}}
    for title, workload in COBRABENCH:
        recording = Recording(*database, workload, size, tagged=True)
        found = plan.recorded(recording, level)
        row = [title, *(paper.get((title, who), PICTURE) for who in series)]
        if found is None or found.get("problem"):
            told = NOT_MEASURED if found is None else f"{NOT_HERE} {database[0]}: {found['problem']}"
            rows.append([*row, "", told, *[""] * (2 + len(others))])
            continue
        row += [f"{found['transactions']:,}", found["status"], seconds(found, plan.limit), megabytes(found)]
        labels.append(title)
        series["Boomslang"].append(bar(found, plan.limit))
        for other in others:
            missing = plan.checkers.missing(other)
            answer = None if missing else plan.checked_by(other, recording, level, title)
            row.append(f"{NOT_HERE} {missing}" if missing else _told(answer, plan))
            series[other].append("not here" if missing else bar(answer, plan.limit))
        rows.append(row)
    names = ["workload", *(f"paper: {who} s" for who in series), "txns", "verdict", "Boomslang, CPU s", "MB"]
    names += [f"{other}, CPU s" for other in others]
    plot = Plot(
        name, f"CPU seconds of {', '.join(series)}", lambda path: bars(path, labels, series, "CPU seconds")
    )
    about = (
        "Recorded on PostgreSQL, 24 sessions; each value that is written has an id of its own, as Cobra's library "
        "gives it one. *cannot be asked* says what of the trace the checker's format has no words for."
    )
    told = [about, "", *table(names, rows), *plan.checkers.noted(others)]
    return Shown(told, [plot] if labels else [])


def _told(answer: dict[str, Any] | None, plan: Plan) -> str:
    if answer is None:
        return NOT_MEASURED
    return (
        f"{seconds(answer, plan.limit)} {answer['status']}"
        if value(answer) is not None
        else seconds(answer, plan.limit)
    )


def cobra(plan: Plan) -> Shown:
    size = plan.size(10_000)
    return _beside(plan, "cobra", size, ("postgres", "serializable"), "strong-session-ser", ("Cobra",), {})


def si(plan: Plan) -> Shown:
    size = plan.size(50_000, 1_000)
    others = ("Viper", "PolySI")
    return _beside(
        plan, "si-checkers", size, ("postgres", "repeatable read"), "strong-session-si", others, SI_PAPER
    )


def elle(plan: Plan) -> Shown:
    """Checking time over the time for which the history was collected."""
    rows = []
    points: dict[str, list[tuple[float, float]]] = {
        "Boomslang": [],
        "Elle's encoding here (clingo)": [],
        "Elle": [],
    }
    missing = plan.checkers.missing("Elle")
    for took in (2.0, 4.0) if plan.quick else (5.0, 10.0, 20.0, 40.0):
        took /= plan.divide
        recording = Recording("postgres", "serializable", "list-append", 1_000_000, seconds=took)
        found = plan.recorded(recording, "ser")
        if found is None or found.get("problem"):
            told = NOT_MEASURED if found is None else f"{NOT_HERE} PostgreSQL: {found['problem']}"
            rows.append([f"{took:g}", PICTURE, "", told, "", ""])
            continue
        encoded = plan.recorded(recording, "ser", "--encoding", "elle", "--solver", "clingo")
        theirs = None if missing else plan.checked_by("Elle", recording, "ser", "lists")
        rows.append(
            [
                f"{took:g}",
                PICTURE,
                f"{found['transactions']:,}",
                _told(found, plan),
                _told(encoded, plan)
                if not (encoded or {}).get("problem")
                else str((encoded or {})["problem"]),
                f"{NOT_HERE} {missing}" if missing else _told(theirs, plan),
            ]
        )
        for name, answer in zip(points, (found, encoded, theirs), strict=True):
            if (checked := value(answer)) is not None:
                points[name].append((found["collected"], checked))
    names = (
        "collected for s",
        "paper",
        "transactions",
        "Boomslang, CPU s",
        "Elle's encoding here, CPU s",
        "Elle, CPU s",
    )
    shown = {name: each for name, each in points.items() if each}
    alt = "CPU seconds of checking over seconds of collecting"
    plot = Plot(
        "elle", alt, lambda p: lines(p, shown, "seconds of collecting", "CPU seconds of checking", log=False)
    )
    about = "Jepsen's ListAppend with 24 sessions on PostgreSQL, serializable."
    return Shown([about, "", *table(names, rows), *plan.checkers.noted(["Elle"])], [plot] if shown else [])


def everybody(plan: Plan) -> Shown:
    """Every checker that is there, at each of its levels, on BlindW; and which are not."""
    rows, labels, theirs, ours = [], [], [], []
    size = plan.size(10_000)
    for name in NAMES:
        missing = plan.checkers.missing(name)
        if missing:
            rows.append([name, "", "", f"{NOT_HERE} {missing}", "", "", "", "", ""])
            continue
        tool = plan.checkers.tool(name)
        if name == "Elle":
            rows.append([name, "ser", "", "on lists: see above", "", "", "", "", ""])
            continue
        for level in tool.levels:
            promise = "si" if tool.timed and level == "si" else "ser"
            history = replace(BLINDW, level=promise, transactions=size, times=tool.timed)
            path = peers.committed(history)
            answer = plan.checked_by(name, path, level, path.stem)
            same = plan.converted(name, path) if plan.measure else path
            mine = plan.check(
                same if isinstance(same, Path) else path, f"{path.stem} {tool.format}", level, *tool.ours
            )
            rows.append(
                [
                    name,
                    level,
                    f"{size:,}",
                    (answer or {}).get("status", NOT_MEASURED),
                    seconds(answer, plan.limit),
                    megabytes(answer),
                    (mine or {}).get("status", NOT_MEASURED),
                    seconds(mine, plan.limit),
                    megabytes(mine),
                ]
            )
            labels.append(f"{name}, {level}")
            theirs.append(bar(answer, plan.limit))
            ours.append(bar(mine, plan.limit))
    names = ("checker", "level", "transactions", "its verdict", "CPU s", "MB", "ours", "CPU s", "MB")
    about = (
        "Executables are named in a file: `make reproduce CHECKERS=FILE` (see `benchmarks/checkers.toml`). Both read "
        "the trace in the checker's own format, BlindW of a simulated database with 24 sessions. "
        "[More sizes](benchmarks-peers.md)."
    )
    series = {"Boomslang": ours, "the other": theirs}
    plots = [
        Plot(
            "others",
            "CPU seconds of other checkers and of this",
            lambda p: bars(p, labels, series, "CPU seconds"),
        )
    ]
    noted = plan.checkers.noted(NAMES)
    return Shown([about, "", *table(names, rows), *noted], plots if labels else [])

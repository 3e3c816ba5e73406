"""The page that a hunt ends with: what was tried, how near it came, and what was found.

It has no script at all: headings, plots as SVG, a table and the stories as text (see frame.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boomslang.report.frame import counted, facts, items, static_page, text
from boomslang.report.plots import BOTTOM, HEIGHT, TOP, figure, number, x_of, y_of
from boomslang.run.hunt import Hunted, Tried
from boomslang.run.near_misses import NearMisses
from boomslang.verdict import INVALID, UNKNOWN
from boomslang.workloads import find_workload
from boomslang.workloads.workload import UNIQUE

ROWS = 500
"""Of the table, at most: the others are in the JSON."""
OPEN = 3
"""Stories that are open; the others are a click away."""
SETTINGS = ("keys", "ops", "values", "distribution", "reads", "appends", "width", "pause")


def write_hunt_page(
    path: str | os.PathLike[str], hunted: Hunted, about: Mapping[str, str], level: str
) -> None:
    """Writes it. `about`: what was hunted, and with what; `level`: what was to be broken."""
    Path(path).write_text(hunt_page(hunted, about, level), encoding="utf-8")


def hunt_page(hunted: Hunted, about: Mapping[str, str], level: str) -> str:
    broken = hunted.of(INVALID)
    answer = (
        f'<p class="answer bad">{text(level)} is broken: {counted(len(broken), "run")} of {hunted.runs:,}</p>'
        if broken
        else f'<p class="answer">no violation of {text(level)} found. That is no proof.</p>'
    )
    ran = f"{hunted.runs:,} in {hunted.seconds:,.0f} s, {hunted.committed:,} commits in those checked"
    body = [
        '<h1 class="page">A hunt</h1>',
        answer,
        *facts({**about, "Runs": ran}),
        *_findings(hunted),
        *_plots(hunted.tried),
        *_table(hunted.tried),
        *items("Problems", hunted.problems, kind="card note"),
    ]
    return static_page("A hunt", about.get("Database", ""), body)


def _findings(hunted: Hunted) -> list[str]:
    lines = []
    for place, quarry in enumerate(hunted.of(INVALID)):
        lines += [
            '<section class="card proof">',
            f"<h2>{text(quarry.reason or 'an anomaly without a name')}</h2>",
            f'<p class="where">{text(quarry.trace)}: {text(settings(quarry.about))}</p>',
        ]
        if quarry.story:
            story = (
                '<pre tabindex="0" role="region" aria-label="The story">'
                + "\n".join(map(text, quarry.story))
                + "</pre>"
            )
            lines.append(story if place < OPEN else f"<details><summary>why</summary>{story}</details>")
        lines.append("</section>")
    return lines


# --- plots


def _plots(tried: Sequence[Tried]) -> list[str]:
    if not tried:
        return []

    def rate(name: str) -> list[float]:
        return [each.about[name] / max(each.about["seconds"], 0.1) for each in tried]

    near = [
        0.0 if each.near is None else each.near.dangerous / max(each.about["seconds"], 0.1) for each in tried
    ]
    curves = (
        ("Commits a second", rate("committed")),
        ("Aborts a second", rate("aborted")),
        ("Near misses a second", near),
    )
    return [
        '<section aria-label="Runs over time" class="plots">',
        *(_plot(title, tried, values) for title, values in curves),
        "</section>",
    ]


def _plot(title: str, tried: Sequence[Tried], values: Sequence[float]) -> str:
    """A stroke for each run, from its beginning to its end, at its height."""
    end = max(each.began + each.about["seconds"] for each in tried) or 1.0
    top = max(values) or 1.0
    marks = []
    for each, value in zip(tried, values, strict=True):
        low, high, at = (
            x_of(each.began / end),
            x_of((each.began + each.about["seconds"]) / end),
            y_of(value / top),
        )
        kind = each.status if each.status in (INVALID, UNKNOWN) else "run"
        marks.append(
            f'<line class="{kind}" x1="{low}" x2="{max(high, low + 2)}" y1="{at}" y2="{at}">'
            f"<title>run {each.number}: {value:,.1f}</title></line>"
        )
        for seconds, what in _faults(each):
            at_x = x_of((each.began + seconds) / end)
            marks.append(
                f'<line class="fault" x1="{at_x}" x2="{at_x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}">'
                f"<title>run {each.number}: {text(what)}</title></line>"
            )
    return figure(title, f"at most {top:,.1f}", marks, top=number(top), end=f"{end:,.0f} s")


def _faults(tried: Tried) -> list[tuple[float, str]]:
    """Those of a run that have a time: seconds after its beginning, and what happened."""
    found = []
    for made in tried.about.get("made_faults", ()):
        seconds, _, what = str(made).partition(" s: ")
        if what:
            found.append((float(seconds), what))
    return found


# --- the table


def settings(about: Mapping[str, Any]) -> str:
    """What can vary of a run, in a line."""
    workload = find_workload(about["workload"])
    named = {"keys": workload.keys_are, "ops": "operations", "values": "values"}
    said = [f"{about['sessions']} sessions"]
    for name in SETTINGS:
        if name in workload.uses:
            value = "new" if (name, about[name]) == ("values", UNIQUE) else about[name]
            said.append(f"{value} {named[name]}" if name in named else f"{name} {value}")
    said += [f"{name}={value}" for name, value in about["options"].items() if name != "durable"]
    said += [f"{name}={value}" for name, value in about.get("settings", {}).items()]
    if others := about.get("others_at"):
        said.append(f"every other session at {others}")
    said.append(f"seed {about['seed']}")
    if made := about.get("made_faults"):
        said.append(f"faults: {', '.join(map(str, made))}")
    return ", ".join(said)


def _table(tried: Sequence[Tried]) -> list[str]:
    head = (
        "run",
        "settings",
        "commits",
        "aborts",
        "unknown",
        "seconds",
        "overwritten",
        "dangerous",
        "births",
        "passed",
        "answer",
    )
    rows = []
    for each in tried[:ROWS]:
        about, near = each.about, each.near
        cells: list[Any] = [
            each.number,
            settings(about),
            about["committed"],
            about["aborted"],
            about["unknown"],
        ]
        cells += [f"{about['seconds']:.1f}"]
        cells += [""] * len(NearMisses._fields) if near is None else [*near]
        cells.append(f"{each.status}: {each.reason}" if each.reason else each.status)
        rows.append("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in cells) + "</tr>")
    left = len(tried) - len(rows)
    return [
        '<section class="card"><h2>Runs</h2>',
        '<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table class="runs">',
        "<thead><tr>" + "".join(f'<th scope="col">{name}</th>' for name in head) + "</tr></thead><tbody>",
        *rows,
        "</tbody></table></div>",
        f'<p class="hint">{left:,} more runs are not shown; --json has all.</p>' if left > 0 else "",
        '<p class="hint">overwritten: pairs of a reader and a writer that overwrote what it had read while it was '
        "still at work. dangerous: transactions with one such pair on either side. births: such pairs with a key "
        "that was not there before. passed: such pairs whose writer was overwritten in turn, while the reader was "
        "still at work.</p></section>",
    ]

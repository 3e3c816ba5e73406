"""The page that a hunt ends with: what was tried, how near it came, and what was found.

It has no script at all: headings, plots as SVG, a table and the stories as text. Whatever comes from a trace or a
database is escaped here, where it becomes a part of the page, and the security policy allows the two style sheets and
nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import boomslang
from boomslang.report.page import asset, hash_of
from boomslang.report.values import printable
from boomslang.run.hunt import Hunted, Tried
from boomslang.verdict import INVALID, UNKNOWN
from boomslang.workloads import find_workload
from boomslang.workloads.workload import UNIQUE

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 150, 64, 22
"""Of a plot, in its own units; and of its margins."""
ROWS = 500
"""Of the table, at most: the others are in the JSON."""
OPEN = 3
"""Stories that are open; the others are a click away."""
SETTINGS = ("keys", "ops", "values", "distribution", "reads", "appends", "width")


def write_hunt_page(
    path: str | os.PathLike[str], hunted: Hunted, about: Mapping[str, str], level: str
) -> None:
    """Writes it. `about`: what was hunted, and with what; `level`: what was to be broken."""
    Path(path).write_text(hunt_page(hunted, about, level), encoding="utf-8")


def hunt_page(hunted: Hunted, about: Mapping[str, str], level: str) -> str:
    styles = [asset("page.css"), asset("hunt.css")]
    policy = f"default-src 'none'; style-src {' '.join(repr(hash_of(style)) for style in styles)}"
    broken = hunted.of(INVALID)
    answer = (
        f'<p class="answer bad">{_text(level)} is broken: {_count(len(broken), "run")} of {hunted.runs:,}</p>'
        if broken
        else f'<p class="answer">no violation of {_text(level)} found. That is no proof.</p>'
    )
    facts = {
        **about,
        "Runs": f"{hunted.runs:,} in {hunted.seconds:,.0f} s, {hunted.committed:,} commits in those checked",
    }
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f'<meta name="generator" content="Boomslang {_text(boomslang.__version__)}">',
            "<title>A hunt · Boomslang</title>",
            *(f"<style>{style}</style>" for style in styles),
            '</head><body><header class="top"><span class="brand">Boomslang</span></header><main>',
            "<h1>A hunt</h1>",
            answer,
            '<dl class="card">',
            *(f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in facts.items()),
            "</dl>",
            *_findings(hunted),
            *_plots(hunted.tried),
            *_table(hunted.tried),
            *(['<section class="card note"><h2>Problems</h2><ul>'] if hunted.problems else []),
            *(f"<li>{_text(problem)}</li>" for problem in hunted.problems),
            *(["</ul></section>"] if hunted.problems else []),
            "</main></body></html>",
        ]
    )


def _text(said: object) -> str:
    return escape(printable(str(said)))


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _findings(hunted: Hunted) -> list[str]:
    lines = []
    for number, quarry in enumerate(hunted.of(INVALID)):
        lines += [
            '<section class="card proof">',
            f"<h2>{_text(quarry.reason or 'an anomaly without a name')}</h2>",
            f'<p class="where">{_text(quarry.trace)}: {_text(settings(quarry.about))}</p>',
        ]
        if quarry.story:
            story = "<pre>" + "\n".join(map(_text, quarry.story)) + "</pre>"
            lines.append(story if number < OPEN else f"<details><summary>why</summary>{story}</details>")
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
    across, up = WIDTH - LEFT - 8, HEIGHT - BOTTOM - 8

    def x(seconds: float) -> float:
        return round(LEFT + across * seconds / end, 1)

    marks = []
    for each, value in zip(tried, values, strict=True):
        low, high, at = (
            x(each.began),
            x(each.began + each.about["seconds"]),
            round(8 + up * (1 - value / top), 1),
        )
        kind = each.status if each.status in (INVALID, UNKNOWN) else "run"
        marks.append(
            f'<line class="{kind}" x1="{low}" x2="{max(high, low + 2)}" y1="{at}" y2="{at}">'
            f"<title>run {each.number}: {value:,.1f}</title></line>"
        )
        for seconds, what in _faults(each):
            at_x = x(each.began + seconds)
            marks.append(
                f'<line class="fault" x1="{at_x}" x2="{at_x}" y1="8" y2="{HEIGHT - BOTTOM}">'
                f"<title>run {each.number}: {_text(what)}</title></line>"
            )
    return (
        f'<figure class="card"><figcaption>{title}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}: at most {top:,.1f}">'
        f'<path class="axis" d="M{LEFT} 8V{HEIGHT - BOTTOM}H{WIDTH - 8}"/>'
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{top:,.4g}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM}" text-anchor="end">0</text>'
        f'<text x="{WIDTH - 8}" y="{HEIGHT - 6}" text-anchor="end">{end:,.0f} s</text>'
        f"{''.join(marks)}</svg></figure>"
    )


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
        cells += ["", ""] if near is None else [near.overwritten, near.dangerous]
        cells.append(f"{each.status}: {each.reason}" if each.reason else each.status)
        rows.append("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>")
    left = len(tried) - len(rows)
    return [
        '<section class="card"><h2>Runs</h2><div class="scroll" tabindex="0" role="region" aria-label="Runs"><table>',
        "<thead><tr>" + "".join(f'<th scope="col">{name}</th>' for name in head) + "</tr></thead><tbody>",
        *rows,
        "</tbody></table></div>",
        f'<p class="hint">{left:,} more runs are not shown; --json has all.</p>' if left > 0 else "",
        '<p class="hint">overwritten: pairs of a reader and a writer that overwrote what it had read while it was '
        "still at work. dangerous: transactions with one such pair on either side.</p></section>",
    ]

"""Verdicts, traces and explanations as a notebook shows them: the report's graph and timeline, small and still.

A notebook puts our HTML between other people's, so there is no script, no style sheet and no id: each shape carries its
own attributes. Whether the page is light or dark is not ours to know: text and lines have the colour of the text around
them, and what is filled is half transparent. Whatever comes from a trace is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from boomslang.report.figures import size
from boomslang.report.story import Story
from boomslang.report.times import Axis
from boomslang.report.transaction_summary import glance
from boomslang.report.values import Values, printable
from boomslang.trace.model import Outcome, Trace
from boomslang.verdict import INVALID, VALID, Verdict

if TYPE_CHECKING:
    from boomslang.explain.counterexample import Counterexample

TRANSACTIONS = 12
"""That a timeline shows."""
NODES = 10
"""That a graph shows."""
LINES = 30
"""Of a story."""
LANE, BOX, NAMES, LETTER, ROOM = 46, 20, 96, 6.4, 560
"""Of a timeline: the height of a lane and of an operation, the widths of names, of a letter, and of all at least."""
COLOURS = {
    "wr": ("#2e9a62", ""), "ww": ("#4a86d8", "11 4"), "rw": ("#dc5a50", "6 4"), "pwr": ("#22939e", "1.5 4"),
    "prw": ("#c2619a", "9 3 2 3"), "so": ("#828c86", "2 6"), "rt": ("#9270d0", "14 4 2 4"),
    "other": ("#a8803a", "4 2 1 2"),
}  # fmt: skip
"""Of each kind of edge, a colour that stands out from white and from black, and the dash that graph.js gives it."""
FILLS = {"read": "#2e9a62", "write": "#4a86d8", "other": "#828c86"}
SIGNS = {"valid": ("✓", "#2e9a62"), "invalid": ("✗", "#dc5a50"), "unknown": ("?", "#b98218")}
FONT = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"

Json = dict[str, Any]
Point = tuple[float, float]


def verdict_html(verdict: Verdict) -> str:
    sign, colour = SIGNS[verdict.status]
    word = "INVALID" if verdict.status == INVALID else verdict.status
    because = f": {verdict.reason}" if verdict.reason else ""
    head = (
        f'<p style="margin:0 0 4px"><strong style="color:{colour}">{sign} {word}</strong> '
        f"<strong>{_text(verdict.title)}</strong>{_text(because)}</p>"
    )
    notes = "".join(f'<p style="margin:0;opacity:0.8">{_text(note)}</p>' for note in verdict.notes)
    about = f'<p style="margin:0;opacity:0.8">{_text(size(verdict.trace))}</p>'
    shown = ""
    if verdict.status == VALID and verdict.witness is not None:
        shown = '<p style="margin:0;opacity:0.8">An order of all transactions was found that shows it.</p>'
    elif verdict.counterexample is not None:
        shown = _told(verdict, verdict.counterexample)
    return _whole(head + about + notes + shown)


def counterexample_html(found: Counterexample) -> str:
    """Told for the weakest level that it breaks: it breaks all that are stronger too."""
    from boomslang.levels import minimal

    broken = minimal(found.rules_out)
    if not broken:
        return _whole(_story(found))
    return _whole(_told(Verdict(found.trace, broken[0], INVALID, counterexample=found), found))


def trace_html(trace: Trace) -> str:
    lost = [
        f"{n:,} {word}"
        for outcome, word in ((Outcome.ABORTED, "aborted"), (Outcome.UNKNOWN, "of unknown outcome"))
        if (n := int((trace.txn_outcome == outcome).sum()))
    ]
    said = ", ".join([size(trace), f"{len(trace.keys):,} keys", *lost])
    head = f'<p style="margin:0 0 4px"><strong>Trace</strong> {_text(said)}</p>'
    views = [glance(trace, t) for t in range(min(TRANSACTIONS, len(trace)))]
    axis, values = Axis(trace, views), Values(trace)
    made = []
    for view in views:
        one = values.transaction(view, "core", set())
        for operation in one["operations"]:
            operation["matters"] = True
        axis.place(view, one)
        made.append(one)
    left = len(trace) - len(views)
    more = f'<p style="margin:0;opacity:0.8">and {left:,} more transactions</p>' if left else ""
    return _whole(head + _timeline(made) + more)


def _told(verdict: Verdict, found: Counterexample) -> str:
    """The story in words, the cycle as a graph, and the timeline."""
    story = Story(verdict, [verdict.title], "notebook", Values(verdict.trace)).to_json()
    drawn = story["likely"] or story
    cycle: list[str] = next((leaf["cycle"] for leaf in drawn["leaves"] if leaf["cycle"]), [])
    pictures = _graph(drawn, cycle) + _timeline(drawn["transactions"][:TRANSACTIONS])
    return pictures + _story(found)


def _story(found: Counterexample) -> str:
    lines = list(found.lines())
    more = [f"... and {len(lines) - LINES:,} more lines"] if len(lines) > LINES else []
    told = "\n".join(_text(line) for line in [*lines[:LINES], *more])
    return (
        '<pre style="white-space:pre-wrap;overflow-wrap:anywhere;margin:6px 0 0;padding:0;background:none;'
        f'color:inherit;font-size:12px">{told}</pre>'
    )


def _text(said: object) -> str:
    return escape(printable(str(said)))


def _whole(inside: str) -> str:
    return f'<div style="{FONT}">{inside}</div>'


def _svg(width: float, height: float, label: str, inside: Iterable[str]) -> str:
    return (
        f'<div style="overflow-x:auto;max-width:100%"><svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{_text(label)}" '
        f'style="display:block;margin:6px 0" font-family="ui-monospace,monospace" fill="currentColor">'
        f"{''.join(inside)}</svg></div>"
    )


# --- the graph


def _graph(story: Json, cycle: Sequence[str]) -> str:
    """The transactions of the cycle on a ring, and its edges."""
    known = {edge["id"]: edge for edge in story["edges"]}
    edges = [known[e] for e in cycle if e in known and known[e]["source"] != known[e]["target"]]
    names = list(dict.fromkeys(end for edge in edges for end in (edge["source"], edge["target"])))
    if not edges or len(names) > NODES:
        return ""
    width, height = (440.0, 150.0) if len(names) == 2 else (600.0, 260.0)
    side = 60 if len(names) == 2 else 130  # labels stand outside the ring
    at = {
        name: (
            width / 2 - (width / 2 - side) * math.cos(2 * math.pi * n / len(names)),
            height / 2 - (height / 2 - 34) * math.sin(2 * math.pi * n / len(names)),
        )
        for n, name in enumerate(names)
    }
    shapes = [_edge(edge, at[edge["source"]], at[edge["target"]], (width / 2, height / 2)) for edge in edges]
    for name, (x, y) in at.items():
        shapes.append(
            f'<rect x="{x - 28:.1f}" y="{y - 14:.1f}" width="56" height="28" rx="7" fill="currentColor" '
            f'fill-opacity="0.08" stroke="currentColor"/><text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" '
            f'font-size="13" font-weight="700">{_text(name)}</text>'
        )
    around = ", ".join(f"{e['source']} to {e['target']} by {e['word']}" for e in edges)
    return _svg(width, height, f"A cycle of {len(names)} transactions: {around}", shapes)


def _edge(edge: Json, a: Point, b: Point, centre: Point) -> str:
    """A bow to the left of its direction, so that an edge and its contrary make a lens."""
    colour, dash = COLOURS[edge["kind"]]
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = math.hypot(dx, dy) or 1.0
    bow = 0.22 * length
    middle = ((a[0] + b[0]) / 2 + dy / length * bow, (a[1] + b[1]) / 2 - dx / length * bow)
    start, end = _edge_of_box(a, middle), _edge_of_box(b, middle)
    back = math.atan2(middle[1] - end[1], middle[0] - end[0])
    wings = " ".join(
        f"{end[0] + 10 * math.cos(back + turn):.1f},{end[1] + 10 * math.sin(back + turn):.1f}"
        for turn in (-0.4, 0.4)
    )
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    label = edge["word"] if edge["key"] is None else f"{edge['word']} {edge['key']}"
    spot = (0.25 * (start[0] + end[0]) + 0.5 * middle[0], 0.25 * (start[1] + end[1]) + 0.5 * middle[1])
    aside = spot[0] - centre[0]
    anchor = "middle" if abs(aside) < 40 else "start" if aside > 0 else "end"
    x = spot[0] + {"middle": 0, "start": 8, "end": -8}[anchor]
    y = spot[1] + (-6 if spot[1] < centre[1] else 14)
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {end[0]:.1f} {end[1]:.1f}" '
        f'fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        f'<polygon points="{end[0]:.1f},{end[1]:.1f} {wings}" fill="{colour}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11">'
        f"{_text(_clip(label, 24))}<title>{_text(edge['text'])}</title></text>"
    )


def _edge_of_box(centre: Point, towards: Point) -> Point:
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    reach = min(30 / abs(dx) if dx else math.inf, 16 / abs(dy) if dy else math.inf, 1.0)
    return centre[0] + dx * reach, centre[1] + dy * reach


def _clip(label: str, longest: int) -> str:
    if len(label) <= longest:
        return label
    tail = (longest - 1) // 2
    return f"{label[: longest - 1 - tail]}…{label[-tail:]}" if tail else label[:longest]


# --- the timeline


def _timeline(transactions: Sequence[Json]) -> str:
    """Lanes of sessions; events are spread evenly, as on the report: what is left of what is right, lengths are not."""
    if not transactions:
        return ""
    lanes: dict[str, list[list[Json]]] = {}
    for t in transactions:
        rows = lanes.setdefault(f"\0{t['id']}" if t["session"] is None else t["session"], [])
        row = next(
            (row for row in rows if all(o["to"] < t["from"] or t["to"] < o["from"] for o in row)), None
        )
        if row is None:
            rows.append([t])
        else:
            row.append(t)
    x = _scale(transactions)
    width = NAMES + max(x.values()) + 24
    shapes, y = [], 4.0
    for name, rows in lanes.items():
        if not name.startswith("\0"):
            middle = y + len(rows) * LANE / 2 + 4
            shapes.append(
                f'<text x="4" y="{middle:.1f}" font-size="11.5" font-weight="600">{_text(_clip(name, 13))}</text>'
            )
        for row in rows:
            for t in row:
                shapes += _bar(t, x, y)
            y += LANE
        shapes.append(f'<path d="M0 {y:.1f}H{width:.0f}" stroke="currentColor" stroke-opacity="0.2"/>')
    return _svg(width, y + 4, f"Timeline of {len(transactions)} transactions in {len(lanes)} lanes", shapes)


def _scale(transactions: Sequence[Json]) -> dict[float, float]:
    """Where each event is drawn: wide enough for what is written beside it."""
    times = {t[side] for t in transactions for side in ("from", "to")}
    operations = [o for t in transactions for o in t["operations"]]
    times |= {o[side] for o in operations for side in ("from", "to")}
    ordered = sorted(times)
    place = {time: n for n, time in enumerate(ordered)}
    gaps = [8.0] * (len(ordered) - 1)
    for o in sorted(operations, key=lambda o: (o["from"], o["to"])):
        begin, end = place[o["from"]], place[o["to"]]
        wanted = len(o["label"]) * LETTER + 12 if o["matters"] else 20.0
        there = sum(gaps[begin:end])
        for n in range(begin, end):
            gaps[n] += max(0.0, wanted - there) / (end - begin)
    stretch = max(1.0, (ROOM - NAMES) / (sum(gaps) or 1.0))
    at, found = 12.0, {ordered[0]: 12.0}
    for gap, (_, time) in zip(gaps, pairwise(ordered), strict=True):
        at += gap * stretch
        found[time] = at
    return found


def _bar(t: Json, x: dict[float, float], y: float) -> list[str]:
    left, right = NAMES + x[t["from"]] - 4, NAMES + x[t["to"]] + 4
    odd = t["outcome"] != "committed"
    dash = ' stroke-dasharray="4 3"' if odd else ""
    name = f"{t['id']} {t['outcome']}" if odd else t["id"]
    shapes = [
        f'<text x="{left:.1f}" y="{y + 11:.1f}" font-size="11" font-weight="700">{_text(name)}</text>'
        f'<rect x="{left:.1f}" y="{y + 15:.1f}" width="{max(12.0, right - left):.1f}" height="{BOX + 6}" rx="6" '
        f'fill="none" stroke="currentColor" stroke-opacity="0.6"{dash}/>'
    ]
    filled = -math.inf
    for o in t["operations"]:
        start = max(NAMES + x[o["from"]], filled + 1)
        wide = max(NAMES + x[o["to"]] - start, 14.0)
        filled = start + wide
        fits = int((wide - 6) / LETTER)
        label = _clip(o["label"], fits) if o["matters"] and fits >= 4 else o["glyph"]
        fill, weight = FILLS[o["does"]], "0.32" if o["matters"] else "0.12"
        shapes.append(
            f'<rect x="{start:.1f}" y="{y + 18:.1f}" width="{wide:.1f}" height="{BOX}" rx="4" fill="{fill}" '
            f'fill-opacity="{weight}" stroke="{fill}"/>'
            f'<text x="{start + wide / 2:.1f}" y="{y + 32:.1f}" text-anchor="middle" font-size="10.5">{_text(label)}'
            f"<title>{_text(t['id'])}: {_text(o['text'])}</title></text>"
        )
    return shapes

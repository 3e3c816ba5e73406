"""Pictures of numbers as SVG and HTML, drawn here and not by a script: curves over time, and bars.

A picture says in words what it shows (`aria-label`), and numbers that matter stand beside it as text. Nothing is said
by colour alone: curves have dashes, bars have their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from boomslang.report.frame import text

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 156, 72, 28
"""Of a plot, in its own units; and of its margins."""
TOP, RIGHT = 8, 8
CLASSES = ("one", "two", "three")

Say = Callable[[float], str]


@dataclass(frozen=True)
class Curve:
    """Values at the same distances from each other; None: there is none, and the curve has a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Band:
    """What happened meanwhile, from here to there: shares of the picture's width."""

    what: str
    begin: float
    end: float


def number(value: float) -> str:
    """Four digits, or all of a larger one: never as a power of ten."""
    return f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"


def x_of(share: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * share, 1)


def y_of(share: float) -> float:
    return round(TOP + (HEIGHT - BOTTOM - TOP) * (1 - share), 1)


def figure(
    title: str, said: str, marks: Iterable[str], *, top: str, end: str, legend: Iterable[str] = ()
) -> str:
    """The frame of a plot: its axes, from 0 to `top` and from 0 to `end`, around what is drawn."""
    return (
        f'<figure class="card"><figcaption><b>{text(title)}</b>{"".join(legend)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(title)}: {text(said)}">'
        f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
        f'<text x="{LEFT - 6}" y="14" text-anchor="end">{text(top)}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT - BOTTOM}" text-anchor="end">0</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{text(end)}</text>'
        f"{''.join(marks)}</svg></figure>"
    )


def curves(
    title: str, lines: Sequence[Curve], *, end: str, say: Say = number, bands: Iterable[Band] = ()
) -> str:
    """Curves that begin at the left end and stop at the right one, `end`."""
    top = max((v for line in lines for v in line.values if v is not None), default=0.0) or 1.0
    marks = [_band(band) for band in bands]
    legend, said = [], []
    for n, line in enumerate(lines):
        kind = CLASSES[n % len(CLASSES)]
        known = [v for v in line.values if v is not None]
        most = say(max(known)) if known else "none"
        marks.append(f'<path class="curve {kind}" d="{_path(line.values, top)}"/>')
        key = f'<svg class="key" viewBox="0 0 22 8" aria-hidden="true"><path class="curve {kind}" d="M0 4H22"/></svg>'
        legend.append(f'<span class="{kind}">{key}{text(line.name)}</span>')
        said.append(f"{line.name}, at most {most}")
    return figure(title, "; ".join(said), marks, top=say(top), end=end, legend=legend)


def _band(band: Band) -> str:
    left, right = x_of(band.begin), x_of(band.end)
    return (
        f'<rect class="fault" x="{left}" y="{TOP}" width="{max(2.0, right - left):.1f}" '
        f'height="{HEIGHT - BOTTOM - TOP}"><title>{text(band.what)}</title></rect>'
    )


def _path(values: Sequence[float | None], top: float) -> str:
    """From the middle of one piece to the middle of the next; a value alone is a short stroke."""
    parts, drawing = [], False
    for n, value in enumerate(values):
        if value is None:
            drawing = False
            continue
        x, y = x_of((n + 0.5) / len(values)), y_of(value / top)
        alone = not drawing and (n + 1 == len(values) or values[n + 1] is None)
        parts.append(f"M{x - 1:g} {y:g}h2" if alone else f"{'L' if drawing else 'M'}{x:g} {y:g}")
        drawing = True
    return "".join(parts)


def bars(title: str, rows: Sequence[tuple[str, float, str]], *, say: Say = number) -> list[str]:
    """A table whose numbers are drawn too: a label, the number, a note."""
    if not rows:
        return []
    top = max(value for _, value, _ in rows) or 1.0
    made = [
        f'<tr><th scope="row">{text(label)}</th><td class="track">{meter(value / top)}</td>'
        f'<td class="number">{text(say(value))}</td><td class="hint">{text(note)}</td></tr>'
        for label, value, note in rows
    ]
    return [
        f'<section class="card"><table class="bars"><caption>{text(title)}</caption><tbody>',
        *made,
        "</tbody></table></section>",
    ]


def meter(share: float, kind: str = "") -> str:
    """A bar of that share of the room there is. A style of its own would be against the page's policy."""
    return (
        '<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect{f" class={kind!r}" if kind else ""} width="{max(0.3, 100 * share):.1f}" height="10" rx="1.5"/></svg>'
    )

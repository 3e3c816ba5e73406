"""Draws lattice.svg: which level implies which, as boomslang.levels derives it. Run by `make docs`.

Two Hasse diagrams stand side by side: the levels that know nothing of sessions, and those that do. A line goes from
each level to those right below it. Lines from the one diagram to the other are left out, for they would all say the
same: `strong-session-X` implies X. Rows are made by the longest chain below a level; columns are chosen by hand, so
that no line runs behind a box.
"""

from __future__ import annotations

from pathlib import Path

from boomslang.levels import LEVELS, Level, find_level, implies, maximal

FILE = Path(__file__).with_name("lattice.svg")
BOX, HEIGHT, ACROSS, DOWN, MARGIN = 226, 34, 240, 76, 16
COLUMN = {
    "rr": 0, "ser": 0, "sser": 0, "cs": 1, "pl-2+": 1, "pl-fcv": 1, "strong-si": 1, "rc": 1.5, "ru": 1.5,
    "ra": 2, "rc-be": 2, "causal": 2, "prefix": 2, "si": 2,
}  # fmt: skip
WIDTH = 3
DARK = "<style>@media (prefers-color-scheme: dark) {#drawing{filter: invert(.89) hue-rotate(180deg)}}</style>"
"""With a card of its own behind it, for the page around it may be light where dark is preferred."""


def weaker(level: Level) -> list[Level]:
    """The levels right below, in the same diagram."""
    alike = [other for other in LEVELS if other.needs_sessions == level.needs_sessions]
    return maximal(other for other in alike if other is not level and implies(level, other))


def row(level: Level) -> int:
    lowest = 1 if level.needs_sessions else 0  # both read committed stand in one row
    return max((1 + row(other) for other in weaker(level)), default=lowest)


def column(level: Level) -> float:
    base = find_level(level.name.removeprefix("strong-session-"))
    return COLUMN.get(base.short, WIDTH) + (WIDTH if level.needs_sessions else 0)


def svg() -> str:
    top = max(map(row, LEVELS))
    place = {
        level.name: (
            MARGIN + BOX / 2 + column(level) * ACROSS,
            MARGIN + HEIGHT / 2 + (top - row(level)) * DOWN,
        )
        for level in LEVELS
    }
    width, height = max(x for x, _ in place.values()) + BOX / 2 + MARGIN, 2 * MARGIN + HEIGHT + top * DOWN
    lines, boxes = [], []
    for level in LEVELS:
        x, y = place[level.name]
        for below in weaker(level):
            to_x, to_y = place[below.name]
            start, end = f'x1="{x:g}" y1="{y + HEIGHT / 2:g}"', f'x2="{to_x:g}" y2="{to_y - HEIGHT / 2:g}"'
            lines.append(f'<line {start} {end} stroke="#888"/>')
        boxes.append(
            f'<rect x="{x - BOX / 2:g}" y="{y - HEIGHT / 2:g}" width="{BOX}" height="{HEIGHT}" rx="6" '
            f'fill="#f6f8fa" stroke="#57606a"/>\n'
            f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{level.title}</text>'
        )
    note = "Each strong session level also implies the one of the same name on the left."
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'font-family="sans-serif" font-size="12" fill="#1f2328">',
            "<title>Which level implies which: each implies those below it that a line leads to</title>",
            DARK,
            f'<g id="drawing"><rect width="{width:g}" height="{height:g}" rx="6" fill="#ffffff"/>',
            *lines,
            *boxes,
            f'<text x="{MARGIN + 4.5 * ACROSS:g}" y="{height - MARGIN - HEIGHT / 2:g}" '
            f'text-anchor="middle" font-style="italic">{note}</text>',
            "</g></svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(svg())

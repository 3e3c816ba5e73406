"""Draws lattice.svg: which level implies which, as boomslang.levels derives it. Run by `make docs`.

Levels stand in rows by the longest chain below them; a line goes from each level to those right below it.
This is a Hasse diagram, placed by simple arithmetic, so that no plotting library is needed.
"""

from __future__ import annotations

from pathlib import Path

from boomslang.levels import LEVELS, Level, maximal, minimal, strictly_stronger

FILE = Path(__file__).with_name("lattice.svg")
BOX, HEIGHT, ACROSS, DOWN, MARGIN = 214, 34, 232, 84, 16


def weaker(level: Level) -> list[Level]:
    """The levels right below."""
    return maximal(other for other in LEVELS if level in strictly_stronger(other))


def rank(level: Level) -> int:
    return max((1 + rank(other) for other in weaker(level)), default=0)


def svg() -> str:
    rows: dict[int, list[Level]] = {}
    for level in LEVELS:
        rows.setdefault(rank(level), []).append(level)
    # Under each other what belongs together: plain levels left, then session order, then real time.
    for row in rows.values():
        row.sort(key=lambda level: (level.needs_sessions, level.needs_times, LEVELS.index(level)))
    width = 2 * MARGIN + (max(len(row) for row in rows.values()) - 1) * ACROSS + BOX
    height = 2 * MARGIN + (len(rows) - 1) * DOWN + HEIGHT
    place = {
        level.name: (
            width / 2 + (n - (len(row) - 1) / 2) * ACROSS,
            height - MARGIN - HEIGHT / 2 - depth * DOWN,
        )
        for depth, row in rows.items()
        for n, level in enumerate(row)
    }
    lines, boxes = [], []
    for level in LEVELS:
        x, y = place[level.name]
        for above in minimal(strictly_stronger(level)):
            to_x, to_y = place[above.name]
            start, end = f'x1="{x:g}" y1="{y - HEIGHT / 2:g}"', f'x2="{to_x:g}" y2="{to_y + HEIGHT / 2:g}"'
            lines.append(f'<line {start} {end} stroke="#888"/>')
        boxes.append(
            f'<rect x="{x - BOX / 2:g}" y="{y - HEIGHT / 2:g}" width="{BOX}" height="{HEIGHT}" rx="6" '
            f'fill="#f6f8fa" stroke="#57606a"/>\n'
            f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{level.title}</text>'
        )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'font-family="sans-serif" font-size="12" fill="#1f2328">',
            "<title>Which level implies which: each implies those below it that a line leads to</title>",
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(svg())

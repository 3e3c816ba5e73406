"""The page of `boomslang compare --report`: two traces or two hunts side by side."""

from __future__ import annotations

from boomslang.activity import Curves, in_seconds
from boomslang.compare.comparison import Comparison, change, shown, verdict_of
from boomslang.compare.side import Answered, Side
from boomslang.report.frame import facts, items, static_page, table, text
from boomslang.report.plots import Curve, curves
from boomslang.verdict import INVALID

SIGNS = {"valid": "✓", "invalid": "✗", "unknown": "?"}
NAMES = ("first", "second")
RUNS = 200
"""Of a hunt, that a plot shows."""


def compare_page(made: Comparison) -> str:
    one, two = made.first, made.second
    names = NAMES
    broken = made.newly_broken
    answer = (
        f'<p class="answer bad">The second breaks what the first does not: {text(", ".join(broken))}</p>'
        if broken
        else '<p class="answer">The second breaks no level that the first does not.</p>'
    )
    title = f"Two {one.kind}s"
    both = {"Both": ", ".join(f"{name} {value}" for name, value in made.same)} if made.same else {}
    body = [
        f'<h1 class="page">{title}</h1>',
        answer,
        *facts({"First": one.path, "Second": two.path, **both}),
        *table("What was run otherwise", ("", *names), made.settings, words=(1, 2)),
        *_answers(made, names),
        *items("New in the second", made.new),
        *items("Gone in the second", made.gone),
        *_plots(made, names),
        *_figures(made, names),
        *(line for side, name in zip((one, two), names, strict=True) for line in _notes(side, name)),
    ]
    return static_page(title, f"{one.path} · {two.path}", body)


def _notes(side: Side, name: str) -> list[str]:
    return items(f"Problems of the {name}", side.notes, kind="card note")


def _answers(made: Comparison, names: tuple[str, str]) -> list[str]:
    rows = [(level, said(a), said(b)) for level, a, b in made.answers]
    return table("Answers", ("level", *names), rows, words=(1, 2))


def said(answer: Answered | None) -> str:
    if answer is None:
        return "not asked"
    word = "INVALID" if answer.status == INVALID else answer.status
    return f"{SIGNS[answer.status]} {word}{f': {answer.reason}' if answer.reason else ''}"


def _figures(made: Comparison, names: tuple[str, str]) -> list[str]:
    rows = [
        (figure.name, shown(figure, a), shown(figure, b), change(figure, a, b), verdict_of(figure, a, b))
        for figure, a, b in made.figures
    ]
    note = (
        "better, worse: where more than a tenth lies between the two. One run each is two draws of a lottery: whether "
        "a difference is more than chance, only more runs can tell."
    )
    return table("Figures", ("", *names, "change", ""), rows, words=(4,), note=note)


# --- plots


def _plots(made: Comparison, names: tuple[str, str]) -> list[str]:
    one, two = made.first, made.second
    if one.kind == "hunt":
        drawn = _of_hunts(one, two, names)
    elif one.curves is not None and two.curves is not None and one.unit and two.unit:
        drawn = _of_traces((one, one.curves), (two, two.curves), names)
    else:
        return []
    return ['<section class="plots" aria-label="Over time">', *drawn, "</section>"] if drawn else []


def _of_hunts(one: Side, two: Side, names: tuple[str, str]) -> list[str]:
    longest = min(RUNS, max(len(one.runs), len(two.runs)))
    if not longest:
        return []

    def curve(side: Side, name: str, column: int) -> Curve:
        values: list[float | None] = [(commits, aborts)[column] for commits, aborts, _ in side.runs[:longest]]
        return Curve(name, values + [None] * (longest - len(values)))

    return [
        curves(title, [curve(one, names[0], column), curve(two, names[1], column)], end=f"run {longest}")
        for column, title in enumerate(("Commits a second, run by run", "Aborts a second, run by run"))
    ]


def _of_traces(one: tuple[Side, Curves], two: tuple[Side, Curves], names: tuple[str, str]) -> list[str]:
    """Both from their beginnings, on the same scale."""
    sides = (one, two)
    end = max(in_seconds(c.ticks, side.unit) for side, c in sides)

    def scaled(values: list[float | None], side: Side, c: Curves, pieces: int) -> list[float | None]:
        own = in_seconds(c.ticks, side.unit)
        found: list[float | None] = []
        for n in range(pieces):
            at = (n + 0.5) / pieces * end / own
            found.append(values[int(at * len(values))] if at < 1 else None)
        return found

    def rate(counts: list[int], side: Side, c: Curves) -> list[float | None]:
        piece = in_seconds(c.ticks / len(counts), side.unit)
        return [n / piece for n in counts]

    pieces = max(len(c.committed) for _, c in sides)
    plots = (
        ("Commits a second", [rate(c.committed, side, c) for side, c in sides]),
        ("Aborts a second", [rate(c.aborted, side, c) for side, c in sides]),
        (
            "Length of transactions, median, in ms",
            [[None if v is None else 1e3 * in_seconds(v, side.unit) for v in c.median] for side, c in sides],
        ),
    )
    return [
        curves(
            title,
            [
                Curve(name, scaled(values, side, c, pieces))
                for name, values, (side, c) in zip(names, both, sides, strict=True)
            ],
            end=f"{end:,.3g} s",
        )
        for title, both in plots
        if any(v for values in both for v in values)
    ]

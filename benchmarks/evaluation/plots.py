"""Plots that can be read on paper and on a screen, light or dark, in colour or in grey.

Each is an SVG with a card of its own behind it, as pages are shown on light and on dark grounds; where dark is
preferred it turns dark itself. Series differ in lightness and in hatching or marker as well as in colour. Text stays
text, and nothing in a file depends on the day.
Matplotlib draws them (the extra `reproduce`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

INK, PAPER, RULE = "#22262b", "#fbfaf7", "#d8d5cd"
COLOURS = ("#14406b", "#c8792b", "#9dbf9e", "#8a4f7d", "#ece4d0")
"""Of a lightness each; in grey they are told apart."""
STACK = ("#14406b", "#8a4f7d", "#c8792b", "#9dbf9e", "#ece4d0", "#ffffff")
"""From dark to light."""
STROKES = ("#14406b", "#c8792b", "#4f7f52", "#8a4f7d", INK)
"""Of lines, which are thin: none is light."""
HATCHES = ("", "///", "---", "xxx", "\\\\\\", "..")
DARK = (
    "@media (prefers-color-scheme: dark) {#figure_1{filter: invert(.89) hue-rotate(180deg)} "
    "#patch_1 path, #patch_2 path{fill: #fff !important}}"
)
"""Light and dark change places, and colours stay: nine tenths of the way, as pages are not black either. The first two
patches are the card, whose warm white would become brown."""
SPREAD = 20
"""Times the shortest bar that the longest must be for a logarithmic axis."""
MARKERS, LINES = ("o", "s", "^", "D", "v"), ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def available() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _axes(width: float, height: float) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "boomslang",
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
            "font.size": 9,
            "hatch.linewidth": 0.6,
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.facecolor": PAPER,
            "figure.facecolor": PAPER,
        }
    )
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None}, facecolor=PAPER)
    plt.close(figure)
    drawn = path.read_text().replace("</style>", f"{DARK}</style>", 1)
    # One line break at the end and none at the ends of lines, as in every other file here.
    path.write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n")


def _plain_numbers(axis: Any) -> None:
    """On a logarithmic axis 0.1, 1, 20 and 5,000, instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 200 else (1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _legend(figure: Any, axes: Any, count: int) -> None:
    if count > 1 and axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside upper left", ncols=min(count, 3), frameon=False, fontsize=9)


def bars(
    path: Path,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float | str | None]],
    unit: str,
    *,
    log: bool = True,
) -> None:
    """Rows of bars, logarithmic only if they differ much; words in the place of a number stand where its bar would."""
    height = 0.9 + len(labels) * (0.13 + 0.17 * len(series))
    figure, axes = _axes(7.4, height)
    thick = 0.8 / len(series)
    numbers = [v for values in series.values() for v in values if isinstance(v, (int, float)) and v > 0]
    log = log and max(numbers, default=1) > SPREAD * min(numbers, default=1)
    least = min(numbers, default=1) / 2 if log else 0
    for n, (name, values) in enumerate(series.items()):
        at = [i + (n - (len(series) - 1) / 2) * thick for i in range(len(labels))]
        widths = [max(v - least, 0) if isinstance(v, (int, float)) else 0 for v in values]
        axes.barh(
            at,
            widths,
            thick,
            left=least,
            label=name,
            color=COLOURS[n],
            hatch=HATCHES[n],
            edgecolor=INK,
            linewidth=0.6,
        )
        for y, v in zip(at, values, strict=True):
            if isinstance(v, str):
                axes.annotate(v, (least, y), (3, 0), textcoords="offset points", va="center", fontsize=7)
    if log:
        axes.set_xscale("log")
    axes.set_xlim(left=least)
    if log:
        _plain_numbers(axes.xaxis)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.set_xlabel(unit)
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    _legend(figure, axes, len(series))
    _save(figure, path)


def stacked(
    path: Path, labels: Sequence[str], parts: Mapping[str, Sequence[float]], unit: str, notes: Sequence[str]
) -> None:
    """Rows of bars made of parts; a note stands at a bar's end."""
    figure, axes = _axes(7.4, 1.1 + 0.32 * len(labels))
    left = [0.0] * len(labels)
    for n, (name, values) in enumerate(parts.items()):
        axes.barh(
            range(len(labels)), values, 0.7, left=left, label=name,
            color=STACK[n], hatch=HATCHES[n], edgecolor=INK, linewidth=0.6,
        )  # fmt: skip
        left = [a + b for a, b in zip(left, values, strict=True)]
    for y, (end, note) in enumerate(zip(left, notes, strict=True)):
        axes.annotate(note, (end, y), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.set_xlim(0, 1.14 * max(left, default=0.0) or 1.0)  # room for notes
    axes.set_xlabel(unit)
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    _legend(figure, axes, len(parts))
    _save(figure, path)


def lines(
    path: Path,
    series: Mapping[str, Sequence[tuple[float, float]]],
    x: str,
    y: str,
    *,
    log: bool = True,
    limit: float | None = None,
) -> None:
    """A line for each series."""
    figure, axes = _axes(7.4, 3.6)
    for n, (name, points) in enumerate(series.items()):
        if points:
            axes.plot(
                *zip(*points, strict=True), label=name, color=STROKES[n], marker=MARKERS[n],
                linestyle=LINES[n], linewidth=1.6, markersize=6, markeredgecolor=INK, markeredgewidth=0.6,
            )  # fmt: skip
    if log and any(points for points in series.values()):
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_ylim(
            bottom=0, top=1.15 * max((v for points in series.values() for _, v in points), default=1)
        )
    if limit is not None:
        axes.axhline(limit, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
        axes.annotate("limit", (0.01, limit), (0, 3), xycoords=("axes fraction", "data"),
                      textcoords="offset points", fontsize=8)  # fmt: skip
    if axes.get_xscale() == "log":
        _plain_numbers(axes.xaxis)
        _plain_numbers(axes.yaxis)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(color=RULE, linewidth=0.6)
    _legend(figure, axes, len(series))
    _save(figure, path)

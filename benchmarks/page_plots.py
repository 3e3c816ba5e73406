"""The plots of the pages of benchmarks, drawn from the tables that the pages have: nothing is measured for them.

A script that measures writes a page of tables. This reads the tables back, draws them (`evaluation/plots.py`) and puts
each picture under its table. In the picture stands a digest of the numbers it was drawn from, so that a test can tell,
without drawing anything, that a page was measured again and its pictures were not.

    python benchmarks/page_plots.py                   all pages; needs the extra `reproduce`
    python benchmarks/page_plots.py benchmarks-lists  that page
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation import plots

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = "plots"
PHASES = ("parse", "construct", "optimise", "encode", "solve")

Row = dict[str, str]
Data = dict[str, Any]
"""What a function of `plots` is called with, and its name as `kind`."""


def number(cell: str) -> float:
    """The first number in a cell: 1,854 or 13 (8 to 58)."""
    found = re.match(r"[\d,]*\.?\d+", cell)
    if not found:
        raise ValueError(f"found {cell!r} in a table; expected a number")
    return float(found[0].replace(",", ""))


def number_or_words(cell: str) -> float | str:
    return number(cell) if re.match(r"[\d.]", cell) else cell


@dataclass(frozen=True)
class Table:
    heading: str
    rows: list[Row]
    end: int
    """The line after its last."""


def tables(lines: list[str]) -> list[Table]:
    """All tables of a page, in order. Of columns with one name the second is called `name 2`."""
    found: list[Table] = []
    heading, begin = "", None
    for at, line in enumerate([*lines, ""]):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if line.startswith("|"):
            begin = at if begin is None else begin
        elif begin is not None:
            names: list[str] = []
            for name in _cells(lines[begin]):
                names.append(f"{name} 2" if name in names else name)
            rows = [dict(zip(names, _cells(row), strict=True)) for row in lines[begin + 2 : at]]
            found.append(Table(heading, rows, at))
            begin = None
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def bars(
    rows: Iterable[Row], label: Callable[[Row], str], columns: dict[str, str], unit: str, *, log: bool = True
) -> Data:
    """A row of bars for each row of the table; `columns`: the name of a series and the column it is in."""
    rows = list(rows)
    series = {name: [number_or_words(row[column]) for row in rows] for name, column in columns.items()}
    return {
        "kind": "bars",
        "labels": [label(row) for row in rows],
        "series": series,
        "unit": unit,
        "log": log,
    }


def by_series(rows: Iterable[Row], label: Callable[[Row], str], series: str, column: str, unit: str) -> Data:
    """The same where a column says which series a row of the table belongs to."""
    found: dict[str, dict[str, float]] = {}
    labels: dict[str, None] = {}
    for row in rows:
        labels[label(row)] = None
        found.setdefault(row[series], {})[label(row)] = number(row[column])
    told = {name: [of.get(each, "") for each in labels] for name, of in found.items()}
    return {"kind": "bars", "labels": list(labels), "series": told, "unit": unit, "log": True}


def stacked(rows: Iterable[Row], label: Callable[[Row], str], parts: dict[str, str], total: str) -> Data:
    """A bar for each row of the table, made of `parts`, with its total at the end."""
    rows = list(rows)
    told = {name: [number(row[column]) for row in rows] for name, column in parts.items()}
    notes = [row[total] for row in rows]
    return {
        "kind": "stacked",
        "labels": [label(row) for row in rows],
        "parts": told,
        "unit": "seconds",
        "notes": notes,
    }


def lines(
    rows: Iterable[Row],
    series: Callable[[Row], str],
    x: Callable[[Row], float],
    column: str,
    x_name: str,
    y_name: str,
) -> Data:
    """A line for each series that `series` tells."""
    return _lines(((series(row), x(row), number(row[column])) for row in rows), x_name, y_name)


def columns(rows: Iterable[Row], series: dict[str, str], x: str, x_name: str, y_name: str) -> Data:
    """A line for each column; `series`: its name and the column."""
    points = ((name, number(row[x]), number(row[column])) for row in rows for name, column in series.items())
    return _lines(points, x_name, y_name)


def _lines(points: Iterable[tuple[str, float, float]], x_name: str, y_name: str) -> Data:
    """Of several points of a series at one place the highest."""
    found: dict[str, dict[float, float]] = {}
    for name, x, y in points:
        of = found.setdefault(name, {})
        of[x] = max(of.get(x, y), y)
    told = {name: sorted(of.items()) for name, of in found.items()}
    return {"kind": "lines", "series": told, "x": x_name, "y": y_name}


@dataclass(frozen=True)
class Plot:
    """A picture: on which page, under which table (its number on the page, from 0), and what it shows."""

    page: str
    table: int | str
    name: str
    alt: str
    data: Callable[[list[Row]], Data]

    def found(self, there: list[Table]) -> Table:
        if isinstance(self.table, int):
            return there[self.table]
        return next(table for table in there if table.heading == self.table)


def _thousands(words: str) -> float:
    """The transactions in the name of a case: list-append 3,000 (SER database)."""
    found = re.search(r"([\d,]+)( |$)", words)
    assert found, words
    return number(found[1])


def _plain(words: str) -> str:
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", words).replace("`", "")


def _phases(row: Row) -> str:
    return f"{row['back end']}, {row['passes'] or 'no passes'}"


def _hunts(rows: list[Row]) -> list[Row]:
    """Each hunt of what is known to be there; controls find nothing, as they should."""
    return [row for row in rows if not row["what"].startswith("...") and row["seconds until found"]]


PLOTS = [
    Plot(
        "benchmarks",
        "standard",
        "phases",
        "seconds of each phase, for histories of a million transactions",
        lambda rows: stacked(
            (r for r in rows if "1M" in r["case"]),
            lambda r: f"{r['case']}, {r['level']}",
            {"load": "load s", "analyse": "analyse", "solve": "solve", "explain": "explain"},
            "total",
        ),
    ),
    Plot(
        "benchmarks-applications",
        "What an answer takes",
        "median",
        "median CPU seconds of an answer by level and size",
        lambda rows: by_series(
            (r for r in rows if "within" not in r["level"] and r["size"] != "100"),
            lambda r: r["level"],
            "size",
            "median CPU s",
            "CPU seconds, median",
        ),
    ),
    Plot(
        "benchmarks-explain",
        0,
        "longest",
        "the longest answer and the longest explanation over transactions",
        lambda rows: columns(
            rows,
            {"to answer": "answer s", "to explain": "explain s"},
            "transactions",
            "transactions",
            "seconds, longest",
        ),
    ),
    Plot(
        "benchmarks-formats",
        0,
        "formats",
        "operations loaded in a second of CPU, by format, of registers and of lists",
        lambda rows: by_series(
            rows, lambda r: r["format"], "history", "operations/CPU s", "operations in a second of CPU"
        ),
    ),
    Plot(
        "benchmarks-hunts",
        0,
        "until-found",
        "seconds until each known violation was found",
        lambda rows: bars(
            _hunts(rows),
            lambda r: _plain(r["what"]),
            {"seconds": "seconds until found"},
            "seconds until found, median",
        ),
    ),
    Plot(
        "benchmarks-lists",
        0,
        "length",
        "CPU seconds over transactions, for four levels",
        lambda rows: lines(
            (r for r in rows if "SER" in r["case"]),
            lambda r: r["level"],
            lambda r: _thousands(r["case"]),
            "CPU",
            "transactions, from a serializable database",
            "CPU seconds",
        ),
    ),
    Plot(
        "benchmarks-machines",
        0,
        "long",
        "CPU milliseconds a trace, by how the traces were checked",
        lambda rows: bars(
            rows, lambda r: _plain(r["how"]), {"CPU": "CPU ms a trace"}, "CPU milliseconds a trace"
        ),
    ),
    Plot(
        "benchmarks-machines",
        1,
        "short",
        "CPU milliseconds a short trace, by how the traces were checked",
        lambda rows: bars(
            rows, lambda r: _plain(r["how"]), {"CPU": "CPU ms a trace"}, "CPU milliseconds a trace"
        ),
    ),
    Plot(
        "benchmarks-peers",
        "Checking",
        "work",
        "seconds of work of other checkers and of Boomslang",
        lambda rows: bars(
            rows,
            lambda r: f"{r['tool']}, {r['level']}, {r['transactions, sessions'].split(', ')[1]} sessions",
            {"the other": "work s", "Boomslang": "work s 2"},
            "seconds of work, 100,000 transactions",
        ),
    ),
    Plot(
        "benchmarks-proxy",
        0,
        "transfers",
        "transfers a second, direct and through the proxy",
        lambda rows: bars(
            rows,
            lambda r: f"{r['database']}, {r['clients']} clients, {r['a commit']}".replace(
                "1 clients", "1 client"
            ),
            {"direct": "direct, transfers/s", "proxied": "proxied"},
            "transfers a second",
            log=False,
        ),
    ),
    Plot(
        "benchmarks-recorded",
        1,
        "published",
        "seconds of the published checker and of Boomslang",
        lambda rows: bars(
            rows,
            lambda r: r["trace"],
            {"published": "published, seconds", "here": "here, seconds"},
            "seconds",
        ),
    ),
    Plot(
        "benchmarks-tracing",
        0,
        "operation",
        "microseconds of an operation, bare and recorded",
        lambda rows: bars(
            rows,
            lambda r: r["store"],
            {"bare": "bare µs", "recorded": "recorded µs"},
            "microseconds an operation",
        ),
    ),
    Plot(
        "benchmarks-windows",
        0,
        "million",
        "CPU seconds for a million transactions, as a whole and in windows",
        lambda rows: bars(
            (r for r in rows if number(r["transactions"]) >= 1e6),
            lambda r: f"{r['trace']}, {r['level']}",
            {"as a whole": "whole CPU s", "in windows": "CPU s"},
            "CPU seconds, 1,000,000 transactions",
            log=False,
        ),
    ),
    Plot(
        "scaling",
        0,
        "time",
        "seconds over transactions, of the native engine and of clingo",
        lambda rows: lines(
            (r for r in rows if r["back end"] == "native" or r["level"] in ("ser", "si")),
            lambda r: f"{r['level']}, {r['back end']}",
            lambda r: number(r["transactions"]),
            "total s",
            "transactions",
            "seconds",
        ),
    ),
    Plot(
        "superpositions",
        0,
        "solvers",
        "seconds over superpositions, of three solvers",
        lambda rows: columns(
            (row for row in rows if row["values"] == "unique"),
            {name: f"{name} s" for name in ("native", "clingo", "z3")},
            "superpositions",
            "superpositions, values unique",
            "seconds",
        ),
    ),
    Plot(
        "ablation",
        "Valid",
        "valid",
        "seconds of each phase by the passes that are used",
        lambda rows: stacked(rows, _phases, {phase: phase for phase in PHASES}, "total s"),
    ),
    Plot(
        "ablation",
        "With a lost update",
        "lost-update",
        "seconds of each phase by the passes that are used, of a violation",
        lambda rows: stacked(rows, _phases, {phase: phase for phase in PHASES}, "total s"),
    ),
    Plot(
        "encodings",
        0,
        "encodings",
        "seconds of each encoding, for the largest size",
        lambda rows: bars(
            (r for r in rows if r["size"] == rows[-1]["size"]),
            lambda r: f"{r['history']}, {r['level']}: {r['encoding']}",
            {"seconds": "total s"},
            f"seconds, {rows[-1]['size']} transactions",
        ),
    ),
]


def path_of(plot: Plot) -> Path:
    return Path(FOLDER) / f"{plot.page}-{plot.name}.svg"


def data_of(plot: Plot, page: list[str]) -> Data:
    return plot.data(plot.found(tables(page)).rows)


def digest(data: Data) -> str:
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]


def mark(data: Data) -> str:
    """What a picture says about the numbers it was drawn from."""
    return f"<!-- drawn from {digest(data)} -->"


def with_picture(plot: Plot, page: list[str]) -> list[str]:
    """The page, with the picture under its table."""
    shown = f"![{plot.alt}]({path_of(plot)})"
    without = [line for line in page if f"]({path_of(plot)})" not in line]
    end = plot.found(tables(without)).end
    rest = without[end:]
    while rest and not rest[0]:
        rest.pop(0)
    return [*without[:end], "", shown, *([""] if rest else []), *rest]


def draw(plot: Plot, data: Data, path: Path) -> None:
    told = {name: value for name, value in data.items() if name != "kind"}
    getattr(plots, data["kind"])(path, **told)
    path.write_text(path.read_text() + mark(data) + "\n")


def main(names: list[str]) -> int:
    if unknown := set(names) - {plot.page for plot in PLOTS}:
        print(f"no plots on {', '.join(sorted(unknown))}; there are some on "
              f"{', '.join(dict.fromkeys(plot.page for plot in PLOTS))}", file=sys.stderr)  # fmt: skip
        return 2
    if not plots.available():
        print("found no matplotlib; fix: pip install 'boomslang-checker[reproduce]'", file=sys.stderr)
        return 2
    for plot in PLOTS:
        if not names or plot.page in names:
            at = DOCS / f"{plot.page}.md"
            page = at.read_text().splitlines()
            draw(plot, data_of(plot, page), DOCS / path_of(plot))
            at.write_text("\n".join(with_picture(plot, page)) + "\n")
            print(f"docs/{path_of(plot)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

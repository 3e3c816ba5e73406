"""Pages of benchmarks have pictures, and these show the numbers that the pages have now."""

from __future__ import annotations

import re
from pathlib import Path

import page_plots
import pytest
from evaluation.plots import DARK
from support.paths import ROOT

PAGE = """# A page

| what | s | MB | s |
| --- | ---: | ---: | ---: |
| one | 1,200.5 | 3 | 7 |
| two | none in 10 | 4 | 8 (1 to 9) |

Words.
""".splitlines()
PLOT = page_plots.Plot(
    "page", 0, "it", "seconds", lambda rows: page_plots.bars(rows, lambda r: r["what"], {"s": "s"}, "s")
)


@pytest.mark.parametrize("plot", page_plots.PLOTS, ids=lambda plot: page_plots.path_of(plot).stem)
def test_a_picture_is_there_and_shows_what_the_page_says(plot: page_plots.Plot) -> None:
    page = (ROOT / "docs" / f"{plot.page}.md").read_text().splitlines()
    again = "run `python benchmarks/page_plots.py`"
    assert page_plots.with_picture(plot, page) == page, again
    assert (
        (ROOT / "docs" / page_plots.path_of(plot))
        .read_text()
        .endswith(page_plots.mark(page_plots.data_of(plot, page)) + "\n")
    ), again


def test_every_picture_turns_dark() -> None:
    pictures = [*(ROOT / "docs/plots").glob("*.svg"), *(ROOT / "docs/evaluation").glob("*.svg")]
    assert len(pictures) > 30
    for path in pictures:
        text = path.read_text()
        assert DARK in text, path
        for name in re.findall(r"#(\w+)", DARK.partition("!important")[0].rpartition("{")[0]):
            assert text.count(f'id="{name}"') == 1, (path, name)


def test_no_picture_is_left_over() -> None:
    there = {path.name for path in (ROOT / "docs" / page_plots.FOLDER).iterdir()}
    assert there == {page_plots.path_of(plot).name for plot in page_plots.PLOTS}


def test_a_table_is_read_back() -> None:
    (table,) = page_plots.tables(PAGE)
    assert (table.heading, table.end) == ("A page", 6)
    assert table.rows[1] == {"what": "two", "s": "none in 10", "MB": "4", "s 2": "8 (1 to 9)"}
    assert page_plots.data_of(PLOT, PAGE)["series"] == {"s": [1200.5, "none in 10"]}
    assert page_plots.number(table.rows[1]["s 2"]) == 8
    with pytest.raises(ValueError, match="expected a number"):
        page_plots.number("none")


def test_a_picture_comes_under_its_table_once() -> None:
    shown = page_plots.with_picture(PLOT, PAGE)
    assert shown[5:] == [PAGE[5], "", "![seconds](plots/page-it.svg)", "", "Words."]
    assert page_plots.with_picture(PLOT, shown) == shown


def test_other_numbers_are_another_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `reproduce`")
    data = page_plots.data_of(PLOT, PAGE)
    page_plots.draw(PLOT, data, tmp_path / "it.svg")
    drawn = (tmp_path / "it.svg").read_text()
    assert drawn.endswith(page_plots.mark(data) + "\n") and drawn.count(DARK) == 1
    other = page_plots.data_of(PLOT, [line.replace("1,200.5", "1,200.6") for line in PAGE])
    assert page_plots.mark(other) != page_plots.mark(data)

"""Verdicts, traces and explanations in a notebook: nothing of a trace is taken for HTML, they are small, they can be
read in light and dark, and the example runs in a real kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from support import strategies
from support.browser import Browser, opened_browser
from support.effort import examples
from support.paths import ROOT
from support.report_samples import JOKES, cases, jokes, ring, transfers
from test_report import Parsed, contrast

import boomslang
from boomslang.report.notebook import COLOURS, SIGNS
from boomslang.trace import Trace, TraceBuilder

EXAMPLE = ROOT / "examples" / "notebook.ipynb"


def shown(thing: object) -> str:
    html: str = thing._repr_html_()  # type: ignore[attr-defined]
    page = Parsed(html)
    assert page.open == [] and page.comments == []
    assert {tag for tag, _ in page.elements} <= {
        "div", "p", "strong", "pre", "svg", "g", "rect", "path", "polygon", "text", "title",
    }  # fmt: skip
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "href", "id", "class")}
    return html


def test_a_violation_is_drawn_and_told() -> None:
    verdict = boomslang.check(transfers(), "ser")
    html = shown(verdict)
    assert (
        "INVALID" in html and "A cycle of 2 transactions: " in html and "Timeline of 2 transactions" in html
    )
    assert "lost update" in html and "account/7" in html
    assert verdict.counterexample is not None
    alone = shown(verdict.counterexample)
    assert "A cycle of 2" in alone and "lost update" in alone


def test_what_holds_and_what_is_not_known() -> None:
    assert "valid" in shown(boomslang.check(transfers(), "rc"))
    unknown = shown(boomslang.check(TraceBuilder().build(), "ser"))
    assert "unknown" in unknown and "no transaction in the trace" in unknown


def test_a_trace_shows_its_first_transactions() -> None:
    html = shown(transfers())
    assert "7 transactions" in html and "teller-1" in html and "more transactions" not in html
    long = shown(ring(40))
    assert "and 28 more transactions" in long and len(long) < 40_000


def test_nothing_is_taken_for_html() -> None:
    for thing in (jokes(), boomslang.check(jokes(), "ser")):
        html = shown(thing)
        assert not any(joke in html for joke in JOKES if "<" in joke)
        assert "\u202e" not in html and "\u2028" not in html


@settings(max_examples=examples(40))
@given(strategies.traces())
def test_whatever_the_trace_is(trace: Trace) -> None:
    shown(trace)
    for level in ("ser", "rc"):
        verdict = boomslang.check(trace, level)
        assert len(shown(verdict)) < 200_000
        if verdict.counterexample is not None:
            shown(verdict.counterexample)


def test_colours_can_be_told_from_light_and_dark() -> None:
    for colour in {*(colour for colour, _ in COLOURS.values()), *(colour for _, colour in SIGNS.values())}:
        for ground in ("#ffffff", "#111111"):
            assert contrast(colour, ground) >= 3, (colour, ground)


@pytest.fixture
def browser() -> Iterator[Browser]:
    yield from opened_browser("the pages were", (500, 900))


def test_in_a_browser(tmp_path: Path, browser: Browser) -> None:
    """Text has the colour of what is around it, and nothing sticks out of the cell."""
    things = (transfers(), *(boomslang.check(trace, "ser") for trace in (transfers(), cases(), ring(6))))
    body = "".join(shown(thing) for thing in things)
    page = tmp_path / "n.html"
    page.write_text(f'<meta charset="utf-8"><body style="color:rgb(1,2,3)">{body}', encoding="utf-8")
    browser.open(page)
    assert browser.complaints == [] and len(browser.requests) == 1
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    inks = "[...new Set([...document.querySelectorAll('text')].map((e) => getComputedStyle(e).fill))]"
    assert browser.js(inks) == ["rgb(1, 2, 3)"]


def test_the_example_runs(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: the notebook was not run")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: the notebook was not run")
    text = EXAMPLE.read_text(encoding="utf-8")
    assert not [cell for cell in json.loads(text)["cells"] if cell.get("outputs")], (
        "it is kept without its outputs"
    )
    made = nbformat.reads(text, as_version=4)
    nbclient.NotebookClient(made, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs[0]["data"] for cell in made.cells if cell.cell_type == "code"]
    pictures = [data.get("text/html", "") for data in outputs]
    assert "Timeline of 2 transactions" in pictures[0] and "A cycle of 2 transactions" in pictures[1]
    assert "INVALID" in pictures[1] and "✓ valid" in pictures[2] and "write skew" in pictures[3]
    assert re.search(r"=> a cycle: T\d", outputs[4]["text/plain"])

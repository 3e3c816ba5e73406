"""The report where values repeat: what probably happened is drawn, marked as likely, with the proof beside it.

In a real browser, and on data; without Chromium the first half is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.browser import Browser, opened_browser
from support.repeated_values import inventory, late_snapshots, on_call

from boomslang import Checker, Trace, read_trace
from boomslang.explain import by_proof, counterexample
from boomslang.report import render_report, write_report
from boomslang.report.contents import contents
from boomslang.verdict import Verdict

Json = dict[str, Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser("the report was", (1280, 900))


def check(trace: Trace, level: str) -> Verdict:
    with patch.object(counterexample, "argue", lambda *_, **__: None):
        return Checker(trace).check(level)


def recorded() -> Trace:
    """Four doctors and six clients on PostgreSQL at repeatable read, 416 committed transactions."""
    return read_trace(Path(__file__).parent / "recorded-on-call")


def told(verdict: Verdict) -> Json:
    story: Json = contents([verdict], "t", {})["stories"][0]
    return story


def names(browser: Browser, selector: str, attribute: str) -> list[str]:
    query = f"[...document.querySelectorAll({json.dumps(selector)})].map((n) => n.dataset.{attribute})"
    found: list[str] = browser.js(query)
    return sorted(found)


def text(browser: Browser, selector: str) -> str:
    found: str = browser.js(f"document.querySelector({json.dumps(selector)}).textContent")
    return found


@pytest.mark.parametrize(
    ("made", "level", "pair", "proof"),
    [
        (on_call, "ser", ("T12", "T13"), "T14 saw 'alice', 'bob' and 'carol' all False"),
        (on_call, "sser", ("T12", "T13"), "T14 saw 'alice', 'bob' and 'carol' all False"),
        (
            recorded,
            "ser",
            ("T105", "T9"),
            "T106 (and eleven more) saw 'alice', 'bob', 'carol' and 'dave' all False",
        ),
        (inventory, "si", ("T20", "T21"), "'stock' was 3 only eleven times"),
        (late_snapshots, "strong-session-ser", ("T14", "T15"), "The proof"),
    ],
)
def test_graph_and_timeline_show_the_likely_transactions(
    browser: Browser, tmp_path: Path, made: Any, level: str, pair: tuple[str, ...], proof: str
) -> None:
    page = write_report(check(made(), level), tmp_path / "r.html")
    browser.open(page)
    assert browser.complaints == []
    drawn = ".likely .graph .node.likely"
    assert names(browser, drawn, "node") == names(browser, ".likely .graph .node", "node") == sorted(pair)
    assert names(browser, ".likely .timeline .bar.likely", "txn") == sorted(pair)
    assert len(names(browser, ".likely .graph .edge", "edge")) == 2
    assert "What probably happened" in text(browser, ".likely h3")
    assert proof in text(browser, ".proof")
    # Both are on the page, not only in it.
    for selector in (drawn, ".likely .timeline .bar.likely"):
        assert browser.js(
            f"[...document.querySelectorAll({json.dumps(selector)})].every((n) => {{"
            "const b = n.getBoundingClientRect(); return b.width > 10 && b.height > 10; })"
        )


@pytest.mark.parametrize(("made", "level"), [(on_call, "ser"), (inventory, "si")])
def test_the_timeline_shows_that_they_overlapped(
    browser: Browser, tmp_path: Path, made: Any, level: str
) -> None:
    browser.open(write_report(check(made(), level), tmp_path / "r.html"))
    assert "overlapped for 16" in text(browser, ".likely .when")
    spans = browser.js(
        "[...document.querySelectorAll('.likely .timeline .bar.likely > rect')].map((n) => {"
        "const b = n.getBoundingClientRect(); return [b.left, b.right]; })"
    )
    assert len(spans) == 2
    assert max(left for left, _ in spans) < min(right for _, right in spans)


def test_a_likely_step_lights_up_its_edge_and_operations(browser: Browser, tmp_path: Path) -> None:
    verdict = check(on_call(), "ser")
    browser.open(write_report(verdict, tmp_path / "r.html"))
    for step in told(verdict)["likely"]["steps"]:
        browser.click(f".likely [data-step={step['id']}] .text")
        assert names(browser, ".edge.lit", "edge") == [step["edge"]]
        assert set(names(browser, ".op.lit", "op")) == {str(row) for row in step["operations"]}
    assert browser.complaints == []


def test_the_whole_argument_opens_where_there_is_one(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_report(check(late_snapshots(), "strong-session-ser"), tmp_path / "r.html"))
    browser.click(".proof details.everything > summary")
    assert browser.js("document.querySelector('.proof .timeline .bar').getBoundingClientRect().width > 0")
    assert browser.complaints == []


# --- without a browser


def test_who_saw_what_cannot_be_is_on_the_timeline_too() -> None:
    likely = told(check(on_call(), "ser"))["likely"]
    assert {t["id"]: t["role"] for t in likely["transactions"]} == {
        "T12": "likely",
        "T13": "likely",
        "T14": "witness",
    }


def test_a_proof_without_what_is_likely_is_drawn_by_examples() -> None:
    with patch.object(by_proof, "what_probably_happened", lambda *_, **__: None):
        story = told(check(on_call(), "ser"))
    assert story["likely"] is None and story["anomaly"]["code"] == "unreachable-state"
    assert {t["id"] for t in story["transactions"]} == set(story["proof"]["examples"])


def test_the_story_in_words_is_there_for_whoever_runs_no_scripts() -> None:
    page = render_report(check(inventory(), "si"))
    plain = page.partition("<noscript>")[2].partition("</noscript>")[0]
    assert "What probably happened" in plain and "only eleven times" in plain

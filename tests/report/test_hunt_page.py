"""The page that a hunt ends with: all of it there, nothing of a trace or a database taken for HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.browser import Browser, opened_browser
from support.memory_store import Memory

from boomslang.report.hunt_page import hunt_page, write_hunt_page
from boomslang.run import Hunted, Plan, Quarry, Tried, hunt, variations
from boomslang.workloads import find_workload

NASTY = "<script>alert(1)</script>\x1b[31m&amp;\"'"


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> Hunted:
    store = Memory()
    row = variations(find_workload("list-append"), {}, seed=1)
    plans = (Plan(store, next(row), store.level("broken"), txns=100) for _ in range(3))
    return hunt(plans, tmp_path_factory.mktemp("hunts") / "h", "ser", seconds=60, collect=True)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_tells_runs_settings_near_misses_and_stories(hunted: Hunted) -> None:
    page = Tags()
    page.feed(hunt_page(hunted, {"Database": "Memory 1"}, "serializable"))
    broken = hunted.of("invalid")
    assert broken and f"serializable is broken: {len(broken)} run" in page.text
    assert "Memory 1" in page.text and f"{hunted.committed:,} commits" in page.text
    assert page.tags.count("tr") == 1 + hunted.runs == 1 + len(hunted.tried)
    assert page.tags.count("figure") == 3 and "script" not in page.tags
    for quarry in broken:
        assert quarry.story[0] in page.text and f"seed {quarry.about['seed']}" in page.text
    for tried in hunted.tried:
        assert tried.near is not None and tried.to_json()["near_misses"]["dangerous"] >= 0


def test_nothing_is_taken_for_html(hunted: Hunted) -> None:
    quarry = Quarry(Path("t"), None, "invalid", NASTY, hunted.tried[0].about, (NASTY,))
    nasty = replace(
        hunted,
        found=[quarry],
        problems=[NASTY],
        tried=[Tried(1, 0.0, "invalid", NASTY, None, hunted.tried[0].about)],
    )
    page = Tags()
    page.feed(hunt_page(nasty, {NASTY: NASTY}, NASTY))
    assert "script" not in page.tags and page.text.count("<script>alert(1)</script>") >= 5
    assert "\x1b" not in page.text


def test_a_hunt_that_found_nothing_says_that_it_is_no_proof() -> None:
    assert "That is no proof" in hunt_page(Hunted(), {}, "serializable")


@pytest.fixture
def browser() -> Iterator[Browser]:
    yield from opened_browser("the page was")


def test_it_opens_in_a_browser(hunted: Hunted, tmp_path: Path, browser: Browser) -> None:
    write_hunt_page(tmp_path / "hunt.html", hunted, {"Database": "Memory 1"}, "serializable")
    for width in (1280, 390):
        browser.window(width, 900)
        browser.open(tmp_path / "hunt.html")
        assert browser.complaints == [] and len(browser.requests) == 1
        assert browser.js("document.documentElement.scrollWidth <= innerWidth")
        assert browser.js("document.querySelectorAll('svg line').length") == 3 * hunted.runs
        styled = "getComputedStyle(document.querySelector('svg line')).strokeWidth"
        assert browser.js(styled) in ("4px", "7px"), "the style sheets are let through"

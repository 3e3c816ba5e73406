"""Every page, for those who see little, or who use a keyboard or a screen reader: nothing that axe-core calls serious
or critical, in light and dark, wide and narrow; and what can be reached without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.axe import axe, violations
from support.browser import Browser, opened_browser
from support.commands import command
from support.memory_store import Memory
from support.report_samples import cases, transfers

from boomslang import Checker
from boomslang.report import write_report
from boomslang.report.hunt_page import write_hunt_page
from boomslang.report.live import LivePage
from boomslang.run import Plan, hunt, variations
from boomslang.stream.tally import Status
from boomslang.trace import write_trace
from boomslang.workloads import find_workload

PAGES = ("report", "cases", "stats", "compare", "hunt", "compare-hunts")
STATIC = ("stats", "compare", "hunt", "compare-hunts")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser("the pages were")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one of each."""
    folder = tmp_path_factory.mktemp("pages")
    for name, trace in (("report", transfers()), ("cases", cases())):
        checker = Checker(trace)
        write_report([checker.check("ser"), checker.check("rc")], folder / f"{name}.html", trace_path=name)
    for name, trace in (("one", transfers()), ("two", cases())):
        write_trace(trace, folder / f"{name}.jsonl")
    assert command("stats", folder / "one.jsonl", "--report", folder / "stats.html").code == 0
    words = ("compare", folder / "one.jsonl", folder / "two.jsonl", "--report", folder / "compare.html")
    assert command(*words).code in (0, 1)
    store = Memory()
    row = variations(find_workload("list-append"), {}, seed=1)
    plans = (Plan(store, next(row), store.level("broken"), txns=60) for _ in range(2))
    hunted = hunt(plans, folder / "h", "ser", seconds=60, collect=True)
    write_hunt_page(folder / "hunt.html", hunted, {"Database": "Memory 1"}, "serializable")
    words = ("hunt", "--db", "sqlite", "--workload", "list-append", "--txns", 60, "--for", "1s")
    assert command(*words, "--out", folder / "h2").code == 0
    assert (
        command("compare", folder / "h2", folder / "h2", "--report", folder / "compare-hunts.html").code == 0
    )
    return folder


def look(browser: Browser, width: int, scheme: str) -> None:
    browser.window(width, 900)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(1280, "light", marks=pytest.mark.full), (390, "dark")]
)
def test_nothing_serious(browser: Browser, pages: Path, name: str, width: int, scheme: str) -> None:
    axe()
    look(browser, width, scheme)
    browser.open(pages / f"{name}.html")
    assert browser.complaints == [] and len(browser.requests) == 1
    assert browser.js("document.documentElement.scrollWidth <= innerWidth"), "it does not scroll sideways"
    assert violations(browser) == []


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_nothing_serious_on_the_page_of_a_watch(browser: Browser, scheme: str) -> None:
    axe()
    look(browser, 1280, scheme)
    told = {"transactions": 900, "committed": 1000, "aborted": 10, "sessions": 4, "lag": 0.3, "windows": 3}
    with LivePage(0, "a trace") as page:
        page.show(Status("snapshot isolation", "checking", 1.0, **told))  # type: ignore[arg-type]
        page.answer("invalid", "lost update", ["lost update of x", "  => a cycle"], ())
        browser.open(page.address)
        shown = "new Promise((done) => { const look = () => document.getElementById('verdict').className === 'invalid'"
        browser.js(f"{shown} ? done(1) : setTimeout(look, 50); look(); }})")
        assert violations(browser) == []


def test_axe_finds_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    """Else the tests above would say nothing."""
    axe()
    page = tmp_path / "wrong.html"
    page.write_text(
        "<html><title>t</title><main><h1>t</h1><p style='color:#ccc;background:#fff'>faint<img src='data:,'>"
    )
    browser.open(page)
    found = "".join(violations(browser))
    assert "color-contrast" in found and "image-alt" in found and "html-has-lang" in found


@pytest.mark.parametrize("name", STATIC)
def test_all_is_reached_by_the_tab_key(browser: Browser, pages: Path, name: str) -> None:
    look(browser, 390, "light")
    browser.open(pages / f"{name}.html")
    wanted = browser.js('document.querySelectorAll("[tabindex=\\"0\\"], summary, a").length')
    reached = []
    for _ in range(wanted):
        browser.key("Tab")
        reached.append(browser.js("document.activeElement.outerHTML.slice(0, 300)"))
        assert browser.js("getComputedStyle(document.activeElement).outlineStyle") != "none", reached
    assert len(set(reached)) == wanted and "skip" in reached[0]
    browser.open(pages / f"{name}.html")
    browser.key("Tab")
    browser.key("Enter")
    assert browser.js("document.activeElement.id") == "main"

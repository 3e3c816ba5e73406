"""The documentation as a site, opened from disk in a real browser: no error, a search that finds, no dead link."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from support.browser import Browser, opened_browser
from support.paths import ROOT

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra `site`; make site installs it")
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", place],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from opened_browser("the site was")


class Page(HTMLParser):
    """Where a page leads, what it fetches, and which places it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        self.places |= {of[name] for name in ("id", "name") if name in of}
        if tag == "a" and "href" in of:
            self.links.add(of["href"])
        if tag in ("img", "script", "source") and "src" in of:
            self.fetched.add(of["src"])
        if tag == "link" and of.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.fetched.add(of["href"])


def test_no_link_is_dead_and_nothing_is_fetched(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 40
    dead = []
    for path, page in pages.items():
        for link in page.links | page.fetched:
            if re.match(r"https?:|mailto:", link):
                if link in page.fetched:
                    dead.append(f"{path.name} fetches {link}")
                continue
            target, place = urldefrag(link)
            goal = (path.parent / unquote(target)).resolve() if target else path
            if goal.is_dir():
                goal /= "index.html"
            there = goal.exists() and (
                not place or place == "__skip" or goal not in pages or unquote(place) in pages[goal].places
            )
            if not there:
                dead.append(f"{path.name} -> {link}")
    assert not dead, dead


@pytest.mark.parametrize(
    "name", ["index.html", "tutorial.html", "reference-commands.html", "findings/index.html"]
)
def test_pages_open_from_disk_without_a_complaint(browser: Browser, site: Path, name: str) -> None:
    browser.open(site / name)
    assert browser.js("document.querySelector('h1').innerText.length > 3")
    assert not browser.complaints, browser.complaints


def test_plots_can_be_read_where_the_page_is_narrow(browser: Browser, site: Path) -> None:
    browser.window(390, 900)
    browser.open(site / "benchmarks-lists.html")
    shown = "document.querySelector('img[src*=\"plots/\"]')"
    assert browser.js(f"{shown}.naturalWidth > 0 && {shown}.offsetWidth") > 500
    assert browser.js("document.documentElement.scrollWidth <= innerWidth")
    assert not browser.complaints, browser.complaints


def test_search_finds_a_level(browser: Browser, site: Path) -> None:
    browser.window(1280, 900)
    browser.open(site / "index.html")
    browser.click(".md-search__input")
    found = browser.js(
        """new Promise(done => {
            const box = document.querySelector('.md-search__input');
            const look = n => {
                box.value = 'snapshot isolation';
                box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true, key: 'n'}));
                const links = [...document.querySelectorAll('.md-search-result__link')].map(a => a.href);
                if (links.length || n > 50) done(links); else setTimeout(() => look(n + 1), 200);
            };
            look(0);
        })"""
    )
    assert any("levels.html" in link for link in found), found


@pytest.mark.parametrize("scheme", ["light", "dark", "light"])
def test_light_and_dark_as_the_system_has_it_now(browser: Browser, site: Path, scheme: str) -> None:
    browser.colours(scheme)
    browser.open(site / "levels.html")
    # The theme chooses a little after the page was drawn.
    chosen = "slate" if scheme == "dark" else "default"
    back = browser.js(
        f"""new Promise(done => {{
            const look = n => document.body.dataset.mdColorScheme === '{chosen}' || n > 50
                ? done(getComputedStyle(document.body).backgroundColor) : setTimeout(() => look(n + 1), 100);
            look(0);
        }})"""
    )
    brightness = sum(int(part) for part in re.findall(r"\d+", back)[:3])
    assert (brightness > 600) == (scheme == "light"), back

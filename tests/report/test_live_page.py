"""The page of a watch: in a real browser, in light and dark; and what the server refuses."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import Browser, opened_browser

from boomslang.errors import UsageError
from boomslang.report.live import LivePage
from boomslang.report.page import asset
from boomslang.stream.tally import Status

EVIL = "<img src=x onerror=alert(1)></script>\u202e"


def status(n: int = 0, **more: Any) -> Status:
    numbers: dict[str, Any] = {
        "transactions": 900 * n, "committed": 1000 * n, "aborted": 10 * n, "per_second": 900.0, "sessions": 4,
        "keys": 7,
        "commits_per_second": 1000.0 + 50 * (n % 7), "aborts_per_second": 10.0 + n % 3, "lag": 0.25 + 0.01 * (n % 9),
        "latency": (0.001, 0.004, 0.009 + 0.001 * (n % 4)), "windows": n, "megabytes": 64.0, "unread": 2_000_000,
    }  # fmt: skip
    return Status("snapshot isolation", "checking", float(n), **{**numbers, **more})


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    monkeypatch.setattr("boomslang.report.live.EACH", 0.0)
    with LivePage(0, f"trace {EVIL}") as made:
        yield made


def get(page: LivePage, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    port = int(page.address.rsplit(":", 1)[1].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    found = reply.status, dict(reply.getheaders()), reply.read()
    connection.close()
    return found


def test_it_is_for_this_machine_alone(page: LivePage) -> None:
    assert page.address.startswith("http://127.0.0.1:")
    code, headers, body = get(page, "/")
    assert code == 200 and b"&lt;img src=x" in body and b"<img" not in body
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "http" not in policy
    shared = asset("head.html").replace("$policy", "").split('<meta name="generator"')[0]
    assert body.decode().startswith(shared) and b'name="referrer"' in body, "the head of all pages"
    assert b"http" not in body.replace(b"http://www.w3.org/2000/svg", b""), "no outside resource"
    assert get(page, "/", Host="evil.example")[0] == 403
    assert get(page, "/status", Host="evil.example:80")[0] == 403
    assert get(page, "/../../etc/passwd")[0] == 404


def test_the_document(page: LivePage) -> None:
    page.show(status(1))
    page.show(status(2))
    data = json.loads(get(page, "/status")[2])
    assert data["status"]["committed"] == 2000 and len(data["history"]) == 2 and data["answer"] is None


def test_a_port_that_is_taken(page: LivePage) -> None:
    port = int(page.address.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(UsageError, match=f"found port {port} not to be had"):
        LivePage(port, "t")


@pytest.fixture
def browser() -> Iterator[Browser]:
    yield from opened_browser("the page was", (1280, 900))


def until(browser: Browser, script: str) -> None:
    end = time.monotonic() + 20
    while not browser.js(script):
        assert time.monotonic() < end, (script, browser.js("document.body.innerText"))
        time.sleep(0.1)


def test_in_a_browser(page: LivePage, browser: Browser) -> None:
    for n in range(30):
        page.show(status(n))
    browser.open(page.address)
    until(browser, "document.getElementById('verdict').textContent === 'snapshot isolation: holds so far'")
    text = browser.js("document.body.innerText")
    assert "26,100 of 29,000 committed transactions are decided, 270.0 ms behind" in text
    assert browser.js("document.querySelectorAll('polyline').length") == 6
    assert browser.js(
        "[...document.querySelectorAll('polyline')].every((p) => p.getAttribute('points').length > 50)"
    )
    page.show(status(30, idle=(EVIL, "c2")))
    until(browser, "document.body.innerText.includes('c2')")
    story = [f"lost update of {EVIL}", "  1. T0 read it", "  => a cycle"]
    page.answer("invalid", "lost update", story, ("Judged is what was recorded up to then.",))
    until(browser, "document.getElementById('verdict').className === 'invalid'")
    text = browser.js("document.body.innerText")
    assert "snapshot isolation: INVALID: lost update" in text and f"lost update of {EVIL}" in text
    assert browser.js("document.querySelectorAll('img').length") == 0
    assert [c for c in browser.complaints if "favicon" not in c] == []
    assert {url.split("/", 3)[3] for url in browser.requests} <= {"", "status", "favicon.ico"}
